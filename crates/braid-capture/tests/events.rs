//! The event log: well-formed, complete, reproducible, and without influence on the run.

mod common;

use std::collections::BTreeMap;

use braid_capture::events::EventLog;
use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;
use braid_testing::fits_schema;
use serde_json::Value;

use common::{applications, observe, run, scenario};

fn log() -> (Measurements, Vec<u8>) {
    log_of(&scenario(&[]))
}

fn log_of(scenario: &Scenario) -> (Measurements, Vec<u8>) {
    let mut log = EventLog::new(scenario, "a title", Vec::new()).unwrap();
    let counts = observe(scenario, &mut log);
    (counts, log.finish().unwrap())
}

/// RFC 7464: a record separator, a JSON text, a line feed.
fn records(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
    text[1..]
        .split('\u{1e}')
        .map(|record| serde_json::from_str(record.strip_suffix('\n').unwrap()).unwrap())
        .collect()
}

#[test]
fn every_record_is_as_its_schema_says() {
    let records = [records(&log().1), records(&log_of(&applications()).1)].concat();
    assert!(records.len() > 1000);
    fits_schema("events", &records);
    let spoiled = serde_json::json!({"time": 1.0, "name": "tcp:undone", "group_id": "mp0/sf1", "data": {}});
    assert!(std::panic::catch_unwind(|| fits_schema("events", &[spoiled])).is_err(), "the schema can say no");
    assert_eq!(records[0]["serialization_format"], "application/qlog+json-seq");
    assert_eq!(records[0]["title"], "a title");
}

#[test]
fn it_tells_of_everything_that_was_counted() {
    let (counts, bytes) = log();
    let records = records(&bytes);
    let mut told: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for record in &records[1..] {
        let data = &record["data"];
        let kind = data["trigger"].as_str().or(data["timer_type"].as_str()).unwrap_or_default();
        let name = record["name"].as_str().unwrap();
        let name = if kind.is_empty() { name.to_owned() } else { format!("{name} {kind}") };
        *told.entry((record["group_id"].as_str().unwrap(), name)).or_default() += 1;
    }
    let told = |group: &str, name: &str| {
        told.iter().find(|(key, _)| key.0 == group && key.1 == name).map_or(0, |(_, n)| *n)
    };
    for (connection, subflow, group) in
        [(0, 0, "mp0/sf1"), (0, 1, "mp0/sf2"), (1, 0, "tcp0/sf1"), (2, 0, "ecn0/sf1")]
    {
        let counts = &counts.connections[connection].subflows[subflow];
        assert_eq!(told(group, "tcp:packet_retransmitted"), counts.retransmissions, "{group}");
        assert_eq!(told(group, "tcp:congestion_episode_started loss"), counts.fast_retransmits, "{group}");
        assert_eq!(told(group, "tcp:congestion_episode_started ecn"), counts.ecn_reductions, "{group}");
        assert_eq!(told(group, "tcp:timer_expired retransmission"), counts.timeouts, "{group}");
        assert_eq!(told(group, "tcp:congestion_episode_undone"), counts.undos, "{group}");
    }
    let reinjected = told("mp0/sf1", "mptcp:data_reinjected") + told("mp0/sf2", "mptcp:data_reinjected");
    assert_eq!(reinjected, counts.connections[0].reinjections);
    let [sf1, sf2] = [0, 1].map(|subflow| &counts.connections[0].subflows[subflow]);
    assert!(sf1.fast_retransmits > 0 && sf2.timeouts > 0 && reinjected > 0, "the run has them");
    assert!(counts.connections[2].subflows[0].ecn_reductions > 0, "the run has them");
    assert!(told("mp0/sf2", "tcp:packet_lost retransmission_timeout") > 0);
    assert!(told("mp0/sf1", "tcp:packet_lost rack") > 0);
}

#[test]
fn every_packet_of_the_connection_is_scheduled_once_and_in_order() {
    let (counts, bytes) = log();
    let mut next = 0;
    for record in records(&bytes).iter().filter(|record| record["name"] == "mptcp:data_scheduled") {
        assert_eq!(record["data"]["first_data_number"], next);
        next = record["data"]["last_data_number"].as_u64().unwrap() + 1;
    }
    assert!(next * 1420 >= counts.connections[0].goodput_bytes && next > 1000);
}

#[test]
fn short_flows_and_lives_of_a_subflow_are_told_one_by_one() {
    let (counts, bytes) = log_of(&applications());
    let records = records(&bytes);
    let states = |group: &str| -> Vec<&str> {
        let of = records[1..].iter().filter(|record| record["group_id"] == group);
        let mut states: Vec<&str> = of.filter_map(|record| record["data"]["state"].as_str()).collect();
        // A lost packet of a handshake is retransmitted.
        states.dedup();
        states
    };
    assert_eq!(states("mice.0/sf1")[..2], ["opening", "established"]);
    assert_eq!(states("walk/sf1")[..3], ["opening", "established", "closed"]);
    assert_eq!(states("walk/sf1")[3..], ["opening", "joining", "established", "closed"]);
    let complete =
        counts.connections[1].transfers.iter().filter(|transfer| transfer.end_ns.is_some()).count();
    let closed = records[1..].iter().filter(|record| {
        let group = record["group_id"].as_str().unwrap();
        group.starts_with("mice.") && group.ends_with("/sf1") && record["data"]["state"] == "closed"
    });
    assert_eq!((closed.count(), complete > 20), (complete, true));
    let requested: u64 = records[1..]
        .iter()
        .filter(|record| record["name"] == "app:request_received")
        .map(|record| record["data"]["bytes"].as_u64().unwrap())
        .sum();
    let answered =
        counts.connections[2].transfers.iter().filter(|transfer| transfer.end_ns.is_some()).count();
    assert!(requested >= 3_000 * answered as u64 && answered > 50, "{requested} {answered}");
}

#[test]
fn times_never_go_back() {
    for bytes in [log().1, log_of(&applications()).1] {
        let records = records(&bytes);
        let times: Vec<f64> = records[1..].iter().map(|record| record["time"].as_f64().unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_and_is_not_changed_by_being_watched() {
    let (counts, bytes) = log();
    let (again, same) = log();
    assert!(counts == again && bytes == same);
    assert!(counts == run(&scenario(&[])));

    let (counts, bytes) = log_of(&applications());
    let (again, same) = log_of(&applications());
    assert!(counts == again && bytes == same && counts == run(&applications()));
}
