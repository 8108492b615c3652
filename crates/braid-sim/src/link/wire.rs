//! Transmission time, propagation and loss.

use braid_results::measure::DirectionCounts;
use braid_scenario::model::{Change, Direction, GilbertElliott, Loss};

pub(super) use crate::event_queue::NEVER;
use crate::packet::{Packet, flags};
use crate::random::{Stream, threshold};
use crate::ring::Ring;

/// State of a burst loss process.
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

    /// Advances the chain by a packet; returns whether the packet is lost.
    fn loses(&mut self, random: &mut Stream) -> bool {
        let leave = if self.bad { self.to_good } else { self.to_bad };
        self.bad ^= random.hits(leave);
        random.hits(if self.bad { self.loss_bad } else { self.loss_good })
    }
}

/// Losses on the wire, except independent random losses.
struct Losses {
    /// Every how many packets one is lost; 0: no periodic loss.
    every: u32,
    until_next: u32,
    burst: Option<Burst>,
    outages: Box<[(u64, u64)]>,
}

impl Losses {
    /// `None`: no losses.
    fn new(loss: &Loss, outages: &[(u64, u64)]) -> Option<Box<Self>> {
        let mut losses = Self { every: 0, until_next: 0, burst: None, outages: outages.into() };
        match loss {
            Loss::None | Loss::Bernoulli(_) if outages.is_empty() => return None,
            Loss::None | Loss::Bernoulli(_) => {}
            Loss::Periodic(every) => (losses.every, losses.until_next) = (*every, *every),
            Loss::GilbertElliott(chain) => losses.burst = Some(Burst::new(chain)),
        }
        Some(Box::new(losses))
    }

    /// Whether a packet that arrived at `came` and departs at `departs` is lost.
    fn hit(&mut self, random: &mut Stream, came: u64, departs: u64) -> bool {
        let mut lost = false;
        if self.every > 0 {
            self.until_next -= 1;
            if self.until_next == 0 {
                self.until_next = self.every;
                lost = true;
            }
        }
        if let Some(burst) = &mut self.burst {
            lost = burst.loses(random);
        }
        let is_down =
            |&(from, to): &(u64, u64)| (from <= came && came < to) || (from < departs && departs <= to);
        lost || self.outages.iter().any(is_down)
    }
}

fn loses_below(loss: &Loss) -> u64 {
    if let Loss::Bernoulli(probability) = loss { threshold(*probability) } else { 0 }
}

/// Transmitter and wire of a link.
pub(super) struct Wire {
    /// Time at which the transmitter becomes free.
    pub(super) busy_until: u64,
    /// Transmission time of the latest packet size seen.
    latest_transmission_ns: u64,
    latest_size: u16,
    pub(super) delay_ns: u64,
    /// Some packets are lost in other than random ways, or later than rate and delay imply.
    disturbs: bool,
    jitter_ns: u64,
    reordering: bool,
    pub(super) last_arrival: u64,
    /// Independent random losses, a [`threshold`]; 0: none.
    loses_below: u64,
    /// Other losses.
    losses: Option<Box<Losses>>,
    /// Packets on the way to the end of this link or waiting, lost packets included.
    pub(super) on_the_way: Ring<Packet>,
    pub(super) counts: DirectionCounts,
    rate_bps: u64,
    random: Stream,
}

impl Wire {
    /// `noise_ns`: noise after the queue. The larger of it and the jitter applies.
    pub(super) fn new(model: &Direction, noise_ns: u64, random: Stream) -> Self {
        let mut wire = Self {
            disturbs: false,
            busy_until: 0,
            latest_transmission_ns: 0,
            latest_size: 0,
            delay_ns: model.delay_ns,
            jitter_ns: model.jitter_ns.max(noise_ns),
            reordering: model.reordering,
            last_arrival: 0,
            loses_below: loses_below(&model.loss),
            losses: Losses::new(&model.loss, &model.outages),
            on_the_way: Ring::new(),
            counts: DirectionCounts::default(),
            rate_bps: model.rate_bps.max(1),
            random,
        };
        wire.note_disturbances();
        wire
    }

    fn note_disturbances(&mut self) {
        self.disturbs = self.jitter_ns > 0 || self.losses.is_some();
    }

    pub(super) fn change(&mut self, change: &Change) {
        if let Some(rate) = change.rate_bps {
            self.rate_bps = rate.max(1);
            self.latest_size = 0;
        }
        if let Some(delay) = change.delay_ns {
            self.delay_ns = delay;
        }
        if let Some(loss) = &change.loss {
            let outages = self.losses.take().map_or_else(Box::default, |losses| losses.outages);
            self.loses_below = loses_below(loss);
            self.losses = Losses::new(loss, &outages);
            self.note_disturbances();
        }
    }

    /// Transmission time of this many bytes.
    pub(super) fn time_of(&self, size: u16) -> u64 {
        (u64::from(size) * 8_000_000_000).div_ceil(self.rate_bps)
    }

    /// The same, usually cached.
    #[inline]
    pub(super) fn transmission_ns(&mut self, size: u16) -> u64 {
        if size != self.latest_size {
            self.change_size(size);
        }
        self.latest_transmission_ns
    }

    #[cold]
    fn change_size(&mut self, size: u16) {
        self.latest_size = size;
        self.latest_transmission_ns = self.time_of(size);
    }

    /// Sends a packet that arrived at `came` as soon as the transmitter is free. Returns its arrival at the far end;
    /// [`Wire::carry`] makes an event of it.
    #[allow(clippy::inline_always, reason = "a call costs a tenth of the work, once per packet and link")]
    #[inline(always)]
    pub(super) fn send(&mut self, now: u64, came: u64, size: u16, flags: &mut u16) -> u64 {
        let transmission = self.transmission_ns(size);
        let departs = self.busy_until.max(now) + transmission;
        self.counts.busy_ns += transmission;
        self.launch(came, departs, flags)
    }

    /// The rest of [`Wire::send`]: the packet arrived at `came` and departs at `departs`.
    #[allow(clippy::inline_always, reason = "as `send`")]
    #[inline(always)]
    pub(super) fn launch(&mut self, came: u64, departs: u64, flags: &mut u16) -> u64 {
        self.busy_until = departs;
        self.counts.queue_integral += u128::from(departs - came);
        let arrival = departs + self.delay_ns;
        let lost = self.loses_below > 0 && self.random.hits(self.loses_below);
        if lost || self.disturbs {
            let (arrival, lost) = self.disturb(came, departs, arrival, lost);
            if lost {
                *flags |= flags::LOST;
            }
            return arrival;
        }
        self.in_order(arrival)
    }

    /// Delays a packet until earlier ones have arrived.
    #[inline]
    fn in_order(&mut self, arrival: u64) -> u64 {
        self.last_arrival = arrival.max(self.last_arrival);
        self.last_arrival
    }

    /// Loses or delays a packet that arrived at `came`, departs at `departs` and is due at `arrival`. Returns its
    /// arrival, and whether it is lost. Cold: most wires need the registers.
    #[cold]
    fn disturb(&mut self, came: u64, departs: u64, mut arrival: u64, mut lost: bool) -> (u64, bool) {
        if let Some(losses) = &mut self.losses {
            lost |= losses.hit(&mut self.random, came, departs);
        }
        self.counts.drops_wire += u64::from(lost);
        if self.jitter_ns > 0 {
            arrival += self.random.below(self.jitter_ns);
            if self.reordering {
                return (arrival, lost);
            }
        }
        (self.in_order(arrival), lost)
    }

    /// Moves a sent packet to the end of the wire.
    pub(super) fn carry(&mut self, packet: Packet) {
        if self.reordering {
            self.overtake(packet);
        } else {
            self.on_the_way.push(packet);
        }
    }

    /// Inserts a packet before those that arrive later.
    #[cold]
    fn overtake(&mut self, packet: Packet) {
        let ring = &mut self.on_the_way;
        let mut number = ring.end();
        ring.push(packet);
        while number != ring.start() {
            let before = *ring.get(number.wrapping_sub(1));
            if before.arrival <= packet.arrival {
                break;
            }
            *ring.get_mut(number) = before;
            number = number.wrapping_sub(1);
        }
        *ring.get_mut(number) = packet;
    }

    /// Transmission time of a full packet at the present rate, or at a trace's mean rate.
    pub(super) fn full_packet_ns(&self) -> u64 {
        (1500 * 8_000_000_000_u64).div_ceil(self.rate_bps)
    }

    /// Size of the packet being sent.
    pub(super) fn sending_bytes(&self, now: u64) -> u64 {
        if self.busy_until > now { u64::from(self.latest_size) } else { 0 }
    }

    /// Takes the packet that arrives next, which must exist.
    #[inline]
    pub(super) fn take(&mut self) -> Packet {
        let number = self.on_the_way.start();
        let packet = *self.on_the_way.get(number);
        self.on_the_way.remove_below(number.wrapping_add(1));
        packet
    }

    /// Time of the next arrival; [`NEVER`]: none.
    #[inline]
    pub(super) fn next_arrival(&self) -> u64 {
        self.on_the_way.front().map_or(NEVER, |packet| packet.arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::Burst;
    use crate::random::Stream;
    use braid_scenario::model::GilbertElliott;

    #[test]
    fn bursts_are_as_long_and_as_frequent_as_the_chain_says() {
        let mut random = Stream::new(1, "test");
        let mut burst =
            Burst::new(&GilbertElliott { to_bad: 0.01, to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 });
        let mut lengths = [0_u32; 12];
        let mut run = 0_usize;
        let n = 1_000_000;
        for _ in 0..n {
            if burst.loses(&mut random) {
                run += 1;
            } else if run > 0 {
                lengths[run.min(lengths.len()) - 1] += 1;
                run = 0;
            }
        }
        let bursts: u32 = lengths.iter().sum();
        // A cycle of good and bad lasts 1/0.01 + 1/0.25 packets.
        assert!((f64::from(bursts) / (f64::from(n) / 104.0) - 1.0).abs() < 0.03, "{bursts}");
        // Lengths are geometric: chi-square with 11 degrees of freedom, 99.9 % quantile.
        let mut statistic = 0.0;
        for (at, &count) in lengths.iter().enumerate() {
            let tail = 0.75_f64.powi(at as i32);
            let share = if at + 1 == lengths.len() { tail } else { tail * 0.25 };
            let expected = f64::from(bursts) * share;
            statistic += (f64::from(count) - expected).powi(2) / expected;
        }
        assert!(statistic < 31.26, "chi-square {statistic}");
    }
}
