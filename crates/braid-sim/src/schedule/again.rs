//! What is to be sent once more, because a subflow has failed or gone.

use braid_schedulers::Scheduler;

use crate::backlog::Backlog;
use crate::connection::Connection;
use crate::tcp::sender::{Phase, Sender};

impl Connection {
    /// Offers what subflow `index` has outstanding to the others.
    pub(crate) fn reinject_from(&mut self, senders: &mut [Sender], index: usize) {
        let Some(scheduling) = self.scheduling.as_ref().filter(|_| self.n > 1) else { return };
        let is_closed = senders[index].phase != Phase::Established;
        if is_closed {
            self.data.carriers.remove(index);
        }
        if scheduling.flags() & Scheduler::MAINLINE != 0 {
            // A timeout alone is nothing to unmodified Linux.
            if is_closed {
                self.backlogs[index] = Backlog::default();
                self.send_all_again();
            }
            return;
        }
        let Self { data, backlogs, .. } = self;
        // What another subflow has under way as well needs no third.
        let alive =
            senders.iter().enumerate().filter(|(other, sender)| *other != index && sender.is_usable());
        let alive = alive.fold(0, |set, (other, _)| set | (1_u32 << other));
        let (carriers, queue) = (&data.carriers, &mut data.reinject);
        senders[index].give_away(data.snd_una, |dsn, is_offered| {
            // Who took what was offered before may be gone.
            let is_missing = !is_offered || (is_closed && !queue.contains(&dsn));
            if is_missing && carriers.of(dsn) & alive == 0 {
                queue.push_back(dsn);
            }
        });
        if let Some(backlog) = backlogs.get_mut(index) {
            let mut given = std::mem::take(backlog);
            while let Some(dsn) = given.pop() {
                // Else nobody would send it again should the one leave that takes it now.
                data.carriers.withdraw(dsn, index);
                data.reinject.push_back(dsn);
            }
        }
    }

    /// Takes back what subflows were given and have not sent.
    pub(super) fn recall(&mut self) {
        for (index, backlog) in self.backlogs.iter_mut().enumerate() {
            while let Some(dsn) = backlog.pop() {
                self.data.recall(dsn, index);
            }
        }
        self.data.sort_recalled();
    }
}
