//! A set of packet numbers as sorted, disjoint, non-adjacent ranges.
//!
//! The sets lie between holes, so they have few ranges and change at their ends: extending the last range and dropping
//! the first ones is O(1), anything else a binary search and a short move.

use std::collections::VecDeque;

/// Half-open ranges `[start, end)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(VecDeque<(u32, u32)>);

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// End of the last range.
    pub(crate) fn end(&self) -> Option<u32> {
        self.0.back().map(|range| range.1)
    }

    /// The range that contains `number`.
    pub(crate) fn containing(&self, number: u32) -> Option<(u32, u32)> {
        if let Some(&last) = self.0.back()
            && last.0 <= number
        {
            return (number < last.1).then_some(last);
        }
        let after = self.0.partition_point(|range| range.0 <= number);
        let range = *self.0.get(after.checked_sub(1)?)?;
        (number < range.1).then_some(range)
    }

    /// Adds `[start, end)`. Calls `fresh` for each part that was not in the set, in ascending order.
    pub(crate) fn insert(&mut self, start: u32, end: u32, mut fresh: impl FnMut(u32, u32)) {
        debug_assert!(start < end);
        // The common cases: a new last range, or the last one growing.
        match self.0.back_mut() {
            Some(last) if start >= last.0 => {
                if end <= last.1 {
                    return;
                }
                if start <= last.1 {
                    fresh(last.1, end);
                    last.1 = end;
                } else {
                    fresh(start, end);
                    self.0.push_back((start, end));
                }
                return;
            }
            None => {
                fresh(start, end);
                self.0.push_back((start, end));
                return;
            }
            Some(_) => {}
        }
        // First range that touches or follows the new one, and first range entirely behind it.
        let first = self.0.partition_point(|range| range.1 < start);
        let behind = self.0.partition_point(|range| range.0 <= end);
        let mut merged = (start, end);
        let mut covered = start;
        for &(from, to) in self.0.range(first..behind) {
            if covered < from {
                fresh(covered, from.min(end));
            }
            covered = covered.max(to);
            merged = (merged.0.min(from), merged.1.max(to));
        }
        if covered < end {
            fresh(covered, end);
        }
        if first == behind {
            self.0.insert(first, merged);
        } else {
            self.0[first] = merged;
            self.0.drain(first + 1..behind);
        }
    }

    /// If the first range begins at `number` or before, removes it and returns its end, else `number`.
    #[inline]
    pub(crate) fn take_prefix(&mut self, number: u32) -> u32 {
        match self.0.front() {
            Some(&(start, end)) if start <= number => {
                self.0.pop_front();
                end.max(number)
            }
            _ => number,
        }
    }

    /// Removes everything below `number`.
    pub(crate) fn remove_below(&mut self, number: u32) {
        while let Some(first) = self.0.front_mut() {
            if first.1 <= number {
                self.0.pop_front();
            } else {
                first.0 = first.0.max(number);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_are_a_set_that_reports_exactly_what_was_new(
            steps in prop::collection::vec((0..60_u32, 1..12_u32, 0..10_u32), 1..60),
        ) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for (start, length, kind) in steps {
                if kind == 0 {
                    ranges.remove_below(start);
                    model.retain(|&x| x >= start);
                } else {
                    let mut fresh = Vec::new();
                    ranges.insert(start, start + length, |from, to| fresh.extend(from..to));
                    let expected: Vec<u32> = (start..start + length).filter(|x| !model.contains(x)).collect();
                    prop_assert_eq!(fresh, expected);
                    model.extend(start..start + length);
                }
                let all: Vec<u32> = ranges.0.iter().flat_map(|&(from, to)| from..to).collect();
                prop_assert_eq!(&all, &model.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.0.iter().zip(ranges.0.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                for probe in 0..75 {
                    prop_assert_eq!(ranges.containing(probe).is_some(), model.contains(&probe));
                }
            }
        }
    }
}
