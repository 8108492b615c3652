//! Events of a running study.

use braid_results::Run;
use braid_results::measure::Measurements;

/// An event of an [`Execution`](crate::Execution).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A slow preparation of the backend, such as fetching a kernel, as text.
    Preparing(&'a str),
    /// Progress, several times a second.
    Progress {
        /// Finished runs.
        done: usize,
        /// All runs.
        total: usize,
        /// Share of the work, 0 to 1, including runs in progress.
        share: f64,
    },
    /// A finished run, in the order of the plan.
    Finished(Box<Finished>),
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its number in the plan.
    pub number: usize,
    /// The run and its result; its status has a failure.
    pub run: Run,
    /// The measurements, with samples if requested; `None` if the run failed, or was stored without samples.
    pub measurements: Option<Measurements>,
    /// Whether it was stored before.
    pub reused: bool,
}

/// A stored run.
pub(crate) struct Kept {
    pub(crate) run: Run,
    pub(crate) measurements: Option<Measurements>,
    /// Whether they include samples.
    pub(crate) sampled: bool,
}
