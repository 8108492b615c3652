//! Drop-tail FIFO. A packet's departure is known when it arrives, so it costs one event: its arrival at the far end. No
//! event if the next link gets all its packets from this link and looks ahead.

use std::collections::VecDeque;

use braid_results::measure::DirectionCounts;
use braid_scenario::model::{Change, Direction, Discipline, EcnThreshold, QueueLimit};

use super::wire::Wire;
use crate::packet::flags;
use crate::random::Stream;
use crate::ring::Ring;

/// A packet in the queue, and its share of the counters.
#[derive(Clone, Copy, Default)]
struct Sent {
    departure: u64,
    came: u64,
    size: u16,
    /// [`flags::CE`] if it was marked here, [`flags::LOST`] if the wire loses it.
    fate: u16,
}

/// Random delay of packets before the queue, in order. Packets that arrive together stay together, as a host sends
/// them.
pub(super) struct Noise {
    /// Uniform in `[0, most_ns)`; 0: no noise.
    most_ns: u64,
    /// Undelayed and delayed arrival of the latest packet.
    planned: u64,
    latest: u64,
    random: Stream,
}

impl Noise {
    pub(super) fn new(most_ns: u64, random: Stream) -> Self {
        Self { most_ns, planned: u64::MAX, latest: 0, random }
    }

    /// Delayed arrival of a packet that would arrive at `came`.
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
    /// Packets are offered in order before they arrive, so counters are ahead of time.
    looks_ahead: bool,
    /// Look-ahead links only: arrival times of packets that will be dropped, after some of the past.
    early_drops: VecDeque<u64>,
    /// Packets that have not departed, after some that have: those are removed when their room is needed.
    sent: Ring<Sent>,
    /// For a limit in bytes: the first packet that had not departed when the latest one arrived, and the bytes from
    /// there on.
    first: u32,
    bytes: u64,
}

/// Whether such a link knows a packet's departure when it arrives.
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

    /// Whether at least `n` of the packets offered so far have not departed at `then`.
    #[inline]
    fn holds(&self, n: u32, then: u64) -> bool {
        n == 0 || (n <= self.sent.len() && self.sent.get(self.sent.end().wrapping_sub(n)).departure > then)
    }

    /// Whether `size` more bytes fit a queue of `limit` bytes at `then`; if so, they are added.
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

    /// Returns the packet's arrival at the far end; `None`: dropped.
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

    /// Removes departed packets, if there are enough of them.
    #[cold]
    fn forget_departed(&mut self, now: u64) {
        for part in [2, 4] {
            let end = self.sent.start().wrapping_add(self.sent.len() / part);
            if self.sent.get(end).departure <= now {
                return self.sent.remove_below(end);
            }
        }
    }

    /// Packets, the latest first.
    fn latest(&self) -> impl Iterator<Item = &Sent> {
        (1..=self.sent.len()).map(|back| self.sent.get(self.sent.end().wrapping_sub(back)))
    }

    /// Packets offered and not arrived by now, the latest first. They have not departed either, so they are still
    /// stored.
    fn coming(&self, now: u64) -> impl Iterator<Item = &Sent> {
        self.latest().take_while(move |sent| self.looks_ahead && sent.came >= now)
    }

    /// Packets that have arrived and not departed.
    pub(super) fn len(&self, now: u64) -> u32 {
        let offered = self.latest().take_while(|sent| sent.departure > now).count();
        (offered - self.coming(now).count()) as u32
    }

    /// Subtracts packets that have not arrived yet from the counters.
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

    /// Rate, delay or another value has changed: recomputes departures and arrivals of waiting packets. The packet
    /// being sent is finished at the old rate.
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
