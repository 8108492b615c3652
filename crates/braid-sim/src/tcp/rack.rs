//! Loss detection (RFC 8985; Linux `tcp_recovery.c`): segments sent well before a delivered one are lost.

use super::scoreboard::Scoreboard;

/// Initial `reordering`: the classic three duplicates.
pub(crate) const REORDERING: u32 = 3;
const REORDERING_MAX: u32 = 300;
/// Recoveries for which a widened reordering window persists.
const PERSIST: u8 = 16;

/// State of loss detection.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Transmission time and number of the most recently sent packet that has arrived.
    sent: u64,
    seq: u32,
    any: bool,
    /// Its RTT, nanoseconds.
    rtt_ns: u64,
    /// A packet arrived since the last loss detection.
    advanced: bool,
    steps: u32,
    pub(super) persist: u8,
    duplicate_seen: bool,
    /// The reordering window is widened at most once per round.
    adapt_after: u32,
    /// A packet that was never retransmitted arrived after one sent later.
    pub(crate) reordering_seen: bool,
    /// Distance of reordering in packets.
    pub(crate) reordering: u32,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            seq: 0,
            any: false,
            rtt_ns: 0,
            advanced: false,
            steps: 1,
            persist: 0,
            duplicate_seen: false,
            adapt_after: 0,
            reordering_seen: false,
            reordering: REORDERING,
        }
    }

    /// A packet last sent at `sent` has arrived. `doubtful`: it was retransmitted, and the original may have arrived.
    #[inline]
    pub(crate) fn arrived(&mut self, now: u64, sent: u64, seq: u32, doubtful: bool, min_rtt_us: u32) {
        let rtt = now - sent;
        if doubtful && rtt < u64::from(min_rtt_us) * 1_000 {
            return;
        }
        self.advanced = true;
        self.rtt_ns = rtt;
        if !self.any || (sent, seq) > (self.sent, self.seq) {
            (self.sent, self.seq, self.any) = (sent, seq, true);
        }
    }

    /// Packet `seq`, never retransmitted, arrived while `highest` had already been reported.
    pub(crate) fn reordered(&mut self, seq: u32, highest: u32) {
        self.reordering_seen = true;
        self.reordering = self.reordering.max(highest - seq).min(REORDERING_MAX);
    }

    /// Transmission time of the most recently sent packet that has arrived.
    #[cfg(test)]
    pub(crate) fn latest_sent(&self) -> u64 {
        self.sent
    }

    /// The receiver reported a duplicate that was not a probe.
    pub(crate) fn duplicate(&mut self) {
        self.duplicate_seen |= self.reordering_seen;
    }

    /// Once per acknowledgement: widens the window after a needless retransmission, narrows it later.
    #[inline]
    pub(crate) fn adapt(&mut self, snd_una: u32, snd_nxt: u32) {
        if self.duplicate_seen {
            self.duplicate_seen = false;
            if snd_una >= self.adapt_after {
                self.steps = (self.steps + 1).min(255);
                self.persist = PERSIST;
                self.adapt_after = snd_nxt;
            }
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery was undone because all its retransmissions were duplicates: the widened window is kept longer.
    pub(crate) fn undone_by_duplicates(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// A recovery ended without being undone.
    pub(crate) fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// After an undo all packets are checked again.
    pub(crate) fn look_again(&mut self) {
        self.advanced = true;
    }

    fn window_ns(&self, in_recovery: bool, sacked_out: u32, min_rtt_us: u32, srtt_us: u32) -> u64 {
        if !self.reordering_seen && (in_recovery || sacked_out >= self.reordering) {
            return 0;
        }
        (u64::from(min_rtt_us) * 250 * u64::from(self.steps)).min(u64::from(srtt_us) * 1_000)
    }

    /// Marks lost packets. Returns the number of marked packets, whether one was a retransmission, and the nanoseconds
    /// until the next check.
    #[inline]
    pub(crate) fn detect(
        &mut self,
        now: u64,
        board: &mut Scoreboard,
        in_recovery: bool,
        min_rtt_us: u32,
        srtt_us: u32,
    ) -> Detected {
        let mut detected = Detected::default();
        if !self.advanced {
            return detected;
        }
        self.advanced = false;
        self.scan(now, board, in_recovery, min_rtt_us, srtt_us, &mut detected);
        detected
    }

    /// As [`Self::detect`], because the timer expired.
    pub(crate) fn detect_again(
        &mut self,
        now: u64,
        board: &mut Scoreboard,
        in_recovery: bool,
        min_rtt_us: u32,
        srtt_us: u32,
    ) -> Detected {
        let mut detected = Detected::default();
        self.scan(now, board, in_recovery, min_rtt_us, srtt_us, &mut detected);
        detected
    }

    #[inline]
    fn scan(
        &mut self,
        now: u64,
        board: &mut Scoreboard,
        in_recovery: bool,
        min_rtt_us: u32,
        srtt_us: u32,
        detected: &mut Detected,
    ) {
        let mut at = board.oldest();
        let mut window = None;
        while let Some(seq) = at {
            let sent = board.get(seq).sent;
            if (sent, seq) >= (self.sent, self.seq) {
                break;
            }
            at = board.newer(seq);
            let window = *window
                .get_or_insert_with(|| self.window_ns(in_recovery, board.sacked_out, min_rtt_us, srtt_us));
            let due = sent + self.rtt_ns + window;
            if due <= now {
                detected.retransmission |= board.mark_lost(seq, false);
                detected.marked += 1;
            } else {
                detected.wait_ns = detected.wait_ns.max(due - now);
            }
        }
    }

    /// After a timeout: whether a packet sent at `sent` counts as lost, too.
    pub(crate) fn is_overdue(&self, now: u64, sent: u64) -> bool {
        sent + self.rtt_ns <= now
    }
}

/// Result of [`Rack::detect`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detected {
    pub(crate) marked: u32,
    pub(crate) retransmission: bool,
    /// 0: no packet waits.
    pub(crate) wait_ns: u64,
}
