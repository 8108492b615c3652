//! The random delays of `noise = "random"`, in proportion to the network.

use crate::model::{Connection, Link, Scenario};
use crate::topology::serialisation_ns;

/// Upper limit of a packet's delay: the time of a full packet at 2.4 Mbit/s.
const LONGEST_DELAY_NS: u64 = 5_000_000;
/// Upper limit of random starts.
const LATEST_START_NS: u64 = 100_000_000;
const FULL_PACKET: u32 = 1500;

pub(super) fn add(scenario: &mut Scenario) {
    let routes =
        scenario.connections.iter().flat_map(|connection| &connection.subflows).flat_map(|subflow| {
            let later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_deref());
            std::iter::once(&*subflow.route).chain(later)
        });
    let bottlenecks: Vec<usize> = routes.map(|route| scenario.bottleneck(route)).collect();
    let Scenario { duration_ns, links, connections, .. } = scenario;
    for link in bottlenecks {
        let forward = &mut links[link].forward;
        // A link that reorders has jitter, which is enough noise.
        if !forward.reordering {
            forward.noise_ns = serialisation_ns(FULL_PACKET, forward.rate_bps).min(LONGEST_DELAY_NS);
        }
    }
    for connection in connections.iter_mut().filter(|connection| connection.start_noise_ns == 0) {
        let end_ns = connection.stop_ns.unwrap_or(*duration_ns);
        let rtt_ns = base_rtt_ns(links, connection).min(LATEST_START_NS);
        connection.start_noise_ns = rtt_ns.min(end_ns - connection.start_ns);
    }
}

/// Round-trip propagation delay of the first subflow's route.
fn base_rtt_ns(links: &[Link], connection: &Connection) -> u64 {
    let route = connection.subflows[0].route.iter().map(|&link| &links[link]);
    route.map(|link| link.forward.delay_ns + link.reverse.delay_ns).sum()
}
