//! One direction of a link: a queue, a transmitter and a wire.
//!
//! - [`wire`] — transmission time, propagation, loss: common to all links;
//! - [`fifo`] — drop-tail, where a packet's departure is known when it enters the queue;
//! - [`managed`] — decisions at each departure: `CoDel`, `FQ-CoDel`, RED, traces, reordering, links that go down;
//! - [`codel`], [`red`] — their control laws;
//! - [`opportunities`] — delivery times of a trace.

mod codel;
mod fifo;
mod managed;
mod opportunities;
mod red;
#[cfg(test)]
mod tests;
mod waiting;
mod wire;

use braid_results::measure::DirectionCounts;
use braid_scenario::model::{Change, Direction};

use crate::packet::Packet;
use crate::random::Stream;
use fifo::{Fifo, Noise};
use managed::Managed;
use wire::{NEVER, Wire};

/// Whether the fate of a packet on such a link is known when it arrives, and cannot change.
pub(crate) fn is_foreseeable(model: &Direction) -> bool {
    fifo::suffices(model) && model.changes.is_empty()
}

/// State of one direction of a link.
pub(crate) struct Link {
    wire: Wire,
    queue: Queue,
    /// Time of its next event in the event queue; [`NEVER`]: none.
    planned: u64,
}

enum Queue {
    Fifo(Fifo),
    Managed(Box<Managed>),
}

impl Link {
    /// `name` selects its random streams. A link that looks ahead gets packets before they arrive.
    pub(crate) fn new(model: &Direction, seed: u64, name: &str, looks_ahead: bool) -> Self {
        // Noise delays packets before the queue, as hosts do: after the queue, delays would change measured arrival
        // rates. A queue that decides later gets packets at their arrival, so there the wire delays them.
        let (before, after) = if is_foreseeable(model) { (model.noise_ns, 0) } else { (0, model.noise_ns) };
        let queue = if fifo::suffices(model) {
            let noise = Noise::new(before, Stream::new(seed, &format!("{name} noise")));
            Queue::Fifo(Fifo::new(model, looks_ahead, noise))
        } else {
            Queue::Managed(Box::new(Managed::new(model, Stream::new(seed, &format!("{name} red")))))
        };
        Self { wire: Wire::new(model, after, Stream::new(seed, name)), queue, planned: NEVER }
    }

    /// Whether the fate of a packet is unknown at its arrival: then [`Link::offer_managed`] takes it.
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.queue, Queue::Managed(_))
    }

    /// Offers a packet to the queue, at `now` or, to a link that looks ahead, before it arrives; may change its flags.
    /// Returns its arrival at the far end, for [`Link::carry`] or the next link; `None`: dropped. A packet that the
    /// wire will lose is accepted and takes its transmission time.
    #[inline]
    pub(crate) fn offer(&mut self, now: u64, came: u64, size: u16, flags: &mut u16) -> Option<u64> {
        let Queue::Fifo(fifo) = &mut self.queue else { unreachable!("it is managed") };
        fifo.offer(&mut self.wire, now, came, size, flags)
    }

    /// Offers a packet to a managed queue. `dropped` gets packets that leave it unsent, this one or others. Returns the
    /// time of the next event, if that has changed; [`NEVER`]: none.
    pub(crate) fn offer_managed(
        &mut self,
        now: u64,
        packet: Packet,
        mut dropped: impl FnMut(&Packet),
    ) -> Option<u64> {
        let Queue::Managed(managed) = &mut self.queue else { unreachable!("it is not managed") };
        managed.offer(&mut self.wire, now, packet, &mut dropped);
        self.replan()
    }

    /// Takes an offered packet to the end of the link. Returns the time of the next event, if none was planned.
    #[inline]
    pub(crate) fn carry(&mut self, packet: Packet) -> Option<u64> {
        let arrival = packet.arrival;
        self.wire.on_the_way.push(packet);
        // It arrives after the packets already on the way.
        (self.planned == NEVER).then(|| {
            self.planned = arrival;
            arrival
        })
    }

    /// Handles the due event; returns the packet that arrives, if any. The next event is at [`Link::due_ns`].
    #[inline]
    pub(crate) fn arrive(&mut self, now: u64, mut dropped: impl FnMut(&Packet)) -> Option<Packet> {
        if self.is_managed() {
            let packet = if self.depart(now, &mut dropped) { Some(self.wire.take()) } else { None };
            self.planned = self.next_event();
            return packet;
        }
        let packet = self.wire.take();
        self.planned = self.wire.next_arrival();
        Some(packet)
    }

    /// Sends from a managed queue now. Returns whether a packet arrives as well. Not inlined, as
    /// [`Self::offer_managed`].
    #[inline(never)]
    fn depart(&mut self, now: u64, dropped: &mut impl FnMut(&Packet)) -> bool {
        let arrives = self.wire.next_arrival() <= now;
        if let Queue::Managed(managed) = &mut self.queue {
            managed.depart(&mut self.wire, now, dropped);
        }
        arrives
    }

    /// Time of the next event; [`NEVER`]: none.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        self.planned
    }

    /// Packets that an event at `now` would deliver.
    pub(crate) fn arriving(&self, now: u64) -> impl Iterator<Item = &Packet> {
        let ring = &self.wire.on_the_way;
        let due = self.planned == now;
        let packets = (0..ring.len()).map(|nth| ring.get(ring.start().wrapping_add(nth)));
        packets.take_while(move |packet| due && packet.arrival <= now)
    }

    /// Time of the next event; [`NEVER`]: none.
    #[inline]
    fn next_event(&self) -> u64 {
        let arrival = self.wire.next_arrival();
        match &self.queue {
            Queue::Fifo(_) => arrival,
            Queue::Managed(managed) => managed.next_departure(&self.wire).min(arrival),
        }
    }

    /// Time of the next event, if it has changed; [`NEVER`]: none.
    fn replan(&mut self) -> Option<u64> {
        let next = self.next_event();
        let before = std::mem::replace(&mut self.planned, next);
        (next != before).then_some(next)
    }

    /// Changes parameters now. `dropped` gets packets that leave the queue unsent. Returns the time of the next event,
    /// if that has changed; [`NEVER`]: none.
    pub(crate) fn change(
        &mut self,
        now: u64,
        change: &Change,
        mut dropped: impl FnMut(&Packet),
    ) -> Option<u64> {
        self.wire.change(change);
        match &mut self.queue {
            Queue::Fifo(fifo) => fifo.change(&mut self.wire, now, change),
            Queue::Managed(managed) => managed.change(&mut self.wire, now, change, &mut dropped),
        }
        self.replan()
    }

    /// Counters at `now`, which is the present or the next event's time.
    pub(crate) fn counts(&self, now: u64) -> DirectionCounts {
        let mut counts = self.wire.counts.clone();
        if let Queue::Fifo(fifo) = &self.queue {
            fifo.discount_early(&self.wire, now, &mut counts);
        }
        counts
    }

    /// Packets in the queue, the one being sent included.
    pub(crate) fn queue_length(&self, now: u64) -> u32 {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.len(now),
            Queue::Managed(managed) => managed.len(&self.wire, now),
        }
    }
}
