//! First in, first out, dropped when full: a packet's departure is known when it enters, so it costs one event, its
//! arrival at the far end.

use braid_scenario::model::{Direction, QueueLimit};

use super::wire::Wire;
use crate::packet::{Packet, flags};
use crate::ring::Ring;

/// What is being sent or waits for it.
#[derive(Clone, Copy, Default)]
struct Queued {
    departs: u64,
    bytes: u16,
}

pub(super) struct Fifo {
    limit: QueueLimit,
    mark_from: u32,
    queued: Ring<Queued>,
    queued_bytes: u64,
}

impl Fifo {
    pub(super) fn new(model: &Direction) -> Self {
        Self {
            limit: model.queue,
            mark_from: model.ecn_threshold.unwrap_or(u32::MAX),
            queued: Ring::new(),
            queued_bytes: 0,
        }
    }

    /// Forgets what has departed meanwhile.
    #[inline]
    fn settle(&mut self, now: u64) {
        while let Some(first) = self.queued.front() {
            if first.departs > now {
                break;
            }
            self.queued_bytes -= u64::from(first.bytes);
            self.queued.pop();
        }
    }

    /// Packets in the queue.
    pub(super) fn len(&mut self, now: u64) -> u32 {
        self.settle(now);
        self.queued.len()
    }

    /// Returns whether there was room.
    #[inline]
    pub(super) fn offer(&mut self, wire: &mut Wire, now: u64, mut packet: Packet) -> bool {
        self.settle(now);
        let full = match self.limit {
            QueueLimit::Packets(limit) => self.queued.len() >= limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + u64::from(packet.size) > limit,
        };
        if full {
            wire.counts.drops_queue += 1;
            return false;
        }
        if self.queued.len() >= self.mark_from && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
            wire.counts.marks += 1;
        }
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(packet.size);
        let bytes = packet.size;
        let departs = wire.send(now, now, packet);
        self.queued.push(Queued { departs, bytes });
        self.queued_bytes += u64::from(bytes);
        true
    }

    /// Rate or delay have changed: what waits departs at other times. What is being sent is finished as it began.
    pub(super) fn recompute(&mut self, wire: &mut Wire, now: u64) {
        self.settle(now);
        let Some(first) = self.queued.front() else {
            wire.busy_until = now;
            return;
        };
        let mut departs = first.departs;
        let numbers = self.queued.start()..self.queued.end();
        for number in numbers.clone().skip(1) {
            let queued = self.queued.get_mut(number);
            departs += wire.transmission_ns(queued.bytes);
            let (before, after) = (queued.departs, departs);
            queued.departs = departs;
            wire.counts.queue_integral =
                (wire.counts.queue_integral + u128::from(after)).saturating_sub(before.into());
        }
        let queued = &self.queued;
        wire.reschedule(numbers.map(|number| queued.get(number).departs));
    }
}
