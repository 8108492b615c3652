//! The retransmission timer of a connection of unmodified Linux (`mptcp_retransmit_timer`), and stale subflows.
//!
//! It expires when no new data has arrived at the data level for the longest RTO of a working subflow. An idle subflow
//! then sends the oldest missing piece, and the others are checked for arrivals since the last expiry. A subflow
//! without arrivals at five expiries is stale: it gets no more data until something arrives on it, and all missing data
//! is sent again.

use super::stale::SHORTEST_NS;
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;
use crate::tcp::sender::{Phase, Sender};
use crate::tcp::wheel::expiry;

impl Connection {
    /// Sets the timer's length: the latest timer of a subflow with arrivals. Called before each decision.
    pub(super) fn note_timeouts(&mut self, senders: &[Sender], now: u64) {
        let Some(timer) = &mut self.retransmission else { return };
        let own = |(index, sender): (usize, &Sender)| {
            let counts = sender.phase == Phase::Established && timer.has_come(index);
            if counts { sender.time_left(now) } else { 0 }
        };
        let longest = senders.iter().enumerate().map(own).max().unwrap_or(0);
        timer.interval = if longest > 0 { longest } else { SHORTEST_NS };
    }

    /// Restarts the timer when data has arrived, if any is outstanding.
    pub(super) fn restart_retransmission(&mut self, now: u64) {
        let Some(timer) = &mut self.retransmission else { return };
        if self.data.snd_una == self.data.snd_nxt {
            timer.deadline = NEVER;
        } else if timer.deadline == NEVER || self.data.snd_una > timer.acknowledged {
            timer.deadline = expiry(now, now + timer.interval);
        }
        timer.acknowledged = self.data.snd_una;
        self.wake_at = timer.deadline;
    }

    /// Whether the timer runs and is not due yet.
    pub(crate) fn is_early(&self, now: u64) -> bool {
        self.retransmission.as_ref().is_some_and(|timer| timer.deadline > now)
    }

    /// The timer has expired.
    pub(crate) fn data_timeout(&mut self, senders: &mut [Sender], network: &mut Network) {
        let now = network.now;
        if self.closed || self.retransmission.as_ref().is_none_or(|timer| timer.deadline > now) {
            return;
        }
        for index in 0..senders.len() {
            let sender = &senders[index];
            let busy = sender.phase == Phase::Established && self.memory(senders, index) > 0;
            let Some(timer) = self.retransmission.as_mut().filter(|_| busy) else { continue };
            if timer.look_at(index, sender.last_arrival) && self.has_alternative(senders, index) {
                if let Some(timer) = &mut self.retransmission {
                    timer.mark_stale(index);
                }
                self.send_all_again();
                self.push_written(senders, network);
            }
        }
        if let Some(mut scheduling) = self.scheduling.take() {
            scheduling.send_piece_again(self, senders, network);
            self.scheduling = Some(scheduling);
        }
        if let Some(timer) = &mut self.retransmission {
            timer.deadline = expiry(now, now + timer.interval);
            self.wake_at = timer.deadline;
        }
    }

    /// Whether another subflow may take this one's data.
    fn has_alternative(&self, senders: &[Sender], index: usize) -> bool {
        let Some(timer) = &self.retransmission else { return false };
        senders.iter().enumerate().any(|(other, sender)| {
            other != index
                && sender.phase == Phase::Established
                && timer.is_alternative(other, sender.last_arrival)
        })
    }

    /// Reinjects all missing data, whichever subflow has it.
    pub(super) fn send_all_again(&mut self) {
        self.data.reinject.clear();
        self.data.reinject.extend(self.data.snd_una..self.data.snd_nxt);
    }

    /// The oldest sent piece: an application's data lie in pieces of memory.
    pub(super) fn oldest_piece(&self) -> std::ops::Range<u32> {
        let packets = self.piece();
        let from = self.data.snd_una;
        let end = (from / packets + 1) * packets;
        // Data that will be reinjected anyway counts as not sent.
        let waits = self.data.reinject.iter().copied().find(|&dsn| dsn >= from).unwrap_or(u32::MAX);
        from..end.min(self.data.snd_nxt).min(waits)
    }
}
