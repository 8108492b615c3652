//! Cancels a study early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels a study from another thread or a signal handler. Clones are equivalent.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the study: no further run begins, and those in progress are abandoned. Returns whether it was not
    /// cancelled before.
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
