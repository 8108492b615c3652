//! A receive buffer that grows with what the application reads (Linux `tcp_rcv_space_adjust`, `mptcp_rcv_space_adjust`).
//!
//! Once per round trip: c bytes were read, p in the best one before. If c > p, the buffer grows to (2 c + 16 mss) (1 +
//! 2 (c - p)/p) bytes: twice the bytes of a round trip, and more while that number grows. The offered window grows by
//! two packets for each arriving packet (`tcp_grow_window`).

/// First offered window, bytes: half of `tcp_rmem`'s default.
const FIRST_OFFER: u64 = 65_536;
/// Reference for the first round trip (`mptcp_rcv_space_init`), packets.
const FIRST_WINDOW: u64 = 10;
/// Packets of buffer in addition to twice the bytes read.
const SLACK: u64 = 16;
/// Growth of the offered window per arriving packet, packets.
const STEP: u32 = 2;

pub(crate) struct Autotuning {
    mss: u64,
    /// Bytes: maximum of the buffer, its present size, and bytes read in the best round trip.
    most: u64,
    size: u64,
    best: u64,
    /// Start of the present round trip, and its first packet.
    since: u64,
    first: u32,
}

impl Autotuning {
    pub(crate) fn new(most: u64, mss: u32) -> Self {
        let mss = u64::from(mss);
        Self { mss, most, size: FIRST_OFFER.min(most), best: FIRST_WINDOW * mss, since: 0, first: 0 }
    }

    fn packets(&self) -> u32 {
        (self.size / self.mss).max(1) as u32
    }

    /// First offered window, packets.
    pub(crate) fn first_offer(&self) -> u32 {
        self.packets()
    }

    /// The offered window after a further packet has arrived.
    pub(crate) fn step(&self, offer: u32) -> u32 {
        offer.max(self.packets().min(offer.saturating_add(STEP)))
    }

    /// The application has read everything below `read`.
    pub(crate) fn read(&mut self, read: u32, now: u64, rtt_us: u32) {
        if rtt_us == 0 || now - self.since < 1_000 * u64::from(rtt_us) {
            return;
        }
        let copied = u64::from(read - self.first) * self.mss;
        if copied > self.best {
            let window = 2 * copied + SLACK * self.mss;
            let growth = u128::from(window) * u128::from(copied - self.best) / u128::from(self.best);
            let wanted = u128::from(window) + 2 * growth;
            self.size = self.size.max(u64::try_from(wanted).unwrap_or(u64::MAX).min(self.most));
            self.best = copied;
        }
        (self.since, self.first) = (now, read);
    }
}

#[cfg(test)]
mod tests {
    use super::Autotuning;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_buffer_grows_by_what_was_read_in_a_round_trip_and_never_shrinks() {
        let mut tuning = Autotuning::new(6 << 20, 1_000);
        assert_eq!(tuning.first_offer(), 65);
        tuning.read(5, 100 * MS, 50_000);
        assert_eq!(tuning.size, 65_536, "no more than the first window");
        tuning.read(25, 149 * MS, 50_000);
        assert_eq!((tuning.size, tuning.first), (65_536, 5), "the round trip is not over");
        // 20 packets were read, after 10 in the round before: the size becomes (40 + 16) (1 + 2) packets.
        tuning.read(25, 150 * MS, 50_000);
        assert_eq!((tuning.size, tuning.best), (168_000, 20_000));
        // 30 instead of 20: (60 + 16) (1 + 1), which is less.
        tuning.read(55, 200 * MS, 50_000);
        assert_eq!((tuning.size, tuning.best), (168_000, 30_000));
        tuning.read(75, 250 * MS, 50_000);
        assert_eq!((tuning.size, tuning.best), (168_000, 30_000), "less than the best");
        tuning.read(100_000, 300 * MS, 50_000);
        assert_eq!(tuning.size, 6 << 20);
    }

    #[test]
    fn without_a_round_trip_time_nothing_is_measured() {
        let mut tuning = Autotuning::new(1 << 20, 1_000);
        tuning.read(1_000, 1_000 * MS, 0);
        assert_eq!((tuning.size, tuning.first), (65_536, 0));
    }

    #[test]
    fn the_offer_follows_by_two_packets_for_each_that_comes() {
        let mut tuning = Autotuning::new(1 << 20, 1_000);
        tuning.read(40, 100 * MS, 50_000);
        assert_eq!(tuning.packets(), 672);
        assert_eq!((tuning.step(65), tuning.step(671), tuning.step(672)), (67, 672, 672));
    }
}
