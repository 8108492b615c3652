//! Fetches a file over several interfaces at once, by multipath QUIC with coupled congestion control.
//!
//! ```text
//! fetch serve FILE certificate.der [PORT] [SPEC]        the server, on every address of this machine
//! fetch get OUT certificate.der ADDRESS:PORT...         the client: one path to each address of the server
//! ```
//!
//! The server writes its certificate; give the client a copy. A client address may precede each server address:
//! `192.0.2.7=198.51.100.1:4433`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_quic::{Coupling, Spec};
use common::{Failure, accept, connect, received, transport};
use noq::{Connection, Incoming, ServerConfig};
use tokio::io::AsyncWriteExt;

const USAGE: &str = "usage: fetch serve FILE CERTIFICATE [PORT] [SPEC]\n       fetch get OUT CERTIFICATE [OWN-ADDRESS=]ADDRESS:PORT...";

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["serve", file, certificate] => serve(file, certificate, "4433", "olia").await,
        ["serve", file, certificate, port] => serve(file, certificate, port, "olia").await,
        ["serve", file, certificate, port, spec] => serve(file, certificate, port, spec).await,
        ["get", out, certificate, ref servers @ ..] if !servers.is_empty() => {
            get(out, certificate, servers).await
        }
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

async fn serve(file: &str, certificate: &str, port: &str, spec: &str) -> Result<(), Failure> {
    let spec = Spec::parse(spec)?;
    let bytes: Arc<[u8]> = fs::read(file).map_err(|error| format!("{file}: {error}"))?.into();
    let port = port.parse().map_err(|_| format!("{port} is no port"))?;
    let (endpoint, config) = common::serve(certificate, port)?;
    eprintln!("serving {} bytes with {spec} at port {port}", bytes.len());
    while let Some(incoming) = endpoint.accept().await {
        // Each connection has a separate coupling.
        let coupling = Coupling::new(&spec);
        let (bytes, config) = (Arc::clone(&bytes), config.clone());
        tokio::spawn(async move {
            if let Err(error) = send(incoming, config, &bytes, &coupling).await {
                eprintln!("a connection failed: {error}");
            }
        });
    }
    Ok(())
}

async fn send(
    incoming: Incoming,
    config: ServerConfig,
    file: &[u8],
    coupling: &Arc<Coupling>,
) -> Result<(), Failure> {
    let connection = accept(incoming, config, transport(), Some(Arc::clone(coupling) as _)).await?;
    let (mut stream, _) = connection.accept_bi().await?;
    stream.write_all(&(file.len() as u64).to_be_bytes()).await?;
    stream.write_all(file).await?;
    stream.finish()?;
    let _ = stream.stopped().await;
    println!("path  cwnd, packets  packets lost      srtt");
    for path in coupling.paths() {
        let srtt = f64::from(path.srtt_us) / 1e3;
        println!("{:<4}  {:>13}  {:>12}  {srtt:>5.1} ms", path.id, path.cwnd, path.lost);
    }
    connection.closed().await;
    Ok(())
}

async fn get(out: &str, certificate: &str, servers: &[&str]) -> Result<(), Failure> {
    let (endpoint, connection) = connect(certificate, servers, transport()).await?;
    let start = Instant::now();
    let bytes = receive(&connection, out, start).await?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{bytes} bytes in {seconds:.2} s, {:.2} Mbit/s", bytes as f64 * 8e-6 / seconds);
    println!("path  IP bytes    share  Mbit/s       RTT");
    let paths = received(&connection);
    let total: u64 = paths.iter().map(|path| path.ip_bytes).sum();
    for path in paths {
        let share = path.ip_bytes as f64 * 100.0 / total.max(1) as f64;
        let rate = path.ip_bytes as f64 * 8e-6 / seconds;
        let rtt = path.rtt.as_secs_f64() * 1e3;
        println!("{:<4} {:>9}  {share:>5.1} %  {rate:>6.2}  {rtt:>5.1} ms", path.id, path.ip_bytes);
    }
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// Receives into a file beside `out`, which becomes `out` when it is complete.
async fn receive(connection: &Connection, out: &str, start: Instant) -> Result<u64, Failure> {
    let (mut request, mut stream) = connection.open_bi().await?;
    request.write_all(b"get").await?;
    request.finish()?;
    let mut length = [0; 8];
    stream.read_exact(&mut length).await?;
    let length = u64::from_be_bytes(length);
    let part = format!("{out}.part");
    let mut file = tokio::fs::File::create(&part).await.map_err(|error| format!("{part}: {error}"))?;
    let (mut bytes, mut shown) = (0, start);
    let shows = std::io::stderr().is_terminal();
    while let Some(chunk) = stream.read_chunk(1 << 20).await? {
        file.write_all(&chunk).await?;
        bytes += chunk.len() as u64;
        if shows && shown.elapsed() > Duration::from_millis(200) {
            shown = Instant::now();
            eprint!("\r{:3} %  {bytes} of {length} bytes", bytes * 100 / length.max(1));
        }
    }
    file.flush().await?;
    if shows {
        eprint!("\r\u{1b}[K");
    }
    if bytes != length {
        return Err(format!("{bytes} of {length} bytes arrived; they are in {part}").into());
    }
    fs::rename(part, out)?;
    Ok(bytes)
}
