//! One direction of a link: a queue, a transmitter and a wire.
//!
//! - [`wire`] — transmission time, propagation, loss: what all links have;
//! - [`fifo`] — drop-tail, where a packet's departure is known when it enters the queue;
//! - [`managed`] — disciplines that decide at each departure: `CoDel` and `FQ-CoDel`;
//! - [`codel`] — the control law of both.

mod codel;
mod fifo;
mod managed;
mod wire;

use braid_results::measure::DirectionCounts;
use braid_scenario::model::{Change, Direction, Discipline};

use crate::packet::Packet;
use crate::random::Stream;
use fifo::Fifo;
use managed::Managed;
use wire::Wire;

/// A direction of a link at work.
pub(crate) struct Link {
    wire: Wire,
    queue: Queue,
    /// The agenda's entry that is still meant.
    planned: Option<u64>,
}

enum Queue {
    Fifo(Fifo),
    Managed(Box<Managed>),
}

impl Link {
    pub(crate) fn new(model: &Direction, random: Stream) -> Self {
        let queue = match model.discipline {
            Discipline::DropTail => Queue::Fifo(Fifo::new(model)),
            Discipline::CoDel(codel) => Queue::Managed(Box::new(Managed::codel(codel, model.queue))),
            Discipline::FqCoDel(fq) => Queue::Managed(Box::new(Managed::fq_codel(fq, model.queue))),
        };
        Self { wire: Wire::new(model, random), queue, planned: None }
    }

    /// Offers a packet to the queue. One that the wire will lose is accepted: it takes its turn like any other.
    /// `dropped` gets what leaves the queue unsent instead, this packet or others.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: u64,
        packet: Packet,
        mut dropped: impl FnMut(&Packet),
    ) -> Option<u64> {
        match &mut self.queue {
            Queue::Fifo(fifo) => {
                if !fifo.offer(&mut self.wire, now, packet) {
                    dropped(&packet);
                    return None;
                }
                if self.planned.is_none() {
                    self.planned = self.wire.next_arrival();
                    return self.planned;
                }
                None
            }
            Queue::Managed(managed) => {
                managed.offer(&mut self.wire, now, packet, &mut dropped);
                self.replan()
            }
        }
    }

    /// Whether the entry of the agenda that has come up is still meant.
    #[inline]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.planned == Some(now)
    }

    /// The packet that arrives now, if one does.
    #[inline]
    pub(crate) fn arrive(&mut self, now: u64) -> Option<Packet> {
        self.wire.arrive(now)
    }

    /// The rest of its event: what departs now; returns when to come back.
    #[inline]
    pub(crate) fn go_on(&mut self, now: u64, mut dropped: impl FnMut(&Packet)) -> Option<u64> {
        match &mut self.queue {
            Queue::Fifo(_) => self.planned = self.wire.next_arrival(),
            Queue::Managed(managed) => {
                managed.depart(&mut self.wire, now, &mut dropped);
                self.planned = None;
                self.replan();
            }
        }
        self.planned
    }

    /// The time of a new entry in the agenda, if one is needed.
    fn replan(&mut self) -> Option<u64> {
        let departure = match &self.queue {
            Queue::Fifo(_) => None,
            Queue::Managed(managed) => managed.next_departure(&self.wire),
        };
        let next = [self.wire.next_arrival(), departure].into_iter().flatten().min();
        if next == self.planned {
            return None;
        }
        self.planned = next;
        next
    }

    /// Rate, delay or loss change now. Returns the time of a new entry in the agenda, if one is needed.
    pub(crate) fn change(&mut self, now: u64, change: &Change) -> Option<u64> {
        self.wire.change(change);
        if let Queue::Fifo(fifo) = &mut self.queue {
            fifo.recompute(&mut self.wire, now);
        }
        self.replan()
    }

    pub(crate) fn counts(&self) -> &DirectionCounts {
        &self.wire.counts
    }

    /// Packets in the queue, the one being sent included.
    pub(crate) fn queue_length(&mut self, now: u64) -> u32 {
        match &mut self.queue {
            Queue::Fifo(fifo) => fifo.len(now),
            Queue::Managed(managed) => managed.len(&self.wire, now),
        }
    }
}
