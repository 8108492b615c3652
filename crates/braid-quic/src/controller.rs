//! The stack's handle of a path's congestion control.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use braid_algorithms::layout::subflow_flags;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};

use crate::clock::{Clock, since};
use crate::group::{Opened, Shared};
use crate::packets::Sent;
use crate::path::{Acknowledged, PathState};
use crate::published::Published;

/// The controller of one path, made by a [`Coupling`](crate::Coupling).
///
/// Clones refer to the same path. `Connection::congestion_state` returns such a clone:
///
/// ```
/// # use braid_quic::PathController;
/// # fn demo(state: Box<dyn noq_proto::congestion::Controller>) {
/// if let Ok(path) = state.into_any().downcast::<PathController>() {
///     path.set_backup(true);
/// }
/// # }
/// ```
///
/// Do not keep clones for longer than the path: it counts for its siblings until the last is dropped.
pub struct PathController {
    shared: Arc<Shared>,
    published: Arc<Published>,
    clock: Clock,
    id: u32,
    initial_window: u64,
    wants_rate: bool,
    /// Packets acknowledged by the present ACK frame so far.
    batch: Acknowledged,
    /// Sending times of its first and last packet, if any.
    sent: (Instant, Instant),
    /// Start of the present or latest episode: packets sent by then belong to it.
    episode: Option<Instant>,
    last_sent: Option<Instant>,
    /// Time at which the window was last full.
    full: Option<Instant>,
}

impl PathController {
    pub(crate) fn new(shared: Arc<Shared>, opened: Opened, initial_window: u64, wants_rate: bool) -> Self {
        let Opened { id, clock, published } = opened;
        Self {
            shared,
            published,
            clock,
            id,
            initial_window,
            wants_rate,
            batch: Acknowledged::default(),
            sent: (clock.begin(), clock.begin()),
            episode: None,
            last_sent: None,
            full: None,
        }
    }

    #[inline]
    pub(crate) fn acked(&mut self, sent: Instant, bytes: u64, number: u64) {
        let batch = &mut self.batch;
        // Usually ids arrive in order.
        if batch.packets == 0 {
            self.sent = (sent, sent);
        } else if sent >= self.sent.1 {
            self.sent.1 = sent;
        } else if sent < self.sent.0 {
            self.sent.0 = sent;
        }
        batch.packets = batch.packets.saturating_add(1);
        batch.bytes = batch.bytes.saturating_add(bytes);
        if self.episode.is_none_or(|episode| sent > episode) {
            batch.bytes_after_episode = batch.bytes_after_episode.saturating_add(bytes);
        }
        if self.wants_rate {
            let sent_us = self.clock.at(sent);
            let packet =
                self.shared.lock().on(&self.published, |path, _| path.sample(number, sent_us)).flatten();
            // The one sent last counts.
            let newer = |packet: &Sent| {
                batch.rate.is_none_or(|before| packet.delivered.wrapping_sub(before.delivered) as i32 >= 0)
            };
            batch.rate = packet.filter(newer).or(batch.rate);
        }
    }

    /// See [`PathState::id`].
    pub fn id(&self) -> u32 {
        self.id
    }

    /// State of the path.
    pub fn state(&self) -> PathState {
        self.shared.lock().state(self.id).unwrap_or_default()
    }

    /// Sets whether the path is a backup, used only if no other can be. Set it in the stack as well:
    /// `Path::set_status`.
    pub fn set_backup(&self, backup: bool) {
        if let Some(subflow) = self.shared.lock().subflow(&self.published) {
            subflow.flags &= !subflow_flags::BACKUP;
            subflow.flags |= if backup { subflow_flags::BACKUP } else { 0 };
        }
    }
}

impl Clone for PathController {
    fn clone(&self) -> Self {
        self.shared.lock().on(&self.published, |path, _| path.handles = path.handles.saturating_add(1));
        Self { shared: Arc::clone(&self.shared), published: Arc::clone(&self.published), ..*self }
    }
}

impl Drop for PathController {
    fn drop(&mut self) {
        self.shared.lock().drop_handle(&self.published);
    }
}

impl fmt::Debug for PathController {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PathController").field("state", &self.state()).finish()
    }
}

impl Controller for PathController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let in_flight = self.published.in_flight();
        if in_flight == 0 || self.wants_rate {
            let idle_us = self.last_sent.map(|last_sent| since(now, last_sent));
            let mut group = self.shared.lock();
            let now_us = group.time(self.clock.at(now));
            group.event(&self.published, |path, view| path.sent(view, now_us, idle_us, number));
        }
        self.published.set_in_flight(in_flight.saturating_add(u64::from(bytes)));
        self.last_sent = Some(now);
    }

    fn on_cwnd_limited(&mut self) {
        self.full = self.last_sent;
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        number: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.acked(sent, bytes, number);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let mut batch = std::mem::take(&mut self.batch);
        if batch.packets > 0 {
            let (first, last) = self.sent;
            let age = |sent| u32::try_from(since(now, sent)).unwrap_or(u32::MAX).max(1);
            batch.last_us = age(last);
            batch.first_us = if first == last { batch.last_us } else { age(first) };
        }
        (batch.in_flight, batch.app_limited) = (in_flight, app_limited);
        if app_limited {
            batch.since_full_us = self.full.map(|full| since(now, full));
        }
        let mut group = self.shared.lock();
        let now_us = group.time(self.clock.at(now));
        group.event(&self.published, |path, view| path.acknowledged(view, now_us, &batch));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let sent_us = self.clock.at(sent);
        let mut group = self.shared.lock();
        let now_us = group.time(self.clock.at(now));
        let begins = group.event(&self.published, |path, view| {
            path.congestion(view, now_us, sent_us.min(now_us), is_persistent_congestion, is_ecn)
        });
        if begins == Some(true) {
            self.episode = Some(now);
        }
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, now: Instant) {
        let mut group = self.shared.lock();
        group.time(self.clock.at(now));
        group.on(&self.published, |path, view| path.lost(view, u32::from(lost_bytes), number));
    }

    fn on_spurious_congestion_event(&mut self) {
        let mut group = self.shared.lock();
        let now_us = group.latest();
        if group.event(&self.published, |path, view| path.spurious(view, now_us)) == Some(true) {
            self.episode = None;
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mss = u32::from(new_mtu).max(1);
        self.shared.lock().on(&self.published, |path, view| path.mss(view, mss));
    }

    #[inline]
    fn window(&self) -> u64 {
        self.published.window()
    }

    #[inline]
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.published.window();
        metrics.ssthresh = Some(self.published.ssthresh());
        metrics.pacing_rate = self.published.pacing_rate();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
