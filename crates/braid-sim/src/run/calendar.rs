//! What is planned for certain times.

/// What is planned for a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plan {
    /// A connection is opened.
    Open(usize),
    /// A further subflow of a connection in its n-th incarnation is opened.
    Join(usize, u32),
    /// The same is removed.
    Leave(usize, u32),
    /// A connection is closed.
    Close(usize),
    /// A short flow arrives.
    Arrive(usize),
    /// An application that sends and pauses does the other.
    Toggle(usize),
    /// An application writes at its constant rate, unless its turn, counted in transfers, is over.
    Write(usize, usize),
    /// The next request is made.
    Request(usize),
    /// What is missing of the request of this transfer is sent again.
    Repeat(usize, u32),
    /// The scheduler of a connection in its n-th incarnation is asked again.
    Wake(usize, u32),
    /// This direction of a link changes, for the n-th time.
    Change(u32, usize),
    /// The route of a subflow changes, for the n-th time: connection of the scenario, subflow, n.
    Reroute(usize, usize, usize),
    /// Measuring begins.
    Measure,
    /// A period begins or ends.
    Mark,
    /// Windows are sampled.
    Sample,
    /// Everything is sampled.
    Observe,
    /// Queues at which subflows of several wait longest are looked at.
    Look,
}
