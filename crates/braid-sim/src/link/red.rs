//! Random early detection (Floyd and Jacobson 1993), with its gentle form: the longer the mean queue, the likelier an
//! arriving packet is dropped or marked.
//!
//! In fixed point, so that results are equal on every machine.

use braid_scenario::model::Red as Parameters;

use crate::random::Stream;

/// 1.0, with 32 fraction bits.
const ONE: u64 = 1 << 32;

/// Fate of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// Drop it, or mark it if it is ECN-capable.
    Early,
    /// Drop it.
    Full,
}

pub(super) struct Red {
    min: u64,
    max: u64,
    probability: u64,
    weight: u64,
    gentle: bool,
    pub(super) ecn: bool,
    /// Mean length in packets.
    mean: u64,
    /// Packets since the last one that was dropped or marked; `None`: the mean was below `min`.
    since: Option<u64>,
    random: Stream,
}

fn fixed(value: f64) -> u64 {
    (value * ONE as f64) as u64
}

fn times(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 32) as u64
}

fn over(a: u64, b: u64) -> u64 {
    ((u128::from(a) << 32) / u128::from(b)) as u64
}

impl Red {
    pub(super) fn new(parameters: &Parameters, random: Stream) -> Self {
        let mut red = Self {
            min: 0,
            max: 0,
            probability: 0,
            weight: 0,
            gentle: false,
            ecn: false,
            mean: 0,
            since: None,
            random,
        };
        red.set(parameters);
        red
    }

    /// Sets other parameters; the mean stays.
    pub(super) fn set(&mut self, parameters: &Parameters) {
        self.min = u64::from(parameters.min) << 32;
        self.max = u64::from(parameters.max) << 32;
        self.probability = fixed(parameters.probability);
        self.weight = fixed(parameters.weight);
        self.gentle = parameters.gentle;
        self.ecn = parameters.ecn;
    }

    /// A packet finds `length` others; `idle`: idle time of the link before, in packet transmission times.
    pub(super) fn arrival(&mut self, length: u32, idle: u64) -> Verdict {
        self.age(idle);
        let length = u64::from(length) << 32;
        self.mean = times(self.mean, ONE - self.weight) + times(length, self.weight);
        let probability = if self.mean < self.min {
            self.since = None;
            return Verdict::Pass;
        } else if self.mean < self.max {
            times(self.probability, over(self.mean - self.min, self.max - self.min))
        } else if self.gentle && self.mean < 2 * self.max {
            self.probability + times(ONE - self.probability, over(self.mean - self.max, self.max))
        } else {
            self.since = Some(0);
            return Verdict::Full;
        };
        // Spreads drops evenly: on average 1/probability packets apart, never further.
        let since = self.since.map_or(0, |since| since + 1);
        let passed = since.saturating_mul(probability);
        let now = if passed < ONE { over(probability, ONE - passed) } else { ONE };
        if self.random.next() >> 32 < now {
            self.since = Some(0);
            return Verdict::Early;
        }
        self.since = Some(since);
        Verdict::Pass
    }

    /// Applies `n` arrivals at an empty queue.
    fn age(&mut self, mut n: u64) {
        let mut factor = ONE - self.weight;
        while n > 0 && self.mean > 0 {
            if n % 2 == 1 {
                self.mean = times(self.mean, factor);
            }
            factor = times(factor, factor);
            n /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Parameters, Red, Verdict};
    use crate::random::Stream;

    const RED: Parameters =
        Parameters { min: 20, max: 60, probability: 0.1, weight: 0.5, gentle: true, ecn: false };

    /// Verdicts for many packets that find the same queue, once the mean has settled.
    fn early(parameters: &Parameters, length: u32) -> (usize, usize, Vec<usize>) {
        let mut red = Red::new(parameters, Stream::new(1, "test"));
        for _ in 0..100 {
            red.arrival(length, 0);
        }
        let verdicts: Vec<Verdict> = (0..100_000).map(|_| red.arrival(length, 0)).collect();
        let count = |verdict| verdicts.iter().filter(|&&found| found == verdict).count();
        let at: Vec<usize> = (0..verdicts.len()).filter(|&i| verdicts[i] == Verdict::Early).collect();
        (count(Verdict::Early), count(Verdict::Full), at.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    /// The gaps between drops are uniform from 1 to below 1/p packets, so 1/2p on average (Floyd and Jacobson, section 7).
    #[test]
    fn drops_are_spread_evenly_with_the_probability_that_the_mean_length_gives() {
        for (length, probability) in [(30, 0.025), (40, 0.05), (60, 0.1), (90, 0.55)] {
            let (n, full, gaps) = early(&RED, length);
            let expected = 100_000.0 * f64::min(2.0 * probability, 1.0);
            assert!((n as f64 / expected - 1.0).abs() < 0.04, "{length}: {n} of {expected}");
            assert!(
                gaps.iter().all(|&gap| gap as f64 <= 1.0 / probability),
                "{length}: a gap longer than 1/p"
            );
            assert_eq!(full, 0);
        }
        assert_eq!(early(&RED, 19).0, 0);
        assert_eq!(early(&RED, 121).1, 100_000);
        assert_eq!(early(&Parameters { gentle: false, ..RED }, 61).1, 100_000);
    }

    #[test]
    fn the_mean_follows_the_queue_and_forgets_while_the_link_is_idle() {
        let parameters = Parameters { weight: 0.002, ..RED };
        let mut red = Red::new(&parameters, Stream::new(1, "test"));
        for _ in 0..500 {
            red.arrival(50, 0);
        }
        let mean = |red: &Red| red.mean as f64 / super::ONE as f64;
        let expected = 50.0 * (1.0 - 0.998_f64.powi(500));
        assert!((mean(&red) - expected).abs() < 0.01, "{} {expected}", mean(&red));
        red.arrival(0, 345);
        let expected = expected * 0.998_f64.powi(346);
        assert!((mean(&red) - expected).abs() < 0.01, "{} {expected}", mean(&red));
    }
}
