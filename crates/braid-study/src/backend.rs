//! Backends execute scenarios: the simulator, or a kernel.

#[cfg(unix)]
use braid_algorithms::Algorithm;
use braid_algorithms::Spec;
use braid_results::Setup;
use braid_results::measure::Measurements;
use braid_scenario::File;
use braid_scenario::model::Scenario;

use crate::{Cancel, Error, Group};

/// Executes scenarios. Backend-specific knowledge stays in its crate; planning, storage and results are common.
pub trait Backend: Send + Sync {
    /// Its name in results: `sim`, `lab`, `host`.
    fn name(&self) -> &'static str;

    /// The scheduler of that name in normal form; `None`: the default.
    ///
    /// # Errors
    /// If it does not exist here.
    fn scheduler(&self, name: Option<&str>) -> Result<String, Error>;

    /// Refuses scenarios that it cannot run, preferably by [`File::error`] with the place in the file. Called before
    /// anything runs.
    ///
    /// # Errors
    /// If it cannot run this cell of the file.
    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error>;

    /// Adapts a cell before it runs; does nothing by default.
    fn adapt(&self, cell: &mut Scenario) {
        let _ = cell;
    }

    /// Further inputs of these runs' results besides scenario, congestion control, scheduler and seed: the sources of a
    /// simulator, or kernel and programs. Part of a [`Key`](crate::Key); may be long. Called after
    /// [`Backend::prepare`].
    ///
    /// # Errors
    /// If it cannot be determined.
    fn identity(&self, group: &Group) -> Result<String, Error>;

    /// Kernel and machine as text; `None` for the simulator.
    fn machine(&self) -> Option<String> {
        None
    }

    /// Prepares these scenarios, unless done already. `say` reports slow steps.
    ///
    /// # Errors
    /// If a requirement is missing, or it was cancelled.
    fn prepare(
        &self,
        scenarios: &[&Scenario],
        cancel: &Cancel,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let _ = (scenarios, cancel, say);
        Ok(())
    }

    /// Best number of parallel runs; `None`: the number of processors.
    fn jobs(&self) -> Option<usize> {
        None
    }

    /// Whether a run is only computation in this process. A run with a user's algorithm then happens in a forked
    /// process, which may crash; else the algorithm runs elsewhere, as in a kernel.
    fn computes(&self) -> bool;

    /// Executes a run.
    ///
    /// # Errors
    /// If the run fails, is cancelled, or shows that no run can succeed.
    fn run(&self, request: Request) -> Result<Outcome, Stop>;
}

/// One run of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The congestion control of the run.
    pub spec: &'a Spec,
    /// The MPTCP packet scheduler, in normal form.
    pub scheduler: &'a str,
    /// The seed.
    pub seed: u64,
    /// [`Backend::name`]
    pub backend: &'static str,
}

impl<'a> Case<'a> {
    /// User algorithms that take part.
    #[cfg(unix)]
    pub(crate) fn added(&self) -> Vec<&'static str> {
        let named = self.scenario.connections.iter().filter_map(|connection| connection.cc.as_ref());
        let added = named.chain([self.spec]).map(Spec::algorithm).filter(|algorithm| algorithm.is_added());
        let mut names: Vec<&'static str> = added.map(Algorithm::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The same for results.
    pub fn setup(&self) -> Setup<'a> {
        let Self { scenario, spec, scheduler, seed, backend } = *self;
        Setup { scenario, backend, cc: spec.text(), scheduler, seed }
    }
}

/// A requested run.
pub struct Request<'a> {
    /// Its number in the plan.
    pub number: usize,
    /// The run.
    pub case: Case<'a>,
    /// Whether [`Measurements`] include samples.
    pub samples: bool,
    /// Ends the run early.
    pub cancel: &'a Cancel,
    /// For [`Request::progress`].
    pub(crate) tell: &'a dyn Fn(u64),
}

impl Request<'_> {
    /// Reports progress: this much of the run's time is over.
    pub fn progress(&self, time_ns: u64) {
        (self.tell)(time_ns);
    }
}

/// Outcome of a successful run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The measurements.
    pub measurements: Measurements,
    /// Versions of a real kernel and its machine; `None` for the simulator.
    pub environment: Option<String>,
    /// Warnings about the result, as text.
    pub doubts: Vec<String>,
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It failed; others may succeed.
    Failed(String),
    /// The study was cancelled.
    Cancelled,
    /// Others would fail as well: the study ends.
    All(Error),
}
