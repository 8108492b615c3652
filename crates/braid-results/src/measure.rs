//! What a backend counts during one run, before any metric is derived from it.
//!
//! Everything is counted over the measured part of the run: from the end of the warm-up to the start of the cool-down.

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Length of the measured part, nanoseconds.
    pub measured_ns: u64,
    /// One per connection of the scenario, in its order.
    pub connections: Vec<ConnectionCounts>,
    /// One per link of the scenario, in its order.
    pub links: Vec<LinkCounts>,
    /// Whole run: events the engine handled.
    pub events: u64,
    /// Whole run: data packets that reached their receiver.
    pub packets_delivered: u64,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionCounts {
    /// Part of the measured time during which it was open, nanoseconds.
    pub active_ns: u64,
    /// Payload bytes handed to the application in order.
    pub goodput_bytes: u64,
    /// Packets of the data level sent once more on another subflow.
    pub reinjections: u64,
    /// One per subflow, in the scenario's order.
    pub subflows: Vec<SubflowCounts>,
}

/// One subflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubflowCounts {
    /// Part of the measured time during which it was established, nanoseconds.
    pub active_ns: u64,
    /// IP bytes of its data packets that reached the receiver.
    pub received_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Of those, retransmissions.
    pub retransmissions: u64,
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
}

/// One link, both directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkCounts {
    /// From sender to receiver.
    pub forward: DirectionCounts,
    /// From receiver to sender.
    pub reverse: DirectionCounts,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq)]
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
