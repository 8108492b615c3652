//! Algorithms at work in the running kernel: loaded, chosen by sockets, carrying data between network namespaces, and
//! gone afterwards.
//!
//! Two paths of 100 Mbit/s lead from a client through a router, whose queues are the bottlenecks, to a server. Needs
//! root, `ip` and `tc`; where something is missing the tests print `SKIPPED: ...` with the reason.

mod common;

use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd as _,
    path::Path,
    process::Command,
    sync::{Mutex, MutexGuard, mpsc},
    thread,
    time::{Duration, Instant},
};

use braid_algorithms::{Algorithm, Spec};
use braid_kernel::{Error, Loaded, Namespace, available, load, loaded, set_default, sockets, unload};
use libbpf_rs::{Link, query::ProgInfoIter};
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Names and the kernel's lists are shared, so one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn run(command: &str) -> Result<String, String> {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a command");
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{command}`: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Client, router and server; removed when dropped.
struct Network {
    names: [String; 3],
}

impl Network {
    /// Nothing, and a line that says why, where this machine cannot have it.
    fn new(test: &str) -> Option<Self> {
        let names = ["c", "r", "s"].map(|role| format!("braid-{}-{role}", std::process::id()));
        let network = Self { names };
        match network.set_up() {
            Ok(()) => Some(network),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }

    fn set_up(&self) -> Result<(), String> {
        let [client, router, server] = &self.names;
        for name in &self.names {
            run(&format!("ip netns add {name}"))?;
            run(&format!("ip -n {name} link set lo up"))?;
        }
        for key in ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"] {
            run(&format!("ip netns exec {router} sysctl -qw {key}"))?;
        }
        for path in [1, 2] {
            for (end, name, hop, host) in [("c", client, 1, 1), ("s", server, 2, 2)] {
                let other = 3 - host;
                run(&format!(
                    "ip -n {name} link add {end}{path} type veth peer name {end}{path} netns {router}"
                ))?;
                for (name, host) in [(name, host), (router, other)] {
                    run(&format!("ip -n {name} addr add 10.{path}.{hop}.{host}/24 dev {end}{path}"))?;
                    run(&format!("ip -n {name} addr add fd0{path}:{hop}::{host}/64 dev {end}{path} nodad"))?;
                    run(&format!("ip -n {name} link set {end}{path} up"))?;
                }
                let far = 3 - hop;
                run(&format!("ip -n {name} route add 10.{path}.{far}.0/24 via 10.{path}.{hop}.{other}"))?;
                run(&format!("ip -n {name} -6 route add fd0{path}:{far}::/64 via fd0{path}:{hop}::{other}"))?;
            }
            run(&format!(
                "tc -n {router} qdisc add dev s{path} root tbf rate 100mbit burst 5000 limit 60000"
            ))?;
        }
        for name in [client, server] {
            run(&format!("ip -n {name} mptcp limits set subflows 4 add_addr_accepted 4"))?;
        }
        Ok(())
    }

    /// The server offers its address on the second path, to connections that exist as well.
    fn open_second_path(&self) {
        for address in ["10.2.2.2", "fd02:2::2"] {
            run(&format!("ip -n {} mptcp endpoint add {address} signal", self.names[2]))
                .expect("an endpoint");
        }
    }

    fn client(&self) -> Namespace {
        Namespace::named(&self.names[0]).expect("made by set_up")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

fn skip(test: &str, reason: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {test}, because {reason}").expect("stderr");
}

/// Moves this thread into a namespace.
fn enter(name: &str) {
    let file = File::open(Path::new("/run/netns").join(name)).expect("a namespace of ours");
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
}

fn socket(address: SocketAddr, is_mptcp: bool) -> std::os::fd::OwnedFd {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol: Option<Protocol> = if is_mptcp { Some(ipproto::MPTCP) } else { None };
    rustix::net::socket(family, SocketType::STREAM, protocol).expect("a socket")
}

/// A transfer from client to server, which has read nothing yet.
struct Transfer {
    stream: TcpStream,
    received: mpsc::Receiver<Vec<u8>>,
}

impl Transfer {
    /// Connects, on the congestion control of that name in the kernel if there is one.
    fn begin(network: &Network, address: &str, is_mptcp: bool, algorithm: Option<&str>) -> Self {
        let address: SocketAddr = address.parse().expect("an address");
        let [client, _, server] = network.names.clone();
        let (ready, is_ready) = mpsc::channel();
        let (send, received) = mpsc::channel();
        thread::spawn(move || {
            enter(&server);
            let socket = socket(address, is_mptcp);
            // Any address: a join to the second one needs a listener, too.
            let any: IpAddr =
                if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            rustix::net::bind(&socket, &SocketAddr::new(any, 0)).expect("a free port");
            rustix::net::listen(&socket, 1).expect("a bound socket");
            let listener = TcpListener::from(socket);
            ready.send(listener.local_addr().expect("bound").port()).expect("the test waits");
            let (mut stream, _) = listener.accept().expect("a client");
            let mut data = Vec::new();
            stream.read_to_end(&mut data).expect("a whole transfer");
            let _ = send.send(data);
        });
        let address = SocketAddr::new(address.ip(), is_ready.recv().expect("a server"));
        let algorithm = algorithm.map(str::to_owned);
        let connect = move || {
            enter(&client);
            let socket = socket(address, is_mptcp);
            if let Some(algorithm) = algorithm {
                sockopt::set_tcp_congestion(&socket, &algorithm).expect("it is loaded");
            }
            rustix::net::connect(&socket, &address).expect("a server");
            TcpStream::from(socket)
        };
        let stream = thread::spawn(connect).join().expect("a connection");
        Self { stream, received }
    }

    /// Sends so many bytes, different at each place.
    fn send(&mut self, sent: &mut Vec<u8>, bytes: usize) {
        let mut word = sent.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
        let from = sent.len();
        while sent.len() < from + bytes {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            sent.extend_from_slice(&word.to_ne_bytes());
        }
        self.stream.write_all(&sent[from..]).expect("the connection holds");
    }

    /// Closes and checks that all of it arrived, each byte in its place.
    fn finish(self, sent: &[u8]) {
        drop(self.stream);
        let received = self.received.recv_timeout(Duration::from_secs(30)).expect("the transfer ends");
        assert_eq!(received.len(), sent.len(), "bytes received and sent");
        assert!(received == sent, "the bytes are those that were sent");
    }
}

/// Unloads what a test has loaded, also when it fails.
struct Guard<'a>(&'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let _ = unload(self.0, true);
    }
}

fn spec(text: &str) -> Spec {
    Spec::parse(text).expect("an algorithm")
}

fn state(name: &str) -> Loaded {
    let all = loaded().expect("root may look");
    all.into_iter().find(|loaded| loaded.name == name).unwrap_or_else(|| panic!("{name} is loaded"))
}

fn coupled(name: &str) -> u64 {
    state(name).acks[2..].iter().sum()
}

/// Waits until something holds.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "not in 10 s: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Nothing of ours is in the kernel: no congestion control of that name, no pin, no program.
fn nothing_is_left(name: &str) {
    let kernel_name = format!("braid_{name}");
    assert!(!available().expect("the kernel says").contains(&kernel_name), "{kernel_name} is unregistered");
    assert!(!Path::new("/sys/fs/bpf/braid").join(name).exists(), "no pins of {name}");
    let programs =
        || ProgInfoIter::default().filter(|program| program.name.to_string_lossy() == "braid_pkts_acke");
    let others = loaded().expect("root may look").len();
    eventually("programs are freed", || programs().count() <= others);
}

#[test]
fn every_algorithm_carries_tcp_and_mptcp_over_both_families_and_leaves_nothing_behind() {
    const TEST: &str = "every algorithm carries traffic";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    network.open_second_path();
    for algorithm in braid_algorithms::all() {
        let spec = spec(algorithm.name());
        let name = &format!("t_{:.7}", algorithm.name());
        let kernel_name = &format!("braid_{name}");
        let Some(before) = common::or_skip(TEST, load(&spec, name)) else { return };
        let _guard = Guard(name);
        assert_eq!(before, None, "{name} was not loaded before");
        assert_eq!(state(name).spec, spec.text());

        for address in ["10.1.2.2:0", "[fd01:2::2]:0"] {
            let mut sent = Vec::new();
            let mut transfer = Transfer::begin(&network, address, false, Some(kernel_name));
            transfer.send(&mut sent, 1_500_000);
            let listed = run(&format!("ip netns exec {} ss -tinH", network.names[0])).expect("ss");
            assert!(listed.contains(kernel_name), "{kernel_name} in the output of ss:\n{listed}");
            transfer.finish(&sent);
        }
        let acks = state(name).acks;
        assert!(acks[1] > 100, "{kernel_name} handled the ACKs of plain TCP: {acks:?}");
        assert_eq!(coupled(name), 0, "there was nothing to couple yet");

        for address in ["10.1.2.2:0", "[fd01:2::2]:0"] {
            let before = coupled(name);
            let mut sent = Vec::new();
            let mut transfer = Transfer::begin(&network, address, true, Some(kernel_name));
            transfer.send(&mut sent, 100_000);
            eventually("the second subflow joins", || {
                let sockets = sockets(&network.client()).expect("root may look");
                let ours = |socket: &&braid_kernel::Socket| {
                    socket.algorithm == *kernel_name && socket.token.is_some()
                };
                sockets.iter().filter(ours).count() >= 2
            });
            transfer.send(&mut sent, 3_000_000);
            transfer.finish(&sent);
            let more = coupled(name) - before;
            let couples = algorithm.flags() & Algorithm::UNCOUPLED == 0;
            assert_eq!(more > 100, couples, "{kernel_name} to {address} saw its sibling at {more} ACKs");
        }
        eventually("sockets close", || {
            let sockets = sockets(&network.client()).expect("root may look");
            !sockets.iter().any(|socket| socket.algorithm == *kernel_name)
        });
        unload(name, false).expect("nobody uses it any more");
        nothing_is_left(name);
    }
}

#[test]
fn a_live_replacement_keeps_the_connection_and_couples_with_later_joins() {
    const TEST: &str = "live replacement";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("lia"), "t_swap")) else { return };
    let _guard = Guard("t_swap");
    let mut sent = Vec::new();
    let mut transfer = Transfer::begin(&network, "10.1.2.2:0", true, Some("braid_t_swap"));
    transfer.send(&mut sent, 500_000);
    assert_eq!(coupled("t_swap"), 0, "there is one path");

    let before = load(&spec("lia:rounding=usec"), "t_swap").expect("replacing works where loading does");
    assert_eq!(before.as_deref(), Some("lia"));
    assert_eq!(state("t_swap").spec, "lia:rounding=usec");
    network.open_second_path();
    eventually("the second subflow joins", || {
        let sockets = sockets(&network.client()).expect("root may look");
        sockets.iter().filter(|socket| socket.algorithm == "braid_t_swap").count() >= 2
    });
    transfer.send(&mut sent, 3_000_000);
    transfer.finish(&sent);
    assert!(coupled("t_swap") > 100, "the old subflow and the new one couple: {:?}", state("t_swap").acks);
    unload("t_swap", true).expect("it was loaded");
    nothing_is_left("t_swap");
}

#[test]
fn losses_and_timeouts_are_told_apart() {
    const TEST: &str = "causes of losses";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("reno"), "t_cause")) else { return };
    let _guard = Guard("t_cause");
    let mut sent = Vec::new();
    let mut transfer = Transfer::begin(&network, "10.1.2.2:0", false, Some("braid_t_cause"));
    transfer.send(&mut sent, 3_000_000);
    let [_, fast, timeouts, ecn] = state("t_cause").losses;
    assert!(fast > 0, "the queue overflowed");
    assert_eq!((timeouts, ecn), (0, 0), "nothing else happened");

    // More than the kernel buffers at once, so that there is data in flight when the path breaks.
    let link = |state: &str| run(&format!("ip -n {} link set s1 {state}", network.names[2])).expect("ours");
    let route = format!("ip -n {} route add 10.1.1.0/24 via 10.1.2.1", network.names[2]);
    transfer.stream.set_nonblocking(false).expect("a socket");
    let stream = transfer.stream.try_clone().expect("a socket");
    let more: Vec<u8> = vec![7; 12_000_000];
    let sender = thread::spawn({
        let more = more.clone();
        move || (&stream).write_all(&more).expect("the connection holds")
    });
    thread::sleep(Duration::from_millis(200));
    link("down");
    thread::sleep(Duration::from_millis(800));
    link("up");
    run(&route).expect("the route went with the link");
    sender.join().expect("all is sent");
    sent.extend_from_slice(&more);
    transfer.finish(&sent);
    let [_, _, timeouts, ecn] = state("t_cause").losses;
    assert!(timeouts > 0, "nothing came through for 0.8 s");
    assert_eq!(ecn, 0, "nobody marks packets here");
}

#[test]
fn what_is_in_use_is_unloaded_only_by_force_and_connections_keep_it() {
    const TEST: &str = "unloading what is in use";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("olia"), "t_used")) else { return };
    let _guard = Guard("t_used");
    set_default(&network.client(), Some("braid_t_used")).expect("it is loaded");
    let mut sent = Vec::new();
    let mut transfer = Transfer::begin(&network, "10.1.2.2:0", true, None);
    transfer.send(&mut sent, 500_000);

    let refused = unload("t_used", false).expect_err("it is in use").to_string();
    for part in [network.names[0].as_str(), "default", "10.1.2.2", "--force"] {
        assert!(refused.contains(part), "`{part}` in: {refused}");
    }
    assert_eq!(state("t_used").spec, "olia", "a refusal changes nothing");

    let users = unload("t_used", true).expect("by force");
    assert_eq!(users.len(), 1, "{users:?}");
    let default = braid_kernel::default(&network.client()).expect("root may look");
    assert!(["cubic", "reno"].contains(&default.as_str()), "the default is the kernel's: {default}");
    transfer.send(&mut sent, 500_000);
    transfer.finish(&sent);
    nothing_is_left("t_used");
}

#[test]
fn a_name_that_another_program_holds_is_refused_with_the_remedy() {
    const TEST: &str = "a name that is taken";
    let _alone = alone();
    let Some(_) = common::or_skip(TEST, load(&spec("reno"), "t_taken")) else { return };
    let pins = Path::new("/sys/fs/bpf/braid/t_taken");
    let link = Link::open(pins.join("link")).expect("it is pinned");
    for pin in std::fs::read_dir(pins).expect("it is loaded") {
        std::fs::remove_file(pin.expect("a pin").path()).expect("root may");
    }
    std::fs::remove_dir(pins).expect("now empty");
    let error = load(&spec("reno"), "t_taken").expect_err("the link above holds the name");
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");
    assert!(error.to_string().contains("--as"), "{error}");
    drop(link);
    eventually("it is unregistered", || {
        !available().expect("the kernel says").iter().any(|name| name == "braid_t_taken")
    });
    nothing_is_left("t_taken");
}

#[test]
fn names_that_the_kernel_would_refuse_are_refused_before() {
    for name in ["", "ten_chars_", "with-dash", "Upper", "a/b"] {
        let error = load(&spec("reno"), name).expect_err("no name");
        assert!(matches!(error, Error::BadName { .. }), "{name}: {error}");
    }
    let error = unload("never", false).expect_err("it was never loaded");
    assert!(matches!(error, Error::NotLoaded { .. }), "{error}");
}
