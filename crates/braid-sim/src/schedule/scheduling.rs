//! The scheduler of a connection, and what it is shown.

use braid_schedulers::layout::Paths;
use braid_schedulers::{Chooser, Spec};

/// The scheduler of a connection.
pub(crate) struct Scheduling {
    pub(super) chooser: Chooser,
    /// What it is shown; filled in before each event.
    pub(super) paths: Paths,
}

impl Scheduling {
    pub(crate) fn new(spec: &Spec) -> Self {
        Self { chooser: Chooser::new(spec), paths: Paths::default() }
    }

    /// Flags of the scheduler.
    pub(crate) fn flags(&self) -> u32 {
        self.chooser.flags()
    }
}
