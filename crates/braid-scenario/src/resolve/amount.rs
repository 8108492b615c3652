//! Upper limits of a scenario's traffic, for its length and for receive buffers.

use super::connection::LARGEST_WINDOW;
use crate::error::Error;
use crate::expand::Cell;
use crate::model::{Direction, Link, QueueLimit, Scenario, Subflow};
use crate::topology::serialisation_ns;

/// Linux's default maximum of a receive buffer.
const USUAL_BUFFER: u64 = 6 << 20;

/// Its payload: Linux assumes 79/128 of the memory for packets of 1500 bytes (`tcp_scaling_ratio`).
const AUTOTUNED: u64 = USUAL_BUFFER * 79 / 128;

/// Backends count the packets of a subflow in 32 bits.
pub(super) fn check_length(scenario: &Scenario, cell: &Cell) -> Result<(), Error> {
    for connection in &scenario.connections {
        for subflow in &connection.subflows {
            let (rate_bps, link) = most_bps(&scenario.links, subflow);
            let bits = u128::from(connection.mss + connection.data_header) * 8;
            let packets = u128::from(rate_bps) * u128::from(scenario.duration_ns) / (bits * 1_000_000_000);
            if packets >= 1 << 32 {
                let message = format!(
                    "subflow {}.{} could send {packets} packets over {}, the limit is 2^32",
                    connection.name, subflow.name, link.name
                );
                let hint = "shorten the run, lower the rate or raise the mss".to_owned();
                return Err(cell
                    .document
                    .problem(&"duration".into(), false, message)
                    .hint(Some(hint))
                    .into());
            }
        }
    }
    Ok(())
}

/// Sets missing receive buffers so that they never limit, or to Linux's maximum with autotuning.
pub(super) fn default_buffers(scenario: &mut Scenario) {
    let Scenario { links, connections, .. } = scenario;
    for connection in connections.iter_mut().filter(|connection| connection.receive_buffer == 0) {
        if connection.autotuning {
            connection.receive_buffer = AUTOTUNED;
            continue;
        }
        let rates = connection.subflows.iter().map(|subflow| most_bps(links, subflow).0);
        let rate_bps: u128 = rates.map(u128::from).sum();
        let packet = connection.mss + connection.data_header;
        let there = |route: &[usize]| {
            let ways = route.iter().map(|&link| &links[link].forward);
            let times = ways.flat_map(|way| {
                [longest_ns(way), serialisation_ns(packet, way.rate_bps), drain_ns(way, packet)]
            });
            times.fold(0, u64::saturating_add)
        };
        let back = |route: &[usize]| {
            let ways = route.iter().map(|&link| &links[link].reverse);
            let times =
                ways.flat_map(|way| [longest_ns(way), serialisation_ns(connection.ack_size, way.rate_bps)]);
            times.fold(0, u64::saturating_add)
        };
        let full = connection.subflows.iter().map(|subflow| {
            let there = forward_routes(subflow).map(there).max().unwrap_or(0);
            there.saturating_add(reverse_routes(subflow).map(back).max().unwrap_or(0))
        });
        let rtt_ns = u128::from(full.max().unwrap_or(0));
        let bytes = u64::try_from(4 * rate_bps * rtt_ns / 8_000_000_000).unwrap_or(u64::MAX);
        connection.receive_buffer = bytes.clamp(USUAL_BUFFER, LARGEST_WINDOW);
    }
}

/// The maximum rate of a subflow over time, and the link that limits it on that route; the first of equals.
fn most_bps<'a>(links: &'a [Link], subflow: &Subflow) -> (u64, &'a Link) {
    let narrowest = |route: &[usize]| {
        let rates = route.iter().map(|&link| (highest_bps(&links[link].forward), &links[link]));
        rates.min_by_key(|(rate, _)| *rate).expect("routes are not empty")
    };
    forward_routes(subflow).map(narrowest).max_by_key(|(rate, _)| *rate).expect("there is a first route")
}

/// The highest rate of a direction over time.
fn highest_bps(direction: &Direction) -> u64 {
    let start = direction.trace.as_ref().map_or(direction.rate_bps, |trace| trace.peak_bps());
    direction.changes.iter().filter_map(|change| change.rate_bps).fold(start, u64::max)
}

/// The lowest rate of a direction over time.
fn lowest_bps(direction: &Direction) -> u64 {
    direction.changes.iter().filter_map(|change| change.rate_bps).fold(direction.rate_bps, u64::min)
}

/// The longest delay of a direction over time.
fn longest_ns(direction: &Direction) -> u64 {
    direction.changes.iter().filter_map(|change| change.delay_ns).fold(direction.delay_ns, u64::max)
}

/// Time to empty the longest full queue at the lowest rate.
fn drain_ns(direction: &Direction, packet: u32) -> u64 {
    let rate_bps = lowest_bps(direction);
    let drain = |limit| match limit {
        QueueLimit::Packets(packets) => serialisation_ns(packet, rate_bps).saturating_mul(packets.into()),
        QueueLimit::Bytes(bytes) => {
            let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate_bps);
            u64::try_from(ns).unwrap_or(u64::MAX)
        }
    };
    let changed = direction.changes.iter().filter_map(|change| change.queue);
    changed.chain([direction.queue]).map(drain).max().unwrap_or(0)
}

/// All routes of a subflow's data over time.
fn forward_routes(subflow: &Subflow) -> impl Iterator<Item = &[usize]> {
    let later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_deref());
    later.chain([subflow.route.as_slice()])
}

/// All routes of its acknowledgements over time.
fn reverse_routes(subflow: &Subflow) -> impl Iterator<Item = &[usize]> {
    let later = subflow.reroutes.iter().filter_map(|reroute| reroute.reverse.as_deref());
    later.chain([subflow.route.as_slice()])
}
