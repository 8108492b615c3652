//! A scenario with converted units and resolved names, as input of backends.
//!
//! Times are integer nanoseconds from the start of the run, rates bits per second, sizes bytes.

use std::path::PathBuf;
use std::sync::Arc;

use braid_algorithms::Spec;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::trace::Trace;

/// One cell of a scenario file: all its parameters have one value each.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Scenario {
    /// Built-in name, such as `d-olia/1`, or the path as given.
    pub name: String,
    /// One-line description.
    pub title: String,
    /// The file's parameters and the value each has in this cell, in the file's order.
    pub parameters: IndexMap<String, String>,
    /// Length of the run.
    pub duration_ns: u64,
    /// Start of the measured time.
    pub warmup_ns: u64,
    /// Length of the time after the measured time.
    pub cooldown_ns: u64,
    /// Intervals of the run with results of their own: `[from, to)`.
    pub periods: Vec<(u64, u64)>,
    /// A real kernel counts every RTT sample.
    pub rtt_samples: bool,
    /// All links, including private copies, in an order that depends on the file alone.
    pub links: Vec<Link>,
    /// All connections in the file's order.
    pub connections: Vec<Connection>,
}

impl Scenario {
    /// The slowest link of a route.
    ///
    /// # Panics
    /// If the route is empty, which does not occur in a scenario.
    pub fn bottleneck(&self, route: &[usize]) -> usize {
        let rate = |&&link: &&usize| self.links[link].forward.rate_bps;
        *route.iter().min_by_key(rate).expect("routes are not empty")
    }

    /// Links that are at some time the bottleneck of a subflow of a connection with several.
    pub fn bottlenecks_of_several(&self) -> impl Iterator<Item = usize> {
        let several = self.connections.iter().filter(|connection| connection.subflows.len() > 1);
        several.flat_map(|connection| &connection.subflows).flat_map(|subflow| {
            let later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_deref());
            std::iter::once(&*subflow.route).chain(later).map(|route| self.bottleneck(route))
        })
    }

    /// Number of the queue of the route's slowest link: equal numbers share a queue. 0: a queue of its own.
    pub fn bottleneck_queue(&self, route: &[usize]) -> u32 {
        let bottleneck = self.bottleneck(route);
        let shares = self.links[bottleneck].forward.has_one_queue();
        if shares { bottleneck as u32 + 1 } else { 0 }
    }
}

/// A duplex link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Link {
    /// Its key in the file; a private copy is `key@connection.subflow.hop`.
    pub name: String,
    /// Whether it is a private copy of one route.
    pub private: bool,
    /// From sender to receiver: carries data.
    pub forward: Direction,
    /// From receiver to sender: carries acknowledgements.
    pub reverse: Direction,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Direction {
    /// Serialisation rate in bits per second; with a trace its mean.
    pub rate_bps: u64,
    /// Opportunities to deliver, instead of a rate.
    pub trace: Option<Arc<Trace>>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Random extra delay, uniform in `[0, jitter_ns)`.
    pub jitter_ns: u64,
    /// Random delay of packets before the queue, uniform in `[0, noise_ns)` and in order, by the scenario's `noise`.
    pub noise_ns: u64,
    /// Whether jitter or a shorter delay may reorder packets.
    pub reordering: bool,
    /// Capacity of the queue, including the packet being sent.
    pub queue: QueueLimit,
    /// Loss on the wire, after the queue.
    pub loss: Loss,
    /// Threshold from which ECN-capable packets are marked.
    pub ecn_threshold: Option<EcnThreshold>,
    /// Times at which the link is down: `[from, to)`, ascending and disjoint. Packets that arrive or would leave during
    /// an outage are lost; packets on the wire still arrive.
    pub outages: Vec<(u64, u64)>,
    /// Service order and early drops.
    pub discipline: Discipline,
    /// Changes during the run, ascending in time.
    pub changes: Vec<Change>,
    /// Whether the queue persists and fills while changes keep the link down; else it is emptied, and arriving packets
    /// are dropped.
    pub keeps_queue: bool,
}

impl Direction {
    /// Upper limit of jitter and noise if both act at one place: the larger of the two.
    pub fn random_delay_ns(&self) -> u64 {
        self.jitter_ns.max(self.noise_ns)
    }

    /// Whether all flows share one queue, and so a bottleneck.
    pub fn has_one_queue(&self) -> bool {
        !matches!(self.discipline, Discipline::FqCoDel(_))
    }
}

/// From where on a queue marks packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum EcnThreshold {
    /// Marks packets that find this many packets.
    Packets(u32),
    /// Marks packets that find this many bytes.
    Bytes(u64),
    /// Marks packets that have waited this long when their transmission begins, nanoseconds.
    Wait(u64),
}

/// Queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum Discipline {
    /// First in, first out; dropped when full.
    DropTail,
    /// First in, first out; dropped at random by the mean length of the queue (Floyd and Jacobson 1993).
    Red(Red),
    /// First in, first out; drops packets that have waited too long (RFC 8289).
    CoDel(CoDel),
    /// A `CoDel` queue for each flow, served in rounds (RFC 8290).
    FqCoDel(FqCoDel),
}

/// Parameters of RED. Lengths count the packet being sent.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Red {
    /// Mean length in packets above which packets are dropped at random.
    pub min: u32,
    /// Mean length at which they are dropped with `probability`; above `min`.
    pub max: u32,
    /// Above 0, at most 1.
    pub probability: f64,
    /// Weight of each arriving packet in the mean, above 0, at most 1.
    pub weight: f64,
    /// Whether the probability grows to 1 at twice `max`; else it is 1 above `max`.
    pub gentle: bool,
    /// Marks ECN-capable packets instead of dropping them, while the probability is below 1.
    pub ecn: bool,
}

/// Parameters of `CoDel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CoDel {
    /// Target waiting time; RFC 8289: 5 ms.
    pub target_ns: u64,
    /// Time for which it may be exceeded; RFC 8289: 100 ms.
    pub interval_ns: u64,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// Parameters of `FQ-CoDel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FqCoDel {
    /// Parameters of each queue.
    pub codel: CoDel,
    /// Number of queues that flows are hashed to; RFC 8290: 1024.
    pub flows: u32,
    /// Bytes that a queue may send per round; RFC 8290: 1514.
    pub quantum: u32,
}

/// New values from a certain time on; `None`: as before.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Change {
    /// Time of the change.
    pub at_ns: u64,
    /// See [`Direction::rate_bps`]. The packet being sent is finished at the old rate.
    pub rate_bps: Option<u64>,
    /// See [`Direction::delay_ns`]. Applies to packets that leave afterwards.
    pub delay_ns: Option<u64>,
    /// See [`Direction::loss`].
    pub loss: Option<Loss>,
    /// See [`Direction::queue`]. Waiting packets stay, even if the queue is too long.
    pub queue: Option<QueueLimit>,
    /// See [`Direction::discipline`]; of the same kind, with the same number of queues.
    pub discipline: Option<Discipline>,
    /// See [`Direction::ecn_threshold`].
    pub ecn_threshold: Option<EcnThreshold>,
    /// Whether it sends. The packet being sent is finished.
    pub up: Option<bool>,
}

impl Change {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self { at_ns: self.at_ns, ..Self::default() }
    }
}

/// Another route from a certain time on; `None`: as before. Indices into [`Scenario::links`], from sender to receiver.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Reroute {
    /// Time of the change.
    pub at_ns: u64,
    /// The links of data.
    pub forward: Option<Vec<usize>>,
    /// The links of acknowledgements.
    pub reverse: Option<Vec<usize>>,
}

/// Capacity of a drop-tail queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum QueueLimit {
    /// In packets of any size.
    Packets(u32),
    /// In bytes on the wire.
    Bytes(u64),
}

/// Loss that has nothing to do with the queue.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum Loss {
    /// None.
    None,
    /// Each packet independently with this probability, 0 < p < 1.
    Bernoulli(f64),
    /// Every n-th packet, n >= 2, counted from the start of the run.
    Periodic(u32),
    /// Alternating good and bad states (Gilbert 1960, Elliott 1963).
    GilbertElliott(GilbertElliott),
}

/// The chain moves before each packet, which is then lost with the probability of the state it meets. It starts in the
/// good state. Runs of the bad state have `1 / to_good` packets on average.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct GilbertElliott {
    /// Probability of moving from good to bad, above 0.
    pub to_bad: f64,
    /// Probability of moving from bad to good, above 0.
    pub to_good: f64,
    /// Loss in the good state; usually 0.
    pub loss_good: f64,
    /// Loss in the bad state; usually 1.
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// Share of packets lost in the long run.
    pub fn mean(&self) -> f64 {
        let bad = self.to_bad / (self.to_bad + self.to_good);
        (1.0 - bad) * self.loss_good + bad * self.loss_bad
    }
}

/// A sender, a receiver and the paths between them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Connection {
    /// Its key in the file.
    pub name: String,
    /// Plain or multipath TCP.
    pub kind: Kind,
    /// The congestion control it always uses; `None`: the one the run is about (`--cc`).
    pub cc: Option<Spec>,
    /// The packet scheduler it always uses, MPTCP only; `None`: the one the run is about (`--scheduler`).
    pub scheduler: Option<braid_schedulers::Spec>,
    /// What its application sends and when.
    pub traffic: Traffic,
    /// Earliest time of opening.
    pub start_ns: u64,
    /// Random delay of opening, drawn for each seed: uniform in `[0, start_noise_ns)`.
    pub start_noise_ns: u64,
    /// Time at which its application stops writing and the connection is closed; `None`: at the end of the run.
    pub stop_ns: Option<u64>,
    /// Payload bytes per packet.
    pub mss: u32,
    /// Bytes of an IP header: 20, or 40 with IPv6.
    pub ip_header: u32,
    /// Header bytes on the wire of a data packet, including IP's.
    pub data_header: u32,
    /// Bytes on the wire of an acknowledgement without selective acknowledgements.
    pub ack_size: u32,
    /// Transfers that take longer are late; `None`: no deadline.
    pub deadline_ns: Option<u64>,
    /// The receive buffer of all its subflows, bytes of payload.
    pub receive_buffer: u64,
    /// Whether it grows to that size with the data read; otherwise it has the full size from the start.
    pub autotuning: bool,
    /// Maximum of written bytes that are not acknowledged; `None`: unlimited.
    pub send_buffer: Option<u64>,
    /// Initial congestion window, packets.
    pub initial_window: u32,
    /// Initial slow-start threshold, packets; `None`: slow start lasts until the first reduction.
    pub initial_ssthresh: Option<u32>,
    /// Whether both ends negotiate ECN.
    pub ecn: bool,
    /// Whether the receiver echoes each mark (RFC 8257).
    pub accurate_ecn: bool,
    /// Whether the receiver may delay acknowledgements.
    pub delayed_ack: bool,
    /// Exactly one for TCP, 1 to 8 for MPTCP, in order of creation.
    pub subflows: Vec<Subflow>,
}

/// What an application sends and when.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Traffic {
    /// Unlimited data.
    Bulk,
    /// One object of this many bytes; the connection ends when all of it has arrived.
    Object {
        /// Bytes.
        size: Spread,
    },
    /// Short flows, each a connection of its own for one object, at exponential intervals.
    Poisson {
        /// Mean time between two arrivals.
        every_ns: u64,
        /// Bytes.
        size: Spread,
        /// Maximum of flows at a time; further ones wait.
        at_once: u32,
    },
    /// Sends and pauses alternately.
    OnOff {
        /// How long it sends, nanoseconds.
        on: Spread,
        /// How long it pauses, nanoseconds.
        off: Spread,
        /// Rate while it sends; `None`: unlimited.
        rate: Option<ConstantRate>,
    },
    /// The receiver requests, the sender responds, the receiver thinks, and so on.
    RequestResponse {
        /// Bytes of a request; at most ten packets.
        request: u32,
        /// Bytes of a response.
        response: Spread,
        /// Time from a response to the next request, nanoseconds.
        think: Spread,
    },
    /// Writes at regular intervals.
    Cbr(ConstantRate),
    /// Programs of this machine, on a real kernel.
    Program(Arc<Programs>),
}

/// Two programs that talk to each other. In their arguments `{server}` and `{client}` stand for addresses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Programs {
    /// The program that listens, and its arguments.
    pub server: Vec<String>,
    /// The program that connects, and its arguments. It starts with the connection.
    pub client: Vec<String>,
    /// Whether the server is at the sender's end of the routes; otherwise the client is.
    pub server_sends: bool,
    /// Files of both: name, and path on this machine.
    pub files: Vec<(String, PathBuf)>,
}

impl Traffic {
    /// Its name in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Object { .. } => "object",
            Self::Poisson { .. } => "poisson",
            Self::OnOff { .. } => "on-off",
            Self::RequestResponse { .. } => "request-response",
            Self::Cbr(_) => "cbr",
            Self::Program(_) => "program",
        }
    }
}

/// Writes of this many bytes at times that make this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ConstantRate {
    /// Bits per second.
    pub rate_bps: u64,
    /// Bytes of a write.
    pub write: u32,
}

/// An amount, fixed or drawn each time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum Spread {
    /// Always this.
    Fixed(u64),
    /// Exponential distribution.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Lognormal distribution.
    Lognormal {
        /// Its median.
        median: f64,
        /// Standard deviation of its natural logarithm.
        sigma: f64,
    },
    /// Bounded Pareto distribution.
    Pareto {
        /// Exponent of the tail.
        shape: f64,
        /// Smallest amount.
        least: f64,
        /// Largest amount.
        most: f64,
    },
}

/// Plain or multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Kind {
    /// One path.
    Tcp,
    /// One or more paths.
    Mptcp,
}

/// One path of a connection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Subflow {
    /// Its key in the file; `sf1` for TCP.
    pub name: String,
    /// Indices into [`Scenario::links`], from sender to receiver. Acknowledgements take the same route back.
    pub route: Vec<usize>,
    /// Delay of the join after the first subflow is established; `None`: one round trip of the first path.
    pub join_delay_ns: Option<u64>,
    /// Times at which it exists, `[from, to)`, ascending and disjoint: it joins at the beginning of each and is removed
    /// at the end. Empty: always.
    pub up: Vec<(u64, u64)>,
    /// Used only if no other subflow can be.
    pub backup: bool,
    /// Other routes during the run, ascending in time.
    pub reroutes: Vec<Reroute>,
}

impl Subflow {
    /// The links of data at that time, from sender to receiver.
    pub fn route_at(&self, time_ns: u64) -> &[usize] {
        let past = self.reroutes.iter().take_while(|reroute| reroute.at_ns <= time_ns);
        past.filter_map(|reroute| reroute.forward.as_deref()).last().unwrap_or(&self.route)
    }
}
