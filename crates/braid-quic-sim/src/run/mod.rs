//! A run: the simulator's links and TCP flows, and QUIC connections on top.

mod measured;
mod state;
#[cfg(test)]
mod tests;
mod traffic;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;
use std::time::Instant;

use braid_quic::Spec;
use braid_results::measure::SAMPLE_INTERVAL_NS;
use braid_scenario::model::{Connection, Kind, Scenario};
use braid_sim::{Datagram, Options, Simulation};
use braid_study::Stop;

pub(crate) use self::state::Run;
use self::state::{Plan, Samples};
use crate::application::Driven;
use crate::flow::{Flow, News};

/// Interval after which the caller may stop a run.
const PIECE_NS: u64 = 100_000_000;
/// Delay before a failed path opening is repeated.
const RETRY_NS: u64 = 10_000_000;

impl<'a> Run<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        spec: &'a Spec,
        seed: u64,
        with_samples: bool,
        qlog: Option<&'a Path>,
    ) -> Result<Self, Stop> {
        let failed = |why: String| Stop::Failed(why);
        let options = Options { samples: with_samples, ..Options::default() };
        let simulation = Simulation::for_datagrams(scenario, spec, seed, options);
        let simulation = simulation.map_err(|error| failed(error.to_string()))?;
        let end_ns = simulation.end_ns();
        let mut run = Self {
            scenario,
            spec,
            seed,
            qlog,
            simulation,
            applications: Vec::new(),
            samples: Vec::new(),
            application_of: vec![None; scenario.connections.len()],
            flows: Vec::new(),
            owner: Vec::new(),
            due: Vec::new(),
            last_id: 0,
            plans: BinaryHeap::new(),
            // All times of a run are relative to it.
            start: Instant::now(),
            end_ns,
            with_samples,
            marks: BTreeMap::new(),
            doubts: Vec::new(),
        };
        for (number, model) in scenario.connections.iter().enumerate() {
            if model.kind == Kind::Mptcp {
                run.add(number, model).map_err(Stop::Failed)?;
            }
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

    /// Adds a connection of the scenario with its planned events.
    fn add(&mut self, number: usize, model: &'a Connection) -> Result<(), String> {
        let index = self.applications.len();
        let own = Driven::new(number, model, self.flows.len(), self.seed);
        self.application_of[number] = Some(index);
        for _ in own.places.clone() {
            self.owner.push(index);
            self.due.push(None);
            let is_short = own.application.is_short_flows();
            let flow = if is_short { None } else { Some(self.new_flow(number)?) };
            self.flows.push(flow);
        }
        self.applications.push(own);
        let n = model.subflows.len();
        self.samples.push(Samples { cwnd: vec![Vec::new(); n], all: vec![Vec::new(); n] });
        self.plan(braid_sim::start_ns(model, self.seed), Plan::Open(index));
        if let Some(stop_ns) = model.stop_ns {
            self.plan(stop_ns, Plan::Close(index));
        }
        for (subflow, of) in model.subflows.iter().enumerate() {
            for reroute in &of.reroutes {
                self.plan(reroute.at_ns, Plan::Rebind(index, subflow));
            }
        }
        Ok(())
    }

    /// Advances by one interval; `None` at the end.
    pub(crate) fn advance(&mut self) -> Option<u64> {
        loop {
            let plan = self.plans.peek().map(|Reverse((time, _))| *time);
            let next = self.due.iter().copied().flatten().chain(plan).min().unwrap_or(self.end_ns);
            if let Some(datagram) = self.simulation.advance_to_datagram(next) {
                self.receive(&datagram);
                continue;
            }
            let now_ns = self.simulation.now_ns();
            if now_ns >= self.end_ns {
                return None;
            }
            for place in 0..self.flows.len() {
                if self.due[place].is_some_and(|due| due <= now_ns) {
                    let now = self.now();
                    self.flows[place].iter_mut().for_each(|flow| flow.handle_timeouts(now));
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

    fn receive(&mut self, datagram: &Datagram) {
        let Some(index) = self.application_of[datagram.place.connection] else { return };
        let is_its = |flow: &&mut Flow| flow.id == datagram.flow;
        // Finished short flows need no timers.
        for place in self.applications[index].places.clone() {
            let now = self.now();
            if let Some(flow) = self.flows[place].as_mut().filter(is_its) {
                flow.receive(now, datagram);
                return self.work(place);
            }
        }
    }

    fn follow(&mut self, now_ns: u64, plan: Plan) {
        match plan {
            Plan::Open(index) => {
                self.applications[index].application.start(now_ns);
                self.drive(now_ns, index);
            }
            Plan::Close(index) => self.close(now_ns, index),
            Plan::Join(place, id, subflow) => {
                let now = self.now();
                let Some(flow) = self.flow(place, id) else { return };
                if !flow.join(now, subflow) {
                    self.plan(now_ns + RETRY_NS, Plan::Join(place, id, subflow));
                }
                self.work(place);
            }
            Plan::Leave(place, id, subflow) => {
                let now = self.now();
                let Some(flow) = self.flow(place, id) else { return };
                flow.leave(now, now_ns, subflow);
                self.work(place);
            }
            Plan::Rebind(index, subflow) => {
                let places = self.applications[index].places.clone();
                self.flows[places].iter_mut().flatten().for_each(|flow| flow.rebind(subflow));
            }
            Plan::Established(index) => {
                self.applications[index].application.established(now_ns);
                self.drive(now_ns, index);
            }
            Plan::Due(timer, index) => {
                self.applications[index].application.due(now_ns, timer);
                self.drive(now_ns, index);
            }
            Plan::Mark => {
                let totals = self.totals(now_ns);
                self.marks.insert(now_ns, totals);
            }
            Plan::Sample => {
                self.sample(now_ns);
                self.plan(now_ns + SAMPLE_INTERVAL_NS, Plan::Sample);
            }
            Plan::Pause => self.plan(now_ns + PIECE_NS, Plan::Pause),
        }
    }

    /// Handles a flow's pending events, and its application's reactions.
    pub(super) fn work(&mut self, place: usize) {
        let (index, now_ns, now) = (self.owner[place], self.simulation.now_ns(), self.now());
        loop {
            let Self { flows, simulation, applications, .. } = self;
            let (Some(flow), own) = (&mut flows[place], &mut applications[index]) else { return };
            let most = own.most_unread(flow);
            flow.work(now, now_ns, most, |datagram| simulation.send(datagram));
            own.application.delivered(now_ns, flow.streams.read);
            let (news, id) = (std::mem::take(&mut flow.news), flow.id);
            if news.is_empty() {
                let since = |time: Instant| u64::try_from((time - self.start).as_nanos()).unwrap_or(u64::MAX);
                self.due[place] = flow.next_timeout().map(since);
                return;
            }
            for news in news {
                match news {
                    News::Connected => self.connected(now_ns, place, id),
                    News::MayWrite => self.may_write(now_ns, place),
                    News::Finished => self.finished(now_ns, place),
                }
            }
        }
    }
}
