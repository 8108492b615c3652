//! An experiment: topology, runs, published and measured figures.

use braid_results::claims::{ExperimentResult, TableResult};
use maud::{Markup, PreEscaped, html};

use super::marks::mark;
use super::page::Page;
use super::{plot, strip};
use crate::markup;
use crate::repro::{cells, estimate, number};

pub(super) fn section(page: &Page, experiment: &ExperimentResult) -> Markup {
    let key = page.key();
    let tables: Vec<&TableResult> = page
        .result
        .tables
        .iter()
        .filter(|table| match &table.experiment {
            Some(id) => *id == experiment.id,
            // A table about several experiments is at the first of them.
            None => table.cells.first().and_then(|cell| cell.at.get("experiment")) == Some(&experiment.id),
        })
        .collect();
    let claims = claims_of(page, &experiment.id);
    html! {
        section.experiment id={ (key) "-" (experiment.id) } {
            h4 { (experiment.title) }
            p.note {
                (experiment.source) ". Scenario " code { (experiment.scenario) }
                @for set in &experiment.set { " " code { (set) } }
                ", with " (experiment.algorithms.iter().map(|(name, spec)| if name == spec { name.clone() } else { format!("{name} ({spec})") }).collect::<Vec<_>>().join(", "))
                "."
            }
            @if let Some(drawing) = page.drawings.get(&experiment.id) {
                div.drawing tabindex="0" role="group" aria-label={ "Topology of " (experiment.title) } { (PreEscaped(drawing)) }
            }
            @for table in &tables { (published(page, table)) }
            (strip::section(page, experiment))
            @if !claims.is_empty() {
                p.links {
                    "Claims: "
                    @for (place, (id, verdict)) in claims.iter().enumerate() {
                        @if place > 0 { " " }
                        a href={ "#" (key) "-" (id) } { (mark(*verdict)) (id) }
                    }
                }
            }
        }
    }
}

fn claims_of<'a>(page: &'a Page, experiment: &str) -> Vec<(&'a str, braid_results::claims::Verdict)> {
    let Some(paper) = page.paper else { return Vec::new() };
    let about = |id: &str| {
        paper
            .claim
            .iter()
            .any(|claim| claim.id == id && claim.experiments.iter().any(|own| own == experiment))
    };
    let own = page.result.claims.iter().filter(|claim| about(&claim.id));
    own.map(|claim| (claim.id.as_str(), claim.verdict)).collect()
}

/// A plot, with the numbers folded below it.
fn published(page: &Page, table: &TableResult) -> Markup {
    let metric = table.metric;
    let agree = table.cells.iter().filter(|cell| cell.agrees(metric) == Some(true)).count();
    let all = table.cells.iter().filter(|cell| cell.agrees(metric).is_some()).count();
    let unit = match metric.unit() {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let title = format!("{}: {}{unit}", table.source, metric.text());
    let grid = cells(table, &|cell| {
        let measured = cell.measured.map_or("-".to_owned(), |measured| estimate(measured, metric));
        format!("{}\u{a0}/\u{a0}{measured}", number(cell.published, metric))
    });
    html! {
        figure.chart {
            figcaption { h5 { (title) } span.note { (agree) " of " (all) " cells agree" } }
            (plot::table(table, page.kernel.and_then(|kernel| kernel.tables.iter().find(|own| own.id == table.id))))
        }
        details {
            summary { "The same in numbers: published / measured" }
            (markup::table(&title, None, &grid))
        }
    }
}
