//! Packets in a queue.

use crate::packet::Packet;

/// A packet and its arrival time.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) came: u64,
}
