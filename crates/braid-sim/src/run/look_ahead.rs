//! Links that can get their packets early, so that arrivals there need no event.
//!
//! A link whose packets all come from one other link gets them in that link's order. If both are foreseeable, the fate
//! of a packet on both is known when it arrives at the first: no later event can change it. Results are the same to the
//! last bit; counters of such a link are reported as of the sampled time.

use braid_scenario::model::{Direction, Scenario};

use crate::link;

/// Source of a link's packets.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Nowhere,
    Link(usize),
    /// One or several hosts.
    Others,
}

/// Whether each direction of each link looks ahead.
pub(super) fn links(scenario: &Scenario) -> Vec<bool> {
    let directions: Vec<&Direction> =
        scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]).collect();
    let mut sources = vec![Source::Nowhere; directions.len()];
    let mut follow = |route: &mut dyn Iterator<Item = usize>| {
        let mut from = Source::Others;
        for link in route {
            let known = &mut sources[link];
            *known = if *known == Source::Nowhere || *known == from { from } else { Source::Others };
            from = Source::Link(link);
        }
    };
    let forward = |link: &usize| 2 * link;
    let reverse = |link: &usize| 2 * link + 1;
    for subflow in scenario.connections.iter().flat_map(|connection| &connection.subflows) {
        for route in
            [&subflow.route].into_iter().chain(subflow.reroutes.iter().filter_map(|to| to.forward.as_ref()))
        {
            follow(&mut route.iter().map(forward));
        }
        for route in
            [&subflow.route].into_iter().chain(subflow.reroutes.iter().filter_map(|to| to.reverse.as_ref()))
        {
            follow(&mut route.iter().rev().map(reverse));
        }
    }
    let looks_ahead = |(link, source): (usize, &Source)| match *source {
        Source::Link(before) => {
            link::is_foreseeable(directions[before]) && link::is_foreseeable(directions[link])
        }
        Source::Nowhere | Source::Others => false,
    };
    sources.iter().enumerate().map(looks_ahead).collect()
}

#[cfg(test)]
mod tests;
