//! The scheduler of a connection, and its input.

use braid_schedulers::layout::Paths;
use braid_schedulers::{Chooser, Event, Spec};

use super::blocked_cache::BlockedCache;

/// The scheduler of a connection.
pub(crate) struct Scheduling {
    pub(super) chooser: Chooser,
    /// Its input, updated before each event.
    pub(super) paths: Paths,
    /// It handles a full receive window or send buffer.
    pub(super) asks_when_blocked: bool,
    /// What it answered about that last.
    pub(super) blocked_cache: Option<BlockedCache>,
}

impl Scheduling {
    pub(crate) fn new(spec: &Spec) -> Self {
        let chooser = Chooser::new(spec);
        Self {
            asks_when_blocked: chooser.wants(Event::Blocked),
            chooser,
            paths: Paths::default(),
            blocked_cache: None,
        }
    }

    /// Flags of the scheduler.
    pub(crate) fn flags(&self) -> u32 {
        self.chooser.flags()
    }
}
