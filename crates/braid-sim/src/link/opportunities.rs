//! A trace at work: when the link may deliver next, and what it has delivered a part of.

use std::sync::Arc;

use braid_scenario::trace::Trace;

use super::waiting::Waiting;

/// A packet that needs more opportunities.
pub(super) struct Sending {
    pub(super) waiting: Waiting,
    /// Bytes to go.
    pub(super) left: u32,
}

pub(super) struct Opportunities {
    trace: Arc<Trace>,
    number: u64,
    /// When the next one comes.
    pub(super) next: u64,
    /// The time that each of those of this millisecond stands for: theirs is the time since the ones before.
    share: u64,
    pub(super) sending: Option<Sending>,
}

impl Opportunities {
    pub(super) fn new(trace: Arc<Trace>) -> Self {
        let mut new = Self { trace, number: 0, next: 0, share: 0, sending: None };
        new.aim(0);
        new
    }

    /// Makes the one of that number the next, which is the first of its millisecond.
    fn aim(&mut self, number: u64) {
        self.number = number;
        self.next = self.trace.time_ns(number);
        let before = if number == 0 { 0 } else { self.trace.time_ns(number - 1) };
        self.share = (self.next - before) / (self.trace.until(self.next) - number);
    }

    /// Those until now have passed unused. Returns whether there were any.
    pub(super) fn pass(&mut self, now: u64) -> bool {
        let any = self.next <= now;
        if any {
            self.aim(self.trace.until(now));
        }
        any
    }

    /// The next one is used. Returns the time that it stood for.
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
