//! Where packets begin, in bytes.

/// Where packets begin, in bytes: few are shorter than the others.
pub(super) struct Offsets {
    pub(super) mss: u32,
    /// Of each short packet: its number, and how many bytes it and those before it lack.
    short: Vec<(u32, u64)>,
}

impl Offsets {
    pub(super) fn new(mss: u32) -> Self {
        Self { mss, short: Vec::new() }
    }

    /// The next short one.
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
