//! Throughput and CPU time of a connection; `bench/quic.py` runs it.
//!
//! ```text
//! measure serve CERTIFICATE PORT SPEC                          sends to each client for as long as it reads
//! measure get CERTIFICATE WARMUP SECONDS ADDRESS:PORT...       reads; prints what each path carried after the warm-up, as JSON
//! measure loopback SPEC MEGABYTES                              sends to itself over two paths, by one thread
//! ```
//!
//! SPEC may be `own`: the stack's CUBIC, with independent controllers per path.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_quic::{Coupling, Spec};
use common::{Failure, Received, accept, connect, received, transport};
use noq::congestion::{ControllerFactory, CubicConfig};
use noq::{Connection, Endpoint, ServerConfig, TransportConfig};

const USAGE: &str = "usage: measure serve CERTIFICATE PORT SPEC | get CERTIFICATE WARMUP SECONDS ADDRESS:PORT... | loopback SPEC MEGABYTES";
/// Fits into a socket's default buffer, so that loopback loses nothing.
const LOOPBACK_WINDOW: u32 = 96 << 10;

/// Sent repeatedly.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

fn main() -> Result<(), Failure> {
    // One thread, so that its CPU time is the transfer's.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", certificate, port, spec] => {
            let (endpoint, config) = common::serve(certificate, port.parse()?)?;
            serve(endpoint, config, spec, None).await
        }
        ["get", certificate, warmup, seconds, ref servers @ ..] if !servers.is_empty() => {
            get(certificate, warmup.parse()?, seconds.parse()?, servers).await
        }
        ["loopback", spec, megabytes] => loopback(spec, megabytes.parse()?).await,
        _ => Err(USAGE.into()),
    }
}

fn factory(spec: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Failure> {
    if spec == "own" {
        return Ok(Arc::new(CubicConfig::default()));
    }
    Ok(Coupling::new(&Spec::parse(spec)?))
}

/// Sends `bytes` bytes to each client, or until the client closes.
async fn serve(
    endpoint: Endpoint,
    config: ServerConfig,
    spec: &str,
    bytes: Option<u64>,
) -> Result<(), Failure> {
    while let Some(incoming) = endpoint.accept().await {
        let (factory, config) = (factory(spec)?, config.clone());
        tokio::spawn(async move {
            let done: Result<(), Failure> = async {
                let connection = accept(incoming, config, transport(), Some(factory)).await?;
                let mut stream = connection.open_uni().await?;
                let mut left = bytes.unwrap_or(u64::MAX);
                while left > 0 {
                    let size = left.min(1 << 16) as usize;
                    stream.write_all(&PAYLOAD[..size]).await?;
                    left -= size as u64;
                }
                stream.finish()?;
                connection.closed().await;
                Ok(())
            }
            .await;
            // A client closes once it has read enough.
            drop(done);
        });
    }
    Ok(())
}

async fn read(connection: &Connection, until: impl Fn(u64) -> bool) -> Result<u64, Failure> {
    let mut stream = connection.accept_uni().await?;
    let mut bytes = 0;
    while !until(bytes)
        && let Some(chunk) = stream.read_chunk(1 << 20).await?
    {
        bytes += chunk.len() as u64;
    }
    Ok(bytes)
}

async fn get(certificate: &str, warmup: f64, seconds: f64, servers: &[&str]) -> Result<(), Failure> {
    let (_endpoint, connection) = connect(certificate, servers, transport()).await?;
    let reader = tokio::spawn({
        let connection = connection.clone();
        async move { read(&connection, |_| false).await.map_err(|error| error.to_string()) }
    });
    tokio::time::sleep(Duration::from_secs_f64(warmup)).await;
    let (start, before) = (Instant::now(), received(&connection));
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    let (took, after) = (start.elapsed().as_secs_f64(), received(&connection));
    if reader.is_finished() {
        reader.await??;
        return Err("the server ended the transfer".into());
    }
    let paths: Vec<String> = after.iter().map(|path| line(path, &before, took)).collect();
    println!("{{\"seconds\":{took:.3},\"paths\":[{}]}}", paths.join(","));
    connection.close(0_u32.into(), b"done");
    Ok(())
}

fn line(path: &Received, before: &[Received], seconds: f64) -> String {
    let earlier = before.iter().find(|earlier| earlier.id == path.id).map_or(0, |earlier| earlier.ip_bytes);
    let mbit = (path.ip_bytes - earlier) as f64 * 8e-6 / seconds;
    format!("{{\"id\":{},\"mbit\":{mbit:.3},\"rtt_ms\":{:.2}}}", path.id, path.rtt.as_secs_f64() * 1e3)
}

async fn loopback(spec: &str, megabytes: u64) -> Result<(), Failure> {
    let certificate = std::env::temp_dir().join(format!("braid-measure-{}.der", std::process::id()));
    let certificate = certificate.to_str().ok_or("the temporary folder has no plain name")?;
    let (endpoint, config) = common::serve(certificate, 0)?;
    let port = endpoint.local_addr()?.port();
    let server = serve(endpoint, config, spec, Some(megabytes * 1_000_000));
    let client = async {
        let mut transport: TransportConfig = transport();
        transport.receive_window(LOOPBACK_WINDOW.into()).stream_receive_window(LOOPBACK_WINDOW.into());
        let addresses = [format!("127.0.0.1:{port}"), format!("127.0.0.2:{port}")];
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        let (_endpoint, connection) = connect(certificate, &addresses, transport).await?;
        let start = Instant::now();
        let bytes = read(&connection, |_| false).await?;
        let gbit = bytes as f64 * 8e-9 / start.elapsed().as_secs_f64();
        let paths: Vec<String> = received(&connection).iter().map(|path| path.ip_bytes.to_string()).collect();
        println!("{{\"bytes\":{bytes},\"gbit\":{gbit:.3},\"ip_bytes\":[{}]}}", paths.join(","));
        Ok::<(), Failure>(())
    };
    let done = tokio::select! {
        done = client => done,
        done = server => done,
    };
    let _ = std::fs::remove_file(certificate);
    done
}
