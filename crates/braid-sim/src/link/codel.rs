//! The control law of `CoDel` (RFC 8289, with Linux's details): drop once packets have waited longer than `target` for
//! a whole `interval`, then at shrinking intervals until they no longer do.
//!
//! Linux and ns-3 approximate the square root by one Newton step; their drop intervals are 100, 50, 56, 49 ms, here
//! 100, 71, 58, 50.

use braid_scenario::model::CoDel as Parameters;

/// At most one full packet of backlog counts as an empty queue.
pub(super) const FULL_PACKET: u64 = 1514;

/// Control state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDel {
    /// Time at which packets will have waited too long for a whole interval; `None`: they do not wait too long.
    above: Option<u64>,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CoDel {
    /// Interval divided by the square root of the number of drops.
    fn next_drop(&self, from: u64, parameters: &Parameters) -> u64 {
        let root = (u128::from(self.count.max(1)) << 64).isqrt(); // 32 fraction bits
        from + ((u128::from(parameters.interval_ns) << 32) / root) as u64
    }

    fn waited_too_long(&mut self, now: u64, waited: u64, backlog: u64, parameters: &Parameters) -> bool {
        if waited < parameters.target_ns || backlog <= FULL_PACKET {
            self.above = None;
            return false;
        }
        match self.above {
            None => {
                self.above = Some(now + parameters.interval_ns);
                false
            }
            Some(above) => now >= above,
        }
    }

    /// The queue was found empty.
    pub(super) fn emptied(&mut self) {
        self.above = None;
        self.dropping = false;
    }

    /// Takes the next packet to send out of a queue. `pop` returns packets one after another with their waiting time
    /// and the bytes behind them. `discard` drops a packet, or returns true if it marked the packet instead, which is
    /// then sent.
    pub(super) fn dequeue<P>(
        &mut self,
        now: u64,
        parameters: &Parameters,
        mut pop: impl FnMut() -> Option<(P, u64, u64)>,
        mut discard: impl FnMut(&mut P) -> bool,
    ) -> Option<P> {
        let Some((mut packet, waited, backlog)) = pop() else {
            self.emptied();
            return None;
        };
        let mut too_long = self.waited_too_long(now, waited, backlog, parameters);
        if self.dropping {
            if !too_long {
                self.dropping = false;
                return Some(packet);
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if discard(&mut packet) {
                    self.drop_next = self.next_drop(self.drop_next, parameters);
                    return Some(packet);
                }
                let Some((next, waited, backlog)) = pop() else {
                    self.emptied();
                    return None;
                };
                packet = next;
                too_long = self.waited_too_long(now, waited, backlog, parameters);
                if too_long {
                    self.drop_next = self.next_drop(self.drop_next, parameters);
                } else {
                    self.dropping = false;
                }
            }
            return Some(packet);
        }
        if !too_long {
            return Some(packet);
        }
        let marked = discard(&mut packet);
        let next = if marked { None } else { pop() };
        // If it was dropping recently, it continues at about the rate that controlled the queue then.
        let recent = now.saturating_sub(self.drop_next) < 16 * parameters.interval_ns;
        let drops = self.count.wrapping_sub(self.last_count);
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = self.next_drop(now, parameters);
        if marked {
            return Some(packet);
        }
        let Some((next, waited, backlog)) = next else {
            self.emptied();
            return None;
        };
        self.waited_too_long(now, waited, backlog, parameters);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::{CoDel, Parameters};

    const MS: u64 = 1_000_000;

    /// A queue that never empties, in which every packet has waited 50 ms: the control law alone decides.
    #[test]
    fn drops_come_at_interval_over_the_square_root_of_their_number() {
        let parameters = Parameters { target_ns: 5 * MS, interval_ns: 100 * MS, ecn: false };
        let mut codel = CoDel::default();
        let mut drops = Vec::new();
        for step in 0..6_000 {
            let now = step * MS / 10;
            let mut dropped = false;
            codel.dequeue(
                now,
                &parameters,
                || Some(((), 50 * MS, 100_000)),
                |()| {
                    dropped = true;
                    false
                },
            );
            if dropped {
                drops.push(now);
            }
        }
        let gaps: Vec<f64> = drops.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        assert_eq!(drops[0], 100 * MS, "the first after a whole interval");
        for (gap, expected) in gaps.iter().zip([100.0, 70.7, 57.7, 50.0, 44.7]) {
            assert!((gap - expected).abs() <= 0.2, "{gaps:?}");
        }
    }
}
