//! `--backend host`: runs on the kernel of this machine. Without netem or root, the tests print `SKIPPED` and the
//! reason; `scripts/guest 6.12 host` runs them in a guest that has both.

#![cfg(target_os = "linux")]

mod guests;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use braid_testing::{braid_path, failed, json, skip};
use guests::{IPERF, child_with, packets_are_those_counted, run_on, text, two_paths, write};

/// Two paths, and a TCP flow with a kernel algorithm on the first. The connection's algorithm has a detector.
const SCENARIO: &str = r#"
title = "Two paths"
duration = "4s"
warmup = "1s"
cc = ["split:sbd=all"]
link.b1 = { rate = "4mbit", delay = "10ms", queue = "30p" }
link.b2 = { rate = "2mbit", delay = "20ms", queue = "30p" }
[connection.mp0]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
[connection.tcp0]
kind = "tcp"
cc = "reno"
route = ["b1"]
"#;

fn scenario(folder: &Path) -> PathBuf {
    write(folder, SCENARIO)
}

fn braid(scenario: &Path) -> Command {
    run_on("host", scenario)
}

/// The result of a run on this machine; none if it cannot run.
fn or_skip(test: &str, output: &Output) -> Option<serde_json::Value> {
    let report = text(&output.stderr);
    if report.contains("--backend host needs") {
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(report.contains("or use --backend lab"), "{report}");
        skip(test, &report);
        return None;
    }
    assert!(output.status.success(), "{report}");
    Some(json(&output.stdout))
}

/// A word in the command line of a process that a run's program started, and of no other process.
const OFFSPRING: &str = "12345678";

/// A leftover of runs whose process was `agent`, if there is one.
fn left_of(agent: i32) -> Option<String> {
    let offspring = fs::read_dir("/proc").unwrap().flatten().find(|entry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|words| text(&words).contains(OFFSPRING))
    });
    if let Some(process) = offspring {
        return Some(format!("{}, which a program has started", process.path().display()));
    }
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let own = format!("braid_h{agent:x}");
    if Path::new(&format!("/proc/{agent}")).exists() {
        Some(format!("process {agent}"))
    } else if available.contains(&own) {
        Some(available)
    } else {
        netem_in_a_guest()
    }
}

/// In a guest only runs create queues, so netem's use count shows whether a namespace is left.
fn netem_in_a_guest() -> Option<String> {
    env::var_os("BRAID_GUEST")?;
    let modules = fs::read_to_string("/proc/modules").unwrap();
    let own = modules.lines().find(|line| line.starts_with("sch_netem "))?;
    (own.split(' ').nth(2) != Some("0")).then(|| own.to_owned())
}

#[test]
fn a_scenario_runs_on_this_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let output = braid(&scenario(folder.path())).output().unwrap();
    let Some(document) = or_skip("a scenario on this kernel", &output) else { return };
    let run = &document["runs"][0];
    assert_eq!((&run["status"], &run["backend"]), (&"ok".into(), &"host".into()), "{run}");
    assert!(run["environment"].as_str().unwrap().contains("this machine in real time"), "{run}");
    let throughput = |connection: usize, subflow: usize| {
        run["connections"][connection]["subflows"][subflow]["throughput_bps"].as_f64().unwrap()
    };
    let detections = run["detections"].as_array().unwrap();
    assert!(!detections.is_empty(), "what the detector says is heard: {run}");
    // Their links are full, except for other packets' headers.
    let (first, second) = (throughput(0, 0) + throughput(1, 0), throughput(0, 1));
    assert!((3.6e6..4.05e6).contains(&first), "{first} bit/s on b1");
    assert!((1.8e6..2.05e6).contains(&second), "{second} bit/s on b2");
}

#[test]
fn the_packets_of_a_run_on_this_kernel_are_those_that_were_counted() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path());
    // File names begin with the scenario's name as given.
    let mut command = braid(Path::new("two.toml"));
    command.current_dir(folder.path()).args(["--pcap", "packets", "--snaplen", "96", "--set", "warmup=0s"]);
    for connection in ["mp0", "tcp0"] {
        command.arg("--set").arg(format!("connection.{connection}.stop=3s"));
    }
    let Some(document) = or_skip("packets on this kernel", &command.output().unwrap()) else { return };
    let run = &document["runs"][0];
    assert!(run["doubts"].is_null(), "{}", run["doubts"]);
    for (number, connection) in ["mp0", "tcp0"].into_iter().enumerate() {
        let name = format!("0000-two-split-sbd=all-seed1-{connection}.pcapng");
        let capture = folder.path().join("packets").join(name);
        packets_are_those_counted(&capture, run, number, Duration::from_secs(3));
    }
}

#[test]
fn queues_outages_routes_and_ipv6_are_those_of_the_scenario_on_this_kernel_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), EVERYTHING);
    let Some(document) = or_skip("queues of this kernel", &braid(&path).output().unwrap()) else { return };
    let run = &document["runs"][0];
    assert_eq!(run["status"], "ok", "{run}");
    let of = |link: &serde_json::Value, key: &str| link[key].as_f64().unwrap();
    let [b1, b2, b3, b4] = [0, 1, 2, 3].map(|link| &run["links"][link]);
    for marks in [b1, b2] {
        assert!(of(marks, "marked_packets") > 3.0 && of(marks, "utilization") > 0.3, "{marks}");
    }
    assert!(of(b3, "utilization") > 0.5, "{b3}");
    let in_period = |period: usize, link: usize| of(&run["periods"][period]["links"][link], "packets");
    assert!(in_period(0, 2) < 3.0, "the link is down: {b3}");
    assert!(in_period(1, 2) > 30.0, "it is up again: {b3}");
    assert!(in_period(0, 3) > 30.0 && in_period(1, 3) == 0.0, "the route leaves it: {b4}");
}

/// Two kinds of marking queues, a queue limited in bytes that waits while its link is down, and a route that changes.
const EVERYTHING: &str = r#"
title = "Everything"
duration = "6s"
warmup = "1s"
periods = ["2100ms..2900ms", "4s..6s"]
cc = ["lia"]
[link.b1]
rate = "4mbit"
delay = "10ms"
queue = "60p"
discipline = { kind = "codel", ecn = true }
[link.b2]
rate = "2mbit"
delay = "20ms"
queue = "60p"
discipline = { kind = "red", min = "5p", max = "30p", gentle = false, ecn = true }
[link.b3]
rate = "2mbit"
delay = "20ms"
queue = "45kB"
when-down = "keep"
change = [{ at = "2s", state = "down" }, { at = "3s", state = "up" }]
[link.b4]
rate = "1mbit"
delay = "10ms"
queue = "30p"
[connection.mp0]
kind = "mptcp"
ip-version = 6
ecn = true
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
[connection.mp1]
kind = "mptcp"
subflow.sf1.route = ["b3"]
[connection.tcp0]
kind = "tcp"
cc = "reno"
route = ["b4"]
change = [{ at = "3500ms", route = ["b3"] }]
"#;

/// Whether a scenario's programs are installed; prints the reason if not.
fn has_programs(test: &str, output: &Output) -> bool {
    let report = text(&output.stderr);
    if report.contains("on this machine") {
        skip(test, &report);
    }
    !report.contains("on this machine")
}

#[test]
fn programs_are_traffic_on_this_kernel() {
    let folder = tempfile::tempdir().unwrap();
    // The client is a script of the scenario.
    fs::write(folder.path().join("client.sh"), "#!/bin/sh\nexec iperf3 -c $1 -n 1M").unwrap();
    let traffic =
        IPERF.replace("\"iperf3\", \"-c\", \"{server}\", \"-n\", \"1M\"", "\"./client.sh\", \"{server}\"");
    let traffic = format!("{traffic}files = [\"client.sh\"]\n");
    let path = write(folder.path(), &(two_paths("cc = [\"lia\"]", "web") + &traffic));
    let output = braid(&path).output().unwrap();
    if !has_programs("programs on this kernel", &output) {
        return;
    }
    let Some(document) = or_skip("programs on this kernel", &output) else { return };
    let run = &document["runs"][0];
    let web = &run["connections"][0];
    assert_eq!((&run["status"], &web["programs"][1]["exit_code"]), (&"ok".into(), &0.into()), "{run}");
    assert!(web["programs"][1]["stdout"].as_str().unwrap().contains("iperf Done."), "{web}");
    for subflow in web["subflows"].as_array().unwrap() {
        assert!(subflow["packets_sent"].as_u64().unwrap() > 100, "{subflow}");
    }
    let left: Vec<_> = fs::read_dir("/run/braid").unwrap().flatten().collect();
    assert!(left.is_empty() || env::var_os("BRAID_GUEST").is_none(), "{left:?}");
}

#[test]
fn a_run_that_is_interrupted_or_killed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    leaves_nothing(&scenario(folder.path()));
}

#[test]
fn neither_do_its_programs() {
    let folder = tempfile::tempdir().unwrap();
    // The client's child runs in a session of its own and ignores SIGTERM.
    let client = format!("trap '' TERM; setsid sleep {OFFSPRING} & sleep {OFFSPRING}");
    let (before, _) = IPERF.split_once("client = ").unwrap();
    let traffic = format!("{before}client = [\"sh\", \"-c\", \"{client}\"]\n");
    let path = write(folder.path(), &(two_paths("cc = [\"lia\"]", "web") + &traffic));
    if has_programs("programs of an interrupted run", &braid(&path).arg("--dry-run").output().unwrap()) {
        leaves_nothing(&path);
    }
}

fn leaves_nothing(scenario: &Path) {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let child = braid(scenario)
            .args(["--set", "duration=1000s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let (id, pid) = (child.id(), Pid::from_child(&child));
        let watch = thread::spawn(move || child.wait_with_output().unwrap());
        let mut agent = None;
        while !watch.is_finished() && agent.is_none() {
            assert!(began.elapsed() < Duration::from_secs(120), "no run begins");
            thread::sleep(Duration::from_millis(20));
            // The process that runs the job.
            agent = child_with("--here", id);
        }
        let Some(agent) = agent else {
            assert!(or_skip("an interrupted run", &watch.join().unwrap()).is_none());
            return;
        };
        // By then it is in the middle of its run.
        thread::sleep(Duration::from_secs(2));
        kill_process(pid, signal).unwrap();
        let output = watch.join().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        if signal != Signal::KILL {
            assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        }
        let ended = Instant::now();
        // The kernel removes namespaces and congestion controls shortly after their last user.
        while let Some(left) = left_of(agent) {
            assert!(ended.elapsed() < Duration::from_secs(60), "{signal:?} leaves {left}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn without_the_right_to_it_a_run_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(folder.path());
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"]);
    command.arg(braid_path()).arg("run").arg(&scenario).args(["--backend", "host"]);
    let output = match command.output() {
        Ok(output) if !text(&output.stderr).contains("setpriv:") => output,
        other => {
            skip("a run without rights", format!("setpriv says {other:?}"));
            return;
        }
    };
    failed(&output, 1, &["--backend host needs", "or use --backend lab"]);
}
