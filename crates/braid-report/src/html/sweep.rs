//! The page of a sweep: the swept parameter on the x axis, with a line and its confidence band for each algorithm.

use braid_results::Metrics;
use braid_results::catalogue::Level;
use braid_results::sweep::{Axis, Charted, Point, Sweep};
use maud::{Markup, html};
use serde::Serialize;

use super::page::{POLICY, STYLE, foot, scripts};
use crate::figure::number;
use crate::markup;

const SCRIPT: &str = include_str!("../../assets/sweep.js");
/// Ratio of the largest value to the smallest from which the scale is logarithmic.
const WIDE: f64 = 30.0;

/// Everything on the page. Equal content gives equal pages.
#[derive(Debug)]
pub struct SweepReport<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// The command that makes this page.
    pub command: &'a str,
    /// Summary of the runs, in a line.
    pub summary: &'a str,
    /// The specs that were compared, each with one line about it.
    pub algorithms: Vec<(String, String)>,
    /// Name and title of each scenario.
    pub scenarios: Vec<(String, String)>,
    /// Seeds per point.
    pub seeds: usize,
    /// The measurements.
    pub sweep: &'a Sweep,
}

/// The page as text.
pub fn sweep(report: &SweepReport) -> String {
    let title = title(report);
    let body = html! {
        body {
            a.skip href="#main" { "Skip to the results" }
            header.page { p.eyebrow { "Braid sweep" } h1 { (title) } }
            main #main {
                noscript { p.note { "The chart needs JavaScript; the table below it does not." } }
                section #charts {
                    div.controls {
                        @for (id, name) in [("scenario", "Scenario"), ("figure", "Figure"), ("x", "Parameter")] {
                            label #{ "choose-" (id) } hidden { (name) " " select {} }
                        }
                        span.range #others {}
                    }
                    p.note #note aria-live="polite" {}
                    div.legend #lines role="group" aria-label="Algorithms shown" {}
                    figure.chart {
                        figcaption { h3 #caption {} button.save type="button" #save { "Save SVG" } }
                        div.canvas #chart role="img" hidden {}
                    }
                }
                section { h2 { "In numbers" } div.wide { table #numbers { (numbers(report)) } } }
                (what(report))
                (method(report))
            }
            (foot(report.version))
            (scripts(&json(report), SCRIPT))
        }
    };
    markup::page(&format!("{title} \u{2013} Braid sweep"), POLICY, &[STYLE], &body)
}

fn title(report: &SweepReport) -> String {
    let axes: Vec<&str> = report.sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
    let what = if axes.is_empty() { String::new() } else { format!(" by {}", axes.join(", ")) };
    match &report.scenarios[..] {
        [(_, title)] => format!("{title}{what}"),
        all => format!("{} scenarios{what}", all.len()),
    }
}

/// What was run, and the command to repeat it.
fn what(report: &SweepReport) -> Markup {
    html! {
        section {
            h2 { "What was run" }
            dl.facts {
                div { dt { "Runs" } dd { (report.summary) } }
                div { dt { "Seeds" } dd { (report.seeds) } }
                div { dt { "Version" } dd { "braid " (report.version) } }
            }
            dl.algorithms {
                @for (name, title) in &report.scenarios { div { dt { (name) } dd { (title) } } }
                @for axis in &report.sweep.axes {
                    div { dt { (axis.name) } dd { (sets(axis)) ": " (values(axis)) } }
                }
                @for (spec, title) in &report.algorithms { div { dt { (spec) } dd { (title) } } }
            }
            p.label { "To get this page again:" }
            pre.command tabindex="0" { code { @for word in report.command.split(' ') { span { (word) } " " } } }
        }
    }
}

fn sets(axis: &Axis) -> &str {
    axis.sets.as_deref().unwrap_or("a parameter of algorithms")
}

/// All values if there are few.
fn values(axis: &Axis) -> String {
    match &axis.values[..] {
        few if few.len() <= 12 => few.join(", "),
        [first, .., last] => format!("{} values from {first} to {last}", axis.values.len()),
        _ => String::new(),
    }
}

fn method(report: &SweepReport) -> Markup {
    html! {
        section #method {
            h2 { "How to read this" }
            ul {
                li { "Means are over the measured part of each run, without warm-up and cool-down." }
                @if report.seeds > 1 {
                    li {
                        "The band, and \u{b1} in the table, is the 95 % confidence interval of the mean over the seeds, by \
                         Student\u{2019}s t. It holds for each point separately, without correction for multiple \
                         comparisons."
                    }
                } @else {
                    li { "There is one seed: the effect of chance is unknown. More seeds give bands." }
                }
                @if report.sweep.is_sample {
                    li { "The points are a sample: each has other values of the other parameters, too. So there are no lines." }
                }
                li { "Figures of subflows and links that the chart does not offer are in the tables of the folder." }
            }
        }
    }
}

/// The chart's initial content; the script fills the table for other choices.
fn numbers(report: &SweepReport) -> Markup {
    let Some(first) = report.sweep.points.first() else { return html! {} };
    let Some(figure) = figures(report, &first.scenario).first().copied() else { return html! {} };
    let shown: Vec<&Point> =
        report.sweep.points.iter().filter(|point| point.scenario == first.scenario).collect();
    html! {
        caption { (name_of(figure)) }
        thead {
            tr {
                th scope="col" { "algorithm" }
                @for axis in &report.sweep.axes { th.number scope="col" { (axis.name) } }
                th.number scope="col" { (name_of(figure)) }
            }
        }
        tbody {
            @for point in shown {
                tr {
                    th scope="row" { (point.line) }
                    @for value in &point.values { td.number { (value.as_deref().unwrap_or("\u{2013}")) } }
                    td.number {
                        @if let Some(s) = point.figures.get(figure) {
                            (number(s.mean, 3))
                            @if let Some(half) = s.interval() { " " span.interval { "\u{b1} " (number(half, 3)) } }
                        }
                    }
                }
            }
        }
    }
}

fn name_of(swept: &Charted) -> String {
    let (figure, what) = swept.kind();
    let (unit, ..) = figure.shown();
    let comma = if unit.is_empty() { "" } else { ", " };
    format!("{}: {what}{comma}{unit}", swept.who)
}

/// What was measured in a scenario: connections first, and MPTCP's before others, as the tables have them.
fn figures<'a>(report: &SweepReport<'a>, scenario: &str) -> Vec<&'a Charted> {
    let of = report.sweep.points.iter().filter(|point| point.scenario == scenario);
    let mut all: Vec<&Charted> = of.flat_map(|point| point.figures.keys()).collect();
    all.sort();
    all.dedup();
    // What has a benefit is an MPTCP connection: it is what a sweep is about.
    let benefits = all.iter().filter(|swept| *swept.kind().0 == Metrics::aggregate_benefits);
    let benefits: Vec<&str> = benefits.map(|swept| swept.who.as_str()).collect();
    let is_about =
        |swept: &Charted| swept.kind().0.level == Level::Connection && benefits.contains(&swept.who.as_str());
    all.sort_by_key(|figure| (figure.kind, !is_about(figure)));
    all
}

#[derive(Serialize)]
struct Data<'a> {
    is_sample: bool,
    axes: Vec<AxisData<'a>>,
    lines: Vec<&'a str>,
    schedulers: Vec<&'a str>,
    scenarios: Vec<ScenarioData<'a>>,
}

#[derive(Serialize)]
struct AxisData<'a> {
    name: &'a str,
    sets: &'a str,
    is_of_algorithms: bool,
    values: &'a [String],
    /// The same as numbers, if they have one unit.
    numbers: Option<Vec<f64>>,
    unit: &'a str,
    log: bool,
}

#[derive(Serialize)]
struct ScenarioData<'a> {
    name: &'a str,
    figures: Vec<String>,
    points: Vec<PointData>,
}

#[derive(Serialize)]
struct PointData {
    line: usize,
    scheduler: usize,
    /// Index of the value on each axis.
    at: Vec<Option<usize>>,
    /// For each figure: mean, and half of the confidence interval.
    means: Vec<Option<(f64, Option<f64>)>>,
}

/// For a `<script type="application/json">`: no character in it ends the element.
fn json(report: &SweepReport) -> String {
    let points = &report.sweep.points;
    let distinct = |of: fn(&Point) -> &str| {
        let mut all: Vec<&str> = Vec::new();
        for text in points.iter().map(of) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    };
    let (lines, schedulers) = (distinct(|point| &point.line), distinct(|point| &point.scheduler));
    let place = |all: &[&str], text: &str| all.iter().position(|other| *other == text).expect("it is there");
    let scenarios = report.scenarios.iter().map(|(name, _)| {
        let figures = figures(report, name);
        let points = points.iter().filter(|point| point.scenario == *name).map(|point| PointData {
            line: place(&lines, &point.line),
            scheduler: place(&schedulers, &point.scheduler),
            at: std::iter::zip(&point.values, &report.sweep.axes)
                .map(|(value, axis)| axis.values.iter().position(|other| Some(other) == value.as_ref()))
                .collect(),
            means: figures
                .iter()
                .map(|figure| point.figures.get(*figure).map(|s| (s.mean, s.ci95)))
                .collect(),
        });
        let points = points.collect();
        ScenarioData { name, figures: figures.iter().map(|figure| name_of(figure)).collect(), points }
    });
    let data = Data {
        is_sample: report.sweep.is_sample,
        axes: report.sweep.axes.iter().map(axis).collect(),
        scenarios: scenarios.collect(),
        lines,
        schedulers,
    };
    // `<` occurs in strings only, and this is the same character.
    braid_results::json(&data).replace('<', "\\u003c")
}

fn axis(axis: &Axis) -> AxisData<'_> {
    let quantity = |text: &'_ str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
        Some((text[..end].parse::<f64>().ok()?, text[end..].trim().to_owned()))
    };
    let all: Option<Vec<(f64, String)>> = axis.values.iter().map(|value| quantity(value)).collect();
    let numbers = all
        .filter(|all| all.windows(2).all(|pair| pair[0].1 == pair[1].1))
        .map(|all| all.into_iter().map(|(number, _)| number).collect::<Vec<f64>>());
    let digits = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    let unit = axis.values.first().map_or("", |value| value.trim_start_matches(digits).trim());
    let (low, high) = numbers
        .iter()
        .flatten()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), &value| (low.min(value), high.max(value)));
    AxisData {
        name: &axis.name,
        sets: sets(axis),
        is_of_algorithms: axis.sets.is_none(),
        values: &axis.values,
        unit: if numbers.is_some() { unit } else { "" },
        log: numbers.is_some() && low > 0.0 && (axis.log || high / low >= WIDE),
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_one_unit_are_numbers_and_others_are_places() {
        let of = |values: &[&str], log| Axis {
            name: "rate".into(),
            sets: None,
            log,
            values: values.iter().map(|&value| value.into()).collect(),
        };
        let given = of(&["10mbit", "20mbit"], false);
        let data = axis(&given);
        assert_eq!((data.numbers, data.unit, data.log), (Some(vec![10.0, 20.0]), "mbit", false));
        let given = of(&["0.5", "50"], false);
        assert!(axis(&given).log, "a wide range");
        let given = of(&["1mbit", "2kbit"], true);
        assert_eq!((axis(&given).numbers, axis(&given).log), (None, false));
        assert_eq!(axis(&of(&["red", "codel"], false)).numbers, None);
    }

    #[test]
    fn what_is_embedded_does_not_end_its_element() {
        assert!(!SCRIPT.to_ascii_lowercase().contains("</script"));
    }
}
