//! Packet schedulers: the data on each subflow, and the effect on other flows.

mod common;

use braid_results::measure::Measurements;
use braid_scenario::model::{Link, QueueLimit, Scenario};
use braid_schedulers::{Scheduler, all};
use common::{connection, goodput, link, run_scheduled, scenario};

const S: u64 = 1_000_000_000;
/// Payload fraction of a packet.
const PAYLOAD: f64 = 1420.0 / 1500.0;

fn run(scenario: &Scenario, cc: &str, scheduler: &str) -> Measurements {
    run_scheduled(scenario, cc, 1, scheduler)
}

/// A 10 Mbit/s path of 20 ms and a 5 Mbit/s path of 40 ms.
fn paths() -> Vec<Link> {
    vec![link("b1", 10.0, 10.0), link("b2", 5.0, 20.0)]
}

#[test]
fn each_scheduler_fills_two_free_paths() {
    let scenario = scenario(60.0, paths(), vec![connection("mp0", None, &[&[0], &[1]])]);
    for scheduler in all().iter().map(Scheduler::name) {
        let result = run(&scenario, "cubic", scheduler);
        let used = goodput(&result, 0) / (15.0 * PAYLOAD);
        // The redundant scheduler copies data and aggregates nothing. DAPS waits for the path whose turn it is, and its
        // plan lags behind the windows, as in its public module.
        let least = match scheduler {
            "redundant" => 0.65,
            "daps" => 0.75,
            _ => 0.97,
        };
        assert!((least..=1.0).contains(&used), "{scheduler}: {used}");
        assert!(scheduler != "redundant" || used < 0.68, "{used}");
    }
}

#[test]
fn a_path_with_a_small_window_keeps_another_waiting_under_linux_alone() {
    // OLIA keeps few packets on the longer route through the same bottleneck. Linux assigns it 64 KB nevertheless, and
    // until that data has arrived the connection's memory is full.
    let mut bottleneck = link("b1", 12.0, 0.0);
    bottleneck.forward.jitter_ns = 1_000_000;
    let mut short = link("a1", 100.0, 25.0);
    let mut long = link("a2", 100.0, 75.0);
    for access in [&mut short, &mut long] {
        access.forward.queue = QueueLimit::Packets(1_000);
    }
    let flows =
        vec![connection("mp0", None, &[&[1, 0], &[2, 0]]), connection("tcp0", Some("reno"), &[&[1, 0]])];
    let scenario = scenario(120.0, vec![bottleneck, short, long], flows);
    let ratio = |scheduler| {
        let result = run(&scenario, "olia", scheduler);
        goodput(&result, 0) / goodput(&result, 1)
    };
    let (minrtt, linux) = (ratio("minrtt"), ratio("linux"));
    assert!(minrtt > 0.7 && linux < 0.7 * minrtt, "{minrtt} {linux}");
}

#[test]
fn a_path_that_fails_is_given_up_and_used_again_when_it_returns() {
    let mut links = paths();
    links[0].forward.outages = vec![(10 * S, 40 * S)];
    links[0].reverse.outages = links[0].forward.outages.clone();
    let mut scenario = scenario(120.0, links, vec![connection("mp0", None, &[&[0], &[1]])]);
    scenario.periods = vec![(25 * S, 40 * S), (100 * S, 120 * S)];
    for scheduler in all().iter().map(Scheduler::name) {
        let result = run(&scenario, "lia", scheduler);
        let rate = |period: usize| {
            let counts = &result.periods[period];
            counts.connections[0].goodput_bytes as f64 * 8e3 / counts.measured_ns as f64
        };
        assert!(rate(0) > 0.9 * 5.0 * PAYLOAD, "{scheduler}: {} without it", rate(0));
        let both = if scheduler == "redundant" { 10.0 } else { 15.0 };
        assert!(rate(1) > 0.9 * both * PAYLOAD, "{scheduler}: {} after it", rate(1));
    }
}

#[test]
fn unmodified_linux_gives_a_path_up_after_five_timeouts_of_the_connection_not_of_the_path() {
    // In the lab the other path has no data for about 0.7 s after the send buffer has filled, and runs at its full rate
    // again 1.4 s after the failure (docs/kernel-schedulers.md). Five timeouts of the failed path take 6 s and more.
    let mut links = vec![link("b1", 10.0, 5.0), link("b2", 10.0, 25.0)];
    links[0].forward.outages = vec![(8 * S, 12 * S)];
    let mut scenario = scenario(20.0, links, vec![connection("mp0", None, &[&[0], &[1]])]);
    scenario.periods = vec![(8 * S, 9_500_000_000), (9_700_000_000, 12 * S)];
    let result = run(&scenario, "lia", "linux");
    let rate = |period: usize, subflow: usize| {
        let counts = &result.periods[period];
        counts.connections[0].subflows[subflow].received_bytes as f64 * 8e3 / counts.measured_ns as f64
    };
    assert!((5.0..9.0).contains(&rate(0, 1)), "{} while it finds out", rate(0, 1));
    assert!(rate(1, 1) > 9.9, "{} from then on", rate(1, 1));
    assert!(rate(1, 0) < 0.01, "{}", rate(1, 0));
}

#[test]
fn no_subflow_has_more_under_way_than_the_window_that_its_own_receiver_has_told() {
    // 200 kB are 140 packets. A window grows to twice the data in flight, and no further; Linux reaches 280 as well.
    let mut flow = connection("mp0", None, &[&[0], &[1]]);
    flow.receive_buffer = 200_000;
    let links = vec![link("b1", 10.0, 5.0), link("b2", 10.0, 50.0)];
    let result = run(&scenario(20.0, links, vec![flow]), "lia", "linux");
    let most = result.connections[0].subflows[1].cwnd_samples.iter().max().copied();
    assert!(most.is_some_and(|most| (250..=280).contains(&most)), "{most:?}");
}

/// The reason why minRTT equals BLEST there with OLIA and CUBIC (`bench/schedulers.py`).
#[test]
fn with_a_small_buffer_it_is_the_remedies_of_minrtt_that_keep_a_fast_path_full() {
    let mut flow = connection("mp0", None, &[&[0], &[1]]);
    flow.receive_buffer = 128_000;
    let mut links = vec![link("b1", 20.0, 5.0), link("b2", 10.0, 50.0)];
    for (link, packets) in links.iter_mut().zip([60, 100]) {
        link.forward.queue = QueueLimit::Packets(packets);
        link.forward.jitter_ns = 100_000;
    }
    let scenario = scenario(30.0, links, vec![flow]);
    for cc in ["olia", "cubic"] {
        let rate = |scheduler| goodput(&run(&scenario, cc, scheduler), 0) / (20.0 * PAYLOAD);
        let (blest, minrtt) = (rate("blest"), rate("minrtt"));
        assert!(blest > 0.97 && minrtt > 0.97, "{cc}: {blest} {minrtt}");
        let without = rate("minrtt:retransmit=off:penalise=off");
        assert!(without < 0.7, "{cc}: {without}");
    }
}

#[test]
fn what_a_subflow_was_given_and_leaves_behind_is_sent_by_another() {
    let mut flow = connection("mp0", None, &[&[0], &[1]]);
    flow.subflows[1].up = vec![(2 * S, 5 * S)];
    let mut scenario = scenario(20.0, paths(), vec![flow]);
    scenario.periods = vec![(8 * S, 20 * S)];
    for scheduler in all().iter().map(Scheduler::name) {
        let result = run(&scenario, "lia", scheduler);
        let alone = result.periods[0].connections[0].goodput_bytes as f64 * 8e3 / (12 * S) as f64;
        assert!((0.97..=1.01).contains(&(alone / (10.0 * PAYLOAD))), "{scheduler}: {alone}");
        // The other path carries a copy of everything.
        assert_eq!(result.connections[0].reinjections == 0, scheduler == "redundant", "{scheduler}");
    }
}

/// The reason why round-robin has no more out-of-order delay than minRTT in a bulk transfer (`bench/schedulers.py`):
/// usually only one window has room, so there is no choice. The two differ with little data.
#[test]
fn schedulers_that_leave_no_window_unused_do_the_same_in_a_bulk_transfer() {
    let scenario = scenario(30.0, paths(), vec![connection("mp0", None, &[&[0], &[1]])]);
    let minrtt = run(&scenario, "lia", "minrtt").connections;
    for scheduler in ["llrp", "rr", "wrr", "hsr", "hsr:rule=lts"] {
        let other = run(&scenario, "lia", scheduler).connections;
        let share = |connections: &[braid_results::measure::ConnectionCounts]| {
            let bytes = |index: usize| connections[0].subflows[index].received_bytes as f64;
            bytes(0) / (bytes(0) + bytes(1))
        };
        assert!((share(&other) - share(&minrtt)).abs() < 0.01, "{scheduler}: {}", share(&other));
        let ratio = other[0].goodput_bytes as f64 / minrtt[0].goodput_bytes as f64;
        assert!((0.99..1.01).contains(&ratio), "{scheduler}: {ratio}");
    }
    // Schedulers that queue beyond a path's window wait for data on the other path.
    let delay = |scheduler: &str| {
        let counts = run(&scenario, "lia", scheduler).connections[0].data_level.clone();
        counts.unwrap().mean_delay_ms().unwrap()
    };
    assert!(delay("sttf") > delay("rr") && delay("otias") > delay("rr"));
}

#[test]
fn what_holds_up_a_full_send_buffer_is_sent_again_on_the_fast_path() {
    let mut flow = connection("mp0", None, &[&[0], &[1]]);
    flow.send_buffer = Some(128_000);
    let mut links = vec![link("fast", 20.0, 5.0), link("slow", 10.0, 50.0)];
    links[0].forward.queue = QueueLimit::Packets(60);
    let scenario = scenario(30.0, links, vec![flow]);
    let with = run(&scenario, "lia", "minrtt");
    let without = run(&scenario, "lia", "minrtt:retransmit=off:penalise=off");
    let counts = |result: &Measurements| result.connections[0].data_level.clone().unwrap();
    assert!(
        counts(&with).opportunistic > 100 && counts(&with).penalties > 0,
        "{:?} {} {}",
        counts(&with),
        goodput(&with, 0),
        goodput(&without, 0)
    );
    assert_eq!((counts(&without).opportunistic, counts(&without).penalties), (0, 0));
    assert!(goodput(&with, 0) > 1.2 * goodput(&without, 0), "{} {}", goodput(&with, 0), goodput(&without, 0));
    // The receive window always has room.
    assert_eq!((counts(&with).window_limited_ns, counts(&without).window_limited_ns), (0, 0));
}

/// The reason why ECF leaves the slow path of `schedulers/unlike` unused (`bench/schedulers.py`): the backlog is
/// limited by Linux's send buffer, and the fast path sends that sooner.
#[test]
fn ecf_uses_a_slow_path_when_much_waits_to_be_sent() {
    let share_of_slow = |send_buffer| {
        let mut flow = connection("mp0", None, &[&[0], &[1]]);
        flow.send_buffer = send_buffer;
        let mut links = vec![link("fast", 20.0, 5.0), link("slow", 10.0, 50.0)];
        links[0].forward.queue = QueueLimit::Packets(60);
        let result = run(&scenario(30.0, links, vec![flow]), "lia", "ecf");
        let bytes = |index: usize| result.connections[0].subflows[index].received_bytes as f64;
        bytes(1) / (bytes(0) + bytes(1))
    };
    let (linux, large) = (share_of_slow(None), share_of_slow(Some(4_000_000)));
    assert!(linux < 0.01 && large > 0.2, "{linux} {large}");
}
