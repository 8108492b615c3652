//! What the tests with guests share.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;

/// Two paths with random loss, and a TCP flow of the kernel's own on one of them.
pub(crate) const SCENARIO: &str = r#"
title = "Two paths"
duration = "2s"
warmup = "500ms"
cc = ["lia"]
[link.b1]
rate = "5mbit"
delay = "5ms"
queue = "30p"
loss = "0.5%"
[link.b2]
rate = "2mbit"
delay = "20ms"
queue = "30p"
[connection.mp0]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
[connection.tcp0]
kind = "tcp"
cc = "cubic"
route = ["b1"]
"#;

pub(crate) fn scenario(folder: &Path) -> PathBuf {
    let path = folder.join("two.toml");
    fs::write(&path, SCENARIO).unwrap();
    path
}

pub(crate) fn braid(scenario: &Path) -> Command {
    let mut command = Command::new(cargo_bin("braid"));
    command.arg("run").arg(scenario).args(["--backend", "lab", "--format", "json", "--quiet"]);
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether this machine can run the lab at all; if not, says why.
pub(crate) fn lab_is_here(test: &str) -> bool {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let reason = REASON.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let output = braid(&scenario(folder.path())).args(["--set", "duration=600ms"]).output().unwrap();
        let report = text(&output.stderr);
        let is_missing = ["cannot run qemu", "needs QEMU", "cannot fetch", "no apt"];
        is_missing.iter().any(|sign| report.contains(sign)).then_some(report)
    });
    if let Some(reason) = reason {
        eprintln!("SKIPPED: {test}: {reason}");
    }
    reason.is_none()
}

pub(crate) fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The processes whose parent is `parent`.
fn children(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |id: &i32| {
        fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            after_name.split(' ').nth(1) == Some(&parent.to_string())
        })
    };
    ids.filter(is_child).collect()
}

pub(crate) fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The guest of a program that runs.
pub(crate) fn guest_of(program: u32) -> Option<i32> {
    // Before that it asks QEMU for its version.
    let is_guest = |id: &i32| {
        fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|words| text(&words).contains("-icount"))
    };
    children(program).into_iter().find(is_guest)
}

/// A long run that has got a guest.
pub(crate) fn begin(command: &mut Command) -> (Child, i32) {
    let child = command
        .args(["--set", "duration=1000s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let guest = eventually("a guest begins", || guest_of(child.id()));
    // It is to be in the middle of its run.
    thread::sleep(Duration::from_secs(3));
    (child, guest)
}
