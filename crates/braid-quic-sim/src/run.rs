//! A run: the simulator's links and TCP flows, and QUIC connections on top.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;
use std::time::{Duration, Instant};

use braid_quic::Spec;
use braid_results::measure::{ConnectionCounts, Measurements, SAMPLE_INTERVAL_NS, SubflowSample};
use braid_scenario::model::{Kind, Scenario, Spread, Traffic};
use braid_sim::{Options, Simulation};
use braid_study::Stop;

use crate::counts::difference;
use crate::flow::{Flow, Setup, Wish};
use crate::qlog::ToFile;

/// A piece of a run, after which its caller may stop it.
const PIECE_NS: u64 = 100_000_000;
/// A path that cannot be opened yet is tried again after this time.
const RETRY_NS: u64 = 10_000_000;

/// What is planned for a certain time, by the flow's place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Plan {
    Mark,
    Open(usize),
    Close(usize),
    Join(usize, usize),
    Leave(usize, usize),
    Rebind(usize, usize),
    Request(usize),
    Sample,
    /// Ends a piece.
    Pause,
}

pub(crate) struct Run<'a> {
    scenario: &'a Scenario,
    simulation: Simulation<'a>,
    flows: Vec<Flow<'a>>,
    /// By number of the connection.
    flow_of: Vec<Option<usize>>,
    plans: BinaryHeap<Reverse<(u64, Plan)>>,
    /// Time 0 of the run on the stack's clock.
    start: Instant,
    end_ns: u64,
    with_samples: bool,
    marks: BTreeMap<u64, Vec<ConnectionCounts>>,
    cwnd_samples: Vec<Vec<Vec<u32>>>,
    samples: Vec<Vec<Vec<SubflowSample>>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        spec: &'a Spec,
        seed: u64,
        with_samples: bool,
        qlog: Option<&Path>,
    ) -> Result<Self, Stop> {
        let failed = |why: String| Stop::Failed(why);
        let options = Options { samples: with_samples, ..Options::default() };
        let simulation = Simulation::for_datagrams(scenario, spec, seed, options);
        let simulation = simulation.map_err(|error| failed(error.to_string()))?;
        // All times of a run are relative to it.
        let start = Instant::now();
        let end_ns = simulation.end_ns();
        let mut run = Self {
            scenario,
            simulation,
            flows: Vec::new(),
            flow_of: vec![None; scenario.connections.len()],
            plans: BinaryHeap::new(),
            start,
            end_ns,
            with_samples,
            marks: BTreeMap::new(),
            cwnd_samples: Vec::new(),
            samples: Vec::new(),
        };
        for (number, model) in scenario.connections.iter().enumerate() {
            if model.kind != Kind::Mptcp {
                continue;
            }
            let own = model.cc.as_deref().map(Spec::parse).transpose().map_err(|error| failed(error.0))?;
            let qlog = qlog.map(|folder| {
                let title = format!("{} {} seed {seed} {}", scenario.name, spec.text(), model.name);
                let name: String = title
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
                    .collect();
                ToFile { path: folder.join(name + ".sqlog"), title, start }
            });
            if let Some(qlog) = &qlog {
                let test = std::fs::File::create(&qlog.path);
                test.map_err(|error| failed(format!("{} cannot be written: {error}", qlog.path.display())))?;
            }
            let place = run.flows.len();
            run.flow_of[number] = Some(place);
            let spec = own.as_ref().unwrap_or(spec);
            run.flows.push(Flow::new(Setup { number, model, spec, seed, qlog }));
            run.plan(model.start_ns, Plan::Open(place));
            if let Some(stop_ns) = model.stop_ns {
                run.plan(stop_ns, Plan::Close(place));
            }
            for (index, subflow) in model.subflows.iter().enumerate() {
                for reroute in &subflow.reroutes {
                    run.plan(reroute.at_ns, Plan::Rebind(place, index));
                }
            }
            run.cwnd_samples.push(vec![Vec::new(); model.subflows.len()]);
            run.samples.push(vec![Vec::new(); model.subflows.len()]);
        }
        let bounds = scenario.periods.iter().flat_map(|&(from, to)| [from, to]);
        let marks: BTreeSet<u64> = bounds.chain([scenario.warmup_ns]).collect();
        for time in marks {
            run.plan(time, Plan::Mark);
        }
        run.plan(0, Plan::Sample);
        run.plan(PIECE_NS, Plan::Pause);
        Ok(run)
    }

    fn plan(&mut self, time: u64, plan: Plan) {
        if time < self.end_ns {
            self.plans.push(Reverse((time, plan)));
        }
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_nanos(self.simulation.now_ns())
    }

    /// A piece of the run; `None` at its end.
    pub(crate) fn advance(&mut self) -> Option<u64> {
        loop {
            let since = |time: Instant| u64::try_from((time - self.start).as_nanos()).unwrap_or(u64::MAX);
            let timeouts = self.flows.iter().filter_map(|flow| flow.next_timeout().map(since));
            let plan = self.plans.peek().map(|Reverse((time, _))| *time);
            let next = timeouts.chain(plan).min().unwrap_or(self.end_ns);
            if let Some(datagram) = self.simulation.advance_to_datagram(next) {
                let now = self.now();
                let Some(place) = self.flow_of[datagram.place.connection] else { continue };
                let flow = &mut self.flows[place];
                let ip_bytes = datagram.payload.len() as u64 + 8 + u64::from(flow.model.ip_header);
                flow.receive(now, &datagram, ip_bytes);
                self.work(place);
                continue;
            }
            let now_ns = self.simulation.now_ns();
            if now_ns >= self.end_ns {
                return None;
            }
            let now = self.now();
            for place in 0..self.flows.len() {
                if self.flows[place].next_timeout().is_some_and(|due| due <= now) {
                    self.flows[place].handle_timeouts(now);
                    self.work(place);
                }
            }
            let mut pauses = false;
            while let Some(&Reverse((time, plan))) = self.plans.peek() {
                if time > now_ns {
                    break;
                }
                self.plans.pop();
                pauses |= plan == Plan::Pause;
                self.follow(now_ns, plan);
            }
            if pauses {
                return Some(now_ns);
            }
        }
    }

    fn follow(&mut self, now_ns: u64, plan: Plan) {
        let now = self.now();
        match plan {
            Plan::Open(place) => {
                let number = self.flows[place].number;
                let bytes = match self.flows[place].model.traffic {
                    Traffic::Object { size } => self.simulation.draw_bytes(number, size),
                    _ => 0,
                };
                self.flows[place].open(now, now_ns, bytes);
                self.work(place);
            }
            Plan::Close(place) => {
                self.flows[place].close(now, now_ns);
                self.work(place);
            }
            Plan::Join(place, subflow) => {
                if !self.flows[place].join(now, subflow) {
                    self.plan(now_ns + RETRY_NS, Plan::Join(place, subflow));
                }
                self.work(place);
            }
            Plan::Leave(place, subflow) => {
                self.flows[place].leave(now, now_ns, subflow);
                self.work(place);
            }
            Plan::Rebind(place, subflow) => self.flows[place].rebind(subflow),
            Plan::Request(place) => {
                let number = self.flows[place].number;
                if let Traffic::RequestResponse { response, .. } = self.flows[place].model.traffic {
                    let bytes = self.simulation.draw_bytes(number, response);
                    self.flows[place].request(now_ns, bytes);
                    self.work(place);
                }
            }
            Plan::Mark => {
                let totals = self.flows.iter().map(|flow| flow.totals(now_ns)).collect();
                self.marks.insert(now_ns, totals);
            }
            Plan::Sample => {
                self.sample(now_ns);
                self.plan(now_ns + SAMPLE_INTERVAL_NS, Plan::Sample);
            }
            Plan::Pause => self.plan(now_ns + PIECE_NS, Plan::Pause),
        }
    }

    fn sample(&mut self, now_ns: u64) {
        for (place, flow) in self.flows.iter().enumerate() {
            for (subflow, sample) in flow.samples(now_ns) {
                if now_ns >= self.scenario.warmup_ns {
                    self.cwnd_samples[place][subflow].push(sample.cwnd);
                }
                if self.with_samples {
                    self.samples[place][subflow].push(sample);
                }
            }
        }
    }

    /// Lets a flow do what it has to, and follows its wishes.
    fn work(&mut self, place: usize) {
        let now_ns = self.simulation.now_ns();
        let now = self.now();
        loop {
            let Self { flows, simulation, .. } = self;
            flows[place].work(now, now_ns, |datagram| simulation.send(datagram));
            let wishes = std::mem::take(&mut self.flows[place].wishes);
            if wishes.is_empty() {
                return;
            }
            for wish in wishes {
                let number = self.flows[place].number;
                match (wish, &self.flows[place].model.traffic) {
                    (Wish::Established, _) => self.plan_subflows(place, now_ns),
                    (Wish::Think, &Traffic::RequestResponse { think, .. }) => {
                        // The first request comes at once.
                        let is_first = self.flows[place].transfers.is_empty();
                        let think = if is_first { Spread::Fixed(0) } else { think };
                        let wait = self.simulation.draw_time(number, think);
                        self.plan(now_ns + wait, Plan::Request(place));
                    }
                    (Wish::Finished, Traffic::Object { .. }) => self.flows[place].close(now, now_ns),
                    _ => {}
                }
            }
        }
    }

    /// The connection is established: plans when other paths are opened, and which are closed.
    fn plan_subflows(&mut self, place: usize, now_ns: u64) {
        let model = self.flows[place].model;
        for (index, subflow) in model.subflows.iter().enumerate() {
            if subflow.up.is_empty() && index > 0 {
                // The handshake has taken a round trip, which is when others join with TCP, too.
                let wait = subflow.join_delay_ns.unwrap_or(0);
                self.plan(now_ns + wait, Plan::Join(place, index));
            }
            for &(from, to) in subflow.up.iter().filter(|&&(_, to)| to > now_ns) {
                if index > 0 || from > now_ns {
                    self.plan(from.max(now_ns), Plan::Join(place, index));
                }
                self.plan(to, Plan::Leave(place, index));
            }
        }
    }

    /// What was measured, and what makes it doubtful.
    pub(crate) fn finish(self) -> (Measurements, Vec<String>) {
        let Self { scenario, simulation, flows, end_ns, mut marks, cwnd_samples, samples, .. } = self;
        let mut measured = simulation.finish();
        marks.insert(end_ns, flows.iter().map(|flow| flow.totals(end_ns)).collect());
        let between =
            |from: u64, to: u64, place: usize| difference(marks[&to][place].clone(), &marks[&from][place]);
        let mut doubts = Vec::new();
        for (place, flow) in flows.into_iter().enumerate() {
            let mut counts = between(scenario.warmup_ns, end_ns, place);
            counts.transfers = flow.transfers;
            for (index, subflow) in counts.subflows.iter_mut().enumerate() {
                subflow.cwnd_samples.clone_from(&cwnd_samples[place][index]);
                subflow.samples.clone_from(&samples[place][index]);
                subflow.verdicts.clone_from(&flow.verdicts[index]);
            }
            measured.connections[flow.number] = counts;
            for (period, &(from, to)) in measured.periods.iter_mut().zip(&scenario.periods) {
                period.connections[flow.number] = between(from, to, place);
            }
            measured.packets_delivered += flow.packets_delivered;
            if let Some(why) = flow.lost {
                doubts.push(format!("connection {} was lost: {why}", flow.model.name));
            }
        }
        (measured, doubts)
    }
}
