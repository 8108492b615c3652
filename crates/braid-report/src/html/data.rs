//! The charts' data, as JSON inside the page.

use braid_results::Detection;
use braid_results::measure::SAMPLE_INTERVAL_NS;
use braid_results::{OK, Statistics};
use braid_scenario::model::Scenario;
use serde::Serialize;

use super::curves::{Curves, MOST_LINKS, MOST_SUBFLOWS};
use super::report::{Part, Report};
use crate::figure::{self, Shown};

/// The data of a page for a `<script type="application/json">`: no character in it ends the element.
pub(super) fn json(report: &Report) -> String {
    let data =
        Data { interval_s: seconds(SAMPLE_INTERVAL_NS), parts: report.parts.iter().map(part).collect() };
    // `<` occurs in strings only, and this is the same character.
    braid_results::json(&data).replace('<', "\\u003c")
}

#[derive(Serialize)]
struct Data<'a> {
    /// Between two samples.
    interval_s: f64,
    parts: Vec<PartData<'a>>,
}

#[derive(Serialize)]
struct PartData<'a> {
    name: &'a str,
    ccs: Vec<&'a str>,
    cells: Vec<CellData<'a>>,
    /// Subflows with series; others are counted.
    subflows: Vec<String>,
    subflows_left_out: usize,
    links: Vec<&'a str>,
    links_left_out: usize,
    figures: Vec<FigureData<'a>>,
    runs: Vec<RunData<'a>>,
}

#[derive(Serialize)]
struct CellData<'a> {
    /// Its distinguishing parameters; empty if it is the only one.
    label: String,
    duration_s: f64,
    /// The measured part.
    measured_s: [f64; 2],
    events: Vec<EventData<'a>>,
}

#[derive(Serialize)]
struct EventData<'a> {
    from_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_s: Option<f64>,
    what: &'a str,
}

#[derive(Serialize)]
struct FigureData<'a> {
    title: String,
    unit: &'a str,
    /// By cell, then by congestion control.
    boxes: Vec<Vec<Option<BoxData>>>,
}

/// A figure over the seeds.
#[derive(Serialize)]
struct BoxData {
    n: usize,
    /// Smallest, lower quartile, median, upper quartile, largest.
    five: [f64; 5],
    mean: f64,
    ci95: Option<f64>,
}

#[derive(Serialize)]
struct RunData<'a> {
    cell: usize,
    cc: usize,
    seed: u64,
    #[serde(flatten)]
    curves: &'a Curves,
    /// Intervals in which a subflow with a detector shared its bottleneck: its number, from, to.
    shared: Vec<(usize, f64, f64)>,
}

fn part<'a>(part: &'a Part<'a>) -> PartData<'a> {
    let scenario = part.first();
    let subflows = subflow_names(scenario);
    let links: Vec<&str> =
        scenario.links.iter().filter(|link| !link.private).map(|link| link.name.as_str()).collect();
    let figures = figure::figures(scenario).into_iter().chain(figure::of_links(scenario));
    let groups = part.groups();
    let runs = part.series.iter().filter_map(|series| {
        let run = &part.runs[series.run];
        let mut before = 0;
        let group = groups.iter().find(|group| {
            before += group.runs.len();
            series.run < before
        })?;
        let shared = shared(&subflows, &run.detections);
        (run.status == OK).then_some(RunData {
            cell: group.cell,
            cc: group.row,
            seed: run.seed,
            curves: series.curves,
            shared,
        })
    });
    let runs: Vec<RunData> = runs.collect();
    PartData {
        name: &scenario.name,
        ccs: part.names().collect(),
        cells: part
            .cells()
            .iter()
            .zip(&part.events)
            .map(|(cell, events)| CellData {
                label: label(part, cell.scenario),
                duration_s: seconds(cell.scenario.duration_ns),
                measured_s: [
                    seconds(cell.scenario.warmup_ns),
                    seconds(cell.scenario.duration_ns - cell.scenario.cooldown_ns),
                ],
                events: events
                    .iter()
                    .map(|event| EventData {
                        from_s: seconds(event.from_ns),
                        to_s: event.to_ns.map(seconds),
                        what: &event.what,
                    })
                    .collect(),
            })
            .collect(),
        subflows_left_out: subflows.len().saturating_sub(MOST_SUBFLOWS),
        subflows: subflows.into_iter().take(MOST_SUBFLOWS).collect(),
        links_left_out: links.len().saturating_sub(MOST_LINKS),
        links: links.into_iter().take(MOST_LINKS).collect(),
        figures: figures.filter(Shown::is_single).map(|figure| boxes(part, &figure)).collect(),
        runs,
    }
}

/// The truth about subflows with a detector.
fn shared(subflows: &[String], detections: &[Detection]) -> Vec<(usize, f64, f64)> {
    let number = |detection: &Detection| {
        let name = format!("{} {}", detection.connection, detection.subflow);
        subflows.iter().position(|known| *known == name || *known == detection.connection)
    };
    let shared = detections.iter().filter(|detection| detection.shared);
    shared.filter_map(|detection| Some((number(detection)?, detection.from_s, detection.to_s))).collect()
}

/// `mp0 sf1`, or the name of a connection with one subflow.
fn subflow_names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for connection in &scenario.connections {
        for subflow in &connection.subflows {
            names.push(match connection.subflows.len() {
                1 => connection.name.clone(),
                _ => format!("{} {}", connection.name, subflow.name),
            });
        }
    }
    names
}

/// Distinguishing parameters of a cell.
pub(super) fn label(part: &Part, scenario: &Scenario) -> String {
    let value = |name: &str| scenario.parameters.get(name).map(|value| format!("{name} {value}"));
    part.table.varying().into_iter().filter_map(value).collect::<Vec<_>>().join(", ")
}

fn boxes<'a>(part: &Part, figure: &Shown) -> FigureData<'a> {
    let statistics = |s: Statistics| BoxData {
        n: s.n,
        five: [s.min, s.q1, s.median, s.q3, s.max].map(rounded),
        mean: rounded(s.mean),
        ci95: s.ci95.map(rounded),
    };
    FigureData {
        title: format!("{} {}", figure.who, figure.what),
        unit: figure.unit,
        boxes: part
            .cells()
            .iter()
            .map(|cell| cell.summaries.iter().map(|row| figure.statistics(row).map(statistics)).collect())
            .collect(),
    }
}

/// Six significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
