//! When the kernel's timers expire (`calc_wheel_index`): never early, and the later the longer they are.

/// Time between two ticks of Debian's kernels (`HZ` = 250), nanoseconds.
pub(crate) const TICK_NS: u64 = 4_000_000;
/// Ticks from which on a timer belongs to the second level of the wheel; each further level begins at eight times as many.
const SECOND_LEVEL: u64 = 63;

/// Expiry of a timer that was set at `now` for `deadline`: at the end of the tick, or of the 8, 64, 512, … ticks into which it
/// falls.
#[inline]
pub(crate) fn expiry(now: u64, deadline: u64) -> u64 {
    let wait = deadline.saturating_sub(now).div_ceil(TICK_NS);
    let ticks = now / TICK_NS + wait;
    let (mut shift, mut next) = (0, SECOND_LEVEL);
    while wait >= next && shift < 24 {
        shift += 3;
        next <<= 3;
    }
    (((ticks >> shift) + 1) << shift) * TICK_NS
}

#[cfg(test)]
mod tests {
    use super::expiry;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_timer_expires_at_the_end_of_its_tick_and_a_longer_one_at_the_end_of_more() {
        let expires = |now: u64, wait: u64| expiry(now * MS, (now + wait) * MS) / MS;
        assert_eq!([expires(0, 4), expires(0, 5), expires(3, 4), expires(4, 4)], [8, 12, 8, 12]);
        assert_eq!([expires(0, 40), expires(39, 40)], [44, 80]);
        // The last wait of the first level, the first of the second.
        assert_eq!([expires(0, 248), expires(0, 249), expires(32, 252)], [252, 256, 288]);
        assert_eq!([expires(0, 256), expires(8, 252), expires(0, 2_012)], [288, 288, 2_016]);
        // In the lab after 260, 520, 1040 and 2080 ms: 32 ms as unit, then 256 ms.
        assert_eq!([expires(0, 520), expires(0, 1_040), expires(0, 2_080)], [544, 1_056, 2_304]);
        assert_eq!([expires(0, 16_128), expires(0, 120_000)], [16_384, 120_832]);
    }
}
