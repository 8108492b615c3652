//! How a run is done, and why it cannot be.

use std::fmt;

use crate::scheduler::Scheduler;

/// How a run is done, and what is kept of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep the state of every subflow and every shared link each 100 ms of the run.
    pub samples: bool,
    /// Which packet scheduler MPTCP connections have.
    pub scheduler: Scheduler,
}

/// Why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
