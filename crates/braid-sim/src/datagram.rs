//! Datagrams of an external transport stack: they use the simulator's links only.

use std::fmt;

use crate::place::Place;

/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: usize = 8;

/// A datagram.
#[derive(Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The subflow whose routes it takes.
    pub place: Place,
    /// Distinguishes flows on the same routes, as ports do; chosen by the caller.
    pub flow: u32,
    /// From the scenario's sender to its receiver, or back.
    pub to_receiver: bool,
    /// Congestion notification.
    pub ecn: Ecn,
    /// Payload without UDP and IP headers.
    pub payload: Vec<u8>,
}

impl fmt::Debug for Datagram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, flow, to_receiver, ecn, payload } = self;
        write!(formatter, "Datagram({place:?}, flow {flow}, {to_receiver}, {ecn:?}, {} bytes)", payload.len())
    }
}

/// Congestion notification in an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Dropped instead of marked.
    #[default]
    NotCapable,
    /// May be marked.
    Capable,
    /// It was marked.
    Marked,
}

/// Flow and payload of datagrams in flight, by the number in their packet.
#[derive(Default)]
pub(crate) struct Datagrams {
    slots: Vec<(u32, Vec<u8>)>,
    free: Vec<u32>,
}

impl Datagrams {
    pub(crate) fn put(&mut self, flow: u32, payload: Vec<u8>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = (flow, payload);
            slot
        } else {
            self.slots.push((flow, payload));
            self.slots.len() as u32 - 1
        }
    }

    pub(crate) fn take(&mut self, slot: u32) -> (u32, Vec<u8>) {
        self.free.push(slot);
        std::mem::take(&mut self.slots[slot as usize])
    }
}
