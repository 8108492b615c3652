//! Places in a scenario.

/// Which subflow of the scenario it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index into the scenario's connections.
    pub connection: usize,
    /// Index into the connection's subflows.
    pub subflow: usize,
}
