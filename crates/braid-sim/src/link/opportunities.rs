//! State of a trace: the next delivery opportunities, and a partly delivered packet.

use std::sync::Arc;

use braid_scenario::trace::Trace;

use super::waiting::Waiting;

/// A partly delivered packet.
pub(super) struct Sending {
    pub(super) waiting: Waiting,
    /// Bytes left.
    pub(super) left: u32,
}

pub(super) struct Opportunities {
    trace: Arc<Trace>,
    number: u64,
    /// Time of the next opportunity.
    pub(super) next: u64,
    /// Time that each opportunity of this millisecond represents: an equal part of the time since the previous
    /// millisecond with opportunities.
    share: u64,
    pub(super) sending: Option<Sending>,
}

impl Opportunities {
    pub(super) fn new(trace: Arc<Trace>) -> Self {
        let mut new = Self { trace, number: 0, next: 0, share: 0, sending: None };
        new.aim(0);
        new
    }

    /// Makes the opportunity of that number the next one; it is the first of its millisecond.
    fn aim(&mut self, number: u64) {
        self.number = number;
        self.next = self.trace.time_ns(number);
        let before = if number == 0 { 0 } else { self.trace.time_ns(number - 1) };
        self.share = (self.next - before) / (self.trace.until(self.next) - number);
    }

    /// Skips opportunities until now. Returns whether there were any.
    pub(super) fn pass(&mut self, now: u64) -> bool {
        let any = self.next <= now;
        if any {
            self.aim(self.trace.until(now));
        }
        any
    }

    /// Uses the next opportunity. Returns the time that it represents.
    pub(super) fn take(&mut self) -> u64 {
        let share = self.share;
        let next = self.trace.time_ns(self.number + 1);
        if next == self.next {
            self.number += 1;
        } else {
            self.aim(self.number + 1);
        }
        share
    }
}
