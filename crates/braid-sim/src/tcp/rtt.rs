//! Round-trip time: smoothed, smallest, and the timeout derived from them (RFC 6298 as Linux does it).

use super::wheel::TICK_NS;

/// Floor of the variance term, microseconds: hence RTO >= srtt + 200 ms.
const RTTVAR_FLOOR_US: u32 = 200_000;
/// Timeouts are whole ticks, microseconds.
const TICK_US: u32 = (TICK_NS / 1_000) as u32;
/// Largest timeout, microseconds.
const RTO_MAX_US: u32 = 120_000_000;
/// Timeout before the first sample, microseconds.
const RTO_INITIAL_US: u32 = 1_000_000;
/// Window of the minimum, microseconds.
const MIN_RTT_WINDOW_US: u64 = 300_000_000;

/// Estimator of one subflow.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT, microseconds; 0 before the first sample.
    srtt8: u32,
    /// Four times the mean deviation, microseconds.
    mdev4: u32,
    /// Largest `mdev4` of this round, at least the floor.
    largest4: u32,
    /// The variance term: rises at once, falls by a quarter of the difference per round.
    rttvar4: u32,
    /// The round ends when this packet is acknowledged.
    round_end: u32,
    backoff: u32,
    /// Timeout with its back-off, nanoseconds.
    rto_ns: u64,
    minimum: WindowedMinimum,
}

impl Rtt {
    pub(crate) fn new() -> Self {
        Self {
            srtt8: 0,
            mdev4: 0,
            largest4: 0,
            rttvar4: 0,
            round_end: 0,
            backoff: 0,
            rto_ns: u64::from(RTO_INITIAL_US) * 1_000,
            minimum: WindowedMinimum::default(),
        }
    }

    /// Smoothed RTT in microseconds, 0 before the first sample.
    #[inline]
    pub(crate) fn srtt_us(&self) -> u32 {
        self.srtt8 >> 3
    }

    /// RTTVAR of RFC 6298, and Linux's slow maximum of four times that, at least the floor, microseconds.
    pub(crate) fn variation_us(&self) -> (u32, u32) {
        (self.mdev4 >> 2, self.rttvar4)
    }

    /// Takes a sample for the timeout. `snd_una` and `snd_nxt` delimit rounds.
    #[inline]
    pub(crate) fn sample(&mut self, rtt_us: u32, snd_una: u32, snd_nxt: u32) {
        let rtt = rtt_us.max(1);
        self.backoff = 0;
        if self.srtt8 == 0 {
            self.srtt8 = rtt << 3;
            self.mdev4 = rtt << 1;
            self.rttvar4 = self.mdev4.max(RTTVAR_FLOOR_US);
            self.largest4 = self.rttvar4;
            self.round_end = snd_nxt;
            self.compute_timeout();
            return;
        }
        let error = rtt as i32 - (self.srtt8 >> 3) as i32;
        self.srtt8 = (self.srtt8 as i32 + error) as u32;
        let mut excess = error.abs() - (self.mdev4 >> 2) as i32;
        if error < 0 && excess > 0 {
            // A falling RTT must not look like a growing deviation: gain 1/32 instead of 1/4.
            excess >>= 3;
        }
        self.mdev4 = (self.mdev4 as i32 + excess) as u32;
        if self.mdev4 > self.largest4 {
            self.largest4 = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.largest4);
        }
        if snd_una > self.round_end {
            if self.largest4 < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.largest4) >> 2;
            }
            self.round_end = snd_nxt;
            self.largest4 = RTTVAR_FLOOR_US;
        }
        self.compute_timeout();
    }

    #[inline]
    fn compute_timeout(&mut self) {
        let plain = if self.srtt8 == 0 { RTO_INITIAL_US } else { (self.srtt8 >> 3) + self.rttvar4 };
        let ticks = u64::from(plain.div_ceil(TICK_US));
        self.rto_ns =
            ((ticks * u64::from(TICK_US)) << self.backoff.min(16)).min(u64::from(RTO_MAX_US)) * 1_000;
    }

    /// Takes a sample for the minimum; returns the minimum.
    #[inline]
    pub(crate) fn sample_minimum(&mut self, now_us: u64, rtt_us: u32) -> u32 {
        self.minimum.sample(now_us, rtt_us.max(1))
    }

    /// Retransmission timeout with its back-off, nanoseconds.
    #[inline]
    pub(crate) fn rto_ns(&self) -> u64 {
        self.rto_ns
    }

    /// The timer expired: the timeout doubles until the next sample.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
        self.compute_timeout();
    }

    #[inline]
    pub(crate) fn has_sample(&self) -> bool {
        self.srtt8 != 0
    }
}

/// Smallest value of the last 300 s in constant space: the best, and the best since each of the two before.
///
/// Values expire in thirds of the window, so the result may be up to a third too old, never too small.
#[derive(Clone, Copy, Debug, Default)]
struct WindowedMinimum {
    /// (time, value), ascending in both; value 0: unset.
    best: [(u64, u32); 3],
    /// Before this time no value expires.
    stands_until: u64,
}

impl WindowedMinimum {
    #[inline]
    fn sample(&mut self, now_us: u64, value: u32) -> u32 {
        if value <= self.best[2].1 || now_us >= self.stands_until {
            self.update(now_us, value);
        }
        self.best[0].1
    }

    fn update(&mut self, now_us: u64, value: u32) {
        let new = (now_us, value);
        let best = &mut self.best;
        if best[0].1 == 0 || value <= best[0].1 {
            *best = [new; 3];
        } else {
            if value <= best[1].1 {
                best[1] = new;
                best[2] = new;
            } else if value <= best[2].1 {
                best[2] = new;
            }
            if now_us - best[0].0 > MIN_RTT_WINDOW_US {
                *best = [best[1], best[2], new];
                if now_us - best[0].0 > MIN_RTT_WINDOW_US {
                    *best = [best[1], best[2], new];
                }
            } else if best[1].0 == best[0].0 && now_us - best[1].0 > MIN_RTT_WINDOW_US / 4 {
                best[1] = new;
                best[2] = new;
            } else if best[2].0 == best[1].0 && now_us - best[2].0 > MIN_RTT_WINDOW_US / 2 {
                best[2] = new;
            }
        }
        let stands = if best[1].0 == best[0].0 {
            best[1].0 + MIN_RTT_WINDOW_US / 4
        } else if best[2].0 == best[1].0 {
            (best[2].0 + MIN_RTT_WINDOW_US / 2).min(best[0].0 + MIN_RTT_WINDOW_US)
        } else {
            best[0].0 + MIN_RTT_WINDOW_US
        };
        self.stands_until = stands + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Rtt;

    fn after(samples_ms: &[u32]) -> Rtt {
        let mut rtt = Rtt::new();
        for &sample in samples_ms {
            rtt.sample(sample * 1_000, 0, 0);
        }
        rtt
    }

    fn rto_us(rtt: &Rtt) -> u64 {
        rtt.rto_ns() / 1_000
    }

    #[test]
    fn a_constant_rtt_gives_rtt_plus_200_ms() {
        assert_eq!(rto_us(&after(&[100; 50])), 300_000);
    }

    #[test]
    fn the_first_sample_gives_three_times_itself_when_that_is_more() {
        assert_eq!(rto_us(&after(&[1_000])), 3_000_000);
    }

    #[test]
    fn a_jump_raises_the_variance_as_the_kernel_computes_it() {
        let rtt = after(&[50, 50, 250]);
        assert_eq!(rtt.srtt_us(), 75_000);
        assert_eq!(rto_us(&rtt), 332_000, "331.25 ms, as ticks");
    }

    #[test]
    fn each_expiry_doubles_the_timeout_and_a_sample_restores_it() {
        let mut rtt = after(&[100; 50]);
        let series: Vec<u64> = (0..4)
            .map(|_| {
                let rto = rto_us(&rtt);
                rtt.back_off();
                rto
            })
            .collect();
        assert_eq!(series, [300_000, 600_000, 1_200_000, 2_400_000]);
        rtt.sample(100_000, 0, 0);
        assert_eq!(rto_us(&rtt), 300_000);
    }

    #[test]
    fn the_timeout_never_exceeds_two_minutes() {
        let mut rtt = after(&[100]);
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rto_us(&rtt), 120_000_000);
    }

    #[test]
    fn the_minimum_forgets_what_is_older_than_its_window() {
        let mut rtt = Rtt::new();
        assert_eq!(rtt.sample_minimum(0, 10), 10);
        let mut last = 0;
        for second in 1..700_u64 {
            last = rtt.sample_minimum(second * 1_000_000, 20);
            if second <= 300 {
                assert_eq!(last, 10, "at {second} s");
            }
        }
        assert_eq!(last, 20);
    }
}
