//! Datagrams of a transport stack that the caller brings: they take the simulator's links, and nothing else of it.

use std::fmt;

use crate::place::Place;

/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: usize = 8;

/// A datagram.
#[derive(Clone, PartialEq, Eq)]
pub struct Datagram {
    /// Whose routes it takes.
    pub place: Place,
    /// Which of several flows on the same routes it belongs to, as ports tell: a number of the caller's.
    pub flow: u32,
    /// From the scenario's sender to its receiver; else the other way.
    pub to_receiver: bool,
    /// Congestion notification.
    pub ecn: Ecn,
    /// What is in it, without the headers of UDP and IP.
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
    /// It is dropped where others are marked.
    #[default]
    NotCapable,
    /// It may be marked.
    Capable,
    /// It was marked.
    Marked,
}

/// Flow and payload of the datagrams under way, by the number that their packet carries.
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
