//! Valid files and their meaning.
#![allow(clippy::float_cmp, reason = "the numbers compared are exact")]

use std::fmt::{Debug, Write as _};
use std::path::PathBuf;
use std::{fs, iter};

use braid_algorithms::Spec;
use braid_scenario::model::{Direction, Kind, Loss, Programs, QueueLimit, Reroute, Scenario, Traffic};
use braid_scenario::{File, Source, embedded, load, topology};
use braid_testing::model::parse;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn open(name: &str, set: &[&str]) -> File {
    let source = Source::find(name).unwrap_or_else(|error| panic!("{error}"));
    let set: Vec<String> = set.iter().map(|&s| s.to_owned()).collect();
    load(&source, &set).unwrap_or_else(|error| panic!("{error}"))
}

/// Round-trip propagation delay of a subflow's route.
fn propagation_ns(scenario: &Scenario, connection: usize, subflow: usize) -> u64 {
    let route = &scenario.connections[connection].subflows[subflow].route;
    route
        .iter()
        .map(|&link| scenario.links[link].forward.delay_ns + scenario.links[link].reverse.delay_ns)
        .sum()
}

#[test]
fn every_embedded_scenario_loads_and_tells_its_story() {
    let names: Vec<&str> = embedded().map(|summary| summary.name).collect();
    for name in
        ["d-olia/1", "d-olia/2", "d-olia/3", "d-olia/motivation", "analysis/disjoint", "everyday/dual-wan"]
    {
        assert!(names.contains(&name), "{name} is missing");
    }
    for summary in embedded() {
        let file = open(summary.name, &[]);
        assert_eq!(summary.title, file.title);
        assert!(summary.story.lines().count() > 2, "{}: the story is too short", summary.name);
        assert!(summary.picture.lines().count() > 2, "{}: no picture", summary.name);
        assert!(!file.cc.is_empty(), "{}: nothing to compare", summary.name);
        assert!(file.cells.iter().all(|cell| cell.name == summary.name));
        let wide =
            summary.story.lines().chain(summary.picture.lines()).find(|line| line.chars().count() > 120);
        assert_eq!(wide, None, "{}", summary.name);
    }
}

#[test]
fn every_file_of_the_repository_is_embedded() {
    fn files(folder: PathBuf) -> Box<dyn Iterator<Item = PathBuf>> {
        Box::new(fs::read_dir(folder).unwrap().flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { files(path) } else { Box::new(iter::once(path)) }
        }))
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut found = 0;
    for path in files(root.clone()).filter(|path| path.extension().is_some_and(|e| e == "toml")) {
        let name = path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().to_owned();
        let source = Source::embedded(&name).unwrap_or_else(|| panic!("{name} is not embedded"));
        assert_eq!(source.text, Source::read(&path).unwrap().text);
        found += 1;
    }
    assert_eq!(found, embedded().count());
}

#[test]
fn d_olia_has_the_round_trip_times_of_the_paper() {
    for (name, expected) in [
        ("d-olia/1", vec![vec![14, 24]]),
        ("d-olia/motivation", vec![vec![14, 24]]),
        ("d-olia/2", vec![vec![14, 14], vec![14]]),
        ("d-olia/3", vec![vec![18, 18, 18, 18], vec![18]]),
        ("d-olia/scalable", vec![vec![18, 18, 18, 18], vec![18], vec![18], vec![18], vec![18], vec![18]]),
    ] {
        let cell = &open(name, &[]).cells[0];
        let found: Vec<Vec<u64>> = (0..cell.connections.len())
            .map(|c| {
                (0..cell.connections[c].subflows.len()).map(|s| propagation_ns(cell, c, s) / MS).collect()
            })
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn d_olia_has_the_fair_shares_of_the_paper() {
    for (name, expected) in [
        ("d-olia/1", vec![10e6, 5e6]),
        ("d-olia/2", vec![5e6, 10e6]),
        ("d-olia/3", vec![2.5e6, 2.5e6, 5e6, 5e6]),
    ] {
        let shares: Vec<f64> =
            topology::paths(&open(name, &[]).cells[0])[0].iter().map(|path| path.available_bps).collect();
        assert_eq!(shares, expected, "{name}");
    }
}

#[test]
fn ba_mpcubic_has_the_shares_that_the_paper_expects() {
    for (name, expected) in [
        ("ba-mpcubic/1", vec![5e6, 5e6]),
        ("ba-mpcubic/2", vec![2.5e6, 2.5e6]),
        ("ba-mpcubic/3", vec![5e6, 4e6, 4e6]),
        ("ba-mpcubic/4", vec![2.5e6, 8e6, 2.5e6]),
    ] {
        for cell in &open(name, &[]).cells {
            let shares: Vec<f64> = topology::paths(cell)[0].iter().map(|path| path.available_bps).collect();
            assert_eq!(shares, expected, "{name}");
        }
    }
}

#[test]
fn d_olia_loses_packets_both_ways_at_the_bottleneck_only() {
    let cell = &open("d-olia/1", &[]).cells[0];
    for link in &cell.links {
        let expected = match link.name.as_str() {
            "b1" => Loss::Bernoulli(0.001),
            "b2" => Loss::Bernoulli(0.002),
            _ => Loss::None,
        };
        assert_eq!((link.forward.loss, link.reverse.loss), (expected, expected), "{}", link.name);
    }
}

#[test]
fn the_analysis_cells_are_those_of_the_tables() {
    let file = open("analysis/disjoint", &[]);
    let cells: Vec<Vec<&str>> =
        file.cells.iter().map(|cell| cell.parameters.values().map(String::as_str).collect()).collect();
    let mut expected = Vec::new();
    for bandwidth in ["12mbit", "24mbit"] {
        for (rtt1, rtt2) in [
            ("10ms", "10ms"),
            ("10ms", "20ms"),
            ("10ms", "30ms"),
            ("50ms", "50ms"),
            ("50ms", "100ms"),
            ("50ms", "150ms"),
        ] {
            expected.push(vec![bandwidth, rtt1, rtt2]);
        }
    }
    assert_eq!(cells, expected);
    assert_eq!(open("analysis/shared", &[]).cells.len(), 12);
    assert_eq!(file.cells[0].parameters.keys().collect::<Vec<_>>(), ["bandwidth", "rtt1", "rtt2"]);
}

#[test]
fn the_analysis_cells_have_the_expected_shares_and_round_trip_times_of_the_paper() {
    for (name, shares) in [("analysis/disjoint", [0.5, 1.0, 0.5]), ("analysis/shared", [0.25, 0.25, 0.5])] {
        for cell in &open(name, &[]).cells {
            let number = |key: &str| -> f64 {
                let text = cell.parameters[key].trim_end_matches(char::is_alphabetic);
                text.parse().unwrap()
            };
            let rate = number("bandwidth") * 1e6;
            let found: Vec<f64> =
                topology::paths(cell).concat().iter().map(|path| path.available_bps).collect();
            assert_eq!(found, shares.map(|share| share * rate), "{name} {:?}", cell.parameters);
            for (connection, subflow, rtt) in [(0, 0, "rtt1"), (0, 1, "rtt2"), (1, 0, "rtt1")] {
                assert_eq!(
                    propagation_ns(cell, connection, subflow) as f64,
                    number(rtt) * 1e6,
                    "{name} {rtt}"
                );
            }
            assert_eq!((cell.duration_ns, cell.warmup_ns, cell.cooldown_ns), (600 * S, 30 * S, 30 * S));
        }
    }
}

#[test]
fn the_window_growth_of_the_analysis_has_its_six_topologies() {
    let cells = open("analysis/growth", &[]).cells;
    let of = |cell: &Scenario| {
        let tcp = &cell.links[cell.connections[1].subflows[0].route[0]];
        (tcp.name.clone(), propagation_ns(cell, 0, 1) / MS, propagation_ns(cell, 1, 0) / MS)
    };
    let found: Vec<(String, u64, u64)> = cells.iter().map(of).collect();
    let expected = ["alone", "b1"].map(|link| [100, 200, 300].map(|rtt| (link.to_owned(), rtt, 100)));
    assert_eq!(found, expected.concat());
    for cell in &cells {
        // 40 packets of 1500 bytes in 100 ms; 600 cycles.
        assert!(cell.links.iter().all(|link| link.forward.rate_bps * 100 * MS == 40 * 1500 * 8 * S));
        assert!(cell.links.iter().all(|link| link.forward.queue == QueueLimit::Packets(80)));
        assert_eq!(cell.duration_ns, 600 * 100 * MS);
    }
}

#[test]
fn the_periods_of_the_scalable_scenario_are_the_rows_of_its_table() {
    let cell = &open("d-olia/scalable", &[]).cells[0];
    let expected: Vec<(u64, u64)> = (0..9).map(|row| (20 * row * S, 20 * (row + 1) * S)).collect();
    assert_eq!(cell.periods, expected);
}

const SMALL: &str = r#"
title = "small"
duration = "10s"
[link.b1]
rate = "10mbit"
delay = "5ms"
queue = "100p"
[link.near]
rate = "100mbit"
rtt = "3ns"
queue = "64KiB"
private = true
[connection.tcp0]
kind = "tcp"
route = ["near", "b1", "near"]
[connection.mp0]
kind = "mptcp"
subflow.a.route = ["b1"]
subflow.b.route = ["near", "b1"]
"#;

#[test]
fn what_is_not_given_has_its_documented_default() {
    let cell = parse(SMALL);
    assert_eq!((cell.duration_ns, cell.warmup_ns, cell.cooldown_ns), (10 * S, 0, 0));
    assert!(cell.parameters.is_empty());
    let [tcp, mptcp] = cell.connections.as_slice() else { panic!("two connections") };
    assert_eq!((tcp.kind, tcp.mss, tcp.data_header, tcp.ack_size), (Kind::Tcp, 1448, 52, 52));
    assert_eq!((mptcp.kind, mptcp.mss, mptcp.data_header, mptcp.ack_size), (Kind::Mptcp, 1420, 80, 64));
    for connection in [tcp, mptcp] {
        assert_eq!(connection.cc, None);
        assert_eq!((connection.start_ns, connection.stop_ns), (0, None));
        assert_eq!((connection.initial_window, connection.ecn, connection.delayed_ack), (10, false, true));
        assert!(connection.subflows.iter().all(|subflow| subflow.join_delay_ns.is_none() && !subflow.backup));
    }
    assert_eq!(tcp.subflows[0].name, "sf1");
    let b1 = &cell.links[0];
    // Only data packets are delayed at random.
    assert_eq!(Direction { noise_ns: 0, ..b1.forward.clone() }, b1.reverse);
    assert_eq!(b1.forward.loss, Loss::None);
    assert_eq!((b1.forward.jitter_ns, b1.forward.ecn_threshold), (0, None));
    assert!(b1.forward.outages.is_empty());
}

/// The fields of a structure, a line each, without the nested ones that are None.
fn fields(value: &impl Debug) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for line in format!("{value:#?}").lines().skip(1) {
        let begins = line.starts_with("    ") && !line[4..].starts_with([' ', '}', ']', ')']);
        if begins {
            fields.push(line.trim().to_owned());
        } else if let Some(field) = fields.last_mut().filter(|_| !line.ends_with(": None,")) {
            *field += line.trim();
        }
    }
    fields
}

#[test]
fn every_key_means_what_the_manual_says() {
    let small = format!("noise = \"none\"{SMALL}");
    let base = parse(&small);
    let mut manual = String::new();
    let mut line = "";
    for keys in include_str!("meanings.txt").trim_end().split("\n\n") {
        if let Some(after) = keys.strip_prefix("After ") {
            line = after;
        } else {
            let own = parse(&small.replacen(line, &format!("{line}\n{keys}"), 1));
            writeln!(manual, "## {keys}").unwrap();
            let mut differences = |name: &str, own: Vec<String>, base: Vec<String>| {
                for field in own.into_iter().filter(|field| !base.contains(field)) {
                    writeln!(manual, "{name}: {field}").unwrap();
                }
            };
            for (own, base) in own.links.iter().zip(&base.links) {
                differences(&own.name, fields(&own.forward), fields(&base.forward));
                differences(&format!("{}, back", own.name), fields(&own.reverse), fields(&base.reverse));
            }
            for (own, base) in own.connections.iter().zip(&base.connections) {
                differences(&own.name, fields(own), fields(base));
            }
            let alone =
                |scenario: &Scenario| Scenario { links: vec![], connections: vec![], ..scenario.clone() };
            differences("scenario", fields(&alone(&own)), fields(&alone(&base)));
            manual.push('\n');
        }
    }
    insta::assert_snapshot!("meanings", manual);
}

fn traffic(value: &str) -> Traffic {
    let text = SMALL.replacen("kind = \"tcp\"", &format!("kind = \"tcp\"\ntraffic = {value}"), 1);
    parse(&text).connections[0].traffic.clone()
}

#[test]
fn programs_are_taken_as_they_are_named_and_the_client_sends() {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let programs = |value: &str| match traffic(value) {
        Traffic::Program(programs) => (*programs).clone(),
        other => panic!("{other:?}"),
    };
    let both = "server = [\"iperf3\", \"-s\"], client = [\"iperf3\", \"-c\", \"{server}\"]";
    let mut expected = Programs {
        server: words(&["iperf3", "-s"]),
        client: words(&["iperf3", "-c", "{server}"]),
        server_sends: false,
        files: Vec::new(),
    };
    assert_eq!(programs(&format!("{{ kind = \"program\", {both} }}")), expected);
    expected.server_sends = true;
    let here = format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    expected.files = vec![(here.clone(), here.clone().into())];
    let value = format!("{{ kind = \"program\", {both}, sender = \"server\", files = [\"{here}\"] }}");
    assert_eq!(programs(&value), expected);
}

#[test]
fn who_does_not_always_have_something_to_send_takes_no_fair_share() {
    let shares = |text: &str| -> Vec<f64> {
        topology::paths(&parse(text)).concat().iter().map(|path| path.available_bps).collect()
    };
    assert_eq!(shares(SMALL), [5e6, 2.5e6, 2.5e6]);
    let object = "kind = \"tcp\"\ntraffic = { kind = \"object\", size = \"1MB\" }";
    assert_eq!(shares(&SMALL.replacen("kind = \"tcp\"", object, 1)), [5e6, 5e6, 5e6]);
}

#[test]
fn private_links_are_copied_for_every_hop_that_names_them() {
    let cell = parse(SMALL);
    let names: Vec<&str> = cell.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["b1", "near@tcp0.sf1.1", "near@tcp0.sf1.3", "near@mp0.b.1"]);
    assert_eq!(cell.connections[0].subflows[0].route, [1, 0, 2]);
    assert_eq!(cell.connections[1].subflows[0].route, [0]);
    assert_eq!(cell.connections[1].subflows[1].route, [3, 0]);
    assert!(cell.links.iter().all(|link| link.private == link.name.contains('@')));
    assert_eq!(cell.links[1].forward.queue, QueueLimit::Bytes(65536));
}

#[test]
fn an_odd_round_trip_time_is_kept_to_the_nanosecond() {
    let near = &parse(SMALL).links[1];
    assert_eq!((near.forward.delay_ns, near.reverse.delay_ns), (1, 2));
}

#[test]
fn a_trace_stands_for_a_rate_and_comes_with_braid_or_from_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("traces")).unwrap();
    fs::write(folder.path().join("traces/slow.trace"), "10\n20\n").unwrap();
    let text =
        SMALL.replacen("rate = \"10mbit\"", "trace = \"traces/slow.trace\"\nreverse.rate = \"1mbit\"", 1);
    assert_ne!(text, SMALL);
    let path = folder.path().join("x.toml");
    fs::write(&path, &text).unwrap();
    let read = |set: &[String]| load(&Source::read(&path).unwrap(), set).unwrap().cells.remove(0);
    let cell = read(&[]);
    let b1 = cell.links.iter().find(|link| link.name == "b1").unwrap();
    assert_eq!((b1.forward.rate_bps, b1.reverse.rate_bps), (1_200_000, 1_000_000));
    assert_eq!(b1.forward.trace.as_ref().map(|trace| trace.period_ns()), Some(20 * MS));
    assert_eq!(b1.reverse.trace, None);
    let cell = read(&["link.b1.trace=lte-drive".to_owned()]);
    let b1 = cell.links.iter().find(|link| link.name == "b1").unwrap();
    assert_eq!(b1.forward.trace.as_ref().map(|trace| trace.name.as_str()), Some("lte-drive"));
    let first = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        let b1 = read(&set).links.into_iter().find(|link| link.name == "b1").unwrap();
        [b1.forward, b1.reverse].map(|direction| direction.trace.map(|trace| trace.time_ns(0) / MS))
    };
    let back = "link.b1.reverse={ trace = \"traces/slow.trace\" }";
    assert_eq!(first(&["link.b1.trace-start=3ms"]), [Some(7), None]);
    assert_eq!(first(&["link.b1.trace-start=3ms", "link.b1.reverse={}"]), [Some(7), Some(7)]);
    assert_eq!(first(&["link.b1.trace-start=3ms", back]), [Some(7), Some(10)]);
    assert_eq!(first(&["link.b1.reverse={ trace-start = \"4ms\" }"]), [Some(10), Some(6)]);
}

#[test]
fn a_trace_that_cannot_be_read_gets_a_message_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("empty.trace", b"");
    write("junk.trace", b"1\n2\nthree\n");
    write("back.trace", b"1\n3\n2\n");
    write("blank.trace", b"1\n\n2\n");
    write("zero.trace", b"0\n0\n");
    write("float.trace", b"1\n1.5\n");
    write("far.trace", b"1\n99999999999\n");
    write("binary.trace", b"1\n2\n\xff\xfe\x00\n");
    fs::create_dir(folder.path().join("folder.trace")).unwrap();
    fs::File::create(folder.path().join("gigantic.trace")).unwrap().set_len(1 << 30).unwrap();
    let mut manual = String::new();
    let names = "empty.trace junk.trace back.trace blank.trace zero.trace float.trace far.trace binary.trace folder.trace \
                 gigantic.trace missing.trace lte-drift nowhere /dev/zero";
    for name in names.split(' ') {
        let text = SMALL.replacen("rate = \"10mbit\"", &format!("trace = {name:?}"), 1);
        let path = folder.path().join("x.toml");
        fs::write(&path, text).unwrap();
        let error = load(&Source::read(&path).unwrap(), &[]).unwrap_err().to_string();
        let error = error.replace(&format!("{}/", folder.path().display()), "");
        assert!(error.contains("link.b1.trace: ") && error.contains("hint: "), "{name}: {error}");
        writeln!(manual, "## {name}\n{error}\n").unwrap();
    }
    insta::assert_snapshot!("traces", manual);
}

#[test]
fn a_subflow_that_moves_takes_its_private_links_along() {
    let more = "change = [{ at = \"1s\", route = [\"near\", \"b2\", \"near\"] }, \
                { at = \"2s\", return-route = [\"b1\", \"near\"] }, \
                { at = \"3s\", route = [\"near\", \"near\", \"b2\", \"near\"] }]\n";
    let b2 = "[link.b2]\nrate = \"1mbit\"\ndelay = \"30ms\"\nqueue = \"9p\"\n\n[connection.tcp0]";
    let text =
        SMALL.replace("[connection.tcp0]", b2).replace("kind = \"tcp\"", &format!("kind = \"tcp\"\n{more}"));
    let cell = parse(&text);
    let names =
        |route: &[usize]| route.iter().map(|&link| cell.links[link].name.as_str()).collect::<Vec<_>>();
    let tcp = &cell.connections[0].subflows[0];
    assert_eq!(names(&tcp.route), ["near@tcp0.sf1.1", "b1", "near@tcp0.sf1.3"]);
    let [Reroute { at_ns: S, forward: Some(there), reverse: Some(back) }, second, third] = &tcp.reroutes[..]
    else {
        panic!("{:?}", tcp.reroutes)
    };
    assert_eq!(names(there), ["near@tcp0.sf1.1", "b2", "near@tcp0.sf1.3"]);
    assert_eq!(back, there);
    assert_eq!(second.forward, None);
    assert_eq!(names(second.reverse.as_ref().unwrap()), ["b1", "near@tcp0.sf1.1"]);
    let third = names(third.forward.as_ref().unwrap());
    assert_eq!(third, ["near@tcp0.sf1.1", "near@tcp0.sf1.3", "b2", "near@tcp0.sf1.change3.4"]);
}

#[test]
fn the_default_receive_buffer_holds_the_fastest_rate_over_the_longest_way() {
    let buffer = |change: &str| {
        let text = SMALL.replacen("\"100p\"", &format!("\"10000p\"\nchange = [{change}]"), 1);
        parse(&text).connections[1].receive_buffer
    };
    let same = buffer("{ at = \"1s\", loss = 0.1 }");
    // 10 Mbit/s on b1 and 10 of near and b1, times 2 x 20 ms more, times 4, in bytes.
    let longer = buffer("{ at = \"1s\", delay = \"25ms\" }");
    assert_eq!(longer - same, 4 * 20_000_000 / 8 * 40 / 1000);
    assert!(buffer("{ at = \"1s\", rate = \"20mbit\" }") > same);
    assert!(buffer("{ at = \"1s\", rate = \"5mbit\" }") > same, "a full queue takes longer to empty");
}

#[test]
fn the_default_receive_buffer_is_four_times_what_full_queues_hold() {
    let text = SMALL.replace("\"100p\"", "\"10000p\"");
    let tcp = &parse(&text).connections[0];
    // 10 Mbit/s times (queue of b1: 10000 x 1.2 ms, queues of near: 2 x 5.24288 ms, base 11.528 ms), times 4, in bytes.
    let base = 10 * MS + 6 + 2 * (120_000 + 4160) + 1_200_000 + 41_600;
    let full_ns = base + 10_000 * 1_200_000 + 2 * 5_242_880;
    assert_eq!(tcp.receive_buffer, 4 * full_ns / 800);
    assert_eq!(parse(SMALL).connections[0].receive_buffer, 6 << 20, "never below what Linux allows");
    let absurd = SMALL.replace("\"100p\"", "\"4000000000p\"");
    assert_eq!(parse(&absurd).connections[0].receive_buffer, 1 << 30, "never above what TCP can announce");
    let given = SMALL.replace("kind = \"tcp\"", "kind = \"tcp\"\nreceive-buffer = \"64kB\"");
    assert_eq!(parse(&given).connections[0].receive_buffer, 64_000);
}

#[test]
fn topology_facts_follow_from_the_links() {
    let cell = parse(SMALL);
    let paths = topology::paths(&cell);
    assert!(paths.concat().iter().all(|path| path.bottleneck == 0));
    assert_eq!(paths[0][0].available_bps, 5e6, "two connections share b1");
    assert_eq!(paths[1][0].available_bps, 2.5e6, "and one of them with two subflows");
    assert_eq!(paths[1][0].base_rtt_ns, 10 * MS + 1_200_000 + 51_200);
    assert_eq!(topology::serialisation_ns(1500, 7), 1_714_285_714_286);
}

#[test]
fn the_first_of_equal_links_is_the_bottleneck() {
    let cell = parse(&SMALL.replace("\"100mbit\"", "\"10mbit\""));
    let name = |path: topology::Path| cell.links[path.bottleneck].name.clone();
    assert_eq!(name(topology::paths(&cell)[0][0]), "near@tcp0.sf1.1");
}

#[test]
fn assignments_replace_and_add() {
    let file = open(
        "d-olia/2",
        &[
            "duration=60s",
            "link.b1.rate=20mbit",
            "link.b2.reverse.rate=1mbit",
            "link.b1.loss=0",
            "link.b1.drop-every=1000",
            "link.b2.outages=1s..2s, 3s..4s",
            "connection.mp0.subflow.sf2.join-delay=100ms",
            "connection.mp0.subflow.sf1.backup=true",
            "connection.mp0.subflow.sf2.route=b2",
            "connection.tcp0.initial-window=4",
            "connection.tcp0.initial-ssthresh=5",
            "connection.tcp0.cc=reno",
            "cc=reno,lia",
            "title='A = B'",
        ],
    );
    let cell = &file.cells[0];
    let link = |name: &str| cell.links.iter().find(|link| link.name == name).unwrap();
    assert_eq!(file.title, "A = B");
    assert_eq!(file.cc.iter().map(Spec::text).collect::<Vec<_>>(), ["reno", "lia"]);
    assert_eq!(cell.duration_ns, 60 * S);
    assert_eq!(link("b1").forward.rate_bps, 20_000_000);
    assert_eq!(link("b1").forward.loss, Loss::Periodic(1000));
    assert_eq!((link("b2").forward.rate_bps, link("b2").reverse.rate_bps), (10_000_000, 1_000_000));
    assert_eq!(link("b2").forward.outages, [(S, 2 * S), (3 * S, 4 * S)]);
    let [sf1, sf2] = cell.connections[0].subflows.as_slice() else { panic!("two subflows") };
    assert!(sf1.backup);
    assert_eq!((sf2.join_delay_ns, sf2.route.len()), (Some(100 * MS), 1));
    let tcp = &cell.connections[1];
    assert_eq!((tcp.initial_window, tcp.initial_ssthresh), (4, Some(5)));
    assert_eq!(cell.connections[1].cc.as_ref().map(Spec::text), Some("reno"));
}

#[test]
fn assignments_replace_axes() {
    let count = |set: &[&str]| open("analysis/disjoint", set).cells.len();
    assert_eq!(count(&["parameters.bandwidth=24mbit"]), 6);
    assert_eq!(count(&["parameters.bandwidth=6mbit,12mbit,24mbit"]), 18);
    let pair = "parameters.paths={ rtt1 = \"10ms\", rtt2 = \"40ms\" }";
    let file = open("analysis/disjoint", &[pair, "parameters.bandwidth=24mbit"]);
    assert_eq!(file.cells.len(), 1);
    assert_eq!(file.cells[0].parameters.values().collect::<Vec<_>>(), ["24mbit", "10ms", "40ms"]);
}

#[test]
fn of_several_assignments_to_a_key_the_last_holds() {
    assert_eq!(open("d-olia/1", &["duration=10s", "duration=20s"]).cells[0].duration_ns, 20 * S);
}

#[test]
fn parameters_may_be_numbers_and_flags_and_their_last_axis_varies_fastest() {
    let text =
        SMALL.replace("[link.b1]", "[parameters]\nloss = [0, 0.01]\nprivate = [true, false]\n[link.b1]");
    let text = text
        .replace("private = true", "private = \"$private\"")
        .replace("\"100p\"", "\"100p\"\nloss = \"$loss\"");
    let text = text.replace("[\"near\", \"b1\", \"near\"]", "[\"near\", \"b1\"]");
    let source = Source { name: "x.toml".to_owned(), text };
    let cells = load(&source, &[]).unwrap_or_else(|error| panic!("{error}")).cells;
    let found: Vec<(String, usize)> = cells
        .iter()
        .map(|cell| (cell.parameters.values().cloned().collect::<Vec<_>>().join(" "), cell.links.len()))
        .collect();
    assert_eq!(cells[2].links[0].forward.loss, Loss::Bernoulli(0.01));
    let expected = [("0 true", 3), ("0 false", 2), ("0.01 true", 3), ("0.01 false", 2)];
    assert_eq!(found, expected.map(|(text, links)| (text.to_owned(), links)));
}

#[test]
fn noise_is_a_packet_long_at_the_bottleneck_and_an_rtt_at_the_start() {
    let text = "title = \"noise\"\nduration = \"9s\"\nlink.a = { rate = \"1gbit\", delay = \"10ms\", queue = \"9p\" }\n\
        link.b = { rate = \"12mbit\", delay = \"5ms\", queue = \"9p\" }\n\
        connection.c = { kind = \"tcp\", route = [\"a\", \"b\"] }\n";
    let with = |keys: &str| parse(&format!("{keys}{text}"));
    let of = |scenario: &Scenario| {
        let noise = scenario.links.iter().map(|link| (link.forward.noise_ns, link.reverse.noise_ns));
        (noise.collect::<Vec<_>>(), scenario.connections[0].start_noise_ns)
    };
    assert_eq!(of(&with("")), (vec![(0, 0), (1_000_000, 0)], 30_000_000));
    assert_eq!(of(&with("noise = \"none\"\n")), (vec![(0, 0), (0, 0)], 0));
    // At most 5 ms and 100 ms, and not after the connection's end.
    let slow = text.replace("12mbit", "64kbit").replace("5ms", "1s");
    assert_eq!(of(&parse(&slow)), (vec![(0, 0), (5_000_000, 0)], 100_000_000));
    let short = slow.replace("9s", "40ms");
    assert_eq!(of(&parse(&short)).1, 40_000_000);
}

#[test]
fn a_random_start_takes_the_place_of_noise() {
    for noise in ["none", "random"] {
        let text = SMALL.replacen("kind = \"tcp\"", "kind = \"tcp\"\nstart = \"2s..6s\"", 1);
        let connection = parse(&format!("noise = \"{noise}\"{text}")).connections.remove(0);
        assert_eq!((connection.start_ns, connection.start_noise_ns), (2 * S, 4 * S));
    }
}
