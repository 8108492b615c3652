//! The command as a user or a script runs it.

use std::fs;
use std::process::Stdio;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;

use braid_testing::{Place, SMALL, failed, json};

#[test]
fn the_document_has_every_run_in_order() {
    let place = Place::new();
    let document = place.json("run small.toml --cc lia,olia:rounding=fork,cubic --seeds 2 --format json");
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
    let document = place.json("run small.toml --cc lia --seeds 3..4 --format json");
    let goodput = |run: usize| &document["runs"][run]["connections"][0]["goodput_bps"];
    assert_ne!(goodput(0), goodput(1), "0.5 % of the packets are lost at random");
}

#[test]
fn jsonl_is_one_run_a_line() {
    let place = Place::new();
    let lines = place.stdout("run small.toml --seeds 3 --format jsonl");
    let document = place.json("run small.toml --seeds 3 --format json");
    let lines: Vec<Value> = lines.lines().map(json).collect();
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
        let document = place.json(&format!("run small.toml --cc lia --format json {set}"));
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
    assert!(!place.at("results").exists());
}

/// What the columns hold is tested in `braid-results`.
#[test]
fn csv_and_parquet_have_a_row_per_flow_and_samples_where_asked_for() {
    let place = Place::new();
    let json = place.stdout("run small.toml --seeds 2 --out results --samples --format json");
    let flows: usize = self::json(&json)["runs"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|run| {
            let connections = run["connections"].as_array().unwrap().iter();
            connections.map(|connection| connection["subflows"].as_array().unwrap().len())
        })
        .sum();
    let csv = place.stdout("run small.toml --seeds 2 --format csv");
    assert_eq!(csv.split_terminator("\r\n").count(), 1 + flows);
    let rows = |name: &str| {
        let file = fs::File::open(place.at("results").join(name)).unwrap();
        SerializedFileReader::new(file).unwrap().metadata().file_metadata().num_rows()
    };
    assert_eq!(rows("flows.parquet"), flows as i64);
    assert_eq!(rows("queues.parquet"), 4 * 2 * 20, "four runs, two links, 2 s");
    let samples = rows("samples.parquet") as usize;
    assert!((17 * flows..20 * flows).contains(&samples), "2 s, the handshake apart: {samples}");
    assert_eq!(json, place.stdout("run small.toml --seeds 2 --format json"), "samples change nothing");
}

#[test]
fn a_full_disk_is_told_and_no_panic() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.braid("run small.toml --format json").stdout(full).output().unwrap();
    failed(&output, 1, &["cannot write to standard output: No space left"]);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let place = Place::new();
    for format in ["json", "jsonl", "table", "csv"] {
        let mut command = place.braid(&format!("run small.toml --seeds 20 --format {format}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{format}");
    }
}

#[test]
fn a_scenario_without_a_choice_of_congestion_control_asks_for_one() {
    let place = Place::new();
    place.write("none.toml", SMALL.replace("cc = [\"lia\", \"olia\"]", ""));
    place.refused("run none.toml", &["none.toml", "--cc"]);
    place.refused("run small.toml --cc lia,", &["--cc"]);
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
    assert!(place.read("braid-run.1").contains("seeds"));
}
