//! Joining, leaving and reset of subflows.

use braid_algorithms::{Algorithm, Controller};
use braid_scenario::model::Kind;

use super::calendar::Plan;
use super::state::{NOBODY, Path, Run};
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::packet::{Packet, Sacks, flags};
use crate::tcp::receiver::{self, Receiver};
use crate::tcp::sender::{self, Phase, Sender};

/// Bytes of a handshake packet after its IP header.
const OPENING: u32 = 52;

impl Run<'_> {
    /// Initial state of a sending end.
    pub(super) fn sender(&self, subflow: usize) -> Sender {
        let path = &self.paths[subflow];
        let model = self.model(path.connection);
        let setup = sender::Setup {
            subflow: path.id,
            index: path.index,
            hop: path.forward_hop,
            data_size: (model.mss + model.data_header) as u16,
            ecn: model.ecn,
            initial_window: model.initial_window,
            initial_ssthresh: model.initial_ssthresh,
        };
        Sender::new(setup, Controller::new(&self.specs[self.connections[path.connection].number]))
    }

    /// Initial state of a receiving end.
    pub(super) fn receiver(&self, subflow: usize) -> Receiver {
        let path = &self.paths[subflow];
        let model = self.model(path.connection);
        let multipath = model.kind == Kind::Mptcp;
        Receiver::new(receiver::Setup {
            subflow: path.id,
            hop: path.reverse_hop,
            ack_size: model.ack_size as u16,
            max_blocks: if multipath { 1 } else { 3 },
            multipath,
            delayed_ack: model.delayed_ack,
            buffer: (!model.autotuning).then_some(model.receive_buffer / u64::from(model.mss)),
            accurate_ecn: model.accurate_ecn,
            reports_delay: self.specs[self.connections[path.connection].number].algorithm().flags()
                & Algorithm::WANTS_OWD
                != 0,
        })
    }

    /// Begins another incarnation of a subflow: packets of the old one are ignored from now on.
    pub(super) fn renew(&mut self, subflow: usize) {
        let counts = self.counts(subflow);
        let path = &mut self.paths[subflow];
        let retired = &mut self.retired[path.scenario_subflow];
        retired.packets += self.receivers[subflow].received_packets;
        retired.verdicts.append(&mut self.senders[subflow].verdicts);
        retired.counts.add(&counts);
        path.id = path.id.wrapping_add(self.number_mask + 1);
        if path.id == NOBODY {
            path.id &= self.number_mask;
        }
        (path.live, path.established, path.closed) = (NOBODY, None, None);
        // Their entries in the event queue remain.
        let (mut sender, mut receiver) = (self.sender(subflow), self.receiver(subflow));
        sender.planned = self.senders[subflow].planned;
        receiver.planned = self.receivers[subflow].planned;
        self.senders[subflow] = sender;
        self.receivers[subflow] = receiver;
    }

    /// A subflow begins its handshake.
    pub(super) fn open(&mut self, subflow: usize) {
        self.state_queue(subflow);
        self.senders[subflow].phase = Phase::Opening(0);
        self.send_opening(subflow, 0);
    }

    /// Sets the view's hint to the truth: `split:sbd=hint` behaves as with a perfect detector.
    pub(super) fn state_queue(&mut self, subflow: usize) {
        let Path { connection, index, queue, .. } = self.paths[subflow];
        self.connections[connection].subflow_mut(index).hint = queue;
    }

    pub(super) fn send_opening(&mut self, subflow: usize, step: u32) {
        let path = &self.paths[subflow];
        let model = self.model(path.connection);
        let packet = Packet {
            subflow: path.id,
            hop: path.forward_hop,
            size: (OPENING + model.ip_header) as u16,
            flags: flags::DATA | flags::SYN,
            seq: step,
            timestamp: self.network.timestamp(),
            sack: Sacks::NONE,
            ..Packet::default()
        };
        self.network.send(packet);
        self.senders[subflow].first_retransmission.get_or_insert(packet.timestamp);
        self.senders[subflow].start_opening_timer(self.network.now);
        self.plan_sender(subflow);
    }

    /// A connection ends at once.
    pub(super) fn close(&mut self, connection: usize) {
        self.connections[connection].closed = true;
        let Connection { first, n, .. } = self.connections[connection];
        for subflow in first..first + n {
            self.close_subflow(subflow);
        }
    }

    pub(super) fn close_subflow(&mut self, subflow: usize) {
        let path = &mut self.paths[subflow];
        self.senders[subflow].close(&mut self.connections[path.connection], &mut self.network);
        self.receivers[subflow].due = NEVER;
        path.live = NOBODY;
        path.closed.get_or_insert(self.network.now);
    }

    /// The first subflow is established: plans joins and removals.
    pub(super) fn plan_subflows(&mut self, number: usize, rtt_ns: u64) {
        let now = self.network.now;
        let Connection { first, incarnation, .. } = self.connections[number];
        for (index, model) in self.model(number).subflows.iter().enumerate() {
            let subflow = first + index;
            if model.up.is_empty() && index > 0 {
                self.plan(now + model.join_delay_ns.unwrap_or(rtt_ns), Plan::Join(subflow, incarnation));
            }
            for &(from, to) in model.up.iter().filter(|&&(_, to)| to > now) {
                // A subflow that is removed before then does not join.
                let join = from.max(now + rtt_ns);
                if (index > 0 || from > now) && join < to {
                    self.plan(join, Plan::Join(subflow, incarnation));
                }
                self.plan(to, Plan::Leave(subflow, incarnation));
            }
        }
    }

    /// A subflow joins, or joins again.
    pub(super) fn join(&mut self, subflow: usize, incarnation: u32) {
        let Path { connection, index, .. } = self.paths[subflow];
        if self.connections[connection].closed || self.connections[connection].incarnation != incarnation {
            return;
        }
        if self.senders[subflow].phase != Phase::Idle {
            self.connections[connection].renew(index);
            self.renew(subflow);
        }
        self.open(subflow);
    }

    /// Removes a subflow; the others send its outstanding data.
    pub(super) fn leave(&mut self, subflow: usize, incarnation: u32) {
        let Path { connection: number, index, .. } = self.paths[subflow];
        let connection = &mut self.connections[number];
        if connection.closed || connection.incarnation != incarnation {
            return;
        }
        let was_established = self.senders[subflow].phase == Phase::Established;
        self.close_subflow(subflow);
        if was_established {
            self.reinject_from(number, index);
        }
        self.push_written(number);
    }
}
