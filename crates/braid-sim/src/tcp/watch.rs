//! A sender's state for observers.

use braid_algorithms::layout::{SSTHRESH_INFINITE, Subflow, ca_state};

use super::scoreboard::segment;
use super::sender::{Phase, Sender};
use crate::connection::Connection;
use crate::observe::Metrics;

/// A sender's state at the last comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) phase: Phase,
    pub(crate) state: u32,
    pub(crate) metrics: Metrics,
    pub(crate) packets_sent: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) ecn_reductions: u64,
    pub(crate) undos: u64,
    pub(crate) rto_backoffs: u32,
    pub(crate) probing: bool,
}

impl Seen {
    /// State of a sender before its first action.
    pub(crate) const NOTHING: Self = Self {
        phase: Phase::Idle,
        state: ca_state::OPEN,
        metrics: Metrics {
            cwnd: 0,
            ssthresh: None,
            in_flight: 0,
            srtt_us: 0,
            min_rtt_us: 0,
            latest_rtt_us: 0,
        },
        packets_sent: 0,
        fast_retransmits: 0,
        timeouts: 0,
        ecn_reductions: 0,
        undos: 0,
        rto_backoffs: 0,
        probing: false,
    };
}

/// A transmission in the sender's records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) packet: u32,
    pub(crate) data: u32,
    pub(crate) retransmission: bool,
}

impl Sender {
    /// Records losses from now on, for [`Sender::take_losses`].
    pub(crate) fn keep_journal(&mut self) {
        self.board.losses = Some(Vec::new());
    }

    /// Packets marked lost since the last call: their numbers, and those at the data level.
    pub(crate) fn take_losses(&mut self) -> Vec<(u32, u32)> {
        let losses = self.board.losses.as_mut().map(std::mem::take).unwrap_or_default();
        losses.into_iter().map(|packet| (packet, self.board.get(packet).dsn)).collect()
    }

    pub(crate) fn seen(&self, connection: &Connection, index: usize) -> Seen {
        let view = connection.subflow(index);
        Seen {
            phase: self.phase,
            state: view.ca_state,
            metrics: metrics(view, self.board.in_flight()),
            packets_sent: self.counts.packets_sent,
            fast_retransmits: self.counts.fast_retransmits,
            timeouts: self.counts.timeouts,
            ecn_reductions: self.counts.ecn_reductions,
            undos: self.counts.undos,
            rto_backoffs: self.rto_backoffs,
            probing: self.probe.is_some(),
        }
    }

    /// The latest `n` transmissions, in their order.
    pub(crate) fn latest(&self, n: usize) -> Vec<Transmission> {
        let mut latest: Vec<Transmission> = self
            .board
            .latest(n)
            .map(|(packet, record)| Transmission {
                packet,
                data: record.dsn,
                retransmission: record.state & segment::EVER_RETRANS != 0,
            })
            .collect();
        latest.reverse();
        latest
    }

    pub(crate) fn is_ecn(&self) -> bool {
        self.setup.ecn
    }

    /// Whether this packet was the latest one with CWR.
    pub(crate) fn sent_cwr(&self, packet: u32) -> bool {
        self.cwr_sent == Some(packet)
    }
}

/// Congestion control state, from the view of an algorithm.
fn metrics(view: &Subflow, in_flight: u32) -> Metrics {
    Metrics {
        cwnd: view.cwnd,
        ssthresh: (view.ssthresh != SSTHRESH_INFINITE).then_some(view.ssthresh),
        in_flight,
        srtt_us: view.srtt_us,
        min_rtt_us: view.min_rtt_us,
        latest_rtt_us: view.last_rtt_us,
    }
}
