//! Measurements of a sweep over the seeds, for plots.

use indexmap::IndexMap;

use crate::Statistics;
use crate::catalogue::{Connection, Figure, LinkDirection, Metrics, Subflow, Times};

/// A parameter of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The key that it changes in the scenarios; `None` for algorithm parameters.
    pub sets: Option<String>,
    /// Its values have equal ratios instead of equal steps.
    pub log: bool,
    /// The given values, in their order.
    pub values: Vec<String>,
}

/// Runs that differ only in their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// As in [`Run`](crate::Run).
    pub scenario: String,
    /// The algorithm as named in the sweep, `cubic:beta=$beta`: one line in a plot.
    pub line: String,
    /// As in [`Run`](crate::Run).
    pub scheduler: String,
    /// A value for each axis; `None` for axes that the algorithm does not use.
    pub values: Vec<Option<String>>,
    /// Those that there are, in the order of [`FIGURES`].
    pub figures: IndexMap<Charted, Statistics>,
}

/// A complete sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The first is the default of plots.
    pub axes: Vec<Axis>,
    /// A sample of the combinations, drawn without lines.
    pub is_sample: bool,
    /// In the order of the runs.
    pub points: Vec<Point>,
}

/// A figure of a connection, a subflow or a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Charted {
    /// Place in [`FIGURES`].
    pub kind: usize,
    /// The connection, subflow or link.
    pub who: String,
}

impl Charted {
    /// Which figure, and what it is in a few words.
    pub fn kind(&self) -> (&'static Figure, &'static str) {
        FIGURES[self.kind]
    }
}

/// The columns that are worth a picture, each in a few words. What people ask for first comes first.
pub const FIGURES: [(&Figure, &str); 11] = [
    (&Connection::goodput_bps, "goodput"),
    (&Metrics::aggregate_benefits, "aggregate benefit"),
    (&Times::p50, "time of a transfer, median"),
    (&Times::p95, "time of a transfer, 95 % quantile"),
    (&Subflow::throughput_bps, "rate"),
    (&Subflow::mean_rtt_ms, "mean RTT"),
    (&Subflow::mean_cwnd, "mean cwnd"),
    (&Subflow::retransmissions, "retransmissions"),
    (&LinkDirection::utilization, "utilization"),
    (&Metrics::jain_connections, "Jain's index of the connections"),
    (&LinkDirection::drops_packets, "drops"),
];
