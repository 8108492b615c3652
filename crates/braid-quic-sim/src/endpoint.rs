//! The two ends of a connection: configurations for repeatable runs, and addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use braid_scenario::model::Connection as Model;
use bytes::{Bytes, BytesMut};
use noq_proto::congestion::ControllerFactory;
use noq_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, ServerConfig, TimeSource,
    TransportConfig, VarInt,
};

use crate::qlog::ToFile;
use crate::session::crypto;

const SERVER_PORT: u16 = 4_433;
/// Maximum of bytes that the sender may have unacknowledged.
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

/// A stopped clock: tokens do not expire within a run.
struct Still;

impl TimeSource for Still {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }
}

/// Factory of the controllers of a sender's paths.
pub(crate) type Controllers = Arc<dyn ControllerFactory + Send + Sync>;

/// One side of the connection.
pub(crate) struct Side {
    endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, Connection)>,
    /// Whether its datagrams go to the receiver: it is the sender.
    pub(crate) to_receiver: bool,
    /// The server's configuration, used once.
    accepts: Option<Arc<ServerConfig>>,
    buffer: Vec<u8>,
}

impl Side {
    /// The receiver.
    pub(crate) fn client(model: &Model, seed: u64) -> Self {
        Self::new(model, seed, None)
    }

    /// The sender.
    pub(crate) fn server(model: &Model, seed: u64, controllers: Controllers, qlog: Option<ToFile>) -> Self {
        let mut transport = transport(model);
        transport.congestion_controller_factory(controllers);
        if let Some(qlog) = qlog {
            transport.qlog_factory(Arc::new(qlog));
        }
        let mut config = ServerConfig::new(crypto(), crypto());
        config.transport_config(Arc::new(transport)).time_source(Arc::new(Still));
        Self::new(model, seed, Some(Arc::new(config)))
    }

    fn new(model: &Model, seed: u64, accepts: Option<Arc<ServerConfig>>) -> Self {
        let to_receiver = accepts.is_some();
        let seed = seed + u64::from(to_receiver);
        let next = Arc::new(AtomicU64::new(seed << 32));
        let mut config = EndpointConfig::new(crypto());
        config.cid_generator(Arc::new(move || Box::new(Ids { seed, next: Arc::clone(&next) })));
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        config.rng_seed(Some(bytes));
        let size = datagram(model).clamp(1_472, u32::from(u16::MAX)) as u16;
        config.max_udp_payload_size(size).expect("within the range");
        let endpoint = Endpoint::new(Arc::new(config), accepts.clone(), false);
        Self { endpoint, connection: None, to_receiver, accepts, buffer: Vec::new() }
    }

    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// The client connects; `flow` distinguishes its first id from others.
    pub(crate) fn connect(&mut self, now: Instant, model: &Model, flow: u32) -> Result<(), ConnectError> {
        let mut config = ClientConfig::new(crypto());
        config.transport_config(Arc::new(transport(model)));
        let id = connection_id(u64::from(flow), u64::MAX);
        config.initial_dst_cid_provider(Arc::new(move || id));
        self.connection = Some(self.endpoint.connect(now, config, server_address(0), "braid")?);
        Ok(())
    }

    /// A datagram has arrived; returns why it ends the connection, if it does.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        path: FourTuple,
        ecn: Option<EcnCodepoint>,
        payload: &[u8],
    ) -> Result<(), String> {
        self.buffer.clear();
        match self.endpoint.handle(now, path, ecn, BytesMut::from(payload), &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let config = self.accepts.take();
                self.buffer.clear();
                let accepted = self.endpoint.accept(incoming, now, &mut self.buffer, config);
                self.connection = Some(accepted.map_err(|error| error.cause.to_string())?);
            }
            // A stateless reset: the other side has ended, as the run soon will.
            Some(DatagramEvent::Response(_)) | None => {}
        }
        Ok(())
    }

    /// Exchanges events between the connection and its endpoint.
    pub(crate) fn exchange(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.connection.as_ref()?.1.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(connection) = self.connection()
            && connection.poll_timeout().is_some_and(|due| due <= now)
        {
            connection.handle_timeout(now);
        }
    }

    pub(crate) fn close(&mut self, now: Instant) {
        if let Some(connection) = self.connection() {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }
}

/// Bytes of a full datagram, without UDP and IP headers: the IP packet is as large as the scenario's TCP packets.
pub(crate) fn datagram(model: &Model) -> u32 {
    (model.mss + model.data_header).saturating_sub(model.ip_header + 8)
}

fn transport(model: &Model) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let buffer = VarInt::from_u64(model.receive_buffer).unwrap_or(VarInt::MAX);
    let size = datagram(model).min(u32::from(u16::MAX)) as u16;
    transport
        .max_concurrent_multipath_paths(8)
        .receive_window(buffer)
        .stream_receive_window(buffer)
        .send_window(model.send_buffer.unwrap_or(SEND_WINDOW.max(model.receive_buffer.min(SEND_WINDOW * 16))))
        .initial_mtu(size)
        .min_mtu(size.min(1_200))
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .default_path_max_idle_timeout(None);
    transport
}

/// Address on the network of a subflow.
pub(crate) fn client_ip(subflow: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, subflow as u8, 1))
}

/// Address on the network of a subflow.
pub(crate) fn server_address(subflow: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, subflow as u8, 2)), SERVER_PORT)
}

/// The subflow of an address.
pub(crate) fn subflow_of(address: IpAddr) -> Option<usize> {
    match address {
        IpAddr::V4(address) => Some(usize::from(address.octets()[2])),
        IpAddr::V6(_) => None,
    }
}
