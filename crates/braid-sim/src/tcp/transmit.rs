//! Transmission: new packets, retransmissions, pacing.

use braid_algorithms::layout::ca_state;

use super::scoreboard::segment;
use super::sender::{Sender, Timer};
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;
use crate::packet::{Packet, Sacks, flags};

/// Packets sent before pacing begins.
const UNPACED: u64 = 10;

impl Sender {
    /// Packets sent from now on take the route that begins at this hop.
    pub(crate) fn set_route(&mut self, hop: u32) {
        self.setup.hop = hop;
    }

    /// Sends up to this many packets of new data, until its window or the receiver's is full. False if none.
    #[inline]
    pub(crate) fn send_burst(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        packets: u32,
    ) -> bool {
        let mut left = packets;
        while left > 0 && self.has_room(connection) && connection.data.may_send_new() {
            let dsn = connection.data.take_next(self.setup.index);
            self.send_next(connection, network, dsn);
            left -= 1;
        }
        if left < packets {
            self.restart_probe(connection, network.now);
        }
        left < packets
    }

    /// Sends a packet that another subflow has sent before.
    pub(crate) fn send_alone(&mut self, connection: &mut Connection, network: &mut Network, dsn: u32) {
        self.send_new(connection, network, dsn);
        self.restart_probe(connection, network.now);
        self.note_usage(connection, network);
    }

    /// Sends a packet of new data of this subflow.
    pub(crate) fn send_new(&mut self, connection: &mut Connection, network: &mut Network, dsn: u32) {
        self.send_next(connection, network, dsn);
    }

    /// As [`Self::send_new`], part of the burst loop.
    #[allow(clippy::inline_always, reason = "once per packet")]
    #[inline(always)]
    fn send_next(&mut self, connection: &mut Connection, network: &mut Network, dsn: u32) {
        let was_idle = self.board.packets_out() == 0;
        if was_idle {
            self.restart_after_idle(connection, network);
        }
        if self.is_rate_based {
            self.note_rate(connection, network.now, self.board.snd_nxt, dsn);
        }
        let seq = self.board.send_new(network.now, dsn);
        let mut packet_flags = flags::DATA;
        if self.setup.ecn {
            packet_flags |= flags::ECT;
            if self.send_cwr {
                self.send_cwr = false;
                self.cwr_sent = Some(seq);
                packet_flags |= flags::CWR;
            }
        }
        self.transmit(connection, network, seq, dsn, packet_flags);
        if was_idle {
            self.start_retransmission_timer(network.now);
        }
    }

    /// Sends a packet once more.
    pub(super) fn send_again(&mut self, connection: &mut Connection, network: &mut Network, seq: u32) {
        self.board.send_again(network.now, seq);
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
        self.first_retransmission.get_or_insert(network.timestamp());
        self.transmit_again(connection, network, seq);
    }

    /// Sends a packet once more as a tail loss probe, which is no part of a recovery.
    pub(super) fn send_copy(&mut self, connection: &mut Connection, network: &mut Network, seq: u32) {
        self.board.send_probe(network.now, seq);
        self.transmit_again(connection, network, seq);
    }

    fn transmit_again(&mut self, connection: &Connection, network: &mut Network, seq: u32) {
        self.counts.retransmissions += 1;
        let dsn = self.board.get(seq).dsn;
        if self.is_rate_based {
            self.note_rate(connection, network.now, seq, dsn);
        }
        self.transmit(connection, network, seq, dsn, flags::DATA);
    }

    #[inline]
    fn transmit(&mut self, connection: &Connection, network: &mut Network, seq: u32, dsn: u32, flags: u16) {
        let state = connection.subflow(self.setup.index).ca_state;
        if state == ca_state::CWR || state == ca_state::RECOVERY {
            self.prr_out += 1;
        }
        let view = connection.subflow(self.setup.index);
        let mss = view.mss as u16;
        if view.pacing_rate > 0 && !self.owns_cwnd() {
            self.pace(view.pacing_rate, u64::from(mss), network.now);
        }
        self.counts.packets_sent += 1;
        self.last_send = network.now;
        let full = self.setup.data_size;
        let size = connection.data.short(dsn).map_or(full, |payload| full - mss + payload);
        network.send(Packet {
            arrival: 0,
            subflow: self.setup.subflow,
            hop: self.setup.hop,
            size,
            flags,
            seq,
            dsn,
            timestamp: network.timestamp(),
            window_end: 0,
            sack: Sacks::NONE,
        });
    }

    /// Packet `seq` is about to leave, for the first time or again. In a cold function, so that algorithms without rate
    /// samples pay nothing.
    #[cold]
    fn note_rate(&mut self, connection: &Connection, now: u64, seq: u32, dsn: u32) {
        let view = connection.subflow(self.setup.index);
        if let Some(rate) = &mut self.rate {
            rate.sent(now / 1_000, seq, self.board.packets_out() == 0, view.delivered);
        }
        if self.owns_cwnd() {
            let payload = connection.data.short(dsn).map_or(view.mss, u32::from);
            self.pace(view.pacing_rate, u64::from(payload), now);
        }
    }

    /// A packet of `payload` bytes leaves: computes the time of the next one (Linux `tcp_update_skb_after_send`). A
    /// late packet shortens the gap by at most half; the first ten packets are not paced.
    fn pace(&mut self, rate: u64, payload: u64, now: u64) {
        let late = now.saturating_sub(self.next_send);
        self.next_send = self.next_send.max(now);
        if rate > 0 && self.counts.packets_sent + 1 >= UNPACED {
            let gap = payload * 1_000_000_000 / rate;
            self.next_send += gap - late.min(gap / 2);
        }
        self.may_send = self.next_send <= now;
        self.held_until = if self.may_send { NEVER } else { self.next_send };
    }

    /// Retransmits packets marked lost, lowest first, as the window allows.
    pub(super) fn retransmit(&mut self, connection: &mut Connection, network: &mut Network) {
        let mut any = false;
        while self.may_send && self.board.in_flight() < connection.subflow(self.setup.index).cwnd {
            let Some(seq) = self.board.next_to_retransmit() else { break };
            any |= seq == self.board.snd_una;
            self.send_again(connection, network, seq);
        }
        // A pending reordering timer continues (Linux `tcp_xmit_retransmit_queue`).
        if any && self.timer != Timer::Reordering {
            self.start_retransmission_timer(network.now);
        }
    }

    /// Packets of this subflow, unacknowledged at the data level, for another subflow; and whether they were offered
    /// before.
    pub(crate) fn give_away(&mut self, acknowledged: u32, mut take: impl FnMut(u32, bool)) {
        for seq in self.board.snd_una..self.board.snd_nxt {
            let record = self.board.get_mut(seq);
            if record.dsn >= acknowledged {
                take(record.dsn, record.state & segment::REINJECTED != 0);
                record.state |= segment::REINJECTED;
            }
        }
    }
}
