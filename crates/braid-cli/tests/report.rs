//! `--report`: where the page is written, and that it depends on the runs alone.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;

const SMALL: &str = r#"
title = "small </script> & <b>bold</b>"
duration = "2s"
cc = ["lia", "olia"]

[link.b1]
rate = "4mbit"
delay = "5ms"
queue = "20p"
loss = "0.5%"
outages = ["1s..1.5s"]

[connection.mp0]
kind = "mptcp"

[connection.mp0.subflow.sf1]
route = ["b1"]

[connection.bg0]
kind = "tcp"
cc = "reno"
route = ["b1"]
"#;

fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("small.toml"), SMALL).unwrap();
    place
}

fn braid(place: &Path, line: &str) -> Output {
    Command::cargo_bin("braid").unwrap().current_dir(place).args(line.split_whitespace()).output().unwrap()
}

#[track_caller]
fn done(output: &Output) -> String {
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{messages}");
    messages
}

#[track_caller]
fn refused(output: &Output, pieces: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    for piece in pieces {
        assert!(message.contains(piece), "no \"{piece}\" in: {message}");
    }
}

#[test]
fn the_page_depends_on_the_runs_alone() {
    let place = place();
    let page = |name: &str, more: &str| {
        done(&braid(place.path(), &format!("run small.toml --seeds 4 --report {name} {more}")));
        fs::read_to_string(place.path().join(name)).unwrap()
    };
    let one = page("one.html", "--jobs 1");
    assert_eq!(one, page("two.html", "--jobs 3 --format jsonl --quiet"));
    assert_eq!(one, page("three.html", "--out results --samples"));
    let command = |page: &str| page.replace("<span>", "").replace("</span>", "");
    assert!(command(&one).contains("braid run small.toml --seeds 4 --report report.html"));
    assert!(one.contains("small &lt;/script&gt; &amp; &lt;b&gt;bold"));
    assert!(one.contains("b1 down"), "what happens to links");
    assert_eq!(one, page("again.html", "--out results"), "runs that are done already are the same");
    let other = page("four.html", "--set link.b1.rate=3mbit");
    assert_ne!(one, other);
    assert!(command(&other).contains("--set link.b1.rate=3mbit"));
}

#[test]
fn the_table_is_printed_as_without_a_report() {
    let place = place();
    let with = braid(place.path(), "run small.toml --report page.html");
    assert!(done(&with).contains("page.html"));
    assert_eq!(with.stdout, braid(place.path(), "run small.toml").stdout);
    assert!(done(&braid(place.path(), "run small.toml --report page.html --quiet")).is_empty());
}

#[test]
fn an_earlier_report_is_replaced_and_nothing_else() {
    let place = place();
    let path = place.path().join("page.html");
    done(&braid(place.path(), "run small.toml --report page.html"));
    let first = fs::read(&path).unwrap();
    done(&braid(place.path(), "run small.toml --cc reno --report page.html"));
    assert_ne!(fs::read(&path).unwrap(), first);

    fs::write(place.path().join("mine.html"), "<!DOCTYPE html><title>mine</title>").unwrap();
    let output = braid(place.path(), "run small.toml --report mine.html");
    refused(&output, &["mine.html", "not a report", "nothing was overwritten", "--report"]);
    assert!(fs::read_to_string(place.path().join("mine.html")).unwrap().contains("mine"));
    refused(&braid(place.path(), "run small.toml --report small.toml"), &["small.toml", "not a report"]);
}

#[test]
fn a_place_that_cannot_be_written_is_named_before_anything_runs() {
    let place = place();
    let run = |to: &str| braid(place.path(), &format!("run small.toml --seeds 500000 --report {to}"));
    refused(&run("nowhere/page.html"), &["nowhere/page.html", "--report takes"]);
    refused(&run("."), &["--report takes"]);
    refused(&run("small.toml/page.html"), &["small.toml/page.html"]);
}

#[test]
fn a_dry_run_writes_no_page() {
    let place = place();
    done(&braid(place.path(), "run small.toml --report page.html --dry-run"));
    assert!(!place.path().join("page.html").exists());
}
