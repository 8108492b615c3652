//! The retransmission timer of a connection of unmodified Linux, and the progress of its subflows. Its actions are in
//! [`retransmission`](super::retransmission).

use crate::event_queue::NEVER;

/// Expiries without arrivals on a subflow after which it is stale (`stale_loss_cnt`).
const STALE_AFTER: u32 = 4;
/// An alternative subflow must have fewer expiries without arrivals than this.
const ALTERNATIVE: u32 = 3;
/// Timer if no subflow has a timer running (`TCP_RTO_MIN`).
pub(super) const SHORTEST_NS: u64 = 200_000_000;

/// Progress of a subflow.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Consecutive expiries of the connection's timer at which the subflow was busy without arrivals.
    without: u32,
    /// Latest arrival on it, at the first of these expiries.
    seen: u64,
    stale: bool,
}

/// The timer of a connection.
pub(crate) struct Retransmission {
    /// [`NEVER`]: off.
    pub(super) deadline: u64,
    pub(super) interval: u64,
    /// Delivered data when it was started.
    pub(super) acknowledged: u32,
    subflows: [Progress; 8],
}

impl Retransmission {
    pub(crate) fn new() -> Self {
        Self { deadline: NEVER, interval: SHORTEST_NS, acknowledged: 0, subflows: [Progress::default(); 8] }
    }

    /// Resets a subflow that begins or restarts.
    pub(super) fn forget(&mut self, index: usize) {
        self.subflows[index & 7] = Progress::default();
    }

    /// It gets no more data. `last`: latest arrival on it.
    pub(super) fn is_stale(&self, index: usize, last: u64) -> bool {
        let own = &self.subflows[index & 7];
        own.stale && own.seen == last
    }

    /// It had an arrival at the last expiry.
    pub(super) fn has_come(&self, index: usize) -> bool {
        self.subflows[index & 7].without == 0
    }

    /// It had no arrivals at the last two expiries or more.
    pub(super) fn is_silent(&self, index: usize) -> bool {
        self.subflows[index & 7].without > 1
    }

    /// Whether it may take a stale subflow's data.
    pub(super) fn is_alternative(&self, index: usize, last: u64) -> bool {
        !self.is_stale(index, last) && self.subflows[index & 7].without < ALTERNATIVE
    }

    /// The timer has expired and a subflow is busy. Returns whether it becomes stale.
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
