//! What happens next: a heap with one pending entry per network element.
//!
//! Elements, not packets, are scheduled: a link exposes only the head of its queue, a timer only its next deadline. So
//! the heap stays as small as the topology and an event costs a few nanoseconds.
//!
//! Events at the same nanosecond happen in the order of their element's number, whatever was scheduled first: the
//! order of a run depends on the scenario alone.

/// Number of an element.
pub(crate) type Element = u32;

const ELEMENT_BITS: u32 = 20;
/// Most elements an event queue can hold.
pub(crate) const MAX_ELEMENTS: u32 = 1 << ELEMENT_BITS;
/// Latest time an event queue can hold, nanoseconds: about four hours and three quarters.
pub(crate) const MAX_TIME: u64 = (1 << (u64::BITS - ELEMENT_BITS)) - 1;

/// No time at all.
pub(crate) const NEVER: u64 = u64::MAX;

/// A four-ary heap of (time, element), packed into one integer so that comparing them is one instruction.
///
/// An element may have several entries: it then recognises the one it still means by its time.
pub(crate) struct EventQueue {
    /// The first `len` are the heap; what follows is [`EMPTY`]. A node has four children or none, so that the least of
    /// them is found without counting them.
    heap: Vec<u64>,
    len: usize,
}

/// Comes after everything.
const EMPTY: u64 = u64::MAX;

/// The place of an event in the order of all.
#[inline]
pub(crate) fn moment(time: u64, element: Element) -> u64 {
    (time << ELEMENT_BITS) | u64::from(element)
}

#[inline]
fn event(key: u64) -> (u64, Element) {
    (key >> ELEMENT_BITS, (key & u64::from(MAX_ELEMENTS - 1)) as Element)
}

impl Default for EventQueue {
    fn default() -> Self {
        Self { heap: vec![EMPTY; 5], len: 0 }
    }
}

impl EventQueue {
    /// Plans an event for `element` at `time`.
    #[inline]
    pub(crate) fn schedule(&mut self, time: u64, element: Element) {
        debug_assert!(time <= MAX_TIME && element < MAX_ELEMENTS);
        self.insert(moment(time, element));
    }

    /// The next event, if it comes before `limit`, which is a [`moment`]. It stays planned: who handles it calls
    /// [`Self::replan_first`] or [`Self::remove_first`] before anything else is planned.
    #[inline]
    pub(crate) fn next_before(&self, limit: u64) -> Option<(u64, Element)> {
        let key = self.heap[0];
        (key < limit).then(|| event(key))
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Option<(u64, Element)> {
        self.next_before(EMPTY)
    }

    /// Takes the next event.
    #[cfg(test)]
    pub(crate) fn next(&mut self) -> Option<(u64, Element)> {
        let next = self.peek()?;
        self.remove_first();
        Some(next)
    }

    /// The element whose event is the next one has another at `time` instead: one sift, not two.
    #[inline]
    pub(crate) fn replan_first(&mut self, time: u64, element: Element) {
        debug_assert!(time <= MAX_TIME && event(self.heap[0]).1 == element);
        self.sift_down(moment(time, element));
    }

    /// The next event is no longer planned.
    pub(crate) fn remove_first(&mut self) {
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], EMPTY);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    fn insert(&mut self, key: u64) {
        if self.len == self.heap.len() {
            self.heap.extend([EMPTY; 4]);
        }
        let mut at = self.len;
        self.len += 1;
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    /// Puts an event in the place of the first one.
    #[inline]
    fn sift_down(&mut self, key: u64) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let Some(four) = heap.get(first..).and_then(<[u64]>::first_chunk::<4>) else { break };
            let left = if four[1] < four[0] { (1, four[1]) } else { (0, four[0]) };
            let right = if four[3] < four[2] { (3, four[3]) } else { (2, four[2]) };
            let (child, least) = if right.1 < left.1 { right } else { left };
            if key <= least {
                break;
            }
            heap[at] = least;
            at = first + child;
        }
        heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::EventQueue;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn events_of_one_instant_happen_in_the_order_of_their_elements() {
        let mut events = EventQueue::default();
        for element in [5, 1, 9, 3] {
            events.schedule(7, element);
        }
        events.schedule(6, 8);
        let order: Vec<_> = std::iter::from_fn(|| events.next()).collect();
        assert_eq!(order, [(6, 8), (7, 1), (7, 3), (7, 5), (7, 9)]);
    }

    proptest! {
        /// Any mixture of taking, scheduling and putting off gives what a sorted set gives.
        #[test]
        fn an_event_queue_is_a_sorted_set(steps in prop::collection::vec((0..4_u8, 0..1000_u64, 0..64_u32), 1..400)) {
            let mut events = EventQueue::default();
            let mut model = BTreeSet::new();
            for (step, time, element) in steps {
                if step == 0 {
                    prop_assert_eq!(events.next(), model.pop_first());
                } else if step == 1 {
                    prop_assert_eq!(events.peek(), model.first().copied());
                    if let Some((before, element)) = events.peek() {
                        let later = before + time;
                        if later == before || !model.contains(&(later, element)) {
                            model.pop_first();
                            model.insert((later, element));
                            events.replan_first(later, element);
                        }
                    }
                } else if model.insert((time, element)) {
                    events.schedule(time, element);
                }
            }
            while let Some(expected) = model.pop_first() {
                prop_assert_eq!(events.next(), Some(expected));
            }
            prop_assert_eq!(events.next(), None);
        }
    }
}
