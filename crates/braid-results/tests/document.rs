//! The JSON document, field by field, and its metrics.

use braid_results::measure::{ConnectionCounts, Measurements, SubflowCounts, Transfer};
use braid_results::metrics::{Available, fair_shares, path_capacity};
use braid_results::summary::summarize;
use braid_results::{Connection, Document, LinkDirection, Run, Setup, Subflow};
use braid_scenario::model::Scenario;

mod common;

use common::{SECOND, TWO_PATHS, measurements, run, scenario};

#[test]
fn the_document_is_as_agreed() {
    let scenario = scenario(TWO_PATHS);
    let runs: Vec<Run> = (1..=3).map(|seed| run(&scenario, seed)).collect();
    let text = Document::new("0.0.0", &runs, &summarize(&runs)).to_json();

    insta::assert_snapshot!(serde_json::to_string_pretty(&braid_testing::json(text)).unwrap());
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let scenario = scenario(TWO_PATHS);
    let text = || {
        let runs: Vec<Run> = (1..=2).map(|seed| run(&scenario, seed)).collect();
        Document::new("0.0.0", &runs, &summarize(&runs)).to_json()
    };
    assert_eq!(text(), text());
}

fn measured(scenario: &Scenario, counts: &Measurements) -> Run {
    Setup { scenario, backend: "sim", cc: "lia", scheduler: "minrtt", seed: 1 }.measured(counts)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn rates_are_over_the_time_a_connection_was_open() {
    let scenario = scenario(TWO_PATHS);
    let mut counts = measurements(1);
    counts.connections[1].active_ns = 50 * SECOND;
    let run = measured(&scenario, &counts);
    close(run.connections[0].goodput_bps, 11e6);
    close(run.connections[1].goodput_bps, 13e6);
    close(run.connections[0].subflows[0].throughput_bps, 3e6);
    assert_eq!(run.connections[0].subflows[0].mean_rtt_ms, Some(15.0));
    assert_eq!(run.connections[0].subflows[0].mean_cwnd, Some(12.34));
    close(run.links[0].forward.utilization, 0.98);
    close(run.links[0].forward.mean_queue_packets, 25.5);
    assert_eq!(run.connections[0].cc, "lia");
    assert_eq!(run.connections[1].cc, "reno");
}

#[test]
fn a_connection_that_never_opened_has_no_rate_and_no_means() {
    let scenario = scenario(TWO_PATHS);
    let mut counts = measurements(1);
    counts.connections[1] =
        ConnectionCounts { subflows: vec![SubflowCounts::default()], ..ConnectionCounts::default() };
    let idle = &measured(&scenario, &counts).connections[1];
    assert_eq!(idle.goodput_bps.to_bits(), 0.0_f64.to_bits());
    assert_eq!((idle.subflows[0].mean_rtt_ms, idle.subflows[0].mean_cwnd), (None, None));
}

#[test]
fn a_period_has_its_own_figures_and_its_own_fair_shares() {
    let text = TWO_PATHS
        .replace("[parameters]", "periods = [\"0s..20s\", \"20s..50.5s\"]\n[parameters]")
        .replace("cc = \"reno\"", "cc = \"reno\"\nstart = \"20s\"");
    let scenario = scenario(&text);
    let mut counts = measurements(1);
    counts.periods = [2, 3].map(measurements).into();
    let run = measured(&scenario, &counts);
    let ids: Vec<&str> = run.periods.iter().map(|period| period.id.as_str()).collect();
    assert_eq!(ids, ["0s..20s", "20s..50500ms"]);
    close(run.periods[1].from_s, 20.0);
    close(run.periods[1].to_s, 50.5);
    close(run.periods[0].connections[0].goodput_bps, 12e6);
    close(run.periods[1].connections[0].goodput_bps, 13e6);
    // 15 Mbit/s are available until the other connection starts.
    let payload = payload(&scenario);
    let benefit = |share: f64, goodput: f64| (goodput - 10.0 * payload) / (share * payload);
    close(run.periods[0].metrics.aggregate_benefit.unwrap(), benefit(10.0, 12.0));
    close(run.periods[1].metrics.aggregate_benefit.unwrap(), benefit(5.0, 13.0));
    let summary = summarize(&[run]);
    close(summary[0].during("0s..20s", &Connection::goodput_bps, "mp0").unwrap().mean, 12e6);
    close(summary[0].get(&Connection::goodput_bps, "mp0").unwrap().mean, 11e6);
}

/// Payload per byte on the wire of MPTCP's default packets.
fn payload(scenario: &Scenario) -> f64 {
    let c = &scenario.connections[0];
    f64::from(c.mss) / f64::from(c.mss + c.data_header)
}

#[test]
fn a_background_flow_halves_what_is_available() {
    let scenario = scenario(TWO_PATHS);
    let payload = payload(&scenario);
    let Available { subflows, best, total } = &fair_shares(&scenario)[0];
    close(subflows[0], 5e6 * payload);
    close(subflows[1], 10e6 * payload);
    close(*best, 10e6 * payload);
    close(*total, 15e6 * payload);
    close(path_capacity(&scenario, 0).total, 20e6 * payload);
}

#[test]
fn subflows_at_one_bottleneck_share_one_flows_part() {
    let text = TWO_PATHS.replace("route = [\"b2\"]", "route = [\"b1\"]");
    let scenario = scenario(&text);
    let available = &fair_shares(&scenario)[0];
    close(available.subflows[0], 2.5e6 * payload(&scenario));
    close(available.subflows[1], 2.5e6 * payload(&scenario));
    close(fair_shares(&scenario)[1].total / 5e6, 1448.0 / 1500.0);
}

#[test]
fn what_is_available_is_weighted_with_the_time_a_competitor_is_there() {
    // Measured from 10 s to 110 s: active for 25 s of 100 s.
    let text = TWO_PATHS.replace("cc = \"reno\"", "cc = \"reno\"\nstart = \"60s\"\nstop = \"85s\"");
    let scenario = scenario(&text);
    let payload = payload(&scenario);
    close(fair_shares(&scenario)[0].subflows[0], (0.25 * 5e6 + 0.75 * 10e6) * payload);
    let competitor = &fair_shares(&scenario)[1];
    close(competitor.total / 5e6, 1448.0 / 1500.0);
}

#[test]
fn what_is_available_follows_a_route_that_changes() {
    let text = TWO_PATHS
        .replace("route = [\"b2\"]", "route = [\"b2\"]\nchange = [{ at = \"60s\", route = [\"b1\"] }]");
    let scenario = scenario(&text);
    let available = &fair_shares(&scenario)[0];
    // Half the time each has its path alone; half the time both are on the first, together with a TCP flow.
    let (b1, b2) = (10e6 / 2.0 * payload(&scenario), 10e6 * payload(&scenario));
    close(available.subflows[0], f64::midpoint(b1, b1 / 2.0));
    close(available.subflows[1], f64::midpoint(b2, b1 / 2.0));
    close(available.best, f64::midpoint(b2, b1 / 2.0));
}

#[test]
fn a_link_has_no_index_of_fairness_where_somebody_comes_or_goes() {
    let change = "route = [\"b2\"]\nchange = [{ at = \"60s\", route = [\"b1\"] }]";
    let text = TWO_PATHS.replace("route = [\"b2\"]", change);
    let text =
        text.replace("cooldown = \"10s\"", "cooldown = \"10s\"\nperiods = [\"10s..60s\", \"60s..110s\"]");
    let scenario = scenario(&text);
    let mut counts = measurements(1);
    counts.periods = [1, 2].map(measurements).into();
    let run = measured(&scenario, &counts);
    assert_eq!(run.metrics.jain_connections.len(), 0);
    let found = run.periods.iter().map(|period| period.metrics.jain_mptcp_subflows.contains_key("b1"));
    assert_eq!(found.collect::<Vec<bool>>(), [false, true]);
}

#[test]
fn a_connection_outside_the_measured_time_gets_and_takes_nothing() {
    let scenario = scenario(&TWO_PATHS.replace("cc = \"reno\"", "cc = \"reno\"\nstop = \"9s\""));
    let shares = fair_shares(&scenario);
    close(shares[0].subflows[0], 10e6 * payload(&scenario));
    assert_eq!((shares[1].total, shares[1].benefit(1e6)), (0.0, None));
}

#[test]
fn loss_on_the_wire_is_not_available() {
    let scenario = scenario(&TWO_PATHS.replace("delay = \"10ms\"", "delay = \"10ms\"\nloss = \"2%\""));
    close(fair_shares(&scenario)[0].subflows[1], 10e6 * 0.98 * payload(&scenario));
}

#[test]
fn fairness_counts_a_connection_once_and_a_subflow_once() {
    let text = TWO_PATHS.replace("route = [\"b2\"]", "route = [\"b1\"]");
    let metrics = run(&scenario(&text), 1).metrics;
    // Subflows with 3 and 9 Mbit/s beside a TCP flow with 7.
    close(metrics.jain_connections["b1"], 19.0 * 19.0 / (2.0 * (12.0 * 12.0 + 49.0)));
    close(metrics.jain_subflows["b1"], 19.0 * 19.0 / (3.0 * (9.0 + 81.0 + 49.0)));
    close(metrics.jain_mptcp_subflows["b1"], 12.0 * 12.0 / (2.0 * (9.0 + 81.0)));
    assert!(!metrics.jain_connections.contains_key("b2"), "nobody shares it");
}

#[test]
fn shares_are_percent_of_what_was_expected() {
    let metrics = run(&scenario(TWO_PATHS), 1).metrics;
    let share = |key: &str| metrics.share_of_expected_percent[key].unwrap();
    close(share("mp0.sf1"), 60.0);
    close(share("mp0.sf2"), 90.0);
    close(share("mp0"), 80.0);
    close(share("bg0"), 140.0);
}

#[test]
fn a_summary_leaves_failed_runs_out_and_counts_them() {
    let scenario = scenario(TWO_PATHS);
    let runs: Vec<Run> = (1..=3).map(|seed| run(&scenario, seed)).collect();
    let summary = &summarize(&runs)[..];
    assert_eq!(summary.len(), 1);
    assert_eq!((summary[0].runs, summary[0].failed), (3, 1));
    let goodput = summary[0].get(&Connection::goodput_bps, "mp0").unwrap();
    assert_eq!(goodput.n, 2);
    close(goodput.mean, 11.5e6);
    close(goodput.sd.unwrap(), 0.5e6 * 2.0_f64.sqrt());
    assert!(summary[0].get(&Subflow::mean_rtt_ms, "mp0.sf1").is_some());
    assert!(summary[0].get(&LinkDirection::packets, "b1.reverse").is_some());
    assert!(summary[0].get(&LinkDirection::rate_bps, "b1").is_none(), "given, not measured");
}

#[test]
fn runs_that_differ_in_more_than_the_seed_are_summarized_apart() {
    let scenario = scenario(TWO_PATHS);
    let mut other = run(&scenario, 1);
    other.cc = "olia".to_owned();
    let mut cell = run(&scenario, 1);
    cell.params["delay"] = "6ms".to_owned();
    assert_eq!(summarize(&[run(&scenario, 1), run(&scenario, 2), other, cell]).len(), 3);
    assert!(summarize(&[]).is_empty());
}

#[test]
fn transfers_are_late_after_their_deadline_and_not_judged_if_that_is_after_the_end() {
    const MS: u64 = 1_000_000;
    let traffic = "traffic = { kind = \"cbr\", rate = \"1mbit\", every = \"40ms\", deadline = \"100ms\" }\n";
    let text = TWO_PATHS.replace("cooldown = \"10s\"", "").replacen(
        "kind = \"mptcp\"\n",
        &format!("kind = \"mptcp\"\n{traffic}"),
        1,
    );
    let scenario = scenario(&text);
    assert_eq!(scenario.connections[0].deadline_ns, Some(100 * MS));
    let mut counts = measurements(1);
    let (begin, end) = (scenario.warmup_ns, scenario.duration_ns);
    let transfer = |start_ns, took: Option<u64>| Transfer {
        start_ns,
        end_ns: took.map(|took| start_ns + took),
        bytes: 5_000,
    };
    counts.connections[0].transfers = vec![
        transfer(begin, Some(100 * MS)),
        transfer(begin + MS, Some(100 * MS + 1)),
        transfer(begin + 2 * MS, None),
        transfer(begin + 3 * MS, Some(20 * MS)),
    ];
    let run = |counts: &Measurements| measured(&scenario, counts);
    let application = run(&counts).connections[0].application.clone().unwrap();
    let deadline = application.deadline.unwrap();
    assert_eq!((deadline.transfers, deadline.missed, deadline.missed_percent), (4, 2, Some(50.0)));
    for (start, judged) in [(end - 100 * MS, 4), (end - 100 * MS + 1, 3)] {
        counts.connections[0].transfers[3] = transfer(start, None);
        let application = run(&counts).connections[0].application.clone().unwrap();
        assert_eq!(application.deadline.unwrap().transfers, judged, "{start}");
    }
    assert!(run(&counts).connections[1].application.is_none());
}
