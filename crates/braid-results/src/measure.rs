//! Raw counters of a run by a backend.
//!
//! Counters cover the measured part of the run, from the end of the warm-up to the start of the cool-down, and again
//! each of the scenario's periods. Only samples begin with the run.

use serde::{Deserialize, Serialize};

/// Time between two samples.
pub const SAMPLE_INTERVAL_NS: u64 = 100_000_000;

/// Declares a struct of counts that only grow: those of an interval are the difference of two snapshots. What stands
/// `beside` them is no count and stays as it is.
macro_rules! counts {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty,)*
        }
        beside {
            $($(#[$other_doc:meta])* $other:ident: $other_type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($(#[$other_doc])* pub $other: $other_type,)*
        }

        impl $name {
            /// Adds what was counted elsewhere, or at another time.
            pub fn add(&mut self, other: &Self) {
                self.merge(other, true);
            }

            /// What was counted since `start`.
            #[must_use]
            pub fn since(&self, start: &Self) -> Self {
                let mut own = self.clone();
                own.merge(start, false);
                own
            }
        }

        impl Count for $name {
            fn merge(&mut self, other: &Self, add: bool) {
                $(self.$field.merge(&other.$field, add);)*
            }
        }
    };
}

/// A count, or several; the other one is added or subtracted.
trait Count {
    fn merge(&mut self, other: &Self, add: bool);
}

macro_rules! number {
    ($($type:ty),*) => {
        $(impl Count for $type {
            fn merge(&mut self, other: &Self, add: bool) {
                if add { *self += other } else { *self -= other }
            }
        })*
    };
}

number!(u64, u128);

impl<T: Count> Count for Option<T> {
    fn merge(&mut self, other: &Self, add: bool) {
        if let (Some(own), Some(other)) = (self, other) {
            own.merge(other, add);
        }
    }
}

impl<T: Count> Count for Vec<T> {
    fn merge(&mut self, other: &Self, add: bool) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.merge(other, add));
    }
}

counts! {
    /// One run.
    pub struct Measurements {
        /// One per connection of the scenario, in its order.
        connections: Vec<ConnectionCounts>,
        /// One per link of the scenario, in its order.
        links: Vec<LinkCounts>,
    }
    beside {
        /// Length of the measured part, nanoseconds.
        measured_ns: u64,
        /// One per period of the scenario, in its order: the same counts over that interval of the run. Without samples and
        /// periods of their own.
        periods: Vec<Measurements>,
        /// Whole run: events the engine handled.
        events: u64,
        /// Whole run: data packets that reached their receiver.
        packets_delivered: u64,
    }
}

counts! {
    /// One connection.
    pub struct ConnectionCounts {
        /// Part of the measured time during which it was open, nanoseconds.
        active_ns: u64,
        /// Payload bytes handed to the application in order.
        goodput_bytes: u64,
        /// Packets of the data level sent once more on another subflow.
        reinjections: u64,
        /// What its data level did; `None` of plain TCP, and where a kernel does not tell.
        data_level: Option<DataLevelCounts>,
        /// One per subflow, in the scenario's order.
        subflows: Vec<SubflowCounts>,
    }
    beside {
        /// Of the whole run, in the order of their beginnings; none of a bulk transfer, and none in periods.
        transfers: Vec<Transfer>,
        /// The programs whose traffic it was, the server first; none in periods.
        programs: Vec<Program>,
    }
}

counts! {
    /// What the data level of an MPTCP connection did besides sending everything once.
    #[derive(Eq)]
    pub struct DataLevelCounts {
        /// Payload bytes sent on a further subflow: reinjected, sent again because the window was full, or copies.
        repeated_bytes: u64,
        /// Packets that the scheduler had sent as copies.
        copies: u64,
        /// Packets sent again because the receive window was full.
        opportunistic: u64,
        /// Congestion windows that the scheduler halved for the same reason.
        penalties: u64,
        /// How long the receive window kept data back while a subflow had room, nanoseconds.
        window_limited_ns: u64,
        /// Packets handed to the application.
        packets: u64,
        /// How long those that came out of order waited at the receiver.
        delays: Delays,
    }
    beside {}
}

impl DataLevelCounts {
    /// Mean time that a packet waited for earlier ones at the receiver, milliseconds; those in order did not.
    pub fn mean_delay_ms(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays.sum_ns as f64 / self.packets as f64 / 1e6)
    }

    /// The same, not exceeded by `percent` of 100 packets; an upper bound, 12 % too large at most.
    pub(crate) fn delay_quantile_ms(&self, percent: u64) -> Option<f64> {
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
}

impl Count for Delays {
    fn merge(&mut self, other: &Self, add: bool) {
        self.sum_ns.merge(&other.sum_ns, add);
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.merge(&other.buckets, add);
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

counts! {
    /// One subflow.
    pub struct SubflowCounts {
        /// Part of the measured time during which it was established, nanoseconds.
        active_ns: u64,
        /// IP bytes of its data packets that reached the receiver.
        received_bytes: u64,
        /// Data packets sent, retransmissions included.
        packets_sent: u64,
        /// Of those, retransmissions.
        retransmissions: u64,
        /// Congestion episodes entered by fast retransmit.
        fast_retransmits: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Congestion episodes entered by an ECN echo.
        ecn_reductions: u64,
        /// Episodes undone because the loss was spurious.
        undos: u64,
        /// Sum of all RTT samples, microseconds.
        rtt_sum_us: u64,
        /// Number of RTT samples.
        rtt_samples: u64,
        /// Integral of cwnd over time, packets x nanoseconds.
        cwnd_integral: u128,
    }
    beside {
        /// The backend does not know what reduced the window: `fast_retransmits`, `ecn_reductions` and `undos` say nothing.
        #[serde(default)]
        causes_unknown: bool,
        /// cwnd in packets every 100 ms while the subflow was established.
        cwnd_samples: Vec<u32>,
        /// Every 100 ms of the whole run while the subflow was established; empty unless asked for.
        samples: Vec<SubflowSample>,
        /// Whole run: what the algorithm said of shared bottlenecks, from each time the subflow was established; empty if it
        /// says nothing of them.
        verdicts: Vec<VerdictChange>,
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

counts! {
    /// One link, both directions.
    pub struct LinkCounts {
        /// From sender to receiver.
        forward: DirectionCounts,
        /// From receiver to sender.
        reverse: DirectionCounts,
    }
    beside {
        /// The forward direction every 100 ms of the whole run; empty unless asked for, and for private links.
        samples: Vec<LinkSample>,
        /// What the forward direction had counted at times of the whole run, from its start, every 100 ms; empty on real
        /// kernels, where no algorithm detects bottlenecks, and for links at which no subflow of several waits longest.
        #[serde(default)]
        looks: Vec<LinkLook>,
    }
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

counts! {
    /// One direction of a link.
    pub struct DirectionCounts {
        /// Packets that entered the queue.
        packets: u64,
        /// Their bytes.
        bytes: u64,
        /// Time the transmitter was busy, nanoseconds.
        busy_ns: u64,
        /// Packets dropped because the queue was full.
        drops_queue: u64,
        /// Packets lost on the wire.
        drops_wire: u64,
        /// Packets that got a congestion mark.
        marks: u64,
        /// Integral of the queue length over time, packets x nanoseconds; the packet being sent counts.
        queue_integral: u128,
    }
    beside {}
}

/// Samples of a run of that duration by time: place `i` has that at `i` times [`SAMPLE_INTERVAL_NS`].
pub fn by_time<T>(samples: &[T], time_ns: impl Fn(&T) -> u64, duration_ns: u64) -> Vec<Option<&T>> {
    let mut grid: Vec<Option<&T>> = Vec::new();
    grid.resize_with((duration_ns / SAMPLE_INTERVAL_NS) as usize + 1, || None);
    for sample in samples {
        if let Some(place) = grid.get_mut((time_ns(sample) / SAMPLE_INTERVAL_NS) as usize) {
            *place = Some(sample);
        }
    }
    grid
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
