//! Figures of connections, sampled from the kernel's sockets.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use braid_kernel::{Flow, Namespace, Socket};
use serde::{Deserialize, Serialize};

/// Between two samples. A connection that is shorter may be missed.
pub(super) const STEP: Duration = Duration::from_millis(100);
/// Segments of the initial window: congestion control has no part in less data (RFC 6928).
const INITIAL_WINDOW: u64 = 10;

/// What a connection, or the connections of a block, did.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Measured {
    /// Number of connections.
    pub(super) connections: u64,
    /// Acknowledged payload.
    pub(super) bytes: u64,
    /// Time with data to send or to be acknowledged; for a transfer, until its last byte was acknowledged.
    pub(super) seconds: f64,
    /// From the first sample to the last one of completed connections, added up.
    pub(super) completed_seconds: f64,
    pub(super) completed: u64,
    /// Payload sent, and sent again.
    pub(super) sent: u64,
    pub(super) resent: u64,
    /// Sum over acknowledged bytes of the RTT above the lowest on that line, in byte-milliseconds.
    pub(super) queue: f64,
    /// Acknowledged payload by line.
    pub(super) lines: BTreeMap<String, u64>,
}

impl Measured {
    pub(super) fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.completed_seconds += other.completed_seconds;
        self.completed += other.completed;
        self.sent += other.sent;
        self.resent += other.resent;
        self.queue += other.queue;
        for (line, bytes) in &other.lines {
            *self.lines.entry(line.clone()).or_default() += bytes;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Mptcp(u32),
    Tcp(u64),
}

struct Subflow {
    ends: (SocketAddr, SocketAddr),
    line: (IpAddr, IpAddr),
    flow: Flow,
    /// Sums over samples, weighted with the bytes acknowledged in between.
    rtt: f64,
    weight: f64,
}

struct Connection {
    /// The block that its figures belong to.
    block: Option<usize>,
    first: Instant,
    last: Instant,
    algorithm: String,
    /// All subflows run the same algorithm.
    is_pure: bool,
    subflows: BTreeMap<u64, Subflow>,
}

/// Connections of a namespace that begin while it watches.
pub(super) struct Watch {
    namespace: Namespace,
    /// Cookies and tokens of connections that were there before.
    before: HashSet<u64>,
    tokens_before: HashSet<u32>,
    keys: HashMap<u64, Key>,
    connections: BTreeMap<Key, Connection>,
    /// Lowest RTT of each line, microseconds.
    base: HashMap<(IpAddr, IpAddr), u32>,
    /// The TCP beside the trial: its address, its counters, its bytes so far.
    beside: Option<(IpAddr, Option<u16>)>,
    counted: HashMap<u64, u64>,
    pub(super) beside_bytes: u64,
    latest: Instant,
}

impl Watch {
    pub(super) fn new(
        namespace: Namespace,
        beside: Option<(IpAddr, Option<u16>)>,
    ) -> Result<Self, braid_kernel::Error> {
        let sockets = braid_kernel::sockets(&namespace)?;
        Ok(Self {
            namespace,
            before: sockets.iter().map(|socket| socket.cookie).collect(),
            tokens_before: sockets.iter().filter_map(|socket| socket.token).collect(),
            keys: HashMap::new(),
            connections: BTreeMap::new(),
            base: HashMap::new(),
            beside,
            counted: HashMap::new(),
            beside_bytes: 0,
            latest: Instant::now(),
        })
    }

    fn is_beside(&self, socket: &Socket) -> bool {
        let (None, Some((address, port))) = (socket.token, self.beside) else { return false };
        [socket.local, socket.remote].iter().any(|end| {
            end.ip().to_canonical() == address.to_canonical() && port.is_none_or(|port| port == end.port())
        })
    }

    /// Takes a sample. `block_of` has the block of a new connection, by its algorithm; `None` leaves it out.
    pub(super) fn sample(
        &mut self,
        block_of: impl Fn(&str) -> Option<usize>,
    ) -> Result<(), braid_kernel::Error> {
        let sockets = braid_kernel::sockets(&self.namespace)?;
        let now = Instant::now();
        self.latest = now;
        for socket in sockets {
            let Some(flow) = socket.flow else { continue };
            // Within the machine there is no line.
            if socket.local.ip().to_canonical() == socket.remote.ip().to_canonical()
                || socket.local.ip().to_canonical().is_loopback()
            {
                continue;
            }
            if self.is_beside(&socket) {
                let carried = flow.bytes_acked + flow.bytes_received;
                // The first sample only has what was carried before.
                let last = self.counted.insert(socket.cookie, carried).unwrap_or(carried);
                self.beside_bytes += carried.saturating_sub(last);
                continue;
            }
            let is_old = self.before.contains(&socket.cookie)
                || socket.token.is_some_and(|token| self.tokens_before.contains(&token));
            if is_old {
                continue;
            }
            // A connection that falls back to TCP keeps its key.
            let new = socket.token.map_or(Key::Tcp(socket.cookie), Key::Mptcp);
            let key = *self.keys.entry(socket.cookie).or_insert(new);
            let connection = self.connections.entry(key).or_insert_with(|| Connection {
                block: block_of(&socket.algorithm),
                first: now,
                last: now,
                algorithm: socket.algorithm.clone(),
                is_pure: true,
                subflows: BTreeMap::new(),
            });
            connection.last = now;
            connection.is_pure &= connection.algorithm == socket.algorithm;
            let line = (socket.local.ip().to_canonical(), socket.remote.ip().to_canonical());
            if flow.min_rtt_us > 0 {
                let base = self.base.entry(line).or_insert(flow.min_rtt_us);
                *base = flow.min_rtt_us.min(*base);
            }
            let subflow = connection.subflows.entry(socket.cookie).or_insert_with(|| Subflow {
                ends: (canonical(socket.local), canonical(socket.remote)),
                line,
                flow: Flow::default(),
                rtt: 0.0,
                weight: 0.0,
            });
            let acked = flow.bytes_acked.saturating_sub(subflow.flow.bytes_acked) as f64;
            subflow.rtt += acked * f64::from(flow.srtt_us);
            subflow.weight += acked;
            subflow.flow = flow;
        }
        Ok(())
    }

    /// Figures of each block's connections; and the number of connections that were left out, as their subflows ran
    /// different algorithms.
    pub(super) fn blocks(&self, number: usize) -> (Vec<Measured>, usize) {
        let mut blocks = vec![Measured::default(); number];
        let mut mixed = 0;
        for connection in self.connections.values() {
            let (Some(block), Some(measured)) = (connection.block, self.measured(connection)) else {
                continue;
            };
            if connection.is_pure {
                blocks[block].add(&measured);
            } else {
                mixed += 1;
            }
        }
        (blocks, mixed)
    }

    /// Figures of the connection with a subflow between these ends.
    pub(super) fn of(&self, local: SocketAddr, remote: SocketAddr) -> Option<Measured> {
        let ends = (canonical(local), canonical(remote));
        let is_it =
            |connection: &&Connection| connection.subflows.values().any(|subflow| subflow.ends == ends);
        self.measured(self.connections.values().filter(is_it).max_by_key(|connection| connection.first)?)
    }

    /// Forgets completed connections, but not the lowest RTTs.
    pub(super) fn forget(&mut self) {
        let latest = self.latest;
        self.connections.retain(|_, connection| connection.last == latest);
    }

    /// None if congestion control had no part in it.
    fn measured(&self, connection: &Connection) -> Option<Measured> {
        let flows = || connection.subflows.values().map(|subflow| &subflow.flow);
        let sum = |count: fn(&Flow) -> u64| flows().map(count).sum::<u64>();
        let bytes = sum(|flow| flow.bytes_acked);
        let segment = flows().map(|flow| u64::from(flow.mss)).max()?;
        if bytes <= INITIAL_WINDOW * segment {
            return None;
        }
        let busy = flows().map(|flow| flow.busy_us).max()? as f64 / 1e6;
        let life = (connection.last - connection.first).as_secs_f64();
        let is_complete = connection.last < self.latest;
        let mut measured = Measured {
            connections: 1,
            bytes,
            seconds: if busy > 0.0 { busy } else { life.max(STEP.as_secs_f64()) },
            completed_seconds: if is_complete { life } else { 0.0 },
            completed: u64::from(is_complete),
            sent: sum(|flow| flow.bytes_sent),
            resent: sum(|flow| flow.bytes_retransmitted),
            ..Measured::default()
        };
        let names = self.names(connection);
        for subflow in connection.subflows.values() {
            let base = self.base.get(&subflow.line).map_or(0.0, |&base| f64::from(base));
            measured.queue += (subflow.rtt - subflow.weight * base).max(0.0) / 1e3;
            *measured.lines.entry(names[&subflow.line].clone()).or_default() += subflow.flow.bytes_acked;
        }
        Some(measured)
    }

    /// Names of a connection's lines: the interface or local address, or where that is one for all the remote address.
    fn names(&self, connection: &Connection) -> HashMap<(IpAddr, IpAddr), String> {
        let interfaces = braid_kernel::interfaces(&self.namespace).unwrap_or_default();
        let lines: HashSet<_> = connection.subflows.values().map(|subflow| subflow.line).collect();
        let own = |local: &IpAddr| interfaces.get(local).cloned().unwrap_or_else(|| local.to_string());
        let names: HashSet<String> = lines.iter().map(|(local, _)| own(local)).collect();
        let by_remote = names.len() < lines.len();
        let name = |line: (IpAddr, IpAddr)| if by_remote { line.1.to_string() } else { own(&line.0) };
        lines.into_iter().map(|line| (line, name(line))).collect()
    }
}

/// IPv6 sockets may have IPv4 addresses.
fn canonical(end: SocketAddr) -> SocketAddr {
    SocketAddr::new(end.ip().to_canonical(), end.port())
}
