//! Connections open and close, their sockets send and receive, and subflows join and leave.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    os::fd::AsRawFd as _,
};

use braid_scenario::model::Traffic;
use rustix::event::epoll;
use socket2::Socket;

use super::{Action, Result, Role, Run, token, token_of};
use crate::agent::{
    clock::{SECOND_NS, now_ns},
    flow::{port, socket},
    interfaces::interface,
    outcome::failed,
    pair::{Pair, reset},
    paths::Endpoint,
    tcp_info,
};

/// Interval between attempts of an early join.
const JOIN_RETRY_NS: u64 = 1_000_000;

impl Run<'_> {
    pub(super) fn open(&mut self, number: usize, time: u64) -> Result<()> {
        let flow = &mut self.flows[number];
        if flow.programs.is_some() {
            return self.open_program(number);
        }
        if flow.application.is_short_flows() {
            self.open_paths(number)?;
        }
        self.flows[number].application.start(time);
        self.drive(number)
    }

    /// Opens a built-in connection; returns its slot.
    pub(super) fn connect(&mut self, number: usize) -> Result<usize> {
        let connection = &self.job.connections[number];
        self.network.enter(connection.nodes[0])?;
        let name = &connection.name;
        let failed = |what: &'static str| move |error: io::Error| format!("{name}: {what}: {error}");
        let socket = socket(connection.multipath, connection.server).map_err(failed("socket"))?;
        socket
            .set_tcp_congestion(connection.cc.as_bytes())
            .map_err(failed("setting its congestion control"))?;
        socket.set_nonblocking(true).map_err(failed("socket"))?;
        if !matches!(connection.traffic, Traffic::Bulk | Traffic::Object { .. }) {
            // What is written is to be sent, though it fills no packet.
            socket.set_tcp_nodelay(true).map_err(failed("TCP_NODELAY"))?;
        }
        let local = SocketAddr::new(connection.subflows[0].address, 0);
        socket.bind(&local.into()).map_err(failed("bind"))?;
        let remote = SocketAddr::new(connection.server, port(number));
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                return Err(failed("connect")(error));
            }
            _ => {}
        }
        let pairs = &mut self.flows[number].pairs;
        let place = pairs.iter().position(Option::is_none).unwrap_or(pairs.len());
        epoll::add(&self.epoll, &socket, token_of(number, place, Role::Sender), epoll::EventFlags::OUT)
            .map_err(|error| format!("epoll: {error}"))?;
        if place == pairs.len() {
            pairs.push(None);
        }
        pairs[place] = Some(Pair::new(socket));
        Ok(place)
    }

    /// From now on every connection of the sender opens all subflows.
    fn open_paths(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        let now = now_ns() - self.start;
        for (index, subflow) in connection.subflows.iter().enumerate().skip(1) {
            if subflow.up.is_empty() {
                self.change_path(number, index, true)?;
            }
            for &(from, to) in &subflow.up {
                self.plan(from.max(now), Action::Join(number, index));
                self.plan(to.max(now), Action::Leave(number, index));
            }
        }
        Ok(())
    }

    /// Starts the client; its connections open all subflows.
    pub(super) fn open_program(&mut self, number: usize) -> Result<()> {
        self.open_paths(number)?;
        let connection = &self.job.connections[number];
        let now = now_ns() - self.start;
        let Some(programs) = &mut self.flows[number].programs else { return Ok(()) };
        let server_sends = connection.programs.as_ref().is_some_and(|programs| programs.server_sends);
        self.network.enter(connection.nodes[usize::from(server_sends)])?;
        programs.start(1, now).map_err(|error| format!("{}: {error}", connection.name))?;
        if let Some(end) = programs.end_of(1) {
            epoll::add(&self.epoll, end, token(number, Role::Client), epoll::EventFlags::IN)
                .map_err(failed("epoll"))?;
        }
        Ok(())
    }

    /// A program has ended.
    pub(super) fn ended(&mut self, number: usize, which: usize) -> Result<()> {
        let name = &self.job.connections[number].name;
        let Some(programs) = &mut self.flows[number].programs else { return Ok(()) };
        let now = now_ns().saturating_sub(self.start);
        if programs.ended(which, now).map_err(|error| format!("{name}: {error}"))?
            && let Some(end) = programs.end_of(which)
        {
            let _ = epoll::delete(&self.epoll, end);
        }
        Ok(())
    }

    pub(super) fn accept(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(listener) = &flow.listener else { return Ok(()) };
        let (socket, peer) = listener.accept().map_err(failed("accept"))?;
        socket.set_nonblocking(true).map_err(failed("accept"))?;
        let peer = peer.as_socket().map(|address| address.port());
        let is_its = |pair: &Option<Pair>| {
            let sender = pair.as_ref().and_then(|pair| pair.sender.as_ref());
            let local = sender.and_then(|sender| sender.local_addr().ok()?.as_socket());
            local.map(|address| address.port()) == peer
        };
        // A connection closed since then has no receiver any more.
        let Some(place) = flow.pairs.iter().position(is_its) else { return Ok(()) };
        let Some(pair) = &mut flow.pairs[place] else { return Ok(()) };
        epoll::add(&self.epoll, &socket, token_of(number, place, Role::Receiver), epoll::EventFlags::IN)
            .map_err(failed("epoll"))?;
        pair.receiver = Some(socket);
        if flow.application.begins_at_receiver() {
            flow.application.established(now_ns() - self.start);
        }
        self.drive(number)
    }

    /// The sender's socket is writable, or has a request.
    pub(super) fn sender_is_ready(
        &mut self,
        number: usize,
        place: usize,
        flags: epoll::EventFlags,
    ) -> Result<()> {
        if flags.contains(epoll::EventFlags::IN) {
            self.read_request(number, place)?;
        }
        self.send(number, place)
    }

    pub(super) fn send(&mut self, number: usize, place: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        let failed = |what: &str, error: io::Error| Err(format!("{}: {what}: {error}", connection.name));
        let Some(pair) = self.flows[number].pairs.get_mut(place).and_then(Option::as_mut) else {
            return Ok(());
        };
        let Some(socket) = &pair.sender else { return Ok(()) };
        if !pair.is_established {
            match socket.take_error() {
                Ok(Some(error)) | Err(error) => return failed("connect", error),
                // The slot's next connection may not have been accepted yet.
                Ok(None) if socket.peer_addr().is_err() => return Ok(()),
                Ok(None) => {}
            }
            pair.is_established = true;
            if connection.hold_ns > 0 {
                pair.is_idle = true;
                let _ = epoll::delete(&self.epoll, socket);
                self.plan(now_ns() - self.start + connection.hold_ns, Action::Send(number, place));
            }
            self.established(number)?;
            self.may_write(number, place)?;
            if connection.hold_ns > 0 {
                return Ok(());
            }
        }
        let Some(pair) = &mut self.flows[number].pairs[place] else { return Ok(()) };
        let Some(socket) = &pair.sender else { return Ok(()) };
        let data = if connection.scheduler.is_some() { self.pattern.at(pair.taken) } else { &self.buffer };
        let left = usize::try_from(pair.offered - pair.taken).unwrap_or(usize::MAX);
        let data = &data[..data.len().min(left)];
        if data.is_empty() {
            return self.be_idle(number, place);
        }
        // Once, and again when polled: filling a send buffer takes long.
        match socket.send(data) {
            Ok(count) => {
                pair.taken += count as u64;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => failed("send", error),
        }
    }

    /// Nothing to send: stops polling for room.
    fn be_idle(&mut self, number: usize, place: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(pair) = &mut flow.pairs[place] else { return Ok(()) };
        let Some(socket) = pair.sender.as_ref().filter(|_| !pair.is_idle) else { return Ok(()) };
        pair.is_idle = true;
        if flow.application.begins_at_receiver() {
            let token = token_of(number, place, Role::Sender);
            return epoll::modify(&self.epoll, socket, token, epoll::EventFlags::IN).map_err(failed("epoll"));
        }
        let _ = epoll::delete(&self.epoll, socket);
        Ok(())
    }

    /// Data to send: polls for room.
    pub(super) fn wait_for_room(&mut self, number: usize, place: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(Some(pair)) = flow.pairs.get_mut(place) else { return Ok(()) };
        let Some(socket) = pair.sender.as_ref().filter(|_| pair.is_idle) else { return Ok(()) };
        pair.is_idle = false;
        let token = token_of(number, place, Role::Sender);
        let out = epoll::EventFlags::OUT;
        // Requests are waited for all the time.
        let done = if flow.application.begins_at_receiver() {
            epoll::modify(&self.epoll, socket, token, out | epoll::EventFlags::IN)
        } else {
            epoll::add(&self.epoll, socket, token, out)
        };
        done.map_err(failed("epoll"))
    }

    /// Plans joins and removals of the other subflows.
    pub(super) fn established(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        if connection.subflows.iter().all(|subflow| subflow.up.is_empty()) && connection.subflows.len() == 1 {
            return Ok(());
        }
        let flow = &self.flows[number];
        // Short flows have their subflows from the kernel.
        let Some((_, socket)) = flow.established().filter(|_| flow.group.is_none()) else { return Ok(()) };
        let info = tcp_info::mptcp(socket).map_err(failed("MPTCP_FULL_INFO"))?;
        let rtt_ns = info.subflows.first().map_or(0, |(.., info)| u64::from(info.srtt_us) * 1000);
        let now = now_ns() - self.start;
        for (index, subflow) in connection.subflows.iter().enumerate() {
            if subflow.up.is_empty() && index > 0 {
                self.plan(now + subflow.join_delay_ns.unwrap_or(rtt_ns), Action::Join(number, index));
            }
            for &(from, to) in subflow.up.iter().filter(|&&(_, to)| to > now) {
                if index > 0 || from > now {
                    self.plan(from.max(now + rtt_ns), Action::Join(number, index));
                }
                self.plan(to, Action::Leave(number, index));
            }
        }
        Ok(())
    }

    pub(super) fn change_path(&mut self, number: usize, index: usize, join: bool) -> Result<()> {
        let connection = &self.job.connections[number];
        let subflow = &connection.subflows[index];
        let flow = &mut self.flows[number];
        let Some(paths) = &mut flow.paths else { return Ok(()) };
        if flow.group.is_none() {
            let sender = flow.pairs.first().and_then(|pair| pair.as_ref()?.sender.as_ref());
            let Some(sender) = sender else { return Ok(()) };
            let info = tcp_info::mptcp(sender).map_err(failed("MPTCP_FULL_INFO"))?;
            if join && info.bytes_acknowledged == 0 {
                // The peer accepts joins once it has acknowledged data (RFC 8684 sect. 3.1).
                let again = now_ns() - self.start + JOIN_RETRY_NS;
                self.plan(again, Action::Join(number, index));
                return Ok(());
            }
        }
        let endpoint = Endpoint {
            // The first subflow is not an endpoint at first; the kernel's id for it is 0.
            id: index as u8,
            address: subflow.address,
            interface: interface(subflow.wire, 0),
            backup: subflow.backup,
            announced: connection.programs.as_ref().is_some_and(|programs| programs.server_sends),
        };
        let done = if join { paths.add(&endpoint) } else { paths.remove(&endpoint) };
        done.map_err(|error| {
            let what = if join { "joining" } else { "leaving" };
            format!("{}: subflow {index}: {what}: {error}", connection.name)
        })
    }

    pub(super) fn receive(&mut self, number: usize, place: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        // Unchecked bytes need not be copied. Our schedulers could corrupt data, so it is checked.
        let is_checked = connection.scheduler.is_some();
        loop {
            let flow = &mut self.flows[number];
            let Some(Some(pair)) = flow.pairs.get_mut(place) else { return Ok(()) };
            let Some(socket) = &pair.receiver else { return Ok(()) };
            match read(socket, &mut self.buffer, is_checked) {
                Ok(count @ 1..) => {
                    let arrived = &self.buffer[..count];
                    let differs = is_checked.then(|| self.pattern.differs(pair.delivered, arrived));
                    if let Some(at) = differs.flatten() {
                        return Err(format!("{}: byte {at} did not arrive as it was sent", connection.name));
                    }
                    pair.delivered += count as u64;
                    flow.delivered_bytes += count as u64;
                    self.delivered(number, place)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() != ErrorKind::ConnectionReset => {
                    return Err(format!("{}: receive: {error}", connection.name));
                }
                Ok(0) | Err(_) => {
                    let _ = epoll::delete(&self.epoll, socket);
                    pair.receiver = None;
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn close(&mut self, number: usize, time: u64) -> Result<()> {
        self.observe(time)?;
        let flow = &mut self.flows[number];
        flow.application.stop(time);
        if let Some(programs) = &mut flow.programs {
            programs.tell_to_end();
            self.plan(time + SECOND_NS, Action::Kill(number));
            return Ok(());
        }
        for pair in flow.pairs.iter_mut().flatten() {
            if let Some(socket) = pair.sender.take() {
                let _ = epoll::delete(&self.epoll, &socket);
                reset(&socket).map_err(failed("closing"))?;
            }
        }
        for subflow in &mut flow.subflows {
            subflow.retire();
        }
        Ok(())
    }
}

/// Reads up to the buffer's size; discards the data unless `wanted`.
pub(super) fn read(socket: &Socket, buffer: &mut [u8], wanted: bool) -> io::Result<usize> {
    let discard = if wanted { 0 } else { libc::MSG_TRUNC };
    // SAFETY: MSG_TRUNC on a stream discards; otherwise the buffer has the given size.
    let count = unsafe {
        libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), discard | libc::MSG_DONTWAIT)
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
