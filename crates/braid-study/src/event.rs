//! What a study tells while it runs.

use braid_results::Run;
use braid_results::measure::Measurements;

/// What happens in an [`Execution`](crate::Execution).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The backend does something that takes a while before the first run, such as fetching a kernel; for people.
    Preparing(&'a str),
    /// How far it is; several times a second.
    Progress {
        /// Runs that are done.
        done: usize,
        /// Runs that there are.
        total: usize,
        /// How much of everything is done, 0 to 1, runs in progress included.
        share: f64,
    },
    /// A run is done. They come in the order of the plan.
    Finished(Box<Finished>),
}

/// A run and what came of it.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its place in the plan.
    pub number: usize,
    /// What was asked for and what came of it; a failure is in its status.
    pub run: Run,
    /// What was measured, samples among it if they were asked for; `None` if the run failed, or was done already and kept
    /// without samples.
    pub measurements: Option<Measurements>,
    /// Whether it was done already.
    pub reused: bool,
}

/// A run that was done before.
pub(crate) struct Kept {
    pub(crate) run: Run,
    pub(crate) measurements: Option<Measurements>,
    /// Whether they hold samples.
    pub(crate) sampled: bool,
}
