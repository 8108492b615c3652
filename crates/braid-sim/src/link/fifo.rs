//! First in, first out, dropped when full: a packet's departure is known when it comes, so it costs one event, its
//! arrival at the far end; or none, if the next link gets packets from here only and looks ahead.

use std::collections::VecDeque;

use braid_results::measure::DirectionCounts;
use braid_scenario::model::{Change, Direction, Discipline, EcnThreshold, QueueLimit};

use super::wire::Wire;
use crate::packet::flags;
use crate::random::Stream;
use crate::ring::Ring;

/// A packet in the queue, and what was counted of it.
#[derive(Clone, Copy, Default)]
struct Sent {
    departure: u64,
    came: u64,
    size: u16,
    /// [`flags::CE`] if it was marked here, [`flags::LOST`] if the wire loses it.
    fate: u16,
}

/// Random delay of packets before the queue, in order. Packets that come together stay together, as a host sends them.
pub(super) struct Noise {
    /// Uniform in `[0, most_ns)`; 0: none.
    most_ns: u64,
    /// When the latest packet would have come, and when it comes.
    planned: u64,
    latest: u64,
    random: Stream,
}

impl Noise {
    pub(super) fn new(most_ns: u64, random: Stream) -> Self {
        Self { most_ns, planned: u64::MAX, latest: 0, random }
    }

    /// When a packet that would come at `came` comes.
    #[inline]
    fn delay(&mut self, came: u64) -> u64 {
        if self.most_ns == 0 {
            return came;
        }
        if came != self.planned {
            self.planned = came;
            self.latest = self.latest.max(came + self.random.below(self.most_ns));
        }
        self.latest
    }
}

pub(super) struct Fifo {
    noise: Noise,
    limit: QueueLimit,
    mark_from: u32,
    /// Packets are offered before they come, in the order in which they will: what is counted of them is early.
    looks_ahead: bool,
    /// Of a link that looks ahead: when those will come for which there will be no room, after some that have.
    early_drops: VecDeque<u64>,
    /// What has not departed, after some that has: that is forgotten when its room is needed.
    sent: Ring<Sent>,
    /// For a limit in bytes: the first packet that had not departed when the latest one came, and the bytes from there on.
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
    pub(super) fn new(model: &Direction, looks_ahead: bool, noise: Noise) -> Self {
        Self {
            looks_ahead: looks_ahead || noise.most_ns > 0,
            noise,
            limit: model.queue,
            mark_from: mark_from(model.ecn_threshold),
            early_drops: VecDeque::new(),
            sent: Ring::new(),
            first: 0,
            bytes: 0,
        }
    }

    /// Whether at least `n` of the packets offered so far have not departed by then.
    #[inline]
    fn holds(&self, n: u32, then: u64) -> bool {
        n == 0 || (n <= self.sent.len() && self.sent.get(self.sent.end().wrapping_sub(n)).departure > then)
    }

    /// Whether so many bytes fit a queue of so many by then; they take their place.
    fn has_bytes(&mut self, limit: u64, then: u64, size: u16) -> bool {
        while self.first != self.sent.end() {
            let &Sent { departure, size, .. } = self.sent.get(self.first);
            if departure > then {
                break;
            }
            self.bytes -= u64::from(size);
            self.first = self.first.wrapping_add(1);
        }
        let bytes = self.bytes + u64::from(size);
        let fits = bytes <= limit;
        if fits {
            self.bytes = bytes;
        }
        fits
    }

    /// Returns when the packet arrives; `None`: there was no room.
    #[inline]
    pub(super) fn offer(
        &mut self,
        wire: &mut Wire,
        now: u64,
        came: u64,
        size: u16,
        flags: &mut u16,
    ) -> Option<u64> {
        let came = self.noise.delay(came);
        let full = match self.limit {
            QueueLimit::Packets(limit) => self.holds(limit, came),
            QueueLimit::Bytes(limit) => !self.has_bytes(limit, came, size),
        };
        if full {
            wire.counts.drops_queue += 1;
            if self.looks_ahead {
                self.note_early_drop(now, came);
            }
            return None;
        }
        let mut marked = 0;
        if *flags & flags::ECT != 0 && self.holds(self.mark_from, came) {
            marked = flags::CE;
            *flags |= marked;
            wire.counts.marks += 1;
        }
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(size);
        let arrival = wire.send(came, came, size, flags);
        let departure = wire.busy_until;
        if self.sent.is_full() {
            self.forget_departed(now);
        }
        self.sent.push(Sent { departure, came, size, fate: marked | (*flags & flags::LOST) });
        Some(arrival)
    }

    #[cold]
    fn note_early_drop(&mut self, now: u64, came: u64) {
        while self.early_drops.front().is_some_and(|&first| first < now) {
            self.early_drops.pop_front();
        }
        self.early_drops.push_back(came);
    }

    /// Makes room for half as much again or a quarter, if so many have departed.
    #[cold]
    fn forget_departed(&mut self, now: u64) {
        for part in [2, 4] {
            let end = self.sent.start().wrapping_add(self.sent.len() / part);
            if self.sent.get(end).departure <= now {
                return self.sent.remove_below(end);
            }
        }
    }

    /// The latest first.
    fn latest(&self) -> impl Iterator<Item = &Sent> {
        (1..=self.sent.len()).map(|back| self.sent.get(self.sent.end().wrapping_sub(back)))
    }

    /// What has been offered and has not come by now, the latest first. It has not departed either, so it is still known.
    fn coming(&self, now: u64) -> impl Iterator<Item = &Sent> {
        self.latest().take_while(move |sent| self.looks_ahead && sent.came >= now)
    }

    /// Packets that have come and not departed.
    pub(super) fn len(&self, now: u64) -> u32 {
        let offered = self.latest().take_while(|sent| sent.departure > now).count();
        (offered - self.coming(now).count()) as u32
    }

    /// Takes out of the counts what has not come yet.
    pub(super) fn discount_early(&self, wire: &Wire, now: u64, counts: &mut DirectionCounts) {
        for packet in self.coming(now) {
            counts.packets -= 1;
            counts.bytes -= u64::from(packet.size);
            counts.busy_ns -= wire.time_of(packet.size);
            counts.queue_integral -= u128::from(packet.departure - packet.came);
            counts.marks -= u64::from(packet.fate & flags::CE != 0);
            counts.drops_wire -= u64::from(packet.fate & flags::LOST != 0);
        }
        counts.drops_queue -= self.early_drops.iter().rev().take_while(|&&came| came >= now).count() as u64;
    }

    /// Something has changed, perhaps rate or delay: what waits departs and arrives at other times. What is being sent is
    /// finished as it began.
    pub(super) fn change(&mut self, wire: &mut Wire, now: u64, change: &Change) {
        self.limit = change.queue.unwrap_or(self.limit);
        if change.ecn_threshold.is_some() {
            self.mark_from = mark_from(change.ecn_threshold);
        }
        let n = self.len(now);
        self.first = self.sent.end().wrapping_sub(n);
        self.bytes = self.latest().take(n as usize).map(|sent| u64::from(sent.size)).sum();
        let ring = &mut wire.on_the_way;
        let on_the_way = ring.end().wrapping_sub(n);
        let mut latest = if ring.len() > n { ring.get(on_the_way.wrapping_sub(1)).arrival } else { 0 };
        wire.busy_until = now;
        for offset in 0..n {
            let &Sent { departure: before, size, .. } = self.sent.get(self.first.wrapping_add(offset));
            let departure = if offset == 0 { before } else { wire.busy_until + wire.transmission_ns(size) };
            wire.counts.queue_integral =
                (wire.counts.queue_integral + u128::from(departure)).saturating_sub(before.into());
            latest = latest.max(departure + wire.delay_ns);
            self.sent.get_mut(self.first.wrapping_add(offset)).departure = departure;
            wire.on_the_way.get_mut(on_the_way.wrapping_add(offset)).arrival = latest;
            wire.busy_until = departure;
        }
        wire.last_arrival = latest;
    }
}
