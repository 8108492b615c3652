//! Fetches a file over several interfaces at once by multipath QUIC with coupled congestion control.
//!
//! ```text
//! fetch serve FILE certificate.der [PORT] [SPEC]        the server, on every address of this machine
//! fetch get OUT certificate.der ADDRESS:PORT...         the client: one path to each address of the server
//! ```
//!
//! The server writes its certificate; give the client a copy. An address of the client's own may stand before each of the server's:
//! `192.0.2.7=198.51.100.1:4433`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_quic::{Coupling, Spec};
use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{
    ClientConfig, Connection, Endpoint, FourTuple, Incoming, PathStatus, ServerConfig, TransportConfig,
};
use tokio::io::AsyncWriteExt;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

const USAGE: &str = "usage: fetch serve FILE CERTIFICATE [PORT] [SPEC]\n       fetch get OUT CERTIFICATE [OWN-ADDRESS=]ADDRESS:PORT...";

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", file, certificate] => serve(file, certificate, "4433", "olia").await,
        ["serve", file, certificate, port] => serve(file, certificate, port, "olia").await,
        ["serve", file, certificate, port, spec] => serve(file, certificate, port, spec).await,
        ["get", out, certificate, ref servers @ ..] if !servers.is_empty() => {
            get(out, certificate, servers).await
        }
        _ => Err(USAGE.into()),
    }
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(8);
    transport
}

async fn serve(file: &str, certificate: &str, port: &str, spec: &str) -> Outcome {
    let spec = Spec::parse(spec)?;
    let file: Arc<[u8]> = fs::read(file)?.into();
    let own = rcgen::generate_simple_self_signed(vec!["fetch".to_owned()])?;
    fs::write(certificate, own.cert.der())?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config.clone(), SocketAddr::new([0, 0, 0, 0].into(), port.parse()?))?;
    eprintln!("serving {} bytes with {spec} at port {port}", file.len());
    while let Some(incoming) = endpoint.accept().await {
        // Each connection has a coupling of its own.
        let coupling = Coupling::new(&spec);
        let mut transport = transport();
        transport.congestion_controller_factory(Arc::clone(&coupling) as _);
        let mut config = config.clone();
        config.transport_config(Arc::new(transport));
        let file = Arc::clone(&file);
        tokio::spawn(async move {
            if let Err(error) = send(incoming, config, &file, &coupling).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }
    Ok(())
}

async fn send(incoming: Incoming, config: ServerConfig, file: &[u8], coupling: &Coupling) -> Outcome {
    let connection = incoming.accept_with(Arc::new(config))?.await?;
    let (mut stream, _) = connection.accept_bi().await?;
    stream.write_all(&(file.len() as u64).to_be_bytes()).await?;
    stream.write_all(file).await?;
    stream.finish()?;
    let _ = stream.stopped().await;
    println!("path      cwnd  packets lost  srtt");
    for path in coupling.paths() {
        let srtt = f64::from(path.srtt_us) / 1e3;
        println!("{:<4} {:>9}  {:>12}  {srtt:.1} ms", path.id, path.cwnd, path.lost);
    }
    connection.closed().await;
    Ok(())
}

/// `OWN=SERVER:PORT` or `SERVER:PORT`.
fn route(text: &str) -> Result<FourTuple, Box<dyn Error + Send + Sync>> {
    let (own, server) = text.split_once('=').map_or((None, text), |(own, server)| (Some(own), server));
    let own: Option<IpAddr> = own.map(str::parse).transpose()?;
    Ok(FourTuple::new(server.parse()?, own))
}

async fn get(out: &str, certificate: &str, servers: &[&str]) -> Outcome {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(Arc::new(transport()));
    let endpoint = Endpoint::client(SocketAddr::new([0, 0, 0, 0].into(), 0))?;
    let routes = servers.iter().map(|server| route(server)).collect::<Result<Vec<_>, _>>()?;
    let connection = endpoint.connect_with(config, routes[0].remote(), "fetch")?.await?;
    for path in &routes[1..] {
        let opening = connection.open_path_ensure(*path, PathStatus::Available);
        // The transfer need not wait for it, nor fail with it.
        tokio::spawn(async move {
            if let Err(error) = opening.await {
                eprintln!("a path could not be opened: {error}");
            }
        });
    }
    let start = Instant::now();
    let bytes = receive(&connection, out, start).await?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!();
    println!("{bytes} bytes in {seconds:.2} s, {:.2} Mbit/s", bytes as f64 * 8e-6 / seconds);
    println!("path  UDP bytes  share  rtt");
    let stats: Vec<_> = (0..16_u32).filter_map(|id| Some((id, connection.path_stats(id.into())?))).collect();
    let total: u64 = stats.iter().map(|(_, stats)| stats.udp_rx.bytes).sum();
    for (id, stats) in stats {
        let share = stats.udp_rx.bytes as f64 * 100.0 / total.max(1) as f64;
        println!("{id:<4} {:>10} {share:>5.1}%  {:.1} ms", stats.udp_rx.bytes, stats.rtt.as_secs_f64() * 1e3);
    }
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// Receives into a file beside `out`, which becomes `out` when it is complete.
async fn receive(
    connection: &Connection,
    out: &str,
    start: Instant,
) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let (mut request, mut stream) = connection.open_bi().await?;
    request.write_all(b"get").await?;
    request.finish()?;
    let mut length = [0; 8];
    stream.read_exact(&mut length).await?;
    let length = u64::from_be_bytes(length);
    let part = format!("{out}.part");
    let mut file = tokio::fs::File::create(&part).await?;
    let (mut bytes, mut shown) = (0, start);
    while let Some(chunk) = stream.read_chunk(1 << 20).await? {
        file.write_all(&chunk).await?;
        bytes += chunk.len() as u64;
        if shown.elapsed() > Duration::from_millis(200) {
            shown = Instant::now();
            eprint!("\r{:3} %  {bytes} of {length} bytes", bytes * 100 / length.max(1));
        }
    }
    file.flush().await?;
    if bytes != length {
        return Err(format!("{bytes} of {length} bytes arrived; they are in {part}").into());
    }
    fs::rename(part, out)?;
    Ok(bytes)
}
