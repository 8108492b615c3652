//! What the sending hosts of a run do and see, for captures and logs.
//!
//! Nothing here is in the way of a run that nobody observes. For one that somebody does, the engine handles one event at a
//! time, and after each the senders are compared with what they were.

use braid_algorithms::layout::{SSTHRESH_INFINITE, ca_state};

use braid_scenario::model::{Connection, Scenario, Traffic};

use crate::Error;
use crate::packet::flags;
use crate::run::Run;
use crate::tcp::sender::Phase;

/// When and where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Nanoseconds since the start of the run.
    pub time_ns: u64,
    /// Index in the scenario's connections.
    pub connection: usize,
    /// Index in the connection's subflows.
    pub subflow: usize,
}

/// What happens. Numbers of packets count from 0 on each subflow, at the data level on each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet of the handshake leaves. Step 0 opens; step 1, of joins only, confirms (RFC 8684 sect. 3.2).
    Opening {
        /// 0 or 1.
        step: u32,
    },
    /// Its answer arrives.
    Answer {
        /// Of the step that is answered.
        step: u32,
    },
    /// The handshake is done.
    Established,
    /// The subflow ends; without a packet.
    Closed,
    /// A data packet leaves.
    Sent(Sent),
    /// An acknowledgement arrives.
    Acknowledgement(Acknowledgement),
    /// A packet is given up for lost.
    Lost {
        /// Its number.
        packet: u32,
        /// Its number at the data level.
        data: u32,
        /// How that was found.
        cause: LossCause,
    },
    /// A congestion episode begins; the algorithm has set the slow-start threshold.
    Reduction {
        /// What began it.
        cause: ReductionCause,
    },
    /// A congestion episode turned out to be spurious and is undone.
    Undo,
    /// The retransmission timer has expired.
    Timeout {
        /// How often in a row.
        expiries: u32,
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
    /// Any of these is not what it was.
    Metrics(Metrics),
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub packet: u32,
    /// Its number at the data level.
    pub data: u32,
    /// It was sent on this subflow before.
    pub retransmission: bool,
    /// Its data was sent on another subflow before.
    pub reinjection: bool,
    /// It may carry a congestion mark.
    pub ect: bool,
    /// It says that the window was reduced.
    pub cwr: bool,
}

/// An acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number expected next.
    pub next: u32,
    /// The number expected next at the data level.
    pub next_data: u32,
    /// First number at the data level that would overrun the receive buffer.
    pub window_end: u32,
    /// Timestamp of the packet that is acknowledged, microseconds since the start of the run.
    pub echo_us: u32,
    /// Selectively acknowledged: from, to (excluded); a duplicate (RFC 2883) first.
    pub blocks: Vec<(u32, u32)>,
    /// It echoes a congestion mark.
    pub ece: bool,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Something sent later has arrived (RACK, RFC 8985).
    Later,
    /// The retransmission timer expired.
    Timeout,
}

/// What began a congestion episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionCause {
    /// A loss found by later arrivals, or repaired by a tail loss probe.
    Loss,
    /// A congestion mark.
    Mark,
}

/// Congestion state, as Linux names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All is well.
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
    fn of(state: u32) -> Self {
        match state {
            ca_state::OPEN => Self::Open,
            ca_state::DISORDER => Self::Disorder,
            ca_state::CWR => Self::Cwr,
            ca_state::RECOVERY => Self::Recovery,
            _ => Self::Loss,
        }
    }
}

/// What congestion control knows of a subflow.
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
    /// Lowest RTT of late, microseconds.
    pub min_rtt_us: u32,
    /// Latest RTT sample, microseconds.
    pub latest_rtt_us: u32,
}

/// Who wants to know.
pub trait Observer {
    /// In the order of time.
    fn observe(&mut self, at: At, event: &Event);
}

/// Whether runs of a scenario can be observed: transfers without an end on subflows that stay.
///
/// # Errors
/// If a connection is of another kind.
pub fn check(scenario: &Scenario) -> Result<(), Error> {
    let other = |connection: &&Connection| {
        connection.traffic != Traffic::Bulk
            || connection.subflows.iter().any(|subflow| !subflow.up.is_empty())
    };
    match scenario.connections.iter().find(other) {
        None => Ok(()),
        Some(connection) => Err(Error(format!(
            "connection {}: only bulk transfers whose subflows stay can be captured or logged",
            connection.name
        ))),
    }
}

/// Whom an event of the engine concerns.
pub(crate) enum Concerned {
    /// Any subflow.
    All,
    /// These subflows, and others of their connections.
    Some(Vec<usize>),
}

/// What a sender was when it was last looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) phase: Phase,
    pub(crate) state: u32,
    pub(crate) metrics: Metrics,
    pub(crate) packets_sent: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) ecn_reductions: u64,
    pub(crate) undos: u64,
    pub(crate) expiries: u32,
    pub(crate) probing: bool,
}

/// A transmission that a sender's records still show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) packet: u32,
    pub(crate) data: u32,
    pub(crate) retransmission: bool,
}

/// Finds out what has happened by comparing.
pub(crate) struct Watcher<'o> {
    observer: &'o mut dyn Observer,
    /// One per subflow of the run.
    seen: Vec<Seen>,
    /// One per connection: the next number at the data level.
    next_data: Vec<u32>,
}

impl<'o> Watcher<'o> {
    pub(crate) fn new(run: &mut Run, observer: &'o mut dyn Observer) -> Self {
        let mut seen = Vec::with_capacity(run.senders.len());
        for (number, sender) in run.senders.iter_mut().enumerate() {
            sender.keep_journal();
            let (connection, index) = run.paths[number].place();
            seen.push(sender.seen(&run.connections[connection], index));
        }
        let next_data = run.connections.iter().map(|connection| connection.data.snd_nxt).collect();
        Self { observer, seen, next_data }
    }

    fn compare(&mut self, run: &mut Run, number: usize) {
        let (connection, subflow) = run.paths[number].place();
        let at = At { time_ns: run.network.now, connection, subflow };
        let now = run.senders[number].seen(&run.connections[connection], subflow);
        let was = std::mem::replace(&mut self.seen[number], now);
        let mut tell = |event| self.observer.observe(at, &event);

        if let Phase::Opening(step) = now.phase {
            if was.phase != now.phase || was.timeouts != now.timeouts {
                tell(Event::Opening { step });
            }
            return;
        }
        if was.phase != now.phase && now.phase == Phase::Established {
            tell(Event::Established);
        }
        let sender = &mut run.senders[number];
        let timed_out = was.phase == Phase::Established && now.timeouts > was.timeouts;
        if timed_out {
            tell(Event::Timeout { expiries: now.expiries });
        }
        let cause = if timed_out { LossCause::Timeout } else { LossCause::Later };
        for (packet, data) in sender.take_losses() {
            tell(Event::Lost { packet, data, cause });
        }
        if now.fast_retransmits > was.fast_retransmits {
            tell(Event::Reduction { cause: ReductionCause::Loss });
        }
        if now.ecn_reductions > was.ecn_reductions {
            tell(Event::Reduction { cause: ReductionCause::Mark });
        }
        if now.undos > was.undos {
            tell(Event::Undo);
        }
        if now.state != was.state {
            tell(Event::State { from: State::of(was.state), to: State::of(now.state) });
        }
        if now.probing && !was.probing {
            tell(Event::Probe);
        }
        let sent = (now.packets_sent - was.packets_sent) as usize;
        for transmission in sender.latest(sent) {
            let Transmission { packet, data, retransmission } = transmission;
            tell(Event::Sent(Sent {
                packet,
                data,
                retransmission,
                reinjection: !retransmission && data < self.next_data[connection],
                ect: sender.is_ecn() && !retransmission,
                cwr: sender.said_cwr(packet) && !retransmission,
            }));
        }
        if now.metrics != was.metrics && now.phase == Phase::Established {
            tell(Event::Metrics(now.metrics));
        }
        if was.phase != now.phase && now.phase == Phase::Closed {
            tell(Event::Closed);
        }
    }
}

impl Watcher<'_> {
    /// What is about to arrive at the end of a link. Tells of acknowledgements; returns whose packets they are.
    pub(crate) fn arriving(&mut self, run: &Run, time_ns: u64, link: u32) -> Vec<usize> {
        let mut whose = Vec::new();
        for packet in run.network.arriving(time_ns, link) {
            let number = (packet.subflow & run.number_mask) as usize;
            whose.push(number);
            let (connection, subflow) = run.paths[number].place();
            let at = At { time_ns, connection, subflow };
            if packet.flags & (flags::DATA | flags::SYN) == flags::SYN {
                self.observer.observe(at, &Event::Answer { step: packet.seq });
            } else if packet.flags & flags::DATA == 0 && run.senders[number].phase == Phase::Established {
                let acknowledgement = Acknowledgement {
                    next: packet.seq,
                    next_data: packet.dsn,
                    window_end: packet.window_end,
                    echo_us: packet.timestamp,
                    blocks: run.network.sacks.blocks(packet.sack).to_vec(),
                    ece: packet.flags & flags::ECE != 0,
                };
                self.observer.observe(at, &Event::Acknowledgement(acknowledgement));
            }
        }
        whose
    }

    /// An event has been handled.
    pub(crate) fn handled(&mut self, run: &mut Run, concerned: Concerned) {
        let mut connections: Vec<usize> = match concerned {
            Concerned::All => (0..run.connections.len()).collect(),
            Concerned::Some(subflows) => subflows.iter().map(|&number| run.paths[number].place().0).collect(),
        };
        connections.dedup();
        for connection in connections {
            let first = run.connections[connection].first;
            for number in first..first + run.connections[connection].n {
                self.compare(run, number);
            }
            self.next_data[connection] = run.connections[connection].data.snd_nxt;
        }
    }
}

/// What congestion control knows, from the view of an algorithm.
pub(crate) fn metrics(view: &braid_algorithms::layout::Subflow, in_flight: u32) -> Metrics {
    Metrics {
        cwnd: view.cwnd,
        ssthresh: (view.ssthresh != SSTHRESH_INFINITE).then_some(view.ssthresh),
        in_flight,
        srtt_us: view.srtt_us,
        min_rtt_us: view.min_rtt_us,
        latest_rtt_us: view.last_rtt_us,
    }
}
