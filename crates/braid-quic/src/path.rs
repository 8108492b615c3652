//! One path: what its controller knows, and its events in the contract's terms.

use braid_algorithms::layout::{
    Event, SSTHRESH_INFINITE, Subflow, Verdict, View, ca_state, cause, event_flags, event_type, subflow_flags,
};
use braid_algorithms::{Algorithm, Controller, Spec};

use crate::packets::{Packets, Sent};
use crate::rtt::Rtt;

/// Smallest window, packets (RFC 9002 sect. 7.2).
pub(crate) const LEAST_WINDOW: u32 = 2;

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathState {
    /// From 1 in the order in which the connection's paths were opened; not the stack's path id.
    pub id: u32,
    /// Congestion window, packets of `mss` bytes.
    pub cwnd: u32,
    /// Slow-start threshold, packets; none before the first reduction.
    pub ssthresh: Option<u32>,
    /// Bytes of a datagram.
    pub mss: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Smoothed RTT, microseconds; 0 before the first sample.
    pub srtt_us: u32,
    /// Smallest RTT of late, microseconds; 0 before the first sample.
    pub min_rtt_us: u32,
    /// RTT samples taken, and their sum in microseconds.
    pub rtt_samples: u64,
    /// See `rtt_samples`.
    pub rtt_sum_us: u64,
    /// Packets acknowledged.
    pub delivered: u64,
    /// Packets lost.
    pub lost: u64,
    /// Congestion episodes that began by a loss found by later arrivals.
    pub loss_episodes: u64,
    /// Episodes of persistent congestion.
    pub persistent_episodes: u64,
    /// Episodes that began by a congestion mark.
    pub ecn_episodes: u64,
    /// Episodes undone because the loss was spurious.
    pub undos: u64,
    /// The algorithm's pacing rate, bytes per second; none: the stack's own.
    pub pacing_rate: Option<u64>,
    /// What a detector says; group 0, if the algorithm has none or the path shares no bottleneck.
    pub verdict: Verdict,
}

/// What came of one ACK frame so far.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    packets: u32,
    bytes: u64,
    /// Bytes of packets sent after the present episode began.
    bytes_after_episode: u64,
    /// Of the packet sent last.
    newest_sent_us: u64,
    rate: Option<Sent>,
}

/// The congestion control of one path.
pub(crate) struct Path {
    controller: Controller,
    /// Controllers of the stack that stand for it: more than one around a migration.
    pub(crate) handles: u32,
    rtt: Rtt,
    batch: Batch,
    /// When the present or latest episode began; 0: never. Packets sent by then belong to it.
    episode_us: u64,
    /// Window and ssthresh before the episode, while it can be undone.
    before: Option<(u32, u32)>,
    /// Bytes acknowledged that do not make a packet.
    carry: u64,
    /// Bytes in flight.
    in_flight: u64,
    sent_bytes: u64,
    last_sent_us: u64,
    /// When the window was last full; 0: never.
    full_us: u64,
    /// For rate samples.
    packets: Packets,
    delivered_us: u64,
    first_sent_us: u64,
    app_limited: bool,
    lost_since_ack: u32,
    counts: PathState,
}

impl Path {
    pub(crate) fn new(spec: &Spec) -> Self {
        Self {
            controller: Controller::new(spec),
            handles: 1,
            rtt: Rtt::default(),
            batch: Batch::default(),
            episode_us: 0,
            before: None,
            carry: 0,
            in_flight: 0,
            sent_bytes: 0,
            last_sent_us: 0,
            full_us: 0,
            packets: Packets::default(),
            delivered_us: 0,
            first_sent_us: 0,
            app_limited: false,
            lost_since_ack: 0,
            counts: PathState::default(),
        }
    }

    fn has(&self, flag: u32) -> bool {
        self.controller.flags() & flag != 0
    }

    /// Hands an event to the algorithm.
    fn deliver(&mut self, view: &mut View, event: &Event) {
        self.controller.deliver(view, event);
        let own = own(view);
        own.cwnd = own.cwnd.max(1);
    }

    pub(crate) fn init(&mut self, view: &mut View, now_us: u64) {
        self.deliver(view, &Event { now_us, kind: event_type::INIT, ..Event::default() });
    }

    pub(crate) fn release(&mut self, view: &mut View, now_us: u64) {
        self.deliver(view, &Event { now_us, kind: event_type::RELEASE, ..Event::default() });
    }

    /// A packet that wants to be acknowledged was sent.
    pub(crate) fn sent(&mut self, view: &mut View, now_us: u64, bytes: u32, number: u64) {
        if self.in_flight == 0 {
            if self.last_sent_us > 0 && own(view).flags & subflow_flags::ELIGIBLE != 0 {
                let idle_us = now_us.saturating_sub(self.last_sent_us);
                let event = Event {
                    now_us,
                    kind: event_type::ON_IDLE_RESTART,
                    flags: if self.app_limited { event_flags::APP_LIMITED } else { 0 },
                    idle_us: u32::try_from(idle_us).unwrap_or(u32::MAX),
                    ..Event::default()
                };
                self.deliver(view, &event);
            }
            (self.first_sent_us, self.delivered_us) = (now_us, now_us);
        }
        if self.has(Algorithm::WANTS_RATE) {
            let packet = Sent {
                sent_us: now_us,
                delivered: own(view).delivered,
                delivered_us: self.delivered_us,
                first_sent_us: self.first_sent_us,
                app_limited: self.app_limited,
            };
            self.packets.insert(number, packet);
        }
        self.last_sent_us = now_us;
        self.sent_bytes = self.sent_bytes.saturating_add(u64::from(bytes));
        self.in_flight = self.in_flight.saturating_add(u64::from(bytes));
        self.show_flight(view);
    }

    /// One packet of an ACK frame.
    pub(crate) fn acked(&mut self, sent_us: u64, bytes: u64, number: u64, app_limited: bool) {
        let batch = &mut self.batch;
        batch.packets = batch.packets.saturating_add(1);
        batch.bytes = batch.bytes.saturating_add(bytes);
        if sent_us > self.episode_us {
            batch.bytes_after_episode = batch.bytes_after_episode.saturating_add(bytes);
        }
        batch.newest_sent_us = batch.newest_sent_us.max(sent_us);
        self.app_limited = app_limited;
        if self.controller.flags() & Algorithm::WANTS_RATE != 0
            && let Some(packet) = self.packets.take(number, sent_us)
        {
            let newer = |before: Sent| packet.delivered.wrapping_sub(before.delivered) as i32 >= 0;
            if self.batch.rate.is_none_or(newer) {
                self.batch.rate = Some(packet);
            }
        }
    }

    /// The ACK frame is over.
    pub(crate) fn end_acks(&mut self, view: &mut View, now_us: u64, in_flight: u64, app_limited: bool) {
        self.app_limited = app_limited;
        let batch = std::mem::take(&mut self.batch);
        let before = self.in_flight.max(in_flight);
        self.in_flight = in_flight;
        if batch.packets == 0 {
            return self.show_flight(view);
        }
        let rtt_us = u32::try_from(now_us.saturating_sub(batch.newest_sent_us)).unwrap_or(u32::MAX).max(1);
        self.rtt.sample(now_us, rtt_us);
        self.counts.rtt_samples += 1;
        self.counts.rtt_sum_us = self.counts.rtt_sum_us.saturating_add(u64::from(rtt_us));
        self.counts.delivered += u64::from(batch.packets);

        let subflow = own(view);
        subflow.flags |= subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM;
        (subflow.srtt_us, subflow.min_rtt_us) = (self.rtt.srtt_us(), self.rtt.minimum_us());
        subflow.last_rtt_us = rtt_us;
        subflow.last_ack_us = now_us;
        subflow.delivered = subflow.delivered.wrapping_add(batch.packets);
        let mss = u64::from(subflow.mss);
        let prior_in_flight = before.div_ceil(mss) as u32;
        self.show_flight(view);

        if own(view).ca_state > ca_state::DISORDER && batch.bytes_after_episode > 0 {
            own(view).ca_state = ca_state::OPEN;
            let exit =
                Event { now_us, kind: event_type::ON_RECOVERED, cause: cause::EXIT, ..Event::default() };
            self.deliver(view, &exit);
        }

        self.carry = self.carry.saturating_add(batch.bytes_after_episode);
        let grow = ((self.carry / mss) as u32).min(batch.packets);
        self.carry = (self.carry - u64::from(grow) * mss).min(mss - 1);
        let mut event = Event {
            now_us,
            kind: event_type::ON_ACK,
            acked: batch.packets,
            grow,
            acked_bytes: u32::try_from(batch.bytes).unwrap_or(u32::MAX),
            rtt_us,
            rate_losses: std::mem::take(&mut self.lost_since_ack),
            prior_in_flight,
            ..Event::default()
        };
        let lately_full = self.full_us > 0 && now_us - self.full_us <= u64::from(own(view).srtt_us);
        if !app_limited || lately_full {
            event.flags |= event_flags::CWND_LIMITED;
        }
        if let Some(packet) = batch.rate {
            let send_us = packet.sent_us.saturating_sub(packet.first_sent_us);
            let ack_us = now_us.saturating_sub(packet.delivered_us);
            event.rate_interval_us = u32::try_from(send_us.max(ack_us)).unwrap_or(u32::MAX);
            event.rate_delivered = own(view).delivered.wrapping_sub(packet.delivered);
            event.rate_prior_delivered = packet.delivered;
            if packet.app_limited {
                event.flags |= event_flags::APP_LIMITED;
            }
            self.first_sent_us = packet.sent_us;
        }
        self.delivered_us = now_us;
        self.deliver(view, &event);
    }

    /// Packets were lost, or one was marked; `sent_us`: the latest of them.
    pub(crate) fn congestion(
        &mut self,
        view: &mut View,
        now_us: u64,
        sent_us: u64,
        persistent: bool,
        mark: bool,
    ) {
        let within = self.episode_us > 0 && sent_us <= self.episode_us;
        let state = own(view).ca_state;
        if within && (!persistent || state == ca_state::LOSS) {
            return;
        }
        let owns = self.has(Algorithm::OWNS_CWND);
        let (cause, state) = if persistent {
            (cause::RTO, ca_state::LOSS)
        } else if mark {
            (cause::ECN, ca_state::CWR)
        } else {
            (cause::FAST_RETRANSMIT, ca_state::RECOVERY)
        };
        match cause {
            cause::RTO => self.counts.persistent_episodes += 1,
            cause::ECN => self.counts.ecn_episodes += 1,
            _ => self.counts.loss_episodes += 1,
        }
        let subflow = own(view);
        subflow.ca_state = state;
        if mark {
            subflow.delivered_ce = subflow.delivered_ce.wrapping_add(1);
        }
        if !within {
            subflow.prior_cwnd = subflow.cwnd;
            self.before = (!mark).then_some((subflow.cwnd, subflow.ssthresh));
        }
        if !within || owns {
            self.deliver(view, &Event { now_us, kind: event_type::ON_LOSS, cause, ..Event::default() });
        }
        if !owns {
            let subflow = own(view);
            subflow.cwnd = if persistent { LEAST_WINDOW } else { subflow.ssthresh.min(subflow.cwnd) };
            subflow.cwnd = subflow.cwnd.max(LEAST_WINDOW);
        }
        self.episode_us = now_us;
        self.carry = 0;
    }

    /// What seemed lost in the latest episode has arrived.
    pub(crate) fn spurious(&mut self, view: &mut View, now_us: u64) {
        let Some((cwnd, ssthresh)) = self.before.take() else { return };
        self.counts.undos += 1;
        let subflow = own(view);
        if !self.has(Algorithm::OWNS_CWND) {
            subflow.cwnd = subflow.cwnd.max(cwnd);
            subflow.ssthresh = ssthresh;
        }
        subflow.ca_state = ca_state::OPEN;
        self.episode_us = 0;
        let undo = Event { now_us, kind: event_type::ON_RECOVERED, cause: cause::UNDO, ..Event::default() };
        self.deliver(view, &undo);
    }

    pub(crate) fn lost(&mut self, view: &mut View, bytes: u32, number: u64) {
        self.in_flight = self.in_flight.saturating_sub(u64::from(bytes));
        self.lost_since_ack = self.lost_since_ack.saturating_add(1);
        self.counts.lost += 1;
        let subflow = own(view);
        subflow.lost = subflow.lost.wrapping_add(1);
        if self.has(Algorithm::WANTS_RATE) {
            self.packets.remove(number);
        }
        self.show_flight(view);
    }

    pub(crate) fn window_was_full(&mut self) {
        self.full_us = self.last_sent_us.max(1);
    }

    /// Datagrams have another size: windows keep their bytes, as those of Linux do after a probe for a larger MTU.
    pub(crate) fn mss(view: &mut View, mss: u32) {
        let subflow = own(view);
        let scale = |packets: u32| {
            let bytes = u64::from(packets) * u64::from(subflow.mss);
            u32::try_from(bytes.div_ceil(u64::from(mss))).unwrap_or(u32::MAX).max(LEAST_WINDOW)
        };
        subflow.cwnd = scale(subflow.cwnd);
        if subflow.ssthresh != SSTHRESH_INFINITE {
            subflow.ssthresh = scale(subflow.ssthresh).min(SSTHRESH_INFINITE);
        }
        subflow.prior_cwnd = scale(subflow.prior_cwnd);
        subflow.mss = mss;
    }

    fn show_flight(&self, view: &mut View) {
        let subflow = own(view);
        subflow.in_flight =
            u32::try_from(self.in_flight.div_ceil(u64::from(subflow.mss))).unwrap_or(u32::MAX);
        subflow.snd_nxt = self.sent_bytes;
        subflow.snd_una = subflow.snd_una.max(self.sent_bytes.saturating_sub(self.in_flight));
    }

    pub(crate) fn state(&self, subflow: &Subflow) -> PathState {
        PathState {
            id: subflow.id,
            cwnd: subflow.cwnd.max(LEAST_WINDOW),
            ssthresh: (subflow.ssthresh != SSTHRESH_INFINITE).then_some(subflow.ssthresh),
            mss: subflow.mss,
            in_flight: subflow.in_flight,
            srtt_us: subflow.srtt_us,
            min_rtt_us: subflow.min_rtt_us,
            pacing_rate: (subflow.pacing_rate > 0).then_some(subflow.pacing_rate),
            verdict: if self.has(Algorithm::DETECTS) { subflow.verdict() } else { Verdict::default() },
            ..self.counts
        }
    }
}

fn own(view: &mut View) -> &mut Subflow {
    let index = view.self_index as usize % view.subflow.len();
    &mut view.subflow[index]
}
