//! State shared by the controllers of a connection: its paths, and the algorithms' view of them.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use braid_algorithms::layout::{MAX_SUBFLOWS, Subflow, View};
use braid_algorithms::{Algorithm, Spec};

use crate::clock::Clock;
use crate::path::{Path, PathState};
use crate::published::Published;

/// State shared by the controllers of a connection.
pub(crate) struct Shared(Mutex<Group>);

/// The present paths, without gaps: `view.subflow[i]` belongs to `paths[i]`.
pub(crate) struct Group {
    /// Begins with the first path.
    clock: Option<Clock>,
    /// The latest time seen: time never goes back.
    now_us: u64,
    view: View,
    paths: Vec<Path>,
    /// Whether algorithms read values of siblings that change without an event.
    reads_flights: bool,
    last_id: u32,
}

/// Parts of a path that a controller may use without the lock.
pub(crate) struct Opened {
    pub(crate) id: u32,
    pub(crate) clock: Clock,
    pub(crate) published: Arc<Published>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        // The view is private: any number identifies the connection.
        let view = View { connection: 1, ..View::default() };
        Self(Mutex::new(Group {
            clock: None,
            now_us: Clock::BEGIN_US,
            view,
            paths: Vec::with_capacity(MAX_SUBFLOWS),
            reads_flights: false,
            last_id: 0,
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Group> {
        // Nothing in here panics; and a slightly old window is better than none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a path, unless the view is full.
    pub(crate) fn open(&self, spec: &Spec, now: Instant, subflow: Subflow) -> Option<Opened> {
        let mut group = self.lock();
        let index = group.paths.len();
        let id = group.last_id.wrapping_add(1);
        *group.view.subflow.get_mut(index)? = Subflow { id, ..subflow };
        let clock = *group.clock.get_or_insert(Clock::new(now));
        let now_us = group.time(clock.at(now));
        let published = Arc::new(Published::at(index));
        let reads_little = Algorithm::RATES_OF_SIBLINGS | Algorithm::UNCOUPLED;
        group.reads_flights = spec.algorithm().flags() & reads_little == 0;
        group.last_id = id;
        group.paths.push(Path::new(spec, Arc::clone(&published)));
        group.view.n = index as u32 + 1;
        group.on(&published, |path, view| path.init(view, now_us));
        Some(Opened { id, clock, published })
    }
}

impl Group {
    /// `now_us`, or the latest time seen if that is later.
    pub(crate) fn time(&mut self, now_us: u64) -> u64 {
        self.now_us = self.now_us.max(now_us);
        self.now_us
    }

    /// The latest time seen.
    pub(crate) fn latest(&self) -> u64 {
        self.now_us
    }

    fn find(&self, id: u32) -> Option<usize> {
        self.view.subflow.iter().take(self.paths.len()).position(|subflow| subflow.id == id)
    }

    /// Works on a path with its view.
    #[inline]
    pub(crate) fn on<T>(
        &mut self,
        published: &Published,
        work: impl FnOnce(&mut Path, &mut View) -> T,
    ) -> Option<T> {
        let index = published.index.load(Relaxed);
        self.view.self_index = index;
        Some(work(self.paths.get_mut(index as usize)?, &mut self.view))
    }

    /// As [`Group::on`], for an event of the algorithm.
    pub(crate) fn event<T>(
        &mut self,
        published: &Published,
        work: impl FnOnce(&mut Path, &mut View) -> T,
    ) -> Option<T> {
        if self.reads_flights {
            self.paths
                .iter()
                .zip(&mut self.view.subflow)
                .for_each(|(path, subflow)| path.show_flight(subflow));
        }
        self.on(published, work)
    }

    /// Siblings' view of a path.
    pub(crate) fn subflow(&mut self, published: &Published) -> Option<&mut Subflow> {
        self.view.subflow.get_mut(published.index.load(Relaxed) as usize)
    }

    #[cfg(test)]
    pub(crate) fn first(&self) -> Subflow {
        self.view.subflow[0]
    }

    /// State of each path, in order of opening.
    pub(crate) fn states(&self) -> Vec<PathState> {
        self.paths.iter().zip(&self.view.subflow).map(|(path, subflow)| path.state(subflow)).collect()
    }

    /// State of a path.
    pub(crate) fn state(&self, id: u32) -> Option<PathState> {
        let index = self.find(id)?;
        Some(self.paths.get(index)?.state(self.view.subflow.get(index)?))
    }

    /// One of its controllers is dropped; the path is removed with the last one.
    pub(crate) fn drop_handle(&mut self, published: &Published) {
        let left = self.on(published, |path, _| {
            path.handles = path.handles.saturating_sub(1);
            path.handles
        });
        if left == Some(0) {
            let now_us = self.now_us;
            self.on(published, |path, view| path.release(view, now_us));
            let index = published.index.load(Relaxed) as usize;
            self.paths.remove(index);
            self.view.subflow[index..].rotate_left(1);
            self.view.n = self.paths.len() as u32;
            self.view.subflow[self.paths.len()] = Subflow::default();
            for (place, path) in self.paths.iter().enumerate().skip(index) {
                path.published.index.store(place as u32, Relaxed);
            }
        }
    }
}
