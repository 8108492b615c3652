//! What is sent when something may be sent, and on which subflow.
//!
//! - [`min_rtt`], [`linux`] — the packet schedulers of MPTCP.

mod linux;
mod min_rtt;

use crate::connection::Connection;
use crate::data::Reinjection;
use crate::network::Network;
use crate::tcp::sender::{Phase, Sender};

impl Connection {
    /// The application is about to write.
    pub(crate) fn note_application_limit(&self, senders: &mut [Sender]) {
        if self.data.all_sent() {
            for sender in senders {
                sender.note_application_limit(self);
            }
        }
    }

    /// Sends what the application has just written.
    pub(crate) fn push_written(&mut self, senders: &mut [Sender], network: &mut Network) {
        if let Some(index) = senders.iter().position(|sender| sender.phase == Phase::Established) {
            self.push(senders, index, network);
        }
    }

    /// Sends all that may be sent now. `senders` are those of this connection.
    #[inline]
    pub(crate) fn push(&mut self, senders: &mut [Sender], acknowledged: usize, network: &mut Network) {
        if self.closed {
            return;
        }
        if !self.backlogs.is_empty() {
            self.hand_out(senders, network);
        } else if self.multipath {
            self.schedule(senders, network);
        } else {
            senders[0].send_burst(self, network);
        }
        senders[acknowledged].note_usage(self, network);
    }

    /// The established subflows, smallest srtt first.
    pub(crate) fn by_srtt(&self, senders: &[Sender]) -> Vec<usize> {
        let established = |&index: &usize| senders[index].phase == Phase::Established;
        let mut order: Vec<usize> = (0..self.n).filter(established).collect();
        order.sort_by_key(|&index| (!senders[index].is_usable(), self.subflow(index).srtt_us));
        order
    }

    /// Offers what subflow `index` has outstanding to the others.
    pub(crate) fn reinject_from(&mut self, senders: &mut [Sender], index: usize) {
        if !self.multipath || self.n < 2 {
            return;
        }
        if !self.backlogs.is_empty() {
            return self.offer(senders, index);
        }
        let Self { data, .. } = self;
        let acknowledged = data.snd_una;
        let queue = &mut data.reinject;
        senders[index]
            .give_away(acknowledged..u32::MAX, |dsn| queue.push_back(Reinjection { dsn, from: index }));
    }
}
