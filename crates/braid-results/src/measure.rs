//! What a backend counts during one run, before any metric is derived from it.
//!
//! Everything is counted over the measured part of the run, from the end of the warm-up to the start of the cool-down,
//! and once more over each of the scenario's periods. Only samples, which show how it came about, begin with the run.

use serde::{Deserialize, Serialize};

/// Time between two samples.
pub const SAMPLE_INTERVAL_NS: u64 = 100_000_000;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Measurements {
    /// Length of the measured part, nanoseconds.
    pub measured_ns: u64,
    /// One per connection of the scenario, in its order.
    pub connections: Vec<ConnectionCounts>,
    /// One per link of the scenario, in its order.
    pub links: Vec<LinkCounts>,
    /// One per period of the scenario, in its order: the same counts over that stretch of the run. Without samples and
    /// periods of their own.
    pub periods: Vec<Measurements>,
    /// Whole run: events the engine handled.
    pub events: u64,
    /// Whole run: data packets that reached their receiver.
    pub packets_delivered: u64,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ConnectionCounts {
    /// Part of the measured time during which it was open, nanoseconds.
    pub active_ns: u64,
    /// Payload bytes handed to the application in order.
    pub goodput_bytes: u64,
    /// Packets of the data level sent once more on another subflow.
    pub reinjections: u64,
    /// One per subflow, in the scenario's order.
    pub subflows: Vec<SubflowCounts>,
    /// Of the whole run, in the order of their beginnings; none of a bulk transfer, and none in periods.
    pub transfers: Vec<Transfer>,
    /// The programs whose traffic it was, the server first; none in periods.
    pub programs: Vec<Program>,
}

/// A program and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Program {
    /// `server` or `client`.
    pub role: String,
    /// Its name and arguments, with addresses in place of `{server}` and `{client}`.
    pub command: Vec<String>,
    /// `None`: it had not ended by itself when the connection, or the run, was over.
    pub exit_code: Option<i32>,
    /// What it wrote, the last mebibyte of it.
    pub stdout: String,
    /// What it wrote for people, the last mebibyte of it.
    pub stderr: String,
}

/// What an application counts: an object, a response, a burst or a write of a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Transfer {
    /// When it arrived at the application, was requested, or was written; nanoseconds since the start of the run.
    pub start_ns: u64,
    /// When its last byte was handed to the receiving application in order; `None`: not in this run.
    pub end_ns: Option<u64>,
    /// Payload bytes.
    pub bytes: u64,
}

/// One subflow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct SubflowCounts {
    /// Part of the measured time during which it was established, nanoseconds.
    pub active_ns: u64,
    /// IP bytes of its data packets that reached the receiver.
    pub received_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Of those, retransmissions.
    pub retransmissions: u64,
    /// The backend does not know what reduced the window: `fast_retransmits`, `ecn_reductions` and `undos` say nothing.
    #[serde(default)]
    pub causes_unknown: bool,
    /// Congestion episodes entered by fast retransmit.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion episodes entered by an ECN echo.
    pub ecn_reductions: u64,
    /// Episodes undone because the loss was spurious.
    pub undos: u64,
    /// Sum of all RTT samples, microseconds.
    pub rtt_sum_us: u64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// Integral of cwnd over time, packets x nanoseconds.
    pub cwnd_integral: u128,
    /// cwnd in packets every 100 ms while the subflow was established.
    pub cwnd_samples: Vec<u32>,
    /// Every 100 ms of the whole run while the subflow was established; empty unless asked for.
    pub samples: Vec<SubflowSample>,
    /// Whole run: what the algorithm said of shared bottlenecks, from each time the subflow was established; empty if it
    /// says nothing of them.
    pub verdicts: Vec<VerdictChange>,
}

/// From a certain time on, a detector says this of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct VerdictChange {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Subflows of a connection that have the same group share a bottleneck; 0: it shares none.
    pub group: u16,
}

/// A subflow at one moment. Counts are from the start of the run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct SubflowSample {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Packets.
    pub cwnd: u32,
    /// Packets; none before the first reduction.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT, microseconds; none before the first RTT sample.
    pub srtt_us: Option<u32>,
    /// Packets believed to be in the network.
    pub in_flight: u32,
    /// IP bytes of data packets that have reached the receiver.
    pub received_bytes: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Number of RTT samples since it was established.
    pub rtt_samples: u64,
    /// Sum of the differences between each of them and the one before, microseconds.
    pub rtt_steps_us: u64,
    /// Group of subflows that share a bottleneck, 0 for none; `None` if the algorithm does not detect any.
    pub group: Option<u16>,
}

/// One link, both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct LinkCounts {
    /// From sender to receiver.
    pub forward: DirectionCounts,
    /// From receiver to sender.
    pub reverse: DirectionCounts,
    /// The forward direction every 100 ms of the whole run; empty unless asked for, and for private links.
    pub samples: Vec<LinkSample>,
}

/// A direction of a link at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LinkSample {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Packets in the queue, the one being sent included.
    pub queue_packets: u32,
    /// Packets that the queue has dropped since the start of the run.
    pub drops_queue: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct DirectionCounts {
    /// Packets that entered the queue.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time the transmitter was busy, nanoseconds.
    pub busy_ns: u64,
    /// Packets dropped because the queue was full.
    pub drops_queue: u64,
    /// Packets lost on the wire.
    pub drops_wire: u64,
    /// Packets that got a congestion mark.
    pub marks: u64,
    /// Integral of the queue length over time, packets x nanoseconds; the packet being sent counts.
    pub queue_integral: u128,
}
