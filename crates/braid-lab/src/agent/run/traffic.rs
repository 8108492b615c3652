//! Writes and requests of built-in applications.

use std::io::ErrorKind;

use super::{Action, Result, Run, connections::read};
use crate::{
    agent::clock::now_ns,
    job::{ConstantRate, Traffic},
};

/// Offered bytes of a bulk sender.
const ENDLESS: u64 = u64::MAX;

impl Run<'_> {
    /// A connection is established: its application may write.
    pub(super) fn may_write(&mut self, number: usize, place: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        let now = now_ns() - self.start;
        let flow = &mut self.flows[number];
        let Some(pair) = &mut flow.pairs[place] else { return Ok(()) };
        match &connection.traffic {
            Traffic::Bulk => pair.offered = ENDLESS,
            Traffic::Object(bytes) => {
                pair.offered = *bytes;
                flow.application.ends_at(0, *bytes);
            }
            Traffic::Short { .. } => {
                pair.offered = flow.application.transfers[pair.transfer].bytes;
            }
            Traffic::OnOff { .. } => self.toggle(number, now)?,
            Traffic::Steady(_) => {
                flow.application.since_ns = now;
                self.write(number, 0)?;
            }
            Traffic::Exchange { .. } | Traffic::Programs(_) => {}
        }
        Ok(())
    }

    /// The single connection of an application has more to send.
    fn offer(&mut self, number: usize, bytes: u64) -> Result<()> {
        if let Some(Some(pair)) = self.flows[number].pairs.first_mut() {
            pair.offered += bytes;
        }
        self.wait_for_room(number, 0)
    }

    fn offered(&self, number: usize) -> u64 {
        self.flows[number].pairs.first().and_then(Option::as_ref).map_or(0, |pair| pair.offered)
    }

    /// Writes at a constant rate, and plans the next write.
    pub(super) fn write(&mut self, number: usize, turn: usize) -> Result<()> {
        let offered = self.offered(number);
        let application = &mut self.flows[number].application;
        let (rate, is_steady): (ConstantRate, bool) = match &self.job.connections[number].traffic {
            Traffic::Steady(rate) => (*rate, true),
            Traffic::OnOff { rate: Some(rate), .. } => (*rate, false),
            _ => return Ok(()),
        };
        let is_past = !is_steady && (!application.sends || application.turns != turn);
        if application.is_over || is_past {
            return Ok(());
        }
        // Starts at the due time, even if this action is late.
        let due = application.since_ns + rate.time_of(application.writes);
        if is_steady {
            let transfer = application.begin(due, rate.write);
            application.ends_at(transfer, offered + rate.write);
        }
        application.writes += 1;
        let next = application.since_ns + rate.time_of(application.writes);
        self.plan(next, Action::Write(number, turn));
        self.offer(number, rate.write)
    }

    /// An on-off application begins to send or to pause.
    pub(super) fn toggle(&mut self, number: usize, time: u64) -> Result<()> {
        let Traffic::OnOff { turns, rate } = &self.job.connections[number].traffic else { return Ok(()) };
        let flow = &mut self.flows[number];
        let Some(Some(pair)) = flow.pairs.first_mut() else { return Ok(()) };
        let application = &mut flow.application;
        if application.is_over {
            return Ok(());
        }
        application.sends = !application.sends;
        if application.sends {
            let Some(&(on, _)) = turns.get(application.turns) else { return Ok(()) };
            application.turns += 1;
            application.begin(time, 0);
            application.before = pair.offered;
            (application.since_ns, application.writes) = (time, 0);
            let turn = application.turns;
            if rate.is_none() {
                pair.offered = ENDLESS;
            }
            self.plan(time + on, Action::Toggle(number));
            return if rate.is_some() { self.write(number, turn) } else { self.wait_for_room(number, 0) };
        }
        if rate.is_none() {
            // Data accepted by the kernel is still sent.
            pair.offered = pair.taken;
        }
        let offered = pair.offered;
        let turn = application.transfers.len() - 1;
        application.transfers[turn].bytes = offered - application.before;
        application.ends_at(turn, offered);
        if let Some(&(_, off)) = turns.get(application.turns - 1) {
            self.plan(time + off, Action::Toggle(number));
        }
        self.delivered(number, 0);
        Ok(())
    }

    /// The receiver requests the next response.
    pub(super) fn request(&mut self, number: usize, time: u64) -> Result<()> {
        let connection = &self.job.connections[number];
        let Traffic::Exchange { request, responses } = &connection.traffic else { return Ok(()) };
        let flow = &mut self.flows[number];
        let receiver = flow.pairs.first().and_then(|pair| pair.as_ref()?.receiver.as_ref());
        let Some(receiver) = receiver.filter(|_| !flow.application.is_over) else { return Ok(()) };
        let asked = flow.application.transfers.len();
        let Some(&(bytes, _)) = responses.get(asked) else {
            return Err(format!("{}: it has got all {asked} responses that were drawn", connection.name));
        };
        flow.application.begin(time, bytes);
        let sent = receiver.send(&self.buffer[..*request as usize]);
        match sent {
            Ok(count) if count as u64 == *request => Ok(()),
            Ok(count) => Err(format!("{}: {count} of {request} bytes of a request sent", connection.name)),
            // The sender has just closed it.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Ok(())
            }
            Err(error) => Err(format!("{}: request: {error}", connection.name)),
        }
    }

    /// The sender reads requests, and responds to complete ones.
    pub(super) fn read_request(&mut self, number: usize, place: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        let Traffic::Exchange { request, .. } = &connection.traffic else { return Ok(()) };
        let mut responses = 0;
        let flow = &mut self.flows[number];
        let Some(Some(pair)) = flow.pairs.get_mut(place) else { return Ok(()) };
        let Some(socket) = &pair.sender else { return Ok(()) };
        loop {
            match read(socket, &mut self.buffer, false) {
                Ok(0) => break,
                Ok(count) => pair.asked += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(format!("{}: reading a request: {error}", connection.name)),
            }
        }
        while flow.application.writes < pair.asked / request {
            let transfer = flow.application.writes as usize;
            flow.application.writes += 1;
            let bytes = flow.application.transfers[transfer].bytes;
            responses += bytes;
            flow.application.ends_at(transfer, pair.offered + responses);
        }
        if responses > 0 { self.offer(number, responses) } else { Ok(()) }
    }

    /// Data was delivered; a transfer may be complete.
    pub(super) fn delivered(&mut self, number: usize, place: usize) {
        let connection = &self.job.connections[number];
        let now = now_ns() - self.start;
        let flow = &mut self.flows[number];
        let Some(pair) = &flow.pairs[place] else { return };
        if let Traffic::Short { .. } = connection.traffic {
            let transfer = &mut flow.application.transfers[pair.transfer];
            if pair.delivered == transfer.bytes {
                transfer.end_ns = Some(now);
                // Both ends close after all data has been sent and read, so nothing is reset.
                flow.pairs[place] = None;
                self.plan(now, Action::Admit(number));
            }
            return;
        }
        let complete = flow.application.arrived(now, pair.delivered);
        match &connection.traffic {
            Traffic::Object(_) if complete > 0 => self.plan(now, Action::Close(number)),
            Traffic::Exchange { responses, .. } if complete > 0 => {
                let last = flow.application.transfers.len() - 1;
                self.plan(now + responses[last].1, Action::Request(number));
            }
            _ => {}
        }
    }

    /// Plans the next short flow.
    pub(super) fn plan_arrival(&mut self, number: usize) {
        let Traffic::Short { arrivals, .. } = &self.job.connections[number].traffic else { return };
        if let Some(&(time, _)) = arrivals.get(self.flows[number].application.transfers.len()) {
            self.plan(time, Action::Arrive(number));
        }
    }

    /// A short flow arrives; it waits if the maximum is reached.
    pub(super) fn arrive(&mut self, number: usize, time: u64) -> Result<()> {
        let Traffic::Short { arrivals, .. } = &self.job.connections[number].traffic else { return Ok(()) };
        let application = &mut self.flows[number].application;
        if application.is_over {
            return Ok(());
        }
        let (_, bytes) = arrivals[application.transfers.len()];
        let transfer = application.begin(time, bytes);
        application.waiting.push_back(transfer);
        self.plan_arrival(number);
        self.admit(number)
    }

    /// Opens connections for waiting short flows, up to the maximum.
    pub(super) fn admit(&mut self, number: usize) -> Result<()> {
        let Traffic::Short { at_once, .. } = &self.job.connections[number].traffic else { return Ok(()) };
        loop {
            let flow = &mut self.flows[number];
            let is_full = flow.pairs.iter().flatten().count() >= *at_once;
            if is_full || flow.application.is_over {
                return Ok(());
            }
            let Some(transfer) = flow.application.waiting.pop_front() else { return Ok(()) };
            let place = self.connect(number)?;
            if let Some(pair) = &mut self.flows[number].pairs[place] {
                pair.transfer = transfer;
            }
        }
    }
}
