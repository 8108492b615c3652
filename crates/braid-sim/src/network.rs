//! Links, routes and the clock.

use braid_scenario::model::Change;

use crate::datagram::Datagrams;
use crate::event_queue::EventQueue;
use crate::link::Link;
use crate::packet::{Packet, Sacks, flags};

/// Ends a route in [`Network::hops`].
pub(crate) const END: u32 = !AHEAD;
/// Bit of links in [`Network::hops`] that look ahead: packets are offered to them as soon as the previous link knows
/// their arrival.
const AHEAD: u32 = 1 << 31;

/// Everything that packets pass through.
pub(crate) struct Network {
    /// Nanoseconds since the start of the run.
    pub(crate) now: u64,
    pub(crate) events: EventQueue,
    pub(crate) links: Vec<Link>,
    /// Links that look ahead.
    pub(crate) looks_ahead: Vec<bool>,
    /// All routes in sequence, each ended by [`END`].
    pub(crate) hops: Vec<u32>,
    pub(crate) sacks: Sacks,
    /// Payload of datagrams in flight.
    pub(crate) datagrams: Datagrams,
}

impl Network {
    /// Adds the route of data over these links of the scenario. Returns its first hop.
    pub(crate) fn add_forward_route(&mut self, links: &[usize]) -> u32 {
        self.add_route(links.iter().map(|&link| 2 * link as u32))
    }

    /// Adds the route of acknowledgements for data over these links. Returns its first hop.
    pub(crate) fn add_reverse_route(&mut self, links: &[usize]) -> u32 {
        self.add_route(links.iter().rev().map(|&link| 2 * link as u32 + 1))
    }

    /// Adds a route over these directions of links. Returns its first hop.
    pub(crate) fn add_route(&mut self, links: impl Iterator<Item = u32>) -> u32 {
        let first = self.hops.len() as u32;
        let ahead = |link: u32| if self.looks_ahead[link as usize] { link | AHEAD } else { link };
        self.hops.extend(links.map(ahead));
        self.hops.push(END);
        first
    }

    /// Microseconds since the start of the run.
    #[inline]
    pub(crate) fn now_us(&self) -> u64 {
        self.now / 1_000
    }

    /// Time as TCP's timestamp option carries it: microseconds, wrapping after 71 minutes.
    #[inline]
    pub(crate) fn timestamp(&self) -> u32 {
        self.now_us() as u32
    }

    /// Offers a packet to the current link of its route, and to following links that look ahead.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) {
        let Packet { mut hop, mut flags, .. } = packet;
        let mut came = self.now;
        loop {
            let &[number, next] = self.hops[hop as usize..].first_chunk().expect("routes have an end");
            let number = number & !AHEAD;
            let link = &mut self.links[number as usize];
            if link.is_managed() {
                return self.send_managed(number, packet);
            }
            let Some(arrival) = link.offer(self.now, came, packet.size, &mut flags) else {
                return forget(&mut self.sacks, &mut self.datagrams, &packet);
            };
            if next & AHEAD == 0 {
                if let Some(time) = link.carry(Packet { arrival, hop, flags, ..packet }) {
                    self.events.plan_link(number, time);
                }
                return;
            }
            if flags & flags::LOST != 0 {
                return forget(&mut self.sacks, &mut self.datagrams, &packet);
            }
            hop += 1;
            came = arrival;
        }
    }

    /// Offers a packet to a managed link.
    #[inline(never)]
    fn send_managed(&mut self, link: u32, packet: Packet) {
        let Self { now, links, sacks, datagrams, .. } = self;
        let forget = |dropped: &Packet| forget(sacks, datagrams, dropped);
        if let Some(time) = links[link as usize].offer_managed(*now, packet, forget) {
            self.events.plan_link(link, time);
        }
    }

    /// Handles a link's event: returns the packet that arrives at the end of its route, if any.
    #[inline]
    pub(crate) fn arrive(&mut self, link: u32) -> Option<Packet> {
        let Self { now, links, sacks, datagrams, .. } = self;
        let own = &mut links[link as usize];
        let packet = own.arrive(*now, |dropped| forget(sacks, datagrams, dropped));
        self.events.plan_link(link, own.due_ns());
        let packet = packet?;
        if packet.flags & flags::LOST != 0 {
            forget(&mut self.sacks, &mut self.datagrams, &{ packet });
            return None;
        }
        let hop = packet.hop + 1;
        if self.hops[hop as usize] == END {
            return Some(packet);
        }
        self.send(Packet { hop, ..packet });
        None
    }

    /// Packets that a link's event at `now` delivers to the end of their routes.
    pub(crate) fn arriving(&self, now: u64, link: u32) -> impl Iterator<Item = &Packet> {
        let arrives =
            |packet: &&Packet| packet.flags & flags::LOST == 0 && self.hops[packet.hop as usize + 1] == END;
        self.links[link as usize].arriving(now).filter(arrives)
    }

    /// Changes a link's parameters.
    pub(crate) fn change(&mut self, link: u32, change: &Change) {
        let Self { now, links, sacks, datagrams, .. } = self;
        let forget = |dropped: &Packet| forget(sacks, datagrams, dropped);
        if let Some(time) = links[link as usize].change(*now, change, forget) {
            self.events.plan_link(link, time);
        }
    }
}

/// Frees the data of a packet that will not arrive.
fn forget(sacks: &mut Sacks, datagrams: &mut Datagrams, packet: &Packet) {
    if packet.flags & flags::DATAGRAM != 0 {
        datagrams.take(packet.seq);
    } else if packet.flags & flags::DATA == 0 {
        sacks.take(packet.sack);
    }
}
