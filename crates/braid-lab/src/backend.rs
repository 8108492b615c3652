//! Kernels as backends of studies.

use std::cell::RefCell;
use std::env;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use braid_scenario::File;
use braid_scenario::model::Scenario;
use braid_study::{Backend, Cancel, Case, Error, Group, Kind, Outcome, Request, Stop};

use crate::driver::{
    At, Host, KERNELS_OWN, Lab, Runs, Start, check, default_kernel, doubts, is_kernels_own, measure,
    need_module, programs_identity, scheduler_module, translate,
};
use crate::job::Packet;

/// A kernel that runs scenarios: a guest's or this machine's.
pub struct Kernel {
    place: Place,
    program: Option<PathBuf>,
    /// The packet schedulers that were asked for.
    schedulers: Mutex<Vec<String>>,
    machine: OnceLock<Machine>,
    /// Sources, kernel and virtual machine.
    identity: OnceLock<String>,
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
    /// In a guest: the kernel of that name or file; `None`: the default.
    pub fn in_guest(kernel: Option<&str>, start: Start) -> Self {
        let kernel = kernel.unwrap_or(default_kernel()).to_owned();
        Self::at(Place::Guest { kernel, start })
    }

    /// That of this machine.
    pub fn here() -> Self {
        Self::at(Place::Here)
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            program: None,
            schedulers: Mutex::default(),
            machine: OnceLock::new(),
            identity: OnceLock::new(),
        }
    }

    /// The program whose subcommand `agent` is [`agent()`](crate::agent()); this very program, unless it is said otherwise.
    #[must_use]
    pub fn program(self, program: impl Into<PathBuf>) -> Self {
        Self { program: Some(program.into()), ..self }
    }

    fn find_identity(&self) -> Result<&str, Error> {
        if self.identity.get().is_none() {
            let identity = match &self.place {
                Place::Guest { kernel, .. } => Lab::identity(kernel),
                Place::Here => Host::identity(),
            };
            let _ = self.identity.set(identity.map_err(fatal)?);
        }
        Ok(self.identity.get().expect("it was set"))
    }

    /// Does a run, and hands its packets over if they are wanted.
    ///
    /// # Errors
    /// As [`Backend::run`].
    ///
    /// # Panics
    /// If the backend is not prepared.
    pub fn run_captured(&self, request: &Request, capture: Option<Capture<'_>>) -> Result<Outcome, Stop> {
        let Case { scenario, spec, scheduler, seed, .. } = request.case;
        let stop = request.cancel.flag();
        let snap_length = capture.as_ref().map(|capture| capture.snap_length);
        let mut nobody = |_: Packet<'_>| ();
        let packets = capture.map_or(&mut nobody as &mut dyn FnMut(Packet<'_>), |capture| capture.each);
        let translated = |runs: &Runs| -> Result<_, Stop> {
            let mut translated = translate(scenario, spec, scheduler, seed, runs)?;
            translated.job.snap_length = snap_length;
            Ok(translated)
        };
        let (translated, report, environment) = match self.machine.get().expect("it was prepared") {
            Machine::Guest(lab) => {
                let image = lab.image_of(scenario, scheduler);
                let translated = translated(&image.runs)?;
                let report = lab.run(image, &translated.job, packets, stop)?;
                (translated, report, lab.environment(scenario, scheduler))
            }
            Machine::Here(host) => {
                let (_folder, runs) = host.placed(scenario)?.unzip();
                let translated = translated(&runs.unwrap_or_default())?;
                let report = host.run(&translated.job, packets, stop)?;
                (translated, report, host.environment())
            }
        };
        Ok(Outcome {
            measurements: measure(scenario, &translated, &report, request.samples).map_err(Stop::Failed)?,
            environment: Some(environment),
            doubts: doubts(scenario, &translated, &report),
        })
    }
}

/// Receiver of captured packets.
pub struct Capture<'a> {
    /// Maximum of stored bytes per packet.
    pub snap_length: u32,
    /// Called for each packet when the run is done, per connection in order of time.
    pub each: &'a mut dyn FnMut(Packet<'_>),
}

impl Backend for Kernel {
    fn base(&self) -> &dyn Backend {
        &braid_study::Sim
    }

    fn name(&self) -> &'static str {
        match self.place {
            Place::Guest { .. } => "lab",
            Place::Here => "host",
        }
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        // Whether there is one of that name at all.
        let name = braid_study::Sim.scheduler(Some(name.unwrap_or(KERNELS_OWN)))?;
        if matches!(self.place, Place::Here) && !is_kernels_own(&name) {
            let message = format!("--backend host cannot have the scheduler {name}");
            let hint =
                "leave out --scheduler: there the kernel's own schedules, linux; --backend lab has all";
            return Err(Error::new(Kind::Input, message).hint(hint));
        }
        self.schedulers.lock().expect("nobody panics with it").push(name.clone());
        Ok(name)
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        let has_other = cell
            .connections
            .iter()
            .find(|connection| connection.scheduler.as_ref().is_some_and(|own| !is_kernels_own(own.text())));
        if let (Place::Here, Some(connection)) = (&self.place, has_other) {
            let key = format!("connection.{}.scheduler", connection.name);
            let message = "--backend host has the kernel's own scheduler only, linux".to_owned();
            let hint = "use --backend lab, the simulator, or set it to \"linux\" with --set";
            return Err(file.error(&key, message, Some(hint.to_owned())).into());
        }
        check(cell).map_err(|unsupported| {
            let hint = "use --backend sim, the simulator, or change the scenario with --set";
            let hint = unsupported.remedy.unwrap_or_else(|| hint.to_owned());
            file.error(&unsupported.key, unsupported.reason, Some(hint)).into()
        })
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        let mut identity = self.find_identity()?.to_owned();
        let at = if matches!(self.place, Place::Here) { At::Here } else { At::Guest };
        if let Some(programs) = programs_identity(group.scenario, at).map_err(fatal)? {
            let _ = write!(identity, " programs {programs}");
        }
        for algorithm in group.algorithms() {
            let _ = write!(identity, " {} {:x}", algorithm.name(), algorithm.source_hash());
        }
        if need_module(group.scenario, group.scheduler) {
            let _ = write!(identity, " schedulers {}", scheduler_module());
        }
        Ok(identity)
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
        let program =
            self.program.clone().map_or_else(env::current_exe, Ok).map_err(|error| {
                Error::new(Kind::Failed, format!("cannot find this program itself: {error}"))
            })?;
        let scenarios = scenarios.iter().copied();
        let say = RefCell::new(say);
        let machine = match &self.place {
            Place::Here => Host::prepare(&program, scenarios).map(Machine::Here),
            Place::Guest { kernel, start } => {
                let say = |what: &str| (say.borrow_mut())(what);
                let schedulers = self.schedulers.lock().expect("nobody panics with it").clone();
                Lab::prepare(kernel, &program, *start, scenarios, &schedulers, cancel.flag(), &say)
                    .map(|lab| Machine::Guest(Box::new(lab)))
            }
        };
        let _ = self.machine.set(machine.map_err(fatal)?);
        Ok(())
    }

    /// In real time one run would disturb another.
    fn jobs(&self) -> Option<usize> {
        matches!(self.place, Place::Here).then_some(1)
    }

    fn computes(&self) -> bool {
        false
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.run_captured(&request, None)
    }
}

/// Of what comes before all runs.
fn fatal(stop: Stop) -> Error {
    match stop {
        Stop::All(error) => error,
        Stop::Failed(reason) => Error::new(Kind::Failed, reason),
        Stop::Cancelled => Error::new(Kind::Cancelled, "interrupted"),
    }
}
