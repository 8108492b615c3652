//! A test of this machine's paths against a host that swallows what it is sent.

use std::io::{ErrorKind, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use braid_advise::{Discipline, Look, MayBe, Measured, Pair, Path, Sharing, probe};
use braid_kernel::{Flow, Namespace};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};

use super::answer::{Answer, print};
use super::apply::{Place, apply, may, present_scheduler, scheduler_note};
use super::live::{free, save_all, seen};
use super::question::{About, AdviseArgs, ask};
use crate::Failure;

const EVERY: Duration = Duration::from_millis(100);
/// So many looks of a phase make an estimate.
const FEWEST: usize = 20;
/// Whoever else is on the way has it.
const USUAL: &str = "cubic";

pub(super) fn advise(args: &AdviseArgs, host: &str) -> Result<(), Failure> {
    let limit = args.limit.ok_or_else(|| {
        Failure::bad_input(
            "--test: it is not said how much may be sent",
            "add --limit, such as --limit 200MB",
        )
    })?;
    if args.from.len() < 2 {
        return Err(Failure::bad_input(
            format!("--from: {} address, and it takes one of this machine for each path", args.from.len()),
            "name at least two: --from 192.0.2.7,198.51.100.7",
        ));
    }
    if let Some(path) = &args.save {
        free(path)?;
    }
    may(args, &Namespace::own())?;
    let to = resolve(host, args.from[0])?;
    let length = args.time.unwrap_or(Duration::from_secs_f64(probe::PHASE_S));
    let phases = probe::phases(args.from.len());
    let about = format!("Paths from {} to {to}", list(&args.from));
    consent(args, &about, limit, phases.len(), length)?;
    let share = limit / phases.len() as u64;
    let mut seen = Vec::new();
    let count = phases.len();
    for (number, flows) in phases.into_iter().enumerate() {
        let from: Vec<IpAddr> = flows.iter().map(|&path| args.from[path]).collect();
        if !args.quiet {
            eprintln!("{} of {count}: {}", number + 1, list(&from));
        }
        let (beginning, looks) = phase(&from, to, length, share)?;
        if looks.len() < FEWEST {
            return Err(Failure::bad_input(
                format!(
                    "--limit: {share} bytes, which is each phase's share of it, were sent from {} before the path could be known",
                    list(&from)
                ),
                "allow more; what it takes is the rate of the path for 6 s and more, for each phase",
            ));
        }
        seen.push(probe::Phase { flows, looks, beginning });
        thread::sleep(Duration::from_secs_f64(probe::PAUSE_S));
    }
    let names: Vec<String> = (1..=args.from.len()).map(|path| format!("path-{path}")).collect();
    let measured = probe::estimate(&names, &seen).map_err(|error| {
        Failure::bad_input(format!("{about}: {error}"), "see whether that path works, and ask again")
    })?;
    if let Some(path) = &args.save {
        save_all(path, &measured.scenarios("tested"))?;
    }
    let mut notes = notes(&names, &args.from, &measured);
    let present = present_scheduler(&Namespace::own());
    notes.extend(present.map(scheduler_note));
    let advice = ask(args, About::Tested(&measured), present)?;
    print(args, &Answer { about: &about, advice: &advice, current: None, notes: &notes })?;
    let addresses = names.into_iter().zip(args.from.iter().copied()).collect();
    apply(args, &advice, &Place { namespace: Namespace::own(), addresses })
}

/// What was measured, in words.
fn notes(names: &[String], from: &[IpAddr], measured: &Measured) -> Vec<String> {
    let of_path = |((name, from), path): ((&String, &IpAddr), &Path)| {
        format!(
            "{name}: {from}, {:.2} Mbit/s, base RTT {:.1} ms, queue {:.0} ms{}, random loss {:.2} %{}",
            path.rate_bps / 1e6,
            path.rtt_s * 1e3,
            path.queue_s * 1e3,
            early(path.discipline),
            path.loss * 100.0,
            others(&path.may_be)
        )
    };
    let mut notes: Vec<String> = names.iter().zip(from).zip(&measured.paths).map(of_path).collect();
    let moves = |path: usize| measured.paths[path].moves;
    notes.extend((0..names.len()).filter_map(|path| {
        let of = |place: usize| if place == path { "its own".into() } else { format!("that of {}", names[place]) };
        let [one, other] = moves(path)?.map(of);
        let name = &names[path];
        Some(format!("{name} changes its bottleneck, between {one} and {other} as it seems: advice on some paths leaves it out."))
    }));
    let stay = |pair: &&Pair| moves(pair.one).is_none() && moves(pair.other).is_none();
    notes.extend(measured.pairs.iter().filter(stay).map(|pair| {
        let said = match pair.sharing {
            Sharing::Shared => "have one bottleneck",
            Sharing::Own => "have bottlenecks of their own",
            Sharing::Unknown => "may have one bottleneck or not: the advice is for both cases",
        };
        format!("{} and {} {said}.", names[pair.one], names[pair.other])
    }));
    notes.push("This is about what this machine sends; what it receives obeys the other end.".into());
    notes
}

/// ` that drops early (as codel does)`.
fn early(discipline: Discipline) -> String {
    match discipline {
        Discipline::DropTail => String::new(),
        early => format!(" that drops early (as {} does)", early.name()),
    }
}

/// `, 2 flows of others (70 %)`: who is most likely there, and how likely that is.
fn others(may_be: &[MayBe]) -> String {
    let Some(MayBe { others, weight, .. }) = may_be.first() else { return String::new() };
    let said = match (others.flows, others.pages_bps) {
        (0, _) => "nobody else".to_owned(),
        (_, Some(bps)) => format!("web pages of others, {:.1} Mbit/s on average", bps as f64 / 1e6),
        (1, _) if others.is_bbr() => "1 flow of others that looks like BBR".to_owned(),
        (1, _) => "1 flow of others".to_owned(),
        (flows, _) => format!("{flows} flows of others"),
    };
    let all: f64 = may_be.iter().map(|one| one.weight).sum();
    format!(", {said} ({:.0} %)", 100.0 * weight / all)
}

/// Each address once, and how often it is there: `192.0.2.7 (8 flows), 198.51.100.7`.
fn list(addresses: &[IpAddr]) -> String {
    let of = |same: &[IpAddr]| match same {
        [one] => one.to_string(),
        [one, ..] => format!("{one} ({} flows)", same.len()),
        [] => String::new(),
    };
    addresses.chunk_by(|one, other| one == other).map(of).collect::<Vec<_>>().join(", ")
}

/// An address of the host that can be reached from there.
fn resolve(host: &str, from: IpAddr) -> Result<SocketAddr, Failure> {
    let hint = "name a host and a port where a TCP server swallows what it is sent: --test server.example:9";
    let found = host
        .to_socket_addrs()
        .map_err(|error| Failure::bad_input(format!("--test: `{host}`: {error}"), hint))?;
    found.into_iter().find(|to| to.is_ipv4() == from.is_ipv4()).ok_or_else(|| {
        Failure::bad_input(format!("--test: `{host}` has no address of the kind of {from}"), hint)
    })
}

fn consent(
    args: &AdviseArgs,
    about: &str,
    limit: u64,
    phases: usize,
    length: Duration,
) -> Result<(), Failure> {
    let question = format!(
        "{about}: send at most {:.0} MB, in {:.0} s?",
        limit as f64 / 1e6,
        phases as f64 * (length.as_secs_f64() + probe::PAUSE_S)
    );
    super::consent::consent(args.yes, &question)
}

/// From each of these addresses at the same time; looks in the beginning, and from when flows have begun.
fn phase(
    from: &[IpAddr],
    to: SocketAddr,
    length: Duration,
    share: u64,
) -> Result<(Vec<Look>, Vec<Look>), Failure> {
    let streams: Vec<TcpStream> = from.iter().map(|&from| open(from, to)).collect::<Result<_, _>>()?;
    let locals: Vec<SocketAddr> = streams.iter().filter_map(|stream| stream.local_addr().ok()).collect();
    let (ends, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    let mut looks = Vec::new();
    let failed = thread::scope(|scope| {
        let writers: Vec<_> =
            streams.iter().map(|stream| scope.spawn(|| fill(stream, share, &sent, &ends))).collect();
        while started.elapsed() < length && writers.iter().all(|writer| !writer.is_finished()) {
            thread::sleep(EVERY);
            looks.extend(look(started, to, &locals));
        }
        ends.store(true, Ordering::Relaxed);
        writers.into_iter().find_map(|writer| writer.join().ok()?.err())
    });
    // What is still in buffers is not wanted.
    for stream in &streams {
        let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
    }
    let both = looks.into_iter().partition(|look: &Look| look.at_s < probe::BEGINNING_S);
    failed.map_or(Ok(both), |error| {
        Err(Failure::bad_input(
            format!("from {} to {to}: {error}", list(from)),
            "it takes a server that swallows what it is sent for as long as it is sent",
        ))
    })
}

fn open(from: IpAddr, to: SocketAddr) -> Result<TcpStream, Failure> {
    let opened = || -> rustix::io::Result<_> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let opened = socket(family, SocketType::STREAM, None)?;
        bind(&opened, &SocketAddr::new(from, 0))?;
        sockopt::set_tcp_congestion(&opened, USUAL)?;
        sockopt::set_socket_timeout(&opened, sockopt::Timeout::Send, Some(Duration::from_secs(10)))?;
        connect(&opened, &to)?;
        sockopt::set_socket_timeout(&opened, sockopt::Timeout::Send, Some(EVERY))?;
        Ok(opened)
    };
    let opened = opened().map_err(|error| {
        Failure::bad_input(
            format!("from {from} to {to}: {error}"),
            "see that the address is this machine's, has a route of its own, and that a server listens there",
        )
    })?;
    Ok(TcpStream::from(opened))
}

/// Writes until it is enough.
fn fill(mut stream: &TcpStream, share: u64, sent: &AtomicU64, ends: &AtomicBool) -> std::io::Result<()> {
    let bytes = [0; 16384];
    while !ends.load(Ordering::Relaxed) && sent.load(Ordering::Relaxed) + bytes.len() as u64 <= share {
        match stream.write(&bytes) {
            Ok(count) => {
                sent.fetch_add(count as u64, Ordering::Relaxed);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What the sockets say, if all are there.
fn look(started: Instant, to: SocketAddr, locals: &[SocketAddr]) -> Option<Look> {
    let sockets = braid_kernel::sockets(&Namespace::own()).ok()?;
    let at_s = started.elapsed().as_secs_f64();
    let flow = |local: &SocketAddr| -> Option<Flow> {
        sockets.iter().find(|socket| socket.local == *local && socket.remote == to)?.flow
    };
    let subflows =
        locals.iter().map(|local| flow(local).map(|flow| seen(&flow, None))).collect::<Option<_>>()?;
    Some(Look { at_s, subflows })
}
