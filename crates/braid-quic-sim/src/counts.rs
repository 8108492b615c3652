//! Sums and differences of what is counted of the QUIC connections.

use braid_results::measure::{ConnectionCounts, SubflowCounts};

/// Adds what was counted of the same subflow elsewhere.
pub(crate) fn add(sum: &mut SubflowCounts, counts: &SubflowCounts) {
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
