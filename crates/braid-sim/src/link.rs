//! One direction of a link: a drop-tail queue, a transmitter and a wire.
//!
//! A packet's departure is known when it enters the queue, so a packet costs one event per link: its arrival at the
//! far end.

use braid_results::measure::DirectionCounts;
use braid_scenario::model::{Direction, GilbertElliott, Loss, QueueLimit};

use crate::packet::{Packet, flags};
use crate::random::{Stream, threshold};
use crate::ring::Ring;

/// A burst loss process at work.
#[derive(Clone, Copy)]
struct Burst {
    to_bad: u64,
    to_good: u64,
    loss_good: u64,
    loss_bad: u64,
    bad: bool,
}

impl Burst {
    fn new(model: &GilbertElliott) -> Self {
        Self {
            to_bad: threshold(model.to_bad),
            to_good: threshold(model.to_good),
            loss_good: threshold(model.loss_good),
            loss_bad: threshold(model.loss_bad),
            bad: false,
        }
    }

    /// Moves the chain on by a packet; returns whether that is lost.
    fn loses(&mut self, random: &mut Stream) -> bool {
        let leave = if self.bad { self.to_good } else { self.to_bad };
        self.bad ^= random.hits(leave);
        random.hits(if self.bad { self.loss_bad } else { self.loss_good })
    }
}

/// What is being transmitted or waits for it.
#[derive(Clone, Copy, Default)]
struct Queued {
    departs: u64,
    bytes: u32,
}

/// A direction of a link at work.
pub(crate) struct Link {
    rate_bps: u64,
    delay_ns: u64,
    jitter_ns: u64,
    queue: QueueLimit,
    /// 0: no random loss.
    loss_below: u64,
    /// 0: no periodic loss.
    lose_every: u32,
    until_loss: u32,
    burst: Option<Burst>,
    mark_from: u32,
    outages: Box<[(u64, u64)]>,
    random: Stream,

    /// Transmission time of the latest packet size seen.
    latest_size: u16,
    latest_transmission_ns: u64,
    busy_until: u64,
    last_arrival: u64,
    queued: Ring<Queued>,
    queued_bytes: u64,
    /// Everything that has been accepted and has not arrived.
    on_the_way: Ring<Packet>,

    pub(crate) counts: DirectionCounts,
}

impl Link {
    pub(crate) fn new(model: &Direction, random: Stream) -> Self {
        let mut link = Self {
            rate_bps: model.rate_bps.max(1),
            delay_ns: model.delay_ns,
            jitter_ns: model.jitter_ns,
            queue: model.queue,
            loss_below: 0,
            lose_every: 0,
            until_loss: 0,
            burst: None,
            mark_from: model.ecn_threshold.unwrap_or(u32::MAX),
            outages: model.outages.clone().into(),
            random,
            latest_size: 0,
            latest_transmission_ns: 0,
            busy_until: 0,
            last_arrival: 0,
            queued: Ring::new(),
            queued_bytes: 0,
            on_the_way: Ring::new(),
            counts: DirectionCounts::default(),
        };
        link.set_loss(&model.loss);
        link
    }

    fn set_loss(&mut self, loss: &Loss) {
        (self.loss_below, self.lose_every, self.burst) = (0, 0, None);
        match loss {
            Loss::None => {}
            Loss::Bernoulli(probability) => self.loss_below = threshold(*probability),
            Loss::Periodic(every) => (self.lose_every, self.until_loss) = (*every, *every),
            Loss::GilbertElliott(chain) => self.burst = Some(Burst::new(chain)),
        }
    }

    /// Offers a packet to the queue. One that the wire will lose is accepted: it takes its turn like any other.
    #[inline]
    pub(crate) fn offer(&mut self, now: u64, mut packet: Packet) -> Offered {
        while let Some(first) = self.queued.front() {
            if first.departs > now {
                break;
            }
            self.queued_bytes -= u64::from(first.bytes);
            self.queued.pop();
        }
        let full = match self.queue {
            QueueLimit::Packets(limit) => self.queued.len() >= limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + u64::from(packet.size) > limit,
        };
        if full {
            self.counts.drops_queue += 1;
            return Offered::Dropped;
        }
        if packet.size != self.latest_size {
            self.latest_size = packet.size;
            self.latest_transmission_ns = (u64::from(packet.size) * 8_000_000_000).div_ceil(self.rate_bps);
        }
        let departs = self.busy_until.max(now) + self.latest_transmission_ns;
        self.busy_until = departs;
        if self.queued.len() >= self.mark_from && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
            self.counts.marks += 1;
        }
        self.queued.push(Queued { departs, bytes: u32::from(packet.size) });
        self.queued_bytes += u64::from(packet.size);
        self.counts.packets += 1;
        self.counts.bytes += u64::from(packet.size);
        self.counts.busy_ns += self.latest_transmission_ns;
        self.counts.queue_integral += u128::from(departs - now);
        if self.loses(now, departs) {
            self.counts.drops_wire += 1;
            packet.flags |= flags::LOST;
        }
        packet.arrival = departs + self.delay_ns;
        if self.jitter_ns > 0 {
            packet.arrival = (packet.arrival + self.random.below(self.jitter_ns)).max(self.last_arrival);
            self.last_arrival = packet.arrival;
        }
        self.on_the_way.push(packet);
        if self.on_the_way.len() == 1 { Offered::Wake(packet.arrival) } else { Offered::Waiting }
    }

    /// Whether the wire loses the packet that is offered now and departs then.
    #[inline]
    fn loses(&mut self, now: u64, departs: u64) -> bool {
        let mut lost = self.loss_below > 0 && self.random.hits(self.loss_below);
        if self.lose_every > 0 {
            self.until_loss -= 1;
            if self.until_loss == 0 {
                self.until_loss = self.lose_every;
                lost = true;
            }
        }
        if let Some(burst) = &mut self.burst {
            lost = burst.loses(&mut self.random);
        }
        if !self.outages.is_empty() {
            lost |= self
                .outages
                .iter()
                .any(|&(from, to)| (from <= now && now < to) || (from < departs && departs <= to));
        }
        lost
    }

    /// Takes the packet that arrives now, and says when the next one will.
    #[inline]
    pub(crate) fn arrive(&mut self) -> (Option<Packet>, Option<u64>) {
        let packet = self.on_the_way.pop();
        (packet, self.on_the_way.front().map(|packet| packet.arrival))
    }
}

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// The queue was full.
    Dropped,
    /// Accepted behind others.
    Waiting,
    /// Accepted; the link was empty, its next event is at this time.
    Wake(u64),
}
