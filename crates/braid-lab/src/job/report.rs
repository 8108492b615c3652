//! Counters of a run.

use braid_results::measure::Transfer;
use serde::{Deserialize, Serialize};

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Report {
    /// Maximum delay of a planned action.
    pub(crate) latest_ns: u64,
    /// Planned time of that action.
    pub(crate) latest_at_ns: u64,
    /// Every 100 ms and at [`Job::moments`], from 0 to the end of the run.
    pub(crate) moments: Vec<Moment>,
    /// Labels of shared-bottleneck detectors, ascending in time for each subflow.
    pub(crate) verdicts: Vec<VerdictAt>,
    /// Packets dropped outside of queues and links, or sent without traffic: namespace, counter, number.
    pub(crate) elsewhere: Vec<(String, String, u64)>,
    /// Packets missing from the capture.
    pub(crate) missed_packets: u64,
    /// What applications of our own sent that they count, by connections and then by their beginnings.
    pub(crate) transfers: Vec<(usize, Transfer)>,
    pub(crate) programs: Vec<Ended>,
}

/// A detector's label of a subflow from a certain time on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct VerdictAt {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// Index into [`Connection::subflows`].
    pub(crate) subflow: usize,
    /// Since the start of the run.
    pub(crate) time_ns: u64,
    /// 0: shares its bottleneck with no other subflow.
    pub(crate) group: u16,
}

/// A sample of everything. Counters are from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Moment {
    /// Since the start of the run.
    pub(crate) time_ns: u64,
    /// Whether it is one of the samples every 100 ms.
    pub(crate) regular: bool,
    /// Busy time of the guest's processor.
    pub(crate) busy_ns: u64,
    pub(crate) connections: Vec<ConnectionAt>,
    /// One per end of a wire with a queue, in order.
    pub(crate) queues: Vec<QueueAt>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct ConnectionAt {
    /// Programs: time with a connected socket.
    pub(crate) active_ns: u64,
    /// Payload read by the receiving application.
    pub(crate) delivered_bytes: u64,
    /// Payload reinjected on another subflow.
    pub(crate) reinjected_bytes: u64,
    /// TCP only, and only at [`Job::moments`]: recoveries from losses detected by later arrivals.
    pub(crate) recoveries: u64,
    /// TCP only, and only at [`Job::moments`]: undone reductions.
    pub(crate) undos: u64,
    /// One per subflow of the job.
    pub(crate) subflows: Vec<SubflowAt>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct SubflowAt {
    /// Whether it exists.
    pub(crate) established: bool,
    /// Packets.
    pub(crate) cwnd: u32,
    /// Packets; none before the first reduction.
    pub(crate) ssthresh: Option<u32>,
    /// 0 before the first sample.
    pub(crate) srtt_us: u32,
    /// Lowest RTT so far; 0 before the first sample.
    pub(crate) min_rtt_us: u32,
    /// Packets.
    pub(crate) in_flight: u32,
    /// Payload bytes per packet.
    pub(crate) mss: u32,
    /// Data packets sent, including retransmissions.
    pub(crate) sent: u64,
    /// Their payload.
    pub(crate) sent_bytes: u64,
    /// Data packets retransmitted.
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    /// Data packets received, including duplicates.
    pub(crate) received: u64,
    pub(crate) active_ns: u64,
    /// Integral of cwnd, packets x nanoseconds.
    pub(crate) cwnd_integral: u128,
    /// Sum over the packets delivered of the smoothed RTT at that time, microseconds.
    pub(crate) rtt_sum_us: u64,
    /// Number of these packets.
    pub(crate) rtt_samples: u64,
    /// All RTT samples, if they were counted.
    pub(crate) single: RttSamples,
}

/// RTT samples, one for each ACK that delivers data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RttSamples {
    pub(crate) count: u64,
    /// Sum of the differences between successive samples, microseconds.
    pub(crate) steps_us: u64,
}

impl SubflowAt {
    /// Updates the lowest RTT with the kernel's, which expires after five minutes (`tcp_min_rtt_wlen`) and is the
    /// largest number before the first sample.
    pub(crate) fn see_min_rtt(&mut self, kernels_us: u32) {
        let is_lower = self.min_rtt_us == 0 || kernels_us < self.min_rtt_us;
        if is_lower && (1..u32::MAX).contains(&kernels_us) {
            self.min_rtt_us = kernels_us;
        }
    }
}

/// Sample of a queue and the path to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct QueueAt {
    /// Packets that have passed.
    pub(crate) packets: u64,
    /// Their IP bytes.
    pub(crate) bytes: u64,
    /// Packets sent by the queue.
    pub(crate) served: u64,
    pub(crate) queued: u32,
    /// Packets dropped by the full queue.
    pub(crate) dropped: u64,
    /// Packets lost after the queue, or on the path to it.
    pub(crate) lost: u64,
    pub(crate) marked: u64,
    /// Integral of the packets in the queue, packets x nanoseconds.
    pub(crate) queue_integral: u128,
    /// Largest sampled number of packets in the queue.
    pub(crate) most_queued: u32,
    /// Packets sent while the queue cannot have been empty, by its length at the previous sample.
    pub(crate) backlogged_packets: u64,
    /// Bits that the rate allows in that time.
    pub(crate) backlogged_bits: u64,
}

/// What came of a program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Ended {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// Index into [`Programs::commands`].
    pub(crate) which: usize,
    /// Its start, since the start of the run; 0 if it started before.
    pub(crate) start_ns: u64,
    /// When it ended by itself, and its exit code.
    pub(crate) end: Option<(u64, i32)>,
    /// The end of its standard output.
    pub(crate) stdout: String,
    /// The end of its standard error.
    pub(crate) stderr: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rtt_is_remembered_for_longer_than_the_kernel_does() {
        let mut subflow = SubflowAt::default();
        let lowest = [u32::MAX, 0, 10_050, 44_061, 10_000].map(|kernels_us| {
            subflow.see_min_rtt(kernels_us);
            subflow.min_rtt_us
        });
        assert_eq!(lowest, [0, 0, 10_050, 10_050, 10_000]);
    }
}
