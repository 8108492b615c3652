//! The retransmission timer of a connection of unmodified Linux (`mptcp_retransmit_timer`), and which subflows it gives up.
//!
//! It expires when nothing new has arrived at the data level for as long as any subflow that works would wait for its own timer.
//! Then a piece of what is missing goes to a subflow that has nothing else to do; the others are asked whether anything has come
//! on them since the last time. One on which nothing has for five times is stale: no more is given to it before something comes,
//! and all that has not arrived is sent once more.

use super::progress::SHORTEST_NS;
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;
use crate::tcp::sender::{Phase, Sender};

impl Connection {
    /// How long the timer is to be from now on: until the latest timer of a subflow on which something came. Called whenever the
    /// scheduler is asked.
    pub(super) fn note_timeouts(&mut self, senders: &[Sender], now: u64) {
        let Some(timer) = &mut self.retransmission else { return };
        let own = |(index, sender): (usize, &Sender)| {
            let counts = sender.phase == Phase::Established && timer.has_come(index);
            if counts { sender.time_left(now) } else { 0 }
        };
        let longest = senders.iter().enumerate().map(own).max().unwrap_or(0);
        timer.interval = if longest > 0 { longest } else { SHORTEST_NS };
    }

    /// Starts the timer anew when something has arrived, and if there is anything to wait for.
    pub(super) fn restart_retransmission(&mut self, now: u64) {
        let Some(timer) = &mut self.retransmission else { return };
        if self.data.snd_una == self.data.snd_nxt {
            timer.deadline = NEVER;
        } else if timer.deadline == NEVER || self.data.snd_una > timer.acknowledged {
            timer.deadline = now + timer.interval;
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
            timer.deadline = now + timer.interval;
            self.wake_at = timer.deadline;
        }
    }

    /// Whether another subflow may take what this one has.
    fn has_alternative(&self, senders: &[Sender], index: usize) -> bool {
        let Some(timer) = &self.retransmission else { return false };
        senders.iter().enumerate().any(|(other, sender)| {
            other != index
                && sender.phase == Phase::Established
                && timer.is_alternative(other, sender.last_arrival)
        })
    }

    /// All that has not arrived is to be sent once more, whoever has it.
    pub(super) fn send_all_again(&mut self) {
        self.data.reinject.clear();
        self.data.reinject.extend(self.data.snd_una..self.data.snd_nxt);
    }

    /// The oldest piece of what was sent: an application's data lie in pieces of memory.
    pub(super) fn oldest_piece(&self) -> std::ops::Range<u32> {
        let packets = self.piece();
        let from = self.data.snd_una;
        let end = (from / packets + 1) * packets;
        // What is to be sent again anyway counts as not sent.
        let waits = self.data.reinject.iter().copied().find(|&dsn| dsn >= from).unwrap_or(u32::MAX);
        from..end.min(self.data.snd_nxt).min(waits)
    }
}
