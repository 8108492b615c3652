//! Plain data between driver and agent: the job and its report.

mod added;
mod guest;
mod message;
mod programs;
mod report;

use std::net::IpAddr;

use braid_scenario::model::Traffic;
use serde::{Deserialize, Serialize};

pub(crate) use added::Added;
pub(crate) use guest::*;
pub use message::Packet;
pub(crate) use message::*;
pub(crate) use programs::*;
pub(crate) use report::*;

/// A network and what happens in it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Job {
    /// Seed of what applications draw.
    pub(crate) seed: u64,
    pub(crate) duration_ns: u64,
    /// Times of samples, in addition to every 100 ms.
    pub(crate) moments: Vec<u64>,
    /// Network namespaces.
    pub(crate) nodes: Vec<Node>,
    pub(crate) wires: Vec<Wire>,
    /// Algorithms to load: the name after `braid_`, and the spec.
    pub(crate) algorithms: Vec<(String, String)>,
    /// User algorithms among them.
    pub(crate) added: Vec<Added>,
    /// Load the packet scheduler module with these parameters.
    pub(crate) schedulers: Option<String>,
    pub(crate) connections: Vec<Connection>,
    /// Changes of queues during the run, ascending in time.
    pub(crate) changes: Vec<Change>,
    /// Changes of routes during the run, ascending in time.
    pub(crate) reroutes: Vec<Reroute>,
    pub(crate) rtt_samples: bool,
    /// Capture the senders' packets, at most this many bytes of each.
    pub(crate) snap_length: Option<u32>,
}

/// A network namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Node {
    /// For messages.
    pub(crate) name: String,
    /// Addresses in addition to those of its interfaces.
    pub(crate) addresses: Vec<IpAddr>,
    /// The first match counts.
    pub(crate) routes: Vec<Route>,
    /// `net.` settings, such as (`ipv4/tcp_ecn`, `1`).
    pub(crate) settings: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Route {
    pub(crate) of: Match,
    /// The outgoing wire, and its end on this node.
    pub(crate) by: (usize, usize),
    /// Initial window of connections on this route, packets.
    pub(crate) initial_window: Option<u32>,
    /// No delayed acknowledgements.
    pub(crate) quick_ack: bool,
}

/// Selects packets by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Match {
    /// All packets of one IP version without another route.
    All {
        /// IPv6, or else IPv4.
        ipv6: bool,
    },
    From(IpAddr),
    To(IpAddr),
}

/// A veth pair.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Wire {
    /// Largest IP packet, bytes.
    pub(crate) mtu: u32,
    pub(crate) ends: [End; 2],
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct End {
    /// Index into [`Job::nodes`].
    pub(crate) node: usize,
    pub(crate) address: Option<IpAddr>,
    /// Queue of outgoing packets.
    pub(crate) queue: Option<Queue>,
}

/// A path to a queue, the queue, and losses after it. The delay comes first: netem counts packets delayed after the
/// queue for its limit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Queue {
    /// The queue; without one, packets pass at once.
    pub(crate) bottleneck: Option<Bottleneck>,
    /// Delay before it, and losses after it.
    pub(crate) path: Path,
}

/// A queue with a rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Bottleneck {
    /// Bits per second, of IP packets.
    pub(crate) rate_bps: u64,
    /// Includes the packet being sent.
    pub(crate) limit_packets: u32,
    /// Arriving packets are dropped.
    pub(crate) down: bool,
    /// No packet leaves; only with disciplines other than netem.
    pub(crate) paused: bool,
    /// The discipline that replaces netem. Then the packet in transmission does not count for the limit, and random
    /// losses occur before the queue.
    pub(crate) aqm: Option<Aqm>,
    /// Size of the largest packet, bytes.
    pub(crate) packet_bytes: u32,
    pub(crate) seed: u64,
}

/// A kernel discipline for a queue that marks or drops early, has a limit in bytes, or pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Aqm {
    /// `pfifo`: drop-tail.
    Packets,
    /// `bfifo`: drop-tail with a limit in bytes, without the packet being sent.
    Bytes(u32),
    Red(Red),
    CoDel(CoDel),
    FqCoDel {
        codel: CoDel,
        flows: u32,
        /// Bytes that a queue may send per round.
        quantum: u32,
    },
}

/// Parameters of `red`; bytes are those of waiting packets, without the one being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Red {
    /// Mean above which packets are chosen at random.
    pub(crate) min_bytes: u32,
    /// Mean above which all packets are chosen.
    pub(crate) max_bytes: u32,
    /// Weight of a packet in the mean: one half to the power of this.
    pub(crate) weight_log: u8,
    /// Probability just below `max_bytes`, in units of 1/`u32::MAX`.
    pub(crate) probability: u32,
    /// Marks chosen packets if they are ECN-capable.
    pub(crate) ecn: bool,
    /// Drops chosen packets that cannot be marked.
    pub(crate) drops: bool,
    /// Drops all packets above `max_bytes`.
    pub(crate) drops_above: bool,
}

/// Parameters of `codel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct CoDel {
    pub(crate) target_us: u32,
    /// Time for which it may be exceeded.
    pub(crate) interval_us: u32,
    /// Marks instead of dropping.
    pub(crate) ecn: bool,
    /// Marks all packets that have waited this long.
    pub(crate) threshold_us: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Path {
    pub(crate) delay_ns: u64,
    /// Random extra delay, uniform from 0 to this.
    pub(crate) jitter_ns: u64,
    /// Whether jitter may reorder packets.
    pub(crate) reordering: bool,
    pub(crate) loss: Loss,
    pub(crate) seed: u64,
}

impl Path {
    /// Whether it has no delay and no loss.
    pub(crate) fn is_nothing(&self) -> bool {
        self.delay_ns == 0 && self.jitter_ns == 0 && self.loss == Loss::None
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) enum Loss {
    #[default]
    None,
    /// Independent, with this probability.
    Bernoulli(f64),
    /// Good to bad, bad to good, loss in the good and in the bad state.
    GilbertElliott([f64; 4]),
    /// Every n-th packet, n being the product: of the packets that one counter selects, those that the other selects.
    Every([u16; 2]),
    All,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Connection {
    pub(crate) name: String,
    pub(crate) multipath: bool,
    /// The kernel's name of its congestion control.
    pub(crate) cc: String,
    /// The kernel's name of its packet scheduler; `None`: the kernel's own.
    pub(crate) scheduler: Option<String>,
    /// Namespaces of sender and receiver.
    pub(crate) nodes: [usize; 2],
    /// Address of the receiver.
    pub(crate) server: IpAddr,
    pub(crate) start_ns: u64,
    pub(crate) stop_ns: Option<u64>,
    /// Receive buffer in the kernel's charged bytes.
    pub(crate) receive_memory: u64,
    /// Delay of the first data after the connection is established.
    pub(crate) hold_ns: u64,
    /// Initial slow start threshold of its subflows, packets; `None`: none.
    pub(crate) initial_ssthresh: Option<u32>,
    /// In order of creation.
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) traffic: Traffic,
    /// Programs that replace the built-in traffic.
    pub(crate) programs: Option<Programs>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Subflow {
    /// The sender's address.
    pub(crate) address: IpAddr,
    /// Its first wire; the sender has end 0.
    pub(crate) wire: usize,
    /// Delay of the join after the first subflow is established; `None`: one round trip of the first.
    pub(crate) join_delay_ns: Option<u64>,
    /// Intervals `[from, to)` in which it exists; empty: always.
    pub(crate) up: Vec<(u64, u64)>,
    /// Used only if no other can be.
    pub(crate) backup: bool,
}

/// A queue's settings from a certain time on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Change {
    pub(crate) at_ns: u64,
    /// The wire and its end.
    pub(crate) end: (usize, usize),
    /// All settings.
    pub(crate) queue: Queue,
}

/// A route from a certain time on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Reroute {
    pub(crate) at_ns: u64,
    /// Index into [`Job::nodes`].
    pub(crate) node: usize,
    /// Index into [`Node::routes`].
    pub(crate) index: usize,
    /// The replacement, for the same packets.
    pub(crate) route: Route,
}
