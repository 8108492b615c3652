//! What runs scenarios: the simulator, or a kernel of some kind.

#[cfg(unix)]
use braid_algorithms::Algorithm;
use braid_algorithms::Spec;
use braid_results::Setup;
use braid_results::measure::Measurements;
use braid_scenario::File;
use braid_scenario::model::Scenario;
use serde::{Deserialize, Serialize};

use crate::{Cancel, Error, Group};

/// Runs scenarios. Planning, storing and results are the same for all backends.
///
/// A backend that wraps another implements [`Backend::base`] and the methods in which it differs.
pub trait Backend: Send + Sync {
    /// The wrapped backend: the default of every other method.
    fn base(&self) -> &dyn Backend;

    /// As results call it: `sim`, `lab`, `host`, `quic`.
    fn name(&self) -> &'static str {
        self.base().name()
    }

    /// The scheduler of that name in normal form; with `None` the default one.
    ///
    /// # Errors
    /// If there is none of that name here.
    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        self.base().scheduler(name)
    }

    /// Refuses what it cannot run, best by [`File::error`] where it stands in the file. Before anything runs.
    ///
    /// # Errors
    /// If it cannot run this cell of the file.
    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        self.base().check(file, cell)
    }

    /// What it runs in place of a cell, if that is something else.
    fn adapted(&self, cell: &Scenario) -> Option<Scenario> {
        self.base().adapted(cell)
    }

    /// What the results of these runs depend on besides scenario, congestion control, scheduler and seed: the sources of a
    /// simulator, or program, kernel and virtual machine. Part of a [`Key`](crate::Key); need not be short. Works before
    /// [`Backend::prepare`].
    ///
    /// # Errors
    /// If it cannot be found out.
    fn identity(&self, group: &Group) -> Result<String, Error> {
        self.base().identity(group)
    }

    /// Gets everything ready for these scenarios; nothing, if that is done. What takes long is told to `say`. Called only if a
    /// run is missing.
    ///
    /// # Errors
    /// If something is missing, or it was cancelled.
    fn prepare(
        &self,
        scenarios: &[&Scenario],
        cancel: &Cancel,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        self.base().prepare(scenarios, cancel, say)
    }

    /// How many runs at the same time are best; `None`: as many as there are processors.
    fn jobs(&self) -> Option<usize> {
        self.base().jobs()
    }

    /// Whether a run is nothing but computation in this process. One with a user's algorithm then happens in a copy of it, which
    /// may crash; else the algorithm runs elsewhere, as in a kernel.
    fn computes(&self) -> bool {
        self.base().computes()
    }

    /// Does a run.
    ///
    /// # Errors
    /// If the run fails, is cancelled, or shows that no run can succeed.
    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.base().run(request)
    }
}

/// One run of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// The congestion control that the run is about.
    pub spec: &'a Spec,
    /// The MPTCP packet scheduler, in normal form.
    pub scheduler: &'a str,
    /// The seed.
    pub seed: u64,
    /// [`Backend::name`]
    pub backend: &'static str,
}

impl<'a> Case<'a> {
    /// The algorithms that take part and were added while the program runs: code of a user.
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

/// A run to be done.
pub struct Request<'a> {
    /// Its place in the plan.
    pub number: usize,
    /// Which one.
    pub case: Case<'a>,
    /// Whether [`Measurements`] are to hold samples.
    pub samples: bool,
    /// Ends the run early.
    pub cancel: &'a Cancel,
    /// For [`Request::progress`].
    pub(crate) tell: &'a dyn Fn(u64),
}

impl Request<'_> {
    /// To be called now and then: so much of the run's time is over.
    pub fn progress(&self, time_ns: u64) {
        (self.tell)(time_ns);
    }
}

/// The result of a run that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Outcome {
    /// What was measured.
    pub measurements: Measurements,
    /// Versions of a real kernel and its machine; `None` of the simulator.
    pub environment: Option<String>,
    /// What makes the result doubtful; for people.
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
