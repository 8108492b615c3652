//! `braid load`, `unload`, `default`, `status` and `doctor`, as a person types them.
//!
//! What needs root and BPF prints `SKIPPED: ...` where they are missing.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn braid(args: &[&str]) -> Output {
    Command::cargo_bin("braid").expect("it is built").args(args).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Whether this machine can load algorithms; a line that says why not.
fn can_load(test: &str) -> bool {
    let doctor = braid(&["doctor"]);
    if !doctor.status.success() {
        let reason = stderr(&doctor);
        writeln!(std::io::stderr(), "SKIPPED: {test}, because {} (see `braid doctor`)", reason.trim())
            .expect("stderr");
    }
    doctor.status.success()
}

#[test]
fn doctor_says_of_each_requirement_whether_it_is_met_and_why_it_matters() {
    let text = stdout(&braid(&["doctor"]));
    for what in ["Linux 6.4", "BTF", "JIT", "CAP_BPF", "BPF file system", "MPTCP", "netem", "clang"] {
        let line = text.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("{what} in:\n{text}"));
        assert!(line.starts_with("yes ") || line.starts_with("no  "), "{line}");
    }
    assert_eq!(text.matches("why: ").count(), text.lines().filter(|line| line.contains(" (")).count());
}

#[test]
fn wrong_specs_and_names_are_bad_input_with_a_remedy() {
    let output = braid(&["load", "oliaa"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `olia`?"), "{}", stderr(&output));
    let output = braid(&["load", "olia", "--as", "much_too_long"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("1 to 9 characters"), "{}", stderr(&output));
    let output = braid(&["default", "no-such-name"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("reno"), "names those there are: {}", stderr(&output));
    let output = braid(&["default", "--netns", "no-such-namespace"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("ip netns"), "{}", stderr(&output));
}

#[test]
fn what_is_loaded_stays_with_its_parameters_until_it_is_unloaded() {
    if !can_load("load, status, unload") {
        return;
    }
    let output = braid(&["load", "cubic:beta=0.8", "--as", "cli_test"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "messages go to stderr");

    let output = braid(&["load", "cubic:beta=0.6", "--as", "cli_test"]);
    assert!(stderr(&output).contains("Replaced braid_cli_test (cubic:beta=0.8) by cubic:beta=0.6"));

    let output = braid(&["status", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let loaded = status["loaded"].as_array().expect("a list");
    let ours = loaded.iter().find(|loaded| loaded["name"] == "cli_test").expect("it stays loaded");
    assert_eq!(ours["kernel_name"], "braid_cli_test");
    assert_eq!(ours["spec"], "cubic:beta=0.6");
    assert_eq!(ours["params"]["beta"], "0.6");
    assert!(stdout(&braid(&["status"])).contains("braid_cli_test  cubic:beta=0.6"));

    let output = braid(&["unload", "braid_cli_test"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stdout(&braid(&["status"])).contains("cli_test"));
    let output = braid(&["unload", "cli_test"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is not loaded"), "{}", stderr(&output));
}

/// Runs braid with just these capabilities, such as `+bpf,+net_admin`; nothing where that cannot be done.
fn with_capabilities(test: &str, capabilities: &str, args: &[&str]) -> Option<Output> {
    let lowered = std::process::Command::new("setpriv")
        .args([&format!("--bounding-set=-all{capabilities}"), "--inh-caps=-all", "--ambient-caps=-all"])
        .arg(assert_cmd::cargo::cargo_bin("braid"))
        .args(args)
        .output();
    if lowered.is_err() {
        writeln!(std::io::stderr(), "SKIPPED: {test}, because there is no setpriv").expect("stderr");
    }
    lowered.ok()
}

#[test]
fn without_privileges_loading_says_what_to_do() {
    const TEST: &str = "loading without privileges";
    if !can_load(TEST) {
        return;
    }
    for capabilities in [",+bpf,+net_admin", ",+perfmon,+net_admin", ""] {
        let Some(output) = with_capabilities(TEST, capabilities, &["load", "reno", "--as", "cli_none"])
        else {
            return;
        };
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{capabilities}: {message}");
        for part in ["run as root", "CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"] {
            assert!(message.contains(part), "{capabilities}: {part} in {message}");
        }
        assert!(!message.contains("panicked"), "{message}");
    }
}

#[test]
fn two_capabilities_suffice_to_load_and_unload() {
    const TEST: &str = "least privilege";
    const LEAST: &str = ",+bpf,+perfmon";
    if !can_load(TEST) {
        return;
    }
    for args in [&["load", "olia", "--as", "cli_least"][..], &["status"], &["unload", "cli_least"]] {
        let Some(output) = with_capabilities(TEST, LEAST, args) else { return };
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }
}
