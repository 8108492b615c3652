//! External datagrams on the routes of their connections.

use braid_scenario::model::Kind;

use super::state::Run;
use crate::datagram::{Datagram, Ecn, UDP_HEADER};
use crate::event_queue::moment;
use crate::packet::{Packet, Sacks, flags};
use crate::place::Place;

impl Run<'_> {
    /// Whether a connection of the scenario belongs to an external stack.
    pub(super) fn is_external(&self, number: usize) -> bool {
        self.carries_datagrams && self.scenario.connections[number].kind == Kind::Mptcp
    }

    /// A datagram enters its route.
    pub(crate) fn send_datagram(&mut self, now: u64, datagram: Datagram) {
        debug_assert!(now >= self.network.now && self.is_external(datagram.place.connection));
        self.network.now = now;
        let model = &self.scenario.connections[datagram.place.connection];
        let connection = self.applications[datagram.place.connection].first;
        let path = &self.paths[self.connections[connection].first + datagram.place.subflow];
        let (hop, direction) =
            if datagram.to_receiver { (path.forward_hop, flags::DATA) } else { (path.reverse_hop, 0) };
        let subflow = path.id;
        let ecn = match datagram.ecn {
            Ecn::NotCapable => 0,
            Ecn::Capable => flags::ECT,
            Ecn::Marked => flags::ECT | flags::CE,
        };
        let size = datagram.payload.len() + UDP_HEADER + model.ip_header as usize;
        let packet = Packet {
            subflow,
            hop,
            size: u16::try_from(size).unwrap_or(u16::MAX),
            flags: flags::DATAGRAM | direction | ecn,
            seq: self.network.datagrams.put(datagram.flow, datagram.payload),
            sack: Sacks::NONE,
            ..Packet::default()
        };
        self.network.send(packet);
    }

    /// Runs until `limit`, nanoseconds, or until a datagram arrives; returns the datagram and its time.
    pub(crate) fn next_datagram(&mut self, limit: u64) -> Option<(u64, Datagram)> {
        self.advance_to_datagram(moment(limit, 0));
        let packet = self.arrived.pop_front()?;
        let (connection, subflow) = self.paths[(packet.subflow & self.number_mask) as usize].place();
        let ecn = match packet.flags & (flags::ECT | flags::CE) {
            0 => Ecn::NotCapable,
            flags::ECT => Ecn::Capable,
            _ => Ecn::Marked,
        };
        let (flow, payload) = self.network.datagrams.take(packet.seq);
        let datagram = Datagram {
            place: Place { connection: self.connections[connection].number, subflow },
            flow,
            to_receiver: packet.flags & flags::DATA != 0,
            ecn,
            payload,
        };
        Some((self.network.now, datagram))
    }
}
