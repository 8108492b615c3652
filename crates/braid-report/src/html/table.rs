//! Tables of the page: a row for each cell and congestion control.

use braid_results::theory::Theory;
use braid_results::{Statistics, Summary};
use maud::{Markup, html};

use super::findings::number;
use super::report::Part;
use crate::figure::{self, Figure};

/// One column: three lines of heading and a cell for each row.
pub(super) struct Column {
    heading: [String; 3],
    cells: Vec<Markup>,
}

/// The columns, with the parameters and the congestion control before them.
pub(super) fn table(part: &Part, caption: &str, columns: &[Column]) -> Markup {
    let parameters = part.varying();
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for name in &parameters { th scope="col" { (name) } }
                        th scope="col" { (part.table.naming()) }
                        @for Column { heading: [who, what, unit], .. } in columns {
                            th.number scope="col" {
                                (who) br; (what)
                                @if !unit.is_empty() { br; span.unit { (unit) } }
                            }
                        }
                    }
                }
                @for (nth, cell) in part.cells().iter().enumerate() {
                    @let first = nth * cell.summaries.len();
                    tbody {
                        @for (index, name) in part.names().enumerate() {
                            tr {
                                @if index == 0 {
                                    @for name in &parameters {
                                        th scope="rowgroup" rowspan=(cell.summaries.len()) {
                                            (cell.scenario.parameters.get(*name).map_or("", String::as_str))
                                        }
                                    }
                                }
                                th scope="row" { (name) }
                                @for column in columns { td.number { (column.cells[first + index]) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rows<'a>(part: &Part<'a>) -> impl Iterator<Item = &'a Summary> {
    part.table.cells.iter().flat_map(|cell| cell.summaries)
}

/// The mean of each figure, with half of its 95 % confidence interval if there are several seeds.
pub(super) fn measured(part: &Part, figures: &[Figure]) -> Vec<Column> {
    let column = |figure: &Figure| {
        let values: Vec<Option<Statistics>> = rows(part).map(|row| figure.statistics(row)).collect();
        let decimals = figure.decimals_for(&values);
        Column {
            heading: [figure.who.clone(), figure.what.to_owned(), figure.unit.to_owned()],
            cells: values.into_iter().map(|value| cell_text(value, decimals)).collect(),
        }
    };
    figures.iter().map(column).collect()
}

/// The throughput of each connection, followed by a fluid model's prediction; empty without predictions.
pub(super) fn predicted(part: &Part) -> Vec<Column> {
    if !rows(part).any(|row| matches!(row.theory, Some(Theory::Fluid(_)))) {
        return Vec::new();
    }
    let figures = figure::throughputs(part.first());
    let both = measured(part, &figures).into_iter().zip(&figures).flat_map(|(measured, figure)| {
        let prediction = |row: &Summary| match &row.theory {
            Some(Theory::Fluid(fluid)) => Some(fluid.connections.get(&figure.who)?.throughput_bps / 1e6),
            _ => None,
        };
        let cell = |row| html! { (prediction(row).map_or("\u{2013}".to_owned(), |rate| number(rate, 2))) };
        let fluid = Column {
            heading: [figure.who.clone(), "fluid".to_owned(), figure.unit.to_owned()],
            cells: rows(part).map(cell).collect(),
        };
        [measured, fluid]
    });
    both.collect()
}

fn cell_text(value: Option<Statistics>, decimals: usize) -> Markup {
    html! {
        @match value {
            None => { "\u{2013}" }
            Some(s) => {
                (number(s.mean, decimals))
                @if let Some(half) = s.interval() { " " span.interval { "\u{b1}\u{a0}" (number(half, decimals)) } }
            }
        }
    }
}
