//! How a run is done, and why it cannot be.

use std::fmt;

use braid_schedulers::Spec;

/// How a run is done, and what is kept of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep the state of every subflow and every shared link each 100 ms of the run.
    pub samples: bool,
    /// The packet scheduler of MPTCP connections that name none; `None`: minRTT, that of the papers.
    pub scheduler: Option<Spec>,
}

/// The scheduler of connections if nobody says otherwise.
pub(crate) fn usual_scheduler() -> Spec {
    Spec::parse(USUAL_SCHEDULER).unwrap_or_else(|_| unreachable!("minrtt is in the list"))
}

/// The scheduler of connections if nobody says otherwise.
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
