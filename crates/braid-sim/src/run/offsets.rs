//! Byte offsets of packets.

/// Byte offsets of packets, few of which are short.
pub(super) struct Offsets {
    pub(super) mss: u32,
    /// For each short packet: its number, and the bytes missing from it and those before it.
    short: Vec<(u32, u64)>,
}

impl Offsets {
    pub(super) fn new(mss: u32) -> Self {
        Self { mss, short: Vec::new() }
    }

    /// Adds the next short packet.
    pub(super) fn add(&mut self, packet: u32, bytes: u32) {
        let lacked = self.short.last().map_or(0, |&(_, lacked)| lacked);
        self.short.push((packet, lacked + u64::from(self.mss - bytes)));
    }

    pub(super) fn of(&self, packet: u32) -> u64 {
        let before = self.short.partition_point(|&(short, _)| short < packet);
        let lacked = before.checked_sub(1).map_or(0, |last| self.short[last].1);
        u64::from(packet) * u64::from(self.mss) - lacked
    }

    pub(super) fn bytes(&self, packet: u32) -> u32 {
        (self.of(packet + 1) - self.of(packet)) as u32
    }
}
