//! Statistics over the runs that differ only in their seed.

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use crate::Statistics;
use crate::catalogue::{Connection, Figure, Key, Link, LinkDirection, Metrics, Numbers, OK, Run};
use crate::theory::Theory;

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
    /// Of each figure that has numbers; in JSON by its place in a run. Private links are left out. A figure that a run lacks
    /// does not count in its `n`.
    #[serde(serialize_with = "by_place")]
    pub statistics: IndexMap<Key, Statistics>,
    /// What a fluid model predicts; absent if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theory: Option<Theory>,
}

fn by_place<S: Serializer>(statistics: &IndexMap<Key, Statistics>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(statistics.iter().map(|(key, own)| (key.to_string(), own)))
}

impl Summary {
    /// The statistics of a figure of `mp0`, `mp0.sf1` or `b1`, over the measured time.
    pub fn get(&self, figure: &'static Figure, of: &str) -> Option<&Statistics> {
        self.statistics.get(&Key { period: None, figure, of: of.to_owned() })
    }

    /// The same in a period of the scenario.
    pub fn during(&self, period: &str, figure: &'static Figure, of: &str) -> Option<&Statistics> {
        self.statistics.get(&Key { period: Some(period.to_owned()), figure, of: of.to_owned() })
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
    let mut figures: IndexMap<Key, Vec<f64>> = IndexMap::new();
    for run in runs.iter().filter(|run| run.status == OK) {
        stretch(None, &run.connections, &run.links, &run.metrics, &mut figures);
        for period in &run.periods {
            stretch(Some(&period.id), &period.connections, &period.links, &period.metrics, &mut figures);
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
            .filter_map(|(key, values)| Some((key, Statistics::of(&values)?)))
            .collect(),
        theory: None,
    }
}

/// Every number of a run, or of a period of it.
fn stretch(
    period: Option<&String>,
    connections: &[Connection],
    links: &[Link],
    metrics: &Metrics,
    figures: &mut IndexMap<Key, Vec<f64>>,
) {
    let mut add = |of: &str, numbers: &dyn Numbers| {
        numbers.numbers(&mut |figure, part, value| {
            // A rate is given, not measured.
            if value.is_finite() && *figure != LinkDirection::rate_bps {
                let of = if part.is_empty() { of } else { part }.to_owned();
                figures.entry(Key { period: period.cloned(), figure, of }).or_default().push(value);
            }
        });
    };
    for connection in connections {
        add(&connection.id, connection);
        for subflow in &connection.subflows {
            add(&format!("{}.{}", connection.id, subflow.id), subflow);
        }
    }
    for link in links.iter().filter(|link| !link.private) {
        add(&link.id, link);
        add(&format!("{}.reverse", link.id), &link.reverse);
    }
    add("", metrics);
}
