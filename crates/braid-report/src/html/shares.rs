//! The first picture of a report: shares of all connections, one bar for each cell and congestion control.

use braid_results::{Connection, Summary};
use braid_scenario::model::Scenario;
use maud::{Markup, html};

use super::Part;
use super::findings::number;
use crate::markup::share_row;

/// Maximum of cells; further ones are in the tables and charts only.
const CELLS: usize = 6;
/// Above this number, connections of one kind are one piece.
const APART: usize = 6;
const COLOURS: usize = 6;

/// A piece of a bar: a connection, or several.
struct Piece {
    name: String,
    colour: usize,
    mbit: f64,
}

pub(super) fn shares(part: &Part) -> Markup {
    let cells = part.cells();
    let mut bars: Vec<(usize, usize, &str, Vec<Piece>)> = Vec::new();
    for (index, cell) in cells.iter().enumerate().take(CELLS) {
        let rows = part.names().zip(cell.summaries).enumerate();
        bars.extend(rows.map(|(row, (name, summary))| (index, row, name, pieces(cell.scenario, summary))));
    }
    let total = |pieces: &[Piece]| pieces.iter().map(|piece| piece.mbit).sum::<f64>();
    let most = bars.iter().map(|(.., pieces)| total(pieces)).fold(0.0, f64::max);
    let varying = part.table.varying();
    html! {
        @if most > 0.0 {
            figure.shares {
                figcaption {
                    h3 { "Who gets how much" }
                    p.note {
                        "Goodput in Mbit/s, mean over the seeds."
                        @if cells.len() > CELLS { " The first " (CELLS) " of " (cells.len()) " cells." }
                    }
                }
                @for (index, row, name, pieces) in &bars {
                    @if *row == 0 && !varying.is_empty() {
                        p.cell {
                            @for name in &varying {
                                (name) " " (cells[*index].scenario.parameters.get(*name).map_or("", String::as_str)) " "
                            }
                        }
                    }
                    (share_row(name, &bar(pieces, 100.0 * total(pieces) / most)))
                }
            }
        }
    }
}

fn bar(pieces: &[Piece], percent: f64) -> Markup {
    html! {
        div.pieces style={ "width:" (number(percent, 2)) "%" } {
            @for piece in pieces {
                span.piece.{ "line-" (piece.colour) }
                    style={ "flex:" (number(piece.mbit, 3)) " 1 0" }
                    title={ (piece.name) " " (number(piece.mbit, 2)) " Mbit/s" } {
                    b { (piece.name) } " " (number(piece.mbit, 2))
                }
            }
        }
    }
}

/// The pieces of a bar, without unmeasured ones.
fn pieces(scenario: &Scenario, summary: &Summary) -> Vec<Piece> {
    let all = &scenario.connections;
    let mut colour = 0;
    let single: Vec<Piece> = all
        .iter()
        .filter_map(|connection| {
            let own = colour;
            colour += connection.subflows.len();
            let mean = summary.get(&Connection::goodput_bps, &connection.name)?.mean;
            Some(Piece { name: connection.name.clone(), colour: own % COLOURS, mbit: mean / 1e6 })
        })
        .collect();
    if single.len() <= APART {
        return single;
    }
    let stem = |piece: &Piece| piece.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let groups = single.chunk_by(|a, b| stem(a) == stem(b));
    let together = groups.map(|group| Piece {
        name: match group {
            [one] => one.name.clone(),
            _ => format!("{} \u{d7} {}", group.len(), stem(&group[0])),
        },
        colour: group[0].colour,
        mbit: group.iter().map(|piece| piece.mbit).sum(),
    });
    together.collect()
}
