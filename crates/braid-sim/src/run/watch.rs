//! Derives events of the sending hosts by comparing states.
//!
//! A run without observer does not use this. With an observer the engine handles one event at a time, and the senders
//! are compared with their previous state after each.

use braid_results::measure::Measurements;

use super::offsets::Offsets;
use super::state::Run;
use crate::driven;
use crate::event_queue::{FIRST_LINK, moment};
use crate::observe::{Acknowledgement, At, Event, LossCause, Observer, ReductionCause, Sent, State};
use crate::packet::flags;
use crate::tcp::sender::Phase;
use crate::tcp::watch::{Seen, Transmission};

impl Run<'_> {
    /// As [`Run::finish`], reporting events: one engine event at a time, with a comparison before and after.
    pub(crate) fn finish_observed(mut self, observer: &mut dyn Observer) -> Measurements {
        let mut watcher = Watcher::new(&mut self, observer);
        while let Some((time, element)) = self.network.events.peek().filter(|(time, _)| *time < self.end) {
            let concerned = if element < FIRST_LINK {
                Concerned::All
            } else if element < self.first_sender {
                Concerned::Some(watcher.arriving(&self, time, element - FIRST_LINK))
            } else if element < self.first_receiver {
                Concerned::Some(vec![(element - self.first_sender) as usize])
            } else {
                Concerned::Some(Vec::new())
            };
            self.advance(moment(time, element) + 1);
            watcher.handled(&mut self, concerned);
        }
        self.conclude()
    }
}

/// Subflows affected by an engine event.
enum Concerned {
    /// Any subflow.
    All,
    /// These subflows and their siblings.
    Some(Vec<usize>),
}

/// One per connection of the run.
struct SeenConnection {
    incarnation: u32,
    flow: u32,
    /// The next number at the data level.
    next_data: u32,
    data: Offsets,
}

/// One per subflow of the run.
struct SeenSubflow {
    /// Mark of its packets.
    id: u32,
    incarnation: u32,
    seen: Seen,
    offsets: Offsets,
}

/// Derives events by comparison.
struct Watcher<'o> {
    observer: &'o mut dyn Observer,
    connections: Vec<SeenConnection>,
    subflows: Vec<SeenSubflow>,
    /// One per connection of the scenario: number of short flows opened.
    flows: Vec<u32>,
}

impl<'o> Watcher<'o> {
    fn new(run: &mut Run, observer: &'o mut dyn Observer) -> Self {
        let mss = |run: &Run, connection: usize| run.model(connection).mss;
        let connections = (0..run.connections.len()).map(|connection| SeenConnection {
            incarnation: run.connections[connection].incarnation,
            flow: 0,
            next_data: 0,
            data: Offsets::new(mss(run, connection)),
        });
        let connections = connections.collect();
        let subflows = run.paths.iter().map(|path| SeenSubflow {
            id: path.id(),
            incarnation: 0,
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
            incarnation: self.subflows[number].incarnation,
        }
    }

    /// The connection and its subflows may have a new incarnation.
    fn renew(&mut self, run: &mut Run, connection: usize) {
        let now = &run.connections[connection];
        let (first, n, incarnation, number) = (now.first, now.n, now.incarnation, now.number);
        let is_new = self.connections[connection].incarnation != incarnation;
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
            let incarnation = if is_new { 0 } else { was.incarnation + 1 };
            *was =
                SeenSubflow { id, incarnation, seen: Seen::NOTHING, offsets: Offsets::new(was.offsets.mss) };
            run.senders[subflow].keep_journal();
        }
        if is_new {
            let was = &mut self.connections[connection];
            *was = SeenConnection {
                incarnation,
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
            tell(Event::Timeout { rto_backoffs: now.rto_backoffs });
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
                cwr: sender.sent_cwr(packet) && !retransmission,
            }));
        }
        if now.metrics != was.metrics && now.phase == Phase::Established {
            tell(Event::Metrics(now.metrics));
        }
        if was.phase != now.phase && now.phase == Phase::Closed {
            tell(Event::Closed);
        }
    }

    /// Packets about to arrive at the end of a link. Reports those that reach a sender; returns their subflows.
    fn arriving(&mut self, run: &Run, time_ns: u64, link: u32) -> Vec<usize> {
        let mut whose = Vec::new();
        for packet in run.network.arriving(time_ns, link) {
            let number = (packet.subflow & run.number_mask) as usize;
            whose.push(number);
            // A closed subflow ignores further packets.
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
                Event::Request(driven::part(packet, run.model(connection)))
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
    fn handled(&mut self, run: &mut Run, concerned: Concerned) {
        let mut connections: Vec<usize> = match concerned {
            Concerned::All => (0..run.connections.len()).collect(),
            // When a short flow ends, another one may begin.
            Concerned::Some(subflows) => subflows
                .iter()
                .flat_map(|&number| {
                    let driven = &run.applications[run.connections[run.paths[number].place().0].number];
                    driven.first..driven.first + driven.n
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
