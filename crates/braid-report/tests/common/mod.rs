//! Handmade scenarios and results.

use std::fmt::Write as _;

use braid_results::measure::{ConnectionCounts, LinkCounts, Measurements, SubflowCounts};
use braid_results::{Run, Setup};
use braid_scenario::File;
use braid_scenario::model::Scenario;
use braid_testing::model::load;

/// A scenario with 10 Mbit/s links, or with the given parameters; each connection is a name and the links of its
/// subflows.
pub(crate) fn scenario(
    name: &str,
    parameters: &str,
    links: &[&str],
    connections: &[(&str, &[&str])],
) -> File {
    let mut text = format!("title = \"made by hand\"\nduration = \"100s\"\n{parameters}\n");
    let (rate, delay) = if parameters.is_empty() { ("10mbit", "10ms") } else { ("$rate", "$delay") };
    for link in links {
        let _ = writeln!(text, "[link.{link}]\nrate = {rate:?}\ndelay = {delay:?}\nqueue = \"100p\"");
    }
    for (name, routes) in connections {
        let _ = writeln!(text, "[connection.{name}]");
        if name.starts_with("mp") {
            let _ = writeln!(text, "kind = \"mptcp\"");
            for (index, link) in routes.iter().enumerate() {
                let _ = writeln!(text, "[connection.{name}.subflow.sf{}]\nroute = [\"{link}\"]", index + 1);
            }
        } else {
            let _ = writeln!(text, "kind = \"tcp\"\ncc = \"reno\"\nroute = [\"{}\"]", routes[0]);
        }
    }
    load(name, &text, &[])
}

/// Each flow gets its share of the bottleneck, less a few percent that depend on seed and algorithm.
pub(crate) fn run(scenario: &Scenario, cc: &str, seed: u64) -> Run {
    let setup = Setup { scenario, backend: "sim", cc, scheduler: "minrtt", seed };
    if cc == "balia" && seed == 4 {
        return setup.failed("panic: unlucky");
    }
    let flows = || scenario.connections.iter().flat_map(|connection| &connection.subflows);
    let mut number = 0;
    let mut subflow = |link: usize| {
        number += 1;
        let crossing = flows().filter(|flow| flow.route[0] == link).count() as u64;
        let percent = 100 - (seed * 7 + cc.len() as u64 * 13 + number * 5) % 11;
        SubflowCounts {
            active_ns: scenario.duration_ns,
            received_bytes: scenario.links[link].forward.rate_bps / 8 * percent / crossing,
            retransmissions: 10 * percent,
            rtt_sum_us: 30_000 * percent,
            rtt_samples: 100,
            cwnd_integral: 20 * u128::from(scenario.duration_ns),
            ..SubflowCounts::default()
        }
    };
    let connections = scenario.connections.iter().map(|connection| {
        let subflows: Vec<_> = connection.subflows.iter().map(|flow| subflow(flow.route[0])).collect();
        ConnectionCounts {
            active_ns: scenario.duration_ns,
            goodput_bytes: subflows.iter().map(|flow| flow.received_bytes * 1420 / 1500).sum(),
            reinjections: 0,
            data_level: None,
            subflows,
            ..ConnectionCounts::default()
        }
    });
    setup.measured(&Measurements {
        measured_ns: scenario.duration_ns,
        connections: connections.collect(),
        links: vec![LinkCounts::default(); scenario.links.len()],
        ..Measurements::default()
    })
}
