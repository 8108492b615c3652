//! Connections, their subflows and lines as they are at a sample.

use std::net::SocketAddr;
use std::time::Duration;

use braid_algorithms::layout::{SSTHRESH_INFINITE, Verdict, ca_state};
use braid_kernel::{Flow, PREFIX};
use serde_json::{Value, json};

/// Interval of the recent loss.
pub(crate) const RECENT: Duration = Duration::from_secs(10);

/// Changes of a subflow between two samples.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Acknowledged payload, bits per second.
    pub(crate) rate_bps: f64,
    /// Received payload, bits per second.
    pub(crate) received_bps: f64,
    pub(crate) srtt_us: u32,
    pub(crate) cwnd: u32,
}

/// A TCP connection, or a subflow of MPTCP.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    pub(crate) cookie: u64,
    pub(crate) algorithm: String,
    /// Numbered from 1 within the connection, in the order of the identifiers of its addresses.
    pub(crate) number: usize,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// The network interface that has the local address.
    pub(crate) interface: Option<String>,
    /// Name of its line: of the operator, else what tells it apart in the connection, see [`Lines`].
    pub(crate) line: String,
    /// State of that line.
    pub(crate) line_state: State,
    /// It is a backup.
    pub(crate) is_backup: bool,
    /// The peer answered without MPTCP.
    pub(crate) fell_back: bool,
    pub(crate) flow: Flow,
    /// Acknowledged payload, bits per second.
    pub(crate) rate_bps: f64,
    /// Received payload, bits per second.
    pub(crate) received_bps: f64,
    /// Share of the payload bytes retransmitted in the last [`RECENT`], 0 to 1.
    pub(crate) recent_loss: f64,
    pub(crate) limit: Limit,
    /// Whether its algorithm couples it with siblings; `None` if unknown.
    pub(crate) couples: Option<bool>,
    /// Label of its shared-bottleneck detector, if it has one and this process may read it.
    pub(crate) verdict: Option<Verdict>,
    /// The operator's bottleneck for it (`braid hint`).
    pub(crate) hint: Option<u32>,
}

/// State of a line, by the retransmission timeouts in a row of its subflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    #[default]
    Healthy,
    Suspect,
    Dead,
}

impl State {
    /// One timeout is often a lost tail. After four, MPTCP itself takes a subflow as stale (`net.mptcp.stale_loss_cnt`).
    pub(super) fn of(timeouts: u8) -> Self {
        match timeouts {
            0 | 1 => Self::Healthy,
            2 | 3 => Self::Suspect,
            _ => Self::Dead,
        }
    }

    /// The next state of a line: the best that its subflows show. A retransmission shows nothing, an ACK does.
    pub(super) fn next<'a>(self, subflows: impl Iterator<Item = &'a Flow>) -> Self {
        let shows = |flow: &&Flow| {
            flow.opening_ms.is_none() && (flow.timeouts > 0 || flow.last_ack_ms < RECENT.as_millis() as u32)
        };
        subflows.filter(shows).map(|flow| Self::of(flow.timeouts)).min().unwrap_or(self)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Suspect => "suspect",
            Self::Dead => "dead",
        }
    }
}

/// The limit of a subflow's sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// Several timeouts in a row.
    Dead,
    /// Two or three timeouts in a row.
    Suspect,
    /// Its SYN is not answered.
    Opening,
    /// Neither sends nor receives.
    Idle,
    /// Nothing to send: it receives.
    Receives,
    /// The application has no more data, or MPTCP assigns it to other subflows.
    Application,
    /// The receiver's window.
    Receiver,
    /// The send buffer.
    SendBuffer,
    /// The congestion window.
    Window,
    /// Loss recovery.
    Loss,
    /// This machine's own queue, or pacing.
    Queue,
}

impl Limit {
    pub(crate) const ALL: [Self; 11] = [
        Self::Dead,
        Self::Suspect,
        Self::Opening,
        Self::Idle,
        Self::Receives,
        Self::Application,
        Self::Receiver,
        Self::SendBuffer,
        Self::Window,
        Self::Loss,
        Self::Queue,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Suspect => "suspect",
            Self::Opening => "syn",
            Self::Idle => "idle",
            Self::Receives => "recv",
            Self::Application => "app",
            Self::Receiver => "rwnd",
            Self::SendBuffer => "sndbuf",
            Self::Window => "cwnd",
            Self::Loss => "loss",
            Self::Queue => "queue",
        }
    }
}

/// A connection with its subflows; plain TCP has one and no token.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// Name of the namespace; empty for this process's.
    pub(crate) namespace: String,
    pub(crate) token: Option<u32>,
    /// The peer opened it.
    pub(crate) is_accepted: bool,
    pub(crate) subflows: Vec<Subflow>,
}

impl Subflow {
    /// Share of the payload bytes retransmitted since the subflow began, 0 to 1.
    pub(crate) fn loss(&self) -> f64 {
        share(self.flow.bytes_retransmitted, self.flow.bytes_sent)
    }

    pub(crate) fn state(&self) -> &'static str {
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

    /// A number common to the connection's subflows with the same bottleneck, or `own`; `-` without a label.
    pub(crate) fn group(&self) -> String {
        match self.verdict {
            None => "-".into(),
            Some(Verdict { group: 0, .. }) => "own".into(),
            Some(Verdict { group, .. }) => group.to_string(),
        }
    }

    /// `None` before the first loss.
    pub(crate) fn ssthresh(&self) -> Option<u32> {
        Some(self.flow.ssthresh).filter(|&ssthresh| ssthresh < SSTHRESH_INFINITE)
    }

    /// Queueing delay.
    pub(crate) fn queue_us(&self) -> u32 {
        self.flow.srtt_us.saturating_sub(self.flow.min_rtt_us)
    }

    pub(crate) fn json(&self) -> Value {
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
            "received_bps": self.received_bps.round(),
            "loss": self.loss(),
            "recent_loss": self.recent_loss,
            "limited_by": self.limit.name(),
            "bytes_acked": self.flow.bytes_acked,
            "bytes_received": self.flow.bytes_received,
            "bytes_retransmitted": self.flow.bytes_retransmitted,
            "packets_marked": self.flow.delivered_ce,
            "group": self.verdict.map(|verdict| verdict.group),
            "hint": self.hint,
            "backup": self.is_backup,
            "line": self.line,
            "line_state": self.line_state.name(),
            "interface": self.interface,
            "local": self.local.to_string(),
            "remote": self.remote.to_string(),
        })
    }
}

pub(super) fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

impl Connection {
    /// Whether one of its subflows runs one of our algorithms.
    pub(crate) fn is_ours(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.algorithm.starts_with(PREFIX))
    }

    /// Bytes that were acknowledged and received.
    fn bytes(&self) -> (u64, u64) {
        let sum = |bytes: fn(&Subflow) -> u64| self.subflows.iter().map(bytes).sum();
        (sum(|subflow| subflow.flow.bytes_acked), sum(|subflow| subflow.flow.bytes_received))
    }

    /// Whether this end sends data: then its congestion control matters.
    pub(crate) fn sends(&self) -> bool {
        let (sent, received) = self.bytes();
        sent > 0 && 10 * sent >= received
    }

    /// Whether nearly all data comes from the peer, whose congestion control matters.
    pub(crate) fn receives(&self) -> bool {
        let (sent, received) = self.bytes();
        received > 10 * sent
    }

    /// A name for display.
    pub(crate) fn name(&self) -> String {
        self.token.map_or_else(|| "tcp".into(), |token| format!("{token:08x}"))
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        self.name().contains(text)
            || self.namespace.contains(text)
            || self.subflows.iter().any(|subflow| {
                subflow.algorithm.contains(text)
                    || subflow.interface.as_ref().is_some_and(|interface| interface.contains(text))
                    || subflow.line.contains(text)
                    || subflow.local.to_string().contains(text)
                    || subflow.remote.to_string().contains(text)
            })
    }

    /// Tie-breaker for sorting.
    pub(crate) fn identity(&self) -> (&str, Option<u32>, SocketAddr, SocketAddr) {
        (&self.namespace, self.token, self.subflows[0].local, self.subflows[0].remote)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A subflow that has just sent, without problems.
    pub(crate) fn subflow(number: usize) -> Subflow {
        Subflow {
            cookie: number as u64,
            algorithm: "braid_lia".into(),
            number,
            local: format!("10.0.{number}.2:4000").parse().expect("an address"),
            remote: "192.0.2.1:443".parse().expect("an address"),
            interface: Some(format!("wan{number}")),
            line: format!("wan{number}"),
            line_state: State::Healthy,
            is_backup: false,
            fell_back: false,
            flow: Flow {
                srtt_us: 30_000,
                min_rtt_us: 20_000,
                bytes_acked: 1_000_000,
                bytes_sent: 1_000_000,
                last_received_ms: 60_000,
                ..Flow::default()
            },
            rate_bps: 1e6,
            received_bps: 0.0,
            recent_loss: 0.0,
            limit: Limit::Window,
            couples: Some(true),
            verdict: None,
            hint: None,
        }
    }
}
