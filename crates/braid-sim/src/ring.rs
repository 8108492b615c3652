//! A queue indexed by a running number, so that a packet number finds its record in one step.

/// Records numbered from `first` up to but not including `end`; grows by doubling, never shrinks.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// Power-of-two number of slots; record `n` is in slot `n & mask`.
    slots: Box<[T]>,
    /// `slots.len() - 1`.
    mask: u32,
    first: u32,
    end: u32,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Self {
        Self { slots: vec![T::default(); 16].into(), mask: 15, first: 0, end: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.end.wrapping_sub(self.first)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.end == self.first
    }

    /// Whether the next record needs a larger buffer.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() > self.mask
    }

    /// Number of the oldest record.
    #[inline]
    pub(crate) fn start(&self) -> u32 {
        self.first
    }

    /// Number of the next record.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// For an empty ring: sets the number of the next record.
    #[inline]
    pub(crate) fn restart(&mut self, number: u32) {
        debug_assert!(self.is_empty());
        (self.first, self.end) = (number, number);
    }

    #[inline]
    pub(crate) fn push(&mut self, record: T) {
        if self.is_full() {
            self.grow();
        }
        let number = self.end;
        self.end = number.wrapping_add(1);
        *self.get_mut(number) = record;
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| self.get(self.first))
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let record = *self.front()?;
        self.first = self.first.wrapping_add(1);
        Some(record)
    }

    /// Removes everything below that number, which must not be past the end.
    #[inline]
    pub(crate) fn remove_below(&mut self, number: u32) {
        debug_assert!(number.wrapping_sub(self.first) <= self.len());
        self.first = number;
    }

    /// The record with that number, which must be in the ring.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &T {
        debug_assert!(number.wrapping_sub(self.first) < self.len());
        // SAFETY: `mask` is less than the number of slots. The bounds check would cost a tenth per packet.
        unsafe { self.slots.get_unchecked((number & self.mask) as usize) }
    }

    /// The record with that number, which must be in the ring.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        debug_assert!(number.wrapping_sub(self.first) < self.len());
        // SAFETY: as in `get`.
        unsafe { self.slots.get_unchecked_mut((number & self.mask) as usize) }
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); self.slots.len() * 2];
        let mask = slots.len() as u32 - 1;
        let mut number = self.first;
        while number != self.end {
            slots[(number & mask) as usize] = *self.get(number);
            number = number.wrapping_add(1);
        }
        self.slots = slots.into();
        self.mask = mask;
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn records_keep_their_numbers_while_the_ring_grows_and_turns() {
        let mut ring = Ring::new();
        let mut pushed = 0_u32;
        let mut popped = 0_u32;
        for step in 0..5_000_u32 {
            for _ in 0..step % 7 {
                ring.push(pushed * 3);
                pushed += 1;
            }
            for _ in 0..step % 5 {
                if popped < pushed {
                    assert_eq!(ring.pop(), Some(popped * 3));
                    popped += 1;
                }
            }
            for number in popped..pushed.min(popped + 3) {
                assert_eq!(*ring.get(number), number * 3);
            }
        }
        assert!(pushed > 10_000 && ring.len() == pushed - popped);
    }
}
