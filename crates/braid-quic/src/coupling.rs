//! The paths of one connection.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use braid_algorithms::layout::{SSTHRESH_INFINITE, Subflow, subflow_flags};
use braid_algorithms::{Algorithm, Spec};
use noq_proto::congestion::{Controller, ControllerFactory};

use crate::controller::PathController;
use crate::group::Shared;
use crate::path::PathState;

/// Initial window in packets (RFC 9002 sect. 7.2).
const INITIAL_WINDOW: u32 = 10;

/// The congestion control of one connection: creates the coupled controllers of its paths.
///
/// All paths of one coupling are coupled: create one coupling per connection.
pub struct Coupling {
    spec: Spec,
    initial_window: u32,
    initial_ssthresh: Option<u32>,
    shared: Arc<Shared>,
}

impl Coupling {
    /// For one connection.
    pub fn new(spec: &Spec) -> Arc<Self> {
        Arc::new(Self::with_initial(spec, INITIAL_WINDOW, None))
    }

    /// As [`Coupling::new`], with another initial window in packets and an optional slow-start threshold.
    pub fn with_initial(spec: &Spec, window: u32, ssthresh: Option<u32>) -> Self {
        Self {
            spec: spec.clone(),
            initial_window: window.clamp(crate::published::LEAST_WINDOW, 1 << 20),
            initial_ssthresh: ssthresh,
            shared: Arc::new(Shared::new()),
        }
    }

    /// Whether the state of the paths is still referenced.
    #[cfg(test)]
    pub(crate) fn downgrade(&self) -> std::sync::Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// The first path in the view of the latest event.
    #[cfg(test)]
    pub(crate) fn first(&self) -> Subflow {
        self.shared.lock().first()
    }

    /// The algorithm and its parameters.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The present paths, in order of opening.
    pub fn paths(&self) -> Vec<PathState> {
        self.shared.lock().states()
    }

    /// One of [`Coupling::paths`], by [`PathState::id`].
    pub fn path(&self, id: u32) -> Option<PathState> {
        self.shared.lock().state(id)
    }
}

impl fmt::Debug for Coupling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Coupling").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl ControllerFactory for Coupling {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let subflow = Subflow {
            cwnd: self.initial_window,
            ssthresh: self.initial_ssthresh.unwrap_or(SSTHRESH_INFINITE),
            mss: u32::from(current_mtu).max(1),
            cwnd_clamp: u32::MAX,
            flags: subflow_flags::SAME_ALGORITHM,
            ..Subflow::default()
        };
        let (shared, opened) = if let Some(opened) = self.shared.open(&self.spec, now, subflow) {
            (Arc::clone(&self.shared), opened)
        } else {
            // The view has no room for this path: it is alone.
            let alone = Arc::new(Shared::new());
            let opened = alone.open(&self.spec, now, subflow).expect("the first path has room");
            (alone, opened)
        };
        let window = u64::from(self.initial_window) * u64::from(current_mtu);
        let wants_rate = self.spec.algorithm().flags() & Algorithm::WANTS_RATE != 0;
        Box::new(PathController::new(shared, opened, window, wants_rate))
    }
}
