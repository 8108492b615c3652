//! Two paths and their counts.

use braid_results::measure::{ConnectionCounts, DirectionCounts, LinkCounts, Measurements, SubflowCounts};
use braid_results::{Run, Setup};
use braid_scenario::model::Scenario;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// One connection with two subflows, one TCP flow on the path of the first.
pub(crate) const TWO_PATHS: &str = r#"
    title = "two paths"
    duration = "120s"
    warmup = "10s"
    cooldown = "10s"

    [parameters]
    delay = ["5ms"]

    [link.b1]
    rate = "10mbit"
    delay = "$delay"
    queue = "100p"

    [link.b2]
    rate = "10mbit"
    delay = "10ms"
    queue = "100p"

    [connection.mp0]
    kind = "mptcp"

    [connection.mp0.subflow.sf1]
    route = ["b1"]

    [connection.mp0.subflow.sf2]
    route = ["b2"]

    [connection.bg0]
    kind = "tcp"
    cc = "reno"
    route = ["b1"]
"#;

pub(crate) use braid_testing::model::parse as scenario;

/// A subflow that moves `mbit` Mbit/s of IP bytes for 100 s.
pub(crate) fn subflow(mbit: u64) -> SubflowCounts {
    SubflowCounts {
        active_ns: 100 * SECOND,
        received_bytes: mbit * 12_500_000,
        packets_sent: mbit * 8400,
        retransmissions: 7 * mbit,
        fast_retransmits: 5,
        timeouts: 1,
        undos: 1,
        rtt_sum_us: 3_000_000,
        rtt_samples: 200,
        cwnd_integral: 1234 * u128::from(SECOND),
        cwnd_samples: (1..=20).rev().collect(),
        ..SubflowCounts::default()
    }
}

pub(crate) fn connection(goodput_mbit: f64, subflows: Vec<SubflowCounts>) -> ConnectionCounts {
    ConnectionCounts {
        active_ns: 100 * SECOND,
        goodput_bytes: (goodput_mbit * 12_500_000.0) as u64,
        reinjections: 3,
        subflows,
        ..ConnectionCounts::default()
    }
}

pub(crate) fn link(busy_s: u64) -> LinkCounts {
    LinkCounts {
        forward: DirectionCounts {
            packets: 50_000,
            bytes: 75_000_000,
            busy_ns: busy_s * SECOND,
            drops_queue: 17,
            drops_wire: 4,
            queue_integral: 2550 * u128::from(SECOND),
            ..DirectionCounts::default()
        },
        reverse: DirectionCounts { packets: 25_000, bytes: 1_300_000, ..DirectionCounts::default() },
        ..LinkCounts::default()
    }
}

pub(crate) fn measurements(seed: u64) -> Measurements {
    Measurements {
        measured_ns: 100 * SECOND,
        connections: vec![
            connection(10.0 + seed as f64, vec![subflow(3), subflow(8 + seed)]),
            connection(6.5, vec![subflow(7)]),
        ],
        links: vec![link(98), link(87)],
        ..Measurements::default()
    }
}

pub(crate) fn run(scenario: &Scenario, seed: u64) -> Run {
    let setup = Setup { scenario, backend: "sim", cc: "lia:rounding=usec", scheduler: "minrtt", seed };
    if seed == 3 { setup.failed("panic: unlucky") } else { setup.measured(&measurements(seed)) }
}
