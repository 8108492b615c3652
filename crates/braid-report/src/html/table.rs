//! Tables of the page: a row for each cell and congestion control.

use braid_results::{Statistics, Summary};
use maud::{Markup, html};

use super::Part;
use super::findings::number;
use crate::figure::Figure;

/// The mean of each figure, with half of its 95 % confidence interval where there are several seeds.
pub(super) fn table(part: &Part, caption: &str, figures: &[Figure]) -> Markup {
    let rows: Vec<&Summary> = part.cells().iter().flat_map(|cell| cell.summaries).collect();
    let values: Vec<Vec<Option<Statistics>>> =
        figures.iter().map(|figure| rows.iter().map(|row| figure.statistics(row)).collect()).collect();
    let decimals: Vec<usize> =
        figures.iter().zip(&values).map(|(figure, values)| figure.decimals_for(values)).collect();
    let parameters = part.varying();
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for name in &parameters { th scope="col" { (name) } }
                        th scope="col" { "cc" }
                        @for figure in figures {
                            th.number scope="col" {
                                (figure.who) br; (figure.what)
                                @if !figure.unit.is_empty() { br; span.unit { (figure.unit) } }
                            }
                        }
                    }
                }
                @for (nth, cell) in part.cells().iter().enumerate() {
                    @let first = nth * cell.summaries.len();
                    tbody {
                        @for (index, summary) in cell.summaries.iter().enumerate() {
                            tr {
                                @if index == 0 {
                                    @for name in &parameters {
                                        th scope="rowgroup" rowspan=(cell.summaries.len()) {
                                            (cell.scenario.parameters.get(*name).map_or("", String::as_str))
                                        }
                                    }
                                }
                                th scope="row" { (summary.cc) }
                                @for (values, &decimals) in values.iter().zip(&decimals) {
                                    td.number { (cell_text(values[first + index], decimals)) }
                                }
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
                @if let Some(half) = s.ci95 { " " span.interval { "\u{b1}\u{a0}" (number(half, decimals)) } }
            }
        }
    }
}
