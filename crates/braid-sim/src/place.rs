//! Places in a scenario.

/// A subflow of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index into the scenario's connections.
    pub connection: usize,
    /// Index into the connection's subflows.
    pub subflow: usize,
}
