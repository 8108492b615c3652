//! Decides what is sent, and on which subflow: the simulator as host of the packet schedulers of `schedulers/`.
//!
//! - [`view`] — input of a scheduler;
//! - [`choices`] — calls of the scheduler, and its decisions;
//! - [`carriers`] — subflows that have sent each packet;
//! - [`memory`] — send buffers;
//! - [`reinject`] — what is to be sent once more;
//! - [`retransmission`], [`stale`] — when unmodified Linux sends once more what does not arrive;
//! - [`scheduling`] — the scheduler of a connection;
//! - [`blocked_cache`] — the cached answer about a full window.

mod blocked_cache;
pub(crate) mod carriers;
mod choices;
pub(crate) mod memory;
mod reinject;
mod retransmission;
mod scheduling;
mod stale;
mod view;

pub(crate) use scheduling::Scheduling;
pub(crate) use stale::Retransmission;

use crate::connection::Connection;
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
    pub(crate) fn push(&mut self, senders: &mut [Sender], acknowledged: usize, network: &mut Network) {
        self.push_now(senders, acknowledged, network);
    }

    /// As [`Self::push`], part of the loop of events.
    #[allow(clippy::inline_always, reason = "once per acknowledgement")]
    #[inline(always)]
    pub(crate) fn push_now(&mut self, senders: &mut [Sender], acknowledged: usize, network: &mut Network) {
        if self.closed {
            return;
        }
        let mut noted = None;
        if let Some(mut scheduling) = self.scheduling.take() {
            noted = scheduling.push(self, senders, network);
            self.scheduling = Some(scheduling);
        } else {
            senders[0].send_burst(self, network, u32::MAX);
        }
        if noted != Some(acknowledged) {
            senders[acknowledged].note_usage(self, network);
        }
    }

    /// The established subflows, smallest srtt first.
    pub(crate) fn by_srtt(&self, senders: &[Sender]) -> Vec<usize> {
        let established = |&index: &usize| senders[index].phase == Phase::Established;
        let mut order: Vec<usize> = (0..self.n).filter(established).collect();
        order.sort_by_key(|&index| (!senders[index].is_usable(), self.subflow(index).srtt_us));
        order
    }
}
