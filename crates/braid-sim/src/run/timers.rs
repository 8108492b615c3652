//! The timers of senders and receivers.

use super::state::{Path, Run};
use crate::event_queue::NEVER;
use crate::tcp::expiry::Expired;

impl Run<'_> {
    pub(super) fn sender_timer(&mut self, subflow: usize) {
        let now = self.network.now;
        let Path { connection: number, index, .. } = self.paths[subflow];
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        let sender = &mut senders[index];
        if sender.planned != now {
            return; // an outdated entry
        }
        sender.planned = NEVER;
        if sender.deadline() <= now {
            match sender.expire(connection, &mut self.network) {
                Expired::Nothing => {}
                Expired::Opening(step) => {
                    self.send_opening(subflow, step);
                    return;
                }
                Expired::MayPush => connection.push(senders, index, &mut self.network),
                Expired::Timeout => {
                    connection.reinject_from(senders, index);
                    connection.push(senders, index, &mut self.network);
                }
                Expired::GivenUp => {
                    self.close_subflow(subflow);
                    self.reinject_from(number, index);
                    self.push_written(number);
                }
            }
            self.plan_senders(subflow);
        } else {
            self.plan_sender(subflow);
        }
    }

    pub(super) fn receiver_timer(&mut self, subflow: usize) {
        let receiver = &mut self.receivers[subflow];
        if receiver.planned != self.network.now {
            return;
        }
        receiver.planned = NEVER;
        if receiver.due <= self.network.now {
            let connection = &mut self.connections[self.paths[subflow].connection];
            receiver.acknowledge(None, &mut connection.data, &mut self.network);
        } else {
            self.plan_receiver(subflow);
        }
    }
}
