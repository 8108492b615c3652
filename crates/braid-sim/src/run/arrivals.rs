//! Arrivals at the ends of routes.

use super::state::{Path, Run};
use crate::event_queue::NEVER;
use crate::packet::{Packet, Sacks, flags};
use crate::tcp::sender::{Phase, Sender};

impl Run<'_> {
    /// A packet has reached the end of its route.
    #[allow(clippy::inline_always, reason = "else every packet is copied once more, on its way to the call")]
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: &Packet) {
        let subflow = (packet.subflow & self.number_mask) as usize;
        let Path { live, connection: number, index, .. } = self.paths[subflow];
        if packet.flags & (flags::SYN | flags::REQUEST | flags::DATAGRAM) != 0 {
            if packet.flags & flags::SYN != 0 {
                self.receive_opening(packet.whole());
            } else if packet.flags & flags::DATAGRAM != 0 {
                self.arrived.push_back(packet.whole());
            } else if live == packet.subflow {
                self.receive_request(number, packet.whole());
            }
        } else if packet.flags & flags::DATA != 0 {
            if live != packet.subflow {
                return;
            }
            let connection = &mut self.connections[number];
            self.receivers[subflow].receive(packet, &mut connection.data, &mut self.network);
            if connection.data.is_tuned() {
                connection.note_read(self.network.now);
            }
            let complete = connection.data.rcv_nxt >= connection.data.boundary;
            if self.receivers[subflow].due < self.receivers[subflow].planned {
                self.plan_receiver(subflow);
            }
            if complete {
                self.deliver(number);
            }
        } else {
            if live != packet.subflow {
                self.network.sacks.take(packet.sack);
                return;
            }
            let connection = &mut self.connections[number];
            let senders = &mut self.senders[connection.first..connection.first + connection.n];
            senders[index].receive(connection, &mut self.network, packet);
            connection.note_rtt(senders, index, &self.network);
            connection.push_now(senders, index, &mut self.network);
            if senders.iter().any(Sender::is_to_be_planned) || connection.wake_at != NEVER {
                self.plan_senders(subflow);
            }
        }
    }

    /// A handshake packet arrives: answers it, or handles the answer to ours.
    #[cold]
    pub(super) fn receive_opening(&mut self, packet: Packet) {
        let subflow = (packet.subflow & self.number_mask) as usize;
        if packet.subflow != self.paths[subflow].id {
            return;
        }
        if packet.flags & flags::DATA != 0 {
            let reply = Packet {
                hop: self.paths[subflow].reverse_hop,
                flags: flags::SYN,
                sack: Sacks::NONE,
                ..packet
            };
            self.network.send(reply);
            return;
        }
        let now = self.network.now;
        let Path { connection: number, index, .. } = self.paths[subflow];
        let step = packet.seq;
        if self.senders[subflow].phase != Phase::Opening(step) {
            return;
        }
        let rtt_us = self.network.timestamp().wrapping_sub(packet.timestamp);
        if step == 0 {
            self.senders[subflow].answered(packet.timestamp);
        }
        if (index > 0 || self.connections[number].established) && step == 0 {
            // A join takes two round trips: data only after the fourth packet (RFC 8684 sect. 3.2).
            self.senders[subflow].phase = Phase::Opening(1);
            self.send_opening(subflow, 1);
            return;
        }
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        senders[index].establish(connection, &mut self.network, rtt_us);
        connection.joined(senders, index, &self.network);
        self.receivers[subflow].established(now, senders[index].rto_ns());
        let path = &mut self.paths[subflow];
        (path.established, path.live) = (Some(now), path.id);
        connection.push(senders, index, &mut self.network);
        self.plan_senders(subflow);
        if !std::mem::replace(&mut self.connections[number].established, true) {
            self.plan_subflows(number, u64::from(rtt_us) * 1_000);
            self.established(number);
        }
    }
}
