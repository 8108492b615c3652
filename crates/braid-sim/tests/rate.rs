//! Rate-based algorithms: published results of BBR, on whole runs.

mod common;

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_scenario::model::{Change, Link, Loss, QueueLimit, Scenario};
use braid_sim::{Options, run_with};
use common::{connection, goodput, link, run, scenario, share};

const S: u64 = 1_000_000_000;

/// A link with a queue of `packets`.
fn buffered(rate_mbit: f64, delay_ms: f64, packets: u32) -> Link {
    let mut link = link("b1", rate_mbit, delay_ms);
    link.forward.queue = QueueLimit::Packets(packets);
    link
}

/// Bandwidth-delay product in packets.
fn bandwidth_delay(rate_mbit: f64, delay_ms: f64) -> f64 {
    rate_mbit * 2e3 * delay_ms / 8.0 / 1500.0
}

fn alone(cc: &str, seconds: f64, link: Link) -> Scenario {
    let mut scenario = scenario(seconds, vec![link], vec![connection("tcp0", Some(cc), &[&[0]])]);
    scenario.warmup_ns = 5 * S;
    scenario
}

fn mean_queue(result: &Measurements) -> f64 {
    result.links[0].forward.queue_integral as f64 / result.measured_ns as f64
}

#[test]
fn alone_it_fills_a_link_with_less_than_one_bandwidth_delay_product_queued() {
    for (rate, delay) in [(10.0, 10.0), (10.0, 25.0), (100.0, 10.0), (100.0, 50.0), (1000.0, 5.0)] {
        let scenario = alone("bbr", 35.0, buffered(rate, delay, u32::MAX));
        let result = run_with(
            &scenario,
            &Spec::parse("bbr").unwrap(),
            1,
            Options { samples: true, ..Options::default() },
        )
        .unwrap();
        let used = goodput(&result, 0) / (rate * 1448.0 / 1500.0);
        assert!((0.96..=1.0).contains(&used), "{rate} Mbit/s, {delay} ms: {used}");
        let held = bandwidth_delay(rate, delay);
        assert!(mean_queue(&result) < 0.6 * held, "{} of {held}", mean_queue(&result));
        let steady = result.links[0].samples.iter().filter(|sample| sample.time_ns > 5 * S);
        let longest = steady.map(|sample| sample.queue_packets).max().unwrap();
        assert!(f64::from(longest) < 1.1 * held + 6.0, "{longest} of {held}");
        assert_eq!(result.connections[0].subflows[0].retransmissions, 0);
    }
}

#[test]
fn every_ten_seconds_it_looks_for_the_smallest_rtt_with_four_packets() {
    let mut scenario = alone("bbr", 45.0, buffered(10.0, 10.0, u32::MAX));
    scenario.warmup_ns = 0;
    let windows = run(&scenario, "bbr", 1).connections[0].subflows[0].cwnd_samples.clone();
    // A sample every 100 ms; the window is 4 for at least 200 ms, once the queue is gone.
    let probes: Vec<usize> = (1..windows.len()).filter(|&i| windows[i] == 4 && windows[i - 1] != 4).collect();
    assert!((1..=4).contains(&probes.len()), "{probes:?}");
    assert!((99..=103).contains(&probes[0]), "{probes:?}");
    for at in probes {
        let lasts = windows[at..].iter().take_while(|&&cwnd| cwnd == 4).count();
        assert!((2..=3).contains(&lasts), "{lasts}");
        assert!(windows[at + lasts] >= windows[at - 1] - 4, "as before");
    }
}

#[test]
fn a_path_that_gets_longer_is_underused_until_the_next_look() {
    let mut longer = buffered(10.0, 10.0, u32::MAX);
    longer.forward.changes = vec![Change { at_ns: 22 * S, delay_ns: Some(90_000_000), ..Change::default() }];
    let mut scenario = alone("bbr", 60.0, longer);
    scenario.periods = vec![(10 * S, 20 * S), (24 * S, 29 * S), (40 * S, 60 * S)];
    let result = run(&scenario, "bbr", 1);
    let rates: Vec<f64> = result.periods.iter().map(|period| goodput(period, 0)).collect();
    // Twice the old bandwidth-delay product in a round trip five times as long is less than half the bandwidth. After
    // ten rounds that is the estimate, and so on.
    assert!(rates[0] > 9.2 && (0.3..5.0).contains(&rates[1]) && rates[2] > 9.0, "{rates:?}");
}

#[test]
fn two_flows_share_a_link() {
    for queue in [84, 166, 1000] {
        let mut flows = vec![connection("tcp0", None, &[&[0]]), connection("tcp1", None, &[&[0]])];
        flows[1].start_ns = 3 * S;
        let mut scenario = scenario(120.0, vec![buffered(50.0, 10.0, queue)], flows);
        scenario.warmup_ns = 20 * S;
        let result = run(&scenario, "bbr", 1);
        let (first, second) = (goodput(&result, 0), goodput(&result, 1));
        assert!((0.6..1.67).contains(&(first / second)), "{queue} packets: {first} and {second}");
        assert!(first + second > 0.95 * 50.0 * 1448.0 / 1500.0, "{first} and {second}");
    }
}

/// Goodput of BBR and of `other` beside it, with a queue of `products` bandwidth-delay products.
fn against(other: &str, products: f64) -> (f64, f64) {
    let queue = (products * bandwidth_delay(50.0, 20.0)) as u32;
    let mut flows = vec![connection("tcp0", Some("bbr"), &[&[0]]), connection("tcp1", Some(other), &[&[0]])];
    flows[1].start_ns = S / 10;
    let result = run(&scenario(120.0, vec![buffered(50.0, 20.0, queue)], flows), "bbr", 1);
    (goodput(&result, 0), goodput(&result, 1))
}

/// Hock, Bless, Zitterbart 2017; Scholz et al. 2018.
#[test]
fn beside_loss_based_flows_it_wins_with_short_queues_and_loses_with_long_ones() {
    for other in ["cubic", "reno"] {
        let (bbr, loss_based) = against(other, 0.5);
        assert!(bbr > 10.0 * loss_based, "short: {bbr} and {other} {loss_based}");
        let (bbr, loss_based) = against(other, 16.0);
        assert!(bbr < 0.7 * loss_based, "long: {bbr} and {other} {loss_based}");
    }
}

/// Cardwell et al. 2016, figure 8: CUBIC collapses, BBR hardly notices.
#[test]
fn random_loss_costs_it_what_is_lost() {
    let lossy = |cc, loss| {
        let mut link = buffered(100.0, 50.0, 1_000);
        link.forward.loss = Loss::Bernoulli(loss);
        goodput(&run(&alone(cc, 60.0, link), cc, 1), 0) / (100.0 * 1448.0 / 1500.0)
    };
    assert!(lossy("bbr", 0.01) > 0.85, "{}", lossy("bbr", 0.01));
    assert!(lossy("bbr", 0.05) > 0.75, "{}", lossy("bbr", 0.05));
    assert!(lossy("cubic", 0.01) < 0.05, "{}", lossy("cubic", 0.01));
}

#[test]
fn after_an_outage_it_is_soon_what_it_was() {
    let mut broken = buffered(20.0, 20.0, 500);
    broken.forward.outages = vec![(20 * S, 23 * S)];
    let mut scenario = alone("bbr", 60.0, broken);
    scenario.periods = vec![(10 * S, 20 * S), (30 * S, 60 * S)];
    let result = run(&scenario, "bbr", 1);
    assert!(result.connections[0].subflows[0].timeouts > 0);
    let (before, after) = (goodput(&result.periods[0], 0), goodput(&result.periods[1], 0));
    assert!(after > 0.95 * before, "{before} before, {after} after");
}

#[test]
fn with_one_subflow_cmpbbr_is_bbr() {
    let mut lossy = buffered(20.0, 15.0, 60);
    lossy.forward.loss = Loss::Bernoulli(0.003);
    let flows = vec![connection("tcp0", None, &[&[0]]), connection("tcp1", Some("cubic"), &[&[0]])];
    let scenario = scenario(60.0, vec![lossy], flows);
    assert_eq!(run(&scenario, "cmpbbr", 3), run(&scenario, "bbr:rules=linux49", 3));
}

#[test]
fn subflows_of_cmpbbr_take_one_share_of_a_common_bottleneck_and_all_of_separate_ones() {
    let beside = |cc| {
        let flows = vec![connection("mp0", None, &[&[0], &[0]]), connection("tcp0", Some("bbr"), &[&[0]])];
        let result = run(&scenario(120.0, vec![buffered(20.0, 10.0, 500)], flows), cc, 1);
        goodput(&result, 0) / (goodput(&result, 0) + goodput(&result, 1))
    };
    let (uncoupled, coupled) = (beside("bbr"), beside("cmpbbr"));
    assert!((0.6..0.75).contains(&uncoupled), "two of three: {uncoupled}");
    assert!((0.3..0.55).contains(&coupled), "one of two: {coupled}");

    let links = vec![link("b1", 10.0, 10.0), link("b2", 20.0, 30.0)];
    let apart = run(&scenario(60.0, links, vec![connection("mp0", None, &[&[0], &[1]])]), "cmpbbr", 1);
    assert!(goodput(&apart, 0) > 0.94 * 30.0 * 1420.0 / 1500.0, "{}", goodput(&apart, 0));
    assert!((0.3..0.37).contains(&share(&apart, 0, 0)), "{}", share(&apart, 0, 0));
}
