//! Options of a run, and errors.

use std::fmt;

use braid_schedulers::Spec;

/// Options of a run, and its stored samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Store the state of every subflow and every shared link each 100 ms of the run.
    pub samples: bool,
    /// The packet scheduler of MPTCP connections that name none; `None`: minRTT, as in the papers.
    pub scheduler: Option<Spec>,
}

/// The default scheduler.
pub(crate) fn usual_scheduler() -> Spec {
    Spec::parse(USUAL_SCHEDULER).unwrap_or_else(|_| unreachable!("minrtt is in the list"))
}

/// The default scheduler.
pub const USUAL_SCHEDULER: &str = "minrtt";

/// Why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
