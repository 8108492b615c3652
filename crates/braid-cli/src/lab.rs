//! `--backend lab` and `--backend host`.

use std::cell::RefCell;
use std::env;
use std::sync::{Arc, OnceLock};

use braid_lab::{Capture, Host, Lab, Start};
use braid_scenario::File;
use braid_scenario::model::Scenario;
use braid_study::{Backend, Cancel, Error, Group, Kind, Outcome, Request, Stop};

use crate::Failure;
use crate::capture::Captures;
use crate::failure::{BAD_INPUT, FAILED, INTERRUPTED};

/// The only scheduler that an unmodified kernel has.
pub(crate) const SCHEDULER: &str = "linux";

/// A kernel that runs scenarios.
pub(crate) struct Kernel {
    place: Place,
    captures: Option<Arc<Captures>>,
    machine: OnceLock<Machine>,
}

enum Place {
    Guest { kernel: String, start: Start },
    Here,
}

enum Machine {
    Guest(Box<Lab>),
    Here(Host),
}

impl Kernel {
    /// In a guest: the kernel of that name or file, or the usual one; `boot`: booted for every run.
    pub(crate) fn in_guest(kernel: Option<&str>, boot: bool, captures: Option<Arc<Captures>>) -> Self {
        let kernel = kernel.unwrap_or(braid_lab::default_kernel()).to_owned();
        let start = if boot { Start::Booted } else { Start::Restored };
        Self { place: Place::Guest { kernel, start }, captures, machine: OnceLock::new() }
    }

    /// That of this machine.
    pub(crate) fn here(captures: Option<Arc<Captures>>) -> Self {
        Self { place: Place::Here, captures, machine: OnceLock::new() }
    }

    fn run(&self, request: &Request, capture: Option<Capture<'_>>) -> Result<Outcome, Stop> {
        let (case, samples) = (request.case, request.samples);
        let (scenario, spec, seed, stop) = (case.scenario, case.spec, case.seed, request.cancel.flag());
        let (outcome, environment) = match self.machine.get().expect("it was prepared") {
            Machine::Guest(lab) => {
                (lab.run(scenario, spec, seed, samples, capture, stop), lab.environment(scenario))
            }
            Machine::Here(host) => {
                (host.run(scenario, spec, seed, samples, capture, stop), host.environment())
            }
        };
        match outcome {
            Ok(outcome) => Ok(Outcome {
                measurements: outcome.measurements,
                environment: Some(environment),
                doubts: outcome.doubts,
            }),
            Err(error) => match error.kind {
                braid_lab::Kind::Guest => Err(Stop::Failed(error.to_string())),
                braid_lab::Kind::Interrupted => Err(Stop::Cancelled),
                _ => Err(Stop::All(failure(&error).into())),
            },
        }
    }
}

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        match self.place {
            Place::Guest { .. } => "lab",
            Place::Here => "host",
        }
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        // Whether there is one of that name at all.
        let name = name.map(|name| braid_study::Sim.scheduler(Some(name))).transpose()?;
        match name {
            Some(name) if name != SCHEDULER => {
                let message = format!("--backend {} cannot have the scheduler {name}", self.name());
                let hint = "leave out --scheduler: there the kernel's own schedules, linux";
                Err(Error::new(Kind::Input, message).hint(hint))
            }
            _ => Ok(SCHEDULER.to_owned()),
        }
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        let other = |name: &str| name.split(':').next() != Some(SCHEDULER);
        let has_other =
            cell.connections.iter().find(|connection| connection.scheduler.as_deref().is_some_and(other));
        if let Some(connection) = has_other {
            let key = format!("connection.{}.scheduler", connection.name);
            let message = format!("--backend {} has the kernel's own scheduler only, linux", self.name());
            let hint = "use --backend sim, the simulator, or set it to \"linux\" with --set";
            return Err(file.error(&key, message, Some(hint.to_owned())).into());
        }
        braid_lab::check(cell).map_err(|unsupported| {
            let hint = "use --backend sim, the simulator, or change the scenario with --set";
            let hint = unsupported.remedy.unwrap_or_else(|| hint.to_owned());
            file.error(&unsupported.key, unsupported.reason, Some(hint)).into()
        })
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        Ok(match self.machine.get().expect("it was prepared") {
            Machine::Guest(lab) => lab.environment(group.scenario),
            Machine::Here(host) => format!("{} {:?}", host.environment(), host.programs(group.scenario)),
        })
    }

    fn machine(&self) -> Option<String> {
        let name = match self.machine.get()? {
            Machine::Guest(lab) => lab.machine(),
            Machine::Here(host) => host.environment(),
        };
        // Taking packets takes some of a kernel's time.
        Some(name + if self.captures.is_some() { ", with packets taken (--pcap)" } else { "" })
    }

    fn prepare(
        &self,
        scenarios: &[&Scenario],
        cancel: &Cancel,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        if self.machine.get().is_some() {
            return Ok(());
        }
        let program = env::current_exe()
            .map_err(|error| Error::new(Kind::Failed, format!("cannot find this program itself: {error}")))?;
        let scenarios = scenarios.iter().copied();
        let say = RefCell::new(say);
        let machine = match &self.place {
            Place::Here => Host::prepare(&program, scenarios).map(Machine::Here),
            Place::Guest { kernel, start } => {
                let say = |what: &str| (say.borrow_mut())(what);
                Lab::prepare(kernel, &program, *start, scenarios, cancel.flag(), &say)
                    .map(|lab| Machine::Guest(Box::new(lab)))
            }
        };
        let machine = machine.map_err(|error| failure(&error))?;
        let _ = self.machine.set(machine);
        Ok(())
    }

    /// In real time one run would disturb another.
    fn jobs(&self) -> Option<usize> {
        matches!(self.place, Place::Here).then_some(1)
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        match &self.captures {
            Some(captures) => captures.record(&request, |capture| self.run(&request, Some(capture))),
            None => self.run(&request, None),
        }
    }
}

pub(crate) fn failure(error: &braid_lab::Error) -> Failure {
    use braid_lab::Kind;
    match (error.kind, &error.hint) {
        (Kind::Interrupted, _) => Failure::new(INTERRUPTED, error.message.clone()),
        (Kind::Input, Some(hint)) => Failure::bad_input(error.message.clone(), hint.clone()),
        (Kind::Input, None) => Failure::new(BAD_INPUT, error.message.clone()),
        (Kind::Machine | Kind::Guest, _) => Failure::new(FAILED, error.to_string()),
    }
}
