//! Subflows that join and leave, and paths that fail and recover.

mod common;

use braid_results::measure::{Measurements, SubflowCounts};
use braid_scenario::model::{Connection, ConstantRate, Link, Traffic};
use common::{connection, goodput, link, run, scenario};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A 10 Mbit/s path of 20 ms and a 5 Mbit/s path of 40 ms.
fn paths() -> Vec<Link> {
    vec![link("b1", 10.0, 10.0), link("b2", 5.0, 20.0)]
}

fn failing(from: u64, to: u64) -> Vec<Link> {
    let mut links = paths();
    links[0].forward.outages = vec![(from * S, to * S)];
    links[0].reverse.outages = vec![(from * S, to * S)];
    links
}

fn two_paths() -> Connection {
    connection("mp0", None, &[&[0], &[1]])
}

/// Results of a run and of each second.
fn by_second(seconds: u64, links: Vec<Link>, flow: Connection, cc: &str) -> Measurements {
    let mut scenario = scenario(seconds as f64, links, vec![flow]);
    scenario.periods = (0..seconds).map(|second| (second * S, (second + 1) * S)).collect();
    run(&scenario, cc, 1)
}

fn subflow(result: &Measurements, second: usize, index: usize) -> &SubflowCounts {
    &result.periods[second].connections[0].subflows[index]
}

/// Mbit/s of a subflow in a second.
fn rate(result: &Measurements, second: usize, index: usize) -> f64 {
    subflow(result, second, index).received_bytes as f64 * 8.0 / 1e6
}

#[test]
fn a_subflow_joins_when_its_address_appears_and_goes_with_it() {
    let mut flow = two_paths();
    flow.subflows[1].up = vec![(5 * S, 12 * S), (18 * S, 30 * S)];
    let result = by_second(25, paths(), flow, "lia");
    for second in 0..25 {
        let (first, second_path) = (rate(&result, second, 0), rate(&result, second, 1));
        match second {
            0..5 | 12..18 => assert!(second_path == 0.0, "{second}: {second_path}"),
            7..12 | 20..25 => assert!(second_path > 4.0, "{second}: {second_path}"),
            _ => {}
        }
        assert!(second < 2 || first > 9.0, "{second}: {first}");
    }
    // Two round trips of the new path, then an initial window.
    let joined = subflow(&result, 5, 1);
    assert!((870 * MS..921 * MS).contains(&joined.active_ns), "{}", joined.active_ns);
    let life: u64 = (0..25).map(|second| subflow(&result, second, 1).active_ns).sum();
    assert_eq!(result.connections[0].subflows[1].active_ns, life);
    assert!((13 * S + 500 * MS..14 * S).contains(&life), "{life}");
}

#[test]
fn the_first_subflow_may_leave_and_come_back_too() {
    let mut flow = two_paths();
    flow.subflows[0].up = vec![(0, 5 * S), (10 * S, 20 * S)];
    let result = by_second(20, paths(), flow, "olia");
    for second in 6..10 {
        assert!(rate(&result, second, 0) == 0.0 && rate(&result, second, 1) > 4.5, "{second}");
    }
    for second in 13..20 {
        assert!(rate(&result, second, 0) > 8.0, "{second}: {}", rate(&result, second, 0));
    }
}

#[test]
fn with_no_address_left_the_connection_waits_and_loses_nothing() {
    let mut flow = two_paths();
    flow.traffic = Traffic::Cbr(ConstantRate { rate_bps: 2_000_000, write: 5_000 });
    flow.subflows[0].up = vec![(0, 5 * S), (7 * S, 20 * S)];
    flow.subflows[1].up = vec![(0, 5 * S)];
    let result = run(&scenario(15.0, paths(), vec![flow]), "lia", 1);
    let counts = &result.connections[0];
    let complete = counts.transfers.iter().filter(|transfer| transfer.end_ns.is_some()).count();
    assert!(complete + 3 > counts.transfers.len(), "{complete} of {}", counts.transfers.len());
    let longest = counts.transfers.iter().filter_map(|t| Some(t.end_ns? - t.start_ns)).max().unwrap();
    assert!((2 * S..2 * S + 500 * MS).contains(&longest), "{longest}");
}

/// The longest wait of a 4 Mbit/s video's write.
fn longest_wait(links: Vec<Link>, flow: Connection) -> u64 {
    let traffic = Traffic::Cbr(ConstantRate { rate_bps: 4_000_000, write: 20_000 });
    let result = run(&scenario(20.0, links, vec![Connection { traffic, ..flow }]), "lia", 1);
    let counts = &result.connections[0];
    let waits = || counts.transfers.iter().filter_map(|t| Some(t.end_ns? - t.start_ns));
    assert!(waits().count() + 5 > counts.transfers.len(), "nothing is lost for good");
    waits().max().unwrap()
}

#[test]
fn a_path_that_fails_silently_costs_a_timeout_and_one_that_says_so_does_not() {
    let mut leaves = two_paths();
    leaves.subflows[0].up = vec![(0, 10 * S + 5 * MS)];
    let told = longest_wait(paths(), leaves);
    assert!(told < 150 * MS, "{told}");
    // The timeout of an idle path is 20 ms + 200 ms.
    let silent = longest_wait(failing(10, 30), two_paths());
    assert!((230 * MS..600 * MS).contains(&silent), "{silent}");
}

#[test]
fn a_failed_path_gets_only_what_tests_it_and_returns_within_its_back_off() {
    let result = by_second(40, failing(10, 20), two_paths(), "lia");
    // The first second has the lost window; then timeouts double: 0.2 s, 0.4 s, 0.8 s, ...
    let tests: u64 = (11..20).map(|second| subflow(&result, second, 0).packets_sent).sum();
    assert!((2..8).contains(&tests), "{tests}");
    for second in 12..20 {
        assert!(rate(&result, second, 1) > 4.5, "{second}: {}", rate(&result, second, 1));
    }
    // The next probe comes after at most half the outage's duration.
    let back = (20..40).find(|&second| rate(&result, second, 0) > 5.0).unwrap();
    assert!(back <= 30, "{back}");
    assert!(rate(&result, 35, 0) > 9.0, "{}", rate(&result, 35, 0));
    let counts = &result.connections[0];
    assert!(counts.reinjections > 0);
    let with_both = (10 + 40 - back) as f64;
    let possible = (with_both * 10.0 + 40.0 * 5.0) / 40.0 * 1420.0 / 1500.0;
    assert!(goodput(&result, 0) > 0.95 * possible, "{} of {possible}", goodput(&result, 0));
}

#[test]
fn a_backup_takes_over_when_the_path_fails_and_rests_when_it_returns() {
    let mut flow = two_paths();
    flow.subflows[1].backup = true;
    for (links, up) in [(failing(10, 20), vec![]), (paths(), vec![(0, 10 * S), (20 * S, 60 * S)])] {
        let mut flow = flow.clone();
        flow.subflows[0].up = up;
        let result = by_second(45, links, flow, "lia");
        assert!((0..10).all(|second| rate(&result, second, 1) == 0.0));
        for second in 13..20 {
            assert!(rate(&result, second, 1) > 4.5, "{second}: {}", rate(&result, second, 1));
        }
        assert!(rate(&result, 40, 0) > 9.0 && rate(&result, 40, 1) == 0.0);
    }
}
