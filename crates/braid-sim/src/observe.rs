//! Actions and observations of the sending hosts of a run, for captures and logs.

use braid_algorithms::layout::ca_state;

/// Time and place of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Nanoseconds since the start of the run.
    pub time_ns: u64,
    /// Index in the scenario's connections.
    pub connection: usize,
    /// Which of a connection's short flows, in order of opening. 0 for other connections.
    pub flow: u32,
    /// Index in the connection's subflows.
    pub subflow: usize,
    /// Number of earlier incarnations of this subflow.
    pub incarnation: u32,
}

/// An event. Packets and bytes count from 0: on each incarnation of a subflow, and at the data level on each flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A handshake packet leaves. Step 0 opens; step 1, of joins only, confirms (RFC 8684 sect. 3.2).
    Opening {
        /// 0 or 1.
        step: u32,
    },
    /// The answer to a handshake packet arrives.
    Answer {
        /// The answered step.
        step: u32,
    },
    /// The handshake is done.
    Established,
    /// The subflow ends, without a packet.
    Closed,
    /// A data packet leaves.
    Sent(Sent),
    /// An acknowledgement arrives.
    Acknowledgement(Acknowledgement),
    /// A packet of a request arrives; the sender will answer it.
    Request(Request),
    /// A packet is marked lost.
    Lost {
        /// Its number.
        packet: u32,
        /// Its number at the data level.
        data: u32,
        /// How the loss was detected.
        cause: LossCause,
    },
    /// A congestion episode begins; the algorithm has set the slow-start threshold.
    Reduction {
        /// Cause of the episode.
        cause: ReductionCause,
    },
    /// A congestion episode was spurious and is undone.
    Undo,
    /// The retransmission timer has expired.
    Timeout {
        /// Number of consecutive timeouts.
        rto_backoffs: u32,
    },
    /// A tail loss probe was sent.
    Probe,
    /// The congestion state changes.
    State {
        /// Before.
        from: State,
        /// Now.
        to: State,
    },
    /// Any of these values has changed.
    Metrics(Metrics),
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub packet: u32,
    /// Its number at the data level.
    pub data: u32,
    /// Where its payload begins on the subflow, bytes.
    pub offset: u64,
    /// Where its payload begins at the data level, bytes.
    pub data_offset: u64,
    /// Bytes of payload.
    pub bytes: u32,
    /// It is a retransmission on this subflow.
    pub retransmission: bool,
    /// Its data was sent on another subflow before.
    pub reinjection: bool,
    /// It is ECN-capable.
    pub ect: bool,
    /// It carries CWR: the window was reduced.
    pub cwr: bool,
}

/// An acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The byte expected next.
    pub next: u64,
    /// The byte expected next at the data level.
    pub next_data: u64,
    /// Bytes of free receive buffer at the data level.
    pub window: u64,
    /// Timestamp of the acknowledged packet, microseconds since the start of the run.
    pub echo_us: u32,
    /// Bytes selectively acknowledged: from, to (excluded); a duplicate (RFC 2883) first.
    pub blocks: Vec<(u64, u64)>,
    /// It echoes a congestion mark.
    pub ece: bool,
}

/// A packet of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which request, from 0.
    pub number: u32,
    /// Which of its packets, from 0.
    pub part: u32,
    /// Offset of its payload among all requests of the connection, bytes.
    pub offset: u64,
    /// Bytes of payload.
    pub bytes: u32,
}

/// How a loss was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// A later packet has arrived (RACK, RFC 8985).
    Later,
    /// The retransmission timer expired.
    Timeout,
}

/// Cause of a congestion episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionCause {
    /// A loss detected by later arrivals, or repaired by a tail loss probe.
    Loss,
    /// A congestion mark.
    Mark,
}

/// Congestion state, as Linux names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No outstanding trouble.
    Open,
    /// Something is out of order.
    Disorder,
    /// Reducing after a congestion mark.
    Cwr,
    /// Repairing a loss.
    Recovery,
    /// After a timeout.
    Loss,
}

impl State {
    pub(crate) fn of(state: u32) -> Self {
        match state {
            ca_state::OPEN => Self::Open,
            ca_state::DISORDER => Self::Disorder,
            ca_state::CWR => Self::Cwr,
            ca_state::RECOVERY => Self::Recovery,
            _ => Self::Loss,
        }
    }
}

/// Congestion control state of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; none before the first reduction.
    pub ssthresh: Option<u32>,
    /// Packets believed to be in the network.
    pub in_flight: u32,
    /// Smoothed RTT, microseconds.
    pub srtt_us: u32,
    /// Minimum RTT, microseconds.
    pub min_rtt_us: u32,
    /// Latest RTT sample, microseconds.
    pub latest_rtt_us: u32,
}

/// Receives the events of a run.
pub trait Observer {
    /// Called in order of time.
    fn observe(&mut self, at: At, event: &Event);
}
