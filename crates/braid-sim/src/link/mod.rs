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
use fifo::Fifo;
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
    /// The event queue's entry that is still meant; [`NEVER`] if none is.
    planned: u64,
}

/// What became of a packet that was offered.
pub(crate) enum Offered {
    /// Its arrival is known, and [`Link::carry`] takes it unless the next link does.
    Sent,
    /// The link sees to it. The time of a new entry in the event queue, if one is needed.
    Taken(Option<u64>),
}

enum Queue {
    Fifo(Fifo),
    Managed(Box<Managed>),
}

impl Link {
    /// `name` is that of its random streams. To a link that looks ahead, packets are offered before they come.
    pub(crate) fn new(model: &Direction, seed: u64, name: &str, looks_ahead: bool) -> Self {
        let queue = if fifo::suffices(model) {
            Queue::Fifo(Fifo::new(model, looks_ahead))
        } else {
            Queue::Managed(Box::new(Managed::new(model, Stream::new(seed, &format!("{name} red")))))
        };
        Self { wire: Wire::new(model, Stream::new(seed, name)), queue, planned: NEVER }
    }

    /// Offers a packet to the queue, at `now` or, to a link that looks ahead, before it comes. One that the wire will lose is
    /// accepted: it takes its turn like any other. `dropped` gets what leaves the queue unsent instead, this packet or
    /// others.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: u64,
        came: u64,
        packet: &mut Packet,
        mut dropped: impl FnMut(&Packet),
    ) -> Offered {
        match &mut self.queue {
            Queue::Fifo(fifo) => {
                if fifo.offer(&mut self.wire, now, came, packet) {
                    Offered::Sent
                } else {
                    dropped(packet);
                    Offered::Taken(None)
                }
            }
            Queue::Managed(managed) => {
                managed.offer(&mut self.wire, now, *packet, &mut dropped);
                Offered::Taken(self.replan())
            }
        }
    }

    /// Takes a packet that was [`Offered::Sent`] to the end of the link. Returns the time of a new entry in the event
    /// queue, if one is needed.
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

    /// The event queue's entry for `now` has come up: the packet that arrives, if one does, and the time of a new entry, if
    /// one is needed.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: u64,
        mut dropped: impl FnMut(&Packet),
    ) -> (Option<Packet>, Option<u64>) {
        if self.planned != now {
            return (None, None); // a later decision has replaced the entry
        }
        match &mut self.queue {
            Queue::Fifo(_) => {
                let packet = self.wire.on_the_way.pop();
                self.planned = self.wire.next_arrival();
                (packet, (self.planned != NEVER).then_some(self.planned))
            }
            Queue::Managed(managed) => {
                let packet = self.wire.arrive(now);
                managed.depart(&mut self.wire, now, &mut dropped);
                self.planned = NEVER;
                (packet, self.replan())
            }
        }
    }

    /// What an event at `now` would let arrive.
    pub(crate) fn arriving(&self, now: u64) -> impl Iterator<Item = &Packet> {
        let ring = &self.wire.on_the_way;
        let due = self.planned == now;
        let packets = (0..ring.len()).map(|nth| ring.get(ring.start().wrapping_add(nth)));
        packets.take_while(move |packet| due && packet.arrival <= now)
    }

    /// The time of a new entry in the event queue, if one is needed.
    fn replan(&mut self) -> Option<u64> {
        let departure = match &self.queue {
            Queue::Fifo(_) => NEVER,
            Queue::Managed(managed) => managed.next_departure(&self.wire),
        };
        let next = self.wire.next_arrival().min(departure);
        if next == self.planned {
            return None;
        }
        self.planned = next;
        (next != NEVER).then_some(next)
    }

    /// Something changes now. `dropped` gets what leaves the queue unsent. Returns the time of a new entry in the event queue,
    /// if one is needed.
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
