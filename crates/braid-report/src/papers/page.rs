//! A paper and its measurements.

use braid_results::claims::{self, Cause, Fate, Paper, Reproduction, Search, Varied, Verdict};
use indexmap::IndexMap;

/// A paper and its measurements.
#[derive(Debug)]
pub struct Page<'a> {
    /// Its file; without it, assumptions and anomalies are missing.
    pub paper: Option<&'a Paper>,
    /// In the simulator.
    pub result: &'a Reproduction,
    /// The first and the last seed there.
    pub seeds: [u64; 2],
    /// On a real kernel.
    pub kernel: Option<&'a Reproduction>,
    /// In the simulator, with other algorithms or another packet scheduler.
    pub stand_ins: Vec<StandIn<'a>>,
    /// The search for its test bed.
    pub search: Option<&'a Search>,
    /// With other assumptions.
    pub varied: Vec<&'a Varied>,
    /// Causes.
    pub causes: Vec<Cause>,
    /// The topology of each experiment, as SVG.
    pub drawings: IndexMap<String, String>,
}

/// The paper with other algorithms or another packet scheduler: an additional column.
#[derive(Debug)]
pub struct StandIn<'a> {
    /// Replacements of the paper's algorithms.
    pub cc: &'a IndexMap<String, String>,
    /// The packet scheduler, if it is another.
    pub scheduler: Option<&'a str>,
    /// The result.
    pub result: &'a Reproduction,
}

impl StandIn<'_> {
    /// Its name.
    pub(super) fn name(&self) -> String {
        let algorithms = self.cc.iter().map(|(name, spec)| format!("{spec} for {name}"));
        let scheduler = self.scheduler.map(|scheduler| format!("scheduler {scheduler}"));
        let each: Vec<String> = algorithms.chain(scheduler).collect();
        each.join(", ")
    }

    pub(super) fn verdict(&self, claim: &str) -> Option<Verdict> {
        verdict(self.result, claim)
    }
}

fn verdict(result: &Reproduction, claim: &str) -> Option<Verdict> {
    result.claims.iter().find(|own| own.id == claim).map(|own| own.verdict)
}

impl Page<'_> {
    pub(super) fn key(&self) -> &str {
        &self.result.paper
    }

    pub(super) fn causes_of<'b>(&'b self, claim: &'b str) -> impl Iterator<Item = &'b Cause> {
        self.causes.iter().filter(move |cause| cause.claims.iter().any(|id| id == claim))
    }

    /// Fate of each claim over all settings, if there was a search.
    pub(super) fn fates(&self) -> Option<IndexMap<String, Fate>> {
        Some(Fate::of(self.result, self.search?, &claims::excluded(&self.causes)))
    }

    pub(super) fn kernel_verdict(&self, claim: &str) -> Option<Verdict> {
        verdict(self.kernel?, claim)
    }
}
