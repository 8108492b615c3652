//! The sending end of a subflow: its state, and its calls of the algorithm.

use braid_algorithms::layout::{Event, event_type};
use braid_algorithms::{Algorithm, Controller};
use braid_results::measure::VerdictChange;

use super::rack::Rack;
use super::rate::Rate;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;

/// The phase of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not opened yet.
    Idle,
    /// Handshake in progress: its step.
    Opening(u32),
    /// May send.
    Established,
    /// Over; packets still in flight are ignored.
    Closed,
}

/// Constants of the sending end.
pub(crate) struct Setup {
    /// Number of the subflow in the run.
    pub(crate) subflow: u32,
    /// Its index in its connection.
    pub(crate) index: usize,
    /// First hop of the forward route.
    pub(crate) hop: u32,
    /// Bytes on the wire of a data packet.
    pub(crate) data_size: u16,
    pub(crate) ecn: bool,
    pub(crate) initial_window: u32,
    pub(crate) initial_ssthresh: Option<u32>,
}

/// Counters behind the four measures of a subflow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets_sent: u64,
    pub(crate) retransmissions: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) ecn_reductions: u64,
    pub(crate) undos: u64,
    pub(crate) rtt_sum_us: u64,
    pub(crate) rtt_samples: u64,
    /// Sum of the differences between successive RTT samples.
    pub(crate) rtt_steps_us: u64,
    pub(crate) cwnd_integral: u64,
    /// Time up to which the integral is complete.
    pub(crate) integrated_until: u64,
}

/// Which timer runs; a subflow has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    Off,
    Retransmission,
    Probe,
    Reordering,
}

pub(crate) struct Sender {
    pub(super) setup: Setup,
    pub(crate) phase: Phase,
    pub(super) board: Scoreboard,
    pub(super) rtt: Rtt,
    pub(super) rack: Rack,
    pub(super) controller: Controller,
    /// Present if the algorithm wants rate samples.
    pub(super) rate: Option<Box<Rate>>,

    // Congestion state (state.rs).
    pub(super) recovery_point: u32,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) prior_cwnd: u32,
    /// ssthresh to restore on undo; 0: none.
    pub(super) prior_ssthresh: u32,
    pub(super) undo_marker: Option<u32>,
    /// Retransmissions not yet reported as duplicates; `None`: none was made.
    pub(super) undo_retrans: Option<u32>,
    /// Timestamp of the episode's first retransmission; during the handshake, of the first SYN.
    pub(crate) first_retransmission: Option<u32>,
    /// Window after the handshake.
    pub(super) first_window: u32,
    /// Duplicates that the receiver reported.
    pub(super) duplicates: u64,
    /// When the latest acknowledgement with blocks was sent, microseconds.
    pub(super) latest_answer: u32,
    pub(super) frto: bool,
    /// Expiries since the last advance of `snd_una`.
    pub(crate) rto_backoffs: u32,
    /// Set CWR on the next new packet.
    pub(super) send_cwr: bool,
    /// The latest packet with CWR.
    pub(super) cwr_sent: Option<u32>,
    /// Retransmissions are allowed now.
    pub(super) repair: bool,

    // Whether the window limits the flow (RFC 7661's concern, Linux's answer).
    pub(super) was_limited: bool,
    pub(super) max_packets_out: u32,
    pub(super) usage_end: u32,
    pub(super) window_used: u32,
    pub(super) used_since: u64,
    pub(super) last_send: u64,

    // Timers (timers.rs).
    pub(super) timer: Timer,
    /// Time of expiry; [`NEVER`]: off.
    pub(super) deadline: u64,
    /// When the timer was set; [`NEVER`]: the deadline is when it expires.
    pub(super) timer_set: u64,
    /// Delivery rates are sampled or packets are paced.
    pub(super) is_rate_based: bool,
    /// Established, and pacing does not delay the next packet.
    pub(super) may_send: bool,
    /// End of the pacing delay; [`NEVER`]: none.
    pub(super) held_until: u64,
    /// Earliest time of the next packet, if paced.
    pub(super) next_send: u64,
    /// Entry in the event queue; [`NEVER`]: none.
    pub(crate) planned: u64,
    /// Tail loss probe: `snd_nxt` when it was sent, and whether it was a retransmission.
    pub(super) probe: Option<(u32, bool)>,
    /// No arrival since the last timeout: the scheduler skips the subflow.
    pub(crate) potentially_failed: bool,
    /// Packets that its receiver's latest acknowledgement allows in flight.
    pub(crate) window: u32,
    /// Time of the latest acknowledgement.
    pub(crate) last_arrival: u64,

    pub(crate) counts: Counts,
    /// The algorithm's labels of shared bottlenecks, since the subflow was established.
    pub(crate) verdicts: Vec<VerdictChange>,
}

impl Sender {
    pub(crate) fn new(setup: Setup, controller: Controller) -> Self {
        let flags = controller.flags();
        Self {
            rate: (flags & Algorithm::WANTS_RATE != 0).then(|| Box::new(Rate::new())),
            is_rate_based: flags & (Algorithm::WANTS_RATE | Algorithm::OWNS_CWND) != 0,
            may_send: false,
            held_until: NEVER,
            next_send: 0,
            first_window: setup.initial_window,
            duplicates: 0,
            latest_answer: 0,
            setup,
            phase: Phase::Idle,
            board: Scoreboard::new(),
            rtt: Rtt::new(),
            rack: Rack::new(),
            controller,
            recovery_point: 0,
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: None,
            first_retransmission: None,
            frto: false,
            rto_backoffs: 0,
            send_cwr: false,
            cwr_sent: None,
            repair: false,
            was_limited: false,
            max_packets_out: 0,
            usage_end: 0,
            window_used: 0,
            used_since: 0,
            last_send: 0,
            timer: Timer::Off,
            deadline: NEVER,
            timer_set: NEVER,
            planned: NEVER,
            probe: None,
            potentially_failed: false,
            window: u32::MAX,
            last_arrival: 0,
            counts: Counts::default(),
            verdicts: Vec::new(),
        }
    }

    /// Retransmission timeout, nanoseconds.
    pub(crate) fn rto_ns(&self) -> u64 {
        self.rtt.rto_ns()
    }

    /// Calls the algorithm; it answers in the view.
    pub(super) fn deliver(&mut self, connection: &mut Connection, network: &Network, event: Event) {
        self.deliver_now(connection, network, event);
    }

    /// As [`Self::deliver`], part of the event loop.
    #[allow(clippy::inline_always, reason = "once per acknowledgement")]
    #[inline(always)]
    pub(super) fn deliver_now(&mut self, connection: &mut Connection, network: &Network, mut event: Event) {
        event.now_us = network.now_us();
        let index = self.setup.index;
        let view = connection.subflow_mut(index);
        let mss = u64::from(view.mss);
        let cwnd = view.cwnd;
        view.in_flight = self.board.in_flight();
        view.snd_una = u64::from(self.board.snd_una) * mss;
        view.snd_nxt = u64::from(self.board.snd_nxt) * mss;
        connection.view.self_index = index as u32;
        self.controller.deliver(&mut connection.view, &event);
        if connection.subflow(index).cwnd != cwnd {
            self.integrate(cwnd, network.now);
        }
        if self.controller.flags() & Algorithm::DETECTS != 0 {
            let group = connection.subflow(index).verdict().group;
            if event.kind == event_type::INIT || self.verdicts.last().is_some_and(|last| last.group != group)
            {
                self.verdicts.push(VerdictChange { time_ns: network.now, group });
            }
        }
        debug_assert!(connection.subflow(index).cwnd >= 1 && connection.subflow(index).ssthresh >= 1);
    }

    /// The window was `cwnd` until now.
    #[inline]
    pub(crate) fn integrate(&mut self, cwnd: u32, now: u64) {
        self.counts.cwnd_integral += u64::from(cwnd) * (now - self.counts.integrated_until);
        self.counts.integrated_until = now;
    }

    /// The host sets the window.
    #[inline]
    pub(super) fn set_cwnd(&mut self, connection: &mut Connection, now: u64, cwnd: u32) {
        let view = connection.subflow_mut(self.setup.index);
        let old = view.cwnd;
        view.cwnd = cwnd.max(1).min(view.cwnd_clamp);
        self.integrate(old, now);
    }

    /// The connection's scheduler reduces the window, and ssthresh if it is not 0. False if the algorithm owns both.
    pub(crate) fn penalise(
        &mut self,
        connection: &mut Connection,
        now: u64,
        cwnd: u32,
        ssthresh: u32,
    ) -> bool {
        let view = connection.subflow_mut(self.setup.index);
        if self.owns_cwnd() || cwnd >= view.cwnd {
            return false;
        }
        if ssthresh > 0 {
            view.ssthresh = ssthresh;
        }
        self.set_cwnd(connection, now, cwnd);
        true
    }

    /// RTT variation by RFC 6298 and by Linux, microseconds.
    pub(crate) fn rtt_variation_us(&self) -> (u32, u32) {
        self.rtt.variation_us()
    }

    /// Packets sent and not acknowledged.
    pub(crate) fn packets_out(&self) -> u32 {
        self.board.packets_out()
    }

    /// Packets believed to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// Room for new data: whether this subflow may send a packet now.
    #[inline]
    pub(crate) fn has_room(&self, connection: &Connection) -> bool {
        self.may_send && self.board.in_flight() < connection.subflow(self.setup.index).cwnd
    }

    /// Whether the scheduler may consider it at all.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.phase == Phase::Established && !self.potentially_failed
    }

    /// Whether the algorithm sets cwnd in every state.
    pub(super) fn owns_cwnd(&self) -> bool {
        self.controller.flags() & Algorithm::OWNS_CWND != 0
    }
}
