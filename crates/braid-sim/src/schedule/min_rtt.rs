//! minRTT: the subflow with the smallest srtt that has room in its congestion window, packet by packet.

use braid_algorithms::layout::{ca_state, subflow_flags};

use crate::connection::Connection;
use crate::data::Reinjection;
use crate::network::Network;
use crate::tcp::sender::Sender;

impl Connection {
    /// Reinjections first, then new data, each on the usable subflow with the smallest srtt.
    pub(super) fn schedule(&mut self, senders: &mut [Sender], network: &mut Network) {
        loop {
            while self.data.reinject.front().is_some_and(|head| head.dsn < self.data.snd_una) {
                self.data.reinject.pop_front();
            }
            if let Some(&Reinjection { dsn, from }) = self.data.reinject.front() {
                if let Some(index) = self.choose(senders, Some(from)) {
                    self.data.reinject.pop_front();
                    self.data.reinjections += 1;
                    senders[index].send_new(self, network, dsn);
                    senders[index].restart_probe(self, network.now);
                    senders[index].note_usage(self, network);
                    continue;
                }
            }
            if !self.data.may_send_new() {
                return;
            }
            let Some(index) = self.choose(senders, None) else { return };
            // Sending changes neither an srtt nor another's room: the choice stands until it is full.
            senders[index].send_burst(self, network);
            senders[index].note_usage(self, network);
        }
    }

    /// The subflow with room and the smallest srtt, not `except`. A backup subflow only if no other is usable in
    /// principle, that is, if all others are closed or have failed.
    #[inline]
    fn choose(&self, senders: &[Sender], except: Option<usize>) -> Option<usize> {
        let mut chosen = [None; 2];
        let mut regular_usable = false;
        for (index, sender) in senders.iter().enumerate() {
            if except == Some(index) || !sender.is_usable() {
                continue;
            }
            let view = self.subflow(index);
            let backup = view.flags & subflow_flags::BACKUP != 0;
            regular_usable |= !backup;
            if view.ca_state == ca_state::LOSS || !sender.has_room(self) {
                continue;
            }
            let best = &mut chosen[usize::from(backup)];
            if best.is_none_or(|(srtt, _)| view.srtt_us < srtt) {
                *best = Some((view.srtt_us, index));
            }
        }
        let [regular, backup] = chosen;
        if regular_usable { regular } else { backup }.map(|(_, index)| index)
    }
}
