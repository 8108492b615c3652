//! `--backend lab`.

use std::env;
use std::sync::atomic::AtomicBool;

use braid_lab::{Error, Kind, Lab, Start};
use braid_scenario::File;

use crate::Failure;
use crate::args::RunArgs;
use crate::failure::{BAD_INPUT, FAILED, INTERRUPTED};
use crate::plan::Plan;
use crate::unfinished::Finished;

/// Refuses what the lab cannot do, where it stands in the file.
pub(crate) fn check(file: &File) -> Result<(), Failure> {
    for cell in &file.cells {
        braid_lab::check(cell).map_err(|unsupported| {
            let hint = "use --backend sim, the simulator, or change the scenario with --set";
            file.error(&unsupported.key, unsupported.reason, Some(hint.to_owned()))
        })?;
    }
    Ok(())
}

/// Gets the lab ready.
pub(crate) fn prepare(args: &RunArgs, stop: &AtomicBool) -> Result<Lab, Failure> {
    let program = env::current_exe()
        .map_err(|error| Failure::new(FAILED, format!("cannot find this program itself: {error}")))?;
    let kernel = args.kernel.as_deref().unwrap_or(braid_lab::default_kernel());
    let start = if args.boot { Start::Booted } else { Start::Restored };
    let say = |what: &str| {
        if !args.quiet {
            eprintln!("lab: {what}");
        }
    };
    Lab::prepare(kernel, &program, start, stop, &say).map_err(|error| failure(&error))
}

/// Does a run in a guest. What goes wrong in it is in its status; what concerns every other run as well is a failure.
pub(crate) fn execute(
    lab: &Lab,
    plan: &Plan,
    index: usize,
    samples: bool,
    stop: &AtomicBool,
) -> Result<Finished, Failure> {
    let (setup, spec) = plan.get(index);
    match lab.run(setup.scenario, spec, setup.seed, samples, stop) {
        Ok(outcome) => {
            let mut run = setup.measured(&outcome.measurements);
            run.environment = Some(lab.environment());
            run.doubts = outcome.doubts;
            Ok((run, samples.then_some(outcome.measurements)))
        }
        Err(error) if error.kind == Kind::Guest => Ok((setup.failed(error.to_string()), None)),
        Err(error) => Err(failure(&error)),
    }
}

fn failure(error: &Error) -> Failure {
    match (error.kind, &error.hint) {
        (Kind::Interrupted, _) => Failure::new(INTERRUPTED, error.message.clone()),
        (Kind::Input, Some(hint)) => Failure::bad_input(error.message.clone(), hint.clone()),
        (Kind::Input, None) => Failure::new(BAD_INPUT, error.message.clone()),
        (Kind::Machine | Kind::Guest, _) => Failure::new(FAILED, error.to_string()),
    }
}
