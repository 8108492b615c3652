//! What a sweep has measured, over the seeds: what pictures of it are made of.

use indexmap::IndexMap;

use crate::Statistics;

/// A parameter of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// What it changes in the scenarios; none if it is of algorithms only.
    pub sets: Option<String>,
    /// Its values have equal ratios rather than equal steps.
    pub log: bool,
    /// As they were given, in this order.
    pub values: Vec<String>,
}

/// Runs that differ only in their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// As in [`Run`](crate::Run).
    pub scenario: String,
    /// The algorithm as the sweep names it, `cubic:beta=$beta`: one line in a picture.
    pub line: String,
    /// As in [`Run`](crate::Run).
    pub scheduler: String,
    /// A value for each axis; none of what the algorithm does not use.
    pub values: Vec<Option<String>>,
    /// Those that there are, in the order of [`FIGURES`].
    pub figures: IndexMap<Figure, Statistics>,
}

/// A complete sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The first is the one to look at first.
    pub axes: Vec<Axis>,
    /// A sample of the combinations, which has no lines through it.
    pub is_sample: bool,
    /// In the order of the runs.
    pub points: Vec<Point>,
}

/// Something measured of somebody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Figure {
    /// Place in [`FIGURES`].
    pub kind: usize,
    /// The connection, subflow or link.
    pub who: String,
}

/// A column of a table that is worth a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureKind {
    /// Of the table.
    pub column: &'static str,
    /// Which table.
    pub of: Of,
    /// In a few words.
    pub what: &'static str,
    /// As shown.
    pub unit: &'static str,
    /// Divides the value.
    pub scale: f64,
}

/// What a row's value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A whole connection: the same in the rows of all its subflows.
    Connection,
    /// A subflow.
    Subflow,
    /// A shared link.
    Link,
}

impl Figure {
    /// What it is.
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

/// What people ask for first comes first.
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
