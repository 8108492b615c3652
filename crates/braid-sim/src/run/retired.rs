//! What was counted in past incarnations.

use braid_results::measure::{SubflowCounts, VerdictChange};

/// The sums of a subflow of the scenario.
#[derive(Clone, Default)]
pub(super) struct Retired {
    pub(super) packets: u64,
    pub(super) verdicts: Vec<VerdictChange>,
    pub(super) counts: SubflowCounts,
}

impl Retired {
    pub(super) fn add(&mut self, counts: &SubflowCounts) {
        let sum = &mut self.counts;
        sum.active_ns += counts.active_ns;
        sum.received_bytes += counts.received_bytes;
        sum.packets_sent += counts.packets_sent;
        sum.retransmissions += counts.retransmissions;
        sum.fast_retransmits += counts.fast_retransmits;
        sum.timeouts += counts.timeouts;
        sum.ecn_reductions += counts.ecn_reductions;
        sum.undos += counts.undos;
        sum.rtt_sum_us += counts.rtt_sum_us;
        sum.rtt_samples += counts.rtt_samples;
        sum.cwnd_integral += counts.cwnd_integral;
    }
}
