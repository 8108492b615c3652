//! Properties of a scenario's topology: bottlenecks, base round-trip times, fair shares.
//!
//! All apply to the start of the run: later changes of rate and delay do not count, and so not for metrics based on a
//! fair share.

use std::collections::BTreeSet;

use crate::model::{Connection, Scenario, Traffic};

/// Facts about the path of one subflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Index of the link with the lowest forward rate; the first of equals.
    pub bottleneck: usize,
    /// Round-trip time with empty queues: propagation both ways, and one full data packet and one
    /// acknowledgement serialised on every link.
    pub base_rtt_ns: u64,
    /// The subflow's fair share of its bottleneck in bits per second on the wire: rate / ((1 + other connections that
    /// cross the link) * subflows of this connection that cross it). Start and stop times and connections without
    /// unlimited data do not count.
    pub available_bps: f64,
}

/// The paths of all subflows, indexed as `[connection][subflow]`.
pub fn paths(scenario: &Scenario) -> Vec<Vec<Path>> {
    let mut bulk = vec![0; scenario.links.len()];
    for connection in scenario.connections.iter().filter(|connection| is_bulk(connection)) {
        let links: BTreeSet<usize> =
            connection.subflows.iter().flat_map(|s| s.route.iter().copied()).collect();
        for link in links {
            bulk[link] += 1;
        }
    }
    let of_connection = |connection: &Connection| {
        connection.subflows.iter().map(|s| path(scenario, connection, &s.route, &bulk)).collect()
    };
    scenario.connections.iter().map(of_connection).collect()
}

/// The bottleneck of a route: the link with the lowest forward rate; the first of equals.
///
/// # Panics
///
/// If the route is empty, which does not occur in a loaded [`Scenario`].
pub fn bottleneck(scenario: &Scenario, route: &[usize]) -> usize {
    *route.iter().min_by_key(|&&link| scenario.links[link].forward.rate_bps).expect("routes are not empty")
}

/// Transmission time of that many bytes on a link, rounded up.
///
/// # Panics
///
/// If the rate is zero, which does not occur in a loaded [`Scenario`].
pub fn serialisation_ns(bytes: u32, rate_bps: u64) -> u64 {
    (u64::from(bytes) * 8 * 1_000_000_000).div_ceil(rate_bps)
}

fn is_bulk(connection: &Connection) -> bool {
    connection.traffic == Traffic::Bulk
}

/// `bulk` is the number of connections with unlimited data across each link.
fn path(scenario: &Scenario, connection: &Connection, route: &[usize], bulk: &[usize]) -> Path {
    let links = &scenario.links;
    let bottleneck = bottleneck(scenario, route);
    let data = connection.mss + connection.data_header;
    let base_rtt_ns = route
        .iter()
        .map(|&link| {
            let (forward, reverse) = (&links[link].forward, &links[link].reverse);
            forward.delay_ns
                + serialisation_ns(data, forward.rate_bps)
                + reverse.delay_ns
                + serialisation_ns(connection.ack_size, reverse.rate_bps)
        })
        .sum();
    let own = connection.subflows.iter().filter(|subflow| subflow.route.contains(&bottleneck)).count();
    let flows = bulk[bottleneck] + usize::from(!is_bulk(connection));
    let available_bps = links[bottleneck].forward.rate_bps as f64 / (flows * own) as f64;
    Path { bottleneck, base_rtt_ns, available_bps }
}
