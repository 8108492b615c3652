//! What the sending hosts of a run do and see, for captures and logs.
//!
//! Nothing here is in the way of a run that nobody observes. For one that somebody does, the engine handles one event at a
//! time, and after each the senders are compared with what they were.

use braid_algorithms::layout::{SSTHRESH_INFINITE, ca_state};

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
    /// Of the short flows that a connection of the scenario stands for, which one, in the order in which they open.
    /// 0 for other connections.
    pub flow: u32,
    /// Index in the connection's subflows.
    pub subflow: usize,
    /// How often this subflow of this flow was there before.
    pub life: u32,
}

/// What happens. Packets count from 0 on each life of a subflow, at the data level on each flow, and so do bytes.
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
    /// A packet of a request arrives, which the sender will answer.
    Request(Request),
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
    /// Where its payload begins on the subflow, bytes.
    pub offset: u64,
    /// Where its payload begins at the data level, bytes.
    pub data_offset: u64,
    /// Bytes of payload.
    pub bytes: u32,
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
    /// The byte expected next.
    pub next: u64,
    /// The byte expected next at the data level.
    pub next_data: u64,
    /// Bytes of the data level that the receive buffer has room for.
    pub window: u64,
    /// Timestamp of the packet that is acknowledged, microseconds since the start of the run.
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
    /// Where its payload begins among all that is requested on the connection, bytes.
    pub offset: u64,
    /// Bytes of payload.
    pub bytes: u32,
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

impl Seen {
    /// Of a sender that has done nothing yet.
    const NOTHING: Self = Self {
        phase: Phase::Idle,
        state: ca_state::OPEN,
        metrics: Metrics {
            cwnd: 0,
            ssthresh: None,
            in_flight: 0,
            srtt_us: 0,
            min_rtt_us: 0,
            latest_rtt_us: 0,
        },
        packets_sent: 0,
        fast_retransmits: 0,
        timeouts: 0,
        ecn_reductions: 0,
        undos: 0,
        expiries: 0,
        probing: false,
    };
}

/// A transmission that a sender's records still show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) packet: u32,
    pub(crate) data: u32,
    pub(crate) retransmission: bool,
}

/// Where packets begin, in bytes: few are shorter than the others.
struct Offsets {
    mss: u32,
    /// Of each short packet: its number, and how many bytes it and those before it lack.
    short: Vec<(u32, u64)>,
}

impl Offsets {
    fn new(mss: u32) -> Self {
        Self { mss, short: Vec::new() }
    }

    /// The next short one.
    fn add(&mut self, packet: u32, bytes: u32) {
        let lacked = self.short.last().map_or(0, |&(_, lacked)| lacked);
        self.short.push((packet, lacked + u64::from(self.mss - bytes)));
    }

    fn of(&self, packet: u32) -> u64 {
        let before = self.short.partition_point(|&(short, _)| short < packet);
        let lacked = before.checked_sub(1).map_or(0, |last| self.short[last].1);
        u64::from(packet) * u64::from(self.mss) - lacked
    }

    fn bytes(&self, packet: u32) -> u32 {
        (self.of(packet + 1) - self.of(packet)) as u32
    }
}

/// One per connection of the run.
struct SeenConnection {
    life: u32,
    flow: u32,
    /// The next number at the data level.
    next_data: u32,
    data: Offsets,
}

/// One per subflow of the run.
struct SeenSubflow {
    /// What its packets are marked with.
    id: u32,
    life: u32,
    seen: Seen,
    offsets: Offsets,
}

/// Finds out what has happened by comparing.
pub(crate) struct Watcher<'o> {
    observer: &'o mut dyn Observer,
    connections: Vec<SeenConnection>,
    subflows: Vec<SeenSubflow>,
    /// One per connection of the scenario: how many short flows have opened.
    flows: Vec<u32>,
}

impl<'o> Watcher<'o> {
    pub(crate) fn new(run: &mut Run, observer: &'o mut dyn Observer) -> Self {
        let mss = |run: &Run, connection: usize| run.model(connection).mss;
        let connections = (0..run.connections.len()).map(|connection| SeenConnection {
            life: run.connections[connection].life,
            flow: 0,
            next_data: 0,
            data: Offsets::new(mss(run, connection)),
        });
        let connections = connections.collect();
        let subflows = run.paths.iter().map(|path| SeenSubflow {
            id: path.id(),
            life: 0,
            seen: Seen::NOTHING,
            offsets: Offsets::new(mss(run, path.place().0)),
        });
        let subflows = subflows.collect();
        for sender in &mut run.senders {
            sender.keep_journal();
        }
        Self { observer, connections, subflows, flows: vec![0; run.applications.len()] }
    }

    fn at(&self, run: &Run, time_ns: u64, number: usize) -> At {
        let (connection, subflow) = run.paths[number].place();
        At {
            time_ns,
            connection: run.connections[connection].number,
            flow: self.connections[connection].flow,
            subflow,
            life: self.subflows[number].life,
        }
    }

    /// The connection may be another one than before, and so may its subflows.
    fn renew(&mut self, run: &mut Run, connection: usize) {
        let now = &run.connections[connection];
        let (first, n, life, number) = (now.first, now.n, now.life, now.number);
        let is_new = self.connections[connection].life != life;
        for subflow in first..first + n {
            let id = run.paths[subflow].id();
            if self.subflows[subflow].id == id {
                continue;
            }
            if !matches!(self.subflows[subflow].seen.phase, Phase::Idle | Phase::Closed) {
                let at = self.at(run, run.network.now, subflow);
                self.observer.observe(at, &Event::Closed);
            }
            let was = &mut self.subflows[subflow];
            let life = if is_new { 0 } else { was.life + 1 };
            *was = SeenSubflow { id, life, seen: Seen::NOTHING, offsets: Offsets::new(was.offsets.mss) };
            run.senders[subflow].keep_journal();
        }
        if is_new {
            let was = &mut self.connections[connection];
            *was = SeenConnection {
                life,
                flow: self.flows[number],
                next_data: 0,
                data: Offsets::new(was.data.mss),
            };
            self.flows[number] += 1;
        }
    }

    fn compare(&mut self, run: &mut Run, number: usize) {
        let at = self.at(run, run.network.now, number);
        let (connection, index) = run.paths[number].place();
        let SeenConnection { next_data, data: data_level, .. } = &self.connections[connection];
        let SeenSubflow { seen, offsets, .. } = &mut self.subflows[number];
        let now = run.senders[number].seen(&run.connections[connection], index);
        let was = std::mem::replace(seen, now);
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
            let bytes = data_level.bytes(data);
            if !retransmission && bytes < offsets.mss {
                offsets.add(packet, bytes);
            }
            tell(Event::Sent(Sent {
                packet,
                data,
                offset: offsets.of(packet),
                data_offset: data_level.of(data),
                bytes,
                retransmission,
                reinjection: !retransmission && data < *next_data,
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

    /// What is about to arrive at the end of a link. Tells of what reaches a sender; returns whose packets they are.
    pub(crate) fn arriving(&mut self, run: &Run, time_ns: u64, link: u32) -> Vec<usize> {
        let mut whose = Vec::new();
        for packet in run.network.arriving(time_ns, link) {
            let number = (packet.subflow & run.number_mask) as usize;
            whose.push(number);
            // A closed subflow knows nothing of what still comes for it.
            if packet.subflow != run.paths[number].id() || packet.flags & flags::DATA != 0 {
                continue;
            }
            let phase = run.senders[number].phase;
            let (connection, _) = run.paths[number].place();
            let event = if packet.flags & flags::SYN != 0 {
                Event::Answer { step: packet.seq }
            } else if phase != Phase::Established {
                continue;
            } else if packet.flags & flags::REQUEST != 0 {
                let application = &run.applications[run.connections[connection].number];
                Event::Request(application.part(packet, run.model(connection).mss))
            } else {
                let (data, bytes) = (&self.connections[connection].data, &self.subflows[number].offsets);
                Event::Acknowledgement(Acknowledgement {
                    next: bytes.of(packet.seq),
                    next_data: data.of(packet.dsn),
                    window: u64::from(packet.window_end.saturating_sub(packet.dsn)) * u64::from(data.mss),
                    echo_us: packet.timestamp,
                    blocks: run
                        .network
                        .sacks
                        .blocks(packet.sack)
                        .iter()
                        .map(|&(from, to)| (bytes.of(from), bytes.of(to)))
                        .collect(),
                    ece: packet.flags & flags::ECE != 0,
                })
            };
            let at = self.at(run, time_ns, number);
            self.observer.observe(at, &event);
        }
        whose
    }

    /// An event has been handled.
    pub(crate) fn handled(&mut self, run: &mut Run, concerned: Concerned) {
        let mut connections: Vec<usize> = match concerned {
            Concerned::All => (0..run.connections.len()).collect(),
            // Where a short flow ends, another one may begin.
            Concerned::Some(subflows) => subflows
                .iter()
                .flat_map(|&number| {
                    let application = &run.applications[run.connections[run.paths[number].place().0].number];
                    application.first..application.first + application.n
                })
                .collect(),
        };
        connections.dedup();
        for connection in connections {
            self.renew(run, connection);
            let now = &run.connections[connection];
            let (first, n) = (now.first, now.n);
            let was = &mut self.connections[connection];
            for data in was.next_data..now.data.snd_nxt {
                if let Some(bytes) = now.data.short(data) {
                    was.data.add(data, u32::from(bytes));
                }
            }
            for number in first..first + n {
                self.compare(run, number);
            }
            self.connections[connection].next_data = run.connections[connection].data.snd_nxt;
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
