//! `braid advise` of a connection over two paths between network namespaces, in real time.
//!
//! Without root it prints `SKIPPED: ...`.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A sender and a receiver in a namespace each, with two paths between them; removed when dropped.
struct Network([String; 2]);

impl Network {
    /// Two paths of these rates. `None`, and a line that says why, if this machine cannot have them.
    fn new(mbit: [u32; 2]) -> Option<Self> {
        let network = Self(["s", "r"].map(|end| format!("braid-advise-{}-{end}", std::process::id())));
        let [s, r] = &network.0;
        if let Err(reason) = run(&format!("ip netns add {s}")) {
            writeln!(std::io::stderr(), "SKIPPED: live advice, because `ip netns add` says {reason}")
                .expect("stderr");
            return None;
        }
        let mut commands = vec![format!("ip netns add {r}")];
        for (path, mbit) in [1, 2].into_iter().zip(mbit) {
            commands.extend([
                format!("ip -n {s} link add p{path} type veth peer name p{path} netns {r}"),
                format!("ip -n {s} addr add 10.31.{path}.1/24 dev p{path}"),
                format!("ip -n {r} addr add 10.31.{path}.2/24 dev p{path}"),
                format!("ip -n {s} link set p{path} up"),
                format!("ip -n {r} link set p{path} up"),
                format!("tc -n {s} qdisc add dev p{path} root tbf rate {mbit}mbit burst 16kb latency 60ms"),
            ]);
        }
        commands.extend([
            format!("ip -n {s} mptcp limits set subflows 2 add_addr_accepted 2"),
            format!("ip -n {r} mptcp endpoint add 10.31.2.2 signal"),
        ]);
        for command in commands {
            run(&command).unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        Some(network)
    }

    /// Sends on CUBIC until the receiver is gone.
    fn send(&self) {
        let receiver = within(&self.0[1], || {
            let listener = socket();
            rustix::net::bind(&listener, &SocketAddr::from(([0; 4], 5009))).expect("free");
            rustix::net::listen(&listener, 1).expect("bound");
            TcpListener::from(listener)
        });
        thread::spawn(move || {
            let (mut stream, _) = receiver.accept().expect("a sender");
            let mut bytes = [0; 16384];
            while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        let mut sender = within(&self.0[0], || {
            let sender = socket();
            sockopt::set_tcp_congestion(&sender, "cubic").expect("every kernel has it");
            rustix::net::connect(&sender, &SocketAddr::from(([10, 31, 1, 2], 5009))).expect("it listens");
            TcpStream::from(sender)
        });
        thread::spawn(move || while sender.write_all(&[7; 16384]).is_ok() {});
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

fn socket() -> OwnedFd {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).expect("MPTCP")
}

/// In a thread inside the namespace.
fn within<T: Send>(name: &str, action: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        let file = File::open(format!("/run/netns/{name}")).expect("ours");
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
        action()
    };
    thread::scope(|scope| scope.spawn(inside).join().expect("no panic"))
}

fn run(command: &str) -> Result<(), String> {
    let words: Vec<&str> = command.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn the_paths_of_a_running_connection_are_seen_with_their_rates() {
    let Some(network) = Network::new([20, 10]) else { return };
    network.send();
    // Until the second subflow has joined.
    thread::sleep(Duration::from_millis(500));
    let folder = tempfile::tempdir().expect("room");
    let output = Command::new(cargo_bin("braid"))
        .current_dir(folder.path())
        .args("advise --for 10s --cc lia --seeds 2 --json --save seen.toml --filter".split(' '))
        .arg(&network.0[0])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(answer["baseline"]["subflows"], serde_json::json!(["p1", "p2"]), "{answer:#}");
    assert!(answer["notes"].to_string().contains("no detector ran"), "{answer:#}");

    let saved = std::fs::read_to_string(folder.path().join("seen.toml")).expect("it is saved");
    let kbit = |link: &str| -> f64 {
        let after = saved.split(&format!("[link.{link}]\nrate = \"")).nth(1).expect("a link");
        after.split("kbit").next().expect("a rate").parse().expect("a number")
    };
    // A busy machine sends less.
    assert!(
        (15e3..22e3).contains(&kbit("bottleneck-1")) && (7e3..11e3).contains(&kbit("bottleneck-2")),
        "{saved}"
    );
    // CUBIC fills the queue of 60 ms.
    let again =
        Command::new(cargo_bin("braid")).current_dir(folder.path()).args(["check", "seen.toml"]).output();
    assert!(again.expect("it runs").status.success(), "{saved}");
}
