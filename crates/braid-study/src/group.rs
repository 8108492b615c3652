//! Runs that differ only in their seed.

use braid_algorithms::{Algorithm, Spec};
use braid_scenario::model::Scenario;

/// Runs that differ only in their seed.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Index of its file in [`Plan::files`].
    pub file: usize,
    /// Index of its scenario among the cells of the file.
    pub cell: usize,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The congestion control of the runs.
    pub spec: &'a Spec,
    /// The packet scheduler.
    pub scheduler: &'a str,
}

impl Group<'_> {
    /// The congestion controls that take part, each once, by name.
    pub fn algorithms(&self) -> Vec<&'static Algorithm> {
        let named = self.scenario.connections.iter().filter_map(|connection| connection.cc.as_ref());
        let mut all: Vec<_> = named.chain([self.spec]).map(Spec::algorithm).collect();
        all.sort_unstable_by_key(|algorithm| (algorithm.name(), algorithm.source_hash()));
        all.dedup_by_key(|algorithm| (algorithm.name(), algorithm.source_hash()));
        all
    }
}
