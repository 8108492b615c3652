//! `braid advise --test` over two paths between network namespaces, in real time.
//!
//! What needs root prints `SKIPPED: ...` without.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;

use assert_cmd::cargo::cargo_bin;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A sender with two addresses, a router and a server, each in a namespace; removed when dropped.
struct Network(String);

impl Network {
    /// Where `shaped` says so, the way is slower than all others: `p1`, `p2` or `out`, and Mbit/s. None, and a line that says why, if
    /// this machine cannot have it.
    fn new(name: &str, shaped: &[(&str, u32)]) -> Option<Self> {
        let network = Self(format!("braid-advise-{}-{name}", std::process::id()));
        let [c, r, s] = ["c", "r", "s"].map(|end| network.end(end));
        if let Err(reason) = run(&format!("ip netns add {c}")) {
            writeln!(std::io::stderr(), "SKIPPED: {name}, because `ip netns add` says {reason}")
                .expect("stderr");
            return None;
        }
        let mut commands = vec![format!("ip netns add {r}"), format!("ip netns add {s}")];
        for path in [1, 2] {
            commands.extend([
                format!("ip -n {c} link add p{path} type veth peer name p{path} netns {r}"),
                format!("ip -n {c} addr add 10.31.{path}.1/24 dev p{path}"),
                format!("ip -n {r} addr add 10.31.{path}.2/24 dev p{path}"),
                format!("ip -n {c} link set p{path} up"),
                format!("ip -n {r} link set p{path} up"),
                format!("ip -n {c} route add default via 10.31.{path}.2 table 10{path}"),
                format!("ip -n {c} rule add from 10.31.{path}.1 table 10{path}"),
            ]);
        }
        commands.extend([
            format!("ip -n {r} link add out type veth peer name out netns {s}"),
            format!("ip -n {r} addr add 10.31.9.1/24 dev out"),
            format!("ip -n {s} addr add 10.31.9.2/24 dev out"),
            format!("ip -n {r} link set out up"),
            format!("ip -n {s} link set out up"),
            format!("ip -n {s} route add default via 10.31.9.1"),
            format!("nsenter --net=/run/netns/{r} sysctl -q -w net.ipv4.ip_forward=1"),
        ]);
        for (device, mbit) in shaped {
            let end = if *device == "out" { &r } else { &c };
            commands.push(format!(
                "nsenter --net=/run/netns/{end} tc qdisc add dev {device} root tbf rate {mbit}mbit burst 16kb latency 60ms"
            ));
        }
        for command in commands {
            run(&command).unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        Some(network)
    }

    fn end(&self, end: &str) -> String {
        format!("{}-{end}", self.0)
    }

    /// Asks there, while a server swallows what it is sent.
    fn advise(&self, arguments: &str) -> Output {
        self.advise_with(arguments, &std::env::var("PATH").expect("it is set"))
    }

    /// The same where programs are elsewhere, too.
    fn advise_with(&self, arguments: &str, path: &str) -> Output {
        let (ready, listens) = mpsc::channel();
        let place = format!("/run/netns/{}", self.end("s"));
        // It ends with the tests.
        thread::spawn(move || {
            let file = File::open(place).expect("ours");
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
            let listener = TcpListener::bind("10.31.9.2:5009").expect("nobody else is there");
            ready.send(()).expect("it waits");
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                thread::spawn(move || {
                    let mut bytes = [0; 16384];
                    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
                });
            }
        });
        listens.recv().expect("a server");
        Command::new("nsenter")
            .arg(format!("--net=/run/netns/{}", self.end("c")))
            .arg(cargo_bin("braid"))
            .args(
                "advise --test 10.31.9.2:5009 --from 10.31.1.1,10.31.2.1 --seeds 6 --duration 20s".split(' '),
            )
            .args(arguments.split(' '))
            .args(if arguments.contains("--cc") { &[][..] } else { &["--cc", "cubic,lia"] })
            .env("PATH", path)
            .output()
            .expect("it runs")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for end in ["c", "r", "s"] {
            let _ = run(&format!("ip netns del {}", self.end(end)));
        }
    }
}

fn run(command: &str) -> Result<(), String> {
    let words: Vec<&str> = command.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn answer(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one document")
}

fn notes(answer: &serde_json::Value) -> String {
    answer["notes"].to_string()
}

#[test]
#[ignore = "half a minute in real time"]
fn two_paths_of_their_own_are_told_with_their_rates_and_cubic_may_have_both() {
    let Some(network) = Network::new("own", &[("p1", 20), ("p2", 10)]) else { return };
    let output = network.advise("--limit 200MB --yes --for 8s --json");
    let answer = answer(&output);
    assert!(notes(&answer).contains("path-1 and path-2 have bottlenecks of their own"), "{answer:#}");
    assert_eq!(answer["choice"]["cc"], "cubic", "{answer:#}");
    assert_eq!(answer["choice"]["paths"], serde_json::json!([]), "{answer:#}");
    let alone = answer["candidates"][0]["alone_bps"].as_f64().expect("a number");
    assert!((20e6..31e6).contains(&alone), "20 and 10 Mbit/s: {answer:#}");
}

#[test]
#[ignore = "half a minute in real time"]
fn two_paths_with_one_bottleneck_are_told_and_cubic_is_not_advised_on_both() {
    let Some(network) = Network::new("shared", &[("out", 20)]) else { return };
    let output = network.advise("--limit 200MB --yes --for 8s --json");
    let answer = answer(&output);
    assert!(notes(&answer).contains("path-1 and path-2 have one bottleneck"), "{answer:#}");
    assert!(
        answer["choice"]["cc"] != "cubic"
            || answer["choice"]["paths"].as_array().is_some_and(|paths| paths.len() == 1),
        "{answer:#}"
    );
}

#[test]
#[ignore = "half a minute in real time"]
fn a_path_that_shares_a_bottleneck_becomes_a_backup_and_is_used_again_after_the_undo_of_a_killed_process() {
    if !Command::new(cargo_bin("braid")).arg("doctor").output().is_ok_and(|output| output.status.success()) {
        writeln!(std::io::stderr(), "SKIPPED: applying a test, because this machine cannot load algorithms")
            .expect("stderr");
        return;
    }
    let Some(network) = Network::new("apply", &[("out", 20)]) else { return };
    let end = network.end("c");
    for path in [1, 2] {
        run(&format!("ip -n {end} mptcp endpoint add 10.31.{path}.1 id {path} subflow")).expect("ours");
    }
    // Once it has changed an endpoint, nothing is left of who asked.
    let folder = tempfile::tempdir().expect("room");
    let ip = folder.path().join("ip");
    let path = std::env::var("PATH").expect("it is set");
    let script = format!(
        "#!/bin/sh\nPATH={path} ip \"$@\"; status=$?\ncase \"$*\" in *change*) kill -9 $PPID ;; esac\nexit $status\n"
    );
    std::fs::write(&ip, script).expect("room");
    std::fs::set_permissions(&ip, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let standing = format!("{}:{path}", folder.path().display());
    let killed = network.advise_with("--limit 200MB --yes --for 8s --cc cubic --apply", &standing);
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stderr));
    let shown = || {
        let output =
            Command::new("ip").args(["-n", &end, "mptcp", "endpoint", "show"]).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(shown().matches("backup").count(), 1, "{}", shown());
    let undone = Command::new("nsenter")
        .arg(format!("--net=/run/netns/{end}"))
        .arg(cargo_bin("braid"))
        .args(["advise", "--undo"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&undone.stderr);
    assert!(undone.status.success() && said.contains("all is as it was before the advice"), "{said}");
    assert!(!shown().contains("backup"), "{}", shown());
}

#[test]
fn nothing_is_sent_without_a_yes_and_no_more_than_allowed() {
    let Some(network) = Network::new("limit", &[("out", 20)]) else { return };
    let said = |arguments: &str, message: &str| {
        let output = network.advise(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(message), "{arguments}: {text}");
    };
    said("--limit 200MB", "Nobody said yes\n  hint: add --yes");
    drop(network);
    let Some(network) = Network::new("little", &[("out", 20)]) else { return };
    let output = network.advise("--limit 400kB --yes -q");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && text.contains("100000 bytes, which is each phase's share"),
        "{text}"
    );
}
