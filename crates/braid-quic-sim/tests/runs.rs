//! Scenarios on the QUIC stack.

use std::path::Path;

use braid_quic_sim::Quic;
use braid_results::Run;
use braid_results::measure::Measurements;
use braid_study::{Sim, Study};

const LINKS: &str = r#"
[link.a]
rate = "10mbit"
delay = "10ms"
queue = "50p"
[link.b]
rate = "5mbit"
delay = "20ms"
queue = "50p"
"#;

/// Runs a scenario once.
fn run(quic: Quic, name: &str, connections: &str, cc: &str) -> (Run, Measurements) {
    let text = format!(
        "title = \"t\"\nduration = \"8s\"\nnoise = \"none\"\nwarmup = \"2s\"\n{LINKS}\n{connections}"
    );
    let folder = std::env::temp_dir().join(format!("braid-quic-sim-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("s.toml");
    std::fs::write(&file, text).unwrap();
    let study = Study::new([file.to_str().unwrap()]).algorithms([cc]).backend(quic);
    let results = study.check().unwrap().execution().samples().collect().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let run = results.runs()[0].clone();
    assert!(!run.connections.is_empty(), "{run:?}");
    (run, results.measurements()[0].clone().unwrap())
}

fn mbit(run: &Run, connection: usize) -> f64 {
    run.connections[connection].goodput_bps / 1e6
}

const BOTH: &str =
    "[connection.m]\nkind = \"mptcp\"\nsubflow.one.route = [\"a\"]\nsubflow.two.route = [\"b\"]\n";

#[test]
fn both_paths_are_filled_by_an_uncoupled_algorithm() {
    let (run, measured) = run(Quic::default(), "fill", BOTH, "cubic");
    let throughput: f64 = run.connections[0].subflows.iter().map(|subflow| subflow.throughput_bps).sum();
    assert!(throughput > 0.95 * 15e6, "{throughput}");
    // Payload: headers of IP, UDP, QUIC and its frames, and the tag, add at most 5 %.
    assert!(mbit(&run, 0) > 0.90 * 15.0, "{}", mbit(&run, 0));
    let samples = &measured.connections[0].subflows[1].samples;
    assert!(samples.len() > 70 && samples.iter().all(|sample| sample.cwnd >= 2));
}

#[test]
fn the_same_seed_gives_the_same_bytes_of_results_and_of_qlog() {
    let folder = std::env::temp_dir().join(format!("braid-quic-sim-{}-qlog", std::process::id()));
    let once = |number: u32| {
        let folder = folder.join(number.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let (_, measured) = run(Quic { qlog: Some(folder.clone()) }, "same", BOTH, "olia");
        let file = |folder: &Path| std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        (measured, std::fs::read(file(&folder)).unwrap())
    };
    let (first, second) = (once(1), once(2));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(first.0, second.0);
    assert!(first.1.len() > 10_000 && first.1 == second.1, "{} bytes of qlog", first.1.len());

    // The fields that qvis reads: version and format at the top, then events in order, whose names have one of these
    // categories.
    let text = String::from_utf8(first.1).unwrap();
    let mut records = text.split_terminator('\u{1e}').skip(1);
    let header = records.next().unwrap();
    assert!(header.starts_with("{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\""), "{header}");
    assert!(header.contains("\"time_format\":\"relative\",\"reference_time\":0"), "{header}");
    let mut latest = 0.0;
    let mut metrics = 0;
    for record in records {
        let field = |key: &str| record.split_once(&format!("\"{key}\":")).map(|(_, rest)| rest);
        let time: f64 = field("time").unwrap().split(',').next().unwrap().parse().unwrap();
        let name = field("name").unwrap();
        let category = name.trim_start_matches('"').split(':').next().unwrap();
        assert!(time >= latest, "{time} after {latest}");
        assert!(["connectivity", "recovery", "security", "transport"].contains(&category), "{record}");
        metrics += u32::from(
            name.starts_with("\"recovery:metrics_updated\"") && record.contains("congestion_window"),
        );
        latest = time;
    }
    assert!(metrics > 100, "{metrics} windows");
}

#[test]
fn an_object_arrives_whole_and_ends_its_connection() {
    let object = format!("{BOTH}traffic = {{ kind = \"object\", size = \"2MB\" }}\n");
    let (_, measured) = run(Quic::default(), "object", &object, "lia");
    let transfer = measured.connections[0].transfers[0];
    assert_eq!(transfer.bytes, 2_000_000);
    let seconds = transfer.end_ns.expect("15 Mbit/s take a second or two") as f64 / 1e9;
    assert!((1.1..3.0).contains(&seconds), "{seconds}");
}

#[test]
fn requests_are_answered_one_after_the_other() {
    let traffic = "traffic = { kind = \"request-response\", request = \"300B\", response = \"50kB\", think = \"100ms\" }";
    let (_, measured) = run(Quic::default(), "requests", &format!("{BOTH}{traffic}\n"), "lia");
    let transfers = &measured.connections[0].transfers;
    assert!(transfers.len() > 20, "{}", transfers.len());
    let done = transfers.iter().filter(|transfer| transfer.end_ns.is_some()).count();
    assert!(done >= transfers.len() - 1 && transfers.iter().all(|transfer| transfer.bytes == 50_000));
    for pair in transfers.windows(2) {
        assert!(pair[1].start_ns >= pair[0].end_ns.unwrap() + 100_000_000, "thinks for 100 ms");
    }
}

#[test]
fn short_flows_are_connections_of_their_own_that_come_and_go() {
    let traffic = "traffic = { kind = \"poisson\", every = \"50ms\", size = \"20kB\", at-once = 4 }";
    let (run, measured) = run(Quic::default(), "poisson", &format!("{BOTH}{traffic}\n"), "lia");
    let transfers = &measured.connections[0].transfers;
    // 160 expected in 8 s, with random variation.
    assert!((110..=210).contains(&transfers.len()), "{}", transfers.len());
    let open = transfers.iter().filter(|transfer| transfer.end_ns.is_none()).count();
    assert!(open <= 8, "{open} of {} are not done", transfers.len());
    // A handshake and 20 kB take little more than two round trips of 20 ms, unless a transfer waits for a slot.
    let mut took: Vec<u64> =
        transfers.iter().filter_map(|transfer| Some(transfer.end_ns? - transfer.start_ns)).collect();
    took.sort_unstable();
    assert!((50_000_000..150_000_000).contains(&took[took.len() / 2]), "{}", took[took.len() / 2]);
    let at_once = |now: u64| {
        transfers
            .iter()
            .filter(|other| other.start_ns <= now && other.end_ns.is_none_or(|end| end > now))
            .count()
    };
    assert!(transfers.iter().any(|transfer| at_once(transfer.start_ns) > 1), "some overlap");
    // Data that arrived in the measured time: 20 kB each 50 ms is 3.2 Mbit/s.
    assert!((2.0..4.5).contains(&mbit(&run, 0)), "{}", mbit(&run, 0));
}

#[test]
fn an_on_off_application_pauses_and_its_network_soon_does() {
    let traffic = "traffic = { kind = \"on-off\", on = \"500ms\", off = \"500ms\" }";
    let (_, measured) = run(Quic::default(), "onoff", &format!("{BOTH}{traffic}\n"), "cubic");
    let turns = &measured.connections[0].transfers;
    assert!((7..=8).contains(&turns.len()), "{}", turns.len());
    for turn in &turns[..turns.len() - 1] {
        let lasted = turn.end_ns.expect("over before the next") - turn.start_ns;
        // At a pause, the data in flight takes a round trip with full queues, and its retransmissions another.
        assert!((500_000_000..850_000_000).contains(&lasted), "{lasted}");
        // 15 Mbit/s for half a second is 940 kB.
        assert!((300_000..1_200_000).contains(&turn.bytes), "{}", turn.bytes);
    }
}

#[test]
fn writes_at_a_constant_rate_arrive_one_by_one() {
    let traffic = "traffic = { kind = \"cbr\", rate = \"2mbit\", every = \"4ms\" }";
    let (run, measured) = run(Quic::default(), "cbr", &format!("{BOTH}{traffic}\n"), "lia");
    assert!((mbit(&run, 0) - 2.0).abs() < 0.05, "{}", mbit(&run, 0));
    let writes = &measured.connections[0].transfers;
    assert_eq!(writes[9].start_ns - writes[8].start_ns, 4_000_000, "8000 bits at 2 Mbit/s");
    let late = writes.iter().filter_map(|write| Some(write.end_ns? - write.start_ns)).max().unwrap();
    // One-way delay is 10 ms on the fastest path, which has room for all of it.
    assert!((10_000_000..40_000_000).contains(&late), "{late}");
}

#[test]
fn bursts_at_a_rate_are_as_large_as_the_rate_says() {
    let traffic = "traffic = { kind = \"on-off\", on = \"400ms\", off = \"600ms\", rate = \"2mbit\" }";
    let (_, measured) = run(Quic::default(), "bursts", &format!("{BOTH}{traffic}\n"), "lia");
    let turns = &measured.connections[0].transfers;
    for turn in &turns[..turns.len() - 1] {
        assert!((100_000..102_000).contains(&turn.bytes), "400 ms of 2 Mbit/s, {}", turn.bytes);
        assert!((400_000_000..500_000_000).contains(&(turn.end_ns.unwrap() - turn.start_ns)));
    }
}

#[test]
fn a_path_that_fails_and_comes_back_leaves_the_other_to_carry_everything() {
    let up = format!("{BOTH}subflow.two.up = [\"0s..3s\", \"5s..8s\"]\n");
    let (run, measured) = run(Quic::default(), "fails", &up, "cubic");
    assert!(mbit(&run, 0) > 11.0, "{}", mbit(&run, 0));
    let received = |second: u64| {
        let samples = &measured.connections[0].subflows[1].samples;
        let before = samples.iter().rfind(|sample| sample.time_ns <= second * 1_000_000_000);
        before.map_or(0, |sample| sample.received_bytes)
    };
    assert!(received(3) > 500_000, "{}", received(3));
    assert!(received(8) > received(3) + 1_000_000, "it is used again: {} {}", received(3), received(8));
}

#[test]
fn a_path_that_migrates_goes_on_with_its_window() {
    let moved = "change = [{ at = \"4s\", route = [\"b\"] }]";
    let one =
        format!("[connection.m]\nkind = \"mptcp\"\n[connection.m.subflow.one]\nroute = [\"a\"]\n{moved}\n");
    let (run, measured) = run(Quic::default(), "moves", &one, "cubic");
    // 2 s at 10 and 4 s at 5 Mbit/s.
    assert!(mbit(&run, 0) > 0.85 * 6.67, "{}", mbit(&run, 0));
    let samples = &measured.connections[0].subflows[0].samples;
    let at = |ms: u64| samples.iter().rfind(|sample| sample.time_ns <= ms * 1_000_000).unwrap();
    assert!(at(4_000).ssthresh.is_some() && at(4_200).ssthresh == at(4_000).ssthresh, "not a new controller");
}

#[test]
fn tcp_beside_it_is_the_simulators_own_and_shares() {
    let shared = "[connection.m]\nkind = \"mptcp\"\nsubflow.one.route = [\"a\"]\nsubflow.two.route = [\"a\"]\n\
                  [connection.t]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"a\"]\n";
    let (coupled, _) = run(Quic::default(), "shared1", shared, "lia");
    let (uncoupled, _) = run(Quic::default(), "shared2", shared, "reno");
    assert!(mbit(&coupled, 1) > 3.0, "{}", mbit(&coupled, 1));
    assert!(mbit(&coupled, 0) < mbit(&uncoupled, 0), "coupling takes less");
}

#[test]
fn what_it_cannot_do_is_refused_before_anything_runs() {
    let refused = |scenario: &str, set: &str| {
        let study = Study::new([scenario]).algorithms(["lia"]).set(set).backend(Quic::default());
        study.check().err().expect("refused").to_string()
    };
    assert!(refused("d-olia/1", "duration=0s").len() > 10);
    let study = Study::new(["d-olia/1"]).algorithms(["lia"]).schedulers(["minrtt"]).backend(Quic::default());
    assert!(study.check().err().unwrap().to_string().contains("minrtt"));
}

#[test]
fn it_agrees_with_the_simulators_tcp_in_d_olia_1() {
    let rates = |study: Study| {
        let results =
            study.set("duration=10s").algorithms(["cubic"]).check().unwrap().execution().collect().unwrap();
        results.runs()[0].connections[0]
            .subflows
            .iter()
            .map(|subflow| subflow.throughput_bps)
            .collect::<Vec<_>>()
    };
    let quic = rates(Study::new(["d-olia/1"]).backend(Quic::default()));
    let sim = rates(Study::new(["d-olia/1"]).backend(Sim));
    for (quic, sim) in quic.iter().zip(&sim) {
        assert!((quic - sim).abs() < 0.1 * sim, "{quic} {sim}");
    }
}
