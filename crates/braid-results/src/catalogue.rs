//! The catalogue: everything that results say of a run, a connection, a subflow, a link, a transfer or a sample.
//!
//! A figure is declared here once, with unit and meaning. JSON, CSV, Parquet, Arrow, the statistics over seeds, the tables
//! of docs/results.md and the names in Python follow from the declaration. The order of the fields is their order in JSON
//! and in tables. [`Setup::measured`](crate::Setup::measured) derives the values from what a backend has counted.

use std::fmt;
use std::hash::{Hash, Hasher};

use indexmap::IndexMap;

use crate::measure::{LinkSample, Program, SubflowSample, Transfer};
use crate::table::{Kind, Value};

/// [`Run::status`] of a run that succeeded.
pub const OK: &str = "ok";

figures! {
    /// One run: what was asked for, and the result.
    #[derive(Default)]
    pub struct Run: Run, always, under "" = |row| Some(row.run) => {
        scenario: String, "", "embedded name, or path of the file as given";
        backend: String, "", "where it ran: `sim`, `lab`, `host` or `quic`";
        cc: String, "", "the congestion control that the run is about";
        /// The scenario's parameters and their values in this cell.
        params: IndexMap<String, String>;
            + params: String, "", "the scenario's parameters in this cell, a JSON object"
                = |row| crate::json(&row.run.params);
        scheduler: String, "", "the MPTCP packet scheduler";
        /// The seed.
        seed: u64;
            + seed: Seed, "", "the seed" = |row| Value::Unsigned(row.run.seed);
        duration_s: f64, "s", "length of the whole run";
        measured_s: f64, "s", "length of the part everything is measured over: without warm-up and cool-down";
        status: String, "", "`ok`, or why there is no result; then nothing follows in this row";
        /// In the scenario's order.
        connections: Vec<Connection>;
        /// In the scenario's order, private copies included.
        links: Vec<Link>;
        /// What follows from the rates.
        metrics: Metrics;
        /// What detectors of shared bottlenecks said of each subflow, whole run; empty without a detector.
        detections: Vec<Detection>;
        /// What the result depends on besides program, scenario and seed: versions of a real kernel and its machine; absent
        /// in the simulator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<String>;
        /// What makes the result doubtful, such as a guest that was too busy; absent if there is nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        doubts: Vec<String>;
        /// The same figures over intervals of the run, in the scenario's order.
        periods: Vec<Period>;
    }
}

figures! {
    /// An interval of a run with results of its own.
    pub struct Period: Period, always, under "" = |row| row.period => {
        id: String as period, "", "as the scenario gives it, such as `20s..40s`";
        from_s: f64, "s", "its beginning since the start of the run";
        to_s: f64, "s", "its end; the figures that follow are of this interval";
        /// As in [`Run`]; quantiles of cwnd are absent.
        connections: Vec<Connection>;
        /// As in [`Run`].
        links: Vec<Link>;
        /// As in [`Run`], with the fair shares of this interval.
        metrics: Metrics;
    }
}

figures! {
    /// One connection. Rates are over the measured time during which it was open.
    pub struct Connection: Connection, optional, under "" = |row| row.connection => {
        id: String as connection, "", "its key in the scenario";
        kind: String, "", "`mptcp` or `tcp`";
        cc: String as connection_cc, "", "the congestion control it used";
        goodput_bps: f64, "bit/s",
            "payload handed to the application in order; the whole connection, over the measured time it was open";
        throughput_bps: f64 as connection_throughput_bps, "bit/s", "IP bytes that arrived, all its subflows";
        retransmissions: u64 as _, "packets", "data packets sent again on the same subflow, all subflows";
        reinjections: u64, "packets", "sent once more on another subflow; the whole connection";
        /// What its data level did; absent of plain TCP, and where a kernel does not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data_level: Option<DataLevel>, ..DataLevel;
            + connection_benefit: Option<f64>, "",
                "aggregate benefit of an MPTCP connection, against its fair share of each path"
                = |row| Metrics::aggregate_benefits.value(row);
        timeouts: u64 as _, "", "retransmission timeouts, all subflows";
        /// What its application saw; absent for a bulk transfer.
        application: Option<Application>, ..Application;
        /// The programs whose traffic it was, and what they wrote; absent if there are none, and in periods.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        programs: Vec<Program>;
        /// In order of creation.
        subflows: Vec<Subflow>;
    }
}

figures! {
    /// What the data level of an MPTCP connection did besides sending everything once.
    pub struct DataLevel: Connection, optional, under "data_level." = |row| row.connection?.data_level.as_ref() => {
        repeated_bytes: u64, "bytes",
            "payload sent on a further subflow: reinjected, sent again because the receive window was full, or copies";
        copies: u64 as _, "packets", "packets that the scheduler had sent as copies";
        opportunistic_retransmissions: u64, "packets",
            "sent again on a faster subflow because the receive window was full";
        penalties: u64, "", "congestion windows that the scheduler halved because the receive window was full";
        window_limited: f64, "",
            "share of the time during which the receive window kept data back while a subflow had room, 0 to 1";
        /// How long packets waited for earlier ones at the receiver; absent if none arrived.
        out_of_order_delay_ms: Option<Delay>, ..Delay;
    }
}

figures! {
    /// A delay of packets, milliseconds.
    #[derive(Copy)]
    pub struct Delay: Connection, optional, under "data_level.out_of_order_delay_ms."
        = |row| DataLevel::find(row)?.out_of_order_delay_ms.as_ref() => {
        mean: f64 as out_of_order_delay_ms, "ms",
            "how long packets waited for earlier ones at the receiver: mean of all";
        p95: f64 as out_of_order_delay_p95_ms, "ms", "its 95 % quantile";
        p99: f64 as out_of_order_delay_p99_ms, "ms", "its 99 % quantile";
    }
}

figures! {
    /// What an application counts: objects, short flows, bursts, responses, or writes at a constant rate.
    pub struct Application: Connection, optional, under "application." = |row| row.connection?.application.as_ref() => {
        traffic: String, "", "pattern of its application; none for a bulk transfer";
        transfers: usize, "", "objects, short flows, bursts, responses or writes that began in the measured time";
        unfinished: usize as unfinished_transfers, "", "those of them that were not complete at the end of the run";
        /// How long the others took; absent if there is none.
        time_ms: Option<Times>, ..Times;
        /// How many were late; absent without a deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Deadline>, ..Deadline;
    }
}

figures! {
    /// Transfers that began in the measured time and whose deadline was in the run, or that were complete.
    #[derive(Copy)]
    pub struct Deadline: Connection, optional, under "application.deadline."
        = |row| Application::find(row)?.deadline.as_ref() => {
        transfers: usize as _, "", "how many there are";
        missed: usize as deadline_misses, "", "transfers that were not complete at their deadline; none without one";
        missed_percent: Option<f64> as deadline_misses_percent, "%",
            "the same, of the transfers whose deadline was in the run or that were complete";
    }
}

figures! {
    /// From the arrival of an object or a short flow, the beginning of a burst, a request or a write, until the last byte
    /// was handed to the receiving application in order; milliseconds (quantiles: nearest rank).
    #[derive(Copy)]
    pub struct Times: Connection, optional, under "application.time_ms." = |row| Application::find(row)?.time_ms.as_ref() => {
        mean: f64 as transfer_mean_ms, "ms",
            "from the beginning of a transfer until its last byte was handed over in order: mean of the complete ones";
        p50: f64 as transfer_p50_ms, "ms", "its median";
        p95: f64 as transfer_p95_ms, "ms", "its 95 % quantile";
        p99: f64 as transfer_p99_ms, "ms", "its 99 % quantile";
        max: f64 as transfer_max_ms, "ms", "the longest";
    }
}

figures! {
    /// One subflow. A TCP connection has one.
    pub struct Subflow: Subflow, optional, under "" = |row| row.subflow => {
        id: String as subflow, "", "its key in the scenario; a TCP connection has one too";
        links: Vec<String>, "", "ids of the links it crosses, from sender to receiver, with spaces between";
        throughput_bps: f64, "bit/s", "IP bytes of data packets that arrived";
            + share_of_expected_percent: Option<f64>, "%", "its throughput against its fair share of the bottleneck"
                = |row| Metrics::share_of_expected_percent.value(row);
        mean_rtt_ms: Option<f64>, "ms", "mean of its RTT samples; none without a sample";
        mean_cwnd: Option<f64>, "packets", "mean over time; none if it was never established";
        /// Of samples every 100 ms, packets; absent if it was never established.
        cwnd_quantiles: Option<CwndQuantiles>, ..CwndQuantiles;
        packets_sent: u64, "packets", "data packets sent, retransmissions included";
        retransmissions: u64, "packets", "data packets sent again";
        loss_episodes: Option<u64>, "", "times it reduced its window, undone ones included";
        fast_retransmits: Option<u64>, "", "episodes that began with a fast retransmit";
        timeouts: u64, "", "retransmission timeouts";
        ecn_reductions: Option<u64>, "", "episodes that began with an ECN echo";
        undos: Option<u64>, "", "episodes undone because the loss was spurious";
    }
}

figures! {
    /// Quantiles of cwnd over time, packets (nearest rank).
    #[derive(Copy, Eq)]
    pub struct CwndQuantiles: Subflow, optional, under "cwnd_quantiles." = |row| row.subflow?.cwnd_quantiles.as_ref() => {
        p5: u32 as cwnd_p5, "packets", "5 % quantile of cwnd every 100 ms of the measured time";
        p25: u32 as cwnd_p25, "packets", "25 % quantile of cwnd every 100 ms of the measured time";
        p50: u32 as cwnd_p50, "packets", "50 % quantile of cwnd every 100 ms of the measured time";
        p75: u32 as cwnd_p75, "packets", "75 % quantile of cwnd every 100 ms of the measured time";
        p95: u32 as cwnd_p95, "packets", "95 % quantile of cwnd every 100 ms of the measured time";
    }
}

figures! {
    /// One link: its forward direction, and the reverse one within.
    pub struct Link: Link, always, under "" = |row| row.link => {
        id: String as link, "", "its key in the scenario; a private copy is `key@connection.subflow.hop`";
            + direction: String, "", "`forward`, from sender to receiver, or `reverse`"
                = |row| if row.is_reverse { "reverse" } else { "forward" };
        private: bool, "", "whether one route has it for itself";
        /// From sender to receiver.
        #[serde(flatten)]
        forward: LinkDirection, ..LinkDirection;
            + jain_connections: Option<f64>, "0 to 1",
                "Jain's index over the connections that cross it; forward rows of shared links only"
                = |row| Metrics::jain_connections.value(row);
            + jain_subflows: Option<f64>, "0 to 1", "the same over subflows, each TCP connection being one"
                = |row| Metrics::jain_subflows.value(row);
            + jain_mptcp_subflows: Option<f64>, "0 to 1", "the same over MPTCP subflows, TCP left out"
                = |row| Metrics::jain_mptcp_subflows.value(row);
        /// From receiver to sender.
        reverse: LinkDirection;
    }
}

figures! {
    /// One direction of a link.
    pub struct LinkDirection: Link, always, under ""
        = |row| row.link.map(|link| if row.is_reverse { &link.reverse } else { &link.forward }) => {
        rate_bps: u64, "bit/s", "serialisation rate as given";
        utilization: f64, "0 to 1", "share of the time that the transmitter was busy";
        packets: u64, "packets", "entered the queue";
        drops_packets: u64, "packets", "dropped by the queue";
        lost_packets: u64, "packets", "lost on the wire, after the queue";
        marked_packets: u64, "packets", "got a congestion mark";
        mean_queue_packets: f64, "packets", "mean over time, the packet being sent included";
    }
}

figures! {
    /// What follows from the rates; see [`crate::metrics`] for the definitions.
    #[derive(Default)]
    pub struct Metrics: Metrics, optional, under "" = |row| row.metrics() => {
        aggregate_benefit: Option<f64>, "", "of the first MPTCP connection, against its fair share of each path";
        aggregate_benefit_raw: Option<f64>, "",
            "of the first MPTCP connection, against the full capacity of each path";
        aggregate_benefits: IndexMap<String, Option<f64>>, "",
            "aggregate benefit of each MPTCP connection, against its fair share of each path";
        jain_connections: IndexMap<String, f64>, "0 to 1",
            "Jain's index over the connections that cross a shared link; the subflows of one count as one flow";
        jain_subflows: IndexMap<String, f64>, "0 to 1",
            "Jain's index over the flows that cross a shared link: each subflow and each TCP connection is one";
        jain_mptcp_subflows: IndexMap<String, f64>, "0 to 1",
            "Jain's index over the MPTCP subflows that cross a shared link, TCP left out";
        share_of_expected_percent: IndexMap<String, Option<f64>>, "%",
            "for each connection and, as `connection.subflow`, each subflow of MPTCP: throughput in percent of the fair share";
        detection_accuracy_percent: Option<f64>, "%",
            "time in which labels of shared bottlenecks were right, all subflows with a detector, whole run";
        total_goodput_bps: f64, "bit/s", "payload delivered in order, all connections";
        total_retransmissions: u64, "packets", "sent again, all connections";
    }
}

figures! {
    /// What a detector said of one subflow during a time in which the truth about that did not change.
    #[derive(Default)]
    pub struct Detection: Detection, always, under "" = |row| row.detection => {
        connection: String, "", "as in `flows`";
        subflow: String, "", "as in `flows`";
        bottleneck: String, "", "id of the slowest link of its route";
        shared: bool, "", "the truth: whether another subflow has it as its bottleneck, too";
        from_s: f64, "s", "since when, from the start of the run";
        to_s: f64, "s", "until when, from the start of the run";
        accuracy_percent: f64, "%", "time in which its label, shared or not, was right";
        group_accuracy_percent: f64, "%", "time in which its group was right: just the subflows with that bottleneck";
        changes: usize, "", "how often the label changed";
        right_changes: usize, "", "how often it changed to the right one";
        first_right_ms: Option<f64>, "ms", "until the label was right for the first time";
        settled_ms: Option<f64>, "ms", "until it was right for good; none if it was wrong at the end";
        /// Whether the label was right 0.5, 1, 2, 5, 10 and 20 seconds after the beginning, as far as it lasts.
        #[serde(default)]
        right_at: Vec<(f64, bool)>;
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing_s: Option<f64>, "s",
            "time with a standing queue, from the second second on: mean wait of the last second above 3 ms and three jitters";
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing_accuracy_percent: Option<f64>, "%", "share of `standing_s` in which the label was right";
    }
}

figures! {
    /// The number that joins the tables.
    pub struct Number: Run;
    run: u64, "", "number of the run, from 0, in the order of `results.json`; joins the tables" = |row| row.number;
}

figures! {
    /// An object, a short flow, a burst, a response or a write.
    pub struct OfTransfer: Transfer;
    connection: String, "", "as in `flows`" = |row| row.connection.map(|connection| &connection.id);
    start_s: f64, "s", "when it arrived, was requested or written, since the start of the run, warm-up included"
        = |row| row.transfer.map(|transfer| seconds(transfer.start_ns));
    bytes: u64, "bytes", "payload; 0 of a burst that was not over"
        = |row| row.transfer.map(|transfer| transfer.bytes);
    time_ms: Option<f64>, "ms",
        "until its last byte was handed to the receiving application in order; none if that was not in the run"
        = |row| row.transfer.and_then(|own| Some((own.end_ns? - own.start_ns) as f64 / 1e6));
}

figures! {
    /// A subflow at one time.
    pub struct OfSample: Sample;
    connection: String, "", "as in `flows`" = |row| row.connection.map(|connection| &connection.id);
    subflow: String, "", "as in `flows`" = |row| row.subflow.map(|subflow| &subflow.id);
    time_s: f64, "s", "since the start of the run, warm-up included"
        = |row| row.sample.map(|sample| seconds(sample.time_ns));
    cwnd: u32, "packets", "congestion window" = |row| row.sample.map(|sample| sample.cwnd);
    ssthresh: Option<u32>, "packets", "slow-start threshold; none before the first reduction"
        = |row| row.sample.and_then(|sample| sample.ssthresh);
    srtt_ms: Option<f64>, "ms", "smoothed RTT; none before the first RTT sample"
        = |row| row.sample.and_then(|sample| Some(f64::from(sample.srtt_us?) / 1e3));
    in_flight: u32, "packets", "believed to be in the network" = |row| row.sample.map(|sample| sample.in_flight);
    received_bytes: u64, "bytes", "IP bytes of data packets that have reached the receiver since the start of the run"
        = |row| row.sample.map(|sample| sample.received_bytes);
    retransmissions: u64, "packets", "sent again since the start of the run"
        = |row| row.sample.map(|sample| sample.retransmissions);
    group: Option<u32>, "",
        "group of subflows with the same bottleneck, 0 for none; none where the algorithm detects no bottlenecks"
        = |row| row.sample.and_then(|sample| sample.group.map(u32::from));
}

figures! {
    /// A shared link at one time.
    pub struct OfQueue: Queue;
    link: String, "", "as in `links`" = |row| row.link.map(|link| &link.id);
    time_s: f64, "s", "since the start of the run, warm-up included"
        = |row| row.queue.map(|queue| seconds(queue.time_ns));
    queue_packets: u32, "packets", "in the queue, the one being sent included"
        = |row| row.queue.map(|queue| queue.queue_packets);
    drops_packets: u64, "packets", "dropped by the queue since the start of the run"
        = |row| row.queue.map(|queue| queue.drops_queue);
}

pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What it is of.
    pub level: Level,
    /// Its key in the JSON of what it is of, with those of the objects around it: `data_level.window_limited`.
    pub path: &'static str,
    /// Heading of its column; empty if it has none.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// Unit of the values; empty for what has none.
    pub unit: &'static str,
    /// What it says, in a few words.
    pub meaning: &'static str,
    pub(crate) value: Get,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Level {
    Run,
    Period,
    Connection,
    Subflow,
    Link,
    /// Of a run, or of parts of it that [`Metrics`] names.
    Metrics,
    Detection,
    Transfer,
    Sample,
    Queue,
}

/// How a figure gets its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Get {
    Field(for<'a> fn(&Row<'a>) -> Value<'a>),
    /// The parameter of that name, which not every run has.
    Parameter(&'static str),
    /// Rows that are not about runs bring their values themselves.
    #[cfg(feature = "parquet")]
    Given,
}

impl Figure {
    /// Its value in a row.
    pub fn value<'a>(&self, row: &Row<'a>) -> Value<'a> {
        match self.value {
            Get::Field(get) => get(row),
            Get::Parameter(name) => {
                let Some(text) = row.run.params.get(name) else { return Value::Null };
                if self.kind == Kind::Real { text.parse::<f64>().ok().into() } else { text.into() }
            }
            #[cfg(feature = "parquet")]
            Get::Given => Value::Null,
        }
    }

    /// Unit for people, what divides a value in it, and digits after the point: rates in Mbit/s.
    pub fn shown(&self) -> (&'static str, f64, usize) {
        match (self.unit, self.kind) {
            ("bit/s", _) => ("Mbit/s", 1e6, 2),
            ("bytes", _) => ("kB", 1e3, 0),
            ("0 to 1", _) => ("", 1.0, 3),
            (unit @ ("ms" | "%"), _) => (unit, 1.0, 1),
            (unit, Kind::Integer | Kind::Unsigned) => (unit, 1.0, 0),
            ("packets", _) => ("packets", 1.0, 1),
            (unit, _) => (unit, 1.0, 3),
        }
    }
}

/// Two figures are equal if they have the same place.
impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        (self.level, self.path, self.name) == (other.level, other.path, other.name)
    }
}

impl Eq for Figure {}

impl Hash for Figure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.level, self.path, self.name).hash(state);
    }
}

/// Figures in the order of tables.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// One column.
    Figure(&'static Figure),
    /// The columns of a part.
    Group(&'static [Entry]),
}

impl Entry {
    /// The figures of these entries that have columns, from left to right.
    pub fn columns(entries: &[Self]) -> Vec<&'static Figure> {
        let one = |entry: &Self| match entry {
            Self::Figure(figure) => vec![*figure],
            Self::Group(entries) => Self::columns(entries),
        };
        entries.iter().flat_map(one).collect()
    }
}

/// A figure of something in a run: of `mp0`, `mp0.sf1` or `b1`; empty for the run itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The scenario's period, if it is not over the whole measured time.
    pub period: Option<String>,
    /// Which figure.
    pub figure: &'static Figure,
    /// What it is of. The reverse direction of a link is `b1.reverse`.
    pub of: String,
}

/// Where it stands in the JSON of a run, with ids in place of list positions.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(period) = &self.period {
            write!(f, "periods.{period}.")?;
        }
        let (of, path) = (&self.of, self.figure.path);
        match (self.figure.level, of.split_once('.')) {
            (Level::Connection, _) => write!(f, "connections.{of}.{path}"),
            (Level::Subflow, Some((connection, subflow))) => {
                write!(f, "connections.{connection}.subflows.{subflow}.{path}")
            }
            (Level::Link, _) => write!(f, "links.{of}.{path}"),
            _ if of.is_empty() => write!(f, "metrics.{path}"),
            _ => write!(f, "metrics.{path}.{of}"),
        }
    }
}

/// Takes a figure, what it is of (as far as the figure itself says so) and its value.
pub(crate) type Visit<'a> = dyn FnMut(&'static Figure, &str, f64) + 'a;

/// Something with numbers for statistics, in the order of JSON.
pub(crate) trait Numbers {
    fn numbers(&self, visit: &mut Visit<'_>);
}

impl<T: Numbers> Numbers for Option<T> {
    fn numbers(&self, visit: &mut Visit<'_>) {
        if let Some(own) = self {
            own.numbers(visit);
        }
    }
}

/// What a figure may be.
pub(crate) trait Datum {
    const KIND: Kind;
    const NULLABLE: bool = false;
    fn value<'a>(&'a self, row: &Row<'a>) -> Value<'a>;
    /// What counts in statistics.
    fn numbers(&self, _figure: &'static Figure, _visit: &mut Visit<'_>) {}
}

/// A seed takes all of its 64 bits.
pub(crate) struct Seed;

impl Datum for Seed {
    const KIND: Kind = Kind::Unsigned;
    fn value<'a>(&'a self, _row: &Row<'a>) -> Value<'a> {
        Value::Null
    }
}

impl Datum for String {
    const KIND: Kind = Kind::Text;
    fn value<'a>(&'a self, _row: &Row<'a>) -> Value<'a> {
        self.into()
    }
}

impl Datum for Vec<String> {
    const KIND: Kind = Kind::Text;
    fn value<'a>(&'a self, _row: &Row<'a>) -> Value<'a> {
        self.join(" ").into()
    }
}

impl Datum for bool {
    const KIND: Kind = Kind::Bool;
    fn value<'a>(&'a self, _row: &Row<'a>) -> Value<'a> {
        (*self).into()
    }
}

macro_rules! number {
    ($($type:ty: $kind:ident),*) => {
        $(impl Datum for $type {
            const KIND: Kind = Kind::$kind;
            fn value<'a>(&'a self, _row: &Row<'a>) -> Value<'a> {
                (*self).into()
            }
            fn numbers(&self, figure: &'static Figure, visit: &mut Visit<'_>) {
                visit(figure, "", *self as f64);
            }
        })*
    };
}

number!(u32: Integer, u64: Integer, usize: Integer, f64: Real);

impl<T: Datum> Datum for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    fn value<'a>(&'a self, row: &Row<'a>) -> Value<'a> {
        self.as_ref().map_or(Value::Null, |own| own.value(row))
    }
    fn numbers(&self, figure: &'static Figure, visit: &mut Visit<'_>) {
        if let Some(own) = self {
            own.numbers(figure, visit);
        }
    }
}

/// By what each is of; a row shows its own.
impl<T: Datum> Datum for IndexMap<String, T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    fn value<'a>(&'a self, row: &Row<'a>) -> Value<'a> {
        row.ids().iter().find_map(|id| self.get(id)).map_or(Value::Null, |own| own.value(row))
    }
    fn numbers(&self, figure: &'static Figure, visit: &mut Visit<'_>) {
        for (id, own) in self {
            own.numbers(figure, &mut |figure, _, value| visit(figure, id, value));
        }
    }
}

/// What a row is about; which parts are there depends on the table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub(crate) number: u64,
    pub(crate) run: &'a Run,
    pub(crate) period: Option<&'a Period>,
    pub(crate) connection: Option<&'a Connection>,
    pub(crate) subflow: Option<&'a Subflow>,
    pub(crate) link: Option<&'a Link>,
    pub(crate) is_reverse: bool,
    pub(crate) sample: Option<&'a SubflowSample>,
    pub(crate) queue: Option<&'a LinkSample>,
    pub(crate) transfer: Option<&'a Transfer>,
    pub(crate) detection: Option<&'a Detection>,
}

#[cfg(test)]
#[allow(unreachable_pub)]
mod tests {
    use super::*;
    use crate::table::{Table, runs};

    static EXTRA: Extra = Extra { aces: 7, share: None };

    figures! {
        /// What a declaration alone brings about.
        pub struct Extra: Link, always, under "extra." = |_row| Some(&EXTRA) => {
            aces: u64, "packets", "declared here and nowhere else";
            share: Option<f64> as ace_share, "0 to 1", "may be missing";
        }
    }

    #[test]
    fn a_declared_figure_is_in_json_tables_arrow_and_statistics() {
        assert_eq!(crate::json(&EXTRA), r#"{"aces":7,"share":null}"#);
        let table = Table { name: "extra", row: "a test", columns: Extra::ENTRIES };
        assert_eq!(table.to_csv(&runs(&[Run::default()])), "aces,ace_share\r\n7,\r\n");
        let mut numbers = Vec::new();
        EXTRA.numbers(&mut |figure, _, value| {
            numbers.push((Key { period: None, figure, of: "b1".into() }.to_string(), value));
        });
        assert_eq!(numbers, [("links.b1.extra.aces".to_owned(), 7.0)]);
        #[cfg(feature = "arrow")]
        {
            let schema = crate::arrow::schema(&table);
            let facts = schema.field(0).metadata();
            assert_eq!(
                (facts["unit"].as_str(), facts["meaning"].as_str()),
                ("packets", "declared here and nowhere else")
            );
            assert_eq!(
                schema.fields().iter().map(|field| field.is_nullable()).collect::<Vec<_>>(),
                [false, true]
            );
        }
    }
}
