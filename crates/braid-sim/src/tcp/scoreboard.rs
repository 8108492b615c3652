//! Records of sent packets.
//!
//! No operation scales with the window: packets are found by number, selectively acknowledged ones are ranges, those
//! awaiting retransmission are a sorted queue, and the order of transmission is a list through the records.

use std::collections::VecDeque;

use crate::ranges::Ranges;
use crate::ring::Ring;

const NONE: u32 = u32::MAX;

/// Bits of [`Segment::state`].
pub(crate) mod segment {
    /// Selectively acknowledged.
    pub(crate) const SACKED: u8 = 1;
    /// Marked lost; with `RETRANS` its retransmission is in flight.
    pub(crate) const LOST: u8 = 2;
    /// A retransmission is believed to be in flight.
    pub(crate) const RETRANS: u8 = 4;
    /// Has been retransmitted at least once.
    pub(crate) const EVER_RETRANS: u8 = 8;
    /// Its data has been given to another subflow as well.
    pub(crate) const REINJECTED: u8 = 16;
    /// In the list of transmissions, where losses are looked for.
    pub(super) const LISTED: u8 = 32;
    /// A timeout marked it: back into the list if the loss turns out to be spurious.
    pub(super) const TIMED_OUT: u8 = 64;
}

/// A packet between its first transmission and its cumulative acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// Time of the latest transmission, nanoseconds.
    pub(crate) sent: u64,
    /// Its number on the connection.
    pub(crate) dsn: u32,
    /// Neighbours in order of transmission, of packets that are [`segment::LISTED`].
    older: u32,
    newer: u32,
    /// See [`segment`].
    pub(crate) state: u8,
}

/// A sender's record of the packets from `snd_una` to `snd_nxt`.
pub(crate) struct Scoreboard {
    segments: Ring<Segment>,
    pub(crate) snd_una: u32,
    pub(crate) snd_nxt: u32,
    pub(crate) sacked_out: u32,
    pub(crate) lost_out: u32,
    pub(crate) retrans_out: u32,
    /// Packets believed to be in the network (the pipe of RFC 6675): sent and not acknowledged, plus `retrans_out`,
    /// minus `sacked_out` and `lost_out`. Cached: used several times per acknowledgement.
    in_flight: u32,
    sacked: Ranges,
    /// Marked lost, ascending; may hold packets that have been acknowledged or retransmitted since.
    to_retransmit: VecDeque<u32>,
    oldest: u32,
    newest: u32,
    /// From this number on no packet was ever marked, so they are in order of transmission.
    unmarked_from: u32,
    /// Packets marked lost, if an observer wants them.
    pub(crate) losses: Option<Vec<u32>>,
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        Self {
            segments: Ring::new(),
            snd_una: 0,
            snd_nxt: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            in_flight: 0,
            sacked: Ranges::default(),
            to_retransmit: VecDeque::new(),
            oldest: NONE,
            newest: NONE,
            unmarked_from: 0,
            losses: None,
        }
    }

    #[inline]
    pub(crate) fn packets_out(&self) -> u32 {
        self.snd_nxt - self.snd_una
    }

    /// Packets believed to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        debug_assert_eq!(
            self.in_flight,
            self.packets_out() + self.retrans_out - self.sacked_out - self.lost_out
        );
        self.in_flight
    }

    #[inline]
    pub(crate) fn get(&self, seq: u32) -> &Segment {
        self.segments.get(seq)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, seq: u32) -> &mut Segment {
        self.segments.get_mut(seq)
    }

    /// One past the highest packet selectively acknowledged; `snd_una` if there is none.
    #[inline]
    pub(crate) fn highest_sacked(&self) -> u32 {
        self.sacked.end().map_or(self.snd_una, |end| end.max(self.snd_una))
    }

    /// A new packet leaves now; returns its number.
    #[inline]
    pub(crate) fn send_new(&mut self, now: u64, dsn: u32) -> u32 {
        let seq = self.snd_nxt;
        self.segments.push(Segment {
            sent: now,
            dsn,
            older: self.newest,
            newer: NONE,
            state: segment::LISTED,
        });
        self.snd_nxt += 1;
        self.in_flight += 1;
        self.append(seq);
        seq
    }

    /// The latest `n` packets sent, the last one first.
    pub(crate) fn latest(&self, n: usize) -> impl Iterator<Item = (u32, &Segment)> {
        let known = |seq: u32| (seq != NONE).then(|| (seq, self.get(seq)));
        std::iter::successors(known(self.newest), move |(_, record)| known(record.older)).take(n)
    }

    /// A retransmission of `seq` leaves now.
    pub(crate) fn send_again(&mut self, now: u64, seq: u32) {
        self.send_probe(now, seq);
        let record = self.get_mut(seq);
        if record.state & segment::RETRANS == 0 {
            record.state |= segment::RETRANS;
            self.retrans_out += 1;
            self.in_flight += 1;
        }
    }

    /// As [`Self::send_again`], but the copy does not count as in flight (Linux `tcp_send_loss_probe`).
    pub(crate) fn send_probe(&mut self, now: u64, seq: u32) {
        self.unlink(seq);
        self.unmarked_from = self.unmarked_from.max(seq + 1);
        let newest = self.newest;
        let record = self.get_mut(seq);
        record.sent = now;
        record.older = newest;
        record.newer = NONE;
        record.state = (record.state | segment::EVER_RETRANS | segment::LISTED) & !segment::TIMED_OUT;
        self.append(seq);
    }

    /// Acknowledges `[snd_una, ack)` cumulatively and returns the transmission times of the first and the last, if none
    /// was ever marked: the ordinary case.
    #[inline]
    pub(crate) fn acknowledge_unmarked(&mut self, ack: u32) -> Option<(u64, u64)> {
        if self.snd_una < self.unmarked_from {
            return None;
        }
        let sent = (self.get(self.snd_una).sent, self.get(ack - 1).sent);
        self.segments.remove_below(ack);
        self.in_flight -= ack - self.snd_una;
        self.snd_una = ack;
        if ack == self.snd_nxt {
            (self.oldest, self.newest) = (NONE, NONE);
        } else {
            self.oldest = ack;
            self.get_mut(ack).older = NONE;
        }
        Some(sent)
    }

    /// Acknowledges `snd_una` cumulatively: removes and returns it.
    #[inline]
    pub(crate) fn acknowledge_first(&mut self) -> Segment {
        let seq = self.snd_una;
        let record = *self.segments.get(seq);
        self.unlink(seq);
        let counts = |bit| u32::from(record.state & bit != 0);
        let (sacked, lost) = (counts(segment::SACKED), counts(segment::LOST));
        let again = counts(segment::RETRANS);
        self.sacked_out -= sacked;
        self.lost_out -= lost;
        self.retrans_out -= again;
        self.in_flight = self.in_flight + sacked + lost - again - 1;
        self.segments.pop();
        self.snd_una += 1;
        record
    }

    /// After a cumulative acknowledgement: removes entries below it.
    #[inline]
    pub(crate) fn trim(&mut self) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(self.snd_una);
        }
    }

    /// Marks `[start, end)` selectively acknowledged. Calls `fresh` with the number and the previous record of each
    /// newly acknowledged packet, in ascending order.
    pub(crate) fn acknowledge_range(&mut self, start: u32, end: u32, mut fresh: impl FnMut(u32, &Segment)) {
        let (start, end) = (start.max(self.snd_una), end.min(self.snd_nxt));
        if start >= end {
            return;
        }
        self.unmarked_from = self.unmarked_from.max(end);
        let mut sacked = std::mem::take(&mut self.sacked);
        sacked.insert(start, end, |from, to| {
            for seq in from..to {
                let record = *self.get(seq);
                self.unlink(seq);
                let mut state = record.state | segment::SACKED;
                self.sacked_out += 1;
                // A retransmission of what was not lost is believed to be under way still (Linux `tcp_sacktag_one`).
                if state & segment::LOST == 0 {
                    self.in_flight -= 1;
                } else {
                    let again = u32::from(state & segment::RETRANS != 0);
                    state &= !(segment::LOST | segment::RETRANS);
                    self.lost_out -= 1;
                    self.retrans_out -= again;
                    self.in_flight -= again;
                }
                self.get_mut(seq).state = state & !segment::LISTED;
                fresh(seq, &record);
            }
        });
        self.sacked = sacked;
    }

    /// The receiver got a packet twice that is acknowledged selectively: no copy of it is under way.
    pub(crate) fn duplicate(&mut self, seq: u32) {
        let record = self.get_mut(seq);
        if record.state & segment::RETRANS != 0 {
            record.state &= !segment::RETRANS;
            self.retrans_out -= 1;
            self.in_flight -= 1;
        }
    }

    /// Marks a packet lost that is neither acknowledged nor already waiting for a retransmission, because of a timeout or
    /// not. Returns whether it was a retransmission that was lost; a retransmission of a packet that was not marked is
    /// believed to be under way still (Linux `tcp_mark_skb_lost`).
    pub(crate) fn mark_lost(&mut self, seq: u32, timeout: bool) -> bool {
        if let Some(losses) = &mut self.losses {
            losses.push(seq);
        }
        self.unlink(seq);
        self.unmarked_from = self.unmarked_from.max(seq + 1);
        let record = self.get_mut(seq);
        let first_time = record.state & segment::LOST == 0;
        let retransmission = !first_time;
        let under_way = record.state & segment::RETRANS != 0;
        if timeout && !(first_time && under_way) {
            record.state |= segment::TIMED_OUT;
        }
        if first_time {
            record.state |= segment::LOST;
            self.lost_out += 1;
            self.in_flight -= 1;
            if under_way {
                if timeout {
                    // Only RACK takes what it marks off its list.
                    self.insert_by_time(seq);
                }
                return false;
            }
        } else {
            record.state &= !segment::RETRANS;
            self.retrans_out -= 1;
            self.in_flight -= 1;
        }
        match self.to_retransmit.back() {
            Some(&last) if last >= seq => {
                if let Err(at) = self.to_retransmit.binary_search(&seq) {
                    self.to_retransmit.insert(at, seq);
                }
            }
            _ => self.to_retransmit.push_back(seq),
        }
        retransmission
    }

    /// The lowest packet that waits for a retransmission; none while as many copies are under way as packets are lost
    /// (Linux `tcp_xmit_retransmit_queue`).
    pub(crate) fn next_to_retransmit(&mut self) -> Option<u32> {
        if self.retrans_out >= self.lost_out {
            return None;
        }
        while let Some(&seq) = self.to_retransmit.front() {
            if seq >= self.snd_una {
                let state = self.get(seq).state;
                if state & (segment::LOST | segment::RETRANS) == segment::LOST {
                    return Some(seq);
                }
            }
            self.to_retransmit.pop_front();
        }
        None
    }

    /// Takes back all loss marks: the loss was spurious.
    pub(crate) fn unmark_lost(&mut self) {
        let waiting = std::mem::take(&mut self.to_retransmit);
        for &seq in &waiting {
            if seq >= self.snd_una
                && self.get(seq).state & (segment::LOST | segment::RETRANS) == segment::LOST
            {
                let record = self.get_mut(seq);
                let timed_out = record.state & segment::TIMED_OUT != 0;
                record.state &= !(segment::LOST | segment::TIMED_OUT);
                self.lost_out -= 1;
                self.in_flight += 1;
                // What RACK marked leaves its list for good: only a timeout can mark it again.
                if timed_out {
                    self.insert_by_time(seq);
                }
            }
        }
        if self.lost_out > 0 {
            // Retransmissions in flight: no longer repairs of a loss.
            for seq in self.snd_una..self.snd_nxt {
                let record = self.get_mut(seq);
                if record.state & segment::LOST != 0 {
                    record.state &= !segment::LOST;
                    self.lost_out -= 1;
                    self.in_flight += 1;
                }
            }
        }
        self.to_retransmit = waiting;
        self.to_retransmit.clear();
    }

    /// The packet transmitted longest ago in which losses are looked for.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The packet transmitted next after `seq`.
    #[inline]
    pub(crate) fn newer(&self, seq: u32) -> Option<u32> {
        let newer = self.get(seq).newer;
        (newer != NONE).then_some(newer)
    }

    #[inline]
    fn append(&mut self, seq: u32) {
        if self.newest == NONE {
            self.oldest = seq;
        } else {
            let newest = self.newest;
            self.get_mut(newest).newer = seq;
        }
        self.newest = seq;
    }

    #[inline]
    fn unlink(&mut self, seq: u32) {
        let Segment { older, newer, state, .. } = *self.get(seq);
        if state & segment::LISTED == 0 {
            return;
        }
        self.get_mut(seq).state &= !segment::LISTED;
        if older == NONE {
            self.oldest = newer;
        } else {
            self.get_mut(older).newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.get_mut(newer).older = older;
        }
    }

    /// Puts a packet back into the order of transmission. Rare, so it walks from the newest end.
    fn insert_by_time(&mut self, seq: u32) {
        let key = (self.get(seq).sent, seq);
        let mut newer = NONE;
        let mut older = self.newest;
        while older != NONE && (self.get(older).sent, older) > key {
            newer = older;
            older = self.get(older).older;
        }
        let record = self.get_mut(seq);
        record.older = older;
        record.newer = newer;
        record.state |= segment::LISTED;
        if older == NONE {
            self.oldest = seq;
        } else {
            self.get_mut(older).newer = seq;
        }
        if newer == NONE {
            self.newest = seq;
        } else {
            self.get_mut(newer).older = seq;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scoreboard, segment};
    use proptest::prelude::*;

    impl Scoreboard {
        /// Recomputes all cached values.
        fn check(&self) {
            let all: Vec<_> = (self.snd_una..self.snd_nxt).map(|seq| (seq, *self.get(seq))).collect();
            let count = |bit| all.iter().filter(|(_, record)| record.state & bit != 0).count() as u32;
            assert_eq!(self.sacked_out, count(segment::SACKED));
            assert_eq!(self.lost_out, count(segment::LOST));
            assert_eq!(self.retrans_out, count(segment::RETRANS));
            let mut expected: Vec<_> = all
                .iter()
                .filter(|(_, record)| record.state & segment::LISTED != 0)
                .map(|(seq, record)| (record.sent, *seq))
                .collect();
            expected.sort_unstable();
            let mut listed = Vec::new();
            let mut at = self.oldest();
            while let Some(seq) = at {
                listed.push((self.get(seq).sent, seq));
                at = self.newer(seq);
            }
            assert_eq!(listed, expected, "order of transmission");
            for (seq, record) in all {
                let (sacked, waiting) = (record.state & segment::SACKED != 0, is_waiting(record.state));
                assert!(record.state & segment::LISTED == 0 || !(sacked || waiting), "{seq}");
                assert!(!sacked || record.state & segment::LOST == 0, "{seq}");
            }
        }
    }

    fn is_waiting(state: u8) -> bool {
        state & (segment::LOST | segment::RETRANS) == segment::LOST
    }

    /// Three packets, the first of which was retransmitted needlessly: its loss mark was taken back.
    fn retransmitted_needlessly() -> Scoreboard {
        let mut board = Scoreboard::new();
        for time in 0..3 {
            board.send_new(time, 0);
        }
        board.mark_lost(0, false);
        board.send_again(9, 0);
        board.unmark_lost();
        assert_eq!((board.in_flight(), board.retrans_out), (4, 1));
        board
    }

    #[test]
    fn a_needless_copy_is_in_flight_until_its_duplicate_is_reported() {
        let mut board = retransmitted_needlessly();
        board.acknowledge_range(0, 1, |_, _| {});
        assert_eq!((board.in_flight(), board.retrans_out), (3, 1));
        board.duplicate(0);
        assert_eq!((board.in_flight(), board.retrans_out), (2, 0));
        board.check();
    }

    #[test]
    fn a_needless_copy_keeps_its_packet_from_being_sent_again() {
        let mut board = retransmitted_needlessly();
        assert!(!board.mark_lost(0, false), "the copy is believed to be under way");
        assert_eq!((board.lost_out, board.retrans_out, board.next_to_retransmit()), (1, 1, None));
        // Another loss waits as long as more copies are under way than packets are lost.
        let mut board = retransmitted_needlessly();
        board.mark_lost(1, false);
        assert_eq!(board.next_to_retransmit(), None);
        board.duplicate(0);
        assert_eq!(board.next_to_retransmit(), Some(1));
    }

    #[test]
    fn what_rack_marked_is_not_found_lost_a_second_time_after_an_undo() {
        for (timeout, oldest) in [(false, 1), (true, 0)] {
            let mut board = Scoreboard::new();
            for time in 0..2 {
                board.send_new(time, 0);
            }
            board.mark_lost(0, timeout);
            board.unmark_lost();
            assert_eq!(board.oldest(), Some(oldest));
            board.check();
        }
    }

    #[test]
    fn a_probe_is_not_in_flight() {
        let mut board = Scoreboard::new();
        board.send_new(0, 0);
        board.send_new(1, 0);
        board.send_probe(5, 0);
        assert_eq!((board.in_flight(), board.oldest()), (2, Some(1)));
        assert_eq!(board.get(0).state, segment::EVER_RETRANS | segment::LISTED);
        board.check();
    }

    proptest! {
        #[test]
        fn counters_and_lists_agree_with_the_records(
            steps in prop::collection::vec((0..8_u8, 0..40_u32, 1..6_u32), 1..200),
        ) {
            let mut board = Scoreboard::new();
            for (time, (kind, at, length)) in steps.into_iter().enumerate() {
                let time = time as u64;
                let seq = board.snd_una + at;
                let outstanding = seq < board.snd_nxt;
                match kind {
                    0 => for _ in 0..length { board.send_new(time, 0); },
                    1 => {
                        let ack = board.snd_una + length.min(board.packets_out());
                        if ack == board.snd_una || board.acknowledge_unmarked(ack).is_none() {
                            while board.snd_una < ack { board.acknowledge_first(); }
                            board.trim();
                        }
                    }
                    2 => board.acknowledge_range(seq, seq + length, |_, _| {}),
                    3 if outstanding => {
                        let state = board.get(seq).state;
                        if state & segment::SACKED == 0 && !is_waiting(state) {
                            board.mark_lost(seq, length > 3);
                        }
                    }
                    4 => {
                        let mut all = board.snd_una..board.snd_nxt;
                        let lowest = all.find(|&seq| is_waiting(board.get(seq).state));
                        let lowest = lowest.filter(|_| board.retrans_out < board.lost_out);
                        prop_assert_eq!(board.next_to_retransmit(), lowest);
                        if let Some(seq) = lowest { board.send_again(time, seq); }
                    }
                    5 if length == 5 => board.unmark_lost(),
                    6 if outstanding && board.get(seq).state & segment::SACKED != 0 => board.duplicate(seq),
                    7 if outstanding && board.get(seq).state & (segment::SACKED | segment::LOST) == 0 => {
                        board.send_probe(time, seq);
                    }
                    _ => {}
                }
                board.check();
            }
        }
    }
}
