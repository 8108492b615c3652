//! The simulator as a backend.

use braid_scenario::File;
use braid_scenario::model::{Connection, Scenario, Traffic};
use braid_schedulers::Spec as Scheduler;
use braid_sim::observe::Observer;
use braid_sim::{LONGEST_NS, Options, Simulation, USUAL_SCHEDULER};

use crate::{Backend, Cancel, Case, Error, Group, Kind, Outcome, Request, Stop};

/// The packet-level simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

impl Sim {
    /// Refuses a scenario that is longer than the simulator's time.
    ///
    /// # Errors
    /// If it is, where it says so.
    pub fn check_duration(self, file: &File, cell: &Scenario) -> Result<(), Error> {
        if cell.duration_ns <= LONGEST_NS {
            return Ok(());
        }
        let longest = LONGEST_NS / 1_000_000_000;
        let message = format!("too long for the simulator, whose longest run is {longest} s");
        let hint = format!("make it shorter: --set duration={longest}s");
        Err(file.error("duration", message, Some(hint)).into())
    }

    /// As [`Backend::run`], telling `observer` what happens.
    ///
    /// # Errors
    /// If the run fails, or there is no such scheduler.
    pub fn run_observed(self, request: &Request, observer: &mut dyn Observer) -> Result<Outcome, Stop> {
        let Case { scenario, spec, seed, .. } = request.case;
        let done = braid_sim::run_observed(scenario, spec, seed, options(request)?, observer);
        let measurements = done.map_err(|error| Stop::Failed(error.to_string()))?;
        Ok(Outcome { measurements, ..Outcome::default() })
    }
}

impl Backend for Sim {
    fn base(&self) -> &dyn Backend {
        unreachable!("the simulator wraps nothing")
    }

    fn name(&self) -> &'static str {
        "sim"
    }

    fn scheduler(&self, text: Option<&str>) -> Result<String, Error> {
        Ok(parse(text.unwrap_or(USUAL_SCHEDULER))?.text().to_owned())
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        self.check_duration(file, cell)?;
        let is_program = |connection: &&Connection| matches!(connection.traffic, Traffic::Program(_));
        let Some(connection) = cell.connections.iter().find(is_program) else { return Ok(()) };
        let hint = "use braid run --backend lab, or give the connection another kind of traffic".to_owned();
        let key = format!("connection.{}.traffic", connection.name);
        Err(file.error(&key, "the simulator cannot run programs", Some(hint)).into())
    }

    fn adapted(&self, _: &Scenario) -> Option<Scenario> {
        None
    }

    fn prepare(&self, _: &[&Scenario], _: &Cancel, _: &mut dyn FnMut(&str)) -> Result<(), Error> {
        Ok(())
    }

    fn jobs(&self) -> Option<usize> {
        None
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        let algorithms = group.algorithms().into_iter();
        let mut sources: Vec<(&str, u64)> =
            algorithms.map(|algorithm| (algorithm.name(), algorithm.source_hash())).collect();
        let named = group.scenario.connections.iter().filter_map(|connection| connection.scheduler.clone());
        for scheduler in named.chain(Scheduler::parse(group.scheduler)) {
            sources.push((scheduler.definition().name(), scheduler.definition().source_hash()));
        }
        sources.sort_unstable();
        sources.dedup();
        Ok(format!("{} {sources:?}", braid_sim::SOURCE_HASH))
    }

    fn computes(&self) -> bool {
        true
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        let Case { scenario, spec, seed, .. } = request.case;
        let simulation = Simulation::new(scenario, spec, seed, options(&request)?);
        let simulation = simulation.map_err(|error| Stop::Failed(error.to_string()))?;
        let progress = |time_ns| request.progress(time_ns);
        let measurements =
            simulation.finish_unless(request.cancel.flag(), progress).ok_or(Stop::Cancelled)?;
        Ok(Outcome { measurements, ..Outcome::default() })
    }
}

fn options(request: &Request) -> Result<Options, Stop> {
    let scheduler = parse(request.case.scheduler).map_err(Stop::All)?;
    Ok(Options { samples: request.samples, scheduler: Some(scheduler) })
}

fn parse(text: &str) -> Result<Scheduler, Error> {
    Scheduler::parse(text).map_err(|error| Error::new(Kind::Input, error.0))
}
