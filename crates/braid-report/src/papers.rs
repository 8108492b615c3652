//! The papers' report: one self-contained file without script, with a scoreboard, drawn experiments, published and
//! measured figures, and every claim with its verdict, command and cause.

mod claim;
mod experiment;
mod marks;
mod page;
mod plot;
mod score;
mod strip;

use braid_results::claims::Verdict;
use maud::{Markup, html};

use self::marks::{class, mark};
pub use self::page::{Page, StandIn};
use crate::markup;

const STYLE: &str = include_str!("../assets/report.css");
const OWN_STYLE: &str = include_str!("../assets/papers.css");
/// Forbids loads and scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Everything on the page. Equal papers give equal pages.
#[derive(Debug)]
pub struct Papers<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// The command that makes this page.
    pub command: &'a str,
    /// At least one.
    pub pages: Vec<Page<'a>>,
}

/// The page as text.
pub fn html(papers: &Papers) -> String {
    let title = match &papers.pages[..] {
        [page] => page.result.title.clone(),
        pages => format!("{} papers on multipath congestion control, run again", pages.len()),
    };
    let body = html! {
        body.papers {
            a.skip href="#main" { "Skip to the results" }
            header.page {
                p.eyebrow { "Braid: published experiments, run again" }
                h1 { (title) }
                p.label { "To get this page again:" }
                pre.command tabindex="0" { code { (papers.command) } }
                @if papers.pages.len() > 1 {
                    nav aria-label="Papers" {
                        ul.chips {
                            @for page in &papers.pages {
                                li { a href={ "#" (page.key()) } { (page.result.title) } }
                            }
                        }
                    }
                }
            }
            main #main {
                (score::board(&papers.pages))
                (filter())
                @for page in &papers.pages { (paper(page)) }
                (method())
            }
            footer { p { "Made by braid " (papers.version) ". This page is complete in itself: it loads nothing and runs nothing." } }
        }
    };
    markup::page(&format!("{title} \u{2013} Braid"), POLICY, &[STYLE, OWN_STYLE], &body)
}

/// Filter of claims: without script, by the state of checkboxes.
fn filter() -> Markup {
    html! {
        fieldset.filter {
            legend { "Claims shown" }
            @for verdict in Verdict::ALL {
                label {
                    input type="checkbox" checked id={ "show-" (class(verdict)) };
                    " " (mark(verdict)) " " (verdict.text())
                }
            }
        }
    }
}

fn paper(page: &Page) -> Markup {
    let key = page.key();
    let fates = page.fates();
    let fate = |id: &String| fates.as_ref().and_then(|fates| fates.get(id).copied());
    html! {
        article.paper #(key) aria-labelledby={ (key) "-title" } {
            h2 id={ (key) "-title" } { (page.result.title) }
            @if let Some(paper) = page.paper {
                p.note {
                    (paper.authors.join(", ")) ". " (paper.venue) ", " (paper.year) ". DOI "
                    a href={ "https://doi.org/" (paper.doi) } { (paper.doi) } ". Measured with: " (paper.platform) "."
                }
            }
            (score::of_paper(page))
            @if let Some(paper) = page.paper {
                @if !paper.assumptions.is_empty() {
                    details {
                        summary { "What the paper leaves open, and we assume (" (paper.assumptions.len()) ")" }
                        ul { @for assumption in &paper.assumptions { li { (assumption) } } }
                    }
                }
                @if !paper.anomaly.is_empty() {
                    details {
                        summary { "Where the paper contradicts itself (" (paper.anomaly.len()) ")" }
                        ul {
                            @for anomaly in &paper.anomaly {
                                li { b { (anomaly.place) } ": " (anomaly.what) ". " i { (anomaly.effect) } }
                            }
                        }
                    }
                }
            }
            (plot::scatters(page))
            h3 id={ (key) "-experiments" } { "Experiments" }
            @for experiment in &page.result.experiments { (experiment::section(page, experiment)) }
            h3 id={ (key) "-claims" } { "Claim by claim" }
            @for claim in &page.result.claims { (claim::section(page, claim, fate(&claim.id))) }
            (claim::other_causes(page))
        }
    }
}

fn method() -> Markup {
    html! {
        section #method {
            h2 { "How to read this" }
            ul {
                li {
                    "A verdict is of a claim as the paper makes it. Repetitions with the same seed are compared pair by pair, and the mean "
                    "difference gets a 95 % confidence interval by Student\u{2019}s t: a claim holds if every interval is on its side, fails if one is on "
                    "the other side, and is undecided otherwise."
                }
                li {
                    "In charts a dot is what was measured, with its 95 % confidence interval, and a diamond what the paper printed. A cell agrees if they "
                    "are within 10 points of a share, 0.05 of an index or a fraction, and 10 % of everything else, the interval apart."
                }
                li {
                    "Nothing was tuned: where a paper leaves something open, the choice that it argues for was made before the results were known. "
                    "The most plausible test bed is a second column, never a replacement."
                }
            }
        }
    }
}
