//! What the kernel's sockets do, and how fast since the last look.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use braid_algorithms::layout::{SSTHRESH_INFINITE, Verdict, ca_state};
use braid_kernel::{Flow, Namespace, PREFIX, Socket, Verdicts};
use serde_json::{Value, json};

/// A TCP connection, or a subflow of MPTCP.
#[derive(Clone, Debug)]
pub(super) struct Subflow {
    pub(super) algorithm: String,
    /// Numbered from 1 within the connection, in the order of the identifiers of its addresses.
    pub(super) number: usize,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) flow: Flow,
    /// Acknowledged payload, bits per second.
    pub(super) rate_bps: f64,
    /// What its detector of shared bottlenecks says, if it has one and this process may ask.
    pub(super) verdict: Option<Verdict>,
}

/// A connection with its subflows; plain TCP has one and no token.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// As people call it; empty for the one of this process.
    pub(super) namespace: String,
    pub(super) token: Option<u32>,
    pub(super) subflows: Vec<Subflow>,
}

impl Subflow {
    /// Share of the payload bytes that were sent again, 0 to 1.
    pub(super) fn loss(&self) -> f64 {
        match self.flow.bytes_sent {
            0 => 0.0,
            sent => self.flow.bytes_retransmitted as f64 / sent as f64,
        }
    }

    pub(super) fn state(&self) -> &'static str {
        match u32::from(self.flow.ca_state) {
            ca_state::OPEN if self.flow.cwnd < self.flow.ssthresh => "slow start",
            ca_state::OPEN => "open",
            ca_state::DISORDER => "disorder",
            ca_state::CWR => "cwr",
            ca_state::RECOVERY => "recovery",
            ca_state::LOSS => "loss",
            _ => "unknown",
        }
    }

    /// A number that the connection's subflows with the same bottleneck have in common, or `own`; `-` where nothing is
    /// said.
    pub(super) fn group(&self) -> String {
        match self.verdict {
            None => "-".into(),
            Some(Verdict { group: 0, .. }) => "own".into(),
            Some(Verdict { group, .. }) => group.to_string(),
        }
    }

    /// Nothing before the first loss.
    pub(super) fn ssthresh(&self) -> Option<u32> {
        Some(self.flow.ssthresh).filter(|&ssthresh| ssthresh < SSTHRESH_INFINITE)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "number": self.number,
            "algorithm": self.algorithm,
            "state": self.state(),
            "cwnd": self.flow.cwnd,
            "ssthresh": self.ssthresh(),
            "in_flight": self.flow.in_flight,
            "mss": self.flow.mss,
            "srtt_ms": f64::from(self.flow.srtt_us) / 1e3,
            "min_rtt_ms": f64::from(self.flow.min_rtt_us) / 1e3,
            "rate_bps": self.rate_bps.round(),
            "loss": self.loss(),
            "bytes_acked": self.flow.bytes_acked,
            "bytes_retransmitted": self.flow.bytes_retransmitted,
            "packets_marked": self.flow.delivered_ce,
            "group": self.verdict.map(|verdict| verdict.group),
            "local": self.local.to_string(),
            "remote": self.remote.to_string(),
        })
    }
}

impl Connection {
    /// Whether one of its subflows runs an algorithm of ours.
    pub(super) fn is_ours(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.algorithm.starts_with(PREFIX))
    }

    pub(super) fn contains(&self, text: &str) -> bool {
        let token = self.token.map(|token| format!("{token:08x}")).unwrap_or_default();
        token.contains(text)
            || self.namespace.contains(text)
            || self.subflows.iter().any(|subflow| {
                subflow.algorithm.contains(text)
                    || subflow.local.to_string().contains(text)
                    || subflow.remote.to_string().contains(text)
            })
    }

    /// To order equals by.
    pub(super) fn identity(&self) -> (&str, Option<u32>, SocketAddr, SocketAddr) {
        (&self.namespace, self.token, self.subflows[0].local, self.subflows[0].remote)
    }
}

/// Bytes acknowledged at the last look.
type Acked = BTreeMap<(String, SocketAddr, SocketAddr), u64>;

/// Namespace, token, and of plain TCP the addresses.
type Key = (String, Option<u32>, Option<(SocketAddr, SocketAddr)>);

/// Takes samples.
pub(super) struct Sampler {
    began: Instant,
    last: Option<(Instant, Acked)>,
    /// Opened when the first socket on one of Braid's algorithms is seen; none where that is not possible.
    verdicts: OnceCell<Option<Verdicts>>,
}

impl Sampler {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), last: None, verdicts: OnceCell::new() }
    }

    /// All connections in sight, and the time since the first look.
    pub(super) fn take(&mut self) -> (Duration, Vec<Connection>) {
        let now = Instant::now();
        let mut acked = Acked::new();
        let mut connections: BTreeMap<Key, Connection> = BTreeMap::new();
        for namespace in Namespace::all() {
            // One that has just gone, or that this process may not enter.
            let mut sockets = braid_kernel::sockets(&namespace).unwrap_or_default();
            sockets.sort_by_key(|socket| (socket.ids, socket.local, socket.remote));
            let verdicts = self.verdicts(&namespace, &sockets);
            for socket in sockets {
                let Some(flow) = socket.flow else { continue };
                let name = namespace.name.clone();
                let key = (name.clone(), socket.local, socket.remote);
                let before = self.last.as_ref().and_then(|(_, acked)| acked.get(&key));
                let rate_bps = match (&self.last, before) {
                    (Some((then, _)), Some(&before)) => {
                        flow.bytes_acked.saturating_sub(before) as f64 * 8.0 / (now - *then).as_secs_f64()
                    }
                    _ => flow.delivery_rate as f64 * 8.0,
                };
                acked.insert(key, flow.bytes_acked);
                let mut verdict = verdicts.get(&socket.cookie).copied();
                // `sbd=all` says of plain TCP, too, that all share a bottleneck: but nobody is there to share with.
                if let (Some(verdict), None) = (&mut verdict, socket.token) {
                    verdict.group = 0;
                }
                let lone = socket.token.is_none().then_some((socket.local, socket.remote));
                let connection = connections.entry((name.clone(), socket.token, lone)).or_insert_with(|| {
                    Connection { namespace: name, token: socket.token, subflows: Vec::new() }
                });
                connection.subflows.push(Subflow {
                    algorithm: socket.algorithm,
                    number: connection.subflows.len() + 1,
                    local: socket.local,
                    remote: socket.remote,
                    flow,
                    rate_bps,
                    verdict,
                });
            }
        }
        self.last = Some((now, acked));
        (now - self.began, connections.into_values().collect())
    }

    /// By the socket's cookie.
    fn verdicts(&self, namespace: &Namespace, sockets: &[Socket]) -> BTreeMap<u64, Verdict> {
        if !sockets.iter().any(|socket| socket.algorithm.starts_with(PREFIX)) {
            return BTreeMap::new();
        }
        let verdicts = self.verdicts.get_or_init(|| Verdicts::open().ok()).as_ref();
        let said = verdicts.and_then(|verdicts| verdicts.of(namespace).ok()).unwrap_or_default();
        said.into_iter().map(|said| (said.cookie, said.verdict)).collect()
    }
}
