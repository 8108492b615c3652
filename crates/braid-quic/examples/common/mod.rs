//! Helpers of the examples: certificates, configurations, and paths.

use std::error::Error;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use noq::congestion::ControllerFactory;
use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{
    ClientConfig, Connection, Endpoint, FourTuple, Incoming, PathError, PathStatus, ServerConfig,
    TransportConfig,
};

/// Any error.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;
/// The server's name in its certificate.
const NAME: &str = "fetch";
/// Attempts to open a path, one each [`RETRY`], until the server has sent the connection ids for it.
const TRIES: u32 = 100;
const RETRY: Duration = Duration::from_millis(20);

/// Transport settings of both sides.
pub(crate) fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(8);
    transport
}

/// A server on every address of this machine. It creates a certificate for this run and writes it to a file for its
/// clients.
pub(crate) fn serve(certificate: &str, port: u16) -> Result<(Endpoint, ServerConfig), Failure> {
    let own = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config.clone(), SocketAddr::new([0, 0, 0, 0].into(), port))?;
    // A client with this certificate can verify the server.
    fs::write(certificate, own.cert.der()).map_err(|error| format!("{certificate}: {error}"))?;
    Ok((endpoint, config))
}

/// Accepts a connection whose paths use `factory`'s controllers: each connection has a separate coupling.
pub(crate) async fn accept(
    incoming: Incoming,
    mut config: ServerConfig,
    mut transport: TransportConfig,
    factory: Option<Arc<dyn ControllerFactory + Send + Sync>>,
) -> Result<Connection, Failure> {
    if let Some(factory) = factory {
        transport.congestion_controller_factory(factory);
    }
    config.transport_config(Arc::new(transport));
    Ok(incoming.accept_with(Arc::new(config))?.await?)
}

/// `OWN=SERVER:PORT` or `SERVER:PORT`.
fn route(text: &str) -> Result<FourTuple, Failure> {
    let (own, server) = text.split_once('=').map_or((None, text), |(own, server)| (Some(own), server));
    let own: Option<IpAddr> = own.map(str::parse).transpose()?;
    Ok(FourTuple::new(server.parse()?, own))
}

/// Connects to the first of the server's addresses, and opens a path to each of the others in the background.
pub(crate) async fn connect(
    certificate: &str,
    servers: &[&str],
    transport: TransportConfig,
) -> Result<(Endpoint, Connection), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(SocketAddr::new([0, 0, 0, 0].into(), 0))?;
    let routes = servers.iter().map(|server| route(server)).collect::<Result<Vec<_>, _>>()?;
    let connection = endpoint.connect_with(config, routes[0].remote(), NAME)?.await?;
    let opened = connection.clone();
    // The transfer neither waits for the other paths nor fails with them. They open one after the other, so that their
    // ids follow the order of the addresses.
    tokio::spawn(async move {
        for route in &routes[1..] {
            if let Err(error) = open(&opened, *route).await {
                eprintln!("no path to {}: {error}", route.remote());
            }
        }
    });
    Ok((endpoint, connection))
}

/// Opens a path once the server has sent the connection ids for it.
async fn open(connection: &Connection, route: FourTuple) -> Result<(), PathError> {
    for _ in 1..TRIES {
        match connection.open_path_ensure(route, PathStatus::Available).await {
            Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) => {
                tokio::time::sleep(RETRY).await;
            }
            done => return done.map(drop),
        }
    }
    connection.open_path_ensure(route, PathStatus::Available).await.map(drop)
}

/// Received data on one path of the client.
#[derive(Clone, Copy, Default)]
pub(crate) struct Received {
    pub(crate) id: u32,
    /// Bytes of IP packets.
    pub(crate) ip_bytes: u64,
    pub(crate) rtt: Duration,
}

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// Each open path of the client.
pub(crate) fn received(connection: &Connection) -> Vec<Received> {
    let of = |id: u32| {
        let stats = connection.path_stats(id.into())?;
        let udp = stats.udp_rx;
        Some(Received { id, ip_bytes: udp.bytes + HEADERS * udp.datagrams, rtt: stats.rtt })
    };
    (0..16).filter_map(of).collect()
}
