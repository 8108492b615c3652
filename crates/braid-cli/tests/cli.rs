//! The command as a user or a script runs it.

mod common;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use parquet::file::reader::SerializedFileReader;
use parquet::record::{Field, Row};
use serde_json::Value;

use common::{Place, SMALL, parse};

#[test]
fn the_document_has_every_run_in_order() {
    let place = Place::new();
    let document =
        parse(&place.stdout("run small.toml --cc lia,olia:rounding=fork,cubic --seeds 2 --format json"));
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["braid_version"], env!("CARGO_PKG_VERSION"));
    let runs: Vec<_> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["cc"].as_str().unwrap(), run["seed"].as_u64().unwrap()))
        .collect();
    let olia = "olia:rounding=fork";
    assert_eq!(runs, [("lia", 1), ("lia", 2), (olia, 1), (olia, 2), ("cubic", 1), ("cubic", 2)]);
    let run = &document["runs"][0];
    assert_eq!((&run["scenario"], &run["status"]), (&"small.toml".into(), &"ok".into()));
    assert!(run["connections"][0]["goodput_bps"].as_f64().unwrap() > 1e6);
    assert!(run["links"][0]["utilization"].as_f64().unwrap() > 0.5);
    assert!(run["metrics"]["aggregate_benefit"].is_f64());
    assert!(run["metrics"]["jain_connections"]["b1"].is_f64());
    assert_eq!(document["summary"].as_array().unwrap().len(), 3);
}

#[test]
fn the_same_seed_gives_the_same_bytes_whatever_the_number_of_jobs() {
    let place = Place::new();
    for format in ["json", "jsonl", "table", "csv"] {
        let with = |jobs| place.stdout(&format!("run small.toml --seeds 6 --format {format} --jobs {jobs}"));
        let one = with(1);
        assert_eq!(one, with(1), "{format}");
        assert_eq!(one, with(2), "{format}");
        assert_eq!(one, with(7), "{format}");
    }
}

#[test]
fn another_seed_gives_other_figures() {
    let place = Place::new();
    let document = parse(&place.stdout("run small.toml --cc lia --seeds 3..4 --format json"));
    let goodput = |run: usize| &document["runs"][run]["connections"][0]["goodput_bps"];
    assert_ne!(goodput(0), goodput(1), "0.5 % of the packets are lost at random");
}

#[test]
fn jsonl_is_one_run_a_line() {
    let place = Place::new();
    let lines = place.stdout("run small.toml --seeds 3 --format jsonl");
    let document = parse(&place.stdout("run small.toml --seeds 3 --format json"));
    let lines: Vec<Value> = lines.lines().map(parse).collect();
    assert_eq!(&Value::Array(lines), &document["runs"]);
}

#[test]
fn the_table_has_a_row_per_congestion_control_of_the_scenario() {
    let place = Place::new();
    let table = place.stdout("run small.toml --seeds 3");
    assert!(table.starts_with("small.toml  small\n2 s, 3 seeds"), "{table}");
    assert!(table.contains("\nlia ") && table.contains("\nolia "), "{table}");
    assert!(!table.contains('\u{1b}'), "no colours where no terminal is");
}

#[test]
fn set_changes_the_scenario() {
    let place = Place::new();
    let rate = |set: &str| {
        let document = parse(&place.stdout(&format!("run small.toml --cc lia --format json {set}")));
        document["runs"][0]["links"][1]["rate_bps"].clone()
    };
    assert_eq!(rate(""), 2_000_000);
    assert_eq!(rate("--set link.b2.rate=7mbit"), 7_000_000);
}

#[test]
fn a_dry_run_says_what_would_run_and_runs_nothing() {
    let place = Place::new();
    let text = place.stdout("run small.toml --cc lia,olia --seeds 3..5 --out results --dry-run");
    assert!(text.contains("small.toml") && text.contains("lia,olia") && text.contains("3..5"), "{text}");
    assert!(text.ends_with("6 runs\n"), "{text}");
    assert!(!place.path().join("results").exists());
}

#[test]
fn csv_has_the_flows_of_the_document() {
    let place = Place::new();
    let csv = place.stdout("run small.toml --seeds 2 --format csv");
    let document = parse(&place.stdout("run small.toml --seeds 2 --format json"));
    let mut lines = csv.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
    let headings = lines.next().unwrap();
    let column = |name: &str| headings.iter().position(|heading| *heading == name).unwrap();
    let (goodput, retransmissions) = (column("goodput_bps"), column("retransmissions"));
    for run in document["runs"].as_array().unwrap() {
        for connection in run["connections"].as_array().unwrap() {
            for subflow in connection["subflows"].as_array().unwrap() {
                let line = lines.next().unwrap();
                assert_eq!(parse(line[goodput]).as_f64(), connection["goodput_bps"].as_f64());
                assert_eq!(line[retransmissions].parse(), Ok(subflow["retransmissions"].as_u64().unwrap()));
            }
        }
    }
    assert_eq!(lines.next(), None);
}

/// A Parquet value as it appears in the document.
fn field(row: &Row, name: &str) -> Value {
    let mut columns = row.get_column_iter();
    match columns.find(|(column, _)| *column == name).unwrap().1 {
        Field::Null => Value::Null,
        Field::Str(text) => text.as_str().into(),
        Field::Long(number) => (*number as u64).into(),
        // Parsed by the document's reader, which rounds the last digit differently.
        Field::Double(number) => parse(&serde_json::to_string(number).unwrap()),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn parquet_has_the_figures_of_the_document_and_samples_where_asked_for() {
    let place = Place::new();
    let json = place.stdout("run small.toml --seeds 2 --out results --samples --format json");
    let document = parse(&json);
    let read = |name: &str| -> Vec<Row> {
        let file = fs::File::open(place.path().join("results").join(name)).unwrap();
        SerializedFileReader::new(file).unwrap().into_iter().map(Result::unwrap).collect()
    };
    let (flows, samples, queues) = (read("flows.parquet"), read("samples.parquet"), read("queues.parquet"));
    let mut rows = flows.iter();
    for (number, run) in document["runs"].as_array().unwrap().iter().enumerate() {
        for connection in run["connections"].as_array().unwrap() {
            for subflow in connection["subflows"].as_array().unwrap() {
                let row = rows.next().unwrap();
                assert_eq!((field(row, "run"), field(row, "cc")), (number.into(), run["cc"].clone()));
                assert_eq!(field(row, "goodput_bps"), connection["goodput_bps"]);
                for name in ["throughput_bps", "mean_rtt_ms", "mean_cwnd", "packets_sent"] {
                    assert_eq!(field(row, name), subflow[name], "{name}");
                }
                let of_this = samples.iter().filter(|row| {
                    let of = (field(row, "run"), field(row, "connection"), field(row, "subflow"));
                    of == (number.into(), connection["id"].clone(), subflow["id"].clone())
                });
                let times: Vec<f64> = of_this.map(|row| field(row, "time_s").as_f64().unwrap()).collect();
                assert!((17..20).contains(&times.len()), "2 s, the handshake apart: {times:?}");
                assert!(times.windows(2).all(|pair| (pair[1] - pair[0] - 0.1).abs() < 1e-9), "{times:?}");
            }
        }
    }
    assert!(rows.next().is_none());
    assert_eq!(queues.len(), 4 * 2 * 20, "four runs, two links, 2 s");
    assert_eq!(json, place.stdout("run small.toml --seeds 2 --format json"), "samples change nothing");
}

#[test]
fn a_full_disk_is_told_and_no_panic() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let program = assert_cmd::cargo::cargo_bin("braid");
    let output = std::process::Command::new(program)
        .current_dir(place.path())
        .args(["run", "small.toml", "--format", "json"])
        .stdout(full)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write to standard output: No space left"), "{message}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let place = Place::new();
    for format in ["json", "jsonl", "table", "csv"] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("braid"))
            .current_dir(place.path())
            .args(["run", "small.toml", "--seeds", "20", "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{format}");
    }
}

#[test]
fn wrong_scenarios_are_refused_with_place_and_remedy() {
    let place = Place::new();
    place.write("junk.toml", [0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]);
    place.write("prose.toml", "once upon a time\n");
    place.write("unit.toml", SMALL.replace("4mbit", "4mbps"));
    place.write("negative.toml", SMALL.replace("4mbit", "-4mbit"));
    place.write("key.toml", SMALL.replace("queue", "quue"));
    place.write("link.toml", SMALL.replace("route = [\"b2\"]", "route = [\"b9\"]"));
    place.write("loop.toml", SMALL.replace("route = [\"b2\"]", "route = [\"b2\", \"b1\", \"b2\"]"));
    place.write("cc.toml", SMALL.replace("cc = \"reno\"", "cc = \"remo\""));
    place.write("list.toml", SMALL.replace("\"olia\"]", "\"olio\"]"));
    place.write("empty.toml", "");
    fs::create_dir(place.path().join("folder.toml")).unwrap();
    for (file, pieces) in [
        ("nowhere.toml", &["nowhere.toml", "hint:"][..]),
        ("d-olia/9", &["d-olia/9", "hint:"]),
        ("folder.toml", &["folder.toml", "directory"]),
        ("junk.toml", &["junk.toml"]),
        ("prose.toml", &["prose.toml:1", "TOML"]),
        ("unit.toml", &["unit.toml:7", "link.b1.rate", "mbps", "4mbit"]),
        ("negative.toml", &["negative.toml:7", "link.b1.rate", "-4mbit"]),
        ("key.toml", &["key.toml:9", "quue", "queue"]),
        ("link.toml", &["link.toml:", "b9"]),
        ("loop.toml", &["loop.toml:", "b2"]),
        ("cc.toml", &["cc.toml:", "connection.bg0.cc", "remo"]),
        ("list.toml", &["list.toml:4", "cc", "olio"]),
        ("empty.toml", &["empty.toml"]),
    ] {
        place.refused(&format!("run {file} --cc lia"), pieces);
        place.refused(&format!("check {file}"), pieces);
    }
}

#[cfg(unix)]
#[test]
fn a_file_one_may_not_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let file = place.path().join("small.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        writeln!(std::io::stderr(), "SKIPPED: a file without permission, because root may read everything")
            .expect("stderr");
        return;
    }
    place.refused("run small.toml", &["small.toml", "permission"]);
}

#[test]
fn wrong_options_are_refused_with_what_was_expected() {
    let place = Place::new();
    for (options, pieces) in [
        ("--cc remo", &["remo", "reno"][..]),
        ("--cc lia,", &["--cc"]),
        ("--cc lia:roundin=usec", &["lia", "roundin", "rounding"]),
        ("--cc lia:rounding=jiffy", &["lia", "jiffy", "usec"]),
        ("--cc cubic:beta=7", &["beta", "7"]),
        ("--seeds 0", &["--seeds", "for the seed 0 write 0..0"]),
        ("--seeds 5..2", &["--seeds", "smaller one first"]),
        ("--seeds many", &["--seeds", "N or A..B"]),
        ("--seeds 18446744073709551615", &["1000000 runs", "hint:"]),
        ("--jobs 0", &["--jobs"]),
        ("--jobs x", &["--jobs"]),
        ("--format xml", &["--format", "table, json, jsonl, csv"]),
        ("--samples", &["--samples", "--out"]),
        ("--backend cloud", &["--backend", "sim, lab, host"]),
        ("--scheduler redundent", &["redundent", "did you mean `redundant`?"]),
        ("--scheduler ecf:beta=9", &["beta", "1"]),
        ("--set link.b1.rate=fast", &["link.b1.rate", "fast"]),
        ("--set link.b1.rate=20mbps", &["link.b1.rate", "20mbit"]),
        ("--set link.b1.rat=20mbit", &["link.b1.rat", "rate"]),
        ("--set link.b9.rate=20mbit", &["b9"]),
        ("--set nonsense", &["nonsense"]),
        ("--frobnicate", &["--frobnicate"]),
    ] {
        place.refused(&format!("run small.toml {options}"), pieces);
    }
}

#[test]
fn a_scenario_without_a_choice_of_congestion_control_asks_for_one() {
    let place = Place::new();
    place.write("none.toml", SMALL.replace("cc = [\"lia\", \"olia\"]", ""));
    place.refused("run none.toml", &["none.toml", "--cc"]);
    place.stdout("run none.toml --cc lia --quiet");
}

#[test]
fn check_says_which_files_are_right() {
    let place = Place::new();
    assert_eq!(place.stdout("check small.toml d-olia/1"), "small.toml: ok, 1 cell\nd-olia/1: ok, 1 cell\n");
    place.write("day.toml", SMALL.replace("duration = \"2s\"", "duration = \"86400s\""));
    for command in ["check day.toml", "run day.toml"] {
        place.refused(command, &["day.toml:", "duration: too long for the simulator"]);
    }
    place.write("bad.toml", "title = 3\n");
    let output = place.output("check bad.toml small.toml");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"small.toml: ok, 1 cell\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("bad.toml:1"));
}

#[test]
fn every_embedded_scenario_is_listed_shown_and_right() {
    let place = Place::new();
    let list = place.stdout("scenarios");
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"d-olia/1") && names.contains(&"analysis/disjoint"), "{list}");
    for name in names {
        let page = place.stdout(&format!("scenarios {name}"));
        assert!(page.starts_with(name) && page.contains("base RTT") && page.contains("bit/s"), "{page}");
        place.stdout(&format!("check {name}"));
    }
    place.refused("scenarios d-olai/1", &["d-olai/1", "d-olia/1"]);
}

#[test]
fn every_algorithm_is_listed_and_shown() {
    let place = Place::new();
    let list = place.stdout("algorithms");
    for algorithm in braid_algorithms::all() {
        let name = algorithm.name();
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{list}");
        let page = place.stdout(&format!("algorithms {name}"));
        for param in algorithm.params() {
            assert!(page.contains(param.name) && page.contains(param.help), "{page}");
        }
    }
    place.refused("algorithms cubik", &["cubik", "cubic"]);
}

#[test]
fn version_help_completions_and_manual_work() {
    let place = Place::new();
    assert_eq!(place.stdout("--version"), format!("braid {}\n", env!("CARGO_PKG_VERSION")));
    assert!(place.stdout("run --help").contains("--seeds"));
    assert!(place.stdout("completions bash").contains("COMPLETE"));
    place.stdout("man .");
    assert!(fs::read_to_string(place.path().join("braid-run.1")).unwrap().contains("seeds"));
}
