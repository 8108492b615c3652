//! The order of work per acknowledgement (Linux `tcp_ack`).

use braid_algorithms::layout::{Event, ca_state, event_flags, event_type};

use super::ack_information::AckInformation;
use super::rack::REORDERING;
use super::scoreboard::segment;
use super::sender::Sender;
use crate::connection::Connection;
use crate::network::Network;
use crate::packet::{Packet, Sack, Sacks, flags, is_outdated};

/// Transmission times for RTT samples, nanoseconds; 0: none, since nothing is sent before the handshake. Only packets
/// never retransmitted.
#[derive(Clone, Copy, Default)]
struct Samples {
    first_acknowledged: u64,
    last_acknowledged: u64,
    first_sacked: u64,
    last_sacked: u64,
    any_retransmitted: bool,
}

impl Sender {
    /// An acknowledgement arrives.
    pub(crate) fn receive(&mut self, connection: &mut Connection, network: &mut Network, packet: &Packet) {
        let now = network.now;
        let index = self.setup.index;
        let prior_una = self.board.snd_una;
        if packet.seq < prior_una {
            self.receive_overtaken(connection, network, packet);
            return;
        }
        let prior_in_flight = self.board.in_flight();
        let prior_highest = self.board.highest_sacked();
        let mut info = AckInformation {
            ece: packet.flags & flags::ECE != 0,
            echo: packet.timestamp,
            ..AckInformation::default()
        };
        connection.data.acknowledged(packet.dsn, packet.window_end);
        self.potentially_failed = false;
        self.last_arrival = now;
        self.window = packet.window_end.saturating_sub(packet.dsn);

        // Takes arrivals and the newest RTT sample.
        let mut samples = Samples::default();
        if packet.sack != Sacks::NONE {
            let sack = network.sacks.take(packet.sack);
            if sack.sent.wrapping_sub(self.latest_answer) as i32 > 0 {
                self.latest_answer = sack.sent;
            }
            (info, samples) = self.take_sack(connection, network, packet.seq, sack, info);
        }
        let ack = packet.seq.min(self.board.snd_nxt);
        if ack > prior_una {
            info.una_advanced = true;
            info.restart_timer = true;
            self.rto_backoffs = 0;
            self.take_acknowledged(connection, ack, now, prior_highest, &mut info, &mut samples);
        } else if samples.first_sacked > 0 {
            // Packets sent after the head's latest (re)transmission must not postpone its timeout.
            info.restart_timer = samples.first_sacked < self.board.get(prior_una).sent;
        }

        let rtt_us = self.take_samples(connection, network, &info, &samples);
        if self.probe.is_some() {
            self.take_probe_answer(connection, network, packet.seq, info);
        }
        self.rack.adapt(self.board.snd_una, self.board.snd_nxt);

        // Loss, recovery, undo; then the window.
        self.repair = false;
        let view = connection.subflow_mut(index);
        view.delivered = view.delivered.wrapping_add(info.delivered);
        if info.delivered > 0 {
            view.last_ack_us = network.now_us();
        }
        if info.ece {
            view.delivered_ce = view.delivered_ce.wrapping_add(info.delivered);
        }
        if view.ca_state != ca_state::OPEN
            || info.ece
            || info.sacked
            || info.duplicate
            || self.board.sacked_out > 0
            || !info.una_advanced
        {
            info = self.fastretrans_alert(connection, network, prior_una, info);
        }
        if self.is_rate_based {
            self.control_rate(connection, network, prior_in_flight, prior_una, info, rtt_us);
        } else {
            self.control_window::<false>(connection, network, prior_in_flight, prior_una, info, rtt_us);
        }

        if info.restart_timer {
            self.restart_timer(connection, network.now);
        }
        if self.repair {
            self.retransmit(connection, network);
        }
        let cwnd = connection.subflow(index).cwnd;
        connection.data.note_window(cwnd);
    }

    /// Handles an ACK that a later one has overtaken: only its SACK blocks count, and not as delivered (Linux `tcp_ack`,
    /// `old_ack`). PAWS drops an outdated one.
    #[cold]
    fn receive_overtaken(&mut self, connection: &mut Connection, network: &mut Network, packet: &Packet) {
        if packet.sack == Sacks::NONE {
            return;
        }
        let sack = network.sacks.take(packet.sack);
        if is_outdated(sack.sent, self.latest_answer) {
            return;
        }
        let info = AckInformation { echo: packet.timestamp, ..AckInformation::default() };
        let (info, _) = self.take_sack(connection, network, self.board.snd_una, sack, info);
        if let Some(rate) = &mut self.rate {
            rate.forget_sample();
        }
        if !info.sacked && !info.duplicate {
            return;
        }
        self.repair = false;
        self.fastretrans_alert(connection, network, self.board.snd_una, info);
        if self.repair {
            self.retransmit(connection, network);
        }
    }

    /// Marks what an acknowledgement reports selectively.
    #[inline(never)]
    fn take_sack(
        &mut self,
        connection: &Connection,
        network: &Network,
        ack: u32,
        mut sack: Sack,
        mut info: AckInformation,
    ) -> (AckInformation, Samples) {
        let mut samples = Samples::default();
        info.one_way_us = sack.one_way_us;
        let mut reordered = u32::MAX;
        let blocks = &mut sack.blocks[..usize::from(sack.n)];
        let duplicate = sack.duplicate.then(|| blocks[0].0);
        if let Some(seq) = duplicate {
            self.take_duplicate(seq, &mut reordered, &mut info);
        }
        blocks.sort_unstable();
        let now = network.now;
        let view = connection.subflow(self.setup.index);
        let min_rtt = view.min_rtt_us;
        let recovery_point = self.recovery_point;
        let prior_highest = self.board.highest_sacked();
        let (rack, board, rate) = (&mut self.rack, &mut self.board, &mut self.rate);
        for &mut (start, end) in blocks {
            board.acknowledge_range(start.max(ack), end, |seq, record| {
                info.sacked = true;
                info.delivered += 1;
                let retransmitted = record.state & segment::EVER_RETRANS != 0;
                rack.arrived(now, record.sent, seq, retransmitted, min_rtt);
                if let Some(rate) = rate {
                    rate.delivered(seq, record.sent);
                }
                if !retransmitted {
                    if seq < prior_highest {
                        reordered = reordered.min(seq);
                    }
                    info.original_arrived |= seq < recovery_point;
                    if samples.first_sacked == 0 {
                        samples.first_sacked = record.sent;
                    }
                    samples.last_sacked = record.sent;
                }
            });
        }
        if let Some(seq) = duplicate.filter(|&seq| info.duplicate && seq >= ack) {
            board.duplicate(seq);
        }
        // After a timeout retransmissions are not told from originals well enough.
        let highest = board.highest_sacked();
        if reordered < highest && (view.ca_state != ca_state::LOSS || self.undo_marker.is_some()) {
            rack.reordered(reordered, highest);
        }
        (info, samples)
    }

    /// The receiver got a packet twice (Linux `tcp_check_dsack`, `tcp_sacktag_one`).
    fn take_duplicate(&mut self, seq: u32, reordered: &mut u32, info: &mut AckInformation) {
        let is_probe = self.probe.is_some_and(|(end, _)| end == seq + 1);
        info.probe_duplicate |= is_probe;
        self.duplicates += 1;
        if self.duplicates > self.counts.retransmissions {
            // The network made it.
            return;
        }
        info.duplicate = true;
        info.delivered += 1;
        if !is_probe {
            self.rack.duplicate();
        }
        if seq >= self.board.snd_una {
            let state = self.board.get(seq).state;
            if state & segment::EVER_RETRANS == 0 {
                return;
            }
            if state & segment::SACKED != 0 {
                *reordered = seq;
            }
        }
        if self.undo_marker.is_some_and(|marker| seq >= marker)
            && let Some(retransmissions) = &mut self.undo_retrans
        {
            *retransmissions = retransmissions.saturating_sub(1);
        }
    }

    /// Removes what is acknowledged cumulatively.
    #[inline]
    fn take_acknowledged(
        &mut self,
        connection: &Connection,
        ack: u32,
        now: u64,
        prior_highest: u32,
        info: &mut AckInformation,
        samples: &mut Samples,
    ) {
        let min_rtt = connection.subflow(self.setup.index).min_rtt_us;
        let una = self.board.snd_una;
        if let Some((first, last)) = self.board.acknowledge_unmarked(ack) {
            info.delivered += ack - una;
            self.rack.arrived(now, last, ack - 1, false, min_rtt);
            if let Some(rate) = &mut self.rate {
                rate.delivered_below(ack, last);
            }
            (samples.first_acknowledged, samples.last_acknowledged) = (first, last);
            info.original_arrived |= una < self.recovery_point;
            return;
        }
        let mut reordered = u32::MAX;
        while self.board.snd_una < ack {
            let seq = self.board.snd_una;
            let record = self.board.acknowledge_first();
            let retransmitted = record.state & segment::EVER_RETRANS != 0;
            samples.any_retransmitted |= retransmitted;
            if record.state & segment::SACKED != 0 {
                continue;
            }
            info.delivered += 1;
            // The echoed timestamp predates the retransmission: the original has arrived (`tcp_skb_spurious_retrans`).
            let needless = retransmitted && (info.echo.wrapping_sub((record.sent / 1_000) as u32) as i32) < 0;
            if !needless {
                self.rack.arrived(now, record.sent, seq, retransmitted, min_rtt);
            }
            if let Some(rate) = &mut self.rate {
                rate.delivered(seq, record.sent);
            }
            if !retransmitted {
                if samples.first_acknowledged == 0 {
                    samples.first_acknowledged = record.sent;
                }
                samples.last_acknowledged = record.sent;
                info.original_arrived |= seq < self.recovery_point;
                if seq < prior_highest {
                    reordered = reordered.min(seq);
                }
            }
        }
        self.board.trim();
        if let Some(rate) = &mut self.rate {
            rate.forget_below(ack);
        }
        if reordered < prior_highest {
            self.rack.reordered(reordered, self.board.highest_sacked());
        }
    }

    /// RTT: for the timeout the earliest packet acknowledged, for algorithm and minimum the latest one, which is returned;
    /// 0 if there is none. The echoed timestamp tells both where a retransmission was acknowledged (Linux
    /// `tcp_ack_update_rtt`).
    #[inline]
    fn take_samples(
        &mut self,
        connection: &mut Connection,
        network: &Network,
        info: &AckInformation,
        samples: &Samples,
    ) -> u32 {
        let now = network.now;
        let age_us = |sent: u64| ((now - sent) / 1_000) as u32;
        let acknowledged = samples.first_acknowledged > 0 && !samples.any_retransmitted;
        let sacked = samples.first_sacked > 0;
        let (for_timeout, latest) = if acknowledged || sacked {
            let first = if acknowledged { samples.first_acknowledged } else { samples.first_sacked };
            let last = if sacked { samples.last_sacked } else { samples.last_acknowledged };
            (Some(age_us(first)), Some(age_us(last)))
        } else if info.una_advanced {
            let age = network.timestamp().wrapping_sub(info.echo);
            (Some(age), Some(age))
        } else {
            (None, None)
        };
        let mut rtt_us = 0;
        let view = connection.subflow_mut(self.setup.index);
        if let Some(latest) = latest {
            rtt_us = latest.max(1);
            if self.counts.rtt_samples > 0 {
                self.counts.rtt_steps_us += u64::from(rtt_us.abs_diff(view.last_rtt_us));
            }
            view.last_rtt_us = rtt_us;
            view.min_rtt_us = self.rtt.sample_minimum(now / 1_000, rtt_us);
            self.counts.rtt_sum_us += u64::from(rtt_us);
            self.counts.rtt_samples += 1;
        }
        if let Some(rtt_us) = for_timeout {
            self.rtt.sample(rtt_us, self.board.snd_una, self.board.snd_nxt);
            view.srtt_us = self.rtt.srtt_us();
        }
        rtt_us
    }

    /// PRR or the algorithm, depending on the state (Linux `tcp_cong_control`); the algorithm gets every ACK.
    #[inline]
    fn control_window<const SAMPLES: bool>(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_in_flight: u32,
        prior_una: u32,
        info: AckInformation,
        rtt_us: u32,
    ) {
        let view = connection.subflow(self.setup.index);
        let reducing = view.ca_state == ca_state::CWR || view.ca_state == ca_state::RECOVERY;
        if reducing && !self.owns_cwnd() {
            self.reduce_proportionally(connection, network.now, info);
        }
        let may_grow = if self.rack.reordering > REORDERING {
            info.una_advanced || info.sacked
        } else {
            info.una_advanced
        };
        let view = connection.subflow(self.setup.index);
        let mut event = Event {
            kind: event_type::ON_ACK,
            acked: info.delivered,
            grow: if may_grow && !reducing { info.delivered } else { 0 },
            acked_bytes: (self.board.snd_una - prior_una).saturating_mul(view.mss),
            rtt_us,
            rate_losses: info.lost,
            prior_in_flight,
            ..Event::default()
        };
        if info.ece {
            event.flags |= event_flags::ECE;
        }
        if let Some(one_way_us) = info.one_way_us {
            event.flags |= event_flags::HAS_OWD;
            event.owd_us = one_way_us as i32;
        }
        if self.is_cwnd_limited(connection) {
            event.flags |= event_flags::CWND_LIMITED;
        }
        if SAMPLES && let Some(rate) = &mut self.rate {
            rate.sample(network.now_us(), view.delivered, view.min_rtt_us, &mut event);
        }
        self.deliver_now(connection, network, event);
    }

    /// The same with a rate sample.
    #[cold]
    fn control_rate(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_in_flight: u32,
        prior_una: u32,
        info: AckInformation,
        rtt_us: u32,
    ) {
        self.control_window::<true>(connection, network, prior_in_flight, prior_una, info, rtt_us);
    }
}
