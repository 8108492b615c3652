//! Runs that belong together.

use braid_algorithms::Spec;
use braid_scenario::model::Scenario;

/// Runs that differ only in their seed.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Place of its file in [`Plan::files`].
    pub file: usize,
    /// Place of its scenario among the cells of the file.
    pub cell: usize,
    /// What is run.
    pub scenario: &'a Scenario,
    /// The congestion control that the runs are about.
    pub spec: &'a Spec,
    /// The packet scheduler.
    pub scheduler: &'a str,
}
