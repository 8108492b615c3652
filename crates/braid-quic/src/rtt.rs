//! RTT of a path as in the contract and in TCP: smoothed over the first packet of each ACK, so that it includes the
//! delay of the ACK and window / RTT is the rate; the minimum over the last packet. The stack's own estimator uses the
//! last packet without the delay (RFC 9002 sect. 5.3), and is one ACK behind when controllers see it.

/// Window of the minimum, at least this long and at most twice, microseconds.
const WINDOW_US: u64 = 150_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT (RFC 6298); 0 before the first sample.
    srtt8: u64,
    /// Start of the present half of the minimum's window.
    since_us: u64,
    minimum: u32,
    minimum_before: u32,
}

impl Rtt {
    /// Time since the first and since the last packet of an ACK was sent.
    pub(crate) fn sample(&mut self, now_us: u64, first_us: u32, last_us: u32) {
        let (rtt, rtt_us) = (u64::from(first_us), last_us);
        self.srtt8 = if self.srtt8 == 0 { 8 * rtt } else { self.srtt8 - self.srtt8 / 8 + rtt };
        if self.minimum == 0 || now_us - self.since_us > WINDOW_US {
            self.minimum_before = if self.minimum == 0 { rtt_us } else { self.minimum };
            (self.minimum, self.since_us) = (rtt_us, now_us);
        }
        self.minimum = self.minimum.min(rtt_us);
    }

    pub(crate) fn srtt_us(&self) -> u32 {
        (self.srtt8 / 8).min(u64::from(u32::MAX)) as u32
    }

    pub(crate) fn minimum_us(&self) -> u32 {
        self.minimum.min(self.minimum_before)
    }
}

#[cfg(test)]
mod tests {
    use super::Rtt;

    #[test]
    fn the_first_sample_is_the_mean_and_later_ones_count_an_eighth() {
        let mut rtt = Rtt::default();
        rtt.sample(0, 80_000, 50_000);
        assert_eq!(rtt.srtt_us(), 80_000);
        rtt.sample(1, 160_000, 50_000);
        assert_eq!(rtt.srtt_us(), 90_000);
        assert_eq!(rtt.minimum_us(), 50_000, "of the last packet");
    }

    #[test]
    fn the_minimum_is_forgotten_after_five_minutes() {
        let mut rtt = Rtt::default();
        rtt.sample(0, 10_000, 10_000);
        for minute in 1..=2 {
            rtt.sample(minute * 60_000_000, 90_000, 30_000);
        }
        assert_eq!(rtt.minimum_us(), 10_000);
        for minute in 3..=6 {
            rtt.sample(minute * 60_000_000, 90_000, 20_000);
        }
        assert_eq!(rtt.minimum_us(), 20_000);
    }
}
