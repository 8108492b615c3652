//! Links that choose the next packet at each departure: `CoDel` (RFC 8289), `FQ-CoDel` (RFC 8290), RED, marks by
//! waiting time; and links whose departures are unknown at arrival: traces, links that go down, reordering.

use std::collections::VecDeque;

use braid_scenario::model::{Change, CoDel as Parameters, Direction, Discipline, EcnThreshold, QueueLimit};
use braid_scenario::trace::Trace;

use super::codel::CoDel;
use super::opportunities::{Opportunities, Sending};
use super::red::{Red, Verdict};
use super::waiting::Waiting;
use super::wire::{NEVER, Wire};
use crate::packet::{Packet, flags};
use crate::random::Stream;

/// On overflow the fullest queue loses half its packets, at most this many.
const OVERFLOW_BATCH: usize = 64;

/// The service list that a queue is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Service {
    Idle,
    New,
    Old,
}

struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Bytes it may still send in this round.
    credit: i64,
    service: Service,
    codel: CoDel,
}

/// Rule for drops before the queue overflows.
enum Law {
    Nobody,
    Red(Red),
    CoDel(Parameters),
}

/// One queue, or many served in rounds.
pub(super) struct Managed {
    law: Law,
    limit: QueueLimit,
    ecn_threshold: Option<EcnThreshold>,
    quantum: i64,
    queues: Vec<Queue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: u32,
    bytes: u64,
    /// Delivery opportunities in place of a rate.
    opportunities: Option<Opportunities>,
    up: bool,
    keeps_queue: bool,
}

impl Managed {
    pub(super) fn new(model: &Direction, random: Stream) -> Self {
        let queue = |_| Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            credit: 0,
            service: Service::Idle,
            codel: CoDel::default(),
        };
        let (law, queues, quantum) = match model.discipline {
            Discipline::DropTail => (Law::Nobody, 1, u32::MAX),
            Discipline::Red(red) => (Law::Red(Red::new(&red, random)), 1, u32::MAX),
            Discipline::CoDel(codel) => (Law::CoDel(codel), 1, u32::MAX),
            Discipline::FqCoDel(fq) => (Law::CoDel(fq.codel), fq.flows.max(1), fq.quantum),
        };
        Self {
            law,
            limit: model.queue,
            ecn_threshold: model.ecn_threshold,
            quantum: i64::from(quantum),
            queues: (0..queues).map(queue).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            opportunities: model.trace.clone().map(Opportunities::new),
            up: true,
            keeps_queue: model.keeps_queue,
        }
    }

    /// The packet that opportunities have sent a part of.
    fn sending(&self) -> Option<&Sending> {
        self.opportunities.as_ref()?.sending.as_ref()
    }

    /// Packets that wait or are being sent.
    pub(super) fn len(&self, wire: &Wire, now: u64) -> u32 {
        self.packets + u32::from(wire.busy_until > now || self.sending().is_some())
    }

    /// Bytes that wait or are being sent.
    fn bytes(&self, wire: &Wire, now: u64) -> u64 {
        let part = self.sending().map_or(0, |sending| u64::from(sending.waiting.packet.size));
        self.bytes + wire.sending_bytes(now) + part
    }

    /// Time of the next departure from the queue; [`NEVER`]: none.
    pub(super) fn next_departure(&self, wire: &Wire) -> u64 {
        if !self.up || (self.packets == 0 && self.sending().is_none()) {
            return NEVER;
        }
        self.opportunities.as_ref().map_or(wire.busy_until, |opportunities| opportunities.next)
    }

    /// Subflows are separate flows, since their addresses differ. Fibonacci hash.
    fn queue_of(&self, packet: &Packet) -> usize {
        let hash = u64::from(packet.subflow).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((hash * self.queues.len() as u64) >> 32) as usize
    }

    pub(super) fn offer(
        &mut self,
        wire: &mut Wire,
        now: u64,
        mut packet: Packet,
        dropped: &mut impl FnMut(&Packet),
    ) {
        self.catch_up(wire, now, dropped);
        if !self.admit(wire, now, &mut packet) {
            wire.counts.drops_queue += 1;
            dropped(&packet);
            return;
        }
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
        if self.queues.len() > 1 && self.is_full(wire, now, 0) {
            self.overflow(wire, now, dropped);
        }
        self.depart(wire, now, dropped);
    }

    /// Whether an arriving packet may join the queue; marks it if the queue is too long.
    fn admit(&mut self, wire: &mut Wire, now: u64, packet: &mut Packet) -> bool {
        if !self.up && !self.keeps_queue {
            return false;
        }
        let length = self.len(wire, now);
        let mut marks = match self.ecn_threshold {
            Some(EcnThreshold::Packets(from)) => length >= from,
            Some(EcnThreshold::Bytes(from)) => self.bytes(wire, now) >= from,
            Some(EcnThreshold::Wait(_)) | None => false,
        };
        if let Law::Red(red) = &mut self.law {
            let idle = if length == 0 { (now - wire.busy_until) / wire.full_packet_ns() } else { 0 };
            match red.arrival(length, idle) {
                Verdict::Pass => {}
                Verdict::Early if red.ecn && packet.flags & flags::ECT != 0 => marks = true,
                Verdict::Early | Verdict::Full => return false,
            }
        }
        // With several queues the arriving packet is not the one to drop.
        if self.queues.len() == 1 && self.is_full(wire, now, packet.size) {
            return false;
        }
        if marks {
            mark(wire, packet);
        }
        true
    }

    /// Whether a further packet of this many bytes exceeds the limit; with 0, whether the present queue does.
    fn is_full(&self, wire: &Wire, now: u64, more: u16) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.len(wire, now) + u32::from(more > 0) > limit,
            QueueLimit::Bytes(limit) => self.bytes(wire, now) + u64::from(more) > limit,
        }
    }

    /// Drops packets from the head of the fullest queue.
    fn overflow(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        let Some(fullest) = (0..self.queues.len()).max_by_key(|&at| (self.queues[at].bytes, usize::MAX - at))
        else {
            return;
        };
        let n = (self.queues[fullest].waiting.len() / 2).clamp(1, OVERFLOW_BATCH);
        for _ in 0..n {
            self.drop_first(fullest, wire, now, dropped);
        }
    }

    fn drop_first(&mut self, at: usize, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        let queue = &mut self.queues[at];
        let Some(Waiting { packet, came }) = queue.waiting.pop_front() else { return };
        queue.bytes -= u64::from(packet.size);
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        discount(wire, now, came, &packet);
        dropped(&packet);
    }

    /// Opportunities until now come before the packet that arrives now, as in mahimahi.
    fn catch_up(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        if self.packets > 0 {
            self.depart(wire, now, dropped);
        }
        if self.len(wire, now) > 0 {
            return;
        }
        // The transmitter has been idle since then: no queue is in a round any more.
        let asked = match &mut self.opportunities {
            Some(opportunities) => opportunities.pass(now),
            None => wire.busy_until < now,
        };
        if asked {
            for at in self.new.drain(..).chain(self.old.drain(..)) {
                self.queues[at].service = Service::Idle;
                self.queues[at].codel.emptied();
            }
        }
    }

    /// Gives the transmitter the next packet, if it is free.
    pub(super) fn depart(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        if !self.up {
            return;
        }
        if let Some(mut opportunities) = self.opportunities.take() {
            self.deliver(&mut opportunities, wire, now, dropped);
            self.opportunities = Some(opportunities);
            return;
        }
        while wire.busy_until <= now && self.packets > 0 {
            let Some(Waiting { mut packet, came }) = self.choose(wire, now, dropped) else { return };
            packet.arrival = wire.send(now, came, packet.size, &mut packet.flags);
            wire.carry(packet);
        }
    }

    /// Uses the opportunities until now: each sends the rest of a packet, further packets, and a part of the last one.
    fn deliver(
        &mut self,
        opportunities: &mut Opportunities,
        wire: &mut Wire,
        now: u64,
        dropped: &mut impl FnMut(&Packet),
    ) {
        while opportunities.next <= now && (self.packets > 0 || opportunities.sending.is_some()) {
            let mut bytes = Trace::OPPORTUNITY;
            while bytes > 0 {
                let chosen = opportunities.sending.take().or_else(|| {
                    let waiting = self.choose(wire, now, dropped)?;
                    Some(Sending { waiting, left: u32::from(waiting.packet.size) + Trace::OVERHEAD })
                });
                let Some(Sending { waiting, left }) = chosen else { break };
                if left > bytes {
                    opportunities.sending = Some(Sending { waiting, left: left - bytes });
                    bytes = 0;
                } else {
                    bytes -= left;
                    let Waiting { mut packet, came } = waiting;
                    packet.arrival = wire.launch(came, now, &mut packet.flags);
                    wire.carry(packet);
                }
            }
            let used = u64::from(Trace::OPPORTUNITY - bytes);
            wire.counts.busy_ns += opportunities.take() * used / u64::from(Trace::OPPORTUNITY);
        }
    }

    pub(super) fn change(
        &mut self,
        wire: &mut Wire,
        now: u64,
        change: &Change,
        dropped: &mut impl FnMut(&Packet),
    ) {
        self.catch_up(wire, now, dropped);
        self.limit = change.queue.unwrap_or(self.limit);
        self.ecn_threshold = change.ecn_threshold.or(self.ecn_threshold);
        match (&mut self.law, change.discipline) {
            (Law::Red(red), Some(Discipline::Red(parameters))) => red.set(&parameters),
            (Law::CoDel(codel), Some(Discipline::CoDel(parameters))) => *codel = parameters,
            (Law::CoDel(codel), Some(Discipline::FqCoDel(parameters))) => {
                *codel = parameters.codel;
                self.quantum = i64::from(parameters.quantum);
            }
            _ => {}
        }
        if let Some(up) = change.up {
            self.up = up;
            if up {
                if let Some(opportunities) = &mut self.opportunities {
                    opportunities.pass(now);
                }
            } else if !self.keeps_queue {
                self.empty(wire, now, dropped);
            }
        }
        self.depart(wire, now, dropped);
    }

    /// Drops everything.
    fn empty(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) {
        let part = self.opportunities.as_mut().and_then(|opportunities| opportunities.sending.take());
        if let Some(Sending { waiting: Waiting { packet, came }, .. }) = part {
            discount(wire, now, came, &packet);
            dropped(&packet);
        }
        for at in 0..self.queues.len() {
            while !self.queues[at].waiting.is_empty() {
                self.drop_first(at, wire, now, dropped);
            }
            self.queues[at].service = Service::Idle;
            self.queues[at].codel.emptied();
        }
        self.new.clear();
        self.old.clear();
    }

    /// RFC 8290 sect. 4.2: new queues before old ones. A queue that has used its credit goes to the end of the old
    /// ones, and so does an empty new one, so that a flow with occasional packets cannot block the old ones.
    fn choose(&mut self, wire: &mut Wire, now: u64, dropped: &mut impl FnMut(&Packet)) -> Option<Waiting> {
        loop {
            let from_new = !self.new.is_empty();
            let at = *self.new.front().or(self.old.front())?;
            if self.queues[at].credit <= 0 {
                self.queues[at].credit += self.quantum;
                self.move_to_old(at, from_new);
                continue;
            }
            if let Some(mut chosen) = self.take(at, wire, now, dropped) {
                self.queues[at].credit -= i64::from(chosen.packet.size);
                if matches!(self.ecn_threshold, Some(EcnThreshold::Wait(limit)) if now - chosen.came >= limit)
                {
                    mark(wire, &mut chosen.packet);
                }
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

    /// Takes the next packet of one queue, subject to `CoDel` if enabled.
    fn take(
        &mut self,
        at: usize,
        wire: &mut Wire,
        now: u64,
        dropped: &mut impl FnMut(&Packet),
    ) -> Option<Waiting> {
        let Self { queues, law, packets, bytes, .. } = self;
        let Queue { waiting, bytes: own_bytes, codel, .. } = &mut queues[at];
        let mut pop = || {
            let next = waiting.pop_front()?;
            let size = u64::from(next.packet.size);
            *own_bytes -= size;
            *packets -= 1;
            *bytes -= size;
            Some((next, now - next.came, *bytes))
        };
        let Law::CoDel(parameters) = law else { return pop().map(|(next, ..)| next) };
        let discard = |Waiting { packet, came }: &mut Waiting| {
            if parameters.ecn && mark(wire, packet) {
                return true;
            }
            discount(wire, now, *came, packet);
            dropped(packet);
            false
        };
        codel.dequeue(now, parameters, pop, discard)
    }
}

/// Marks a packet if it is ECN-capable and unmarked; returns whether it is ECN-capable.
fn mark(wire: &mut Wire, packet: &mut Packet) -> bool {
    let can = packet.flags & flags::ECT != 0;
    if can && packet.flags & flags::CE == 0 {
        packet.flags |= flags::CE;
        wire.counts.marks += 1;
    }
    can
}

/// A packet leaves the queue unsent.
fn discount(wire: &mut Wire, now: u64, came: u64, packet: &Packet) {
    wire.counts.drops_queue += 1;
    wire.counts.packets -= 1;
    wire.counts.bytes -= u64::from(packet.size);
    wire.counts.queue_integral += u128::from(now - came);
}
