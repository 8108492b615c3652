//! Future events: one pending entry per network element.
//!
//! Elements, not packets, are scheduled: a link exposes only the head of its queue, a timer only its next deadline.
//! Most events belong to links, which are in a tournament tree; timers and the calendar are in a heap. So an event
//! costs a few nanoseconds.
//!
//! Events of the same nanosecond happen in the order of their element's number, independent of when they were
//! scheduled: the order of a run depends on the scenario alone.

use crate::tournament::{LAST, Tournament};

/// Number of an element.
pub(crate) type Element = u32;

/// Number of the calendar: its events come first among those of the same time.
pub(crate) const CALENDAR: Element = 0;
/// The first link's number.
pub(crate) const FIRST_LINK: Element = 1;

const ELEMENT_BITS: u32 = 20;
/// Maximum of elements in an event queue.
pub(crate) const MAX_ELEMENTS: u32 = 1 << ELEMENT_BITS;
/// Latest time in an event queue, nanoseconds: about four hours and three quarters.
pub(crate) const MAX_TIME: u64 = (1 << (u64::BITS - ELEMENT_BITS)) - 1;

/// No time.
pub(crate) const NEVER: u64 = u64::MAX;

/// Time and element of each event, packed into one integer so that comparing them is one instruction.
pub(crate) struct EventQueue {
    /// One entry per link, [`LAST`] if no event is planned.
    links: Tournament,
    /// All other elements. An element may have several entries and recognises the valid one by its time.
    others: Heap,
}

/// A four-ary heap.
struct Heap {
    /// The first `len` keys are the heap; the rest is [`LAST`]. Every node has four children or none, so that the
    /// smallest is found without counting them.
    keys: Vec<u64>,
    len: usize,
}

/// Position of an event in the order of all events.
#[inline]
pub(crate) fn moment(time: u64, element: Element) -> u64 {
    (time << ELEMENT_BITS) | u64::from(element)
}

#[inline]
fn event(key: u64) -> (u64, Element) {
    (key >> ELEMENT_BITS, (key & u64::from(MAX_ELEMENTS - 1)) as Element)
}

impl EventQueue {
    /// Creates an event queue for this many links.
    pub(crate) fn new(links: usize) -> Self {
        Self { links: Tournament::new(links), others: Heap { keys: vec![LAST; 5], len: 0 } }
    }

    /// Plans the next event of a link in place of the planned one; [`NEVER`]: none.
    #[inline]
    pub(crate) fn plan_link(&mut self, link: u32, time: u64) {
        debug_assert!(time <= MAX_TIME || time == NEVER);
        let key = if time == NEVER { LAST } else { moment(time, FIRST_LINK + link) };
        self.links.set(link as usize, key);
    }

    /// Plans one more event for an element that is not a link.
    #[inline]
    pub(crate) fn schedule(&mut self, time: u64, element: Element) {
        debug_assert!(time <= MAX_TIME && element < MAX_ELEMENTS);
        self.others.insert(moment(time, element));
    }

    /// The next event, if it comes before `limit`, which is a [`moment`]. It stays in the queue: the caller must
    /// schedule the link's next event, or call [`Self::remove_first`].
    #[inline]
    pub(crate) fn next_before(&self, limit: u64) -> Option<(u64, Element)> {
        let key = self.links.least().min(self.others.keys[0]);
        (key < limit).then(|| event(key))
    }

    /// The next event.
    pub(crate) fn peek(&self) -> Option<(u64, Element)> {
        self.next_before(LAST)
    }

    /// Removes the next event, which is not a link's.
    pub(crate) fn remove_first(&mut self) {
        self.others.remove_first();
    }
}

impl Heap {
    fn remove_first(&mut self) {
        self.len -= 1;
        let last = std::mem::replace(&mut self.keys[self.len], LAST);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    fn insert(&mut self, key: u64) {
        if self.len == self.keys.len() {
            self.keys.extend([LAST; 4]);
        }
        let mut at = self.len;
        self.len += 1;
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    /// Replaces the first event.
    #[inline]
    fn sift_down(&mut self, key: u64) {
        let keys = &mut self.keys[..];
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let Some(four) = keys.get(first..).and_then(<[u64]>::first_chunk::<4>) else { break };
            let left = if four[1] < four[0] { (1, four[1]) } else { (0, four[0]) };
            let right = if four[3] < four[2] { (3, four[3]) } else { (2, four[2]) };
            let (child, least) = if right.1 < left.1 { right } else { left };
            if key <= least {
                break;
            }
            keys[at] = least;
            at = first + child;
        }
        keys[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::{EventQueue, FIRST_LINK, NEVER};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const LINKS: u32 = 16;

    fn is_link(element: u32) -> bool {
        element.checked_sub(FIRST_LINK).is_some_and(|link| link < LINKS)
    }

    fn next(events: &mut EventQueue) -> Option<(u64, u32)> {
        let (time, element) = events.peek()?;
        if is_link(element) {
            events.plan_link(element - FIRST_LINK, NEVER);
        } else {
            events.remove_first();
        }
        Some((time, element))
    }

    #[test]
    fn events_of_one_instant_happen_in_the_order_of_their_elements() {
        let mut events = EventQueue::new(LINKS as usize);
        for element in [25, 0, 29, 23] {
            events.schedule(7, element);
        }
        events.plan_link(4, 7);
        events.plan_link(2, 7);
        events.schedule(6, 28);
        let order: Vec<_> = std::iter::from_fn(|| next(&mut events)).collect();
        assert_eq!(order, [(6, 28), (7, 0), (7, 3), (7, 5), (7, 23), (7, 25), (7, 29)]);
    }

    proptest! {
        /// Any sequence of taking, scheduling and replanning equals a sorted set.
        #[test]
        fn an_event_queue_is_a_sorted_set(steps in prop::collection::vec((0..4_u8, 0..1000_u64, 0..64_u32), 1..400)) {
            let mut events = EventQueue::new(LINKS as usize);
            let mut model = BTreeSet::new();
            for (step, time, element) in steps {
                let is_link = is_link(element);
                if step == 0 {
                    prop_assert_eq!(next(&mut events), model.pop_first());
                } else if is_link {
                    model.retain(|&(_, other)| other != element);
                    events.plan_link(element - FIRST_LINK, if step == 1 { NEVER } else { time });
                    if step > 1 {
                        model.insert((time, element));
                    }
                } else if model.insert((time, element)) {
                    events.schedule(time, element);
                }
                prop_assert_eq!(events.peek(), model.first().copied());
            }
            while let Some(expected) = model.pop_first() {
                prop_assert_eq!(next(&mut events), Some(expected));
            }
            prop_assert_eq!(next(&mut events), None);
        }
    }
}
