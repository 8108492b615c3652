//! Differences of QUIC connections' counters.

use braid_results::measure::ConnectionCounts;

/// Counters between two snapshots of a connection.
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
