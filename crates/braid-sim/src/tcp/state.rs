//! Congestion states, proportional rate reduction (RFC 6937), undo (RFC 3522, 2883) and F-RTO (RFC 5682), in the order
//! of Linux `tcp_fastretrans_alert`.

use braid_algorithms::layout::{Event, ca_state, cause, event_type};

use super::ack_information::AckInformation;
use super::rack::REORDERING;
use super::scoreboard::segment;
use super::sender::{Sender, Timer};
use crate::connection::Connection;
use crate::network::Network;

impl Sender {
    #[inline]
    fn ca_state(&self, connection: &Connection) -> u32 {
        connection.subflow(self.setup.index).ca_state
    }

    fn set_ca_state(&self, connection: &mut Connection, state: u32) {
        connection.subflow_mut(self.setup.index).ca_state = state;
    }

    /// Handles an acknowledgement while anything is unusual, or was before.
    pub(super) fn fastretrans_alert(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_una: u32,
        mut info: AckInformation,
    ) -> AckInformation {
        self.follow_states(connection, network, prior_una, &mut info);
        info
    }

    fn follow_states(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_una: u32,
        info: &mut AckInformation,
    ) {
        if info.ece {
            // An episode with a congestion mark is never undone.
            self.prior_ssthresh = 0;
        }
        let mut state = self.ca_state(connection);
        if state == ca_state::OPEN {
            self.first_retransmission = None;
        } else if self.board.snd_una >= self.recovery_point {
            match state {
                ca_state::CWR if self.board.snd_una > self.recovery_point => {
                    self.end_reduction(connection, network);
                    self.set_ca_state(connection, ca_state::OPEN);
                    self.tell_recovered(connection, network, cause::EXIT);
                }
                ca_state::RECOVERY => {
                    let undone = self.undo_recovery(connection, network, info);
                    self.end_reduction(connection, network);
                    if !undone {
                        self.tell_recovered(connection, network, cause::EXIT);
                    }
                }
                _ => {}
            }
            state = self.ca_state(connection);
        }
        match state {
            ca_state::RECOVERY => {
                if info.una_advanced && self.undo_partial(connection, network, prior_una, info) {
                    return;
                }
                if self.undo_after_duplicates(connection, network) {
                    self.try_to_open(connection, network, info);
                }
                self.identify_losses(connection, network, info);
                if self.ca_state(connection) != ca_state::RECOVERY {
                    if self.board.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(connection, network, info.ece);
                }
                self.repair = true;
            }
            ca_state::LOSS => {
                self.continue_after_timeout(connection, network, info);
                self.identify_losses(connection, network, info);
                match self.ca_state(connection) {
                    ca_state::OPEN => self.open_or_recover(connection, network, info),
                    ca_state::LOSS if info.retransmission_lost => {
                        self.open_or_recover(connection, network, info);
                    }
                    _ => {}
                }
            }
            _ => {
                if state <= ca_state::DISORDER {
                    self.undo_after_duplicates(connection, network);
                }
                self.identify_losses(connection, network, info);
                self.open_or_recover(connection, network, info);
            }
        }
    }

    /// Not in recovery: begin one if something is lost.
    fn open_or_recover(&mut self, connection: &mut Connection, network: &mut Network, info: &AckInformation) {
        if self.board.lost_out == 0 {
            self.try_to_open(connection, network, info);
        } else {
            self.enter_recovery(connection, network, info.ece);
            self.repair = true;
        }
    }

    /// RACK marks what is lost.
    fn identify_losses(&mut self, connection: &mut Connection, network: &Network, info: &mut AckInformation) {
        let in_recovery = self.ca_state(connection) >= ca_state::RECOVERY;
        let view = connection.subflow_mut(self.setup.index);
        let detected =
            self.rack.detect(network.now, &mut self.board, in_recovery, view.min_rtt_us, self.rtt.srtt_us());
        view.lost = view.lost.wrapping_add(detected.marked);
        info.lost += detected.marked;
        info.retransmission_lost |= detected.retransmission;
        if detected.wait_ns > 0 {
            self.start_reordering_timer(network.now, detected.wait_ns);
            info.restart_timer = false;
        }
    }

    fn any_retransmission_pending(&self) -> bool {
        self.board.retrans_out > 0
            || (self.board.packets_out() > 0
                && self.board.get(self.board.snd_una).state & segment::EVER_RETRANS != 0)
    }

    /// Open if nothing is out of order; reduce if a congestion mark says so.
    fn try_to_open(&mut self, connection: &mut Connection, network: &mut Network, info: &AckInformation) {
        if !self.any_retransmission_pending() {
            self.first_retransmission = None;
        }
        if info.ece {
            self.enter_reduction(connection, network);
        }
        if self.ca_state(connection) != ca_state::CWR {
            self.keep_open(connection);
        }
    }

    fn keep_open(&mut self, connection: &mut Connection) {
        let left_out = self.board.sacked_out + self.board.lost_out;
        let state = if left_out > 0 || self.any_retransmission_pending() {
            ca_state::DISORDER
        } else {
            ca_state::OPEN
        };
        if self.ca_state(connection) != state {
            self.set_ca_state(connection, state);
            self.recovery_point = self.board.snd_nxt;
        }
    }

    /// A congestion episode begins: the algorithm sets ssthresh.
    fn ask_ssthresh(&mut self, connection: &mut Connection, network: &Network, why: u32) {
        let view = connection.subflow_mut(self.setup.index);
        view.prior_cwnd = view.cwnd;
        self.deliver(
            connection,
            network,
            Event { kind: event_type::ON_LOSS, cause: why, ..Event::default() },
        );
    }

    fn tell_recovered(&mut self, connection: &mut Connection, network: &Network, how: u32) {
        self.deliver(
            connection,
            network,
            Event { kind: event_type::ON_RECOVERED, cause: how, ..Event::default() },
        );
    }

    /// ssthresh to restore if the episode turns out to be spurious.
    fn current_ssthresh(&self, connection: &Connection) -> u32 {
        let view = connection.subflow(self.setup.index);
        if view.ca_state == ca_state::CWR || view.ca_state == ca_state::RECOVERY {
            view.ssthresh
        } else {
            view.ssthresh.max(view.cwnd - view.cwnd / 4)
        }
    }

    fn start_reduction(&mut self, connection: &mut Connection, network: &Network, why: u32) {
        self.recovery_point = self.board.snd_nxt;
        self.probe = None;
        self.prior_cwnd = connection.subflow(self.setup.index).cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.ask_ssthresh(connection, network, why);
        self.send_cwr = true;
    }

    /// CWR: a congestion mark outside any episode.
    fn enter_reduction(&mut self, connection: &mut Connection, network: &mut Network) {
        self.prior_ssthresh = 0;
        if self.ca_state(connection) < ca_state::CWR {
            self.undo_marker = None;
            self.start_reduction(connection, network, cause::ECN);
            self.set_ca_state(connection, ca_state::CWR);
            self.counts.ecn_reductions += 1;
        }
    }

    /// Recovery: something was lost. After CWR the window is not cut a second time.
    pub(super) fn enter_recovery(&mut self, connection: &mut Connection, network: &mut Network, ece: bool) {
        if !self.any_retransmission_pending() {
            self.first_retransmission = None;
        }
        self.prior_ssthresh = 0;
        self.remember_for_undo();
        self.counts.fast_retransmits += 1;
        if self.ca_state(connection) < ca_state::CWR || self.ca_state(connection) == ca_state::LOSS {
            if !ece {
                self.prior_ssthresh = self.current_ssthresh(connection);
            }
            self.start_reduction(connection, network, cause::FAST_RETRANSMIT);
        }
        self.set_ca_state(connection, ca_state::RECOVERY);
    }

    fn remember_for_undo(&mut self) {
        self.undo_marker = Some(self.board.snd_una);
        let probes = u32::from(matches!(self.probe, Some((_, true))));
        let copies = self.board.retrans_out + probes;
        self.undo_retrans = (copies > 0).then_some(copies);
    }

    /// Loss: the retransmission timer expired.
    pub(super) fn enter_loss(&mut self, connection: &mut Connection, network: &mut Network) {
        let state = self.ca_state(connection);
        let new_recovery = state < ca_state::RECOVERY;
        self.mark_lost_after_timeout(connection, network.now);
        let begins = state <= ca_state::DISORDER
            || self.board.snd_una >= self.recovery_point
            || (state == ca_state::LOSS && self.rto_backoffs == 0);
        if begins {
            self.prior_ssthresh = self.current_ssthresh(connection);
            self.prior_cwnd = connection.subflow(self.setup.index).cwnd;
        }
        // An algorithm that owns cwnd gets every timeout.
        if begins || self.owns_cwnd() {
            self.ask_ssthresh(connection, network, cause::RTO);
        }
        if begins {
            self.remember_for_undo();
        }
        if !self.owns_cwnd() {
            self.set_cwnd(connection, network.now, self.board.in_flight() + 1);
        }
        if state <= ca_state::DISORDER && self.board.sacked_out >= REORDERING {
            self.rack.reordering = self.rack.reordering.min(REORDERING);
        }
        self.set_ca_state(connection, ca_state::LOSS);
        self.recovery_point = self.board.snd_nxt;
        self.probe = None;
        self.send_cwr = true;
        self.frto = new_recovery || self.rto_backoffs > 0;
        self.counts.timeouts += 1;
    }

    /// Marks the head, and all packets that RACK would mark by now.
    fn mark_lost_after_timeout(&mut self, connection: &mut Connection, now: u64) {
        let mut marked = 0;
        let head = self.board.snd_una;
        for seq in head..self.board.snd_nxt {
            let record = *self.board.get(seq);
            let waiting = record.state & (segment::LOST | segment::RETRANS) == segment::LOST;
            if record.state & segment::SACKED == 0
                && !waiting
                && (seq == head || self.rack.is_overdue(now, record.sent))
            {
                self.board.mark_lost(seq, true);
                marked += 1;
            }
        }
        let view = connection.subflow_mut(self.setup.index);
        view.lost = view.lost.wrapping_add(marked);
    }

    /// An acknowledgement in the Loss state (Linux `tcp_process_loss`).
    fn continue_after_timeout(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        info: &AckInformation,
    ) {
        let recovered = self.board.snd_una >= self.recovery_point;
        if info.una_advanced && self.undo_loss(connection, network, info, false) {
            return;
        }
        if self.frto {
            // RFC 5682 step 3b: a packet sent before the timeout and not since has arrived.
            if info.original_arrived && self.undo_loss(connection, network, info, true) {
                return;
            }
            if self.board.snd_nxt > self.recovery_point {
                if info.sacked || !(info.una_advanced || info.duplicate) {
                    // Step 3a: the loss was real.
                    self.frto = false;
                }
            } else if info.una_advanced && !recovered {
                self.recovery_point = self.board.snd_nxt;
                if connection.has_new_data(self.setup.index) {
                    // Step 2b: sends new data instead of retransmissions, to distinguish the two.
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            let undone = self.undo_recovery(connection, network, info);
            if !undone {
                self.tell_recovered(connection, network, cause::EXIT);
            }
            return;
        }
        self.repair = true;
    }

    /// Nothing was retransmitted yet, or the echoed timestamp is older than the first retransmission: the original had
    /// arrived (Eifel; Linux `tcp_packet_delayed`).
    fn original_was_delayed(&self, info: &AckInformation) -> bool {
        self.first_retransmission.is_none_or(|first| (info.echo.wrapping_sub(first) as i32) < 0)
    }

    fn may_undo(&self, info: &AckInformation) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == Some(0) || self.original_was_delayed(info))
    }

    fn undo_reduction(&mut self, connection: &mut Connection, network: &mut Network, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        if self.prior_ssthresh > 0 {
            let index = self.setup.index;
            let prior_cwnd = self.prior_cwnd;
            if !self.owns_cwnd() {
                let cwnd = connection.subflow(index).cwnd.max(prior_cwnd);
                self.set_cwnd(connection, network.now, cwnd);
            }
            let view = connection.subflow_mut(index);
            if self.prior_ssthresh > view.ssthresh {
                view.ssthresh = self.prior_ssthresh;
                self.send_cwr = false;
            }
            self.counts.undos += 1;
        }
        self.undo_marker = None;
        self.rack.look_again();
        self.tell_recovered(connection, network, cause::UNDO);
    }

    /// All data of the episode is acknowledged. Returns whether the episode was undone.
    fn undo_recovery(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        info: &AckInformation,
    ) -> bool {
        let undo = self.may_undo(info);
        self.set_ca_state(connection, ca_state::OPEN);
        if undo {
            self.undo_reduction(connection, network, false);
        } else {
            self.rack.recovery_ended();
        }
        undo
    }

    fn undo_loss(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        info: &AckInformation,
        frto: bool,
    ) -> bool {
        if !frto && !self.may_undo(info) {
            return false;
        }
        self.set_ca_state(connection, ca_state::OPEN);
        self.undo_reduction(connection, network, true);
        self.rto_backoffs = 0;
        true
    }

    /// Part of the episode is acknowledged, by the original. Returns whether to wait for packets still in flight.
    fn undo_partial(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_una: u32,
        info: &AckInformation,
    ) -> bool {
        if self.undo_marker.is_none() || !self.original_was_delayed(info) {
            return false;
        }
        // The original arrived late: that is reordering.
        if prior_una < self.board.highest_sacked() {
            self.rack.reordered(prior_una, self.board.highest_sacked());
        }
        if self.board.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission_pending() {
            self.first_retransmission = None;
        }
        self.undo_reduction(connection, network, true);
        self.keep_open(connection);
        false
    }

    /// Every retransmission was reported as a duplicate.
    fn undo_after_duplicates(&mut self, connection: &mut Connection, network: &mut Network) -> bool {
        let undo = self.undo_marker.is_some() && self.undo_retrans == Some(0);
        if undo {
            self.rack.undone_by_duplicates();
            self.undo_reduction(connection, network, false);
        }
        undo
    }

    /// The reduction is complete: cwnd = ssthresh, unless it was undone.
    pub(super) fn end_reduction(&mut self, connection: &mut Connection, network: &Network) {
        let view = connection.subflow(self.setup.index);
        if !self.owns_cwnd()
            && view.ssthresh < braid_algorithms::layout::SSTHRESH_INFINITE
            && (view.ca_state == ca_state::CWR || self.undo_marker.is_some())
        {
            let ssthresh = view.ssthresh;
            self.set_cwnd(connection, network.now, ssthresh);
        }
    }

    /// Proportional rate reduction (RFC 6937 with Linux's choices).
    #[inline]
    pub(super) fn reduce_proportionally(
        &mut self,
        connection: &mut Connection,
        now: u64,
        info: AckInformation,
    ) {
        let delivered = info.delivered;
        if delivered == 0 || self.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let ssthresh = u64::from(connection.subflow(self.setup.index).ssthresh);
        let in_flight = self.board.in_flight();
        let (sent, done) = (i64::from(self.prr_out), u64::from(self.prr_delivered));
        let mut send = if u64::from(in_flight) > ssthresh {
            (ssthresh * done).div_ceil(u64::from(self.prior_cwnd)) as i64 - sent
        } else {
            let mut limit = (done as i64 - sent).max(i64::from(delivered));
            if info.una_advanced && info.lost == 0 {
                limit += 1;
            }
            limit.min(ssthresh as i64 - i64::from(in_flight))
        };
        // The first retransmission of an episode always goes out.
        send = send.max(i64::from(self.prr_out == 0));
        self.set_cwnd(connection, now, in_flight + send.max(0) as u32);
    }

    /// The tail loss probe was answered (Linux `tcp_process_tlp_ack`).
    pub(super) fn take_probe_answer(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        ack: u32,
        info: AckInformation,
    ) {
        let Some((end, retransmission)) = self.probe else { return };
        if ack < end {
            return;
        }
        if !retransmission || info.probe_duplicate {
            self.probe = None;
        } else if ack > end {
            // The probe repaired a loss: one reduction, at once.
            self.start_reduction(connection, network, cause::FAST_RETRANSMIT);
            self.counts.fast_retransmits += 1;
            self.set_ca_state(connection, ca_state::CWR);
            self.end_reduction(connection, network);
            self.set_ca_state(connection, ca_state::OPEN);
            self.keep_open(connection);
            self.tell_recovered(connection, network, cause::EXIT);
        } else if !info.una_advanced && !info.sacked {
            self.probe = None;
        }
    }

    /// The reordering timer expired.
    pub(super) fn reordering_timeout(&mut self, connection: &mut Connection, network: &mut Network) {
        let in_recovery = self.ca_state(connection) >= ca_state::RECOVERY;
        let view = connection.subflow_mut(self.setup.index);
        let detected = self.rack.detect_again(
            network.now,
            &mut self.board,
            in_recovery,
            view.min_rtt_us,
            self.rtt.srtt_us(),
        );
        view.lost = view.lost.wrapping_add(detected.marked);
        if detected.marked > 0 {
            if self.ca_state(connection) != ca_state::RECOVERY {
                self.enter_recovery(connection, network, false);
                if !self.owns_cwnd() {
                    let info =
                        AckInformation { delivered: 1, lost: detected.marked, ..AckInformation::default() };
                    self.reduce_proportionally(connection, network.now, info);
                }
            }
            self.retransmit(connection, network);
        }
        // Packets that still wait get no second reordering timer (Linux `tcp_rack_reo_timeout`).
        if self.board.packets_out() > 0 {
            let deadline = self.retransmission_deadline(network.now);
            self.set_timer(Timer::Retransmission, network.now, deadline);
        }
    }
}
