//! What the driver tells the agent to do, and what the agent answers: plain data, which neither of them owns.

mod added;
mod guest;
mod message;
mod report;
mod traffic;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub(crate) use added::Added;
pub(crate) use guest::*;
pub use message::Packet;
pub(crate) use message::*;
pub(crate) use report::*;
pub(crate) use traffic::*;

/// A network and what happens in it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Job {
    /// Length of the run.
    pub(crate) duration_ns: u64,
    /// Times at which everything is counted, besides every 100 ms.
    pub(crate) moments: Vec<u64>,
    /// Network namespaces.
    pub(crate) nodes: Vec<Node>,
    /// Cables between them.
    pub(crate) wires: Vec<Wire>,
    /// What to load: the name after `braid_`, and the spec.
    pub(crate) algorithms: Vec<(String, String)>,
    /// Those of them that do not come with Braid.
    pub(crate) added: Vec<Added>,
    /// Load the module with the packet schedulers, with these parameters.
    pub(crate) schedulers: Option<String>,
    /// Who sends.
    pub(crate) connections: Vec<Connection>,
    /// What changes during the run, ascending in time.
    pub(crate) changes: Vec<Change>,
    /// Routes that change during the run, ascending in time.
    pub(crate) reroutes: Vec<Reroute>,
    /// Take down every RTT sample.
    pub(crate) rtt_samples: bool,
    /// Take down what senders send and get, at most this many bytes of each packet.
    pub(crate) snap_length: Option<u32>,
}

/// A network namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Node {
    /// For messages.
    pub(crate) name: String,
    /// Its own addresses, besides those of its interfaces.
    pub(crate) addresses: Vec<IpAddr>,
    /// What it does with packets, first match first.
    pub(crate) routes: Vec<Route>,
    /// `net.` settings, such as (`ipv4/tcp_ecn`, `1`).
    pub(crate) settings: Vec<(String, String)>,
}

/// Where packets go.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Route {
    /// Which packets.
    pub(crate) of: Match,
    /// The wire they leave by, and its end on this node.
    pub(crate) by: (usize, usize),
    /// First congestion window of connections that take it, packets.
    pub(crate) initial_window: Option<u32>,
    /// Acknowledges without delay.
    pub(crate) quick_ack: bool,
}

/// Packets by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Match {
    /// All that no other route is for: of IPv6, or of IPv4.
    All {
        /// Which of the two.
        ipv6: bool,
    },
    /// By the sender's address.
    From(IpAddr),
    /// By the receiver's address.
    To(IpAddr),
}

/// A veth pair.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Wire {
    /// Largest IP packet, bytes.
    pub(crate) mtu: u32,
    /// Its two ends.
    pub(crate) ends: [End; 2],
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct End {
    /// Index into [`Job::nodes`].
    pub(crate) node: usize,
    /// Its address.
    pub(crate) address: Option<IpAddr>,
    /// What happens to the packets that leave by it.
    pub(crate) queue: Option<Queue>,
}

/// A way to a queue, the queue, and what is lost after it. The delay comes first: netem counts what is delayed after it for the
/// limit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Queue {
    /// The queue proper; without it packets go on at once.
    pub(crate) bottleneck: Option<Bottleneck>,
    /// How long packets are on the way to it, and which are lost after it.
    pub(crate) path: Path,
}

/// A queue that is served at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Bottleneck {
    /// Bits per second, of IP packets.
    pub(crate) rate_bps: u64,
    /// The packet being sent counts.
    pub(crate) limit_packets: u32,
    /// Nothing enters.
    pub(crate) down: bool,
    /// Nothing leaves; only where another discipline than netem does it.
    pub(crate) paused: bool,
    /// Who does it instead of netem, if that cannot. Then the packet being sent does not count for the limit, and losses come before it.
    pub(crate) aqm: Option<Aqm>,
    /// Of the largest packet, bytes.
    pub(crate) packet_bytes: u32,
    /// Seed of its random decisions.
    pub(crate) seed: u64,
}

/// A queue that marks or drops packets before it is full, or when its bytes are too many, or pauses, as one of the kernel's disciplines does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Aqm {
    /// `pfifo`: drops only what does not fit.
    Packets,
    /// `bfifo`: drops only what does not fit into so many bytes, the packet being sent not counted.
    Bytes(u32),
    /// `red`
    Red(Red),
    /// `codel`
    CoDel(CoDel),
    /// `fq_codel`
    FqCoDel {
        /// Of each queue.
        codel: CoDel,
        /// Number of queues.
        flows: u32,
        /// Bytes that a queue may send in a turn.
        quantum: u32,
    },
}

/// Parameters of `red`; bytes are those that wait, without the packet being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Red {
    /// Mean from which packets are chosen at random.
    pub(crate) min_bytes: u32,
    /// Mean from which all are.
    pub(crate) max_bytes: u32,
    /// Each packet's weight in the mean: one half to the power of this.
    pub(crate) weight_log: u8,
    /// Of being chosen, just below `max_bytes`, of `u32::MAX`.
    pub(crate) probability: u32,
    /// Marks what is chosen, if it can be marked.
    pub(crate) ecn: bool,
    /// Drops what is chosen and cannot be marked.
    pub(crate) drops: bool,
    /// Drops everything from `max_bytes` on.
    pub(crate) drops_above: bool,
}

/// Parameters of `codel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct CoDel {
    /// Waiting time to keep to.
    pub(crate) target_us: u32,
    /// How long it may be exceeded.
    pub(crate) interval_us: u32,
    /// Marks instead of dropping.
    pub(crate) ecn: bool,
    /// Marks all that has waited so long.
    pub(crate) threshold_us: Option<u32>,
}

/// Delay and loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Path {
    /// Propagation delay.
    pub(crate) delay_ns: u64,
    /// Random extra delay, uniform from 0 to this.
    pub(crate) jitter_ns: u64,
    /// Whether jitter lets packets overtake each other.
    pub(crate) reordering: bool,
    /// What is lost on it.
    pub(crate) loss: Loss,
    /// Seed of its random decisions.
    pub(crate) seed: u64,
}

impl Path {
    /// Whether it does nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        self.delay_ns == 0 && self.jitter_ns == 0 && self.loss == Loss::None
    }
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) enum Loss {
    /// None.
    #[default]
    None,
    /// Of each packet by itself.
    Bernoulli(f64),
    /// Good to bad, bad to good, loss in the good and in the bad state.
    GilbertElliott([f64; 4]),
    /// Every packet whose number is a multiple of the product: of the packets that one counter chooses, those that
    /// the other does.
    Every([u16; 2]),
    /// Everything.
    All,
}

/// A sender and a receiver.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Connection {
    /// Its name in the scenario.
    pub(crate) name: String,
    /// MPTCP or TCP.
    pub(crate) multipath: bool,
    /// Its congestion control, as the kernel calls it.
    pub(crate) cc: String,
    /// Its packet scheduler, as the kernel calls it; `None`: the kernel's own.
    pub(crate) scheduler: Option<String>,
    /// Namespaces of sender and receiver.
    pub(crate) nodes: [usize; 2],
    /// The receiver.
    pub(crate) server: IpAddr,
    /// When it is opened.
    pub(crate) start_ns: u64,
    /// When it ends.
    pub(crate) stop_ns: Option<u64>,
    /// Receive buffer, bytes as the kernel charges for what is in it.
    pub(crate) receive_memory: u64,
    /// How long after it is established it sends its first data.
    pub(crate) hold_ns: u64,
    /// Slow start threshold that its subflows begin with, packets; `None`: none.
    pub(crate) initial_ssthresh: Option<u32>,
    /// In order of creation.
    pub(crate) subflows: Vec<Subflow>,
    /// What its application does.
    pub(crate) traffic: Traffic,
}

impl Connection {
    /// Whose traffic it is, if not our own.
    pub(crate) fn programs(&self) -> Option<&Programs> {
        match &self.traffic {
            Traffic::Programs(programs) => Some(programs),
            _ => None,
        }
    }
}

/// A path of a connection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Subflow {
    /// The sender's address on it.
    pub(crate) address: IpAddr,
    /// The wire it begins with; the sender has its end 0.
    pub(crate) wire: usize,
    /// How long after the first is established it joins; `None`: one round trip of the first.
    pub(crate) join_delay_ns: Option<u64>,
    /// When it exists: `[from, to)`; empty: always.
    pub(crate) up: Vec<(u64, u64)>,
    /// Used only when no other can be.
    pub(crate) backup: bool,
}

/// A queue from a certain time on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Change {
    /// When.
    pub(crate) at_ns: u64,
    /// The wire and its end.
    pub(crate) end: (usize, usize),
    /// All of it.
    pub(crate) queue: Queue,
}

/// A route from a certain time on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Reroute {
    /// When.
    pub(crate) at_ns: u64,
    /// Index into [`Job::nodes`].
    pub(crate) node: usize,
    /// Index into [`Node::routes`].
    pub(crate) index: usize,
    /// What takes its place, for the same packets.
    pub(crate) route: Route,
}
