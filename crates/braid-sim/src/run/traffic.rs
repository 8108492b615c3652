//! What applications do to connections of the simulator.

use super::calendar::Plan;
use super::state::Run;
use crate::application::{Action, Timer};
use crate::connection::Connection;
use crate::driven::Request;
use crate::packet::{Packet, Sacks, flags};

impl Run<'_> {
    /// An application of the scenario begins.
    pub(super) fn begin(&mut self, number: usize) {
        self.applications[number].application.start(self.network.now);
        self.drive(number);
    }

    /// An application of the scenario ends, with all its connections.
    pub(super) fn stop(&mut self, number: usize) {
        let own = &mut self.applications[number];
        if own.application.stop(self.network.now) {
            for connection in own.first..own.first + own.n {
                self.close(connection);
            }
        }
    }

    /// A connection has its first subflow: the application may write.
    pub(super) fn established(&mut self, connection: usize) {
        let number = self.connections[connection].number;
        self.applications[number].application.established(self.network.now);
        self.drive(number);
    }

    /// What an application waited for.
    pub(super) fn due(&mut self, number: usize, timer: Timer) {
        self.applications[number].application.due(self.network.now, timer);
        self.drive(number);
    }

    fn drive(&mut self, number: usize) {
        while let Some(action) = self.applications[number].application.next_action() {
            let own = &mut self.applications[number];
            let connection = own.first;
            match action {
                Action::Wait(time, timer) => self.plan(time, Plan::Due(timer, number)),
                Action::Open(transfer) => self.open_for(number, transfer),
                Action::Write(bytes, transfer) => {
                    self.write(connection, bytes, transfer.map(|transfer| transfer as u32));
                }
                Action::WriteEndlessly => {
                    own.first_packet = Some(self.connections[connection].data.written());
                    self.note_application_limit(connection);
                    self.connections[connection].data.write_endlessly();
                    self.push_written(connection);
                }
                Action::Pause(turn) => {
                    let ahead = self.connections[connection].kept_ahead();
                    let data = &mut self.connections[connection].data;
                    data.pause(turn as u32, ahead);
                    if let Some(first) = own.first_packet.take() {
                        let mss = u64::from(self.scenario.connections[number].mss);
                        own.application.transfers[turn].bytes = u64::from(data.written() - first) * mss;
                    }
                    self.deliver(connection);
                }
                Action::Request { bytes, transfer } => {
                    let parts = bytes.div_ceil(self.scenario.connections[number].mss);
                    let (transfer, missing) = (transfer as u32, (1 << parts) - 1);
                    own.request = Request { transfer, bytes, missing, repeats: 0 };
                    self.send_request(number);
                }
                Action::Stop => self.stop(number),
            }
        }
    }

    /// Opens a connection, and writes all of its transfer; that of a short flow begins another incarnation.
    fn open_for(&mut self, number: usize, transfer: Option<usize>) {
        let model = &self.scenario.connections[number];
        let own = &mut self.applications[number];
        let mut connection = own.first;
        if own.application.is_short_flows() {
            connection = own.free.pop_front().expect("no more short flows than connections");
            let old = &self.connections[connection];
            let (first, n, incarnation) = (old.first, old.n, old.incarnation + 1);
            own.retired_bytes += old.data.delivered_bytes(model.mss);
            own.retired_data.add(&old.data.counts(self.network.now));
            self.connections[connection] = Connection::new(number, model, first, &self.schedulers[number]);
            self.connections[connection].incarnation = incarnation;
            for subflow in first..first + n {
                self.renew(subflow);
            }
        }
        if let Some(transfer) = transfer {
            let bytes = self.applications[number].application.transfers[transfer].bytes;
            self.connections[connection].data.write(bytes, model.mss, Some(transfer as u32));
        }
        self.open(self.connections[connection].first);
    }

    fn note_application_limit(&mut self, number: usize) {
        let connection = &self.connections[number];
        connection
            .note_application_limit(&mut self.senders[connection.first..connection.first + connection.n]);
    }

    fn write(&mut self, connection: usize, bytes: u64, transfer: Option<u32>) {
        let mss = self.model(connection).mss;
        self.note_application_limit(connection);
        self.connections[connection].data.write(bytes, mss, transfer);
        self.push_written(connection);
    }

    /// What has not arrived of a request after a timeout is sent again, on the next subflow.
    pub(super) fn repeat_request(&mut self, number: usize, transfer: u32) {
        let own = &mut self.applications[number];
        let request = &mut own.request;
        if own.application.ended_ns().is_none() && request.transfer == transfer && request.missing != 0 {
            request.repeats += 1;
            self.send_request(number);
        }
    }

    fn send_request(&mut self, number: usize) {
        let own = &self.applications[number];
        let Request { transfer, bytes, missing, repeats } = own.request;
        let connection = &self.connections[own.first];
        let model = self.model(own.first);
        let senders = &self.senders[connection.first..connection.first + connection.n];
        let order = connection.by_srtt(senders);
        let mut rto_ns = 1_000_000_000;
        if !order.is_empty() {
            let index = order[repeats as usize % order.len()];
            rto_ns = senders[index].rto_ns();
            let path = &self.paths[connection.first + index];
            let (subflow, hop) = (path.id, path.reverse_hop);
            for part in (0..bytes.div_ceil(model.mss)).filter(|part| missing & (1 << part) != 0) {
                let payload = Request::payload(bytes, part, model.mss);
                self.network.send(Packet {
                    subflow,
                    hop,
                    size: (payload + model.data_header) as u16,
                    flags: flags::REQUEST,
                    seq: part,
                    dsn: transfer,
                    sack: Sacks::NONE,
                    ..Packet::default()
                });
            }
        }
        let wait = self.applications[number].request.wait_ns(rto_ns);
        self.plan(self.network.now + wait, Plan::Repeat(number, transfer));
    }

    /// A packet of a request arrives; with the last of them, the sender writes its response.
    pub(super) fn receive_request(&mut self, connection: usize, packet: Packet) {
        let own = &mut self.applications[self.connections[connection].number];
        let request = &mut own.request;
        if request.transfer != packet.dsn || request.missing & (1 << packet.seq) == 0 {
            return;
        }
        request.missing &= !(1 << packet.seq);
        if request.missing == 0 {
            let transfer = request.transfer;
            let bytes = own.application.transfers[transfer as usize].bytes;
            self.write(connection, bytes, Some(transfer));
        }
    }

    /// Something that the application counts may be complete.
    #[cold]
    pub(super) fn deliver(&mut self, connection: usize) {
        let number = self.connections[connection].number;
        while let Some(transfer) = self.connections[connection].data.take_complete() {
            let Some(transfer) = transfer else { continue };
            let is_short = self.applications[number].application.is_short_flows();
            if is_short {
                self.applications[number].free.push_back(connection);
                self.close(connection);
            }
            self.applications[number].application.arrived(self.network.now, transfer as usize);
            self.drive(number);
            if is_short {
                return;
            }
        }
    }
}
