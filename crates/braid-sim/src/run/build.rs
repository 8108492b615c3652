//! Builds a run before its first event.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use braid_algorithms::{Algorithm, Spec};
use braid_scenario::model::{self, Scenario};

use super::calendar::Plan;
use super::look_ahead;
use super::retired::Retired;
use super::state::{NOBODY, Path, Run};
use crate::LONGEST_NS;
use crate::application::Application;
use crate::connection::Connection;
use crate::datagram::Datagrams;
use crate::draws::start_ns;
use crate::driven::Driven;
use crate::event_queue::{Element, EventQueue, FIRST_LINK, MAX_ELEMENTS};
use crate::link::Link;
use crate::network::Network;
use crate::options::{Error, Options, usual_scheduler};
use crate::packet::Sacks;

impl<'a> Run<'a> {
    pub(crate) fn new(scenario: &'a Scenario, cc: &Spec, seed: u64, options: Options) -> Result<Self, Error> {
        Self::build(scenario, cc, seed, options, false)
    }

    /// If datagrams are external, MPTCP connections stay silent.
    pub(crate) fn build(
        scenario: &'a Scenario,
        cc: &Spec,
        seed: u64,
        options: Options,
        carries_datagrams: bool,
    ) -> Result<Self, Error> {
        Self::with(scenario, cc, seed, options, carries_datagrams, look_ahead::links(scenario))
    }

    /// As [`Run::build`], with the given look-ahead links.
    pub(in crate::run) fn with(
        scenario: &'a Scenario,
        cc: &Spec,
        seed: u64,
        options: Options,
        carries_datagrams: bool,
        looks_ahead: Vec<bool>,
    ) -> Result<Self, Error> {
        let end = scenario.duration_ns - scenario.cooldown_ns;
        if scenario.duration_ns > LONGEST_NS {
            return Err(Error(format!(
                "a run of {} s is too long for the simulator; the longest is {} s",
                scenario.duration_ns / 1_000_000_000,
                LONGEST_NS / 1_000_000_000
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
                let name = format!("link {} {name}", link.name);
                links.push(Link::new(direction, seed, &name, looks_ahead[links.len()]));
            }
        }
        let n_scenario_subflows: usize =
            scenario.connections.iter().map(|connection| connection.subflows.len()).sum();
        let of_connection =
            |model: &model::Connection| Application::connections(&model.traffic) * model.subflows.len();
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
            network: Network {
                now: 0,
                events: EventQueue::new(links.len()),
                links,
                looks_ahead,
                hops: Vec::new(),
                sacks: Sacks::default(),
                datagrams: Datagrams::default(),
            },
            calendar: BinaryHeap::new(),
            applications: Vec::new(),
            specs: Vec::new(),
            schedulers: Vec::new(),
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
            retired: vec![Retired::default(); n_scenario_subflows],
            cwnd_samples: vec![Vec::new(); n_scenario_subflows],
            subflow_samples: vec![Vec::new(); n_scenario_subflows],
            link_samples: vec![Vec::new(); scenario.links.len()],
            link_looks: BTreeMap::new(),
            events: 0,
            carries_datagrams,
            arrived: VecDeque::new(),
        };
        let scheduler = options.scheduler.unwrap_or_else(usual_scheduler);
        for number in 0..scenario.connections.len() {
            run.add_connection(number, cc, &scheduler, seed);
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
        if run.specs.iter().any(|spec| spec.algorithm().flags() & Algorithm::DETECTS != 0) {
            run.link_looks = scenario.bottlenecks_of_several().map(|link| (link, Vec::new())).collect();
        }
        if !run.link_looks.is_empty() {
            run.plan(0, Plan::Look);
        }
        Ok(run)
    }

    fn add_connection(&mut self, number: usize, cc: &Spec, scheduler: &braid_schedulers::Spec, seed: u64) {
        let model = &self.scenario.connections[number];
        self.specs.push(model.cc.as_ref().unwrap_or(cc).clone());
        self.schedulers.push(model.scheduler.as_ref().unwrap_or(scheduler).clone());
        let scenario_subflow =
            self.applications.iter().map(|other| self.connections[other.first].n).sum::<usize>();
        let n = Application::connections(&model.traffic);
        self.applications.push(Driven::new(model, self.connections.len(), seed));
        let mut hops = Vec::with_capacity(model.subflows.len());
        for subflow in &model.subflows {
            let forward_hop = self.network.add_forward_route(&subflow.route);
            let reverse_hop = self.network.add_reverse_route(&subflow.route);
            hops.push((forward_hop, reverse_hop, self.scenario.bottleneck_queue(&subflow.route)));
        }
        for (index, subflow) in model.subflows.iter().enumerate() {
            for (nth, reroute) in subflow.reroutes.iter().enumerate() {
                self.plan(reroute.at_ns, Plan::Reroute(number, index, nth));
            }
        }
        for connection in self.connections.len()..self.connections.len() + n {
            self.connections.push(Connection::new(
                number,
                model,
                self.senders.len(),
                &self.schedulers[number],
            ));
            for (index, &(forward_hop, reverse_hop, queue)) in hops.iter().enumerate() {
                self.paths.push(Path {
                    live: NOBODY,
                    id: self.senders.len() as u32,
                    connection,
                    index,
                    scenario_subflow: scenario_subflow + index,
                    forward_hop,
                    reverse_hop,
                    queue,
                    established: None,
                    closed: None,
                });
                let subflow = self.senders.len();
                self.senders.push(self.sender(subflow));
                self.receivers.push(self.receiver(subflow));
            }
        }
        if self.is_external(number) {
            return;
        }
        self.plan(start_ns(model, seed), Plan::Open(number));
        if let Some(stop) = model.stop_ns {
            self.plan(stop, Plan::Close(number));
        }
    }
}
