//! Planned events of the scenario.

use crate::application::Timer;

/// What is planned for a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plan {
    /// A connection is opened.
    Open(usize),
    /// A further subflow of a connection in its n-th incarnation is opened.
    Join(usize, u32),
    /// The n-th incarnation of that subflow is removed.
    Leave(usize, u32),
    /// A connection is closed.
    Close(usize),
    /// What an application waits for.
    Due(Timer, usize),
    /// What is missing of the request of this transfer is sent again.
    Repeat(usize, u32),
    /// The scheduler of a connection's n-th incarnation is called again.
    Wake(usize, u32),
    /// The n-th change of this direction of a link.
    Change(u32, usize),
    /// The n-th change of a subflow's route: connection of the scenario, subflow, n.
    Reroute(usize, usize, usize),
    /// The measured time begins.
    Measure,
    /// A period begins or ends.
    Mark,
    /// Windows are sampled.
    Sample,
    /// Everything is sampled.
    Observe,
    /// Queues shared by several subflows are sampled for detector accuracy.
    Look,
}
