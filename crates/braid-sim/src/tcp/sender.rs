//! The sending end of a subflow: transmission, and the order of work per acknowledgement (Linux `tcp_ack`).

use std::ops::Range;

use braid_algorithms::layout::{Event, SSTHRESH_INFINITE, ca_state, event_flags, event_type, subflow_flags};
use braid_algorithms::{Algorithm, Controller};
use braid_results::measure::VerdictChange;

use super::rack::Rack;
use super::rate::Rate;
use super::rtt::Rtt;
use super::scoreboard::{Scoreboard, segment};
use crate::agenda::NEVER;
use crate::connection::Connection;
use crate::network::Network;
use crate::packet::{Packet, Sacks, flags};

/// Packets that leave before pacing begins.
const UNPACED: u64 = 10;

/// Where a subflow is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not opened yet.
    Idle,
    /// Handshake under way: its step.
    Opening(u32),
    /// May send.
    Established,
    /// Over; packets still under way are ignored.
    Closed,
}

/// What the sending end needs to know once.
pub(crate) struct Setup {
    /// Number of the subflow in the run.
    pub(crate) subflow: u32,
    /// Its index in its connection.
    pub(crate) index: usize,
    /// First hop of the way there.
    pub(crate) hop: u32,
    /// Bytes on the wire of a data packet.
    pub(crate) data_size: u16,
    pub(crate) ecn: bool,
    pub(crate) initial_window: u32,
    pub(crate) initial_ssthresh: Option<u32>,
}

/// What the four measures of a subflow are derived from.
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
    /// Sum of the differences between each RTT sample and the one before.
    pub(crate) rtt_steps_us: u64,
    pub(crate) cwnd_integral: u64,
    /// Time up to which the integral is complete.
    pub(crate) integrated_until: u64,
}

/// What one acknowledgement has told so far.
#[derive(Default)]
pub(super) struct News {
    pub(super) una_advanced: bool,
    /// It carried a block that was not known yet.
    pub(super) sacked: bool,
    /// A packet never retransmitted, sent before the episode began, has arrived.
    pub(super) original_arrived: bool,
    pub(super) ece: bool,
    pub(super) duplicate: bool,
    pub(super) probe_duplicate: bool,
    /// A retransmission was found lost.
    pub(super) retransmission_lost: bool,
    pub(super) delivered: u32,
    pub(super) lost: u32,
    /// The RTO restarts.
    pub(super) restart_timer: bool,
    /// The echoed timestamp.
    pub(super) echo: u32,
    /// One-way delay, microseconds, where it is reported.
    pub(super) one_way_us: Option<u32>,
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
    /// Of an algorithm that wants rate samples.
    pub(super) rate: Option<Box<Rate>>,

    // Congestion state (state.rs).
    pub(super) high_seq: u32,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) prior_cwnd: u32,
    /// ssthresh to restore on undo; 0: there is nothing to restore.
    pub(super) prior_ssthresh: u32,
    pub(super) undo_marker: Option<u32>,
    /// Retransmissions not yet reported as duplicates; `None`: none was made.
    pub(super) undo_retrans: Option<u32>,
    /// Timestamp of the episode's first retransmission.
    pub(super) first_retransmission: Option<u32>,
    pub(super) frto: bool,
    /// Expiries since the last advance of `snd_una`.
    pub(crate) expiries: u32,
    /// Say CWR on the next new packet.
    pub(super) say_cwr: bool,
    /// The latest packet that said it.
    pub(super) cwr_said: Option<u32>,
    /// Retransmissions are allowed now.
    pub(super) repair: bool,

    // Whether the window limits the flow (RFC 7661's concern, Linux's answer).
    was_limited: bool,
    max_packets_out: u32,
    usage_end: u32,
    window_used: u32,
    used_since: u64,
    last_send: u64,

    // Timers (timers.rs).
    pub(super) timer: Timer,
    /// [`NEVER`]: off.
    pub(super) deadline: u64,
    /// Delivery rates are sampled or packets are paced.
    is_rate_based: bool,
    /// Established, and pacing does not hold the next packet back.
    pub(super) may_send: bool,
    /// Until when it does; [`NEVER`]: it does not.
    pub(super) held_until: u64,
    /// Earliest time of the next packet, if paced.
    next_send: u64,
    /// Entry in the agenda; [`NEVER`]: none.
    pub(crate) planned: u64,
    /// Tail loss probe: what was next when it was sent, and whether it was a retransmission.
    pub(super) probe: Option<(u32, bool)>,
    /// Nothing has arrived since the last timeout: the scheduler leaves the subflow alone.
    pub(crate) potentially_failed: bool,

    pub(crate) counts: Counts,
    /// What the algorithm said of shared bottlenecks, from when the subflow was established.
    pub(crate) verdicts: Vec<VerdictChange>,
}

impl Sender {
    /// What is sent from now on takes the way there that begins at this hop.
    pub(crate) fn set_route(&mut self, hop: u32) {
        self.setup.hop = hop;
    }

    pub(crate) fn new(setup: Setup, controller: Controller) -> Self {
        let flags = controller.flags();
        Self {
            rate: (flags & Algorithm::WANTS_RATE != 0).then(|| Box::new(Rate::new())),
            is_rate_based: flags & (Algorithm::WANTS_RATE | Algorithm::OWNS_CWND) != 0,
            may_send: false,
            held_until: NEVER,
            next_send: 0,
            setup,
            phase: Phase::Idle,
            board: Scoreboard::new(),
            rtt: Rtt::new(),
            rack: Rack::new(),
            controller,
            high_seq: 0,
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: None,
            first_retransmission: None,
            frto: false,
            expiries: 0,
            say_cwr: false,
            cwr_said: None,
            repair: false,
            was_limited: false,
            max_packets_out: 0,
            usage_end: 0,
            window_used: 0,
            used_since: 0,
            last_send: 0,
            timer: Timer::Off,
            deadline: NEVER,
            planned: NEVER,
            probe: None,
            potentially_failed: false,
            counts: Counts::default(),
            verdicts: Vec::new(),
        }
    }

    /// The handshake is done and took this long: the algorithm takes over.
    pub(crate) fn establish(&mut self, connection: &mut Connection, network: &mut Network, rtt_us: u32) {
        let now_us = network.now_us();
        self.phase = Phase::Established;
        self.may_send = true;
        self.rtt.sample(rtt_us, 0, 0);
        let minimum = self.rtt.sample_minimum(now_us, rtt_us);
        let timeouts = self.counts.timeouts;
        let view = connection.subflow_mut(self.setup.index);
        view.srtt_us = self.rtt.srtt_us();
        view.min_rtt_us = minimum;
        view.last_rtt_us = rtt_us;
        // RFC 6928: one packet if the opening had to be sent more than twice.
        view.cwnd = if timeouts > 1 { 1 } else { self.setup.initial_window };
        view.ssthresh = self.setup.initial_ssthresh.unwrap_or(SSTHRESH_INFINITE);
        view.flags |= subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM;
        view.last_ack_us = now_us;
        self.counts.integrated_until = network.now;
        self.last_send = network.now;
        self.used_since = network.now;
        let event = Event { kind: event_type::INIT, ..Event::default() };
        self.deliver(connection, network, event);
        self.note_application_limit(connection);
    }

    /// The application is about to write, and all that it wrote before has been sent: if the window has room, the path
    /// waited for the application (Linux `tcp_rate_check_app_limited`).
    pub(crate) fn note_application_limit(&mut self, connection: &Connection) {
        let view = connection.subflow(self.setup.index);
        let in_flight = self.board.in_flight();
        if let Some(rate) = &mut self.rate {
            if self.phase == Phase::Established
                && in_flight < view.cwnd
                && self.board.lost_out <= self.board.retrans_out
            {
                rate.limit(view.delivered, in_flight);
            }
        }
    }

    /// Retransmission timeout, nanoseconds.
    pub(crate) fn rto_ns(&self) -> u64 {
        self.rtt.rto_ns()
    }

    /// The subflow ends now.
    pub(crate) fn close(&mut self, connection: &mut Connection, network: &mut Network) {
        if self.phase == Phase::Established {
            self.integrate(connection.subflow(self.setup.index).cwnd, network.now);
            self.deliver(connection, network, Event { kind: event_type::RELEASE, ..Event::default() });
        }
        connection.subflow_mut(self.setup.index).flags &= !subflow_flags::ELIGIBLE;
        self.phase = Phase::Closed;
        self.stop_timer();
        self.may_send = false;
        self.held_until = NEVER;
    }

    /// Lets the algorithm know; it answers in the view.
    #[inline]
    pub(super) fn deliver(&mut self, connection: &mut Connection, network: &Network, mut event: Event) {
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
        if self.controller.flags() & braid_algorithms::Algorithm::DETECTS != 0 {
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

    /// Packets sent and not acknowledged.
    pub(crate) fn packets_out(&self) -> u32 {
        self.board.packets_out()
    }

    /// Packets believed to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// Room for new data: whether a packet may be sent now, as far as this subflow is concerned.
    #[inline]
    pub(crate) fn has_room(&self, connection: &Connection) -> bool {
        self.may_send && self.board.in_flight() < connection.subflow(self.setup.index).cwnd
    }

    /// Whether the scheduler may consider it at all.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.phase == Phase::Established && !self.potentially_failed
    }

    /// Sends a packet of new data of this subflow.
    #[inline]
    pub(crate) fn send_new(&mut self, connection: &mut Connection, network: &mut Network, dsn: u32) {
        if self.board.packets_out() == 0 {
            self.restart_after_idle(connection, network);
        }
        if self.is_rate_based {
            self.note_rate(connection, network.now, self.board.snd_nxt, dsn);
        }
        let was_idle = self.board.packets_out() == 0;
        let seq = self.board.send_new(network.now, dsn);
        let mut packet_flags = flags::DATA;
        if self.setup.ecn {
            packet_flags |= flags::ECT;
            if self.say_cwr {
                self.say_cwr = false;
                self.cwr_said = Some(seq);
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
        self.counts.retransmissions += 1;
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
        self.first_retransmission.get_or_insert(network.timestamp());
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
        self.counts.packets_sent += 1;
        self.last_send = network.now;
        let full = self.setup.data_size;
        let mss = connection.subflow(self.setup.index).mss as u16;
        let size = connection.data.short(dsn).map_or(full, |payload| full - mss + payload);
        network.send(Packet {
            departure: 0,
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

    /// Packet `seq` is about to leave, for the first time or again. Cold, so that it costs nothing where nothing is
    /// rate-based.
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

    /// A packet of so many bytes leaves: when the next one may (Linux `tcp_update_skb_after_send`). What was sent too
    /// late is made up for, by half a gap at most; the first ten packets go out at once.
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

    /// After sending all that may be sent: whether the window was what stopped it (Linux `tcp_cwnd_validate`).
    #[inline]
    pub(crate) fn note_usage(&mut self, connection: &mut Connection, network: &mut Network) {
        let packets_out = self.board.packets_out();
        let limited = self.board.in_flight() >= connection.subflow(self.setup.index).cwnd;
        if self.board.snd_una >= self.usage_end
            || limited
            || (!self.was_limited && packets_out > self.max_packets_out)
        {
            self.was_limited = limited;
            self.max_packets_out = packets_out;
            self.usage_end = self.board.snd_nxt;
        }
        if self.is_cwnd_limited(connection) {
            self.window_used = 0;
            self.used_since = network.now;
        } else {
            self.window_used = self.window_used.max(packets_out);
            let view = connection.subflow(self.setup.index);
            if network.now - self.used_since >= self.rtt.rto_ns()
                && view.ca_state == ca_state::OPEN
                && !self.owns_cwnd()
            {
                self.decay_unused_window(connection, network.now);
            }
        }
    }

    /// Whether growth is justified (Linux `tcp_is_cwnd_limited`).
    #[inline]
    fn is_cwnd_limited(&self, connection: &Connection) -> bool {
        let view = connection.subflow(self.setup.index);
        self.was_limited || (view.cwnd < view.ssthresh && view.cwnd < 2 * self.max_packets_out)
    }

    /// The application used less than the window for a whole timeout (Linux `tcp_cwnd_application_limited`).
    fn decay_unused_window(&mut self, connection: &mut Connection, now: u64) {
        let used = self.window_used.max(self.setup.initial_window);
        let view = connection.subflow_mut(self.setup.index);
        let cwnd = view.cwnd;
        if used < cwnd {
            view.ssthresh = view.ssthresh.max(cwnd - cwnd / 4);
            self.set_cwnd(connection, now, u32::midpoint(cwnd, used));
        }
        self.window_used = 0;
        self.used_since = now;
    }

    /// Sends with nothing in flight (Linux `tcp_cwnd_restart`): a window halves for each timeout it was idle.
    fn restart_after_idle(&mut self, connection: &mut Connection, network: &mut Network) {
        if self.counts.packets_sent == 0 {
            return;
        }
        let idle = network.now - self.last_send;
        let rto = self.rtt.rto_ns();
        let mut event = Event {
            kind: event_type::ON_IDLE_RESTART,
            idle_us: u32::try_from(idle / 1_000).unwrap_or(u32::MAX),
            ..Event::default()
        };
        if self.rate.as_ref().is_some_and(|rate| rate.is_limited()) {
            event.flags |= event_flags::APP_LIMITED;
        }
        if idle > rto && !self.owns_cwnd() {
            event.flags |= event_flags::IDLE_DECAYED;
            let view = connection.subflow_mut(self.setup.index);
            let mut cwnd = view.cwnd;
            view.ssthresh = view.ssthresh.max(cwnd - cwnd / 4);
            let floor = self.setup.initial_window.min(cwnd);
            let mut left = idle - rto;
            loop {
                if cwnd <= floor {
                    break;
                }
                cwnd /= 2;
                if left <= rto {
                    break;
                }
                left -= rto;
            }
            self.set_cwnd(connection, network.now, cwnd.max(floor));
            self.window_used = 0;
            self.used_since = network.now;
        }
        self.deliver(connection, network, event);
    }

    /// An acknowledgement arrives.
    pub(crate) fn receive(&mut self, connection: &mut Connection, network: &mut Network, packet: &Packet) {
        let now = network.now;
        let index = self.setup.index;
        let prior_una = self.board.snd_una;
        let prior_in_flight = self.board.in_flight();
        let prior_highest = self.board.highest_sacked();
        let mut news =
            News { ece: packet.flags & flags::ECE != 0, echo: packet.timestamp, ..News::default() };
        connection.data.acknowledged(packet.dsn, packet.window_end);
        self.potentially_failed = false;

        // What arrived, newest sample and all.
        let mut samples = Samples::default();
        if packet.sack != Sacks::NONE {
            self.take_sack(connection, network, packet, prior_highest, &mut news, &mut samples);
        }
        let ack = packet.seq.min(self.board.snd_nxt);
        if ack > prior_una {
            news.una_advanced = true;
            news.restart_timer = true;
            self.expiries = 0;
            self.take_acknowledged(connection, ack, now, prior_highest, &mut news, &mut samples);
        }

        let rtt_us = self.take_samples(connection, network, &news, &samples);
        if self.probe.is_some() {
            self.take_probe_answer(connection, network, packet.seq, &news);
        }
        self.rack.adapt(self.board.snd_una, self.board.snd_nxt);

        // Loss, recovery, undo; then the window.
        self.repair = false;
        let view = connection.subflow_mut(index);
        view.delivered = view.delivered.wrapping_add(news.delivered);
        if news.delivered > 0 {
            view.last_ack_us = network.now_us();
        }
        if news.ece {
            view.delivered_ce = view.delivered_ce.wrapping_add(news.delivered);
        }
        if view.ca_state != ca_state::OPEN
            || news.ece
            || news.sacked
            || news.duplicate
            || self.board.sacked_out > 0
            || !news.una_advanced
        {
            self.alert(connection, network, prior_una, &mut news);
        }
        if self.is_rate_based {
            self.control_rate(connection, network, prior_in_flight, prior_una, &news, rtt_us);
        } else {
            self.control_window::<false>(connection, network, prior_in_flight, prior_una, &news, rtt_us);
        }

        if news.restart_timer {
            self.restart_timer(connection, network.now);
        }
        if self.repair {
            self.retransmit(connection, network);
        }
    }

    /// Marks what an acknowledgement reports selectively.
    fn take_sack(
        &mut self,
        connection: &Connection,
        network: &mut Network,
        packet: &Packet,
        prior_highest: u32,
        news: &mut News,
        samples: &mut Samples,
    ) {
        let sack = network.sacks.take(packet.sack);
        news.one_way_us = sack.one_way_us;
        let mut blocks = &sack.blocks[..usize::from(sack.n)];
        if sack.duplicate {
            let (start, _) = blocks[0];
            blocks = &blocks[1..];
            self.take_duplicate(start, news);
        }
        let now = network.now;
        let min_rtt = connection.subflow(self.setup.index).min_rtt_us;
        let high_seq = self.high_seq;
        let (rack, board, rate) = (&mut self.rack, &mut self.board, &mut self.rate);
        let head_sent = (board.packets_out() > 0).then(|| board.get(board.snd_una).sent);
        let mut reordered = u32::MAX;
        for &(start, end) in blocks {
            board.acknowledge_range(start, end, |seq, record| {
                news.sacked = true;
                news.delivered += 1;
                let retransmitted = record.state & segment::EVER_RETRANS != 0;
                rack.arrived(now, record.sent, seq, retransmitted, min_rtt);
                if let Some(rate) = rate {
                    rate.delivered(seq, record.sent);
                }
                if !retransmitted {
                    if seq < prior_highest {
                        reordered = reordered.min(seq);
                    }
                    news.original_arrived |= seq < high_seq;
                    if samples.first_sacked == 0 {
                        samples.first_sacked = record.sent;
                    }
                    samples.latest = samples.latest.max(record.sent);
                }
                news.restart_timer |= head_sent.is_some_and(|head| record.sent > head);
            });
        }
        if reordered < prior_highest {
            rack.reordered(reordered, prior_highest);
        }
    }

    /// The receiver got a packet twice.
    fn take_duplicate(&mut self, seq: u32, news: &mut News) {
        news.duplicate = true;
        if self.probe == Some((seq + 1, true)) {
            news.probe_duplicate = true;
        } else {
            self.rack.duplicate();
        }
        if self.undo_marker.is_some_and(|marker| seq >= marker) {
            if let Some(retransmissions) = &mut self.undo_retrans {
                *retransmissions = retransmissions.saturating_sub(1);
            }
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
        news: &mut News,
        samples: &mut Samples,
    ) {
        let min_rtt = connection.subflow(self.setup.index).min_rtt_us;
        let una = self.board.snd_una;
        if let Some((first, last)) = self.board.acknowledge_unmarked(ack) {
            news.delivered += ack - una;
            self.rack.arrived(now, last, ack - 1, false, min_rtt);
            if let Some(rate) = &mut self.rate {
                rate.delivered_below(ack, last);
            }
            samples.first_acknowledged = first;
            samples.latest = samples.latest.max(last);
            news.original_arrived |= una < self.high_seq;
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
            news.delivered += 1;
            self.rack.arrived(now, record.sent, seq, retransmitted, min_rtt);
            if let Some(rate) = &mut self.rate {
                rate.delivered(seq, record.sent);
            }
            if !retransmitted {
                if samples.first_acknowledged == 0 {
                    samples.first_acknowledged = record.sent;
                }
                samples.latest = samples.latest.max(record.sent);
                news.original_arrived |= seq < self.high_seq;
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
            self.rack.reordered(reordered, prior_highest);
        }
    }

    /// RTT: for the timeout the earliest packet acknowledged, for algorithm and minimum the latest one delivered, which
    /// is returned; 0 if there is none.
    #[inline]
    fn take_samples(
        &mut self,
        connection: &mut Connection,
        network: &Network,
        news: &News,
        samples: &Samples,
    ) -> u32 {
        let now = network.now;
        let age_us = |sent: u64| ((now - sent) / 1_000) as u32;
        let for_timeout = if samples.first_acknowledged > 0 && !samples.any_retransmitted {
            Some(age_us(samples.first_acknowledged))
        } else if samples.first_sacked > 0 {
            Some(age_us(samples.first_sacked))
        } else if news.una_advanced {
            Some(network.timestamp().wrapping_sub(news.echo))
        } else {
            None
        };
        let mut rtt_us = 0;
        let view = connection.subflow_mut(self.setup.index);
        if samples.latest > 0 {
            rtt_us = age_us(samples.latest).max(1);
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

    /// PRR or the algorithm, as the state demands (Linux `tcp_cong_control`); the algorithm hears of every ACK.
    #[inline]
    fn control_window<const SAMPLES: bool>(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_in_flight: u32,
        prior_una: u32,
        news: &News,
        rtt_us: u32,
    ) {
        let view = connection.subflow(self.setup.index);
        let reducing = view.ca_state == ca_state::CWR || view.ca_state == ca_state::RECOVERY;
        if reducing && !self.owns_cwnd() {
            self.reduce_proportionally(connection, network.now, news);
        }
        let may_grow = if self.rack.reordering > super::rack::REORDERING {
            news.una_advanced || news.sacked
        } else {
            news.una_advanced
        };
        let view = connection.subflow(self.setup.index);
        let mut event = Event {
            kind: event_type::ON_ACK,
            acked: news.delivered,
            grow: if may_grow && !reducing { news.delivered } else { 0 },
            acked_bytes: (self.board.snd_una - prior_una).saturating_mul(view.mss),
            rtt_us,
            rate_losses: news.lost,
            prior_in_flight,
            ..Event::default()
        };
        if news.ece {
            event.flags |= event_flags::ECE;
        }
        if let Some(one_way_us) = news.one_way_us {
            event.flags |= event_flags::HAS_OWD;
            event.owd_us = one_way_us as i32;
        }
        if self.is_cwnd_limited(connection) {
            event.flags |= event_flags::CWND_LIMITED;
        }
        if SAMPLES {
            if let Some(rate) = &mut self.rate {
                rate.sample(network.now_us(), view.delivered, view.min_rtt_us, &mut event);
            }
        }
        self.deliver(connection, network, event);
    }

    /// The same with a rate sample.
    #[cold]
    fn control_rate(
        &mut self,
        connection: &mut Connection,
        network: &mut Network,
        prior_in_flight: u32,
        prior_una: u32,
        news: &News,
        rtt_us: u32,
    ) {
        self.control_window::<true>(connection, network, prior_in_flight, prior_una, news, rtt_us);
    }

    /// Retransmits what is marked lost, lowest first, as far as the window allows.
    pub(super) fn retransmit(&mut self, connection: &mut Connection, network: &mut Network) {
        let mut any = false;
        while self.may_send && self.board.in_flight() < connection.subflow(self.setup.index).cwnd {
            let Some(seq) = self.board.next_to_retransmit() else { break };
            any |= seq == self.board.snd_una;
            self.send_again(connection, network, seq);
        }
        if any {
            self.start_retransmission_timer(network.now);
        }
    }

    /// Data of this subflow, of these numbers, that may be given to another one: not given away before.
    pub(crate) fn give_away(&mut self, numbers: Range<u32>, mut take: impl FnMut(u32)) {
        for seq in self.board.snd_una..self.board.snd_nxt {
            let record = self.board.get_mut(seq);
            if record.state & segment::REINJECTED == 0 && numbers.contains(&record.dsn) {
                record.state |= segment::REINJECTED;
                take(record.dsn);
            }
        }
    }
}

/// Transmission times from which RTT samples are taken, nanoseconds; 0: none, as nothing is sent before the handshake.
/// Only of packets never retransmitted.
#[derive(Default)]
pub(super) struct Samples {
    first_acknowledged: u64,
    first_sacked: u64,
    latest: u64,
    any_retransmitted: bool,
}
