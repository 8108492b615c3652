//! `braid advise` of a connection over two paths between network namespaces, in real time.
//!
//! Without root it prints `SKIPPED: ...`.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use braid_testing::netns::{Netns, run};
use braid_testing::{Place, done, json, within};
use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};

/// A sender and a receiver in a namespace each, with two paths between them; removed when dropped.
struct Network([Netns; 2]);

impl Network {
    /// Two paths of these rates; none if this machine cannot have them.
    fn new(mbit: [u32; 2]) -> Option<Self> {
        let network = Self([Netns::new("live advice")?, Netns::new("live advice")?]);
        let [Netns(s), Netns(r)] = &network.0;
        let mut commands = Vec::new();
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
        let receiver = self.0[1].within(|| {
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
        let mut sender = self.0[0].within(|| {
            let sender = socket();
            sockopt::set_tcp_congestion(&sender, "cubic").expect("every kernel has it");
            rustix::net::connect(&sender, &SocketAddr::from(([10, 31, 1, 2], 5009))).expect("it listens");
            TcpStream::from(sender)
        });
        thread::spawn(move || while sender.write_all(&[7; 16384]).is_ok() {});
    }
}

fn socket() -> OwnedFd {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).expect("MPTCP")
}

#[test]
fn the_paths_of_a_running_connection_are_seen_with_their_rates() {
    let Some(network) = Network::new([20, 10]) else { return };
    network.send();
    // Until the second subflow has joined.
    thread::sleep(Duration::from_millis(500));
    let place = Place::new();
    let output = place
        .braid("advise --for 10s --cc lia --seeds 2 --json --save seen.toml --filter")
        .arg(&network.0[0].0)
        .output()
        .expect("it runs");
    let answer = json(done(&output));
    assert_eq!(answer["baseline"]["subflows"], serde_json::json!(["p1", "p2"]), "{answer:#}");
    assert!(answer["notes"].to_string().contains("no detector ran"), "{answer:#}");

    let saved = place.read("seen.toml");
    for (link, rates) in [("bottleneck-1", 15e3..22e3), ("bottleneck-2", 7e3..11e3)] {
        let table = saved.split(&format!("[link.{link}]\n")).nth(1).expect("a link");
        let value = |key: &str| -> f64 {
            let after = table.split(&format!("{key} = \"")).nth(1).expect("a key");
            after[..after.find(char::is_alphabetic).expect("a unit")].parse().expect("a number")
        };
        // A busy machine sends less.
        within(value("rate"), rates);
        // CUBIC fills the queue of 60 ms, and the bucket of 16 kB before it; a busy machine less.
        let queue_ms = value("queue") * 1500.0 * 8.0 / value("rate");
        within(queue_ms, 40.0..75.0);
    }
    place.stdout("check seen.toml");
}
