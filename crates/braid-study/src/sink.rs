//! What is made of runs.

use crate::{Error, Event, Plan, Results};

/// Makes something of the runs of a plan: a table, a file, a page, a progress bar.
pub trait Sink {
    /// Whether it needs samples of the run with this number.
    fn samples(&self, plan: &Plan, number: usize) -> bool {
        let _ = (plan, number);
        false
    }

    /// Whether it needs all runs together in the end.
    fn collects(&self) -> bool {
        false
    }

    /// Sees what happens, and says whether it needs what is still to come. An execution in which no sink does ends.
    ///
    /// # Errors
    /// If it fails, which ends the execution.
    fn see(&mut self, plan: &Plan, event: &Event) -> Result<bool, Error> {
        let _ = (plan, event);
        Ok(true)
    }

    /// All runs are done. The results are empty if no sink collects them.
    ///
    /// # Errors
    /// If it fails.
    fn finish(&mut self, plan: &Plan, results: &Results) -> Result<(), Error> {
        let _ = (plan, results);
        Ok(())
    }
}
