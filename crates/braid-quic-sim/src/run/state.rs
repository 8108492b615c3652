//! The state of a run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;
use std::time::{Duration, Instant};

use braid_quic::Spec;
use braid_results::measure::{ConnectionCounts, SubflowSample};
use braid_scenario::model::{Scenario, Traffic};
use braid_sim::{Simulation, application::Timer};

use crate::application::Driven;
use crate::flow::{Flow, Setup};
use crate::qlog::ToFile;

/// A planned event: by the application's number, or by the flow's slot and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plan {
    Mark,
    Open(usize),
    Close(usize),
    Join(usize, u32, usize),
    Leave(usize, u32, usize),
    Rebind(usize, usize),
    /// The application may write, or request.
    Established(usize),
    Due(Timer, usize),
    Sample,
    /// Ends an interval.
    Pause,
}

/// Samples of an application, by subflow.
pub(super) struct Samples {
    pub(super) cwnd: Vec<Vec<u32>>,
    pub(super) all: Vec<Vec<SubflowSample>>,
}

pub(crate) struct Run<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) spec: &'a Spec,
    pub(super) seed: u64,
    pub(super) qlog: Option<&'a Path>,
    pub(super) simulation: Simulation<'a>,
    pub(super) applications: Vec<Driven<'a>>,
    pub(super) samples: Vec<Samples>,
    /// By number of the connection.
    pub(super) application_of: Vec<Option<usize>>,
    /// By slot: the application's present flow.
    pub(super) flows: Vec<Option<Flow<'a>>>,
    /// By slot: its application, and the next timer of its flow.
    pub(super) owner: Vec<usize>,
    pub(super) due: Vec<Option<u64>>,
    pub(super) last_id: u32,
    pub(super) plans: BinaryHeap<Reverse<(u64, Plan)>>,
    /// Time 0 of the run on the stack's clock.
    pub(super) start: Instant,
    pub(super) end_ns: u64,
    pub(super) with_samples: bool,
    pub(super) marks: BTreeMap<u64, Vec<ConnectionCounts>>,
    pub(super) doubts: Vec<String>,
}

impl<'a> Run<'a> {
    pub(super) fn new_flow(&mut self, number: usize) -> Result<Flow<'a>, String> {
        let scenario = self.scenario;
        let model = &scenario.connections[number];
        let id = self.last_id;
        self.last_id += 1;
        let qlog = self.qlog.map(|folder| {
            let connection = &model.name;
            let is_short = matches!(model.traffic, Traffic::Poisson { .. });
            let flow = if is_short { format!(" {id}") } else { String::new() };
            let title =
                format!("{} {} seed {} {connection}{flow}", scenario.name, self.spec.text(), self.seed);
            let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
            let name: String = title.chars().map(plain).collect();
            ToFile { path: folder.join(name + ".sqlog"), title, start: self.start }
        });
        if let (Some(folder), Some(ToFile { path, .. })) = (self.qlog, &qlog) {
            let test = std::fs::create_dir_all(folder).and_then(|()| std::fs::File::create(path));
            test.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        }
        let (spec, seed) = (model.cc.as_ref().unwrap_or(self.spec), self.seed);
        Ok(Flow::new(Setup { number, id, model, spec, seed, qlog }))
    }

    pub(super) fn plan(&mut self, time: u64, plan: Plan) {
        if time < self.end_ns {
            self.plans.push(Reverse((time, plan)));
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.start + Duration::from_nanos(self.simulation.now_ns())
    }

    pub(super) fn flow(&mut self, place: usize, id: u32) -> Option<&mut Flow<'a>> {
        self.flows[place].as_mut().filter(|flow| flow.id == id)
    }
}
