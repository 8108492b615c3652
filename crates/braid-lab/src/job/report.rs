//! What was counted in a run.

use serde::{Deserialize, Serialize};

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Report {
    /// The kernel's release.
    pub(crate) kernel: String,
    /// How late the latest was of what was to be done at a certain time.
    pub(crate) latest_ns: u64,
    /// When that was to be done.
    pub(crate) latest_at_ns: u64,
    /// Every 100 ms and at [`Job::moments`], from 0 to the end of the run.
    pub(crate) moments: Vec<Moment>,
    /// What detectors of shared bottlenecks said, ascending in time for each subflow.
    pub(crate) verdicts: Vec<VerdictAt>,
    /// Packets that something else than a queue or a link has dropped, or that no traffic has asked for: namespace, counter,
    /// number.
    pub(crate) elsewhere: Vec<(String, String, u64)>,
    /// Packets that should have been taken down and were not.
    pub(crate) missed_packets: u64,
    /// What applications of our own sent that they count, by connections and then by their beginnings.
    pub(crate) transfers: Vec<TransferAt>,
    /// What came of the programs.
    pub(crate) programs: Vec<Ended>,
}

/// From a certain time on, a detector says this of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct VerdictAt {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// Index into [`Connection::subflows`].
    pub(crate) subflow: usize,
    /// Since the start of the run.
    pub(crate) time_ns: u64,
    /// 0: it shares its bottleneck with no other.
    pub(crate) group: u16,
}

/// Everything at one moment. Counts are from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Moment {
    /// Since the start of the run.
    pub(crate) time_ns: u64,
    /// Whether it is one of those every 100 ms.
    pub(crate) regular: bool,
    /// Time that the guest's processor was busy.
    pub(crate) busy_ns: u64,
    /// One per connection.
    pub(crate) connections: Vec<ConnectionAt>,
    /// One per end of every wire that has a queue, in order.
    pub(crate) queues: Vec<QueueAt>,
}

/// A connection at one moment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct ConnectionAt {
    /// Of programs: time that one of their sockets was connected.
    pub(crate) active_ns: u64,
    /// Payload that the receiving application has read.
    pub(crate) delivered_bytes: u64,
    /// Payload sent again on another subflow.
    pub(crate) reinjected_bytes: u64,
    /// Of TCP, and only at [`Job::moments`]: times it has begun to repair losses that later arrivals showed.
    pub(crate) recoveries: u64,
    /// Of TCP, and only at [`Job::moments`]: times it has taken back a reduction.
    pub(crate) undos: u64,
    /// One per subflow of the job.
    pub(crate) subflows: Vec<SubflowAt>,
}

/// A subflow at one moment.
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
    /// The lowest so far; 0 before the first sample.
    pub(crate) min_rtt_us: u32,
    /// Packets.
    pub(crate) in_flight: u32,
    /// Payload bytes per packet.
    pub(crate) mss: u32,
    /// Data packets sent, again or not.
    pub(crate) sent: u64,
    /// Their payload.
    pub(crate) sent_bytes: u64,
    /// Data packets sent again.
    pub(crate) retransmissions: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
    /// Data packets that have arrived, duplicates included.
    pub(crate) received: u64,
    /// Time that it existed.
    pub(crate) active_ns: u64,
    /// Integral of cwnd, packets x nanoseconds.
    pub(crate) cwnd_integral: u128,
    /// Sum over the packets delivered of the smoothed RTT at that time, microseconds.
    pub(crate) rtt_sum_us: u64,
    /// These packets.
    pub(crate) rtt_samples: u64,
    /// RTT samples, where they were taken down.
    pub(crate) single: RttSamples,
}

/// RTT samples, one for each ACK that something is delivered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RttSamples {
    /// How many.
    pub(crate) count: u64,
    /// Sum of the differences between one and the next, microseconds.
    pub(crate) steps_us: u64,
}

impl SubflowAt {
    /// What the kernel says is the lowest RTT. It forgets after five minutes (`tcp_min_rtt_wlen`), and before the first
    /// sample it has the highest number there is.
    pub(crate) fn see_min_rtt(&mut self, kernels_us: u32) {
        let is_lower = self.min_rtt_us == 0 || kernels_us < self.min_rtt_us;
        if is_lower && (1..u32::MAX).contains(&kernels_us) {
            self.min_rtt_us = kernels_us;
        }
    }
}

/// A queue and the path to it at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct QueueAt {
    /// Packets that have come through.
    pub(crate) packets: u64,
    /// Their IP bytes.
    pub(crate) bytes: u64,
    /// Packets that the queue has sent.
    pub(crate) served: u64,
    /// Packets in the queue.
    pub(crate) queued: u32,
    /// Packets on the way to it.
    pub(crate) travelling: u32,
    /// Packets that found the queue full.
    pub(crate) dropped: u64,
    /// Packets lost after it, or on the way to it.
    pub(crate) lost: u64,
    /// Packets that got a congestion mark.
    pub(crate) marked: u64,
    /// Integral of the packets in the queue, packets x nanoseconds.
    pub(crate) queue_integral: u128,
    /// Most packets that were seen in the queue.
    pub(crate) most_queued: u32,
    /// Packets sent while, by what was queued before, packets were waiting all the time.
    pub(crate) backlogged_packets: u64,
    /// Bits that its rate has room for in that time.
    pub(crate) backlogged_bits: u64,
}

/// Something that an application of our own sent and waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct TransferAt {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// When it was written or asked for, since the start of the run.
    pub(crate) start_ns: u64,
    /// When all of it had arrived.
    pub(crate) end_ns: Option<u64>,
    /// Its payload.
    pub(crate) bytes: u64,
}

/// What came of a program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Ended {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// Index into [`Programs::commands`].
    pub(crate) which: usize,
    /// When it began, since the start of the run; 0 for what began before.
    pub(crate) start_ns: u64,
    /// When it ended by itself, and its exit code.
    pub(crate) end: Option<(u64, i32)>,
    /// The end of what it wrote to its standard output.
    pub(crate) stdout: String,
    /// And to its standard error.
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
