//! Raw counters of a run by a backend.
//!
//! Counters cover the measured part of the run, from the end of the warm-up to the start of the cool-down, and again
//! each of the scenario's periods. Only samples begin with the run.

use serde::{Deserialize, Serialize};

/// Time between two samples.
pub const SAMPLE_INTERVAL_NS: u64 = 100_000_000;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Measurements {
    /// Length of the measured part, nanoseconds.
    pub measured_ns: u64,
    /// One per connection of the scenario, in its order.
    pub connections: Vec<ConnectionCounts>,
    /// One per link of the scenario, in its order.
    pub links: Vec<LinkCounts>,
    /// One per period of the scenario, in its order: the same counters over that interval. Without samples and periods.
    pub periods: Vec<Measurements>,
    /// Whole run: events handled by the engine.
    pub events: u64,
    /// Whole run: data packets received.
    pub packets_delivered: u64,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ConnectionCounts {
    /// Part of the measured time during which it was open, nanoseconds.
    pub active_ns: u64,
    /// Payload bytes delivered to the application in order.
    pub goodput_bytes: u64,
    /// Packets of the data level reinjected on another subflow.
    pub reinjections: u64,
    /// Counters of its data level; `None` for plain TCP, and where a kernel does not report them.
    pub data_level: Option<DataLevelCounts>,
    /// One per subflow, in the scenario's order.
    pub subflows: Vec<SubflowCounts>,
    /// Of the whole run, in order of their start; none for a bulk transfer, and none in periods.
    pub transfers: Vec<Transfer>,
    /// Its programs, the server first; none in periods.
    pub programs: Vec<Program>,
}

/// Counters of an MPTCP connection's data level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct DataLevelCounts {
    /// Payload bytes sent on a further subflow: reinjections, opportunistic retransmissions and copies.
    pub repeated_bytes: u64,
    /// Copies requested by the scheduler.
    pub copies: u64,
    /// Packets retransmitted because the receive window was full.
    pub opportunistic: u64,
    /// Congestion windows halved by the scheduler for the same reason.
    pub penalties: u64,
    /// Time in which the receive window blocked data while a subflow had room, nanoseconds.
    pub window_limited_ns: u64,
    /// Packets delivered to the application.
    pub packets: u64,
    /// Waiting times of out-of-order packets at the receiver.
    pub delays: Delays,
}

impl DataLevelCounts {
    /// Adds another connection's or interval's counters.
    pub fn add(&mut self, other: &Self) {
        self.repeated_bytes += other.repeated_bytes;
        self.copies += other.copies;
        self.opportunistic += other.opportunistic;
        self.penalties += other.penalties;
        self.window_limited_ns += other.window_limited_ns;
        self.packets += other.packets;
        self.delays.merge(&other.delays, |own, other| own + other);
    }

    /// Subtracts earlier counters.
    pub fn subtract(&mut self, start: &Self) {
        self.repeated_bytes -= start.repeated_bytes;
        self.copies -= start.copies;
        self.opportunistic -= start.opportunistic;
        self.penalties -= start.penalties;
        self.window_limited_ns -= start.window_limited_ns;
        self.packets -= start.packets;
        self.delays.merge(&start.delays, |own, start| own - start);
    }

    /// Mean time that a packet waited for earlier ones at the receiver, milliseconds; 0 for packets in order.
    pub fn mean_delay_ms(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays.sum_ns as f64 / self.packets as f64 / 1e6)
    }

    /// A quantile of the same in percent; an upper bound, at most 12 % too large.
    pub fn delay_quantile_ms(&self, percent: u64) -> Option<f64> {
        let rank = self.packets - self.packets * percent / 100;
        let mut above = 0;
        for (bucket, &count) in self.delays.buckets.iter().enumerate().rev() {
            above += count;
            if above >= rank.max(1) {
                return Some(Delays::end_us(bucket) as f64 / 1e3);
            }
        }
        (self.packets > 0).then_some(0.0)
    }
}

/// A histogram of times: eight classes per power of two of a microsecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Delays {
    /// Their sum, nanoseconds.
    pub sum_ns: u64,
    /// Number in each class, up to the last non-empty one.
    pub buckets: Vec<u64>,
}

impl Delays {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.sum_ns += ns;
        let us = ns / 1_000;
        let bucket = if us < 8 { us } else { 8 * (u64::from(us.ilog2()) - 2) + (us >> (us.ilog2() - 3)) - 8 };
        let bucket = bucket as usize;
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.begin(bucket),
        }
    }

    /// Appends classes up to this one.
    #[cold]
    fn begin(&mut self, bucket: usize) {
        self.buckets.resize(bucket + 1, 0);
        self.buckets[bucket] = 1;
    }

    /// Upper end of a class, microseconds.
    fn end_us(bucket: usize) -> u64 {
        let next = bucket as u64 + 1;
        if next <= 8 { next } else { (8 + next % 8) << (next / 8 - 1) }
    }

    fn merge(&mut self, other: &Self, merge: impl Fn(u64, u64) -> u64) {
        self.sum_ns = merge(self.sum_ns, other.sum_ns);
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            *own = merge(*own, *other);
        }
    }
}

/// A program and its result.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Program {
    /// `server` or `client`.
    pub role: String,
    /// Its name and arguments, with addresses in place of `{server}` and `{client}`.
    pub command: Vec<String>,
    /// `None`: it still ran when the connection or the run was over.
    pub exit_code: Option<i32>,
    /// The last mebibyte of its standard output.
    pub stdout: String,
    /// The last mebibyte of its standard error.
    pub stderr: String,
}

/// A transfer of an application: an object, a response, a burst or a write at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Transfer {
    /// When it arrived at the application, was requested, or was written; nanoseconds since the start of the run.
    pub start_ns: u64,
    /// When its last byte was delivered to the receiving application in order; `None`: not in this run.
    pub end_ns: Option<u64>,
    /// Payload bytes.
    pub bytes: u64,
}

/// One subflow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct SubflowCounts {
    /// Part of the measured time during which it was established, nanoseconds.
    pub active_ns: u64,
    /// IP bytes of its data packets that reached the receiver.
    pub received_bytes: u64,
    /// Data packets sent, including retransmissions.
    pub packets_sent: u64,
    /// Of those, retransmissions.
    pub retransmissions: u64,
    /// The backend does not know the causes of window reductions: `fast_retransmits`, `ecn_reductions` and `undos` are
    /// meaningless.
    #[serde(default)]
    pub causes_unknown: bool,
    /// Congestion episodes entered by fast retransmit.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion episodes entered by an ECN echo.
    pub ecn_reductions: u64,
    /// Episodes undone because the loss was spurious.
    pub undos: u64,
    /// Sum of all RTT samples, microseconds.
    pub rtt_sum_us: u64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// Integral of cwnd over time, packets x nanoseconds.
    pub cwnd_integral: u128,
    /// cwnd in packets every 100 ms while the subflow was established.
    pub cwnd_samples: Vec<u32>,
    /// Every 100 ms of the whole run while the subflow was established; empty unless requested.
    pub samples: Vec<SubflowSample>,
    /// Whole run: the algorithm's labels of shared bottlenecks, from each time the subflow was established; empty
    /// without a detector.
    pub verdicts: Vec<VerdictChange>,
}

impl SubflowCounts {
    /// Adds counters of the same subflow; samples and labels stay.
    pub fn add(&mut self, counts: &Self) {
        self.active_ns += counts.active_ns;
        self.received_bytes += counts.received_bytes;
        self.packets_sent += counts.packets_sent;
        self.retransmissions += counts.retransmissions;
        self.fast_retransmits += counts.fast_retransmits;
        self.timeouts += counts.timeouts;
        self.ecn_reductions += counts.ecn_reductions;
        self.undos += counts.undos;
        self.rtt_sum_us += counts.rtt_sum_us;
        self.rtt_samples += counts.rtt_samples;
        self.cwnd_integral += counts.cwnd_integral;
    }
}

/// A detector's label of a subflow from a certain time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct VerdictChange {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Subflows of a connection with the same group share a bottleneck; 0: it shares none.
    pub group: u16,
}

/// Sample of a subflow. Counters are from the start of the run, including the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct SubflowSample {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Packets.
    pub cwnd: u32,
    /// Packets; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT, microseconds; `None` before the first RTT sample.
    pub srtt_us: Option<u32>,
    /// The sender's minimum RTT since it was established, microseconds; `None` before the first RTT sample.
    #[serde(default)]
    pub min_rtt_us: Option<u32>,
    /// Packets believed to be in the network.
    pub in_flight: u32,
    /// IP bytes of data packets that have reached the receiver.
    pub received_bytes: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Number of RTT samples since it was established.
    pub rtt_samples: u64,
    /// Sum of the differences between successive samples, microseconds.
    pub rtt_steps_us: u64,
    /// Group of subflows that share a bottleneck, 0 for none; `None` without a detector.
    pub group: Option<u16>,
}

/// One link, both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct LinkCounts {
    /// From sender to receiver.
    pub forward: DirectionCounts,
    /// From receiver to sender.
    pub reverse: DirectionCounts,
    /// The forward direction every 100 ms of the whole run; empty unless requested, and for private links.
    pub samples: Vec<LinkSample>,
    /// Counters of the forward direction from the start of the whole run, every 100 ms; empty where no algorithm
    /// detects bottlenecks, and for links that are not the bottleneck of a subflow with siblings.
    #[serde(default)]
    pub looks: Vec<LinkLook>,
}

/// Counters of a direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct LinkLook {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Since the start of the run.
    pub counts: DirectionCounts,
}

/// Sample of a direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LinkSample {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Packets in the queue, including the one being sent.
    pub queue_packets: u32,
    /// Packets that the queue has dropped since the start of the run.
    pub drops_queue: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct DirectionCounts {
    /// Packets that entered the queue.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time the transmitter was busy, nanoseconds.
    pub busy_ns: u64,
    /// Packets dropped because the queue was full.
    pub drops_queue: u64,
    /// Packets lost on the wire.
    pub drops_wire: u64,
    /// Packets marked.
    pub marks: u64,
    /// Integral of the queue length over time, packets x nanoseconds; includes the packet being sent.
    pub queue_integral: u128,
}

#[cfg(test)]
mod tests {
    use super::{DataLevelCounts, Delays};

    #[test]
    fn the_classes_of_delays_follow_each_other_without_gaps() {
        for us in (0..5_000).chain([1 << 20, (1 << 20) + 1, 3_000_000_000]) {
            let mut delays = Delays::default();
            delays.add(us * 1_000 + 999);
            let bucket = delays.buckets.len() - 1;
            let begin = if bucket == 0 { 0 } else { Delays::end_us(bucket - 1) };
            assert!((begin..Delays::end_us(bucket)).contains(&us), "{us} us in class {bucket} from {begin}");
            assert!(us < 8 || Delays::end_us(bucket) as f64 <= 1.13 * us as f64, "{us}");
        }
    }

    #[test]
    fn packets_in_order_count_as_not_delayed() {
        let mut counts = DataLevelCounts { packets: 100, ..DataLevelCounts::default() };
        assert_eq!((counts.mean_delay_ms(), counts.delay_quantile_ms(99)), (Some(0.0), Some(0.0)));
        (0..10).for_each(|_| counts.delays.add(1_000_000));
        assert_eq!(counts.mean_delay_ms(), Some(0.1));
        assert_eq!(counts.delay_quantile_ms(50), Some(0.0));
        assert_eq!(counts.delay_quantile_ms(95), Some(1.024));
        assert_eq!(DataLevelCounts::default().mean_delay_ms(), None);
    }
}
