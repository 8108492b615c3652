//! Reinjection of data of failed or removed subflows.

use braid_schedulers::Scheduler;

use crate::backlog::Backlog;
use crate::connection::Connection;
use crate::tcp::sender::{Phase, Sender};

impl Connection {
    /// Lets the other subflows send the outstanding data of subflow `index`.
    pub(crate) fn reinject_from(&mut self, senders: &mut [Sender], index: usize) {
        let Some(scheduling) = self.scheduling.as_ref().filter(|_| self.n > 1) else { return };
        let is_closed = senders[index].phase != Phase::Established;
        if is_closed {
            self.data.carriers.remove(index);
        }
        if scheduling.flags() & Scheduler::MAINLINE != 0 {
            // Unmodified Linux does not reinject after a timeout.
            if is_closed {
                self.backlogs[index] = Backlog::default();
                self.send_all_again();
            }
            return;
        }
        let Self { data, backlogs, .. } = self;
        // A packet in flight on another subflow needs no third copy.
        let alive =
            senders.iter().enumerate().filter(|(other, sender)| *other != index && sender.is_usable());
        let alive = alive.fold(0, |set, (other, _)| set | (1_u32 << other));
        let (carriers, queue) = (&data.carriers, &mut data.reinject);
        senders[index].give_away(data.snd_una, |dsn, is_offered| {
            // The subflow that took earlier reinjections may be gone.
            let is_missing = !is_offered || (is_closed && !queue.contains(&dsn));
            if is_missing && carriers.of(dsn) & alive == 0 {
                queue.push_back(dsn);
            }
        });
        if let Some(backlog) = backlogs.get_mut(index) {
            let mut given = std::mem::take(backlog);
            while let Some(dsn) = given.pop() {
                // Otherwise the data would be lost if the subflow that sends it next is removed.
                data.carriers.withdraw(dsn, index);
                data.reinject.push_back(dsn);
            }
        }
    }

    /// Takes back packets that were assigned and not sent.
    pub(super) fn recall(&mut self) {
        for (index, backlog) in self.backlogs.iter_mut().enumerate() {
            while let Some(dsn) = backlog.pop() {
                self.data.recall(dsn, index);
            }
        }
        self.data.sort_recalled();
    }
}
