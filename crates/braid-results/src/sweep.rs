//! Measurements of a sweep over the seeds, for plots.

use indexmap::IndexMap;

use crate::Statistics;

/// A parameter of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The key that it changes in the scenarios; `None` for algorithm parameters.
    pub sets: Option<String>,
    /// Its values have equal ratios instead of equal steps.
    pub log: bool,
    /// As they were given, in this order.
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
    /// Existing figures, in the order of [`FIGURES`].
    pub figures: IndexMap<Figure, Statistics>,
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

/// A figure of a connection, subflow or link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Figure {
    /// Place in [`FIGURES`].
    pub kind: usize,
    /// The connection, subflow or link.
    pub who: String,
}

/// A table column worth plotting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureKind {
    /// Column of the table.
    pub column: &'static str,
    /// Its table.
    pub of: Of,
    /// Short description.
    pub what: &'static str,
    /// Unit as displayed.
    pub unit: &'static str,
    /// Divides the value.
    pub scale: f64,
}

/// Subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A whole connection: equal in the rows of all its subflows.
    Connection,
    /// A subflow.
    Subflow,
    /// A shared link.
    Link,
}

impl Figure {
    /// Its kind.
    pub fn kind(&self) -> &'static FigureKind {
        &FIGURES[self.kind]
    }
}

const fn kind(
    column: &'static str,
    of: Of,
    what: &'static str,
    unit: &'static str,
    scale: f64,
) -> FigureKind {
    FigureKind { column, of, what, unit, scale }
}

/// In the order of interest.
pub const FIGURES: [FigureKind; 11] = [
    kind("goodput_bps", Of::Connection, "goodput", "Mbit/s", 1e6),
    kind("connection_benefit", Of::Connection, "aggregate benefit", "", 1.0),
    kind("transfer_p50_ms", Of::Connection, "time of a transfer, median", "ms", 1.0),
    kind("transfer_p95_ms", Of::Connection, "time of a transfer, 95 % quantile", "ms", 1.0),
    kind("throughput_bps", Of::Subflow, "rate", "Mbit/s", 1e6),
    kind("mean_rtt_ms", Of::Subflow, "mean RTT", "ms", 1.0),
    kind("mean_cwnd", Of::Subflow, "mean cwnd", "packets", 1.0),
    kind("retransmissions", Of::Subflow, "retransmissions", "packets", 1.0),
    kind("utilization", Of::Link, "utilization", "", 1.0),
    kind("jain_connections", Of::Link, "Jain's index of the connections", "", 1.0),
    kind("drops_packets", Of::Link, "drops", "packets", 1.0),
];
