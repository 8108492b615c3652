//! One QUIC connection: two endpoints, an application on each, and the paths between them.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use braid_quic::{Coupling, PathController, Spec};
use braid_results::measure::{ConnectionCounts, SubflowCounts, SubflowSample, Transfer, VerdictChange};
use braid_scenario::model::{Connection as Model, Traffic};
use braid_sim::{Datagram, Ecn, Place};
use bytes::{Bytes, BytesMut};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir,
    EcnCodepoint, Endpoint, EndpointConfig, Event, FourTuple, PathEvent, PathId, PathStatus, ReadError,
    ServerConfig, StreamEvent, StreamId, TimeSource, TransportConfig, VarInt, WriteError,
};

use crate::counts::Counted;
use crate::session::crypto;

const SERVER_PORT: u16 = 4_433;
/// What applications write, over and over.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];
/// Bytes that the sender may have written and not yet heard of.
const SEND_WINDOW: u64 = 16 << 20;

/// Connection ids in a fixed order.
struct Ids {
    seed: u64,
    next: Arc<AtomicU64>,
}

fn connection_id(seed: u64, number: u64) -> ConnectionId {
    ConnectionId::new(&(seed.wrapping_add(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        connection_id(self.seed, self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// A clock that stands still: tokens do not expire within a run.
struct Still;

impl TimeSource for Still {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }
}

/// One side of the connection.
struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The sender's datagrams go to the receiver.
    to_receiver: bool,
}

impl Side {
    fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }
}

/// What an application has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It is established: others of its paths are to be opened.
    Established,
    /// The application wants to think for some time, and then to make its next request.
    Think,
    /// It has got all it wanted.
    Finished,
}

/// One connection.
pub(crate) struct Flow<'a> {
    pub(crate) number: usize,
    pub(crate) model: &'a Model,
    pub(crate) coupling: Arc<Coupling>,
    client: Side,
    server: Side,
    /// The server's configuration, used once.
    accepts: Option<Arc<ServerConfig>>,
    /// By subflow: the client's port, which changes with the route.
    ports: Vec<u16>,
    /// By subflow: whether datagrams get through.
    up: Vec<bool>,
    /// By subflow: its present path, on the client.
    path_ids: Vec<Option<PathId>>,
    /// By the coupling's id.
    counted: BTreeMap<u32, Counted>,
    /// Paths of the server that are in `counted`.
    known: Vec<PathId>,
    /// By subflow.
    subflows: Vec<SubflowCounts>,
    active_since: Vec<Option<u64>>,
    pub(crate) verdicts: Vec<Vec<VerdictChange>>,
    pub(crate) packets_delivered: u64,
    goodput: u64,
    established: bool,
    started: Option<u64>,
    pub(crate) ended: Option<u64>,
    pub(crate) transfers: Vec<Transfer>,
    /// Bytes still to be written, by the sender's stream.
    writes: Vec<(StreamId, u64)>,
    /// Sizes of responses in the order of their requests.
    responses: VecDeque<u64>,
    /// Streams that the receiver reads.
    reads: Vec<StreamId>,
    /// Requests that the sender reads.
    requests: Vec<StreamId>,
    pub(crate) wishes: Vec<Wish>,
    /// Why the stack gave the connection up.
    pub(crate) lost: Option<String>,
    buffer: Vec<u8>,
}

/// How a flow is made.
pub(crate) struct Setup<'a, 's> {
    pub(crate) number: usize,
    pub(crate) model: &'a Model,
    pub(crate) spec: &'s Spec,
    pub(crate) seed: u64,
    pub(crate) qlog: Option<crate::qlog::ToFile>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(setup: Setup<'a, '_>) -> Self {
        let Setup { number, model, spec, seed, qlog } = setup;
        let ssthresh = model.initial_ssthresh;
        let coupling = Arc::new(Coupling::with_initial(spec, model.initial_window, ssthresh));
        let mut transport = transport(model);
        transport.congestion_controller_factory(Arc::clone(&coupling) as _);
        if let Some(qlog) = qlog {
            transport.qlog_factory(Arc::new(qlog));
        }
        let mut accepts = ServerConfig::new(crypto(), crypto());
        accepts.transport_config(Arc::new(transport)).time_source(Arc::new(Still));
        let accepts = Arc::new(accepts);
        let seed = seed.wrapping_mul(1 << 20).wrapping_add(number as u64 * 2);
        let side = |to_receiver: bool, config: Option<Arc<ServerConfig>>| {
            let seed = seed + u64::from(to_receiver);
            let next = Arc::new(AtomicU64::new(seed << 32));
            let mut endpoint = EndpointConfig::new(crypto());
            endpoint.cid_generator(Arc::new(move || Box::new(Ids { seed, next: Arc::clone(&next) })));
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            endpoint.rng_seed(Some(bytes));
            let size = crate::datagram(model).clamp(1_472, u32::from(u16::MAX)) as u16;
            endpoint.max_udp_payload_size(size).expect("within the range");
            Side { endpoint: Endpoint::new(Arc::new(endpoint), config, false), connection: None, to_receiver }
        };
        let n = model.subflows.len();
        Self {
            number,
            model,
            coupling,
            client: side(false, None),
            server: side(true, Some(Arc::clone(&accepts))),
            accepts: Some(accepts),
            ports: vec![50_000; n],
            up: vec![true; n],
            path_ids: vec![None; n],
            counted: BTreeMap::new(),
            known: Vec::new(),
            subflows: vec![SubflowCounts::default(); n],
            active_since: vec![None; n],
            verdicts: vec![Vec::new(); n],
            packets_delivered: 0,
            goodput: 0,
            established: false,
            started: None,
            ended: None,
            transfers: Vec::new(),
            writes: Vec::new(),
            responses: VecDeque::new(),
            reads: Vec::new(),
            requests: Vec::new(),
            wishes: Vec::new(),
            lost: None,
            buffer: Vec::new(),
        }
    }

    /// The client connects. An object is as large as `bytes` says.
    pub(crate) fn open(&mut self, now: Instant, now_ns: u64, bytes: u64) {
        self.started = Some(now_ns);
        if let Traffic::Object { .. } = self.model.traffic {
            self.transfers.push(Transfer { start_ns: now_ns, end_ns: None, bytes });
        }
        let mut config = ClientConfig::new(crypto());
        config.transport_config(Arc::new(transport(self.model)));
        let id = connection_id(self.number as u64, u64::MAX);
        config.initial_dst_cid_provider(Arc::new(move || id));
        match self.client.endpoint.connect(now, config, server_address(0), "braid") {
            Ok(connection) => self.client.connection = Some(connection),
            Err(error) => self.lost = Some(error.to_string()),
        }
        self.path_ids[0] = Some(PathId::ZERO);
    }

    /// The application ends.
    pub(crate) fn close(&mut self, now: Instant, now_ns: u64) {
        if self.ended.is_none() {
            self.ended = Some(now_ns);
            self.look(now_ns);
            for subflow in 0..self.up.len() {
                self.deactivate(subflow, now_ns);
            }
            if let Some(connection) = self.client.connection() {
                connection.close(now, VarInt::from_u32(0), Bytes::new());
            }
        }
    }

    /// The client opens the path of a subflow. False if it has to be tried again.
    pub(crate) fn join(&mut self, now: Instant, subflow: usize) -> bool {
        self.up[subflow] = true;
        if self.ended.is_some() || self.path_ids[subflow].is_some() {
            return true;
        }
        let status = status(self.model.subflows[subflow].backup);
        let path = FourTuple::new(server_address(subflow), Some(client_ip(subflow)));
        let Some(connection) = self.client.connection() else { return true };
        match connection.open_path(path, status, now) {
            Ok(id) => {
                self.path_ids[subflow] = Some(id);
                true
            }
            Err(_) => false,
        }
    }

    /// The path of a subflow is removed; what is under way on it is lost.
    pub(crate) fn leave(&mut self, now: Instant, now_ns: u64, subflow: usize) {
        self.look(now_ns);
        self.deactivate(subflow, now_ns);
        self.up[subflow] = false;
        // The stack keeps its last path: its datagrams are lost until the subflow is there again.
        if let (Some(id), Some(connection)) = (self.path_ids[subflow], self.client.connection())
            && connection.close_path(now, id, VarInt::from_u32(0)).is_ok()
        {
            self.path_ids[subflow] = None;
        }
    }

    /// The route of a subflow changes, and with it the address that the server sees: the path migrates.
    pub(crate) fn rebind(&mut self, subflow: usize) {
        self.ports[subflow] = self.ports[subflow].wrapping_add(1).max(1_024);
    }

    /// A request of the receiver for so many bytes.
    pub(crate) fn request(&mut self, now_ns: u64, bytes: u64) {
        let Traffic::RequestResponse { request, .. } = self.model.traffic else { return };
        if self.ended.is_some() {
            return;
        }
        let Some(connection) = self.client.connection() else { return };
        let Some(id) = connection.streams().open(Dir::Bi) else { return };
        let mut stream = connection.send_stream(id);
        // At most ten packets: the window of a new stream has room for them.
        let _ = stream.write(&PAYLOAD[..request as usize]);
        let _ = stream.finish();
        self.transfers.push(Transfer { start_ns: now_ns, end_ns: None, bytes });
        self.responses.push_back(bytes);
        self.reads.push(id);
    }

    /// A datagram has reached its end.
    pub(crate) fn receive(&mut self, now: Instant, datagram: &Datagram, ip_bytes: u64) {
        let subflow = datagram.place.subflow;
        if !self.up[subflow] {
            return;
        }
        let client = SocketAddr::new(client_ip(subflow), self.ports[subflow]);
        let (side, path) = if datagram.to_receiver {
            self.subflows[subflow].received_bytes += ip_bytes;
            self.packets_delivered += 1;
            (&mut self.client, FourTuple::new(server_address(subflow), Some(client_ip(subflow))))
        } else {
            (&mut self.server, FourTuple::new(client, Some(server_address(subflow).ip())))
        };
        let ecn = match datagram.ecn {
            Ecn::NotCapable => None,
            Ecn::Capable => Some(EcnCodepoint::Ect0),
            Ecn::Marked => Some(EcnCodepoint::Ce),
        };
        let data = BytesMut::from(&datagram.payload[..]);
        self.buffer.clear();
        match side.endpoint.handle(now, path, ecn, data, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut side.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let config = self.accepts.take();
                self.buffer.clear();
                match side.endpoint.accept(incoming, now, &mut self.buffer, config) {
                    Ok(connection) => side.connection = Some(connection),
                    Err(error) => self.lost = Some(error.cause.to_string()),
                }
            }
            // A stateless reset: the other side is gone, as the run is about to be.
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// When a timer is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let sides = [&self.client, &self.server].into_iter();
        sides.filter_map(|side| side.connection.as_ref()?.1.poll_timeout()).min()
    }

    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        for side in [&mut self.client, &mut self.server] {
            if let Some(connection) = side.connection()
                && connection.poll_timeout().is_some_and(|due| due <= now)
            {
                connection.handle_timeout(now);
            }
        }
    }

    /// Everything that follows from what has happened: `send` gets the datagrams.
    pub(crate) fn work(&mut self, now: Instant, now_ns: u64, mut send: impl FnMut(Datagram)) {
        self.follow_events(now_ns);
        self.write();
        for is_client in [true, false] {
            let side = if is_client { &mut self.client } else { &mut self.server };
            let Some((_, connection)) = &mut side.connection else { continue };
            loop {
                self.buffer.clear();
                let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.buffer)
                else {
                    break;
                };
                let IpAddr::V4(address) = transmit.destination.ip() else { continue };
                let subflow = usize::from(address.octets()[2]);
                if !self.up[subflow] {
                    continue;
                }
                if side.to_receiver {
                    self.subflows[subflow].packets_sent += 1;
                }
                let ecn =
                    if self.model.ecn && transmit.ecn.is_some() { Ecn::Capable } else { Ecn::NotCapable };
                send(Datagram {
                    place: Place { connection: self.number, subflow },
                    to_receiver: side.to_receiver,
                    ecn,
                    payload: self.buffer[..transmit.size].to_vec(),
                });
            }
        }
        // Sending may need ids or give some back.
        self.follow_events(now_ns);
        self.look(now_ns);
    }

    fn follow_events(&mut self, now_ns: u64) {
        for side in [&mut self.client, &mut self.server] {
            let Some((handle, connection)) = &mut side.connection else { continue };
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = side.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
        }
        while let Some(event) = self.client.connection().and_then(Connection::poll) {
            match event {
                Event::Connected if !self.established => {
                    self.established = true;
                    self.wishes.push(Wish::Established);
                    if let Traffic::RequestResponse { .. } = self.model.traffic {
                        self.wishes.push(Wish::Think);
                    }
                }
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) =
                        self.client.connection().and_then(|connection| connection.streams().accept(dir))
                    {
                        self.reads.push(id);
                        self.read(id, now_ns);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(id, now_ns),
                Event::ConnectionLost { reason } if self.ended.is_none() => {
                    self.lost.get_or_insert(reason.to_string());
                }
                _ => {}
            }
        }
        while let Some(event) = self.server.connection().and_then(Connection::poll) {
            match event {
                Event::Connected => self.begin_to_send(),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) =
                        self.server.connection().and_then(|connection| connection.streams().accept(dir))
                    {
                        self.requests.push(id);
                        self.answer(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.answer(id),
                Event::Path(PathEvent::Established { .. } | PathEvent::Abandoned { .. }) => {
                    self.known.clear();
                }
                _ => {}
            }
        }
    }

    /// The sender is connected: a transfer begins.
    fn begin_to_send(&mut self) {
        let bytes = match self.model.traffic {
            Traffic::Bulk => u64::MAX,
            Traffic::Object { .. } => self.transfers.first().map_or(0, |transfer| transfer.bytes),
            _ => return,
        };
        let Some(connection) = self.server.connection() else { return };
        if let Some(id) = connection.streams().open(Dir::Uni) {
            self.writes.push((id, bytes));
        }
    }

    /// As much as there is to be written and the stack takes.
    fn write(&mut self) {
        let Some((_, connection)) = &mut self.server.connection else { return };
        self.writes.retain_mut(|(id, left)| {
            let mut stream = connection.send_stream(*id);
            while *left > 0 {
                let size = PAYLOAD.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let mut chunks = [Bytes::from_static(&PAYLOAD[..size])];
                match stream.write_chunks(&mut &mut chunks[..]) {
                    Ok(written) if *left != u64::MAX => *left -= written as u64,
                    Ok(_) => {}
                    Err(WriteError::Blocked) => return true,
                    Err(_) => return false,
                }
            }
            let _ = stream.finish();
            false
        });
    }

    /// The receiver reads what is there of a stream.
    fn read(&mut self, id: StreamId, now_ns: u64) {
        let Some(place) = self.reads.iter().position(|read| *read == id) else { return };
        let Some((_, connection)) = &mut self.client.connection else { return };
        let (bytes, is_over) = drain(connection, id);
        if self.ended.is_some() {
            return;
        }
        self.goodput += bytes;
        if is_over {
            self.reads.remove(place);
            if let Some(transfer) = self.transfers.iter_mut().find(|transfer| transfer.end_ns.is_none()) {
                transfer.end_ns = Some(now_ns);
            }
            self.wishes.push(match self.model.traffic {
                Traffic::RequestResponse { .. } => Wish::Think,
                _ => Wish::Finished,
            });
        }
    }

    /// The sender reads what is there of a request, and responds when it is complete.
    fn answer(&mut self, id: StreamId) {
        let Some(place) = self.requests.iter().position(|request| *request == id) else { return };
        let Some((_, connection)) = &mut self.server.connection else { return };
        if drain(connection, id).1 {
            self.requests.remove(place);
            if let Some(bytes) = self.responses.pop_front() {
                self.writes.push((id, bytes));
            }
        }
    }

    /// Brings what is known of the sender's paths up to date.
    fn look(&mut self, now_ns: u64) {
        let Some((_, connection)) = &mut self.server.connection else { return };
        if self.known.is_empty() {
            self.known = connection.paths();
            for &id in &self.known {
                let Some(controller) =
                    connection.congestion_state(id).map(|state| state.clone_box().into_any())
                else {
                    continue;
                };
                let Ok(controller) = controller.downcast::<PathController>() else { continue };
                let Ok(path) = connection.network_path(id) else { continue };
                let IpAddr::V4(address) = path.remote().ip() else { continue };
                let subflow = usize::from(address.octets()[2]);
                if self.counted.contains_key(&controller.id()) {
                    continue;
                }
                self.counted.insert(
                    controller.id(),
                    Counted {
                        subflow,
                        state: controller.state(),
                        since_ns: now_ns,
                        cwnd_integral: 0,
                        open: true,
                    },
                );
                self.active_since[subflow].get_or_insert(now_ns);
                if self.model.subflows[subflow].backup {
                    controller.set_backup(true);
                    let _ = connection.set_path_status(id, PathStatus::Backup);
                }
            }
        }
        for (&id, counted) in &mut self.counted {
            if !counted.open {
                continue;
            }
            counted.cwnd_integral += u128::from(counted.state.cwnd) * u128::from(now_ns - counted.since_ns);
            counted.since_ns = now_ns;
            match self.coupling.path(id) {
                Some(state) => {
                    let group = state.verdict.group;
                    if group != counted.state.verdict.group {
                        self.verdicts[counted.subflow].push(VerdictChange { time_ns: now_ns, group });
                    }
                    counted.state = state;
                }
                None => counted.open = false,
            }
        }
    }

    fn deactivate(&mut self, subflow: usize, now_ns: u64) {
        if let Some(since) = self.active_since[subflow].take() {
            self.subflows[subflow].active_ns += now_ns - since;
        }
    }

    /// Everything counted so far.
    pub(crate) fn totals(&self, now_ns: u64) -> ConnectionCounts {
        let mut subflows = self.subflows.clone();
        for (counts, since) in subflows.iter_mut().zip(&self.active_since) {
            counts.active_ns += since.map_or(0, |since| now_ns - since);
        }
        for counted in self.counted.values() {
            counted.add_to(&mut subflows[counted.subflow], now_ns);
        }
        let until = self.ended.unwrap_or(now_ns).min(now_ns);
        ConnectionCounts {
            active_ns: self.started.map_or(0, |from| until.saturating_sub(from)),
            goodput_bytes: self.goodput,
            subflows,
            ..ConnectionCounts::default()
        }
    }

    /// The newest open path of each subflow, if it is established.
    pub(crate) fn samples(&self, now_ns: u64) -> Vec<(usize, SubflowSample)> {
        let open = self.counted.values().filter(|counted| counted.open && self.ended.is_none());
        let detects = self.coupling.spec().algorithm().flags() & braid_quic::DETECTS != 0;
        let mut newest: BTreeMap<usize, SubflowSample> = BTreeMap::new();
        for Counted { subflow, state, .. } in open.filter(|counted| self.up[counted.subflow]) {
            let sample = SubflowSample {
                time_ns: now_ns,
                cwnd: state.cwnd,
                ssthresh: state.ssthresh,
                srtt_us: (state.srtt_us > 0).then_some(state.srtt_us),
                in_flight: state.in_flight,
                received_bytes: self.subflows[*subflow].received_bytes,
                retransmissions: state.lost,
                rtt_samples: state.rtt_samples,
                rtt_steps_us: 0,
                group: detects.then_some(state.verdict.group),
            };
            newest.insert(*subflow, sample);
        }
        newest.into_iter().collect()
    }
}

/// Reads and forgets what is there: how many bytes, and whether that was all.
fn drain(connection: &mut Connection, id: StreamId) -> (u64, bool) {
    let mut bytes = 0;
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return (0, false) };
    let is_over = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
            Ok(None) => break true,
            Err(ReadError::Blocked | ReadError::Reset(_)) => break false,
        }
    };
    let _ = chunks.finalize();
    (bytes, is_over)
}

fn transport(model: &Model) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let buffer = VarInt::from_u64(model.receive_buffer).unwrap_or(VarInt::MAX);
    let size = crate::datagram(model).min(u32::from(u16::MAX)) as u16;
    transport
        .max_concurrent_multipath_paths(8)
        .receive_window(buffer)
        .stream_receive_window(buffer)
        .send_window(SEND_WINDOW.max(model.receive_buffer.min(SEND_WINDOW * 16)))
        .initial_mtu(size)
        .min_mtu(size.min(1_200))
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .default_path_max_idle_timeout(None);
    transport
}

fn status(backup: bool) -> PathStatus {
    if backup { PathStatus::Backup } else { PathStatus::Available }
}

fn client_ip(subflow: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, subflow as u8, 1))
}

fn server_address(subflow: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, subflow as u8, 2)), SERVER_PORT)
}
