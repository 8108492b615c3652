//! The paths of one connection.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use braid_algorithms::Spec;
use braid_algorithms::layout::{MAX_SUBFLOWS, SSTHRESH_INFINITE, Subflow, View, subflow_flags};
use noq_proto::congestion::{Controller, ControllerFactory};

use crate::controller::PathController;
use crate::path::{Path, PathState};

/// Congestion windows begin with this many packets (RFC 9002 sect. 7.2).
const INITIAL_WINDOW: u32 = 10;
/// The clock of a coupling begins here, so that no time is 0.
const BEGIN_US: u64 = 1_000_000;

/// The congestion control of one connection: makes the controllers of its paths, which know of each other.
///
/// Paths that were made by the same coupling are coupled: give each connection one of its own.
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

    /// As [`Coupling::new`], with another initial window, in packets, and perhaps a slow-start threshold, too.
    pub fn with_initial(spec: &Spec, window: u32, ssthresh: Option<u32>) -> Self {
        Self {
            spec: spec.clone(),
            initial_window: window.clamp(crate::path::LEAST_WINDOW, 1 << 20),
            initial_ssthresh: ssthresh,
            shared: Arc::new(Shared::new()),
        }
    }

    /// Whether anything still holds the state of the paths.
    #[cfg(test)]
    pub(crate) fn downgrade(&self) -> std::sync::Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// What the paths do, by name and parameters.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The paths there are, in the order in which they were opened.
    pub fn paths(&self) -> Vec<PathState> {
        let group = self.shared.lock();
        let subflows = group.view.subflow.iter();
        group.paths.iter().zip(subflows).map(|(path, subflow)| path.state(subflow)).collect()
    }

    /// As [`Coupling::paths`] of one path: by [`PathState::id`].
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
        let (shared, id) = if let Some(id) = self.shared.open(&self.spec, now, subflow) {
            (Arc::clone(&self.shared), id)
        } else {
            // More paths than a view has room for: this one is alone.
            let alone = Arc::new(Shared::new());
            let id = alone.open(&self.spec, now, subflow).unwrap_or_default();
            (alone, id)
        };
        Box::new(PathController::new(shared, id, u64::from(self.initial_window) * u64::from(current_mtu)))
    }
}

/// What the controllers of a connection share.
pub(crate) struct Shared(Mutex<Group>);

/// The paths that are there, closed up: `view.subflow[i]` belongs to `paths[i]`.
pub(crate) struct Group {
    /// The first time seen.
    begin: Option<Instant>,
    /// The latest time seen: it never goes back.
    now_us: u64,
    view: View,
    paths: Vec<Path>,
    last_id: u32,
}

impl Shared {
    fn new() -> Self {
        // Nothing else knows the view: any number identifies the connection.
        let view = View { connection: 1, ..View::default() };
        Self(Mutex::new(Group {
            begin: None,
            now_us: BEGIN_US,
            view,
            paths: Vec::with_capacity(MAX_SUBFLOWS),
            last_id: 0,
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Group> {
        // Nothing in here panics; and a window that is a little old is better than none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A path more, unless there are as many as a view has room for. Returns its id.
    fn open(&self, spec: &Spec, now: Instant, subflow: Subflow) -> Option<u32> {
        let mut group = self.lock();
        let now_us = group.time(now);
        let index = group.paths.len();
        let id = group.last_id.wrapping_add(1);
        *group.view.subflow.get_mut(index)? = Subflow { id, ..subflow };
        group.last_id = id;
        group.paths.push(Path::new(spec));
        group.view.n = index as u32 + 1;
        group.on(id, |path, view| path.init(view, now_us));
        Some(id)
    }
}

impl Group {
    /// Microseconds since the beginning of the connection, and never less than before.
    pub(crate) fn time(&mut self, now: Instant) -> u64 {
        let begin = *self.begin.get_or_insert(now);
        let since = u64::try_from(now.saturating_duration_since(begin).as_micros()).unwrap_or(u64::MAX / 2);
        self.now_us = self.now_us.max(BEGIN_US + since.min(u64::MAX / 2));
        self.now_us
    }

    /// A time that is not later than the latest seen.
    pub(crate) fn past(&self, then: Instant) -> u64 {
        let since = self.begin.map_or(0, |begin| then.saturating_duration_since(begin).as_micros());
        (BEGIN_US + u64::try_from(since).unwrap_or(0)).min(self.now_us)
    }

    /// The latest time seen.
    pub(crate) fn latest(&self) -> u64 {
        self.now_us
    }

    fn find(&self, id: u32) -> Option<usize> {
        self.view.subflow.iter().take(self.paths.len()).position(|subflow| subflow.id == id)
    }

    /// Works on a path with its view.
    pub(crate) fn on<T>(&mut self, id: u32, work: impl FnOnce(&mut Path, &mut View) -> T) -> Option<T> {
        let index = self.find(id)?;
        self.view.self_index = index as u32;
        Some(work(self.paths.get_mut(index)?, &mut self.view))
    }

    /// What siblings see of a path.
    pub(crate) fn subflow(&mut self, id: u32) -> Option<&mut Subflow> {
        let index = self.find(id)?;
        self.view.subflow.get_mut(index)
    }

    /// What is known of a path.
    pub(crate) fn state(&self, id: u32) -> Option<PathState> {
        let index = self.find(id)?;
        Some(self.paths.get(index)?.state(self.view.subflow.get(index)?))
    }

    /// One of its controllers is gone; with the last of them the path is.
    pub(crate) fn drop_handle(&mut self, id: u32) {
        let Some(index) = self.find(id) else { return };
        let left = self.on(id, |path, _| {
            path.handles = path.handles.saturating_sub(1);
            path.handles
        });
        if left == Some(0) {
            let now_us = self.now_us;
            self.on(id, |path, view| path.release(view, now_us));
            self.paths.remove(index);
            self.view.subflow[index..].rotate_left(1);
            self.view.n = self.paths.len() as u32;
            self.view.subflow[self.paths.len()] = Subflow::default();
        }
    }
}
