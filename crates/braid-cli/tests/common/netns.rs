//! Network namespaces for tests, and two of them joined by two lines.
#![allow(dead_code, reason = "not every test uses all")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use braid_testing::braid_path;
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace; removed when dropped.
pub(crate) struct Netns(pub(crate) String);

impl Netns {
    /// None if this machine cannot create it; prints the reason.
    pub(crate) fn new(test: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let netns = Self(format!("braid-cli-{}-{number}", std::process::id()));
        if let Err(reason) = ip(&format!("netns add {}", netns.0)) {
            writeln!(std::io::stderr(), "SKIPPED: {test}, because `ip netns add` says {reason}")
                .expect("stderr");
            return None;
        }
        Some(netns)
    }

    /// Runs `ip` inside.
    pub(crate) fn ip(&self, args: &str) {
        ip(&format!("-n {} {args}", self.0)).expect("ours");
    }

    pub(crate) fn enter(&self) {
        let file = File::open(format!("/run/netns/{}", self.0)).expect("ours");
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.0));
    }
}

/// Runs `ip`.
pub(crate) fn ip(args: &str) -> Result<(), String> {
    run("ip", args)
}

fn run(program: &str, args: &str) -> Result<(), String> {
    let output: Output =
        Command::new(program).args(args.split(' ')).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// A client with the lines c1 and c2, 8 Mbit/s each, to a server with the address 10.9.9.9.
pub(crate) struct Pair {
    pub(crate) client: Netns,
    pub(crate) server: Netns,
}

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 9);

impl Pair {
    /// The client's second address is an endpoint with a route of its own. None if this machine cannot make it.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let pair = Self { client: Netns::new(test)?, server: Netns::new(test)? };
        let (client, server) = (&pair.client, &pair.server);
        for netns in [client, server] {
            netns.ip("link set lo up");
        }
        server.ip("addr add 10.9.9.9/32 dev lo");
        // A line leads only to its own addresses.
        within(server, || std::fs::write("/proc/sys/net/ipv4/conf/all/arp_ignore", "1")).expect("root may");
        for line in [1, 2] {
            ip(&format!(
                "link add c{line} netns {} type veth peer name s{line} netns {}",
                client.0, server.0
            ))
            .expect("ours");
            for (netns, end, host) in [(client, "c", 2), (server, "s", 1)] {
                netns.ip(&format!("addr add 10.0.{line}.{host}/24 dev {end}{line}"));
                netns.ip(&format!("link set {end}{line} up"));
                let shaped = run(
                    "tc",
                    &format!(
                        "-n {} qdisc add dev {end}{line} root tbf rate 8mbit burst 20k latency 50ms",
                        netns.0
                    ),
                );
                if let Err(reason) = shaped {
                    writeln!(std::io::stderr(), "SKIPPED: {test}, because tbf: {reason}").expect("stderr");
                    return None;
                }
            }
        }
        client.ip("route add default via 10.0.1.1 dev c1");
        client.ip("route add default via 10.0.2.1 dev c2 table 2");
        client.ip("rule add from 10.0.2.2 table 2");
        client.ip("mptcp limits set subflows 2 add_addr_accepted 2");
        server.ip("mptcp limits set subflows 2 add_addr_accepted 2");
        client.ip("mptcp endpoint add 10.0.2.2 dev c2 subflow");
        Some(pair)
    }

    /// A transfer that fills the lines until it is dropped.
    pub(crate) fn transfer(&self, ask: &Ask) -> Transfer {
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        let (client, server, ask) = (&self.client, &self.server, *ask);
        let listener = within(server, || {
            let socket = tcp(AddressFamily::INET6, ask.server_protocol);
            rustix::net::bind(&socket, &any).expect("a free port");
            rustix::net::listen(&socket, 16).expect("bound");
            TcpListener::from(socket)
        });
        let port = listener.local_addr().expect("bound").port();
        let near = within(client, || {
            let socket = tcp(AddressFamily::INET, ask.client_protocol);
            if !ask.algorithm.is_empty() {
                sockopt::set_tcp_congestion(&socket, ask.algorithm).expect("it is loaded");
            }
            if let Some(from) = ask.from {
                rustix::net::bind(&socket, &SocketAddr::from((from, 0))).expect("ours");
            }
            rustix::net::connect(&socket, &SocketAddr::from((SERVER, port))).expect("it listens");
            TcpStream::from(socket)
        });
        let far = listener.accept().expect("a client").0;
        let [sender, receiver] = if ask.downloads { [&far, &near] } else { [&near, &far] };
        let (mut sender, mut receiver) =
            (sender.try_clone().expect("ours"), receiver.try_clone().expect("ours"));
        thread::spawn(move || while sender.write_all(&[7; 10_000]).is_ok() {});
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while receiver.read(&mut buffer).is_ok_and(|n| n > 0) {}
        });
        Transfer { ends: [near, far], _listener: listener }
    }
}

/// What a transfer is like.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) client_protocol: Protocol,
    pub(crate) server_protocol: Protocol,
    /// The client's; empty for the default.
    pub(crate) algorithm: &'static str,
    pub(crate) downloads: bool,
    /// The client's address.
    pub(crate) from: Option<Ipv4Addr>,
}

/// An upload over MPTCP.
pub(crate) const UPLOAD: Ask = Ask {
    client_protocol: ipproto::MPTCP,
    server_protocol: ipproto::MPTCP,
    algorithm: "",
    downloads: false,
    from: None,
};

pub(crate) struct Transfer {
    ends: [TcpStream; 2],
    /// Joins need it.
    _listener: TcpListener,
}

impl Drop for Transfer {
    fn drop(&mut self) {
        for end in &self.ends {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn tcp(family: AddressFamily, protocol: Protocol) -> rustix::fd::OwnedFd {
    rustix::net::socket(family, SocketType::STREAM, Some(protocol)).expect("the protocol")
}

/// Does something inside a namespace.
pub(crate) fn within<T: Send>(netns: &Netns, action: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            netns.enter();
            action()
        });
        inside.join().expect("no panic")
    })
}

/// Standard output and standard error of braid, with these files below an empty /etc.
pub(crate) fn braid_with(files: &[(&str, &str)], args: &[&str]) -> String {
    braid_in(None, files, args)
}

/// As [`braid_with`], inside a namespace.
pub(crate) fn braid_in(netns: Option<&Netns>, files: &[(&str, &str)], args: &[&str]) -> String {
    let mut script = "mount -t tmpfs braid-test /etc\n".to_owned();
    for (path, text) in files {
        writeln!(script, "mkdir -p $(dirname {path}); cat >{path} <<'END'\n{text}\nEND").expect("a string");
    }
    let enter = netns.map_or(String::new(), |netns| format!("nsenter --net=/run/netns/{}", netns.0));
    writeln!(script, "exec {enter} \"$@\" 2>&1").expect("a string");
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"])
        .arg(braid_path())
        .args(args)
        .output()
        .expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asks until the answer has every part; fails with the last answer.
pub(crate) fn until(parts: &[&str], ask: impl Fn() -> String) -> String {
    let began = Instant::now();
    loop {
        let answer = ask();
        let Some(missing) = parts.iter().find(|part| !answer.contains(**part)) else { return answer };
        assert!(began.elapsed() < Duration::from_secs(20), "`{missing}` in:\n{answer}");
        thread::sleep(Duration::from_millis(200));
    }
}
