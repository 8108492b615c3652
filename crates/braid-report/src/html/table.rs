//! Tables of the page: a row for each cell and congestion control.

use braid_results::Statistics;
use maud::{Markup, html};

use super::findings::number;
use super::report::Part;
use crate::figure::Shown;

/// A row for each cell and congestion control, with the mean of each figure, and half of its 95 % confidence interval
/// where there are several seeds; nothing without figures.
pub(super) fn table(part: &Part, caption: &str, figures: &[Shown]) -> Markup {
    if figures.is_empty() {
        return html! {};
    }
    let rows = || part.table.cells.iter().flat_map(|cell| cell.summaries);
    let columns = figures.iter().map(|figure| {
        let values: Vec<Option<Statistics>> = rows().map(|row| figure.statistics(row)).collect();
        let decimals = figure.decimals_for(&values);
        (figure, values.into_iter().map(|value| cell_text(value, decimals)).collect())
    });
    let columns: Vec<(&Shown, Vec<Markup>)> = columns.collect();
    let parameters = part.table.varying();
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for name in &parameters { th scope="col" { (name) } }
                        th scope="col" { (part.table.naming()) }
                        @for (Shown { who, what, unit, .. }, _) in &columns {
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
                                @for (_, cells) in &columns { td.number { (cells[first + index]) } }
                            }
                        }
                    }
                }
            }
        }
    }
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
