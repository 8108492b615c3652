//! Ending a study early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a study from another thread, or from a signal handler. Clones are one and the same.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the study: no run begins any more, and those in progress are given up. Says whether that is new.
    pub fn cancel(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Set when it is cancelled.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
