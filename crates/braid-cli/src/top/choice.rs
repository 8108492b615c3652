//! Selection and order of connections.

use clap::ValueEnum;

use crate::live::{Connection, Subflow};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Payload acknowledged and received per second.
    Rate,
    /// Sum of all windows, packets.
    Cwnd,
    /// Longest smoothed RTT.
    Srtt,
    /// Longest queueing delay: smoothed RTT minus base RTT.
    Queue,
    /// Largest recent share of retransmitted bytes.
    Loss,
    /// Name of the first subflow's algorithm.
    Algorithm,
}

/// Selection and order.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) all: bool,
    pub(super) filter: String,
    pub(super) sort: Sort,
}

impl Choice {
    pub(super) fn of(&self, mut connections: Vec<Connection>) -> Vec<Connection> {
        connections.retain(|connection| {
            (self.all || connection.is_ours())
                && (self.filter.is_empty() || connection.contains(&self.filter))
        });
        let largest = |connection: &Connection, key: fn(&Subflow) -> f64| {
            connection.subflows.iter().map(key).fold(0.0, f64::max)
        };
        let key = |connection: &Connection| match self.sort {
            Sort::Rate => connection.subflows.iter().map(|sf| sf.rate_bps + sf.received_bps).sum(),
            Sort::Cwnd => connection.subflows.iter().map(|subflow| f64::from(subflow.flow.cwnd)).sum(),
            Sort::Srtt => largest(connection, |subflow| f64::from(subflow.flow.srtt_us)),
            Sort::Queue => largest(connection, |subflow| f64::from(subflow.queue_us())),
            Sort::Loss => largest(connection, |subflow| subflow.recent_loss),
            Sort::Algorithm => 0.0,
        };
        let mut keyed: Vec<(f64, Connection)> =
            connections.into_iter().map(|connection| (key(&connection), connection)).collect();
        let name = |connection: &Connection| connection.subflows[0].algorithm.clone();
        keyed.sort_by(|(one, a), (other, b)| {
            let by_key = other.total_cmp(one);
            let by_name = if self.sort == Sort::Algorithm { name(a).cmp(&name(b)) } else { by_key };
            by_name.then_with(|| a.identity().cmp(&b.identity()))
        });
        keyed.into_iter().map(|(_, connection)| connection).collect()
    }
}
