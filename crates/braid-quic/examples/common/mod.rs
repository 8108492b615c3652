//! What the examples share: certificates, configurations, and paths.

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

/// Whatever went wrong.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;
/// Who the server says it is.
const NAME: &str = "fetch";
/// So often a path is tried until the server has told enough about itself, once in [`RETRY`].
const TRIES: u32 = 100;
const RETRY: Duration = Duration::from_millis(20);

/// What both sides need.
pub(crate) fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(8);
    transport
}

/// A server on every address of this machine. It writes its certificate, made for this run, to a file for its clients.
pub(crate) fn serve(certificate: &str, port: u16) -> Result<(Endpoint, ServerConfig), Failure> {
    let own = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config.clone(), SocketAddr::new([0, 0, 0, 0].into(), port))?;
    // Whoever has the certificate finds the server.
    fs::write(certificate, own.cert.der()).map_err(|error| format!("{certificate}: {error}"))?;
    Ok((endpoint, config))
}

/// Accepts a connection whose paths `factory` makes the controllers of: each connection has a coupling of its own.
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

/// Connects to the first of the server's addresses, and opens a path to each of the others meanwhile.
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
    // The transfer need not wait for it, nor fail with it. One after the other: so the order of the ids is that of the addresses.
    tokio::spawn(async move {
        for route in &routes[1..] {
            if let Err(error) = open(&opened, *route).await {
                eprintln!("no path to {}: {error}", route.remote());
            }
        }
    });
    Ok((endpoint, connection))
}

/// Opens a path as soon as the server has sent the connection ids for it.
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

/// What a path of the client's has received.
#[derive(Clone, Copy, Default)]
pub(crate) struct Received {
    pub(crate) id: u32,
    /// Bytes of IP packets.
    pub(crate) ip_bytes: u64,
    pub(crate) rtt: Duration,
}

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// Each path of the client's that there is.
pub(crate) fn received(connection: &Connection) -> Vec<Received> {
    let of = |id: u32| {
        let stats = connection.path_stats(id.into())?;
        let udp = stats.udp_rx;
        Some(Received { id, ip_bytes: udp.bytes + HEADERS * udp.datagrams, rtt: stats.rtt })
    };
    (0..16).filter_map(of).collect()
}
