//! Code of a user runs where it can do no harm.

#[cfg(unix)]
use crate::isolated::isolated;
use crate::{Outcome, Request, Stop};

impl Request<'_> {
    /// Does the run where it can do no harm: in a process of its own if it has an algorithm that was added while the program
    /// runs, here if not. `work` must do nothing but the run.
    ///
    /// # Errors
    /// What the work says; or a failure if the code crashes or never returns.
    pub fn guarded(self, work: impl FnOnce(Request) -> Result<Outcome, Stop>) -> Result<Outcome, Stop> {
        #[cfg(unix)]
        if self.case.has_added() {
            return isolated(&self, work);
        }
        work(self)
    }
}
