//! Counters of past incarnations.

use braid_results::measure::{SubflowCounts, VerdictChange};

/// Sums over past incarnations of a subflow of the scenario.
#[derive(Clone, Default)]
pub(super) struct Retired {
    pub(super) packets: u64,
    pub(super) verdicts: Vec<VerdictChange>,
    pub(super) counts: SubflowCounts,
}
