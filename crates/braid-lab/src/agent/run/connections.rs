//! Connections open and close, their sockets send and receive, and subflows join and leave.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    os::fd::AsRawFd as _,
};

use rustix::event::epoll;
use socket2::SockAddr;

use super::{Action, Result, Role, Run, failed, token};
use crate::agent::{
    clock::{SECOND_NS, now_ns},
    flow::{port, socket},
    interfaces::interface,
    paths::Endpoint,
    tcp_info,
};

/// From one attempt to join to the next, where the first came too early.
const JOIN_RETRY_NS: u64 = 1_000_000;

impl Run<'_> {
    pub(super) fn open(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        if self.flows[number].programs.is_some() {
            return self.open_program(number);
        }
        self.network.enter(connection.nodes[0])?;
        let name = &connection.name;
        let failed = |what: &'static str| move |error: io::Error| format!("{name}: {what}: {error}");
        let socket = socket(connection.multipath, connection.server).map_err(failed("socket"))?;
        socket
            .set_tcp_congestion(connection.cc.as_bytes())
            .map_err(failed("setting its congestion control"))?;
        socket.set_nonblocking(true).map_err(failed("socket"))?;
        let local = SocketAddr::new(connection.subflows[0].address, 0);
        socket.bind(&local.into()).map_err(failed("bind"))?;
        let remote = SocketAddr::new(connection.server, port(number));
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                return Err(failed("connect")(error));
            }
            _ => {}
        }
        epoll::add(&self.epoll, &socket, token(number, Role::Sender), epoll::EventFlags::OUT)
            .map_err(|e| format!("epoll: {e}"))?;
        self.flows[number].sender = Some(socket);
        Ok(())
    }

    /// The client starts, and what it opens has all subflows.
    pub(super) fn open_program(&mut self, number: usize) -> Result<()> {
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
        let Some(programs) = &mut self.flows[number].programs else { return Ok(()) };
        let server_sends = connection.programs.as_ref().is_some_and(|programs| programs.server_sends);
        self.network.enter(connection.nodes[usize::from(server_sends)])?;
        programs.start(1, now).map_err(|error| format!("{}: {error}", connection.name))?;
        if let Some(end) = programs.end_of(1) {
            epoll::add(&self.epoll, end, token(number, Role::Client), epoll::EventFlags::IN)
                .map_err(|e| format!("epoll: {e}"))?;
        }
        Ok(())
    }

    /// A program has ended.
    pub(super) fn ended(&mut self, number: usize, which: usize) -> Result<()> {
        let name = &self.job.connections[number].name;
        let Some(programs) = &mut self.flows[number].programs else { return Ok(()) };
        let now = now_ns().saturating_sub(self.start);
        if programs.ended(which, now).map_err(|error| format!("{name}: {error}"))? {
            if let Some(end) = programs.end_of(which) {
                let _ = epoll::delete(&self.epoll, end);
            }
        }
        Ok(())
    }

    pub(super) fn accept(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(listener) = &flow.listener else { return Ok(()) };
        let (socket, _) = listener.accept().map_err(failed("accept"))?;
        socket.set_nonblocking(true).map_err(failed("accept"))?;
        epoll::add(&self.epoll, &socket, token(number, Role::Receiver), epoll::EventFlags::IN)
            .map_err(|e| format!("epoll: {e}"))?;
        flow.receiver = Some(socket);
        Ok(())
    }

    pub(super) fn send(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(socket) = &flow.sender else { return Ok(()) };
        if !flow.established {
            if let Some(error) = socket.take_error().map_err(failed("socket"))? {
                return Err(format!("{}: connect: {error}", self.job.connections[number].name));
            }
            flow.established = true;
            let hold_ns = self.job.connections[number].hold_ns;
            if hold_ns > 0 {
                let _ = epoll::delete(&self.epoll, socket);
                self.plan(now_ns() - self.start + hold_ns, Action::Send(number));
            }
            self.established(number)?;
            if hold_ns > 0 {
                return Ok(());
            }
        }
        let flow = &mut self.flows[number];
        let socket = flow.sender.as_ref().expect("it was there");
        let is_checked = self.job.connections[number].scheduler.is_some();
        let data = if is_checked { self.pattern.at(flow.written_bytes) } else { &self.buffer };
        let left = self.job.connections[number].object_bytes.unwrap_or(u64::MAX) - flow.written_bytes;
        let data = &data[..data.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        if data.is_empty() {
            let _ = epoll::delete(&self.epoll, socket);
            return Ok(());
        }
        // Once, and again when it is asked for again: to fill a send buffer takes long.
        match socket.send(data) {
            Ok(count) => {
                flow.written_bytes += count as u64;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(format!("{}: send: {error}", self.job.connections[number].name)),
        }
    }

    /// From now on the connection sends.
    pub(super) fn begin(&mut self, number: usize) -> Result<()> {
        let Some(socket) = &self.flows[number].sender else { return Ok(()) };
        epoll::add(&self.epoll, socket, token(number, Role::Sender), epoll::EventFlags::OUT)
            .map_err(|e| format!("epoll: {e}"))
    }

    /// Plans when the other subflows come, and who goes.
    pub(super) fn established(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        if connection.subflows.iter().all(|subflow| subflow.up.is_empty()) && connection.subflows.len() == 1 {
            return Ok(());
        }
        let socket = self.flows[number].sender.as_ref().expect("it is established");
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
        if flow.programs.is_none() {
            let Some(sender) = &flow.sender else { return Ok(()) };
            let info = tcp_info::mptcp(sender).map_err(failed("MPTCP_FULL_INFO"))?;
            if join && info.bytes_acknowledged == 0 {
                // Until the peer has acknowledged data it takes no joins (RFC 8684 sect. 3.1).
                let again = now_ns() - self.start + JOIN_RETRY_NS;
                self.plan(again, Action::Join(number, index));
                return Ok(());
            }
        }
        let endpoint = Endpoint {
            // The first one is not an endpoint, at least at first; the kernel calls it 0.
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

    pub(super) fn receive(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(socket) = &flow.receiver else { return Ok(()) };
        // Bytes that nobody looks at need not be copied. Schedulers of ours could do something to them.
        let is_checked = self.job.connections[number].scheduler.is_some();
        let discard = if is_checked { 0 } else { libc::MSG_TRUNC };
        loop {
            // SAFETY: MSG_TRUNC on a stream discards; otherwise the buffer is as large as is said.
            let count = unsafe {
                libc::recv(
                    socket.as_raw_fd(),
                    self.buffer.as_mut_ptr().cast(),
                    self.buffer.len(),
                    discard | libc::MSG_DONTWAIT,
                )
            };
            match count {
                1.. => {
                    let arrived = &self.buffer[..count as usize];
                    let differs = is_checked.then(|| self.pattern.differs(flow.delivered_bytes, arrived));
                    if let Some(at) = differs.flatten() {
                        let name = &self.job.connections[number].name;
                        return Err(format!("{name}: byte {at} did not arrive as it was sent"));
                    }
                    flow.delivered_bytes += count as u64;
                    if Some(flow.delivered_bytes) == self.job.connections[number].object_bytes {
                        let now = now_ns() - self.start;
                        self.report.arrived.push((number, now));
                        self.event_queue.insert((now, Action::Close(number)));
                    }
                }
                0 => break,
                _ => {
                    let error = io::Error::last_os_error();
                    match error.kind() {
                        ErrorKind::WouldBlock => return Ok(()),
                        ErrorKind::ConnectionReset => break,
                        _ => return Err(format!("{}: receive: {error}", self.job.connections[number].name)),
                    }
                }
            }
        }
        let _ = epoll::delete(&self.epoll, socket);
        flow.receiver = None;
        Ok(())
    }

    pub(super) fn close(&mut self, number: usize, time: u64) -> Result<()> {
        self.observe(time)?;
        if let Some(programs) = &mut self.flows[number].programs {
            programs.tell_to_end();
            self.plan(time + SECOND_NS, Action::Kill(number));
            return Ok(());
        }
        let flow = &mut self.flows[number];
        if let Some(socket) = flow.sender.take() {
            let _ = epoll::delete(&self.epoll, &socket);
            // At once: what is under way is forgotten.
            // SAFETY: an address without a family, two bytes of which are read.
            let nobody = unsafe {
                SockAddr::try_init(|storage, length| {
                    (*storage.cast::<libc::sockaddr>()).sa_family = libc::AF_UNSPEC as libc::sa_family_t;
                    *length = size_of::<libc::sockaddr>() as libc::socklen_t;
                    Ok(())
                })
            };
            let ((), nobody) = nobody.map_err(failed("closing"))?;
            let _ = socket.connect(&nobody);
        }
        for subflow in &mut flow.subflows {
            subflow.retire();
        }
        Ok(())
    }
}
