//! A queue whose slots are addressed by a running number, so that a packet number finds its record in one step.

/// Records numbered from `first` to `first + len - 1`; grows by doubling, never shrinks.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    /// Number of the oldest record.
    first: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Self {
        Self { slots: vec![T::default(); 16], first: 0, len: 0 }
    }

    #[inline]
    fn slot(&self, number: u32) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Number of the oldest record.
    pub(crate) fn start(&self) -> u32 {
        self.first
    }

    /// Number that the next record will have.
    pub(crate) fn end(&self) -> u32 {
        self.first.wrapping_add(self.len)
    }

    #[inline]
    pub(crate) fn push(&mut self, record: T) {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.first.wrapping_add(self.len));
        self.slots[slot] = record;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        (self.len > 0).then(|| &self.slots[self.slot(self.first)])
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let record = *self.front()?;
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        Some(record)
    }

    /// The record of that number, which must be in the ring.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &T {
        debug_assert!(number.wrapping_sub(self.first) < self.len);
        &self.slots[self.slot(number)]
    }

    /// The record of that number, which must be in the ring.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        debug_assert!(number.wrapping_sub(self.first) < self.len);
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for number in (0..self.len).map(|offset| self.first.wrapping_add(offset)) {
            slots[number as usize & mask] = self.slots[self.slot(number)];
        }
        self.slots = slots;
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
