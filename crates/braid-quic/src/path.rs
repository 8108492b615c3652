//! One path: its state, and its events in the contract's terms.

use std::sync::Arc;

use braid_algorithms::layout::{
    Event, SSTHRESH_INFINITE, Subflow, Verdict, View, ca_state, cause, event_flags, event_type, subflow_flags,
};
use braid_algorithms::{Algorithm, Controller, Spec};

use crate::packets::{Packets, Sent};
use crate::published::{LEAST_WINDOW, Published};
use crate::rtt::Rtt;

/// State of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathState {
    /// From 1 in order of opening; not the stack's path id.
    pub id: u32,
    /// Congestion window, packets of `mss` bytes.
    pub cwnd: u32,
    /// Slow-start threshold, packets; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Bytes of a datagram.
    pub mss: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// Smoothed RTT, microseconds; 0 before the first sample.
    pub srtt_us: u32,
    /// Minimum RTT, microseconds; 0 before the first sample.
    pub min_rtt_us: u32,
    /// RTT samples taken, and their sum in microseconds.
    pub rtt_samples: u64,
    /// See `rtt_samples`.
    pub rtt_sum_us: u64,
    /// Packets acknowledged.
    pub delivered: u64,
    /// Packets lost.
    pub lost: u64,
    /// Congestion episodes caused by losses detected by later arrivals.
    pub loss_episodes: u64,
    /// Episodes of persistent congestion.
    pub persistent_episodes: u64,
    /// Episodes caused by a congestion mark.
    pub ecn_episodes: u64,
    /// Episodes undone because the loss was spurious.
    pub undos: u64,
    /// The algorithm's pacing rate, bytes per second; `None`: the stack's own.
    pub pacing_rate: Option<u64>,
    /// The detector's label; group 0 without a detector or a shared bottleneck.
    pub verdict: Verdict,
}

/// Packets acknowledged by an ACK frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acknowledged {
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// Bytes of packets sent after the present episode began.
    pub(crate) bytes_after_episode: u64,
    /// Time since the first and since the last of them was sent.
    pub(crate) first_us: u32,
    pub(crate) last_us: u32,
    /// Bytes still in flight.
    pub(crate) in_flight: u64,
    /// Whether the application was the limit.
    pub(crate) app_limited: bool,
    /// Time since the window was last full; used only if the application was the limit.
    pub(crate) since_full_us: Option<u64>,
    pub(crate) rate: Option<Sent>,
}

/// The congestion control of one path.
pub(crate) struct Path {
    controller: Controller,
    /// Number of the stack's controllers for it: more than one around a migration.
    pub(crate) handles: u32,
    pub(crate) published: Arc<Published>,
    rtt: Rtt,
    /// Window and ssthresh before the episode, while it can be undone.
    before: Option<(u32, u32)>,
    /// Acknowledged bytes that do not fill a packet.
    carry: u64,
    /// Start of the present or latest episode; 0: never. Packets sent by then belong to it.
    episode_us: u64,
    /// Bytes acknowledged.
    acked_bytes: u64,
    /// For rate samples.
    packets: Packets,
    delivered_us: u64,
    first_sent_us: u64,
    app_limited: bool,
    lost_since_ack: u32,
    counts: PathState,
}

impl Path {
    pub(crate) fn new(spec: &Spec, published: Arc<Published>) -> Self {
        Self {
            controller: Controller::new(spec),
            handles: 1,
            published,
            rtt: Rtt::default(),
            before: None,
            carry: 0,
            episode_us: 0,
            acked_bytes: 0,
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

    /// Delivers an event to the algorithm.
    fn deliver(&mut self, view: &mut View, event: &Event) {
        self.show_flight(own(view));
        self.controller.deliver(view, event);
        let own = own(view);
        own.cwnd = own.cwnd.max(1);
        self.published.show(own);
    }

    pub(crate) fn init(&mut self, view: &mut View, now_us: u64) {
        self.deliver(view, &Event { now_us, kind: event_type::INIT, ..Event::default() });
    }

    pub(crate) fn release(&mut self, view: &mut View, now_us: u64) {
        self.deliver(view, &Event { now_us, kind: event_type::RELEASE, ..Event::default() });
    }

    /// An ack-eliciting packet is sent with nothing in flight, or by an algorithm that uses rates. Others need not call
    /// this. `idle_us`: time since the last one.
    pub(crate) fn sent(&mut self, view: &mut View, now_us: u64, idle_us: Option<u64>, number: u64) {
        if self.published.in_flight() == 0 {
            if let Some(idle_us) = idle_us
                && own(view).flags & subflow_flags::ELIGIBLE != 0
            {
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
    }

    /// The state of an acknowledged packet.
    pub(crate) fn sample(&mut self, number: u64, sent_us: u64) -> Option<Sent> {
        self.packets.take(number, sent_us)
    }

    /// An ACK frame is over.
    pub(crate) fn acknowledged(&mut self, view: &mut View, now_us: u64, batch: &Acknowledged) {
        self.app_limited = batch.app_limited;
        let before = self.published.in_flight().max(batch.in_flight);
        self.published.set_in_flight(batch.in_flight);
        self.acked_bytes = self.acked_bytes.saturating_add(batch.bytes);
        if batch.packets == 0 {
            return;
        }
        let rtt_us = batch.last_us;
        self.rtt.sample(now_us, batch.first_us, rtt_us);
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
        let prior_in_flight = u32::try_from(before.div_ceil(mss)).unwrap_or(u32::MAX);

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
        let lately_full = batch.since_full_us.is_some_and(|since| since <= u64::from(own(view).srtt_us));
        if !batch.app_limited || lately_full {
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

    /// Packets were lost, or one was marked; `sent_us`: sending time of the latest. Returns whether an episode begins.
    pub(crate) fn congestion(
        &mut self,
        view: &mut View,
        now_us: u64,
        sent_us: u64,
        persistent: bool,
        mark: bool,
    ) -> bool {
        let within = self.episode_us > 0 && sent_us <= self.episode_us;
        let state = own(view).ca_state;
        if within && (!persistent || state == ca_state::LOSS) {
            return false;
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
        self.published.show(own(view));
        self.episode_us = now_us;
        self.carry = 0;
        true
    }

    /// Packets marked lost in the latest episode have arrived: the reduction is undone. Returns whether the episode is
    /// undone.
    pub(crate) fn spurious(&mut self, view: &mut View, now_us: u64) -> bool {
        let Some((cwnd, ssthresh)) = self.before.take() else { return false };
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
        true
    }

    pub(crate) fn lost(&mut self, view: &mut View, bytes: u32, number: u64) {
        self.published.set_in_flight(self.published.in_flight().saturating_sub(u64::from(bytes)));
        self.lost_since_ack = self.lost_since_ack.saturating_add(1);
        self.counts.lost += 1;
        let subflow = own(view);
        subflow.lost = subflow.lost.wrapping_add(1);
        if self.has(Algorithm::WANTS_RATE) {
            self.packets.remove(number);
        }
    }

    /// The size of datagrams changes: windows keep their bytes, as Linux's do after a probe for a larger MTU.
    pub(crate) fn mss(&mut self, view: &mut View, mss: u32) {
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
        self.published.show(subflow);
    }

    /// Data in flight, as the algorithm sees it.
    pub(crate) fn show_flight(&self, subflow: &mut Subflow) {
        let bytes = self.published.in_flight();
        subflow.in_flight = u32::try_from(bytes.div_ceil(u64::from(subflow.mss))).unwrap_or(u32::MAX);
        // As in TCP, which retransmits data under its sequence numbers.
        subflow.snd_una = self.acked_bytes;
        subflow.snd_nxt = self.acked_bytes.saturating_add(bytes);
    }

    pub(crate) fn state(&self, subflow: &Subflow) -> PathState {
        let mut subflow = *subflow;
        self.show_flight(&mut subflow);
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
