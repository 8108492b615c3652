//! What is counted of the QUIC connections.

use braid_quic::PathState;
use braid_results::measure::{ConnectionCounts, SubflowCounts};

/// One path's latest state, and which subflow of the scenario it is.
pub(crate) struct Counted {
    pub(crate) subflow: usize,
    pub(crate) state: PathState,
    /// The latest time by which its window is in `cwnd_integral`.
    pub(crate) since_ns: u64,
    pub(crate) cwnd_integral: u128,
    /// It exists.
    pub(crate) open: bool,
}

impl Counted {
    /// Its part of the subflow's counts; the window up to now.
    pub(crate) fn add_to(&self, counts: &mut SubflowCounts, now_ns: u64) {
        let state = &self.state;
        counts.retransmissions += state.lost;
        counts.fast_retransmits += state.loss_episodes;
        counts.timeouts += state.persistent_episodes;
        counts.ecn_reductions += state.ecn_episodes;
        counts.undos += state.undos;
        counts.rtt_sum_us += state.rtt_sum_us;
        counts.rtt_samples += state.rtt_samples;
        counts.cwnd_integral += self.cwnd_integral;
        if self.open {
            counts.cwnd_integral += u128::from(state.cwnd) * u128::from(now_ns - self.since_ns);
        }
    }
}

/// What was counted between two looks at a connection.
pub(crate) fn difference(mut end: ConnectionCounts, start: &ConnectionCounts) -> ConnectionCounts {
    end.active_ns -= start.active_ns;
    end.goodput_bytes -= start.goodput_bytes;
    for (end, start) in end.subflows.iter_mut().zip(&start.subflows) {
        end.active_ns -= start.active_ns;
        end.received_bytes -= start.received_bytes;
        end.packets_sent -= start.packets_sent;
        end.retransmissions -= start.retransmissions;
        end.fast_retransmits -= start.fast_retransmits;
        end.timeouts -= start.timeouts;
        end.ecn_reductions -= start.ecn_reductions;
        end.undos -= start.undos;
        end.rtt_sum_us -= start.rtt_sum_us;
        end.rtt_samples -= start.rtt_samples;
        end.cwnd_integral -= start.cwnd_integral;
    }
    end
}
