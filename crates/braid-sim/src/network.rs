//! Links, routes and the clock.

use crate::agenda::{Agenda, Element};
use crate::link::{Link, Offered};
use crate::packet::{Packet, Sacks, flags};

/// Ends a route in [`Network::hops`].
pub(crate) const END: u32 = u32::MAX;

/// Everything that packets pass through.
pub(crate) struct Network {
    /// Nanoseconds since the start of the run.
    pub(crate) now: u64,
    pub(crate) agenda: Agenda,
    pub(crate) links: Vec<Link>,
    /// Number of the first link in the agenda.
    pub(crate) first_element: Element,
    /// All routes one after another, each ended by [`END`].
    pub(crate) hops: Vec<u32>,
    pub(crate) sacks: Sacks,
}

impl Network {
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

    /// Offers a packet to the link its route is at.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) {
        let link = self.hops[packet.hop as usize];
        match self.links[link as usize].offer(self.now, packet) {
            Offered::Wake(time) => self.agenda.schedule(time, self.first_element + link),
            Offered::Waiting => {}
            Offered::Dropped => self.forget(&packet),
        }
    }

    /// The packet that arrives at the end of a link now, if it is also the end of its route.
    #[inline]
    pub(crate) fn arrive(&mut self, link: u32) -> Option<Packet> {
        let (packet, next) = self.links[link as usize].arrive();
        if let Some(time) = next {
            self.agenda.schedule(time, self.first_element + link);
        }
        let mut packet = packet?;
        if packet.flags & flags::LOST != 0 {
            self.forget(&packet);
            return None;
        }
        packet.hop += 1;
        if self.hops[packet.hop as usize] == END {
            return Some(packet);
        }
        self.send(packet);
        None
    }

    /// Gives back what a packet that will not arrive holds.
    fn forget(&mut self, packet: &Packet) {
        if packet.flags & flags::DATA == 0 {
            self.sacks.take(packet.sack);
        }
    }
}
