//! Routes of subflows, and which of their links have queues.

use braid_scenario::model::{self, Scenario};

/// A private link this many times faster than the slowest of its route is only a delay.
const MUCH_FASTER: u64 = 4;
/// The routes of a subflow from a certain time on.
pub(crate) struct Leg<'a> {
    pub(crate) at_ns: u64,
    pub(crate) forward: &'a [usize],
    pub(crate) reverse: &'a [usize],
}

/// All its routes, the first from the start.
pub(crate) fn legs(subflow: &model::Subflow) -> Vec<Leg<'_>> {
    let (mut forward, mut reverse) = (&subflow.route[..], &subflow.route[..]);
    let mut legs = vec![Leg { at_ns: 0, forward, reverse }];
    for change in &subflow.reroutes {
        forward = change.forward.as_deref().unwrap_or(forward);
        reverse = change.reverse.as_deref().unwrap_or(reverse);
        legs.push(Leg { at_ns: change.at_ns, forward, reverse });
    }
    legs
}

/// Whether a connection speaks IPv6.
pub(crate) fn is_ipv6(connection: &model::Connection) -> bool {
    connection.ip_header == 40
}

/// The links of a route with a modelled queue. The others can neither queue nor lose packets, on any route of their
/// subflow.
pub(crate) fn queues_of(scenario: &Scenario, subflow: &model::Subflow, route: &[usize]) -> Vec<usize> {
    let rate = |link: usize| scenario.links[link].forward.rate_bps;
    let slowest = |route: &[usize]| route.iter().map(|&link| rate(link)).min().unwrap_or(0);
    let legs = legs(subflow);
    let slowest = legs.iter().flat_map(|leg| [slowest(leg.forward), slowest(leg.reverse)]).max().unwrap_or(0);
    let is_delay = |link: usize| {
        let model::Link { private, forward, reverse, .. } = &scenario.links[link];
        let plain = |direction: &model::Direction| {
            direction.loss == model::Loss::None
                && direction.jitter_ns == 0
                && direction.outages.is_empty()
                && direction.changes.is_empty()
        };
        let fast = rate(link).min(reverse.rate_bps) >= MUCH_FASTER * slowest;
        *private && plain(forward) && plain(reverse) && fast
    };
    route.iter().copied().filter(|&link| !is_delay(link)).collect()
}
