//! What the controllers of a connection share: its paths, and the view of them that algorithms get.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use braid_algorithms::Spec;
use braid_algorithms::layout::{MAX_SUBFLOWS, Subflow, View};

use crate::path::{Path, PathState};

/// The clock of a coupling begins here, so that no time is 0.
const BEGIN_US: u64 = 1_000_000;

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
    pub(crate) fn new() -> Self {
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
    pub(crate) fn open(&self, spec: &Spec, now: Instant, subflow: Subflow) -> Option<u32> {
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

    /// What is known of each path, in the order in which they were opened.
    pub(crate) fn states(&self) -> Vec<PathState> {
        self.paths.iter().zip(&self.view.subflow).map(|(path, subflow)| path.state(subflow)).collect()
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
