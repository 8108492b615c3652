//! `--backend lab` and `--backend host`.

use std::env;
use std::sync::atomic::AtomicBool;

use braid_lab::{Capture, Error, Host, Kind, Lab, Start};
use braid_scenario::File;
use braid_scenario::model::Scenario;

use crate::Failure;
use crate::args::{Backend, RunArgs};
use crate::capture::Captures;
use crate::failure::{BAD_INPUT, FAILED, INTERRUPTED};
use crate::plan::Plan;
use crate::unfinished::Finished;

/// A kernel that runs scenarios.
pub(crate) enum Machine {
    Guest(Box<Lab>),
    Here(Host),
}

impl Machine {
    /// What results depend on besides scenario, seed and this program.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Guest(lab) => lab.machine(),
            Self::Here(host) => host.environment(),
        }
    }

    /// What tells the programs of a scenario, and all they need, from others of the same names.
    pub(crate) fn programs(&self, scenario: &Scenario) -> Option<String> {
        match self {
            Self::Guest(lab) => lab.programs(scenario),
            Self::Here(host) => host.programs(scenario),
        }
    }
}

/// Refuses what cannot be done on a kernel, where it stands in the file.
pub(crate) fn check(file: &File) -> Result<(), Failure> {
    for cell in &file.cells {
        braid_lab::check(cell).map_err(|unsupported| {
            let hint = "use --backend sim, the simulator, or change the scenario with --set";
            let hint = unsupported.remedy.unwrap_or_else(|| hint.to_owned());
            file.error(&unsupported.key, unsupported.reason, Some(hint))
        })?;
    }
    Ok(())
}

/// Gets ready what runs for this backend, unless it is the simulator.
pub(crate) fn prepare(args: &RunArgs, plan: &Plan, stop: &AtomicBool) -> Result<Option<Machine>, Failure> {
    if args.backend == Backend::Sim {
        return Ok(None);
    }
    let program = env::current_exe()
        .map_err(|error| Failure::new(FAILED, format!("cannot find this program itself: {error}")))?;
    if args.backend == Backend::Host {
        let host = Host::prepare(&program, plan.group_scenarios()).map_err(|error| failure(&error))?;
        return Ok(Some(Machine::Here(host)));
    }
    let kernel = args.kernel.as_deref().unwrap_or(braid_lab::default_kernel());
    let start = if args.boot { Start::Booted } else { Start::Restored };
    let say = |what: &str| {
        if !args.quiet {
            eprintln!("lab: {what}");
        }
    };
    let lab = Lab::prepare(kernel, &program, start, plan.group_scenarios(), stop, &say)
        .map_err(|error| failure(&error))?;
    Ok(Some(Machine::Guest(Box::new(lab))))
}

/// Does a run. What goes wrong in it is in its status; what concerns every other run as well is a failure.
pub(crate) fn execute(
    machine: &Machine,
    plan: &Plan,
    index: usize,
    samples: bool,
    captures: Option<&Captures>,
    stop: &AtomicBool,
) -> Result<Finished, Failure> {
    match captures {
        Some(captures) => captures
            .record(plan, index, |capture| execute_one(machine, plan, index, samples, Some(capture), stop)),
        None => execute_one(machine, plan, index, samples, None, stop),
    }
}

fn execute_one(
    machine: &Machine,
    plan: &Plan,
    index: usize,
    samples: bool,
    capture: Option<Capture<'_>>,
    stop: &AtomicBool,
) -> Result<Finished, Failure> {
    let (setup, spec) = plan.get(index);
    let (scenario, seed) = (setup.scenario, setup.seed);
    let (outcome, environment) = match machine {
        Machine::Guest(lab) => {
            (lab.run(scenario, spec, seed, samples, capture, stop), lab.environment(scenario))
        }
        Machine::Here(host) => (host.run(scenario, spec, seed, samples, capture, stop), host.environment()),
    };
    match outcome {
        Ok(outcome) => {
            let mut run = setup.measured(&outcome.measurements);
            run.environment = Some(environment);
            run.doubts = outcome.doubts;
            Ok((run, samples.then_some(outcome.measurements)))
        }
        Err(error) if error.kind == Kind::Guest => Ok((setup.failed(error.to_string()), None)),
        Err(error) => Err(failure(&error)),
    }
}

pub(crate) fn failure(error: &Error) -> Failure {
    match (error.kind, &error.hint) {
        (Kind::Interrupted, _) => Failure::new(INTERRUPTED, error.message.clone()),
        (Kind::Input, Some(hint)) => Failure::bad_input(error.message.clone(), hint.clone()),
        (Kind::Input, None) => Failure::new(BAD_INPUT, error.message.clone()),
        (Kind::Machine | Kind::Guest, _) => Failure::new(FAILED, error.to_string()),
    }
}
