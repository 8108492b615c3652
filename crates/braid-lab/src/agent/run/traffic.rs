//! What applications do to sockets.

use std::io::ErrorKind;

use braid_scenario::model::Traffic;
use braid_sim::application::{self, ENDLESS};

use super::{Action, Result, Run, connections::read};
use crate::agent::clock::now_ns;

impl Run<'_> {
    /// A connection is established: its application may write.
    pub(super) fn may_write(&mut self, number: usize, place: usize) -> Result<()> {
        let now = now_ns() - self.start;
        let flow = &mut self.flows[number];
        let Some(pair) = &mut flow.pairs[place] else { return Ok(()) };
        if let Some(bytes) = flow.application.first_bytes(pair.transfer) {
            pair.offered = bytes;
        } else if !flow.application.begins_at_receiver() {
            flow.application.established(now);
        }
        self.drive(number)
    }

    /// Does what an application asks for.
    pub(super) fn drive(&mut self, number: usize) -> Result<()> {
        while let Some(action) = self.flows[number].application.next_action() {
            match action {
                application::Action::Wait(time, timer) => self.plan(time, Action::Due(timer, number)),
                application::Action::Open(transfer) => {
                    let place = self.connect(number)?;
                    if let Some(pair) = &mut self.flows[number].pairs[place] {
                        pair.transfer = transfer;
                    }
                }
                application::Action::Request { bytes, .. } => self.request(number, bytes as usize)?,
                application::Action::Stop => self.plan(now_ns() - self.start, Action::Close(number)),
                action => self.write(number, action)?,
            }
        }
        Ok(())
    }

    /// The only connection of an application has more to send, or pauses.
    fn write(&mut self, number: usize, action: application::Action) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(Some(pair)) = flow.pairs.first_mut() else { return Ok(()) };
        match action {
            application::Action::Write(bytes, transfer) => {
                pair.offered += bytes;
                if let Some(transfer) = transfer {
                    flow.application.ends_at(transfer, pair.offered);
                }
            }
            application::Action::WriteEndlessly => {
                pair.before = Some(pair.offered);
                pair.offered = ENDLESS;
            }
            application::Action::Pause(turn) => {
                if let Some(before) = pair.before.take() {
                    // What the kernel has is still sent.
                    pair.offered = pair.taken;
                    flow.application.transfers[turn].bytes = pair.offered - before;
                }
                flow.application.ends_at(turn, pair.offered);
                return self.delivered(number, 0);
            }
            _ => {}
        }
        self.wait_for_room(number, 0)
    }

    /// The receiver asks for the next response.
    fn request(&mut self, number: usize, bytes: usize) -> Result<()> {
        let name = &self.job.connections[number].name;
        let receiver = self.flows[number].pairs.first().and_then(|pair| pair.as_ref()?.receiver.as_ref());
        let Some(receiver) = receiver else { return Ok(()) };
        match receiver.send(&self.buffer[..bytes]) {
            Ok(count) if count == bytes => Ok(()),
            Ok(count) => Err(format!("{name}: {count} of {bytes} bytes of a request sent")),
            // The sender has just closed it.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Ok(())
            }
            Err(error) => Err(format!("{name}: request: {error}")),
        }
    }

    /// The sender reads requests, and responds to complete ones.
    pub(super) fn read_request(&mut self, number: usize, place: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        let Traffic::RequestResponse { request, .. } = connection.traffic else { return Ok(()) };
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
        let complete = (pair.asked / u64::from(request)) as usize;
        if pair.answered == complete {
            return Ok(());
        }
        for transfer in pair.answered..complete {
            pair.offered += flow.application.transfers[transfer].bytes;
            flow.application.ends_at(transfer, pair.offered);
        }
        pair.answered = complete;
        self.wait_for_room(number, 0)
    }

    /// So much of a connection has arrived that a transfer may be complete.
    pub(super) fn delivered(&mut self, number: usize, place: usize) -> Result<()> {
        let now = now_ns() - self.start;
        let flow = &mut self.flows[number];
        let Some(pair) = &flow.pairs[place] else { return Ok(()) };
        match pair.transfer {
            None => flow.application.delivered(now, pair.delivered),
            Some(transfer) if pair.delivered == flow.application.transfers[transfer].bytes => {
                if flow.application.is_short_flows() {
                    // Both ends close what has been sent and read: nothing is reset.
                    flow.pairs[place] = None;
                }
                flow.application.arrived(now, transfer);
            }
            Some(_) => {}
        }
        self.drive(number)
    }
}
