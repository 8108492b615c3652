//! Scoreboards: claims that hold in the simulator, on a kernel, and in the most plausible test bed.

use braid_results::claims::{Counts, Fate, Reproduction, Verdict};
use maud::{Markup, html};

use super::marks::{class, mark};
use super::page::Page;

const VERDICTS: [Verdict; 4] = [Verdict::Holds, Verdict::Undecided, Verdict::Fails, Verdict::NotCheckable];

fn count(counts: Counts, verdict: Verdict) -> usize {
    match verdict {
        Verdict::Holds => counts.holds,
        Verdict::Fails => counts.fails,
        Verdict::Undecided => counts.undecided,
        Verdict::NotCheckable => counts.not_checkable,
    }
}

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
    html! {
        div.share-row {
            span.cc { (name) }
            div.share-bar {
                @match counts {
                    Some(counts) => div.pieces {
                        @for verdict in VERDICTS {
                            @let own = count(counts, verdict);
                            @if own > 0 {
                                span.piece.(class(verdict)) style={ "flex:" (own) " 1 0" } title={ (own) " " (verdict.text()) } {
                                    (mark(verdict)) " " b { (own) } span.word { " " (verdict.text()) }
                                }
                            }
                        }
                    },
                    None => span.note { (without) },
                }
            }
        }
    }
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
                div.wide tabindex="0" role="group" aria-label="With other assumptions" {
                    table {
                        thead { tr {
                            th scope="col" { "what is different" }
                            @for verdict in VERDICTS { th.number scope="col" { (verdict.text()) } }
                        } }
                        tbody {
                            @for varied in &page.varied {
                                tr {
                                    th scope="row" { (varied.what) }
                                    @for verdict in VERDICTS { td.number { (count(varied.counts, verdict)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Verdicts of the simulator against another column's, with undecided as a row.
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
    html! {
        div.wide tabindex="0" role="group" aria-label={ "Verdicts of simulator and " (name) } {
            table {
                caption { "Verdicts of simulator (rows) and " (name) " (columns)" }
                thead { tr {
                    td {}
                    @for verdict in VERDICTS { th.number scope="col" { (verdict.text()) } }
                } }
                tbody {
                    @for a in VERDICTS {
                        tr {
                            th scope="row" { (a.text()) }
                            @for b in VERDICTS { td.number { (both(a, b)) } }
                        }
                    }
                }
            }
        }
    }
}

fn search(page: &Page) -> Markup {
    let Some(search) = page.search else { return html! {} };
    let fates = page.fates().unwrap_or_default();
    let of = |fate: Fate| fates.values().filter(|own| **own == fate).count();
    let best = &search.settings[search.best];
    let mut order: Vec<usize> = (0..search.settings.len()).collect();
    order.sort_by(|&a, &b| search.score(b).total_cmp(&search.score(a)));
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
            div.wide tabindex="0" role="group" aria-label="Settings by score" {
                table {
                    thead { tr {
                        th scope="col" { "setting" } th.number scope="col" { "score" } th.number scope="col" { "cells that agree" }
                        th.number scope="col" { "claims that hold" } th.number scope="col" { "fail" }
                    } }
                    tbody {
                        @for &place in &order {
                            @let setting = &search.settings[place];
                            @let cells = setting.scores.values().fold((0, 0), |sum, own| (sum.0 + own.cells, sum.1 + own.of_cells));
                            tr {
                                th scope="row" { (setting.what) }
                                td.number { (format!("{:.3}", search.score(place))) }
                                td.number { (cells.0) " of " (cells.1) }
                                td.number { (setting.counts.holds) }
                                td.number { (setting.counts.fails) }
                            }
                        }
                    }
                }
            }
        }
    }
}
