//! Which links can be given their packets before these come, so that their coming is no event.
//!
//! A link of which all packets come from one other link gets them in the order in which that sends them. Where both are
//! foreseeable, all that will become of a packet on either is known as soon as it comes to the first: nothing that happens
//! meanwhile can be different. Results are the same to the last bit; what such a link has counted is told as of the time at
//! which it is asked.

use braid_scenario::model::{Direction, Scenario};

use crate::link;

/// Where the packets of a link come from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Nowhere,
    Link(usize),
    /// A host, or several.
    Others,
}

/// For each direction of each link, whether it looks ahead.
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
