//! Tournament tree: the minimum of a set of keys, updated one key at a time.
//!
//! A change replays the matches up to the root, without a branch that could be mispredicted.

/// A key larger than all others.
pub(crate) const LAST: u64 = u64::MAX;

pub(crate) struct Tournament {
    /// The root is at 1, the children of `i` are at `2 i` and `2 i + 1`, the keys are in the second half.
    nodes: Box<[u64]>,
}

impl Tournament {
    /// Creates a tree with this many keys, all [`LAST`].
    pub(crate) fn new(keys: usize) -> Self {
        Self { nodes: vec![LAST; 2 * keys.next_power_of_two()].into() }
    }

    #[inline]
    pub(crate) fn least(&self) -> u64 {
        self.nodes[1]
    }

    /// Sets key number `nth`.
    #[inline]
    pub(crate) fn set(&mut self, nth: usize, key: u64) {
        let mut at = self.nodes.len() / 2 + nth;
        self.nodes[at] = key;
        let mut least = key;
        while at > 1 {
            // SAFETY: `at` was in bounds, with its neighbour, as there is an even number of nodes; now it is less. A check would
            // double the work.
            unsafe {
                least = least.min(*self.nodes.get_unchecked(at ^ 1));
                at /= 2;
                *self.nodes.get_unchecked_mut(at) = least;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LAST, Tournament};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_winner_is_the_least_key(
            (n, changes) in (1..40_usize).prop_flat_map(|n| (Just(n), prop::collection::vec((0..n, 0..100_u64), 1..200))),
        ) {
            let mut tournament = Tournament::new(n);
            let mut model = vec![LAST; n];
            prop_assert_eq!(tournament.least(), LAST);
            for (nth, key) in changes {
                let key = if key < 20 { LAST } else { key };
                tournament.set(nth, key);
                model[nth] = key;
                prop_assert_eq!(Some(tournament.least()), model.iter().copied().min());
            }
        }
    }
}
