//! Does the runs of a plan for a command.

use std::num::NonZeroUsize;

use braid_study::{Done, Execution, Kind, Plan, Sink, Store};

use crate::failure::FAILED;
use crate::progress::Progress;
use crate::{Failure, signal};

/// How runs are done.
pub(crate) struct How {
    pub(crate) jobs: Option<NonZeroUsize>,
    pub(crate) quiet: bool,
}

/// Does the runs of a plan, stores them, and hands them to the sinks.
pub(crate) fn conduct<'a>(
    plan: &Plan,
    mut execution: Execution<'a>,
    store: Option<&'a mut Store>,
    how: &How,
    sinks: Vec<&mut dyn Sink>,
) -> Result<Done, Failure> {
    execution = execution.cancel(&signal::cancel()?);
    if let Some(jobs) = how.jobs {
        execution = execution.jobs(jobs);
    }
    let then =
        if store.is_some() { "; the same command goes on from there" } else { "; nothing was written" };
    if let Some(store) = store {
        execution = execution.store(store);
    }
    let mut progress = Progress::new(plan.len(), how.quiet);
    let mut all: Vec<&mut dyn Sink> = vec![&mut progress];
    all.extend(sinks.into_iter().map(|sink| sink as &mut dyn Sink));
    execution.into_sinks(&mut all).map_err(|error| {
        let interrupted = error.kind == Kind::Cancelled;
        let failure = Failure::from(error);
        if interrupted { failure.and(then) } else { failure }
    })
}

/// Fails if a run did.
pub(crate) fn failed_runs(plan: &Plan, done: &Done) -> Result<(), Failure> {
    let Some(first) = &done.first else { return Ok(()) };
    let (failed, total) = (done.failed, plan.len());
    Err(Failure::new(FAILED, format!("{failed} of {total} runs failed; the first was {first}")))
}
