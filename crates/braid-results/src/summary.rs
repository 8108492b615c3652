//! Statistics over the runs that differ only in their seed.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::theory::Theory;
use crate::{Connection, Link, Metrics, OK, Run, Statistics};

/// Runs of one scenario cell, congestion control and scheduler, over their seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// As in [`Run`].
    pub scenario: String,
    /// As in [`Run`].
    pub backend: String,
    /// As in [`Run`].
    pub cc: String,
    /// As in [`Run`].
    pub params: IndexMap<String, String>,
    /// As in [`Run`].
    pub scheduler: String,
    /// Number of runs.
    pub runs: usize,
    /// Number of failed ones, which are not in the statistics.
    pub failed: usize,
    /// By the figure's path in a run, with ids in place of list positions: `connections.mp0.subflows.sf1.mean_rtt_ms`,
    /// `links.b1.utilization`, `metrics.jain_subflows.b1`; a period's begin with it:
    /// `periods.20s..40s.connections.mp0.goodput_bps`. Without private links. A figure missing in a run does not count
    /// in its `n`.
    pub statistics: IndexMap<String, Statistics>,
    /// Prediction of a fluid model; absent if it was not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theory: Option<Theory>,
}

impl Summary {
    /// The statistics of one figure.
    pub fn get(&self, path: &str) -> Option<&Statistics> {
        self.statistics.get(path)
    }
}

/// One summary per group of consecutive runs that differ only in their seed.
pub fn summarize(runs: &[Run]) -> Vec<Summary> {
    runs.chunk_by(same_but_seed).map(of_group).collect()
}

fn same_but_seed(a: &Run, b: &Run) -> bool {
    let key = |run: &Run| (run.scenario.clone(), run.backend.clone(), run.cc.clone(), run.scheduler.clone());
    key(a) == key(b) && a.params == b.params
}

/// The summary of runs that differ only in their seed.
///
/// # Panics
/// If there are no runs.
pub fn of_group(runs: &[Run]) -> Summary {
    let mut figures: IndexMap<String, Vec<f64>> = IndexMap::new();
    for run in runs.iter().filter(|run| run.status == OK) {
        stretch("", &run.connections, &run.links, &run.metrics, &mut figures);
        for period in &run.periods {
            let place = format!("periods.{}.", period.id);
            stretch(&place, &period.connections, &period.links, &period.metrics, &mut figures);
        }
    }
    let first = &runs[0];
    Summary {
        scenario: first.scenario.clone(),
        backend: first.backend.clone(),
        cc: first.cc.clone(),
        params: first.params.clone(),
        scheduler: first.scheduler.clone(),
        runs: runs.len(),
        failed: runs.iter().filter(|run| run.status != OK).count(),
        statistics: figures
            .into_iter()
            .filter_map(|(path, values)| Some((path, Statistics::of(&values)?)))
            .collect(),
        theory: None,
    }
}

/// Every figure of a run, or of its period with that index.
fn stretch(
    place: &str,
    connections: &[Connection],
    links: &[Link],
    metrics: &Metrics,
    figures: &mut IndexMap<String, Vec<f64>>,
) {
    let shared: Vec<_> = links.iter().filter(|link| !link.private).collect();
    for (name, part) in [
        ("connections", serde_json::to_value(connections)),
        ("links", serde_json::to_value(&shared)),
        ("metrics", serde_json::to_value(metrics)),
    ] {
        collect(&format!("{place}{name}"), &part.expect("plain data with string keys"), figures);
    }
}

/// Every number below `value`, by its path.
fn collect(path: &str, value: &Value, figures: &mut IndexMap<String, Vec<f64>>) {
    match value {
        Value::Number(number) => {
            figures.entry(path.to_owned()).or_default().extend(number.as_f64());
        }
        Value::Array(items) => {
            for item in items {
                if let Some(id) = item["id"].as_str() {
                    collect(&format!("{path}.{id}"), item, figures);
                }
            }
        }
        Value::Object(fields) => {
            // A rate is given, not measured.
            for (key, field) in fields.iter().filter(|(key, _)| *key != "rate_bps") {
                collect(&format!("{path}.{key}"), field, figures);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
