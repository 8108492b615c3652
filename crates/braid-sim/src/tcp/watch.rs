//! What an observer may see of a sender.

use super::scoreboard::segment;
use super::sender::Sender;
use crate::connection::Connection;
use crate::observe::{Seen, Transmission, metrics};

impl Sender {
    /// From now on losses are written down for [`Sender::take_losses`].
    pub(crate) fn keep_journal(&mut self) {
        self.board.losses = Some(Vec::new());
    }

    /// Packets given up for lost since this was last asked: their numbers, and those at the data level.
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
            expiries: self.expiries,
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

    /// Whether this packet was the latest to say that the window was reduced.
    pub(crate) fn said_cwr(&self, packet: u32) -> bool {
        self.cwr_said == Some(packet)
    }
}
