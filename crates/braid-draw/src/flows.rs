//! Flows of a drawing: equal connections are joined.

use braid_scenario::model::{Connection, Kind, Scenario};
use braid_scenario::{topology, words};

/// One connection, or several equal consecutive ones.
pub(crate) struct Flow {
    /// `mp0`, or `tcp0 to tcp4`.
    pub(crate) name: String,
    /// Congestion control and unusual settings.
    pub(crate) about: String,
    pub(crate) lanes: Vec<Lane>,
}

/// A line of the drawing: a subflow, or one subflow of each of several connections.
pub(crate) struct Lane {
    /// Its index among all subflows, for colours; for several the first.
    pub(crate) number: usize,
    /// Name and base round-trip time.
    pub(crate) label: String,
    /// The drawn links, from sender to receiver.
    pub(crate) route: Vec<usize>,
}

pub(crate) fn flows(scenario: &Scenario) -> Vec<Flow> {
    let paths = topology::paths(scenario);
    let mut number = 0;
    let all: Vec<(&Connection, Vec<Lane>)> = scenario
        .connections
        .iter()
        .zip(paths)
        .map(|(connection, paths)| {
            let lanes = connection.subflows.iter().zip(paths).map(|(subflow, path)| {
                number += 1;
                let rtt = format!("RTT {}", words::milliseconds(round(path.base_rtt_ns)));
                Lane {
                    number: number - 1,
                    label: match connection.kind {
                        Kind::Tcp => rtt,
                        Kind::Mptcp => format!("{}, {rtt}", subflow.name),
                    },
                    route: subflow
                        .route
                        .iter()
                        .copied()
                        .filter(|&link| !scenario.links[link].private)
                        .collect(),
                }
            });
            (connection, lanes.collect())
        })
        .collect();
    let mut flows: Vec<Flow> = Vec::new();
    for group in all.chunk_by(|(a, of_a), (b, of_b)| {
        let same = |(a, b): (&Lane, &Lane)| a.label == b.label && a.route == b.route;
        about(a) == about(b) && of_a.len() == of_b.len() && of_a.iter().zip(of_b).all(same)
    }) {
        let (first, lanes) = &group[0];
        let name = match group {
            [_] => first.name.clone(),
            [_, (last, _)] => format!("{}, {}", first.name, last.name),
            [.., (last, _)] => format!("{} to {}", first.name, last.name),
            [] => String::new(),
        };
        let several = if group.len() > 1 { format!("{} flows, ", group.len()) } else { String::new() };
        let lanes = lanes.iter().map(|Lane { number, label, route }| Lane {
            number: *number,
            label: label.clone(),
            route: route.clone(),
        });
        flows.push(Flow { name, about: several + &about(first), lanes: lanes.collect() });
    }
    flows
}

/// To a tenth of a millisecond: serialisation needs no more digits.
fn round(ns: u64) -> u64 {
    (ns + 50_000) / 100_000 * 100_000
}

fn about(connection: &Connection) -> String {
    let mut about = match (&connection.cc, connection.kind) {
        (Some(cc), _) => cc.algorithm().name().to_owned(),
        (None, Kind::Mptcp) => "MPTCP, cc of the run".to_owned(),
        (None, Kind::Tcp) => "cc of the run".to_owned(),
    };
    if connection.traffic.name() != "bulk" {
        about = format!("{about}, {}", connection.traffic.name());
    }
    if connection.start_ns >= 1_000_000_000 {
        about = format!("{about}, from {} s", connection.start_ns as f64 / 1e9);
    }
    about
}
