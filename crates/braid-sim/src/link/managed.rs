//! Disciplines that decide at each departure which packet goes next: `CoDel` (RFC 8289) and `FQ-CoDel` (RFC 8290).

use std::collections::VecDeque;

use braid_scenario::model::{CoDel as Parameters, FqCoDel, QueueLimit};

use super::codel::CoDel;
use super::wire::{NEVER, Wire};
use crate::packet::{Packet, flags};

/// On overflow the fullest queue loses half its packets, at most this many.
const OVERFLOW_BATCH: usize = 64;

/// A packet and when it came.
#[derive(Clone, Copy)]
struct Waiting {
    packet: Packet,
    came: u64,
}

/// Which list of queues to be served a queue is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Service {
    Idle,
    New,
    Old,
}

struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Bytes it may still send in this turn.
    credit: i64,
    service: Service,
    codel: CoDel,
}

/// One queue, or many served in turn, each under `CoDel`.
pub(super) struct Managed {
    parameters: Parameters,
    limit: QueueLimit,
    quantum: i64,
    queues: Vec<Queue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: u32,
    bytes: u64,
}

impl Managed {
    fn new(parameters: Parameters, limit: QueueLimit, queues: u32, quantum: u32) -> Self {
        let queue = |_| Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            credit: 0,
            service: Service::Idle,
            codel: CoDel::default(),
        };
        Self {
            parameters,
            limit,
            quantum: i64::from(quantum),
            queues: (0..queues.max(1)).map(queue).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// One queue for all.
    pub(super) fn codel(parameters: Parameters, limit: QueueLimit) -> Self {
        Self::new(parameters, limit, 1, u32::MAX)
    }

    /// A queue for each flow, or for those that hash to the same one.
    pub(super) fn fq_codel(fq: FqCoDel, limit: QueueLimit) -> Self {
        Self::new(fq.codel, limit, fq.flows, fq.quantum)
    }

    /// Packets that wait or are being sent.
    pub(super) fn len(&self, wire: &Wire, now: u64) -> u32 {
        self.packets + u32::from(wire.busy_until > now)
    }

    /// When the next packet is to be taken out of the queue; [`NEVER`] if there is none.
    pub(super) fn next_departure(&self, wire: &Wire) -> u64 {
        if self.packets > 0 { wire.busy_until } else { NEVER }
    }

    /// Subflows are flows of their own: their addresses differ. The hash is Fibonacci's.
    fn queue_of(&self, packet: &Packet) -> usize {
        let hash = u64::from(packet.subflow).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((hash * self.queues.len() as u64) >> 32) as usize
    }

    pub(super) fn offer(
        &mut self,
        wire: &mut Wire,
        now: u64,
        packet: Packet,
        dropped: &mut impl FnMut(&Packet),
    ) {
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(packet.size);
        let at = self.queue_of(&packet);
        let queue = &mut self.queues[at];
        queue.waiting.push_back(Waiting { packet, came: now });
        queue.bytes += u64::from(packet.size);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if queue.service == Service::Idle {
            queue.service = Service::New;
            queue.credit = self.quantum;
            self.new.push_back(at);
        }
        if self.is_full(wire, now) {
            self.overflow(wire, now, dropped);
        }
        if wire.busy_until <= now {
            self.depart(wire, now, dropped);
        }
    }

    fn is_full(&self, wire: &Wire, now: u64) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.len(wire, now) > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Drop-tail with one queue; with several, from the head of the one with most bytes.
    fn overflow(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        let single = self.queues.len() == 1;
        let Some(fullest) = (0..self.queues.len()).max_by_key(|&at| (self.queues[at].bytes, usize::MAX - at))
        else {
            return;
        };
        let queue = &mut self.queues[fullest];
        let n = if single { 1 } else { (queue.waiting.len() / 2).clamp(1, OVERFLOW_BATCH) };
        for _ in 0..n {
            let out = if single { queue.waiting.pop_back() } else { queue.waiting.pop_front() };
            let Some(Waiting { packet, came }) = out else { return };
            queue.bytes -= u64::from(packet.size);
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            discount(wire, now, came, &packet);
            dropped(&packet);
        }
    }

    /// If the transmitter is free, gives it the next packet.
    pub(super) fn depart(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        while wire.busy_until <= now && self.packets > 0 {
            let Some(Waiting { mut packet, came }) = self.choose(wire, now, dropped) else { return };
            wire.send(now, came, &mut packet);
        }
    }

    /// RFC 8290 sect. 4.2: new queues before old ones; one that has used its turn goes to the end of the old ones, and
    /// an empty new one as well, so that it cannot starve them by coming and going.
    fn choose(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) -> Option<Waiting> {
        loop {
            let from_new = !self.new.is_empty();
            let at = *self.new.front().or(self.old.front())?;
            if self.queues[at].credit <= 0 {
                self.queues[at].credit += self.quantum;
                self.move_to_old(at, from_new);
                continue;
            }
            if let Some(chosen) = self.take(at, wire, now, dropped) {
                self.queues[at].credit -= i64::from(chosen.packet.size);
                return Some(chosen);
            }
            if from_new {
                self.move_to_old(at, true);
            } else {
                self.old.pop_front();
                self.queues[at].service = Service::Idle;
            }
        }
    }

    fn move_to_old(&mut self, at: usize, from_new: bool) {
        if from_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
        self.old.push_back(at);
        self.queues[at].service = Service::Old;
    }

    /// The next packet of one queue that `CoDel` lets pass.
    fn take(
        &mut self,
        at: usize,
        wire: &mut Wire,
        now: u64,
        dropped: &mut impl FnMut(&Packet),
    ) -> Option<Waiting> {
        let Self { queues, parameters, packets, bytes, .. } = self;
        let Queue { waiting, bytes: own_bytes, codel, .. } = &mut queues[at];
        let pop = || {
            let next = waiting.pop_front()?;
            let size = u64::from(next.packet.size);
            *own_bytes -= size;
            *packets -= 1;
            *bytes -= size;
            Some((next, now - next.came, *bytes))
        };
        let discard = |Waiting { packet, came }: &mut Waiting| {
            if parameters.ecn && packet.flags & flags::ECT != 0 {
                packet.flags |= flags::CE;
                wire.counts.marks += 1;
                return true;
            }
            discount(wire, now, *came, packet);
            dropped(packet);
            false
        };
        codel.dequeue(now, parameters, pop, discard)
    }
}

/// A packet leaves the queue unsent.
fn discount(wire: &mut Wire, now: u64, came: u64, packet: &Packet) {
    wire.counts.drops_queue += 1;
    wire.counts.packets -= 1;
    wire.counts.bytes -= u64::from(packet.size);
    wire.counts.queue_integral += u128::from(now - came);
}
