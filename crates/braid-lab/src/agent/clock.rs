//! The clock of a run.

use rustix::time::{ClockId, clock_gettime};

pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds of the guest's clock.
pub(super) fn now_ns() -> u64 {
    ns_of(ClockId::Monotonic)
}

pub(super) fn ns_of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}
