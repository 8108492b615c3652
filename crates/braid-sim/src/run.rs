//! A run from the first event to the last: who is who, and what happens in which order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use braid_algorithms::layout::SSTHRESH_INFINITE;
use braid_algorithms::{Controller, Spec};
use braid_results::measure::{
    ConnectionCounts, LinkCounts, LinkSample, Measurements, SubflowCounts, SubflowSample,
};
use braid_scenario::model::{Direction, Kind, Scenario};

use crate::agenda::{Agenda, Element, MAX_ELEMENTS, MAX_TIME};
use crate::connection::Connection;
use crate::link::Link;
use crate::network::{END, Network};
use crate::packet::{Packet, Sacks, flags};
use crate::random::Stream;
use crate::tcp::receiver::{self, Receiver};
use crate::tcp::sender::{self, Phase, Sender};
use crate::tcp::timers::Expired;
use crate::{Error, Options};

/// The calendar's number in the agenda: what it holds happens before anything else of the same instant.
const CALENDAR: Element = 0;
const FIRST_LINK: Element = 1;
/// Windows are sampled this often.
const SAMPLE_NS: u64 = braid_results::measure::SAMPLE_INTERVAL_NS;
/// Bytes of a packet of the opening handshake behind its IP header.
const OPENING: u32 = 52;

/// What is planned for a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Plan {
    /// A connection is opened.
    Open(usize),
    /// A further subflow is opened.
    Join(usize),
    /// A connection is closed.
    Close(usize),
    /// This direction of a link changes, for the n-th time.
    Change(u32, usize),
    /// Measuring begins.
    Measure,
    /// A period begins or ends.
    Mark,
    /// Windows are sampled.
    Sample,
    /// Everything is sampled.
    Observe,
}

/// What a subflow's route and life say.
struct Path {
    connection: usize,
    index: usize,
    forward_hop: u32,
    reverse_hop: u32,
    join_delay_ns: Option<u64>,
    established: Option<u64>,
    closed: Option<u64>,
}

/// A run in progress.
pub(crate) struct Run<'a> {
    scenario: &'a Scenario,
    network: Network,
    calendar: BinaryHeap<Reverse<(u64, Plan)>>,
    connections: Vec<Connection>,
    paths: Vec<Path>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    first_sender: Element,
    first_receiver: Element,
    end: u64,
    at_start: Option<Measurements>,
    /// What had been counted at the beginnings and ends of periods.
    marks: BTreeMap<u64, Measurements>,
    cwnd_samples: Vec<Vec<u32>>,
    subflow_samples: Vec<Vec<SubflowSample>>,
    /// One list per link of the scenario.
    link_samples: Vec<Vec<LinkSample>>,
    events: u64,
}

impl<'a> Run<'a> {
    pub(crate) fn new(scenario: &'a Scenario, cc: &Spec, seed: u64, options: Options) -> Result<Self, Error> {
        let end = scenario.duration_ns - scenario.cooldown_ns;
        if scenario.duration_ns > MAX_TIME / 2 {
            return Err(Error(format!(
                "a run of {} s is too long for the simulator; the longest is {} s",
                scenario.duration_ns / 1_000_000_000,
                MAX_TIME / 2_000_000_000
            )));
        }
        let mut links = Vec::with_capacity(2 * scenario.links.len());
        for link in &scenario.links {
            for (direction, name) in [(&link.forward, "forward"), (&link.reverse, "reverse")] {
                links.push(Link::new(direction, Stream::new(seed, &format!("link {} {name}", link.name))));
            }
        }
        let n_subflows: usize = scenario.connections.iter().map(|connection| connection.subflows.len()).sum();
        let elements = FIRST_LINK as usize + links.len() + 2 * n_subflows;
        if elements > MAX_ELEMENTS as usize {
            return Err(Error(format!(
                "{} links and {n_subflows} subflows are more than the simulator can hold",
                scenario.links.len()
            )));
        }
        let first_sender = FIRST_LINK + links.len() as Element;
        let mut run = Self {
            scenario,
            network: Network {
                now: 0,
                agenda: Agenda::default(),
                links,
                first_element: FIRST_LINK,
                hops: Vec::new(),
                sacks: Sacks::default(),
            },
            calendar: BinaryHeap::new(),
            connections: Vec::new(),
            paths: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            first_sender,
            first_receiver: first_sender + n_subflows as Element,
            end,
            at_start: None,
            marks: BTreeMap::new(),
            cwnd_samples: vec![Vec::new(); n_subflows],
            subflow_samples: vec![Vec::new(); n_subflows],
            link_samples: vec![Vec::new(); scenario.links.len()],
            events: 0,
        };
        for number in 0..scenario.connections.len() {
            run.add_connection(number, cc)?;
        }
        for link in 0..run.network.links.len() as u32 {
            for (nth, change) in run.direction(link).changes.iter().enumerate() {
                run.plan(change.at_ns, Plan::Change(link, nth));
            }
        }
        run.plan(scenario.warmup_ns, Plan::Measure);
        let marks: BTreeSet<u64> = scenario.periods.iter().flat_map(|&(from, to)| [from, to]).collect();
        for time in marks {
            run.plan(time, Plan::Mark);
        }
        if options.samples {
            run.plan(0, Plan::Observe);
        }
        Ok(run)
    }

    fn add_connection(&mut self, number: usize, cc: &Spec) -> Result<(), Error> {
        let model = &self.scenario.connections[number];
        let own = model.cc.as_deref().map(Spec::parse).transpose();
        let own = own.map_err(|error| Error(format!("connection {}: {}", model.name, error.0)))?;
        let spec = own.as_ref().unwrap_or(cc);
        self.connections.push(Connection::new(number as u64, model, self.senders.len()));
        for (index, subflow) in model.subflows.iter().enumerate() {
            let id = self.senders.len() as u32;
            let forward_hop = self.network.hops.len() as u32;
            self.network.hops.extend(subflow.route.iter().map(|&link| 2 * link as u32));
            self.network.hops.push(END);
            let reverse_hop = self.network.hops.len() as u32;
            self.network.hops.extend(subflow.route.iter().rev().map(|&link| 2 * link as u32 + 1));
            self.network.hops.push(END);
            self.paths.push(Path {
                connection: number,
                index,
                forward_hop,
                reverse_hop,
                join_delay_ns: subflow.join_delay_ns,
                established: None,
                closed: None,
            });
            self.senders.push(Sender::new(
                sender::Setup {
                    subflow: id,
                    index,
                    hop: forward_hop,
                    data_size: (model.mss + model.data_header) as u16,
                    ecn: model.ecn,
                    initial_window: model.initial_window,
                },
                Controller::new(spec),
            ));
            let multipath = model.kind == Kind::Mptcp;
            self.receivers.push(Receiver::new(receiver::Setup {
                subflow: id,
                hop: reverse_hop,
                ack_size: model.ack_size as u16,
                max_blocks: if multipath { 1 } else { 3 },
                multipath,
                delayed_ack: model.delayed_ack,
            }));
        }
        self.plan(model.start_ns, Plan::Open(number));
        if let Some(stop) = model.stop_ns {
            self.plan(stop, Plan::Close(number));
        }
        Ok(())
    }

    /// The model of one direction of a link.
    fn direction(&self, link: u32) -> &'a Direction {
        let both = &self.scenario.links[link as usize / 2];
        if link % 2 == 0 { &both.forward } else { &both.reverse }
    }

    fn plan(&mut self, time: u64, plan: Plan) {
        self.calendar.push(Reverse((time, plan)));
        self.network.agenda.schedule(time, CALENDAR);
    }

    /// Runs to the end and returns what was measured.
    pub(crate) fn finish(mut self) -> Measurements {
        while let Some((time, element)) = self.network.agenda.next() {
            if time >= self.end {
                break;
            }
            debug_assert!(time >= self.network.now, "time never goes back");
            self.network.now = time;
            self.events += 1;
            if element < FIRST_LINK {
                self.follow_calendar();
            } else if element < self.first_sender {
                if let Some(packet) = self.network.arrive(element - FIRST_LINK) {
                    self.receive(&packet);
                }
            } else if element < self.first_receiver {
                self.sender_timer((element - self.first_sender) as usize);
            } else {
                self.receiver_timer((element - self.first_receiver) as usize);
            }
        }
        self.network.now = self.end;
        let start = self.at_start.take().unwrap_or_default();
        let end = self.totals();
        let mut measured = difference(&end, &start);
        measured.measured_ns = self.end - self.scenario.warmup_ns;
        measured.events = self.events;
        self.marks.insert(self.end, end);
        for &(from, to) in &self.scenario.periods {
            let mut period = difference(&self.marks[&to], &self.marks[&from]);
            period.measured_ns = to - from;
            measured.periods.push(period);
        }
        let subflows = measured.connections.iter_mut().flat_map(|connection| &mut connection.subflows);
        for ((counts, windows), samples) in subflows.zip(self.cwnd_samples).zip(self.subflow_samples) {
            (counts.cwnd_samples, counts.samples) = (windows, samples);
        }
        for (link, samples) in measured.links.iter_mut().zip(self.link_samples) {
            link.samples = samples;
        }
        measured
    }

    fn follow_calendar(&mut self) {
        while let Some(&Reverse((time, plan))) = self.calendar.peek() {
            if time > self.network.now {
                break;
            }
            self.calendar.pop();
            match plan {
                Plan::Open(connection) => self.open(self.connections[connection].first),
                Plan::Join(subflow) => self.open(subflow),
                Plan::Close(connection) => self.close(connection),
                Plan::Change(link, nth) => self.network.change(link, &self.direction(link).changes[nth]),
                Plan::Measure => {
                    self.at_start = Some(self.totals());
                    self.plan(time, Plan::Sample);
                }
                Plan::Mark => {
                    let totals = self.totals();
                    self.marks.insert(time, totals);
                }
                Plan::Sample => {
                    self.sample();
                    self.plan(time + SAMPLE_NS, Plan::Sample);
                }
                Plan::Observe => {
                    self.observe();
                    self.plan(time + SAMPLE_NS, Plan::Observe);
                }
            }
        }
    }

    fn sample(&mut self) {
        for (subflow, samples) in self.cwnd_samples.iter_mut().enumerate() {
            if self.senders[subflow].phase == Phase::Established {
                let Path { connection, index, .. } = self.paths[subflow];
                samples.push(self.connections[connection].subflow(index).cwnd);
            }
        }
    }

    fn observe(&mut self) {
        let time_ns = self.network.now;
        for (subflow, samples) in self.subflow_samples.iter_mut().enumerate() {
            let sender = &self.senders[subflow];
            if sender.phase == Phase::Established {
                let Path { connection, index, .. } = self.paths[subflow];
                let view = self.connections[connection].subflow(index);
                samples.push(SubflowSample {
                    time_ns,
                    cwnd: view.cwnd,
                    ssthresh: (view.ssthresh != SSTHRESH_INFINITE).then_some(view.ssthresh),
                    srtt_us: (view.srtt_us > 0).then_some(view.srtt_us),
                    in_flight: sender.in_flight(),
                    received_bytes: self.receivers[subflow].received_bytes,
                    retransmissions: sender.counts.retransmissions,
                });
            }
        }
        let forward = self.network.links.iter_mut().step_by(2);
        let shared = self.scenario.links.iter().zip(forward).zip(&mut self.link_samples);
        for ((_, link), samples) in shared.filter(|((model, _), _)| !model.private) {
            samples.push(LinkSample {
                time_ns,
                queue_packets: link.queue_length(time_ns),
                drops_queue: link.counts().drops_queue,
            });
        }
    }

    /// A subflow begins its handshake.
    fn open(&mut self, subflow: usize) {
        if !self.connections[self.paths[subflow].connection].closed {
            self.senders[subflow].phase = Phase::Opening(0);
            self.send_opening(subflow, 0);
        }
    }

    fn send_opening(&mut self, subflow: usize, step: u32) {
        let model = &self.scenario.connections[self.paths[subflow].connection];
        let packet = Packet {
            subflow: subflow as u32,
            hop: self.paths[subflow].forward_hop,
            size: (OPENING + model.ip_header) as u16,
            flags: flags::DATA | flags::SYN,
            seq: step,
            timestamp: self.network.timestamp(),
            sack: Sacks::NONE,
            ..Packet::default()
        };
        self.network.send(packet);
        self.senders[subflow].start_opening_timer(self.network.now);
        self.plan_sender(subflow);
    }

    fn close(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        connection.closed = true;
        for subflow in connection.first..connection.first + connection.n {
            self.senders[subflow].close(connection, &mut self.network);
            self.receivers[subflow].due = None;
            self.paths[subflow].closed.get_or_insert(self.network.now);
        }
    }

    /// A packet has reached the end of its route.
    #[allow(clippy::inline_always, reason = "else every packet is copied once more, on its way to the call")]
    #[inline(always)]
    fn receive(&mut self, packet: &Packet) {
        let subflow = packet.subflow as usize;
        if packet.flags & flags::SYN != 0 {
            self.receive_opening(packet);
        } else if packet.flags & flags::DATA != 0 {
            let connection = &mut self.connections[self.paths[subflow].connection];
            if self.senders[subflow].phase == Phase::Established {
                self.receivers[subflow].receive(packet, &mut connection.data, &mut self.network);
                self.plan_receiver(subflow);
            }
        } else {
            let Path { connection, index, .. } = self.paths[subflow];
            let connection = &mut self.connections[connection];
            let senders = &mut self.senders[connection.first..connection.first + connection.n];
            if senders[index].phase != Phase::Established {
                self.network.sacks.take(packet.sack);
                return;
            }
            senders[index].receive(connection, &mut self.network, packet);
            connection.push(senders, index, &mut self.network);
            self.plan_senders(subflow);
        }
    }

    /// A packet of the handshake: a reply to it, or the answer to ours.
    fn receive_opening(&mut self, packet: &Packet) {
        let subflow = packet.subflow as usize;
        if packet.flags & flags::DATA != 0 {
            let reply = Packet {
                hop: self.paths[subflow].reverse_hop,
                flags: flags::SYN,
                sack: Sacks::NONE,
                ..*packet
            };
            self.network.send(reply);
            return;
        }
        let now = self.network.now;
        let Path { connection: number, index, .. } = self.paths[subflow];
        let step = packet.seq;
        if self.senders[subflow].phase != Phase::Opening(step) {
            return;
        }
        let rtt_us = self.network.timestamp().wrapping_sub(packet.timestamp);
        if index > 0 && step == 0 {
            // A join takes two round trips: data only after the fourth packet (RFC 8684 sect. 3.2).
            self.senders[subflow].phase = Phase::Opening(1);
            self.send_opening(subflow, 1);
            return;
        }
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        senders[index].establish(connection, &mut self.network, rtt_us);
        self.receivers[subflow].established(now, senders[index].rto_ns());
        self.paths[subflow].established = Some(now);
        if index == 0 {
            let n = connection.n;
            connection.push(senders, index, &mut self.network);
            for joining in subflow + 1..subflow + n {
                let delay = self.paths[joining].join_delay_ns.unwrap_or(u64::from(rtt_us) * 1_000);
                self.plan(now + delay, Plan::Join(joining));
            }
        } else {
            connection.push(senders, index, &mut self.network);
        }
        self.plan_senders(subflow);
    }

    #[inline]
    fn plan_senders(&mut self, subflow: usize) {
        let connection = &self.connections[self.paths[subflow].connection];
        let (first, n) = (connection.first, connection.n);
        for subflow in first..first + n {
            self.plan_sender(subflow);
        }
    }

    /// Sees to it that the agenda has an entry no later than the timer's deadline.
    #[inline]
    fn plan_sender(&mut self, subflow: usize) {
        let sender = &mut self.senders[subflow];
        if let Some(deadline) = sender.deadline() {
            if sender.planned.is_none_or(|planned| planned > deadline) {
                sender.planned = Some(deadline);
                self.network.agenda.schedule(deadline, self.first_sender + subflow as Element);
            }
        }
    }

    #[inline]
    fn plan_receiver(&mut self, subflow: usize) {
        let receiver = &mut self.receivers[subflow];
        if let Some(due) = receiver.due {
            if receiver.planned.is_none_or(|planned| planned > due) {
                receiver.planned = Some(due);
                self.network.agenda.schedule(due, self.first_receiver + subflow as Element);
            }
        }
    }

    fn sender_timer(&mut self, subflow: usize) {
        let now = self.network.now;
        let Path { connection: number, index, .. } = self.paths[subflow];
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        let sender = &mut senders[index];
        if sender.planned != Some(now) {
            return; // an entry that an earlier one has replaced
        }
        sender.planned = None;
        if sender.deadline().is_some_and(|deadline| deadline <= now) {
            match sender.expire(connection, &mut self.network) {
                Expired::Nothing => {}
                Expired::Opening(step) => {
                    self.send_opening(subflow, step);
                    return;
                }
                Expired::MayPush => connection.push(senders, index, &mut self.network),
                Expired::Timeout => {
                    connection.reinject_from(senders, index);
                    connection.push(senders, index, &mut self.network);
                }
                Expired::GivenUp => {
                    connection.reinject_from(senders, index);
                    senders[index].close(connection, &mut self.network);
                    self.paths[subflow].closed = Some(now);
                    connection.push(senders, index, &mut self.network);
                }
            }
            self.plan_senders(subflow);
        } else {
            self.plan_sender(subflow);
        }
    }

    fn receiver_timer(&mut self, subflow: usize) {
        let receiver = &mut self.receivers[subflow];
        if receiver.planned != Some(self.network.now) {
            return;
        }
        receiver.planned = None;
        if receiver.due.is_some_and(|due| due <= self.network.now) {
            let connection = &mut self.connections[self.paths[subflow].connection];
            receiver.acknowledge(None, &mut connection.data, &mut self.network);
        } else {
            self.plan_receiver(subflow);
        }
    }

    /// Everything counted from the start of the run until now.
    fn totals(&mut self) -> Measurements {
        let now = self.network.now;
        let lasted = |from: Option<u64>, to: Option<u64>| from.map_or(0, |from| to.unwrap_or(now) - from);
        let mut connections = Vec::with_capacity(self.connections.len());
        let mut delivered = 0;
        for (number, connection) in self.connections.iter().enumerate() {
            let mut subflows = Vec::with_capacity(connection.n);
            for subflow in connection.first..connection.first + connection.n {
                let sender = &mut self.senders[subflow];
                if sender.phase == Phase::Established {
                    sender.integrate(connection.subflow(subflow - connection.first).cwnd, now);
                }
                let counts = &sender.counts;
                let receiver = &self.receivers[subflow];
                delivered += receiver.received_packets;
                let path = &self.paths[subflow];
                subflows.push(SubflowCounts {
                    active_ns: lasted(path.established, path.closed),
                    received_bytes: receiver.received_bytes,
                    packets_sent: counts.packets_sent,
                    retransmissions: counts.retransmissions,
                    fast_retransmits: counts.fast_retransmits,
                    timeouts: counts.timeouts,
                    ecn_reductions: counts.ecn_reductions,
                    undos: counts.undos,
                    rtt_sum_us: counts.rtt_sum_us,
                    rtt_samples: counts.rtt_samples,
                    cwnd_integral: u128::from(counts.cwnd_integral),
                    cwnd_samples: Vec::new(),
                    samples: Vec::new(),
                });
            }
            let model = &self.scenario.connections[number];
            let opened = (model.start_ns <= now).then_some(model.start_ns);
            connections.push(ConnectionCounts {
                active_ns: lasted(opened, model.stop_ns.filter(|&stop| stop <= now)),
                goodput_bytes: u64::from(connection.data.rcv_nxt) * u64::from(model.mss),
                reinjections: connection.data.reinjections,
                subflows,
            });
        }
        let links = self
            .network
            .links
            .chunks_exact(2)
            .map(|pair| LinkCounts {
                forward: pair[0].counts().clone(),
                reverse: pair[1].counts().clone(),
                samples: Vec::new(),
            })
            .collect();
        Measurements { connections, links, packets_delivered: delivered, ..Measurements::default() }
    }
}

/// What was counted between two snapshots.
fn difference(end: &Measurements, start: &Measurements) -> Measurements {
    let mut end = end.clone();
    for (end, start) in end.connections.iter_mut().zip(&start.connections) {
        end.active_ns -= start.active_ns;
        end.goodput_bytes -= start.goodput_bytes;
        end.reinjections -= start.reinjections;
        for (end, start) in end.subflows.iter_mut().zip(&start.subflows) {
            end.active_ns -= start.active_ns;
            end.received_bytes -= start.received_bytes;
            end.packets_sent -= start.packets_sent;
            end.retransmissions -= start.retransmissions;
            end.fast_retransmits -= start.fast_retransmits;
            end.timeouts -= start.timeouts;
            end.ecn_reductions -= start.ecn_reductions;
            end.undos -= start.undos;
            end.rtt_sum_us -= start.rtt_sum_us;
            end.rtt_samples -= start.rtt_samples;
            end.cwnd_integral -= start.cwnd_integral;
        }
    }
    for (end, start) in end.links.iter_mut().zip(&start.links) {
        for (end, start) in [(&mut end.forward, &start.forward), (&mut end.reverse, &start.reverse)] {
            end.packets -= start.packets;
            end.bytes -= start.bytes;
            end.busy_ns -= start.busy_ns;
            end.drops_queue -= start.drops_queue;
            end.drops_wire -= start.drops_wire;
            end.marks -= start.marks;
            end.queue_integral -= start.queue_integral;
        }
    }
    end
}
