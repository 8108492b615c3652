//! Runs that belong together.

use braid_algorithms::{Algorithm, Spec};
use braid_scenario::model::Scenario;

use crate::Seeds;

/// Runs that differ only in their seed.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Index of its file in [`Plan::files`](crate::Plan::files).
    pub file: usize,
    /// Index of its scenario among the cells of the file.
    pub cell: usize,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The congestion control that the runs are about.
    pub spec: &'a Spec,
    /// The packet scheduler.
    pub scheduler: &'a str,
    /// [`Backend::name`](crate::Backend::name)
    pub backend: &'static str,
    /// The seeds.
    pub seeds: Seeds,
    /// Number of the first run.
    pub first: usize,
}

impl Group<'_> {
    /// The congestion controls that take part, each once, by name.
    pub fn algorithms(&self) -> Vec<&'static Algorithm> {
        let named = self.scenario.connections.iter().filter_map(|connection| connection.cc.as_ref());
        let named = named.map(Spec::algorithm);
        let mut all: Vec<_> = named.chain([self.spec.algorithm()]).collect();
        all.sort_unstable_by_key(|algorithm| (algorithm.name(), algorithm.source_hash()));
        all.dedup_by_key(|algorithm| (algorithm.name(), algorithm.source_hash()));
        all
    }
}
