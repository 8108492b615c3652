//! A run from the first event to the last: who is who, and what happens in which order.

mod traffic;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use braid_algorithms::layout::SSTHRESH_INFINITE;
use braid_algorithms::{Algorithm, Controller, Spec};
use braid_results::measure::{
    ConnectionCounts, LinkCounts, LinkSample, Measurements, SubflowCounts, SubflowSample, VerdictChange,
};
use braid_scenario::model::{self, Direction, Kind, Scenario};

use crate::agenda::{Agenda, Element, MAX_ELEMENTS, MAX_TIME, NEVER, moment};
use crate::application::Application;
use crate::connection::Connection;
use crate::link::Link;
use crate::network::Network;
use crate::observe::{Concerned, Observer, Watcher};
use crate::packet::{Packet, Sacks, flags};
use crate::tcp::expiry::Expired;
use crate::tcp::receiver::{self, Receiver};
use crate::tcp::sender::{self, Phase, Sender};
use crate::{Error, Options, Scheduler};

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
    /// A further subflow of a connection in its n-th life is opened.
    Join(usize, u32),
    /// The same is removed.
    Leave(usize, u32),
    /// A connection is closed.
    Close(usize),
    /// A short flow arrives.
    Arrive(usize),
    /// An application that sends and pauses does the other.
    Turn(usize),
    /// An application writes at its constant rate, unless its turn, counted in transfers, is over.
    Write(usize, usize),
    /// The next request is made.
    Request(usize),
    /// What is missing of the request of this transfer is sent again.
    Repeat(usize, u32),
    /// This direction of a link changes, for the n-th time.
    Change(u32, usize),
    /// The route of a subflow changes, for the n-th time: connection of the scenario, subflow, n.
    Reroute(usize, usize, usize),
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
pub(crate) struct Path {
    /// Whose packets are taken: those of its present life, once it is established; else [`NOBODY`].
    live: u32,
    /// What its packets are marked with: its number, and above that of its life.
    id: u32,
    connection: usize,
    index: usize,
    /// Its number among the subflows of the scenario: short flows count together.
    figure: usize,
    forward_hop: u32,
    reverse_hop: u32,
    established: Option<u64>,
    closed: Option<u64>,
}

/// No subflow is marked with this.
const NOBODY: u32 = u32::MAX;

impl Path {
    /// What its packets are marked with.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Connection, and index in it.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.connection, self.index)
    }
}

/// A run in progress.
pub(crate) struct Run<'a> {
    scenario: &'a Scenario,
    scheduler: Scheduler,
    pub(crate) network: Network,
    calendar: BinaryHeap<Reverse<(u64, Plan)>>,
    /// One per connection of the scenario.
    pub(crate) applications: Vec<Application>,
    specs: Vec<Spec>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) paths: Vec<Path>,
    /// The part of a packet's mark that is the number of its subflow.
    pub(crate) number_mask: u32,
    pub(crate) senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    first_sender: Element,
    first_receiver: Element,
    end: u64,
    at_start: Option<Measurements>,
    /// What had been counted at the beginnings and ends of periods.
    marks: BTreeMap<u64, Measurements>,
    /// What was counted in lives that are over, one per subflow of the scenario.
    retired: Vec<Retired>,
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
        let programs = |model: &&model::Connection| matches!(model.traffic, model::Traffic::Program(_));
        if let Some(connection) = scenario.connections.iter().find(programs) {
            return Err(Error(format!(
                "the traffic of {} is of programs, which only a kernel runs",
                connection.name
            )));
        }
        let mut links = Vec::with_capacity(2 * scenario.links.len());
        for link in &scenario.links {
            for (direction, name) in [(&link.forward, "forward"), (&link.reverse, "reverse")] {
                links.push(Link::new(direction, seed, &format!("link {} {name}", link.name)));
            }
        }
        let n_figures: usize = scenario.connections.iter().map(|connection| connection.subflows.len()).sum();
        let of_connection =
            |model: &model::Connection| Application::connections(model) * model.subflows.len();
        let n_subflows: usize = scenario.connections.iter().map(of_connection).sum();
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
            scheduler: options.scheduler,
            network: Network {
                now: 0,
                agenda: Agenda::default(),
                links,
                first_element: FIRST_LINK,
                hops: Vec::new(),
                sacks: Sacks::default(),
            },
            calendar: BinaryHeap::new(),
            applications: Vec::new(),
            specs: Vec::new(),
            connections: Vec::new(),
            paths: Vec::new(),
            number_mask: (n_subflows as u32).next_power_of_two() - 1,
            senders: Vec::new(),
            receivers: Vec::new(),
            first_sender,
            first_receiver: first_sender + n_subflows as Element,
            end,
            at_start: None,
            marks: BTreeMap::new(),
            retired: vec![Retired::default(); n_figures],
            cwnd_samples: vec![Vec::new(); n_figures],
            subflow_samples: vec![Vec::new(); n_figures],
            link_samples: vec![Vec::new(); scenario.links.len()],
            events: 0,
        };
        for number in 0..scenario.connections.len() {
            run.add_connection(number, cc, seed)?;
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

    fn add_connection(&mut self, number: usize, cc: &Spec, seed: u64) -> Result<(), Error> {
        let model = &self.scenario.connections[number];
        let own = model.cc.as_deref().map(Spec::parse).transpose();
        let own = own.map_err(|error| Error(format!("connection {}: {}", model.name, error.0)))?;
        self.specs.push(own.unwrap_or_else(|| cc.clone()));
        let figure = self.applications.iter().map(|other| self.connections[other.first].n).sum::<usize>();
        let n = Application::connections(model);
        self.applications.push(Application::new(model, self.connections.len(), n, seed));
        let mut hops = Vec::with_capacity(model.subflows.len());
        for subflow in &model.subflows {
            let forward_hop = self.network.add_route(there(&subflow.route));
            let reverse_hop = self.network.add_route(back(&subflow.route));
            hops.push((forward_hop, reverse_hop));
        }
        for (index, subflow) in model.subflows.iter().enumerate() {
            for (nth, reroute) in subflow.reroutes.iter().enumerate() {
                self.plan(reroute.at_ns, Plan::Reroute(number, index, nth));
            }
        }
        for connection in self.connections.len()..self.connections.len() + n {
            self.connections.push(Connection::new(number, model, self.senders.len(), self.scheduler));
            for (index, &(forward_hop, reverse_hop)) in hops.iter().enumerate() {
                self.paths.push(Path {
                    live: NOBODY,
                    id: self.senders.len() as u32,
                    connection,
                    index,
                    figure: figure + index,
                    forward_hop,
                    reverse_hop,
                    established: None,
                    closed: None,
                });
                let subflow = self.senders.len();
                self.senders.push(self.sender(subflow));
                self.receivers.push(self.receiver(subflow));
            }
        }
        self.plan(model.start_ns, Plan::Open(number));
        if let Some(stop) = model.stop_ns {
            self.plan(stop, Plan::Close(number));
        }
        Ok(())
    }

    /// The model of a connection.
    pub(crate) fn model(&self, connection: usize) -> &'a model::Connection {
        &self.scenario.connections[self.connections[connection].number]
    }

    /// A sending end as it is before anything happens.
    fn sender(&self, subflow: usize) -> Sender {
        let path = &self.paths[subflow];
        let model = self.model(path.connection);
        let setup = sender::Setup {
            subflow: path.id,
            index: path.index,
            hop: path.forward_hop,
            data_size: (model.mss + model.data_header) as u16,
            ecn: model.ecn,
            initial_window: model.initial_window,
            initial_ssthresh: model.initial_ssthresh,
        };
        Sender::new(setup, Controller::new(&self.specs[self.connections[path.connection].number]))
    }

    /// A receiving end as it is before anything happens.
    fn receiver(&self, subflow: usize) -> Receiver {
        let path = &self.paths[subflow];
        let model = self.model(path.connection);
        let multipath = model.kind == Kind::Mptcp;
        Receiver::new(receiver::Setup {
            subflow: path.id,
            hop: path.reverse_hop,
            ack_size: model.ack_size as u16,
            max_blocks: if multipath { 1 } else { 3 },
            multipath,
            delayed_ack: model.delayed_ack,
            buffer: model.receive_buffer / u64::from(model.mss),
            accurate_ecn: model.accurate_ecn,
            reports_delay: self.specs[self.connections[path.connection].number].algorithm().flags()
                & Algorithm::WANTS_OWD
                != 0,
        })
    }

    /// A subflow begins another life: what still travels of the old one means nothing to it.
    fn renew(&mut self, subflow: usize) {
        let counts = self.counts(subflow);
        let path = &mut self.paths[subflow];
        let retired = &mut self.retired[path.figure];
        retired.packets += self.receivers[subflow].received_packets;
        retired.verdicts.append(&mut self.senders[subflow].verdicts);
        add(&mut retired.counts, &counts);
        path.id = path.id.wrapping_add(self.number_mask + 1);
        if path.id == NOBODY {
            path.id &= self.number_mask;
        }
        (path.live, path.established, path.closed) = (NOBODY, None, None);
        // Their entries in the agenda remain.
        let (mut sender, mut receiver) = (self.sender(subflow), self.receiver(subflow));
        sender.planned = self.senders[subflow].planned;
        receiver.planned = self.receivers[subflow].planned;
        self.senders[subflow] = sender;
        self.receivers[subflow] = receiver;
    }

    /// The model of one direction of a link.
    fn direction(&self, link: u32) -> &'a Direction {
        let both = &self.scenario.links[link as usize / 2];
        if link % 2 == 0 { &both.forward } else { &both.reverse }
    }

    fn plan(&mut self, time: u64, plan: Plan) {
        if time >= self.end {
            return;
        }
        self.calendar.push(Reverse((time, plan)));
        self.network.agenda.schedule(time, CALENDAR);
    }

    /// Runs to the end and returns what was measured.
    pub(crate) fn finish(mut self) -> Measurements {
        self.advance(moment(self.end, CALENDAR));
        self.conclude()
    }

    /// As [`Run::finish`], telling what happens: one event at a time, with a look before and after it.
    pub(crate) fn finish_observed(mut self, observer: &mut dyn Observer) -> Measurements {
        let mut watcher = Watcher::new(&mut self, observer);
        while let Some((time, element)) = self.network.agenda.peek().filter(|(time, _)| *time < self.end) {
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

    /// Handles all events before `limit`, a [`moment`]. Never inlined: the compiler makes one loop of it, whoever calls.
    #[inline(never)]
    fn advance(&mut self, limit: u64) {
        while let Some((time, element)) = self.network.agenda.next_before(limit) {
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
    }

    fn conclude(mut self) -> Measurements {
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
        // Short flows come and go too fast for a detector to be judged.
        for (sender, path) in self.senders.iter_mut().zip(&self.paths) {
            let number = self.connections[path.connection].number;
            if self.applications[number].n == 1 {
                let verdicts = &mut self.retired[path.figure].verdicts;
                verdicts.append(&mut sender.verdicts);
                measured.connections[number].subflows[path.index].verdicts = std::mem::take(verdicts);
            }
        }
        for (counts, application) in measured.connections.iter_mut().zip(self.applications) {
            counts.transfers = application.transfers;
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
                Plan::Open(number) => self.begin(number),
                Plan::Join(subflow, life) => self.join(subflow, life),
                Plan::Leave(subflow, life) => self.leave(subflow, life),
                Plan::Close(number) => self.stop(number),
                Plan::Arrive(number) => self.arrive(number),
                Plan::Turn(number) => self.turn(number),
                Plan::Write(number, turn) => self.write(number, turn),
                Plan::Request(number) => self.request(number),
                Plan::Repeat(number, transfer) => self.repeat_request(number, transfer),
                Plan::Change(link, nth) => self.network.change(link, &self.direction(link).changes[nth]),
                Plan::Reroute(number, index, nth) => self.reroute(number, index, nth),
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

    /// What a subflow of these connections sends from now on takes another route.
    fn reroute(&mut self, number: usize, index: usize, nth: usize) {
        let change = &self.scenario.connections[number].subflows[index].reroutes[nth];
        let forward = change.forward.as_ref().map(|route| self.network.add_route(there(route)));
        let reverse = change.reverse.as_ref().map(|route| self.network.add_route(back(route)));
        let Application { first, n, .. } = self.applications[number];
        for connection in first..first + n {
            let subflow = self.connections[connection].first + index;
            if let Some(hop) = forward {
                self.paths[subflow].forward_hop = hop;
                self.senders[subflow].set_route(hop);
            }
            if let Some(hop) = reverse {
                self.paths[subflow].reverse_hop = hop;
                self.receivers[subflow].set_route(hop);
            }
        }
    }

    fn sample(&mut self) {
        for path in self.paths.iter().filter(|path| path.live != NOBODY) {
            self.cwnd_samples[path.figure].push(self.connections[path.connection].subflow(path.index).cwnd);
        }
    }

    fn observe(&mut self) {
        let time_ns = self.network.now;
        for (subflow, path) in self.paths.iter().enumerate().filter(|(_, path)| path.live != NOBODY) {
            let connection = &self.connections[path.connection];
            // Of short flows there may be many at a time: no series.
            if self.applications[connection.number].n == 1 {
                let sender = &self.senders[subflow];
                let view = connection.subflow(path.index);
                let earlier = &self.retired[path.figure].counts;
                self.subflow_samples[path.figure].push(SubflowSample {
                    time_ns,
                    cwnd: view.cwnd,
                    ssthresh: (view.ssthresh != SSTHRESH_INFINITE).then_some(view.ssthresh),
                    srtt_us: (view.srtt_us > 0).then_some(view.srtt_us),
                    in_flight: sender.in_flight(),
                    received_bytes: earlier.received_bytes + self.receivers[subflow].received_bytes,
                    retransmissions: earlier.retransmissions + sender.counts.retransmissions,
                    rtt_samples: sender.counts.rtt_samples,
                    rtt_steps_us: sender.counts.rtt_steps_us,
                    group: sender.verdicts.last().map(|verdict| verdict.group),
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
        self.senders[subflow].phase = Phase::Opening(0);
        self.send_opening(subflow, 0);
    }

    fn send_opening(&mut self, subflow: usize, step: u32) {
        let path = &self.paths[subflow];
        let model = self.model(path.connection);
        let packet = Packet {
            subflow: path.id,
            hop: path.forward_hop,
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

    /// A connection ends at once.
    fn close(&mut self, connection: usize) {
        self.connections[connection].closed = true;
        let Connection { first, n, .. } = self.connections[connection];
        for subflow in first..first + n {
            self.close_subflow(subflow);
        }
    }

    fn close_subflow(&mut self, subflow: usize) {
        let path = &mut self.paths[subflow];
        self.senders[subflow].close(&mut self.connections[path.connection], &mut self.network);
        self.receivers[subflow].due = None;
        path.live = NOBODY;
        path.closed.get_or_insert(self.network.now);
    }

    /// A packet has reached the end of its route.
    #[allow(clippy::inline_always, reason = "else every packet is copied once more, on its way to the call")]
    #[inline(always)]
    fn receive(&mut self, packet: &Packet) {
        let subflow = (packet.subflow & self.number_mask) as usize;
        let Path { live, connection: number, index, .. } = self.paths[subflow];
        if packet.flags & (flags::SYN | flags::REQUEST) != 0 {
            if packet.flags & flags::SYN != 0 {
                self.receive_opening(packet);
            } else if live == packet.subflow {
                self.receive_request(number, packet);
            }
        } else if packet.flags & flags::DATA != 0 {
            if live != packet.subflow {
                return;
            }
            let connection = &mut self.connections[number];
            self.receivers[subflow].receive(packet, &mut connection.data, &mut self.network);
            let complete = connection.data.rcv_nxt >= connection.data.boundary;
            self.plan_receiver(subflow);
            if complete {
                self.deliver(number);
            }
        } else {
            if live != packet.subflow {
                self.network.sacks.take(packet.sack);
                return;
            }
            let connection = &mut self.connections[number];
            let senders = &mut self.senders[connection.first..connection.first + connection.n];
            senders[index].receive(connection, &mut self.network, packet);
            connection.push(senders, index, &mut self.network);
            self.plan_senders(subflow);
        }
    }

    /// A packet of the handshake: a reply to it, or the answer to ours.
    fn receive_opening(&mut self, packet: &Packet) {
        let subflow = (packet.subflow & self.number_mask) as usize;
        if packet.subflow != self.paths[subflow].id {
            return;
        }
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
        if (index > 0 || self.connections[number].established) && step == 0 {
            // A join takes two round trips: data only after the fourth packet (RFC 8684 sect. 3.2).
            self.senders[subflow].phase = Phase::Opening(1);
            self.send_opening(subflow, 1);
            return;
        }
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        senders[index].establish(connection, &mut self.network, rtt_us);
        self.receivers[subflow].established(now, senders[index].rto_ns());
        let path = &mut self.paths[subflow];
        (path.established, path.live) = (Some(now), path.id);
        connection.push(senders, index, &mut self.network);
        self.plan_senders(subflow);
        if !std::mem::replace(&mut self.connections[number].established, true) {
            self.plan_subflows(number, u64::from(rtt_us) * 1_000);
            self.established(number);
        }
    }

    /// The first subflow is established: plans when the others join, and who leaves.
    fn plan_subflows(&mut self, number: usize, rtt_ns: u64) {
        let now = self.network.now;
        let Connection { first, life, .. } = self.connections[number];
        for (index, model) in self.model(number).subflows.iter().enumerate() {
            let subflow = first + index;
            if model.up.is_empty() && index > 0 {
                self.plan(now + model.join_delay_ns.unwrap_or(rtt_ns), Plan::Join(subflow, life));
            }
            for &(from, to) in model.up.iter().filter(|&&(_, to)| to > now) {
                if index > 0 || from > now {
                    self.plan(from.max(now + rtt_ns), Plan::Join(subflow, life));
                }
                self.plan(to, Plan::Leave(subflow, life));
            }
        }
    }

    /// A subflow joins, or joins again.
    fn join(&mut self, subflow: usize, life: u32) {
        let Path { connection, index, .. } = self.paths[subflow];
        if self.connections[connection].closed || self.connections[connection].life != life {
            return;
        }
        if self.senders[subflow].phase != Phase::Idle {
            self.connections[connection].renew(index);
            self.renew(subflow);
        }
        self.open(subflow);
    }

    /// A subflow is removed; what it had under way is sent on the others.
    fn leave(&mut self, subflow: usize, life: u32) {
        let Path { connection: number, index, .. } = self.paths[subflow];
        let connection = &mut self.connections[number];
        if connection.closed || connection.life != life {
            return;
        }
        let was_established = self.senders[subflow].phase == Phase::Established;
        self.close_subflow(subflow);
        if was_established {
            self.reinject_from(number, index);
        }
        self.push_written(number);
    }

    /// Offers what a subflow had under way to the others.
    fn reinject_from(&mut self, number: usize, index: usize) {
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        connection.reinject_from(senders, index);
    }

    /// Sends what may be sent now.
    fn push_written(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        let first = connection.first;
        let senders = &mut self.senders[first..first + connection.n];
        connection.push_written(senders, &mut self.network);
        self.plan_senders(first);
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
        let deadline = sender.deadline();
        if deadline < sender.planned {
            sender.planned = deadline;
            self.network.agenda.schedule(deadline, self.first_sender + subflow as Element);
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
        if sender.planned != now {
            return; // an entry that an earlier one has replaced
        }
        sender.planned = NEVER;
        if sender.deadline() <= now {
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
                    self.close_subflow(subflow);
                    self.reinject_from(number, index);
                    self.push_written(number);
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
        for (sender, path) in self.senders.iter_mut().zip(&self.paths) {
            if path.live != NOBODY {
                let cwnd = self.connections[path.connection].subflow(path.index).cwnd;
                sender.integrate(cwnd, now);
            }
        }
        let mut figures = self.retired.clone();
        for (subflow, path) in self.paths.iter().enumerate() {
            let figure = &mut figures[path.figure];
            figure.packets += self.receivers[subflow].received_packets;
            add(&mut figure.counts, &self.counts(subflow));
        }
        let packets_delivered = figures.iter().map(|figure| figure.packets).sum();
        let mut figures = figures.into_iter().map(|figure| figure.counts);
        let lasted = |from: u64, to: Option<u64>| to.unwrap_or(now).min(now).saturating_sub(from);
        let mut connections = Vec::with_capacity(self.applications.len());
        for (model, application) in self.scenario.connections.iter().zip(&self.applications) {
            let own = &self.connections[application.first..application.first + application.n];
            let bytes = |own: &Connection| own.data.delivered_bytes(model.mss);
            connections.push(ConnectionCounts {
                active_ns: lasted(model.start_ns, application.ended),
                goodput_bytes: application.retired_bytes + own.iter().map(bytes).sum::<u64>(),
                reinjections: application.retired_reinjections
                    + own.iter().map(|own| own.data.reinjections).sum::<u64>(),
                subflows: figures.by_ref().take(model.subflows.len()).collect(),
                transfers: Vec::new(),
                programs: Vec::new(),
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
        Measurements { connections, links, packets_delivered, ..Measurements::default() }
    }

    /// What was counted in the present life of a subflow; its integrals as of the latest change.
    fn counts(&self, subflow: usize) -> SubflowCounts {
        let now = self.network.now;
        let (path, receiver) = (&self.paths[subflow], &self.receivers[subflow]);
        let counts = &self.senders[subflow].counts;
        SubflowCounts {
            active_ns: path.established.map_or(0, |from| path.closed.unwrap_or(now) - from),
            received_bytes: receiver.received_bytes,
            packets_sent: counts.packets_sent,
            retransmissions: counts.retransmissions,
            causes_unknown: false,
            fast_retransmits: counts.fast_retransmits,
            timeouts: counts.timeouts,
            ecn_reductions: counts.ecn_reductions,
            undos: counts.undos,
            rtt_sum_us: counts.rtt_sum_us,
            rtt_samples: counts.rtt_samples,
            cwnd_integral: u128::from(counts.cwnd_integral),
            cwnd_samples: Vec::new(),
            samples: Vec::new(),
            verdicts: Vec::new(),
        }
    }
}

/// What was counted in lives that are over.
#[derive(Clone, Default)]
struct Retired {
    packets: u64,
    verdicts: Vec<VerdictChange>,
    counts: SubflowCounts,
}

fn add(sum: &mut SubflowCounts, counts: &SubflowCounts) {
    sum.active_ns += counts.active_ns;
    sum.received_bytes += counts.received_bytes;
    sum.packets_sent += counts.packets_sent;
    sum.retransmissions += counts.retransmissions;
    sum.fast_retransmits += counts.fast_retransmits;
    sum.timeouts += counts.timeouts;
    sum.ecn_reductions += counts.ecn_reductions;
    sum.undos += counts.undos;
    sum.rtt_sum_us += counts.rtt_sum_us;
    sum.rtt_samples += counts.rtt_samples;
    sum.cwnd_integral += counts.cwnd_integral;
}

/// The directions of links that data takes on a route, in order.
fn there(route: &[usize]) -> impl Iterator<Item = u32> {
    route.iter().map(|&link| 2 * link as u32)
}

/// The directions of links that acknowledgements take.
fn back(route: &[usize]) -> impl Iterator<Item = u32> {
    route.iter().rev().map(|&link| 2 * link as u32 + 1)
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
