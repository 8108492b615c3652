//! Which subflows have carried what is not acknowledged at the data level.

use crate::ring::Ring;

/// A set of subflows per packet, and how far each subflow has got.
pub(crate) struct Carriers {
    /// From the oldest packet not acknowledged to the latest one given to a subflow.
    sets: Ring<u8>,
    /// For each subflow one past the highest packet that it has carried.
    after: [u32; 8],
}

impl Carriers {
    pub(crate) fn new() -> Self {
        Self { sets: Ring::new(), after: [0; 8] }
    }

    /// The next new packet goes to a subflow.
    #[inline]
    pub(crate) fn push(&mut self, index: usize) {
        self.sets.push(1 << (index & 7));
        self.after[index & 7] = self.sets.end();
    }

    /// A packet that some subflow has had goes to another one.
    pub(crate) fn add(&mut self, dsn: u32, index: usize) {
        if self.contains(dsn) {
            *self.sets.get_mut(dsn) |= 1 << (index & 7);
            let after = &mut self.after[index & 7];
            *after = (*after).max(dsn + 1);
        }
    }

    /// A subflow gives a packet back without having sent it.
    pub(crate) fn withdraw(&mut self, dsn: u32, index: usize) {
        if self.contains(dsn) {
            *self.sets.get_mut(dsn) &= !(1 << (index & 7));
        }
    }

    /// It counts as carried by none.
    pub(crate) fn forget(&mut self, dsn: u32) {
        if self.contains(dsn) {
            *self.sets.get_mut(dsn) = 0;
        }
    }

    /// The subflows that have carried a packet; none if it is new or has been acknowledged.
    pub(crate) fn of(&self, dsn: u32) -> u32 {
        if self.contains(dsn) { u32::from(*self.sets.get(dsn)) } else { 0 }
    }

    fn contains(&self, dsn: u32) -> bool {
        (self.sets.start()..self.sets.end()).contains(&dsn)
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, below: u32) {
        self.sets.remove_below(below);
    }

    /// A subflow is gone, or begins anew: what it carried does not count.
    pub(crate) fn remove(&mut self, index: usize) {
        for dsn in self.sets.start()..self.sets.end() {
            *self.sets.get_mut(dsn) &= !(1 << (index & 7));
        }
        self.after[index & 7] = 0;
    }

    /// The packets that others have sent after the last one that this subflow has carried.
    #[inline]
    pub(crate) fn behind(&self, index: usize) -> std::ops::Range<u32> {
        self.after[index & 7].max(self.sets.start())..self.sets.end()
    }
}
