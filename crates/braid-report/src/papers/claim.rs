//! A claim: verdict, numbers, command, and cause of failure.

use braid_results::claims::{Cause, ClaimResult, Condition, Estimate, Fate, Strength, Verdict};
use maud::{Markup, html};

use super::marks::{class, mark, prose};
use super::page::Page;
use super::plot;
use crate::repro::short;

/// Maximum of comparisons shown; further ones are counted.
const SHOWN: usize = 16;

pub(super) fn section(page: &Page, claim: &ClaimResult, fate: Option<Fate>) -> Markup {
    let key = page.key();
    let kernel = page.kernel_verdict(&claim.id);
    html! {
        details.claim.(class(claim.verdict)) {
            summary {
                span.verdict { (mark(claim.verdict)) " " (claim.verdict.text()) }
                " " b { (claim.id) } " " (claim.statement)
                @if let Some(kernel) = kernel { span.kernel { " kernel: " (mark(kernel)) " " (kernel.text()) } }
                @for stand_in in &page.stand_ins {
                    @if let Some(verdict) = stand_in.verdict(&claim.id) {
                        span.kernel { " " (stand_in.name()) ": " (mark(verdict)) " " (verdict.text()) }
                    }
                }
            }
            // A link's target opens it: the anchor is inside.
            p.note.place id={ (key) "-" (claim.id) } {
                (claim.source) ", " (strength(claim.strength)) "."
                @if let Some(fate) = fate { " Outcome: " b { (fate.text()) } "." }
            }
            @if let Some(reason) = &claim.reason { p { "Why it cannot be checked: " (reason) "." } }
            @if let Some(check) = &claim.table_check { p { "The paper\u{2019}s own table: " (check) "." } }
            @if let Some(note) = &claim.note { p { (note) "." } }
            (conditions(claim))
            @if claim.reason.is_none() {
                p.label { "To see it:" }
                pre.command tabindex="0" { code { "braid repro " (key) " --claim " (claim.id) " --seeds " (page.seeds[1] - page.seeds[0] + 1) } }
            }
            @for cause in page.causes_of(&claim.id) { (why(page, cause)) }
        }
    }
}

fn conditions(claim: &ClaimResult) -> Markup {
    let mut order: Vec<&Condition> = claim.conditions.iter().collect();
    order.sort_by_key(|condition| match condition.verdict {
        Verdict::Fails => 0,
        Verdict::NotCheckable => 1,
        Verdict::Undecided => 2,
        Verdict::Holds => 3,
    });
    let side = |estimate: Option<Estimate>| estimate.map_or("\u{2013}".to_owned(), short);
    html! {
        @if !order.is_empty() {
            (plot::conditions(&order[..order.len().min(SHOWN)]))
            div.wide tabindex="0" role="group" aria-label={ "Comparisons of claim " (claim.id) } {
                table {
                    thead { tr { th scope="col" { "where" } th.number scope="col" { "left side" } th.number scope="col" { "right side" } th scope="col" { "verdict" } } }
                    tbody {
                        @for condition in order.iter().take(SHOWN) {
                            tr {
                                th scope="row" { @if condition.what.is_empty() { "everywhere" } @else { (condition.what) } }
                                td.number { (side(condition.a)) }
                                td.number { (side(condition.b)) }
                                td { (mark(condition.verdict)) " " (condition.verdict.text()) }
                            }
                        }
                    }
                }
            }
            @if order.len() > SHOWN { p.note { "and " (order.len() - SHOWN) " more, none worse." } }
        }
    }
}

/// A tested cause. One that explains several claims is at the first; the others link to it.
fn why(page: &Page, cause: &Cause) -> Markup {
    html! {
        div.cause {
            p { b { "Why: " (cause.title) "." } @if cause.claims.len() > 1 { " (with " (cause.claims.join(" ")) ")" } }
            (prose(&cause.text))
            @if !cause.excluded_by.is_empty() {
                p {
                    "The paper\u{2019}s own claims exclude this: "
                    @for id in &cause.excluded_by { a href={ "#" (page.key()) "-" (id) } { (id) } " " }
                }
            }
            details.commands {
                summary { "Commands" }
                dl.algorithms { @for (what, command) in &cause.commands { div { dt { (what) } dd { code { (command) } } } } }
            }
        }
    }
}

/// Causes about experiments instead of single claims.
pub(super) fn other_causes(page: &Page) -> Markup {
    html! { @for cause in page.causes.iter().filter(|cause| cause.claims.is_empty()) { (why(page, cause)) } }
}

fn strength(strength: Strength) -> &'static str {
    match strength {
        Strength::Stated => "stated",
        Strength::Approximate => "stated as approximate",
        Strength::Qualitative => "in words only",
        Strength::Table => "read off a table",
        Strength::Prediction => "expected, not measured by the authors",
        Strength::Secondary => "about the work of others",
    }
}
