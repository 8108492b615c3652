//! One direction of a link: a queue, a transmitter and a wire.
//!
//! - [`wire`] — transmission time, propagation, loss: what all links have;
//! - [`fifo`] — drop-tail, where a packet's departure is known when it enters the queue;
//! - [`managed`] — whatever decides at each departure: `CoDel`, `FQ-CoDel`, RED, traces, reordering, links that go down;
//! - [`codel`], [`red`] — their control laws;
//! - [`opportunities`] — the trace that says when to deliver.

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

/// Whether all that becomes of a packet on such a link is known when it comes, and stays.
pub(crate) fn is_foreseeable(model: &Direction) -> bool {
    fifo::suffices(model) && model.changes.is_empty()
}

/// A direction of a link at work.
pub(crate) struct Link {
    wire: Wire,
    queue: Queue,
    /// When something happens next, as the event queue knows it; [`NEVER`] if nothing does.
    planned: u64,
}

enum Queue {
    Fifo(Fifo),
    Managed(Box<Managed>),
}

impl Link {
    /// `name` is that of its random streams. To a link that looks ahead, packets are offered before they come.
    pub(crate) fn new(model: &Direction, seed: u64, name: &str, looks_ahead: bool) -> Self {
        // Before the queue, as hosts delay packets: after it, delays would reach whoever measures how fast packets arrive. A
        // queue that decides later is given packets when they come, so there the wire delays them.
        let (before, after) = if is_foreseeable(model) { (model.noise_ns, 0) } else { (0, model.noise_ns) };
        let queue = if fifo::suffices(model) {
            let noise = Noise::new(before, Stream::new(seed, &format!("{name} noise")));
            Queue::Fifo(Fifo::new(model, looks_ahead, noise))
        } else {
            Queue::Managed(Box::new(Managed::new(model, Stream::new(seed, &format!("{name} red")))))
        };
        Self { wire: Wire::new(model, after, Stream::new(seed, name)), queue, planned: NEVER }
    }

    /// Whether what becomes of a packet is not known when it comes: [`Link::offer_managed`] takes it.
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.queue, Queue::Managed(_))
    }

    /// Offers a packet of that size to the queue, at `now` or, to a link that looks ahead, before it comes; its flags may change.
    /// Returns when it arrives, so that [`Link::carry`] takes it unless the next link does; `None`: there was no room. One that
    /// the wire will lose is accepted: it takes its turn like any other.
    #[inline]
    pub(crate) fn offer(&mut self, now: u64, came: u64, size: u16, flags: &mut u16) -> Option<u64> {
        let Queue::Fifo(fifo) = &mut self.queue else { unreachable!("it is managed") };
        fifo.offer(&mut self.wire, now, came, size, flags)
    }

    /// Offers a packet to a managed queue. `dropped` gets what leaves it unsent, this packet or others. Returns when something
    /// happens next, if that has changed; [`NEVER`] if nothing does.
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

    /// Takes a packet that was offered to the end of the link. Returns when something happens next, if nothing was planned.
    #[inline]
    pub(crate) fn carry(&mut self, packet: Packet) -> Option<u64> {
        let arrival = packet.arrival;
        self.wire.on_the_way.push(packet);
        // It arrives after what is on its way already.
        (self.planned == NEVER).then(|| {
            self.planned = arrival;
            arrival
        })
    }

    /// What is due happens: the packet that arrives, if one does. The link is due again at [`Link::due_ns`].
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

    /// What a managed queue sends now. Returns whether a packet arrives as well. Not inlined, as [`Self::offer_managed`].
    #[inline(never)]
    fn depart(&mut self, now: u64, dropped: &mut impl FnMut(&Packet)) -> bool {
        let arrives = self.wire.next_arrival() <= now;
        if let Queue::Managed(managed) = &mut self.queue {
            managed.depart(&mut self.wire, now, dropped);
        }
        arrives
    }

    /// When something happens next; [`NEVER`] if nothing does.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        self.planned
    }

    /// What an event at `now` would let arrive.
    pub(crate) fn arriving(&self, now: u64) -> impl Iterator<Item = &Packet> {
        let ring = &self.wire.on_the_way;
        let due = self.planned == now;
        let packets = (0..ring.len()).map(|nth| ring.get(ring.start().wrapping_add(nth)));
        packets.take_while(move |packet| due && packet.arrival <= now)
    }

    /// When something happens next; [`NEVER`] if nothing does.
    #[inline]
    fn next_event(&self) -> u64 {
        let arrival = self.wire.next_arrival();
        match &self.queue {
            Queue::Fifo(_) => arrival,
            Queue::Managed(managed) => managed.next_departure(&self.wire).min(arrival),
        }
    }

    /// When something happens next, if that is another time than was planned; [`NEVER`] if nothing does.
    fn replan(&mut self) -> Option<u64> {
        let next = self.next_event();
        let before = std::mem::replace(&mut self.planned, next);
        (next != before).then_some(next)
    }

    /// Something changes now. `dropped` gets what leaves the queue unsent. Returns when something happens next, if
    /// that has changed; [`NEVER`] if nothing does.
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

    /// What was counted by `now`, the present or what comes next.
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
