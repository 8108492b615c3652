//! The time series of a run.

use braid_algorithms::Spec;
use braid_results::measure::{Measurements, SubflowSample};
use braid_scenario::model::Scenario;
use braid_sim::{Options, run_with};

mod common;

use common::{connection, link, run, scenario};

fn sampled(scenario: &Scenario) -> Measurements {
    let spec = Spec::parse("lia").unwrap();
    run_with(scenario, &spec, 1, Options { samples: true, ..Options::default() }).unwrap()
}

/// A connection over two links, and TCP on the first from 3 s to 7 s of 10 s.
fn two_links() -> Scenario {
    let mut plain = connection("tcp0", Some("reno"), &[&[0]]);
    plain.start_ns = 3_000_000_000;
    plain.stop_ns = Some(7_000_000_000);
    let links = vec![link("b1", 10.0, 5.0), link("b2", 5.0, 10.0)];
    scenario(10.0, links, vec![connection("mp0", None, &[&[0], &[1]]), plain])
}

#[test]
fn samples_do_not_change_what_is_measured() {
    let mut scenario = two_links();
    scenario.warmup_ns = 1_234_567_890;
    let mut with = sampled(&scenario);
    let without = run(&scenario, "lia", 1);
    assert!((with.events - without.events) <= 100, "one event per sample at most");
    with.events = without.events;
    for subflow in with.connections.iter_mut().flat_map(|connection| &mut connection.subflows) {
        assert!(!std::mem::take(&mut subflow.samples).is_empty());
    }
    for link in &mut with.links {
        assert_eq!(std::mem::take(&mut link.samples).len(), 100);
    }
    assert_eq!(with, without);
}

#[test]
fn samples_are_100_ms_apart_while_the_subflow_is_there() {
    let result = sampled(&two_links());
    let times = |samples: &[SubflowSample]| -> Vec<u64> {
        samples.iter().map(|sample| sample.time_ns / 100_000_000).collect()
    };
    assert_eq!(times(&result.connections[0].subflows[0].samples), (1..100).collect::<Vec<_>>());
    assert_eq!(times(&result.connections[1].subflows[0].samples), (31..70).collect::<Vec<_>>());
}

#[test]
fn samples_agree_with_what_is_counted() {
    let result = sampled(&two_links());
    for subflow in result.connections.iter().flat_map(|connection| &connection.subflows) {
        let samples = &subflow.samples;
        // Without a warm-up both have the same timestamps.
        assert!(samples.iter().map(|sample| sample.cwnd).eq(subflow.cwnd_samples.iter().copied()));
        for pair in samples.windows(2) {
            // 10 Mbit/s are 125 000 bytes in 100 ms.
            let received = pair[1].received_bytes - pair[0].received_bytes;
            assert!(received <= 125_000 + 1_500, "{received} bytes in 100 ms");
            assert!(pair[0].retransmissions <= pair[1].retransmissions);
        }
        let last = samples.last().unwrap();
        assert!(last.received_bytes <= subflow.received_bytes);
        assert!(subflow.received_bytes <= last.received_bytes + 125_000 + 1_500);
        assert!(last.retransmissions <= subflow.retransmissions);
        assert!(samples.iter().all(|sample| sample.srtt_us.is_none_or(|srtt| srtt >= 10_000)));
        assert!(samples.iter().any(|sample| sample.in_flight > 0));
    }
    for (link, limit) in result.links.iter().zip([100, 100]) {
        let queue: Vec<u32> = link.samples.iter().map(|sample| sample.queue_packets).collect();
        assert!(queue.iter().all(|&packets| packets <= limit));
        let mean = f64::from(queue.iter().sum::<u32>()) / queue.len() as f64;
        let exact = link.forward.queue_integral as f64 / result.measured_ns as f64;
        assert!((mean - exact).abs() < 0.1 * exact + 1.0, "{mean} beside {exact} packets");
        let drops: Vec<u64> = link.samples.iter().map(|sample| sample.drops_queue).collect();
        assert!(drops.is_sorted() && *drops.last().unwrap() <= link.forward.drops_queue);
    }
}

#[test]
fn private_links_have_no_samples() {
    let mut scenario = two_links();
    scenario.links[1].private = true;
    let result = sampled(&scenario);
    assert_eq!(result.links[0].samples.len(), 100);
    assert!(result.links[1].samples.is_empty());
}
