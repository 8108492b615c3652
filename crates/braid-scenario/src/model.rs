//! A scenario with every unit converted and every name resolved to an index: what a backend runs.
//!
//! Times are integer nanoseconds from the start of the run, rates bits per second, sizes bytes.

use indexmap::IndexMap;

/// One cell of a scenario file: all its parameters have one value each.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name it was asked for by, such as `d-olia/1`, or the file's path as given.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The file's parameters and the value each has in this cell, in the file's order.
    pub parameters: IndexMap<String, String>,
    /// Length of the run.
    pub duration_ns: u64,
    /// Measurements begin here.
    pub warmup_ns: u64,
    /// Measurements end this long before the end of the run.
    pub cooldown_ns: u64,
    /// All links, private copies included, in an order that depends on the file alone.
    pub links: Vec<Link>,
    /// All connections in the file's order.
    pub connections: Vec<Connection>,
}

/// A duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its key in the file; a private copy is `key@connection.subflow.hop`.
    pub name: String,
    /// Whether it is a copy that one route has for itself.
    pub private: bool,
    /// From sender to receiver: carries data.
    pub forward: Direction,
    /// From receiver to sender: carries acknowledgements.
    pub reverse: Direction,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Serialisation rate in bits per second.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Random extra delay, uniform in `[0, jitter_ns)`, that never reorders packets.
    pub jitter_ns: u64,
    /// Where the queue overflows; the packet being sent counts.
    pub queue: QueueLimit,
    /// Loss on the wire, after the queue.
    pub loss: Loss,
    /// Packets that may carry a congestion mark get one when they find at least this many packets queued.
    pub ecn_threshold: Option<u32>,
    /// Times at which nothing passes: `[from, to)`, ascending and disjoint. What is on the wire still arrives.
    pub outages: Vec<(u64, u64)>,
}

/// Capacity of a drop-tail queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// In packets of any size.
    Packets(u32),
    /// In bytes on the wire.
    Bytes(u64),
}

/// Loss that has nothing to do with the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each packet independently with this probability, 0 < p < 1.
    Bernoulli(f64),
    /// Every n-th packet, n >= 2, counted from the start of the run.
    Periodic(u32),
}

/// A sender, a receiver and the paths between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its key in the file.
    pub name: String,
    /// Plain or multipath TCP.
    pub kind: Kind,
    /// The congestion control it always uses; `None`: the one the run is about (`--cc`).
    pub cc: Option<String>,
    /// When it is opened.
    pub start_ns: u64,
    /// When its application stops writing and the connection is closed at once; `None`: at the end of the run.
    pub stop_ns: Option<u64>,
    /// Payload bytes per packet.
    pub mss: u32,
    /// Header bytes on the wire of a data packet.
    pub data_header: u32,
    /// Bytes on the wire of an acknowledgement without selective acknowledgements.
    pub ack_size: u32,
    /// The receive buffer that all its subflows share, bytes.
    pub receive_buffer: u64,
    /// First congestion window, packets.
    pub initial_window: u32,
    /// Whether both ends negotiate ECN.
    pub ecn: bool,
    /// Whether the receiver may delay acknowledgements.
    pub delayed_ack: bool,
    /// Exactly one for TCP, 1 to 8 for MPTCP, in order of creation.
    pub subflows: Vec<Subflow>,
}

/// Plain or multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One path.
    Tcp,
    /// One or more paths.
    Mptcp,
}

/// One path of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Subflow {
    /// Its key in the file; `sf1` for TCP.
    pub name: String,
    /// Indices into [`Scenario::links`], from sender to receiver. Acknowledgements travel back the same way.
    pub route: Vec<usize>,
    /// For a joining subflow: how long after the first one is established the join starts; `None`: one round
    /// trip of the first path.
    pub join_delay_ns: Option<u64>,
    /// Used only when no other subflow can be.
    pub backup: bool,
}
