//! One QUIC connection: two ends and the paths between them.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use braid_quic::{Coupling, Spec};
use braid_scenario::model::Connection as Model;
use braid_sim::{Datagram, Ecn, Place};
use noq_proto::{
    Connection, EcnCodepoint, Event, FourTuple, PathEvent, PathId, PathStatus, StreamEvent, VarInt,
};

use crate::endpoint::{Side, client_ip, server_address, subflow_of};
use crate::paths::Paths;
use crate::qlog::ToFile;
use crate::streams::Streams;

/// Events that applications wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The receiver is connected: further paths may be opened.
    Connected,
    /// The sender is connected: it may write.
    MayWrite,
    /// The receiver has read a stream to its end.
    Finished,
}

/// One connection.
pub(crate) struct Flow<'a> {
    /// Index of its connection in the scenario.
    pub(crate) number: usize,
    /// Number of its datagrams.
    pub(crate) id: u32,
    model: &'a Model,
    client: Side,
    server: Side,
    /// By subflow: the client's port, which changes with the route.
    ports: Vec<u16>,
    /// By subflow: whether datagrams are forwarded.
    up: Vec<bool>,
    /// By subflow: its present path at the client.
    path_ids: Vec<Option<PathId>>,
    pub(crate) paths: Paths,
    pub(crate) streams: Streams,
    established: bool,
    pub(crate) is_closed: bool,
    /// Short flow: its transfer in the application.
    pub(crate) transfer: Option<usize>,
    pub(crate) news: Vec<News>,
    /// Why the stack ended the connection.
    pub(crate) lost: Option<String>,
    buffer: Vec<u8>,
}

/// Configuration of a flow.
pub(crate) struct Setup<'a, 's> {
    pub(crate) number: usize,
    pub(crate) id: u32,
    pub(crate) model: &'a Model,
    pub(crate) spec: &'s Spec,
    pub(crate) seed: u64,
    pub(crate) qlog: Option<ToFile>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(setup: Setup<'a, '_>) -> Self {
        let Setup { number, id, model, spec, seed, qlog } = setup;
        let coupling = Arc::new(Coupling::with_initial(spec, model.initial_window, model.initial_ssthresh));
        let seed = seed.wrapping_mul(1 << 20).wrapping_add(u64::from(id) * 2);
        let n = model.subflows.len();
        Self {
            number,
            id,
            model,
            client: Side::client(model, seed),
            server: Side::server(model, seed, Arc::clone(&coupling) as _, qlog),
            ports: vec![50_000; n],
            up: vec![true; n],
            path_ids: vec![None; n],
            paths: Paths::new(coupling, n),
            streams: Streams::default(),
            established: false,
            is_closed: false,
            transfer: None,
            news: Vec::new(),
            lost: None,
            buffer: Vec::new(),
        }
    }

    /// The client connects.
    pub(crate) fn open(&mut self, now: Instant) {
        self.lost = self.client.connect(now, self.model, self.id).err().map(|error| error.to_string());
        self.path_ids[0] = Some(PathId::ZERO);
    }

    /// The application ends.
    pub(crate) fn close(&mut self, now: Instant, now_ns: u64) {
        if !self.is_closed {
            self.is_closed = true;
            self.look(now_ns);
            for subflow in 0..self.up.len() {
                self.paths.deactivate(subflow, now_ns);
            }
            self.client.close(now);
        }
    }

    /// The client opens the path of a subflow. False if it must be retried.
    pub(crate) fn join(&mut self, now: Instant, subflow: usize) -> bool {
        self.up[subflow] = true;
        if self.is_closed || self.path_ids[subflow].is_some() {
            return true;
        }
        let backup = self.model.subflows[subflow].backup;
        let status = if backup { PathStatus::Backup } else { PathStatus::Available };
        let path = FourTuple::new(server_address(subflow), Some(client_ip(subflow)));
        let Some(connection) = self.client.connection() else { return true };
        self.path_ids[subflow] = connection.open_path(path, status, now).ok();
        self.path_ids[subflow].is_some()
    }

    /// Removes the path of a subflow; data in flight on it is lost.
    pub(crate) fn leave(&mut self, now: Instant, now_ns: u64, subflow: usize) {
        self.look(now_ns);
        self.paths.deactivate(subflow, now_ns);
        self.up[subflow] = false;
        // The stack keeps its last path, whose datagrams are lost until the subflow returns.
        if let (Some(id), Some(connection)) = (self.path_ids[subflow], self.client.connection())
            && connection.close_path(now, id, VarInt::from_u32(0)).is_ok()
        {
            self.path_ids[subflow] = None;
        }
    }

    /// The route of a subflow changes, and with it the address seen by the server: the path migrates.
    pub(crate) fn rebind(&mut self, subflow: usize) {
        self.ports[subflow] = self.ports[subflow].wrapping_add(1).max(1_024);
    }

    /// The sender opens a stream; see [`Streams::open`].
    pub(crate) fn send(&mut self, bytes: u64, ends: bool) {
        if let Some(connection) = self.server.connection() {
            self.streams.open(connection, bytes, ends);
        }
    }

    /// The receiver makes a request; see [`Streams::request`].
    pub(crate) fn request(&mut self, request: u32, response: u64) {
        if let Some(connection) = self.client.connection() {
            self.streams.request(connection, request, response);
        }
    }

    /// A datagram has reached its end.
    pub(crate) fn receive(&mut self, now: Instant, datagram: &Datagram) {
        let subflow = datagram.place.subflow;
        if !self.up[subflow] {
            return;
        }
        let client = SocketAddr::new(client_ip(subflow), self.ports[subflow]);
        let (side, path) = if datagram.to_receiver {
            let ip_bytes = datagram.payload.len() as u64 + 8 + u64::from(self.model.ip_header);
            self.paths.received(subflow, ip_bytes);
            (&mut self.client, FourTuple::new(server_address(subflow), Some(client_ip(subflow))))
        } else {
            (&mut self.server, FourTuple::new(client, Some(server_address(subflow).ip())))
        };
        let ecn = match datagram.ecn {
            Ecn::NotCapable => None,
            Ecn::Capable => Some(EcnCodepoint::Ect0),
            Ecn::Marked => Some(EcnCodepoint::Ce),
        };
        if let Err(why) = side.receive(now, path, ecn, &datagram.payload) {
            self.lost = Some(why);
        }
    }

    /// Time of the next timer.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        [self.client.next_timeout(), self.server.next_timeout()].into_iter().flatten().min()
    }

    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        self.server.handle_timeout(now);
    }

    /// Handles all pending events; `send` gets the datagrams. The sender writes at most `most` bytes that the receiver
    /// has not read.
    pub(crate) fn work(&mut self, now: Instant, now_ns: u64, most: u64, mut send: impl FnMut(Datagram)) {
        self.follow_events();
        if let Some(connection) = self.server.connection() {
            self.streams.write(connection, most);
        }
        for side in [&mut self.client, &mut self.server] {
            let to_receiver = side.to_receiver;
            let Some(connection) = side.connection() else { continue };
            loop {
                self.buffer.clear();
                let transmit = connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.buffer);
                let Some(transmit) = transmit else { break };
                let Some(subflow) = subflow_of(transmit.destination.ip()) else { continue };
                if !self.up[subflow] {
                    continue;
                }
                if to_receiver {
                    self.paths.sent(subflow);
                }
                let ecn =
                    if self.model.ecn && transmit.ecn.is_some() { Ecn::Capable } else { Ecn::NotCapable };
                send(Datagram {
                    place: Place { connection: self.number, subflow },
                    flow: self.id,
                    to_receiver,
                    ecn,
                    payload: self.buffer[..transmit.size].to_vec(),
                });
            }
        }
        // Sending may need ids or return some.
        self.follow_events();
        self.look(now_ns);
    }

    fn follow_events(&mut self) {
        self.client.exchange();
        self.server.exchange();
        while let Some(event) = self.client.connection().and_then(Connection::poll) {
            self.follow_event_of_client(event);
        }
        while let Some(event) = self.server.connection().and_then(Connection::poll) {
            self.follow_event_of_server(&event);
        }
    }

    fn follow_event_of_client(&mut self, event: Event) {
        let Some(connection) = self.client.connection() else { return };
        let readable = match event {
            Event::Connected if !self.established => {
                self.established = true;
                self.news.push(News::Connected);
                return;
            }
            Event::ConnectionLost { reason } if !self.is_closed => {
                self.lost.get_or_insert(reason.to_string());
                return;
            }
            Event::Stream(StreamEvent::Opened { dir }) => self.streams.accept_reads(connection, dir),
            Event::Stream(StreamEvent::Readable { id }) => vec![id],
            _ => return,
        };
        for id in readable {
            if !self.is_closed && self.streams.read(connection, id) {
                self.news.push(News::Finished);
            }
        }
    }

    fn follow_event_of_server(&mut self, event: &Event) {
        let Some(connection) = self.server.connection() else { return };
        let readable = match event {
            Event::Connected => {
                self.news.push(News::MayWrite);
                return;
            }
            Event::Path(PathEvent::Established { .. } | PathEvent::Abandoned { .. }) => {
                self.paths.have_changed();
                return;
            }
            Event::Stream(StreamEvent::Opened { dir }) => self.streams.accept_requests(connection, *dir),
            Event::Stream(StreamEvent::Readable { id }) => vec![*id],
            _ => return,
        };
        for id in readable {
            self.streams.answer(connection, id);
        }
    }

    fn look(&mut self, now_ns: u64) {
        if let Some(connection) = self.server.connection() {
            self.paths.look(connection, self.model, now_ns);
        }
    }

    /// Whether a subflow's datagrams are forwarded.
    pub(crate) fn is_up(&self, subflow: usize) -> bool {
        self.up[subflow]
    }

    /// Uses the stack's own CUBIC instead of the coupling, to isolate the stack's behaviour. Before the connection is
    /// opened.
    #[cfg(test)]
    pub(crate) fn use_the_stacks_own_controller(&mut self) {
        let cubic = Arc::new(noq_proto::congestion::CubicConfig::default());
        self.server = Side::server(self.model, 1, cubic, None);
    }

    /// State of the sender's address validation.
    #[cfg(test)]
    pub(crate) fn validation(&mut self) -> Validation {
        let connection = self.server.connection().expect("the first packets get through");
        let (handshakes, stats) = (connection.is_handshaking(), connection.stats());
        Validation { handshakes, challenges: stats.frame_tx.path_challenge, received: stats.udp_rx.datagrams }
    }
}

/// For a sender: whether its handshake is incomplete, challenges sent, datagrams received.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validation {
    pub(crate) handshakes: bool,
    pub(crate) challenges: u64,
    pub(crate) received: u64,
}
