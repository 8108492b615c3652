//! Time in the algorithms' unit.

use std::time::Instant;

/// Microseconds since the first path of a connection was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starting value, so that no time is 0.
    pub(crate) const BEGIN_US: u64 = 1_000_000;

    pub(crate) fn new(begin: Instant) -> Self {
        Self(begin)
    }

    pub(crate) fn begin(self) -> Instant {
        self.0
    }

    /// Times before the start count as the start.
    pub(crate) fn at(self, then: Instant) -> u64 {
        Self::BEGIN_US + since(then, self.0)
    }
}

/// Microseconds from `then` to `now`; 0 if `then` is later. Capped, with room for sums.
pub(crate) fn since(now: Instant, then: Instant) -> u64 {
    let since = now.saturating_duration_since(then);
    since.as_secs().min(u64::MAX / 4_000_000) * 1_000_000 + u64::from(since.subsec_micros())
}
