//! The one timer of a subflow: retransmission timeout (RFC 6298), tail loss probe and reordering (RFC 8985).
//!
//! Rearming only moves the deadline. The event queue keeps the earliest entry; if that comes up too early, the timer is
//! entered again, once per timeout instead of once per acknowledgement.

use braid_algorithms::layout::ca_state;

use super::sender::{Sender, Timer};
use super::wheel::expiry;
use crate::connection::Connection;
use crate::event_queue::NEVER;

const MILLISECOND: u64 = 1_000_000;
/// Linux adds this to reordering and probe timers.
const SLACK_NS: u64 = 2 * MILLISECOND;
/// Allowance for a delayed acknowledgement of a lone packet.
const LONE_PACKET_NS: u64 = 200 * MILLISECOND;
/// Handshake: linear retries at this interval, then doubling.
const OPENING_TIMEOUT_NS: u64 = 1_000 * MILLISECOND;
const OPENING_LINEAR: u32 = 4;

impl Sender {
    #[inline]
    pub(super) fn set_timer(&mut self, timer: Timer, now: u64, deadline: u64) {
        self.timer = timer;
        self.deadline = deadline;
        self.timer_set = now;
    }

    /// Moves the deadline to when the kernel's timer expires. Only a timer that becomes due needs it.
    #[cold]
    pub(super) fn round_deadline(&mut self) {
        if self.timer_set != NEVER {
            self.deadline = expiry(self.timer_set, self.deadline);
            self.timer_set = NEVER;
        }
    }

    /// Next action without an acknowledgement: the timer expires, or pacing releases a packet. [`NEVER`]: none.
    #[inline]
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline.min(self.held_until)
    }

    /// Whether the event queue needs an earlier entry for the deadline.
    #[inline]
    pub(crate) fn is_to_be_planned(&self) -> bool {
        self.deadline() < self.planned
    }

    /// Time until the timer expires; 0: off.
    pub(crate) fn time_left(&self, now: u64) -> u64 {
        if self.timer == Timer::Off { 0 } else { self.deadline.saturating_sub(now) }
    }

    pub(super) fn stop_timer(&mut self) {
        self.set_timer(Timer::Off, NEVER, NEVER);
    }

    pub(super) fn start_retransmission_timer(&mut self, now: u64) {
        self.set_timer(Timer::Retransmission, now, now + self.rtt.rto_ns());
    }

    pub(super) fn start_reordering_timer(&mut self, now: u64, wait_ns: u64) {
        self.set_timer(Timer::Reordering, now, now + (wait_ns + SLACK_NS).min(self.rtt.rto_ns()));
    }

    /// Waits for the answer to the handshake's step.
    pub(crate) fn start_opening_timer(&mut self, now: u64) {
        let timeout = OPENING_TIMEOUT_NS << self.rto_backoffs.saturating_sub(OPENING_LINEAR).min(7);
        self.set_timer(Timer::Retransmission, now, now + timeout);
    }

    /// The retransmission timer's deadline while another timer runs: the head's transmission + RTO.
    pub(super) fn retransmission_deadline(&self, now: u64) -> u64 {
        (self.board.get(self.board.snd_una).sent + self.rtt.rto_ns()).max(now + 1_000)
    }

    /// After an acknowledgement: starts the probe timer if it expires before the RTO, else the RTO.
    #[inline]
    pub(super) fn restart_timer(&mut self, connection: &Connection, now: u64) {
        if self.board.packets_out() == 0 {
            self.stop_timer();
        } else if !self.schedule_probe(connection, now, now + self.rtt.rto_ns()) {
            // The time since the head was sent counts where another timer ran (Linux `tcp_rearm_rto`).
            if self.timer == Timer::Reordering || self.timer == Timer::Probe {
                let deadline = self.retransmission_deadline(now);
                self.set_timer(Timer::Retransmission, now, deadline);
            } else {
                self.start_retransmission_timer(now);
            }
        }
    }

    /// After sending new data (Linux `tcp_event_new_data_sent`, then `tcp_schedule_loss_probe`).
    #[inline]
    pub(crate) fn restart_probe(&mut self, connection: &Connection, now: u64) {
        if self.board.packets_out() == 0 {
            return;
        }
        let head = self.board.get(self.board.snd_una).sent + self.rtt.rto_ns();
        let timeout = if head > now { head } else { NEVER };
        if !self.schedule_probe(connection, now, timeout) && self.timer == Timer::Probe {
            let deadline = self.retransmission_deadline(now);
            self.set_timer(Timer::Retransmission, now, deadline);
        }
    }

    #[inline]
    fn schedule_probe(&mut self, connection: &Connection, now: u64, timeout: u64) -> bool {
        let view = connection.subflow(self.setup.index);
        if view.ca_state != ca_state::OPEN && view.ca_state != ca_state::CWR {
            return false;
        }
        let wait = if self.rtt.has_sample() {
            let slack = if self.board.packets_out() == 1 { LONE_PACKET_NS } else { SLACK_NS };
            2_000 * u64::from(self.rtt.srtt_us()) + slack
        } else {
            OPENING_TIMEOUT_NS
        };
        self.set_timer(Timer::Probe, now, (now + wait).min(timeout));
        true
    }
}
