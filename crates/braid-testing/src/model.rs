//! Builders of small scenarios.

use braid_algorithms::Spec;
use braid_scenario::model::{
    Connection, Direction, Discipline, Kind, Link, Loss, QueueLimit, Scenario, Subflow, Traffic,
};
use braid_scenario::{File, Source};

/// A file with this text.
#[track_caller]
pub fn load(name: &str, text: &str, set: &[&str]) -> File {
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    braid_scenario::load(&source, &set).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The first cell of a file with this text.
#[track_caller]
pub fn parse(text: &str) -> Scenario {
    load("test.toml", text, &[]).cells.remove(0)
}

/// A link with this rate and one-way delay, a queue of 100 packets and a lossless return direction.
pub fn link(name: &str, rate_mbit: f64, delay_ms: f64) -> Link {
    let forward = Direction {
        rate_bps: (rate_mbit * 1e6) as u64,
        trace: None,
        delay_ns: (delay_ms * 1e6) as u64,
        jitter_ns: 0,
        noise_ns: 0,
        reordering: false,
        queue: QueueLimit::Packets(100),
        loss: Loss::None,
        ecn_threshold: None,
        outages: vec![],
        discipline: Discipline::DropTail,
        changes: vec![],
        keeps_queue: false,
    };
    let reverse = Direction { queue: QueueLimit::Packets(10_000), ..forward.clone() };
    Link { name: name.into(), private: false, forward, reverse }
}

/// A connection over these routes; with one route it is plain TCP.
pub fn connection(name: &str, cc: Option<&str>, routes: &[&[usize]]) -> Connection {
    let mptcp = routes.len() > 1;
    let mss = if mptcp { 1420 } else { 1448 };
    Connection {
        name: name.into(),
        kind: if mptcp { Kind::Mptcp } else { Kind::Tcp },
        cc: cc.map(|text| Spec::parse(text).unwrap()),
        traffic: Traffic::Bulk,
        start_ns: 0,
        start_noise_ns: 0,
        stop_ns: None,
        mss,
        ip_header: 20,
        data_header: 1500 - mss,
        ack_size: if mptcp { 64 } else { 52 },
        deadline_ns: None,
        receive_buffer: 1 << 26,
        autotuning: false,
        send_buffer: None,
        initial_window: 10,
        initial_ssthresh: None,
        ecn: false,
        accurate_ecn: false,
        scheduler: None,
        delayed_ack: true,
        subflows: routes
            .iter()
            .enumerate()
            .map(|(index, route)| Subflow {
                name: format!("sf{}", index + 1),
                route: route.to_vec(),
                join_delay_ns: None,
                up: vec![],
                backup: false,
                reroutes: vec![],
            })
            .collect(),
    }
}

/// A scenario with these links and connections, for `seconds`.
pub fn scenario(seconds: f64, links: Vec<Link>, connections: Vec<Connection>) -> Scenario {
    Scenario {
        name: "test".into(),
        title: String::new(),
        parameters: indexmap::IndexMap::new(),
        duration_ns: (seconds * 1e9) as u64,
        warmup_ns: 0,
        cooldown_ns: 0,
        periods: vec![],
        rtt_samples: false,
        links,
        connections,
    }
}
