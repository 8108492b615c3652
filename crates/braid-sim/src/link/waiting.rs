//! What is in a queue.

use crate::packet::Packet;

/// A packet and when it came.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) came: u64,
}
