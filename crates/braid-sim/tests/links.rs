//! Transport over links with reordering, varying rates, outages and changing routes.

mod common;

use braid_testing::within;
use std::sync::Arc;

use braid_results::measure::Measurements;
use braid_scenario::model::{Change, Discipline, QueueLimit, Red, Reroute};
use braid_scenario::trace::Trace;
use common::{connection, goodput, link, run, scenario};

const S: u64 = 1_000_000_000;

fn retransmissions(result: &Measurements) -> u64 {
    result
        .connections
        .iter()
        .flat_map(|connection| &connection.subflows)
        .map(|subflow| subflow.retransmissions)
        .sum()
}

#[test]
fn rack_copes_with_reordering_by_jitter() {
    let mut shaky = link("b1", 20.0, 20.0);
    shaky.forward.queue = QueueLimit::Packets(1000);
    shaky.forward.jitter_ns = 3_000_000;
    // The window is the limit, so no packet is lost.
    let mut limited = connection("tcp0", None, &[&[0]]);
    limited.receive_buffer = 40 * 1448;
    let result = |jitter_ms: u64, reordering| {
        let mut shaky = shaky.clone();
        shaky.forward.jitter_ns = jitter_ms * 1_000_000;
        shaky.forward.reordering = reordering;
        run(&scenario(60.0, vec![shaky], vec![limited.clone()]), "reno", 1)
    };
    for jitter_ms in [3, 30] {
        let (in_order, reordered) = (result(jitter_ms, false), result(jitter_ms, true));
        let subflow = &reordered.connections[0].subflows[0];
        assert_eq!(retransmissions(&in_order), 0);
        assert_eq!(reordered.links[0].forward.drops_queue + reordered.links[0].forward.drops_wire, 0);
        if jitter_ms == 3 {
            // Within RACK's reordering window, a quarter of the minimum round trip: no packet counts as lost.
            assert_eq!((subflow.retransmissions, subflow.undos), (0, 0));
        } else {
            // Beyond it some segments count as lost, until DSACKs have undone the reductions and RACK's window has
            // grown.
            assert!((1..100).contains(&subflow.retransmissions), "{}", subflow.retransmissions);
            assert!(subflow.undos > 0, "a window was restored");
        }
        let share = goodput(&reordered, 0) / goodput(&in_order, 0);
        assert!((0.85..1.0).contains(&share), "{share} with a jitter of {jitter_ms} ms");
        assert_eq!(reordered, result(jitter_ms, true), "the same each time");
    }
}

#[test]
fn a_transfer_over_a_trace_gets_what_the_trace_delivers() {
    let text = include_str!("../../../scenarios/traces/lte-drive.trace");
    let trace = Trace::parse("lte-drive", text).unwrap_or_else(|problem| panic!("{problem}"));
    let mut cell = link("cell", 0.0, 25.0);
    cell.forward.rate_bps = trace.mean_bps();
    cell.forward.queue = QueueLimit::Packets(600);
    cell.forward.trace = Some(Arc::new(trace));
    cell.reverse.rate_bps = 10_000_000;
    let result = run(&scenario(60.0, vec![cell], vec![connection("tcp0", None, &[&[0]])]), "cubic", 1);
    // Two passes of half a minute; each line is one packet of 1500 bytes.
    let possible = 2.0 * text.lines().count() as f64 * 1448.0 * 8.0 / 60e6;
    within(goodput(&result, 0) / possible, 0.95..=1.0);
    let busy = result.links[0].forward.busy_ns as f64 / 60e9;
    assert!((0.95..=1.0).contains(&busy), "{busy}");
}

#[test]
fn a_route_that_changes_takes_what_is_sent_from_then_on_and_no_more() {
    let mut links = vec![link("b1", 10.0, 10.0), link("b2", 10.0, 40.0)];
    for link in &mut links {
        link.forward.queue = QueueLimit::Packets(1000);
    }
    let mut moving = connection("tcp0", None, &[&[0]]);
    moving.receive_buffer = 20 * 1448;
    let reroute = |forward, reverse| Reroute { at_ns: 5 * S, forward, reverse };
    let run_with = |change: Reroute| {
        let mut moving = moving.clone();
        moving.subflows[0].reroutes = vec![change];
        run(&scenario(10.0, links.clone(), vec![moving]), "reno", 1)
    };
    let both = run_with(reroute(Some(vec![1]), Some(vec![1])));
    // Packets in flight arrived, before those on the longer route: no retransmission.
    assert_eq!((retransmissions(&both), both.connections[0].subflows[0].timeouts), (0, 0));
    let sent: u64 = both.links.iter().map(|link| link.forward.packets).sum();
    assert_eq!(sent, both.connections[0].subflows[0].packets_sent);
    // A window of 20 packets every 22 ms, then every 82 ms.
    let expected = [5.0 / 0.0224, 5.0 / 0.0824].map(|rounds| 20.0 * rounds);
    for (link, expected) in both.links.iter().zip(expected) {
        let packets = link.forward.packets as f64;
        assert!((0.9..1.1).contains(&(packets / expected)), "{packets} of {expected}");
        assert!(link.reverse.packets > 0);
    }
    let back = run_with(reroute(None, Some(vec![1])));
    assert_eq!(back.links[1].forward.packets, 0);
    assert!(back.links[1].reverse.packets > 100 && back.links[0].reverse.packets > 100);
}

#[test]
fn a_subflow_over_a_link_that_is_down_leaves_its_data_to_the_other() {
    let switch = |at: u64, up| Change { at_ns: at * S, up: Some(up), ..Change::default() };
    for keeps_queue in [false, true] {
        let mut failing = link("b1", 10.0, 10.0);
        for direction in [&mut failing.forward, &mut failing.reverse] {
            direction.changes = vec![switch(10, false), switch(20, true)];
            direction.keeps_queue = keeps_queue;
        }
        let flows = vec![connection("mp0", None, &[&[0], &[1]])];
        let result = run(&scenario(40.0, vec![failing, link("b2", 5.0, 10.0)], flows), "reno", 1);
        // 30 s of both links and 10 s of the second, less the time until the first one is probed again, up to 6 s by
        // then, and the time to fill it at one packet per round trip.
        let possible = (30.0 * 15.0 + 10.0 * 5.0) / 40.0 * 1420.0 / 1500.0;
        within(goodput(&result, 0) / possible, 0.75..1.0);
        assert!(result.connections[0].reinjections > 0);
    }
}

#[test]
fn red_keeps_the_queue_between_its_thresholds() {
    let mut early = link("b1", 20.0, 20.0);
    early.forward.queue = QueueLimit::Packets(500);
    let red = Red { min: 20, max: 60, probability: 0.1, weight: 0.002, gentle: true, ecn: false };
    early.forward.discipline = Discipline::Red(red);
    let flows = |ecn| {
        (0..8).map(move |i| {
            let mut flow = connection(&format!("tcp{i}"), None, &[&[0]]);
            flow.ecn = ecn;
            flow.start_ns = i * S / 10;
            flow
        })
    };
    let run_with = |link, flows| {
        let mut scenario = scenario(80.0, vec![link], flows);
        scenario.warmup_ns = 20 * S;
        run(&scenario, "reno", 1)
    };
    let result = run_with(early.clone(), flows(false).collect());
    let counts = &result.links[0].forward;
    let mean = counts.queue_integral as f64 / 60e9;
    assert!((20.0..60.0).contains(&mean), "{mean} packets");
    assert!(counts.drops_queue > 100 && counts.marks == 0);
    early.forward.discipline = Discipline::Red(Red { ecn: true, ..red });
    let marking = run_with(early, flows(true).collect());
    let counts = &marking.links[0].forward;
    assert!(counts.marks > 100, "{} marks", counts.marks);
    assert!(counts.drops_queue < counts.marks / 10, "{} drops", counts.drops_queue);
}
