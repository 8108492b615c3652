//! Consumers of runs.

use crate::{Error, Event, Plan, Results};

/// Turns the runs of a plan into a table, a file, a page or a progress bar.
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

    /// Takes an event. Returns whether the sink needs further ones; the execution ends once no sink does.
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
