//! Scoreboards: claims that hold in the simulator, on a kernel, and in the most plausible test bed.

use braid_results::claims::{Counts, Fate, Reproduction, Search, Verdict};
use maud::{Markup, html};

use super::marks::{class, mark};
use super::page::Page;
use crate::layout::Grid;
use crate::markup::{share_row, table};

const VERDICTS: [Verdict; 4] = [Verdict::Holds, Verdict::Undecided, Verdict::Fails, Verdict::NotCheckable];

/// The front page.
pub(super) fn board(pages: &[Page]) -> Markup {
    html! {
        section #scoreboard aria-labelledby="scoreboard-title" {
            h2 #scoreboard-title { "Which claims hold" }
            p.note { "A bar is all claims of a paper. " @for verdict in VERDICTS { (mark(verdict)) " " (verdict.text()) " " } }
            @for page in pages {
                div.board {
                    h3 { a href={ "#" (page.key()) } { (page.key()) } }
                    (bars(page))
                }
            }
        }
    }
}

fn bars(page: &Page) -> Markup {
    let found = page.search.map(|search| search.settings[search.best].counts);
    html! {
        (bar("simulator", Some(page.result.counts), "not run"))
        (bar("kernel", page.kernel.map(|kernel| kernel.counts), "not run on a real kernel yet: braid repro --backend lab"))
        (bar("plausible test bed", found, "not looked for: braid repro --search"))
        @for stand_in in &page.stand_ins { (bar(&stand_in.name(), Some(stand_in.result.counts), "")) }
    }
}

fn bar(name: &str, counts: Option<Counts>, without: &str) -> Markup {
    let Some(counts) = counts else { return share_row(name, &html! { span.note { (without) } }) };
    let pieces = html! {
        div.pieces {
            @for verdict in VERDICTS {
                @let own = counts.of_verdict(verdict);
                @if own > 0 {
                    span.piece.(class(verdict)) style={ "flex:" (own) " 1 0" } title={ (own) " " (verdict.text()) } {
                        (mark(verdict)) " " b { (own) } span.word { " " (verdict.text()) }
                    }
                }
            }
        }
    };
    share_row(name, &pieces)
}

/// Runs of a paper, and the search's result.
pub(super) fn of_paper(page: &Page) -> Markup {
    let [first, last] = page.seeds;
    html! {
        (bars(page))
        p.note { "Simulator: seeds " (first) " to " (last) " of every run." }
        @if let Some(kernel) = page.kernel { (verdicts(page, "kernel", kernel)) }
        @for stand_in in &page.stand_ins { (verdicts(page, &stand_in.name(), stand_in.result)) }
        (search(page))
        @if !page.varied.is_empty() {
            details {
                summary { "With each of the other assumptions alone (" (page.varied.len()) ")" }
                (table("With other assumptions", None, &varied(page)))
            }
        }
    }
}

fn varied(page: &Page) -> Grid {
    let heads = ["what is different"].into_iter().chain(VERDICTS.map(Verdict::text));
    let rows = page.varied.iter().map(|varied| {
        let counts = VERDICTS.map(|verdict| varied.counts.of_verdict(verdict).to_string());
        [varied.what.clone()].into_iter().chain(counts).collect()
    });
    Grid::new(heads, rows, 1)
}

/// Verdicts of the simulator against those of another column, undecided as a row of its own.
fn verdicts(page: &Page, name: &str, column: &Reproduction) -> Markup {
    let pairs: Vec<(Verdict, Verdict)> = page
        .result
        .claims
        .iter()
        .filter_map(|claim| {
            let other = column.claims.iter().find(|other| other.id == claim.id)?;
            Some((claim.verdict, other.verdict))
        })
        .collect();
    let both = |a, b| pairs.iter().filter(|pair| **pair == (a, b)).count();
    let row = |a: Verdict| {
        [a.text().to_owned()].into_iter().chain(VERDICTS.map(|b| both(a, b).to_string())).collect()
    };
    let grid = Grid::new([""].into_iter().chain(VERDICTS.map(Verdict::text)), VERDICTS.map(row), 1);
    let caption = format!("Verdicts of simulator (rows) and {name} (columns)");
    table(&format!("Verdicts of simulator and {name}"), Some(&caption), &grid)
}

fn search(page: &Page) -> Markup {
    let Some(search) = page.search else { return html! {} };
    let fates = page.fates().unwrap_or_default();
    let of = |fate: Fate| fates.values().filter(|own| **own == fate).count();
    let best = &search.settings[search.best];
    html! {
        h3 { "The test bed behind it" }
        p {
            "Most plausible of " (search.settings.len()) " settings tried (of " (search.possible + 1) " that one or two of the other assumptions make possible): "
            b { (best.what) } "."
        }
        @if let Some(splits) = &search.splits {
            p {
                "Chosen on one half of the experiments and scored on the other, in " (splits.count) " splits of " (splits.groups)
                " groups that share no runs: score " (format!("{:.3}", splits.chosen)) " instead of " (format!("{:.3}", splits.as_assumed))
                " as assumed, better in " (format!("{:.0}", 100.0 * splits.better)) " % of the splits. With the settings of each group shuffled the gain is "
                (format!("{:+.3}", splits.baseline[0])) " on average and below " (format!("{:+.3}", splits.baseline[1])) " in 95 %; p = "
                (format!("{:.3}", splits.p)) ". "
                @if search.is_evidence() { b { "That is more than chance." } } @else { b { "That is no evidence: chance does as much." } }
            }
        } @else {
            p { b { "No evidence:" } " its experiments share runs, so they cannot be split into halves." }
        }
        ul.fates { @for fate in Fate::ALL { li { b { (of(fate)) } " " (fate.text()) } } }
        details {
            summary { "Settings by score" }
            (table("Settings by score", None, &settings(search)))
        }
    }
}

/// The best first.
fn settings(search: &Search) -> Grid {
    let mut order: Vec<usize> = (0..search.settings.len()).collect();
    order.sort_by(|&a, &b| search.score(b).total_cmp(&search.score(a)));
    let rows = order.into_iter().map(|place| {
        let setting = &search.settings[place];
        let cells =
            setting.scores.values().fold((0, 0), |sum, own| (sum.0 + own.cells, sum.1 + own.of_cells));
        vec![
            setting.what.clone(),
            format!("{:.3}", search.score(place)),
            format!("{} of {}", cells.0, cells.1),
            setting.counts.holds.to_string(),
            setting.counts.fails.to_string(),
        ]
    });
    Grid::new(["setting", "score", "cells that agree", "claims that hold", "fail"], rows, 1)
}
