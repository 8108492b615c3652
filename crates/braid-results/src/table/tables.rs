//! All tables: which figures of the catalogue are their columns.

use super::layout::Table;
use crate::catalogue::Entry::{self, Figure, Group};
use crate::catalogue::{
    Connection, Detection, Link, Metrics, Number, OfQueue, OfSample, OfTransfer, Period, Run, Subflow,
};

/// All tables.
pub const TABLES: [&Table; 8] = [&RUNS, &FLOWS, &PERIODS, &LINKS, &SAMPLES, &QUEUES, &TRANSFERS, &DETECTIONS];

/// See [`super::runs`].
pub const RUNS: Table = Table { name: "runs", row: "a run", columns: &[RUN, TOTALS] };
/// See [`super::flows`].
pub const FLOWS: Table = Table {
    name: "flows",
    row: "a subflow, or a TCP connection",
    columns: &[RUN, Group(Connection::ENTRIES), Group(Subflow::ENTRIES)],
};
/// See [`super::periods`].
pub const PERIODS: Table = Table {
    name: "periods",
    row: "a subflow, or a TCP connection, in a period of the scenario",
    columns: &[RUN, Group(Period::ENTRIES), Group(Connection::ENTRIES), Group(Subflow::ENTRIES)],
};
/// See [`super::links`].
pub const LINKS: Table =
    Table { name: "links", row: "a direction of a link", columns: &[RUN, Group(Link::ENTRIES)] };
/// See [`super::samples`].
pub const SAMPLES: Table = Table {
    name: "samples",
    row: "a subflow, every 100 ms of the run",
    columns: &[NUMBER, Group(OfSample::ENTRIES)],
};
/// See [`super::queues`].
pub const QUEUES: Table = Table {
    name: "queues",
    row: "a shared link, forward, every 100 ms of the run",
    columns: &[NUMBER, Group(OfQueue::ENTRIES)],
};

/// See [`super::transfers`].
pub const TRANSFERS: Table = Table {
    name: "transfers",
    row: "an object, a short flow, a burst, a response, or a write at a constant rate",
    columns: &[NUMBER, Group(OfTransfer::ENTRIES)],
};

/// See [`super::detections`].
pub const DETECTIONS: Table = Table {
    name: "detections",
    row: "a subflow with a detector of shared bottlenecks, in an interval in which the truth about it is constant",
    columns: &[NUMBER, Group(Detection::ENTRIES)],
};

const NUMBER: Entry = Group(Number::ENTRIES);
const RUN: Entry = Group(&[NUMBER, Group(Run::ENTRIES)]);
const TOTALS: Entry = Group(&[
    Figure(&Metrics::total_goodput_bps),
    Figure(&Metrics::detection_accuracy_percent),
    Figure(&Metrics::total_retransmissions),
    Figure(&Metrics::aggregate_benefit),
    Figure(&Metrics::aggregate_benefit_raw),
]);
