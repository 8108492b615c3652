//! What the stack holds of a path.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use braid_algorithms::layout::subflow_flags;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};

use crate::group::Shared;
use crate::path::{LEAST_WINDOW, Path, PathState};

/// The controller of one path, made by a [`Coupling`](crate::Coupling).
///
/// Its copies stand for the same path. What `Connection::congestion_state` returns is such a copy:
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
/// Do not keep copies for longer than the path: it is in the sums of the others until the last is gone.
pub struct PathController {
    shared: Arc<Shared>,
    id: u32,
    initial_window: u64,
}

impl PathController {
    pub(crate) fn new(shared: Arc<Shared>, id: u32, initial_window: u64) -> Self {
        Self { shared, id, initial_window }
    }

    pub(crate) fn acked(&self, sent: Instant, bytes: u64, number: u64, app_limited: bool) {
        let mut group = self.shared.lock();
        let sent_us = group.past(sent);
        group.on(self.id, |path, _| path.acked(sent_us, bytes, number, app_limited));
    }

    /// See [`PathState::id`].
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What is known of the path.
    pub fn state(&self) -> PathState {
        self.shared.lock().state(self.id).unwrap_or_default()
    }

    /// Whether the path is used only when no other can be. Tell the stack as well: `Path::set_status`.
    pub fn set_backup(&self, backup: bool) {
        if let Some(subflow) = self.shared.lock().subflow(self.id) {
            subflow.flags &= !subflow_flags::BACKUP;
            subflow.flags |= if backup { subflow_flags::BACKUP } else { 0 };
        }
    }
}

impl Clone for PathController {
    fn clone(&self) -> Self {
        self.shared.lock().on(self.id, |path, _| path.handles = path.handles.saturating_add(1));
        Self { shared: Arc::clone(&self.shared), ..*self }
    }
}

impl Drop for PathController {
    fn drop(&mut self) {
        self.shared.lock().drop_handle(self.id);
    }
}

impl fmt::Debug for PathController {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PathController").field("state", &self.state()).finish()
    }
}

impl Controller for PathController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let mut group = self.shared.lock();
        let now_us = group.time(now);
        group.on(self.id, |path, view| path.sent(view, now_us, u32::from(bytes), number));
    }

    fn on_cwnd_limited(&mut self) {
        self.shared.lock().on(self.id, |path, _| path.window_was_full());
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        number: u64,
        app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.acked(sent, bytes, number, app_limited);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let mut group = self.shared.lock();
        let now_us = group.time(now);
        group.on(self.id, |path, view| path.end_acks(view, now_us, in_flight, app_limited));
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
        let mut group = self.shared.lock();
        let (now_us, sent_us) = (group.time(now), group.past(sent));
        group.on(self.id, |path, view| {
            path.congestion(view, now_us, sent_us, is_persistent_congestion, is_ecn);
        });
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, now: Instant) {
        let mut group = self.shared.lock();
        group.time(now);
        group.on(self.id, |path, view| path.lost(view, u32::from(lost_bytes), number));
    }

    fn on_spurious_congestion_event(&mut self) {
        let mut group = self.shared.lock();
        let now_us = group.latest();
        group.on(self.id, |path, view| path.spurious(view, now_us));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.shared.lock().on(self.id, |_, view| Path::mss(view, u32::from(new_mtu).max(1)));
    }

    fn window(&self) -> u64 {
        self.metrics().congestion_window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        if let Some(subflow) = self.shared.lock().subflow(self.id) {
            let mss = u64::from(subflow.mss);
            metrics.congestion_window = u64::from(subflow.cwnd.max(LEAST_WINDOW)) * mss;
            metrics.ssthresh = Some(u64::from(subflow.ssthresh) * mss);
            metrics.pacing_rate = (subflow.pacing_rate > 0).then_some(subflow.pacing_rate);
        }
        metrics.congestion_window = metrics.congestion_window.max(1);
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
