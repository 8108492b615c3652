//! Packets on links.

/// Bits of [`Packet::flags`].
pub(crate) mod flags {
    /// Data, from sender to receiver; all other packets are acknowledgements on the return path.
    pub(crate) const DATA: u16 = 1;
    /// Opening handshake; [`Packet::seq`](super::Packet::seq) is its step.
    pub(crate) const SYN: u16 = 2;
    /// May carry a congestion mark.
    pub(crate) const ECT: u16 = 4;
    /// Carries a congestion mark.
    pub(crate) const CE: u16 = 8;
    /// Acknowledgement: echoes a congestion mark.
    pub(crate) const ECE: u16 = 16;
    /// Data: the sender has reduced its window.
    pub(crate) const CWR: u16 = 32;
    /// Request from receiver to sender: [`Packet::dsn`](super::Packet::dsn) is its number,
    /// [`Packet::seq`](super::Packet::seq) the number of this packet in it.
    pub(crate) const REQUEST: u16 = 128;
    /// Datagram of an external stack: [`Packet::seq`](super::Packet::seq) is its index in
    /// [`Network::datagrams`](crate::network::Network::datagrams).
    pub(crate) const DATAGRAM: u16 = 256;
    /// Lost on the wire: it still occupies queue and transmitter.
    pub(crate) const LOST: u16 = 64;
}

/// Bytes of memory that Linux charges for a packet beyond its payload (`SKB_TRUESIZE` of an empty segment).
pub(crate) const MEMORY_OVERHEAD: u32 = 896;

/// A packet, or an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packet {
    /// Arrival time at the end of its current link.
    pub(crate) arrival: u64,
    /// Mark of its subflow and incarnation.
    pub(crate) subflow: u32,
    /// Position on its route: an index into [`Network::hops`](crate::network::Network::hops).
    pub(crate) hop: u32,
    /// Bytes on the wire.
    pub(crate) size: u16,
    /// See [`flags`].
    pub(crate) flags: u16,
    /// Data: packet number on the subflow. Acknowledgement: next number expected.
    pub(crate) seq: u32,
    /// Data: packet number on the connection. Acknowledgement: next number expected there.
    pub(crate) dsn: u32,
    /// Data: time of sending, microseconds. Acknowledgement: the echoed time (RFC 7323).
    pub(crate) timestamp: u32,
    /// Acknowledgement: first packet of the connection beyond the receive buffer.
    pub(crate) window_end: u32,
    /// Acknowledgement: its blocks, or [`Sacks::NONE`].
    pub(crate) sack: u32,
}

impl Packet {
    /// A copy for rare uses of the whole packet: field by field, so that the compiler can keep its other fields in
    /// registers.
    #[allow(clippy::inline_always, reason = "a call would need what it is to save")]
    #[inline(always)]
    pub(crate) fn whole(&self) -> Self {
        let &Self { arrival, subflow, hop, size, flags, seq, dsn, timestamp, window_end, sack } = self;
        Self { arrival, subflow, hop, size, flags, seq, dsn, timestamp, window_end, sack }
    }
}

/// Maximum of blocks in an acknowledgement (RFC 2018, with timestamps).
pub(crate) const MAX_BLOCKS: usize = 3;

/// Selective acknowledgement: half-open ranges of packet numbers, latest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sack {
    pub(crate) blocks: [(u32, u32); MAX_BLOCKS],
    pub(crate) n: u8,
    /// The first block reports a duplicate (RFC 2883).
    pub(crate) duplicate: bool,
    /// When the acknowledgement was sent, microseconds (the timestamp of RFC 7323).
    pub(crate) sent: u32,
    /// How long the latest packet took to get there, microseconds; only where the sender wants to know.
    pub(crate) one_way_us: Option<u32>,
}

/// Whether PAWS drops a packet (RFC 7323 section 5, Linux `tcp_paws_check`): its timestamp is more than one tick of 1 ms older
/// than `latest`. Timestamps are microseconds and wrap after 71 minutes; half of that later counts as earlier.
pub(crate) fn is_outdated(timestamp: u32, latest: u32) -> bool {
    let behind_us = latest.wrapping_sub(timestamp);
    (1_001..1 << 31).contains(&behind_us) && (behind_us + timestamp % 1_000) / 1_000 > 1
}

/// The blocks of all acknowledgements under way. Few have any, so they are kept out of the packets.
#[derive(Default)]
pub(crate) struct Sacks {
    slots: Vec<Sack>,
    free: Vec<u32>,
}

impl Sacks {
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn put(&mut self, sack: Sack) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = sack;
            slot
        } else {
            self.slots.push(sack);
            self.slots.len() as u32 - 1
        }
    }

    /// The blocks of a slot, which stays in use.
    pub(crate) fn blocks(&self, slot: u32) -> &[(u32, u32)] {
        let sack = if slot == Self::NONE { return &[] } else { &self.slots[slot as usize] };
        &sack.blocks[..usize::from(sack.n)]
    }

    pub(crate) fn take(&mut self, slot: u32) -> Sack {
        if slot == Self::NONE {
            return Sack::default();
        }
        self.free.push(slot);
        self.slots[slot as usize]
    }
}
