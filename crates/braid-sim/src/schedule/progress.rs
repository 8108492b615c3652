//! The retransmission timer of a connection of unmodified Linux, and how its subflows fare. What it does is in
//! [`retransmission`](super::retransmission).

use crate::event_queue::NEVER;

/// Expiries without anything on a subflow after which it is stale (`stale_loss_cnt`).
const STALE_AFTER: u32 = 4;
/// Another subflow has to be better than this.
const ALTERNATIVE: u32 = 3;
/// Where no subflow waits for anything (`TCP_RTO_MIN`).
pub(super) const SHORTEST_NS: u64 = 200_000_000;

/// How a subflow fares.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Expiries of the connection's timer, one after the other, at which the subflow was busy and nothing had come on it.
    without: u32,
    /// When something came on it last, as the first of these found it.
    seen: u64,
    stale: bool,
}

/// The timer of a connection.
pub(crate) struct Retransmission {
    /// [`NEVER`]: off.
    pub(super) deadline: u64,
    pub(super) interval: u64,
    /// What had arrived when it was started.
    pub(super) acknowledged: u32,
    subflows: [Progress; 8],
}

impl Retransmission {
    pub(crate) fn new() -> Self {
        Self { deadline: NEVER, interval: SHORTEST_NS, acknowledged: 0, subflows: [Progress::default(); 8] }
    }

    /// A subflow begins, or begins anew.
    pub(super) fn forget(&mut self, index: usize) {
        self.subflows[index & 7] = Progress::default();
    }

    /// No more is given to it. `last` is when something came on it last, as below.
    pub(super) fn is_stale(&self, index: usize, last: u64) -> bool {
        let own = &self.subflows[index & 7];
        own.stale && own.seen == last
    }

    /// Something had come on it at the last expiry.
    pub(super) fn has_come(&self, index: usize) -> bool {
        self.subflows[index & 7].without == 0
    }

    /// At the last two expiries or more, nothing had.
    pub(super) fn is_silent(&self, index: usize) -> bool {
        self.subflows[index & 7].without > 1
    }

    /// Whether it may take what a stale one had.
    pub(super) fn is_alternative(&self, index: usize, last: u64) -> bool {
        !self.is_stale(index, last) && self.subflows[index & 7].without < ALTERNATIVE
    }

    /// The timer has expired and a subflow is busy. Whether it is to become stale.
    pub(super) fn look_at(&mut self, index: usize, last: u64) -> bool {
        let own = &mut self.subflows[index & 7];
        if own.without > 0 && own.seen != last {
            *own = Progress::default();
            return false;
        }
        own.without = own.without.saturating_add(1);
        own.seen = last;
        !own.stale && own.without > STALE_AFTER
    }

    pub(super) fn mark_stale(&mut self, index: usize) {
        self.subflows[index & 7].stale = true;
    }
}

#[cfg(test)]
mod tests {
    use super::Retransmission;

    #[test]
    fn a_subflow_is_stale_after_five_expiries_without_anything_until_something_comes() {
        let mut timer = Retransmission::new();
        let looks = [(); 4].map(|()| timer.look_at(1, 70));
        assert_eq!(looks, [false; 4]);
        assert!(timer.is_silent(1) && !timer.has_come(1) && !timer.is_alternative(1, 70));
        assert!(timer.look_at(1, 70));
        timer.mark_stale(1);
        assert!(timer.is_stale(1, 70) && !timer.is_stale(1, 71));
        assert!(!timer.look_at(1, 70), "it is already");
        assert!(!timer.look_at(1, 71) && timer.has_come(1) && timer.is_alternative(1, 71));
    }

    #[test]
    fn what_comes_between_two_expiries_is_not_counted() {
        let mut timer = Retransmission::new();
        for expiry in 0..20 {
            assert!(!timer.look_at(0, expiry / 2));
        }
        assert!(!timer.is_silent(0) && timer.is_alternative(0, 9));
    }
}
