//! The sections of the page, top to bottom.

use std::collections::BTreeSet;

use braid_results::theory::Theory;
use maud::{Markup, PreEscaped, html};

use super::report::{Part, Report};
use super::{data, detections, findings, shares, table};
use crate::figure;
use crate::markup;
use crate::text::{circumstances, legend_notes};

pub(super) const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const ECHARTS: &str = include_str!("../../assets/echarts/echarts.min.js");
const ECHARTS_NOTICE: &str = include_str!("../../assets/echarts/NOTICE");
const D3_LICENCE: &str = include_str!("../../assets/echarts/LICENSE-d3");
/// The page loads nothing, whatever is in it.
pub(super) const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

pub(super) fn page(report: &Report) -> String {
    let body = html! {
        body {
            a.skip href="#main" { "Skip to the results" }
            (head(report))
            main #main {
                @for part in &report.parts { (scenario(part, report.parts.len() > 1)) }
                (charts())
                (method(report))
            }
            (foot(report.version))
            (scripts(&data::json(report), SCRIPT))
        }
    };
    markup::page(&format!("{} \u{2013} Braid report", title(report)), POLICY, &[STYLE], &body)
}

/// What draws the charts, and from what.
pub(super) fn scripts(data: &str, script: &str) -> Markup {
    html! {
        script #data type="application/json" { (PreEscaped(data)) }
        script { (PreEscaped(ECHARTS)) }
        script { (PreEscaped(script)) }
    }
}

fn title(report: &Report) -> String {
    match &report.parts[..] {
        [part] => part.table.title.to_owned(),
        parts => format!("{} scenarios", parts.len()),
    }
}

/// What was run, and the command to repeat it.
fn head(report: &Report) -> Markup {
    let first = &report.parts[0];
    let mut seeds: Vec<u64> = first.runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let mut backends: Vec<&str> = first.runs.iter().map(|run| run.backend.as_str()).collect();
    let mut seen = BTreeSet::new();
    backends.retain(|backend| seen.insert(*backend));
    html! {
        header.page {
            p.eyebrow { "Braid report" }
            h1 { (title(report)) }
            dl.facts {
                div {
                    dt { @if report.parts.len() > 1 { "Scenarios" } @else { "Scenario" } }
                    dd { (joined(report.parts.iter().map(|part| part.first().name.clone()))) }
                }
                div {
                    dt { @if seeds.len() == 1 { "Seed" } @else { (seeds.len()) " seeds" } }
                    dd { (ranges(&seeds)) }
                }
                div {
                    dt { "Runs" }
                    dd { (report.parts.iter().map(|part| part.runs.len()).sum::<usize>()) }
                }
                div {
                    dt { @if backends.len() > 1 { "Backends" } @else { "Backend" } }
                    dd { (backends.join(", ")) }
                }
                div { dt { "Version" } dd { "braid " (report.version) } }
            }
            p.label { "To get this page again:" }
            pre.command tabindex="0" {
                code { @for word in report.command.split(' ') { span { (word) } " " } }
            }
            @if !report.algorithms.is_empty() {
                p.label { "What is compared:" }
                dl.algorithms {
                    @for (spec, title) in &report.algorithms { div { dt { (spec) } dd { (title) } } }
                }
            }
        }
    }
}

fn scenario(part: &Part, several: bool) -> Markup {
    html! {
        section.scenario {
            @if several { h2 { (part.table.title) } p.eyebrow { (part.first().name) } }
            (shares::shares(part))
            (setting(part))
            h3 { "Findings" }
            ul.findings { @for finding in findings::findings(part) { li { (finding) } } }
            h3 { "Summary" }
            p.note { (circumstances(&part.table)) "." }
            (flows(part))
            (data_level(part))
            (links(part))
            (periods(part))
            (detections::table(part))
            (theory(part))
            p.note { (legend_notes(std::slice::from_ref(&part.table)).join(" ")) }
        }
    }
}

fn flows(part: &Part) -> Markup {
    table::table(part, "Flows: means over the seeds", &figure::figures(part.first()))
}

/// Figures for packet schedulers.
fn data_level(part: &Part) -> Markup {
    let mut figures = figure::of_data_level(part.first());
    // A kernel does not report everything.
    figures.retain(|figure| part.table.rows().any(|(_, row)| figure.statistics(row).is_some()));
    html! {
        (table::table(part, "Data level of MPTCP connections: means over the seeds", &figures))
        @if !figures.is_empty() {
            p.note {
                "Out of order: time that packets waited at the receiver for earlier ones: mean, 95 % and 99 % \
                 quantiles. Sent twice: payload sent on another subflow as well: after a loss, to free the receive \
                 window, or as a copy. Window full: the receive window \
                 kept data back while a subflow had room. Share: of the connection\u{2019}s IP bytes that arrived."
            }
        }
    }
}

fn links(part: &Part) -> Markup {
    table::table(part, "Shared bottleneck links: means over the seeds", &figure::of_links(part.first()))
}

/// How the connection that the run is about fared in each of the intervals that the scenario names.
fn periods(part: &Part) -> Markup {
    let periods = part.runs.iter().find(|run| !run.periods.is_empty()).map_or(&[][..], |run| &run.periods);
    let Some(connection) = findings::of_interest(part.first()) else { return html! {} };
    let figures: Vec<_> = periods.iter().map(|period| figure::in_period(connection, &period.id)).collect();
    let caption = format!("Periods: goodput of {} in each, means over the seeds", connection.name);
    table::table(part, &caption, &figures)
}

/// Predictions of a fluid model, and flows without one.
fn theory(part: &Part) -> Markup {
    let mut without: Vec<(&str, &str)> = Vec::new();
    for summary in part.cells().iter().flat_map(|cell| cell.summaries) {
        if let Some(Theory::None(why)) = &summary.theory
            && !without.contains(&(&summary.cc, why))
        {
            without.push((&summary.cc, why));
        }
    }
    html! {
        @if figure::is_predicted(part.table.rows().map(|(_, row)| row)) {
            (table::table(part, "Theory: throughput beside the equilibrium of a fluid model", &figure::throughputs(part.first())))
            @for (cc, why) in without { p.note { "No prediction for " (cc) ": " (why) "." } }
        }
    }
}

/// Story and drawing of a scenario.
fn setting(part: &Part) -> Markup {
    html! {
        div.setting {
            @if !part.story.trim().is_empty() {
                div.story {
                    @for paragraph in part.story.trim().split("\n\n") {
                        p { (flowing(paragraph)) }
                    }
                }
            }
            div {
                div.drawing tabindex="0" role="region" aria-label="Drawing of the topology" {
                    (PreEscaped(braid_draw::topology(part.first())))
                }
                details {
                    summary {
                        "Links and flows in numbers"
                        @if part.cells().len() > 1 { " (first of " (part.cells().len()) " cells)" }
                    }
                    pre.wide tabindex="0" { (part.numbers.trim_end()) }
                }
            }
        }
    }
}

/// Lines as one, with numbers and their units kept together.
fn flowing(paragraph: &str) -> String {
    const UNITS: [&str; 9] = ["%", "s", "ms", "kbit/s", "Mbit/s", "Gbit/s", "packets", "bytes", "KB"];
    let mut text = String::new();
    for word in paragraph.split_whitespace() {
        let unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        match text.chars().last() {
            None => {}
            Some(last) if unit && last.is_ascii_digit() => text.push('\u{a0}'),
            Some(_) => text.push(' '),
        }
        text.push_str(word);
    }
    text
}

/// Content filled by the script; the figures are readable without it.
fn charts() -> Markup {
    let time_series = [
        ("cwnd", "Congestion window", "packets"),
        ("rtt", "Smoothed RTT", "ms"),
        ("rate", "Rate", "Mbit/s of IP packets that arrived"),
        (
            "group",
            "Shared bottlenecks",
            "raised: the detector\u{2019}s label is shared, by group; shaded: the bottleneck is shared",
        ),
        ("queue", "Queue", "packets waiting, including the one in transmission"),
    ];
    html! {
        noscript { p.note { "The charts need JavaScript; the findings and tables above do not." } }
        div #charts hidden {
            section #series aria-labelledby="series-title" {
                h2 #series-title { "One run over time" }
                div.controls {
                    label #choose-part { "Scenario " select {} }
                    label #choose-cell { "Cell " select {} }
                    label #choose-cc { "Algorithm " select {} }
                    label #choose-beside { "Beside it " select {} }
                    label #choose-seed { "Seed " select {} }
                    span.range {
                        label { "From " input #from type="number" min="0" step="any" inputmode="decimal"; }
                        label { "to " input #to type="number" min="0" step="any" inputmode="decimal"; " s" }
                        button #whole type="button" { "Whole run" }
                    }
                }
                p.note #series-note aria-live="polite" {}
                div.legend #subflows role="group" aria-label="Subflows shown" {}
                div.curves #curves {
                    @for (id, name, unit) in time_series {
                        figure.chart {
                            figcaption {
                                h3 { (name) " " span.unit { (unit) } }
                                button.save type="button" data-chart=(id) { "Save SVG" }
                            }
                            @if id == "queue" { div.legend #links role="group" aria-label="Links shown" {} }
                            div.panels {
                                div.canvas id=(id) role="img" {}
                                div.canvas id={ (id) "-beside" } role="img" hidden {}
                            }
                        }
                    }
                }
                ul.events #events {}
            }
            section #spread aria-labelledby="spread-title" {
                h2 #spread-title { "Spread over the seeds" }
                p.note #spread-note {}
                div.boxes #boxes {}
            }
            section #cells aria-labelledby="cells-title" {
                h2 #cells-title { "All cells" }
                div.controls { label #choose-figure { "Figure " select {} } }
                p.note #cells-note {}
                div.legend #ccs role="group" aria-label="Algorithms shown" {}
                figure.chart { div.canvas id="all-cells" role="img" {} }
            }
        }
    }
}

/// How to read the page.
fn method(report: &Report) -> Markup {
    let many = report.parts.iter().any(|part| part.runs.iter().any(|run| run.seed != part.runs[0].seed));
    html! {
        section #method {
            h2 { "How to read this" }
            ul {
                li {
                    "Means, box plots and findings are over the measured part of each run, without warm-up and \
                     cool-down. Goodput is payload handed to the application in order; rates are IP bytes that arrived."
                }
                @if many {
                    li {
                        "\u{b1} is half the width of the 95 % confidence interval of the mean over the seeds, by \
                         Student\u{2019}s t. A finding says more or less only if the whole interval is above or below; \
                         it is not corrected for multiple comparisons."
                    }
                }
                li {
                    "Box plots: the box is from the lower to the upper quartile with the median in it, the whiskers \
                     end at the smallest and the largest run, the diamond is the mean."
                }
                li {
                    "Time series show a few seeds only; all other figures use all seeds. They are taken every 100 ms \
                     from the start of the run. Long ones are thinned for this page, as stated above them: of each \
                     group of samples the smallest and the largest are shown, so no peak is lost, but their times are \
                     exact to a group only."
                }
            }
        }
    }
}

pub(super) fn foot(version: &str) -> Markup {
    html! {
        footer {
            p { "Made by braid " (version) ". This page is complete in itself: it loads nothing." }
            details {
                summary { "Licences of included software" }
                p { "Charts by Apache ECharts, Apache License 2.0." }
                pre.wide tabindex="0" { (ECHARTS_NOTICE.trim_end()) "\n\n" (D3_LICENCE.trim_end()) }
            }
        }
    }
}

fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// `1 to 10, 12`, of ascending numbers.
fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    joined(runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{} to {}", run[0], run[run.len() - 1]),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1 to 3, 7, 9 to 10");
        assert_eq!(ranges(&[u64::MAX]), u64::MAX.to_string());
    }

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(flowing("after 30\ns, 5\n%) packets\nleave"), "after 30\u{a0}s, 5\u{a0}%) packets leave");
    }

    #[test]
    fn what_is_embedded_does_not_end_its_element() {
        assert!(!ECHARTS.to_ascii_lowercase().contains("</script"));
        assert!(!SCRIPT.to_ascii_lowercase().contains("</script"));
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }
}
