//! Datagrams of a caller's protocol stack, on the simulator's links.

use braid_algorithms::Spec;
use braid_scenario::model::Scenario;
use braid_sim::{Datagram, Ecn, Options, Place, Simulation};
use braid_testing::model::parse as scenario;

const TEXT: &str = r#"
title = "t"
duration = "5s"
noise = "none"
link.a = { rate = "8mbit", delay = "10ms", queue = "10p", ecn-threshold = "5p" }
link.b = { rate = "8mbit", delay = "20ms", queue = "10p" }
[connection.m]
kind = "mptcp"
subflow.one.route = ["a"]
subflow.two.route = ["b"]
[connection.t]
kind = "tcp"
cc = "reno"
route = ["b"]
"#;

fn datagram(subflow: usize, to_receiver: bool, bytes: usize) -> Datagram {
    let place = Place { connection: 0, subflow };
    Datagram { place, flow: 7, to_receiver, ecn: Ecn::Capable, payload: vec![7; bytes] }
}

fn simulation(scenario: &Scenario) -> Simulation<'_> {
    Simulation::for_datagrams(scenario, &Spec::parse("lia").unwrap(), 1, Options::default()).unwrap()
}

#[test]
fn a_datagram_takes_the_time_of_its_route_and_arrives_whole() {
    let scenario = scenario(TEXT);
    let mut simulation = simulation(&scenario);
    assert_eq!(simulation.advance_to_datagram(1_000_000_000), None);
    assert_eq!(simulation.now_ns(), 1_000_000_000);
    simulation.send(datagram(0, true, 972));
    let arrived = simulation.advance_to_datagram(2_000_000_000).expect("nothing else is on that link");
    assert_eq!(arrived, datagram(0, true, 972));
    // 972 + 28 bytes at 8 Mbit/s, and 10 ms.
    assert_eq!(simulation.now_ns(), 1_011_000_000);
    simulation.send(datagram(0, false, 100));
    assert_eq!(simulation.advance_to_datagram(2_000_000_000), Some(datagram(0, false, 100)));
}

#[test]
fn a_full_queue_marks_and_drops_them_and_forgets_what_was_in_them() {
    let scenario = scenario(TEXT);
    let mut simulation = simulation(&scenario);
    for _ in 0..3 {
        for _ in 0..50 {
            simulation.send(datagram(0, true, 972));
        }
        let end = simulation.now_ns() + 500_000_000;
        let arrived: Vec<Ecn> =
            std::iter::from_fn(|| simulation.advance_to_datagram(end)).map(|datagram| datagram.ecn).collect();
        assert_eq!(arrived.len(), 10);
        assert!(
            arrived[..4].iter().all(|ecn| *ecn == Ecn::Capable) && arrived[9] == Ecn::Marked,
            "{arrived:?}"
        );
    }
}

#[test]
fn tcp_beside_them_is_what_it_is_alone() {
    let scenario = scenario(TEXT);
    let mut simulation = simulation(&scenario);
    assert_eq!(simulation.advance_to_datagram(u64::MAX), None);
    let beside = simulation.finish();
    let alone = TEXT.replace(
        "kind = \"mptcp\"\nsubflow.one.route = [\"a\"]\nsubflow.two.route = [\"b\"]",
        "kind = \"mptcp\"\nsubflow.one.route = [\"a\"]\nstart = \"4s\"",
    );
    let alone = braid_sim::run(&self::scenario(&alone), &Spec::parse("lia").unwrap(), 1).unwrap();
    assert_eq!(beside.connections[1].subflows, alone.connections[1].subflows);
    assert!(beside.connections[1].goodput_bytes > 4_000_000);
    assert_eq!(beside.connections[0].goodput_bytes, 0);
}
