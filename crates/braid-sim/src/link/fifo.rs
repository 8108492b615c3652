//! First in, first out, dropped when full: a packet's departure is known when it enters, so it costs one event, its
//! arrival at the far end.

use braid_scenario::model::{Change, Direction, Discipline, EcnThreshold, QueueLimit};

use super::wire::Wire;
use crate::packet::{Packet, flags};

/// The queue is the last part of what is on the way: what has not departed yet.
pub(super) struct Fifo {
    limit: QueueLimit,
    mark_from: u32,
    /// Number on the wire of the first packet in the queue, as of the latest look.
    first: u32,
    bytes: u64,
}

/// Whether the departure of a packet is known when it comes to such a link.
pub(super) fn suffices(model: &Direction) -> bool {
    let counts = |threshold| matches!(threshold, None | Some(EcnThreshold::Packets(_)));
    model.discipline == Discipline::DropTail
        && model.trace.is_none()
        && !model.reordering
        && counts(model.ecn_threshold)
        && model.changes.iter().all(|change| change.up.is_none() && counts(change.ecn_threshold))
}

fn mark_from(threshold: Option<EcnThreshold>) -> u32 {
    if let Some(EcnThreshold::Packets(packets)) = threshold { packets } else { u32::MAX }
}

impl Fifo {
    pub(super) fn new(model: &Direction) -> Self {
        Self { limit: model.queue, mark_from: mark_from(model.ecn_threshold), first: 0, bytes: 0 }
    }

    /// Forgets what has departed meanwhile.
    #[inline]
    fn settle(&mut self, wire: &Wire, now: u64) {
        while self.first != wire.on_the_way.end() {
            let packet = wire.on_the_way.get(self.first);
            if packet.departure > now {
                break;
            }
            self.forget(packet);
        }
    }

    #[inline]
    fn forget(&mut self, packet: &Packet) {
        self.bytes -= u64::from(packet.size);
        self.first = self.first.wrapping_add(1);
    }

    #[inline]
    fn packets(&self, wire: &Wire) -> u32 {
        wire.on_the_way.end().wrapping_sub(self.first)
    }

    /// Packets in the queue.
    pub(super) fn len(&mut self, wire: &Wire, now: u64) -> u32 {
        self.settle(wire, now);
        self.packets(wire)
    }

    /// Returns whether there was room.
    #[inline]
    pub(super) fn offer(&mut self, wire: &mut Wire, now: u64, packet: &mut Packet) -> bool {
        self.settle(wire, now);
        let full = match self.limit {
            QueueLimit::Packets(limit) => self.packets(wire) >= limit,
            QueueLimit::Bytes(limit) => self.bytes + u64::from(packet.size) > limit,
        };
        if full {
            wire.counts.drops_queue += 1;
            return false;
        }
        if self.packets(wire) >= self.mark_from && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
            wire.counts.marks += 1;
        }
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(packet.size);
        self.bytes += u64::from(packet.size);
        wire.send(now, now, packet);
        true
    }

    /// The packet whose turn it is to arrive.
    #[inline]
    pub(super) fn arrive(&mut self, wire: &mut Wire) -> Option<Packet> {
        let number = wire.on_the_way.start();
        let packet = wire.on_the_way.pop()?;
        if number == self.first {
            self.forget(&packet);
        }
        Some(packet)
    }

    /// Something has changed, perhaps rate or delay: what waits departs at other times. What is being sent is finished as
    /// it began.
    pub(super) fn change(&mut self, wire: &mut Wire, now: u64, change: &Change) {
        self.limit = change.queue.unwrap_or(self.limit);
        if change.ecn_threshold.is_some() {
            self.mark_from = mark_from(change.ecn_threshold);
        }
        self.settle(wire, now);
        wire.reschedule(self.packets(wire), now);
    }
}
