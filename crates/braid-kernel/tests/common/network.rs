//! Network namespaces with two paths, and transfers over them.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use braid_algorithms::Spec;
use braid_kernel::{Namespace, unload};
use braid_testing::netns::Netns;
pub(crate) use braid_testing::netns::{enter, run};
pub(crate) use braid_testing::{skip, until as eventually};
use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, sockopt};

/// Names and the kernel's lists are shared, so the tests run one at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Programs and maps: kind and id, which the kernel does not reuse.
pub(crate) type Objects = BTreeSet<(char, u32)>;

/// The programs and maps of Braid in the kernel.
pub(crate) fn objects() -> Objects {
    let ours = |name: &std::ffi::CStr| name.to_bytes().starts_with(b"braid_");
    let programs =
        ProgInfoIter::default().filter(|program| ours(&program.name)).map(|program| ('p', program.id));
    let maps = MapInfoIter::default().filter(|map| ours(&map.name)).map(|map| ('m', map.id));
    programs.chain(maps).collect()
}

/// Client, router and server; removed when dropped.
pub(crate) struct Network {
    pub(crate) names: [String; 3],
    _namespaces: [Netns; 3],
}

impl Network {
    /// None if this machine cannot create it; prints the reason.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let namespaces = [Netns::new(test)?, Netns::new(test)?, Netns::new(test)?];
        let network = Self { names: namespaces.each_ref().map(|own| own.0.clone()), _namespaces: namespaces };
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
            run(&format!("ip -n {name} mptcp limits set subflows 8 add_addr_accepted 8"))?;
            // A closed socket whose path is gone keeps its algorithm while it tries: for minutes, but for this.
            for key in ["net.ipv4.tcp_orphan_retries=2", "net.ipv4.tcp_fin_timeout=2"] {
                run(&format!("ip netns exec {name} sysctl -qw {key}"))?;
            }
            // Older kernels lack it.
            let _ = run(&format!("ip netns exec {name} sysctl -qw net.mptcp.close_timeout=2"));
        }
        Ok(())
    }

    /// The server announces its address on the second path, to existing connections as well.
    pub(crate) fn open_second_path(&self) {
        for address in ["10.2.2.2", "fd02:2::2"] {
            run(&format!("ip -n {} mptcp endpoint add {address} signal", self.names[2]))
                .expect("an endpoint");
        }
    }

    /// The router drops some packets of the first path and marks some of the ECN-capable ones.
    pub(crate) fn damage(&self) -> Result<(), String> {
        let [client, router, server] = &self.names;
        for name in [client, server] {
            run(&format!("ip netns exec {name} sysctl -qw net.ipv4.tcp_ecn=1"))?;
        }
        run(&format!("ip netns exec {router} nft add table inet braid"))?;
        run(&format!(
            "ip netns exec {router} nft add chain inet braid forward {{ type filter hook forward priority 0 ; }}"
        ))?;
        for rule in [
            "meta l4proto tcp numgen random mod 1000 < 3 drop",
            "ip ecn != not-ect numgen random mod 1000 < 3 ip ecn set ce",
            "ip6 ecn != not-ect numgen random mod 1000 < 3 ip6 ecn set ce",
        ] {
            run(&format!("ip netns exec {router} nft add rule inet braid forward {rule}"))?;
        }
        Ok(())
    }

    /// Takes the second path down, or up again.
    pub(crate) fn second_path(&self, is_up: bool) {
        let [_, router, server] = &self.names;
        let state = if is_up { "up" } else { "down" };
        run(&format!("ip -n {router} link set s2 {state}")).expect("ours");
        if is_up {
            let _ = run(&format!("ip -n {server} route replace 10.2.1.0/24 via 10.2.2.1"));
            let _ = run(&format!("ip -n {server} -6 route replace fd02:1::/64 via fd02:2::1"));
        }
    }

    /// Withdraws the address on the second path: its subflows are removed.
    pub(crate) fn close_second_path(&self) {
        let _ = run(&format!("ip -n {} mptcp endpoint flush", self.names[2]));
    }

    pub(crate) fn client(&self) -> Namespace {
        Namespace::named(&self.names[0]).expect("made by set_up")
    }
}

pub(crate) fn socket(address: SocketAddr, is_mptcp: bool) -> std::os::fd::OwnedFd {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol: Option<Protocol> = if is_mptcp { Some(ipproto::MPTCP) } else { None };
    rustix::net::socket(family, SocketType::STREAM, protocol).expect("a socket")
}

/// Backlog of a listener. Joins queue there as well; above the limit the server uses SYN cookies, and a connection may
/// end before the server knows of it.
const BACKLOG: i32 = 64;

/// A listener on any address, because a join to the second address needs one, too.
fn listener(address: SocketAddr, is_mptcp: bool) -> TcpListener {
    let socket = socket(address, is_mptcp);
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    rustix::net::bind(&socket, &SocketAddr::new(any, 0)).expect("a free port");
    rustix::net::listen(&socket, BACKLOG).expect("a bound socket");
    TcpListener::from(socket)
}

/// A transfer from client to server; the server has read nothing yet.
pub(crate) struct Transfer {
    pub(crate) stream: TcpStream,
    received: mpsc::Receiver<Vec<u8>>,
}

impl Transfer {
    /// Connects, with the congestion control of that name if the kernel has it.
    pub(crate) fn begin(network: &Network, address: &str, is_mptcp: bool, algorithm: Option<&str>) -> Self {
        let address: SocketAddr = address.parse().expect("an address");
        let [client, _, server] = network.names.clone();
        let (ready, is_ready) = mpsc::channel();
        let (send, received) = mpsc::channel();
        thread::spawn(move || {
            enter(&server);
            let listener = listener(address, is_mptcp);
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

    /// Sends `bytes` bytes, with different content at each position.
    pub(crate) fn send(&mut self, sent: &mut Vec<u8>, bytes: usize) {
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

    /// Closes the connection and checks that every byte arrived in its place.
    pub(crate) fn finish(self, sent: &[u8]) {
        drop(self.stream);
        let received = self.received.recv_timeout(Duration::from_secs(30)).expect("the transfer ends");
        assert_eq!(received.len(), sent.len(), "bytes received and sent");
        assert!(received == sent, "the bytes are those that were sent");
    }
}

/// Period of the bytes of [`Pumped`]: a prime, so that a shift by any common size shows.
const PERIOD: usize = 65_521;

/// Two periods: a slice of up to one period can start anywhere in the first.
fn pattern() -> Vec<u8> {
    (0..2 * PERIOD as u64)
        .map(|i| (i % PERIOD as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as u8 >> 1)
        .collect()
}

/// Result of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pumped {
    pub(crate) sent: usize,
    pub(crate) received: usize,
    /// Position of the first wrong byte, and the number of wrong bytes.
    pub(crate) damage: Option<(usize, usize)>,
    /// The congestion control was not registered, so the connection used the default.
    pub(crate) on_default: bool,
}

/// Opens a connection with a congestion control, sends until `stop` or up to a number of bytes, closes, and checks each
/// received byte. Runs in separate threads.
pub(crate) fn pump(
    network: &Network,
    address: &str,
    is_mptcp: bool,
    algorithm: &str,
    bytes: usize,
    stop: &AtomicBool,
) -> Result<Pumped, String> {
    let address: SocketAddr = address.parse().expect("an address");
    let [client, _, server] = &network.names;
    let text = |error: std::io::Error| error.to_string();
    thread::scope(|scope| {
        let (ready, is_ready) = mpsc::channel();
        let receiver = scope.spawn(move || {
            enter(server);
            let listener = listener(address, is_mptcp);
            ready.send(listener.local_addr().expect("bound").port()).expect("the client waits");
            // If the client cannot connect, this must not wait for ever.
            sockopt::set_socket_timeout(&listener, sockopt::Timeout::Recv, Some(Duration::from_secs(180)))
                .expect("a socket");
            let (mut stream, _) = listener.accept().map_err(|error| format!("accepting: {error}"))?;
            let (pattern, mut buffer) = (pattern(), vec![0; PERIOD]);
            let (mut received, mut damage) = (0, None::<(usize, usize)>);
            loop {
                let n = match stream.read(&mut buffer) {
                    Ok(0) => return Ok((received, damage)),
                    Ok(n) => n,
                    Err(error) => return Err(format!("after {received} bytes: {error}")),
                };
                let expected = &pattern[received % PERIOD..][..n];
                if buffer[..n] != *expected {
                    let wrong = (0..n).filter(|&i| buffer[i] != expected[i]);
                    for at in wrong {
                        damage = Some(damage.map_or((received + at, 0), |(first, more)| (first, more + 1)));
                    }
                }
                received += n;
            }
        });
        let port = is_ready.recv().expect("a server");
        let sender = scope.spawn(move || {
            enter(client);
            let socket = socket(address, is_mptcp);
            let on_default = sockopt::set_tcp_congestion(&socket, algorithm).is_err();
            rustix::net::connect(&socket, &SocketAddr::new(address.ip(), port))
                .map_err(|error| error.to_string())?;
            let mut stream = TcpStream::from(socket);
            let pattern = pattern();
            let mut sent = 0;
            while sent < bytes && !stop.load(Ordering::Relaxed) {
                let n = (bytes - sent).min(16_384);
                stream.write_all(&pattern[sent % PERIOD..][..n]).map_err(text)?;
                sent += n;
            }
            // If it closes before all data has arrived, the socket gives up after its second retry (tcp_orphan_retries
            // above).
            stream.shutdown(Shutdown::Write).map_err(text)?;
            stream.set_read_timeout(Some(Duration::from_secs(180))).map_err(text)?;
            stream.read_to_end(&mut Vec::new()).map_err(|error| format!("closing: {error}"))?;
            Ok::<_, String>((sent, on_default))
        });
        let (sent, on_default) = sender.join().expect("no panic")?;
        let (received, damage) = receiver.join().expect("no panic")?;
        Ok(Pumped { sent, received, damage, on_default })
    })
}

/// Unloads the algorithms of a test, also if it fails.
pub(crate) struct Guard<'a>(pub(crate) &'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let _ = unload(self.0, true);
    }
}

pub(crate) fn spec(text: &str) -> Spec {
    Spec::parse(text).expect("an algorithm")
}
