//! What a backend counts during one run, before any metric is derived from it.
//!
//! Everything is counted over the measured part of the run, from the end of the warm-up to the start of the cool-down,
//! and once more over each of the scenario's periods. Only samples, which show how it came about, begin with the run.

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
    /// One per period of the scenario, in its order: the same counts over that stretch of the run. Without samples and
    /// periods of their own.
    pub periods: Vec<Measurements>,
    /// Whole run: events the engine handled.
    pub events: u64,
    /// Whole run: data packets that reached their receiver.
    pub packets_delivered: u64,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ConnectionCounts {
    /// Part of the measured time during which it was open, nanoseconds.
    pub active_ns: u64,
    /// Payload bytes handed to the application in order.
    pub goodput_bytes: u64,
    /// Packets of the data level sent once more on another subflow.
    pub reinjections: u64,
    /// What its data level did; `None` of plain TCP, and where a kernel does not tell.
    pub data_level: Option<DataLevelCounts>,
    /// One per subflow, in the scenario's order.
    pub subflows: Vec<SubflowCounts>,
    /// Of the whole run, in the order of their beginnings; none of a bulk transfer, and none in periods.
    pub transfers: Vec<Transfer>,
    /// The programs whose traffic it was, the server first; none in periods.
    pub programs: Vec<Program>,
}

/// What the data level of an MPTCP connection did besides sending everything once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct DataLevelCounts {
    /// Payload bytes sent on a further subflow: reinjected, sent again because the window was full, or copies.
    pub repeated_bytes: u64,
    /// Packets that the scheduler had sent as copies.
    pub copies: u64,
    /// Packets sent again because the receive window was full.
    pub opportunistic: u64,
    /// Congestion windows that the scheduler halved for the same reason.
    pub penalties: u64,
    /// How long the receive window kept data back while a subflow had room, nanoseconds.
    pub window_limited_ns: u64,
    /// Packets handed to the application.
    pub packets: u64,
    /// How long those that came out of order waited at the receiver.
    pub delays: Delays,
}

impl DataLevelCounts {
    /// Adds what another connection, or another time, had.
    pub fn add(&mut self, other: &Self) {
        self.repeated_bytes += other.repeated_bytes;
        self.copies += other.copies;
        self.opportunistic += other.opportunistic;
        self.penalties += other.penalties;
        self.window_limited_ns += other.window_limited_ns;
        self.packets += other.packets;
        self.delays.merge(&other.delays, |own, other| own + other);
    }

    /// Removes what was there before.
    pub fn subtract(&mut self, start: &Self) {
        self.repeated_bytes -= start.repeated_bytes;
        self.copies -= start.copies;
        self.opportunistic -= start.opportunistic;
        self.penalties -= start.penalties;
        self.window_limited_ns -= start.window_limited_ns;
        self.packets -= start.packets;
        self.delays.merge(&start.delays, |own, start| own - start);
    }

    /// Mean time that a packet waited for earlier ones at the receiver, milliseconds; those in order did not.
    pub fn mean_delay_ms(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays.sum_ns as f64 / self.packets as f64 / 1e6)
    }

    /// The same, not exceeded by so many of 100 packets; an upper bound, 12 % too large at most.
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

/// Times, by size: eight classes from each power of two of a microsecond to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Delays {
    /// Their sum, nanoseconds.
    pub sum_ns: u64,
    /// How many there are in each class, as far as there are any.
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

    /// The first one of a class that has no place yet.
    #[cold]
    fn begin(&mut self, bucket: usize) {
        self.buckets.resize(bucket + 1, 0);
        self.buckets[bucket] = 1;
    }

    /// The end of a class, microseconds.
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

/// A program and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Program {
    /// `server` or `client`.
    pub role: String,
    /// Its name and arguments, with addresses in place of `{server}` and `{client}`.
    pub command: Vec<String>,
    /// `None`: it had not ended by itself when the connection, or the run, was over.
    pub exit_code: Option<i32>,
    /// What it wrote, the last mebibyte of it.
    pub stdout: String,
    /// What it wrote for people, the last mebibyte of it.
    pub stderr: String,
}

/// What an application counts: an object, a response, a burst or a write of a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Transfer {
    /// When it arrived at the application, was requested, or was written; nanoseconds since the start of the run.
    pub start_ns: u64,
    /// When its last byte was handed to the receiving application in order; `None`: not in this run.
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
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Of those, retransmissions.
    pub retransmissions: u64,
    /// The backend does not know what reduced the window: `fast_retransmits`, `ecn_reductions` and `undos` say nothing.
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
    /// Every 100 ms of the whole run while the subflow was established; empty unless asked for.
    pub samples: Vec<SubflowSample>,
    /// Whole run: what the algorithm said of shared bottlenecks, from each time the subflow was established; empty if it
    /// says nothing of them.
    pub verdicts: Vec<VerdictChange>,
}

impl SubflowCounts {
    /// Adds what was counted of the same subflow elsewhere; samples and verdicts stay as they are.
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

/// From a certain time on, a detector says this of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct VerdictChange {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Subflows of a connection that have the same group share a bottleneck; 0: it shares none.
    pub group: u16,
}

/// A subflow at one moment. Counts are from the start of the run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct SubflowSample {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Packets.
    pub cwnd: u32,
    /// Packets; none before the first reduction.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT, microseconds; none before the first RTT sample.
    pub srtt_us: Option<u32>,
    /// The lowest RTT since it was established, microseconds, as the sender knows it; none before the first RTT sample.
    #[serde(default)]
    pub min_rtt_us: Option<u32>,
    /// Packets believed to be in the network.
    pub in_flight: u32,
    /// IP bytes of data packets that have reached the receiver.
    pub received_bytes: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Number of RTT samples since it was established.
    pub rtt_samples: u64,
    /// Sum of the differences between each of them and the one before, microseconds.
    pub rtt_steps_us: u64,
    /// Group of subflows that share a bottleneck, 0 for none; `None` if the algorithm does not detect any.
    pub group: Option<u16>,
}

/// One link, both directions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct LinkCounts {
    /// From sender to receiver.
    pub forward: DirectionCounts,
    /// From receiver to sender.
    pub reverse: DirectionCounts,
    /// The forward direction every 100 ms of the whole run; empty unless asked for, and for private links.
    pub samples: Vec<LinkSample>,
    /// What the forward direction had counted at times of the whole run, from its start, every 100 ms; empty where nobody
    /// looked, where no algorithm detects bottlenecks, and for links at which no subflow of several waits longest.
    #[serde(default)]
    pub looks: Vec<LinkLook>,
}

/// What a direction of a link had counted by then.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct LinkLook {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Since the start of the run.
    pub counts: DirectionCounts,
}

/// A direction of a link at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LinkSample {
    /// Since the start of the run, nanoseconds.
    pub time_ns: u64,
    /// Packets in the queue, the one being sent included.
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
    /// Packets that got a congestion mark.
    pub marks: u64,
    /// Integral of the queue length over time, packets x nanoseconds; the packet being sent counts.
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
