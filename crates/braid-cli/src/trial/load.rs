//! Transfers of a trial with its own load, and their other end, `braid try --serve`.
//!
//! A client sends one line: `braid-try up BYTES`, followed by that payload, which the server confirms with `done`; or
//! `braid-try down BYTES NAME`, to which the server answers `ok`, the payload, and after the client's `got` the figures
//! of its kernel as one line of JSON.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use braid_study::Cancel;
use rustix::net::{AddressFamily, SocketType, bind, connect, ipproto, listen, socket, sockopt};

use super::watch::{Measured, STEP, Watch};

/// A transfer without progress for this time has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Largest payload that the server sends for one request.
const MOST: u64 = 10_000_000_000;
/// Concurrent connections of the server.
const CONNECTIONS: usize = 16;
const PIECE: usize = 1 << 16;

/// MPTCP where the kernel has it, else TCP.
fn stream_socket(family: AddressFamily) -> io::Result<rustix::fd::OwnedFd> {
    let multipath = socket(family, SocketType::STREAM, Some(ipproto::MPTCP));
    Ok(multipath.or_else(|_| socket(family, SocketType::STREAM, None))?)
}

pub(super) enum Direction<'a> {
    /// With this congestion control of this kernel.
    Up(&'a str),
    /// With this candidate of the server.
    Down(&'a str),
}

/// One transfer. The figures are those of the sender's kernel, the time is the client's.
pub(super) fn transfer(
    to: SocketAddr,
    direction: &Direction<'_>,
    bytes: u64,
    watch: &mut Watch,
    cancel: &Cancel,
) -> io::Result<Measured> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream_socket(family)?;
    if let Direction::Up(name) = direction {
        sockopt::set_tcp_congestion(&socket, name)?;
    }
    let began = Instant::now();
    connect(&socket, &to)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = match direction {
        Direction::Up(_) => format!("braid-try up {bytes}\n"),
        Direction::Down(name) => format!("braid-try down {bytes} {name}\n"),
    };
    let is_up = matches!(direction, Direction::Up(_));
    let measured = thread::scope(|scope| {
        let (end, worker) = (&stream, scope.spawn(|| exchange(&stream, &request, is_up, bytes, began)));
        let mut sampled = began;
        while !worker.is_finished() {
            if cancel.is_cancelled() {
                let _ = end.shutdown(Shutdown::Both);
            }
            thread::sleep(STEP / 10);
            if sampled.elapsed() >= STEP {
                watch.sample(|_| Some(0)).map_err(io::Error::other)?;
                sampled = Instant::now();
            }
        }
        worker.join().unwrap_or_else(|_| Err(io::Error::other("the transfer's thread panicked")))
    })?;
    let (elapsed, theirs) = measured;
    watch.sample(|_| Some(0)).map_err(io::Error::other)?;
    let ours = || watch.of(stream.local_addr().ok()?, stream.peer_addr().ok()?);
    let mut measured = theirs.or_else(ours).ok_or_else(|| {
        io::Error::other("the kernel has no figures of the transfer: it is too small, see --size")
    })?;
    // The application's view.
    (measured.bytes, measured.seconds) = (bytes, elapsed.as_secs_f64());
    (measured.completed, measured.completed_seconds) = (1, measured.seconds);
    watch.forget();
    Ok(measured)
}

/// The client's side. Returns the time of the transfer, and the server's figures of a download.
fn exchange(
    mut stream: &TcpStream,
    request: &str,
    is_up: bool,
    bytes: u64,
    began: Instant,
) -> io::Result<(Duration, Option<Measured>)> {
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::with_capacity(PIECE, stream);
    if is_up {
        send(stream, bytes)?;
        expect(&mut reader, "done")?;
        return Ok((began.elapsed(), None));
    }
    expect(&mut reader, "ok")?;
    receive(&mut reader, bytes)?;
    let elapsed = began.elapsed();
    stream.write_all(b"got\n")?;
    let measured = serde_json::from_str(&line(&mut reader)?)?;
    Ok((elapsed, Some(measured)))
}

fn send(mut stream: &TcpStream, bytes: u64) -> io::Result<()> {
    let piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(PIECE as u64);
        stream.write_all(&piece[..length as usize])?;
        left -= length;
    }
    Ok(())
}

fn receive(reader: &mut impl Read, bytes: u64) -> io::Result<()> {
    let received = io::copy(&mut reader.take(bytes), &mut io::sink())?;
    if received == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn line(reader: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(1 << 16).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn expect(reader: &mut impl io::BufRead, word: &str) -> io::Result<()> {
    match line(reader)? {
        found if found == word => Ok(()),
        found if found.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
        found => Err(io::Error::other(format!("the other end answers: {found}"))),
    }
}

/// A listening socket on all addresses.
pub(super) fn listener(port: u16) -> io::Result<TcpListener> {
    let v6 = || -> io::Result<_> {
        let socket = stream_socket(AddressFamily::INET6)?;
        sockopt::set_ipv6_v6only(&socket, false)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
        Ok(socket)
    };
    let v4 = || -> io::Result<_> {
        let socket = stream_socket(AddressFamily::INET)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
        Ok(socket)
    };
    let socket = v6().or_else(|_| v4())?;
    listen(&socket, CONNECTIONS as i32)?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves until it is cancelled. `names` has the kernel's name of each candidate.
pub(super) fn serve(
    listener: &TcpListener,
    names: &HashMap<String, String>,
    watch: Watch,
    cancel: &Cancel,
) -> io::Result<()> {
    let watch = Mutex::new(watch);
    let active = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        while !cancel.is_cancelled() {
            while let Ok((stream, peer)) = listener.accept() {
                if active.load(Ordering::Relaxed) >= CONNECTIONS {
                    continue;
                }
                active.fetch_add(1, Ordering::Relaxed);
                let (active, watch) = (active.clone(), &watch);
                scope.spawn(move || {
                    if let Err(error) = answer(&stream, names, watch) {
                        eprintln!("{peer}: {error}");
                        let _ = (&stream).write_all(format!("{error}\n").as_bytes());
                    }
                    active.fetch_sub(1, Ordering::Relaxed);
                });
            }
            if active.load(Ordering::Relaxed) > 0 {
                let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
                watch.sample(|_| Some(0)).map_err(io::Error::other)?;
            }
            thread::sleep(STEP);
        }
        Ok(())
    })
}

fn answer(stream: &TcpStream, names: &HashMap<String, String>, watch: &Mutex<Watch>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::with_capacity(PIECE, stream);
    let request = line(&mut reader)?;
    let words: Vec<&str> = request.split(' ').collect();
    let size = |text: &str| text.parse().ok().filter(|&bytes: &u64| bytes <= MOST);
    let mut writer = stream;
    match words[..] {
        ["braid-try", "up", bytes] if size(bytes).is_some() => {
            receive(&mut reader, size(bytes).unwrap_or_default())?;
            writer.write_all(b"done\n")
        }
        ["braid-try", "down", bytes, name] if size(bytes).is_some() => {
            let known = names.get(name).ok_or_else(|| {
                io::Error::other(format!(
                    "{name} is not served here: `braid try --serve PORT {name},...` does"
                ))
            })?;
            sockopt::set_tcp_congestion(stream, known)?;
            writer.write_all(b"ok\n")?;
            send(stream, size(bytes).unwrap_or_default())?;
            expect(&mut reader, "got")?;
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch.sample(|_| Some(0)).map_err(io::Error::other)?;
            let measured = watch.of(stream.local_addr()?, stream.peer_addr()?).unwrap_or_default();
            watch.forget();
            drop(watch);
            writer.write_all(format!("{}\n", serde_json::to_string(&measured)?).as_bytes())
        }
        _ => Err(io::Error::other("not a request of `braid try --load`")),
    }
}
