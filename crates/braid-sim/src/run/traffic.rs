//! Behaviour of applications over time.

use braid_scenario::model::{Spread, Traffic};

use super::calendar::Plan;
use super::state::Run;
use crate::application::Request;
use crate::connection::Connection;
use crate::packet::{Packet, Sacks, flags};

impl Run<'_> {
    /// An application of the scenario begins.
    pub(super) fn begin(&mut self, number: usize) {
        let now = self.network.now;
        let application = &mut self.applications[number];
        let connection = application.first;
        match application.traffic {
            Traffic::Poisson { .. } => return self.plan_arrival(number),
            Traffic::Object { size } => {
                let bytes = application.draws.bytes(size);
                let transfer = application.begin(now, bytes);
                let mss = self.model(connection).mss;
                self.connections[connection].data.write(bytes, mss, Some(transfer));
            }
            Traffic::Bulk
            | Traffic::OnOff { .. }
            | Traffic::RequestResponse { .. }
            | Traffic::Cbr(_)
            | Traffic::Program(_) => {}
        }
        self.open(self.connections[connection].first);
    }

    /// An application of the scenario ends, with all its connections.
    pub(super) fn stop(&mut self, number: usize) {
        let application = &mut self.applications[number];
        if application.ended.is_none() {
            application.ended = Some(self.network.now);
            for connection in application.first..application.first + application.n {
                self.close(connection);
            }
        }
    }

    /// A connection has its first subflow: the application may write.
    pub(super) fn established(&mut self, connection: usize) {
        let number = self.connections[connection].number;
        match self.applications[number].traffic {
            Traffic::Bulk | Traffic::Object { .. } | Traffic::Poisson { .. } | Traffic::Program(_) => {}
            Traffic::OnOff { .. } => self.toggle(number),
            Traffic::RequestResponse { .. } => self.request(number),
            Traffic::Cbr(_) => {
                self.applications[number].since = self.network.now;
                self.write(number, 0);
            }
        }
    }

    fn plan_arrival(&mut self, number: usize) {
        if let Traffic::Poisson { every_ns, .. } = self.applications[number].traffic {
            let mean = every_ns as f64;
            let wait = self.applications[number].draws.time(Spread::Exponential { mean });
            self.plan(self.network.now + wait, Plan::Arrive(number));
        }
    }

    /// A short flow arrives; it waits if the maximum is reached.
    pub(super) fn arrive(&mut self, number: usize) {
        let application = &mut self.applications[number];
        let Traffic::Poisson { size, .. } = application.traffic else { return };
        if application.ended.is_some() {
            return;
        }
        let bytes = application.draws.bytes(size);
        let transfer = application.begin(self.network.now, bytes);
        application.waiting.push_back(transfer);
        self.admit(number);
        self.plan_arrival(number);
    }

    /// Opens a free connection for a waiting short flow.
    fn admit(&mut self, number: usize) {
        let application = &mut self.applications[number];
        if application.free.is_empty() {
            return;
        }
        let Some(transfer) = application.waiting.pop_front() else { return };
        let Some(connection) = application.free.pop_front() else { return };
        let bytes = application.transfers[transfer as usize].bytes;
        let old = &self.connections[connection];
        let (first, n, incarnation) = (old.first, old.n, old.incarnation + 1);
        let model = &self.scenario.connections[number];
        application.retired_bytes += old.data.delivered_bytes(model.mss);
        application.retired_data.add(&old.data.counts(self.network.now));
        self.connections[connection] = Connection::new(number, model, first, &self.schedulers[number]);
        self.connections[connection].incarnation = incarnation;
        for subflow in first..first + n {
            self.renew(subflow);
        }
        self.connections[connection].data.write(bytes, model.mss, Some(transfer));
        self.open(first);
    }

    /// An on-off application begins to send or to pause.
    pub(super) fn toggle(&mut self, number: usize) {
        let now = self.network.now;
        let application = &mut self.applications[number];
        let Traffic::OnOff { on, off, rate } = application.traffic else { return };
        if application.ended.is_some() {
            return;
        }
        let connection = application.first;
        let mss = self.scenario.connections[number].mss;
        application.sends = !application.sends;
        let data = &mut self.connections[connection].data;
        if application.sends {
            let lasts = application.draws.time(on);
            let turn = application.begin(now, 0) as usize;
            (application.since, application.writes) = (now, 0);
            application.first_packet = data.written();
            self.plan(now + lasts, Plan::Toggle(number));
            if rate.is_some() {
                self.write(number, turn);
            } else {
                self.note_application_limit(connection);
                self.connections[connection].data.write_endlessly();
                self.push_written(connection);
            }
        } else {
            let lasts = application.draws.time(off);
            let transfer = application.transfers.len() - 1;
            data.pause(transfer as u32);
            application.transfers[transfer].bytes = match rate {
                Some(rate) => application.writes * u64::from(rate.write),
                None => u64::from(data.written() - application.first_packet) * u64::from(mss),
            };
            self.plan(now + lasts, Plan::Toggle(number));
            self.deliver(connection);
        }
    }

    fn note_application_limit(&mut self, number: usize) {
        let connection = &self.connections[number];
        connection
            .note_application_limit(&mut self.senders[connection.first..connection.first + connection.n]);
    }

    /// Writes at a constant rate, and plans the next write.
    pub(super) fn write(&mut self, number: usize, turn: usize) {
        let now = self.network.now;
        let application = &mut self.applications[number];
        let (rate, alone) = match application.traffic {
            Traffic::Cbr(rate) => (rate, true),
            Traffic::OnOff { rate: Some(rate), .. } => (rate, false),
            _ => return,
        };
        let over = !alone && (!application.sends || application.transfers.len() != turn + 1);
        if application.ended.is_some() || over {
            return;
        }
        let bytes = u64::from(rate.write);
        let transfer = alone.then(|| application.begin(now, bytes));
        application.writes += 1;
        let next = application.next_write(rate);
        let connection = application.first;
        let mss = self.model(connection).mss;
        self.note_application_limit(connection);
        self.connections[connection].data.write(bytes, mss, transfer);
        self.plan(next, Plan::Write(number, turn));
        self.push_written(connection);
    }

    /// The receiver makes a request.
    pub(super) fn request(&mut self, number: usize) {
        let application = &mut self.applications[number];
        let Traffic::RequestResponse { request, response, .. } = application.traffic else { return };
        if application.ended.is_some() {
            return;
        }
        let connection = application.first;
        let bytes = application.draws.bytes(response);
        let transfer = application.begin(self.network.now, bytes);
        let mss = self.model(connection).mss;
        self.applications[number].request =
            Request { transfer, missing: (1 << request.div_ceil(mss)) - 1, repeats: 0 };
        self.send_request(number);
    }

    /// Sends missing packets of a request again after a timeout, on the next subflow.
    pub(super) fn repeat_request(&mut self, number: usize, transfer: u32) {
        let application = &mut self.applications[number];
        let request = &mut application.request;
        if application.ended.is_none() && request.transfer == transfer && request.missing != 0 {
            request.repeats += 1;
            self.send_request(number);
        }
    }

    fn send_request(&mut self, number: usize) {
        let application = &self.applications[number];
        let Traffic::RequestResponse { request: bytes, .. } = application.traffic else { return };
        let Request { transfer, missing, repeats } = application.request;
        let connection = &self.connections[application.first];
        let model = self.model(application.first);
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
        let application = &mut self.applications[self.connections[connection].number];
        let request = &mut application.request;
        if request.transfer != packet.dsn || request.missing & (1 << packet.seq) == 0 {
            return;
        }
        request.missing &= !(1 << packet.seq);
        if request.missing == 0 {
            let bytes = application.transfers[request.transfer as usize].bytes;
            let transfer = request.transfer;
            let mss = self.model(connection).mss;
            self.note_application_limit(connection);
            self.connections[connection].data.write(bytes, mss, Some(transfer));
            self.push_written(connection);
        }
    }

    /// Something that the application counts may be complete.
    #[cold]
    pub(super) fn deliver(&mut self, connection: usize) {
        let now = self.network.now;
        let number = self.connections[connection].number;
        while let Some(transfer) = self.connections[connection].data.take_complete() {
            let Some(transfer) = transfer else { continue };
            let application = &mut self.applications[number];
            application.transfers[transfer as usize].end_ns = Some(now);
            match application.traffic {
                Traffic::Object { .. } => return self.stop(number),
                Traffic::Poisson { .. } => {
                    application.free.push_back(connection);
                    self.close(connection);
                    return self.admit(number);
                }
                Traffic::RequestResponse { think, .. } => {
                    let wait = application.draws.time(think);
                    self.plan(now + wait, Plan::Request(number));
                }
                Traffic::Bulk | Traffic::OnOff { .. } | Traffic::Cbr(_) | Traffic::Program(_) => {}
            }
        }
    }
}
