//! Subflows that have sent each packet not acknowledged at the data level.

use crate::ring::Ring;

/// A set of subflows per packet, and the progress of each subflow.
pub(crate) struct Carriers {
    /// From the oldest unacknowledged packet to the latest assigned one.
    sets: Ring<u8>,
    /// For each subflow one past the highest packet that it has sent.
    after: [u32; 8],
}

impl Carriers {
    pub(crate) fn new() -> Self {
        Self { sets: Ring::new(), after: [0; 8] }
    }

    /// Assigns the next new packet to a subflow.
    #[inline]
    pub(crate) fn push(&mut self, index: usize) {
        self.sets.push(1 << (index & 7));
        self.after[index & 7] = self.sets.end();
    }

    /// A further subflow sends this packet.
    pub(crate) fn add(&mut self, dsn: u32, index: usize) {
        if self.contains(dsn) {
            *self.sets.get_mut(dsn) |= 1 << (index & 7);
            let after = &mut self.after[index & 7];
            *after = (*after).max(dsn + 1);
        }
    }

    /// A subflow returns a packet without having sent it.
    pub(crate) fn withdraw(&mut self, dsn: u32, index: usize) {
        if self.contains(dsn) {
            *self.sets.get_mut(dsn) &= !(1 << (index & 7));
        }
    }

    /// Marks a packet as sent by none.
    pub(crate) fn forget(&mut self, dsn: u32) {
        if self.contains(dsn) {
            *self.sets.get_mut(dsn) = 0;
        }
    }

    /// Subflows that have sent a packet; none if it is new or acknowledged.
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

    /// A subflow is removed or restarted: what it sent no longer counts.
    pub(crate) fn remove(&mut self, index: usize) {
        for dsn in self.sets.start()..self.sets.end() {
            *self.sets.get_mut(dsn) &= !(1 << (index & 7));
        }
        self.after[index & 7] = 0;
    }

    /// Packets that others have sent after this subflow's last one.
    #[inline]
    pub(crate) fn behind(&self, index: usize) -> std::ops::Range<u32> {
        self.after[index & 7].max(self.sets.start())..self.sets.end()
    }
}
