//! Intervals of a run with separate results.

mod common;

use braid_results::measure::{Measurements, SubflowCounts};
use braid_scenario::model::Scenario;
use common::{connection, link, run, scenario};

const S: u64 = 1_000_000_000;

/// Two connections on separate links, one of them open only in the middle.
fn changing(periods: &[(u64, u64)]) -> Scenario {
    let mut late = connection("tcp0", Some("cubic"), &[&[0]]);
    (late.start_ns, late.stop_ns) = (5 * S, Some(15 * S));
    let flows = vec![connection("mp0", None, &[&[0], &[1]]), late];
    let mut scenario = scenario(20.0, vec![link("b1", 10.0, 10.0), link("b2", 5.0, 20.0)], flows);
    scenario.periods = periods.to_vec();
    scenario
}

fn subflows(counts: &Measurements) -> impl Iterator<Item = &SubflowCounts> {
    counts.connections.iter().flat_map(|connection| &connection.subflows)
}

#[test]
fn periods_that_follow_each_other_add_up_to_the_run() {
    let result = run(&changing(&[(0, 7 * S), (7 * S, 16 * S), (16 * S, 20 * S)]), "lia", 1);
    assert_eq!(result.periods.iter().map(|p| p.measured_ns / S).collect::<Vec<_>>(), [7, 9, 4]);
    let sum = |figure: fn(&Measurements) -> u128| -> u128 { result.periods.iter().map(figure).sum() };
    for figure in [
        (|c| c.connections[0].goodput_bytes.into()) as fn(&Measurements) -> u128,
        |c| c.connections[1].goodput_bytes.into(),
        |c| c.connections[0].active_ns.into(),
        |c| c.connections[1].active_ns.into(),
        |c| subflows(c).map(|s| u128::from(s.retransmissions)).sum(),
        |c| subflows(c).map(|s| u128::from(s.rtt_samples)).sum(),
        |c| subflows(c).map(|s| s.cwnd_integral).sum(),
        |c| c.links[0].forward.queue_integral,
        |c| c.links[1].forward.busy_ns.into(),
    ] {
        assert_eq!(sum(figure), figure(&result));
        assert_ne!(figure(&result), 0);
    }
    let lasted: Vec<u64> = result.periods.iter().map(|p| p.connections[1].active_ns / S).collect();
    assert_eq!(lasted, [2, 8, 0]);
}

#[test]
fn a_period_changes_nothing_in_the_run() {
    let with = run(&changing(&[(3 * S, 4 * S), (0, 20 * S)]), "olia", 1);
    let without = run(&changing(&[]), "olia", 1);
    assert_eq!(with.connections, without.connections);
    assert_eq!(with.links, without.links);
    let whole = &with.periods[1];
    assert_eq!(
        whole.connections[1],
        braid_results::measure::ConnectionCounts {
            subflows: whole.connections[1].subflows.clone(),
            ..without.connections[1].clone()
        }
    );
}

#[test]
fn a_warm_up_is_left_out_of_the_run_and_not_of_a_period() {
    let mut warm = changing(&[(0, 10 * S)]);
    warm.warmup_ns = 10 * S;
    let result = run(&warm, "lia", 1);
    let whole = run(&changing(&[]), "lia", 1);
    let bytes = |counts: &Measurements| counts.connections[0].goodput_bytes;
    assert_eq!(bytes(&result) + bytes(&result.periods[0]), bytes(&whole));
    assert_eq!(result.connections[1].active_ns, 5 * S);
}
