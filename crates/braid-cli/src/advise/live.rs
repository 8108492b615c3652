//! The connection of this machine that sends most, looked at for a while.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use braid_advise::{Look, Seen, estimate};
use braid_kernel::{Flow, Namespace, PREFIX};
use braid_scenario::Source;
use braid_study::files;

use super::answer::{Answer, print};
use super::apply::{self, Place, may};
use super::question::{About, AdviseArgs, ask};
use crate::failure::INTERRUPTED;
use crate::live::{Connection, Limit, Sampler, Subflow};
use crate::{Failure, peer, terminal};

const EVERY: Duration = Duration::from_millis(100);
const LOOKING: Duration = Duration::from_secs(30);
/// Headers of IPv4 and TCP with timestamps, and the DSS option.
const HEADERS: u64 = 72;

pub(super) fn advise(args: &AdviseArgs) -> Result<(), Failure> {
    if let Some(host) = &args.peer {
        let words = words(args);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return terminal::print(peer::braid(host, &words)?.as_bytes());
    }
    // Before it takes its time.
    if let Some(path) = &args.save {
        free(path)?;
    }
    let watched = watch(args)?;
    let measured = estimate(&watched.names, &watched.looks).map_err(|error| {
        let hint = "it takes a connection that sends as much as it can on all its paths: start an upload, then ask again";
        Failure::bad_input(format!("{}: {error}", watched.about), hint)
    })?;
    if let Some(path) = &args.save {
        save_all(path, &measured.scenarios("measured"))?;
    }
    let mut notes = watched.notes;
    if !measured.is_certain() {
        notes.push(
            "note: it does not show whether all paths have bottlenecks of their own; the advice is for both cases. A detector \
             knows more: ask again while `split:sbd=queue` or weave runs."
                .into(),
        );
    }
    notes.push("note: watched only, which is often wrong; --test knows more.".into());
    notes.push(
        "This is about what this machine sends; for what it receives ask where that is sent (--peer).".into(),
    );
    let present = apply::present_scheduler(&watched.place.namespace);
    notes.extend(present.map(apply::scheduler_note));
    let advice = ask(args, About::Networks(measured.networks("measured")), present)?;
    let current = Some(watched.algorithm.as_str());
    print(args, &Answer { about: &watched.about, advice: &advice, current, notes: &notes })?;
    apply::apply(args, &advice, &watched.place)
}

/// Takes back what was applied, here or there.
pub(super) fn undo(args: &AdviseArgs) -> Result<(), Failure> {
    let Some(host) = &args.peer else { return apply::undo(args) };
    let quiet = args.quiet.then_some("--quiet");
    let words: Vec<&str> = ["advise", "--undo"].into_iter().chain(quiet).collect();
    terminal::print(peer::braid(host, &words)?.as_bytes())
}

/// The same question, to be asked elsewhere.
fn words(args: &AdviseArgs) -> Vec<String> {
    let mut words = vec!["advise".to_owned(), "--cc".into(), args.cc.join(",")];
    words.extend(["--seeds".into(), format!("{}..{}", args.seeds.first(), args.seeds.last())]);
    words.extend(["--for".into(), format!("{}ms", args.time.unwrap_or(LOOKING).as_millis())]);
    for (option, values) in
        [("--scheduler", &args.scheduler), ("--duration", &args.duration.iter().cloned().collect())]
    {
        if !values.is_empty() {
            words.extend([option.to_owned(), values.join(",")]);
        }
    }
    if !args.filter.is_empty() {
        words.extend(["--filter".into(), args.filter.clone()]);
    }
    for (option, is_set) in
        [("--json", args.json), ("--quiet", args.quiet), ("--apply", args.apply), ("--yes", args.yes)]
    {
        if is_set {
            words.push(option.into());
        }
    }
    words
}

struct Watched {
    about: String,
    /// Spec of what it runs, as far as the kernel's name says it.
    algorithm: String,
    names: Vec<String>,
    looks: Vec<Look>,
    notes: Vec<String>,
    place: Place,
}

fn watch(args: &AdviseArgs) -> Result<Watched, Failure> {
    let mut sampler = Sampler::new();
    sampler.take();
    thread::sleep(EVERY);
    let (_, connections) = sampler.take();
    let chosen = choose(connections, &args.filter)?;
    let namespace = Namespace::all().into_iter().find(|namespace| namespace.name == chosen.namespace);
    let namespace = namespace.unwrap_or_else(Namespace::own);
    may(args, &namespace)?;
    let about = format!("Connection {} over {}", chosen.name(), paths(&chosen).join(", "));
    if !args.quiet {
        eprintln!("{about}: looking for {} s.", args.time.unwrap_or(LOOKING).as_secs_f64());
    }
    let started = Instant::now();
    let time = args.time.unwrap_or(LOOKING);
    let of = |subflow: &Subflow| seen(&subflow.flow, subflow.verdict.map(|verdict| verdict.group));
    let mut looks = Vec::new();
    // How often each was limited by something else than the network.
    let mut held_back = vec![0; chosen.subflows.len()];
    while started.elapsed() < time {
        thread::sleep(EVERY);
        let (at, connections) = sampler.take();
        let Some(now) = connections.iter().find(|other| is_same(other, &chosen)) else { break };
        if !now
            .subflows
            .iter()
            .map(|subflow| subflow.cookie)
            .eq(chosen.subflows.iter().map(|subflow| subflow.cookie))
        {
            return Err(Failure::bad_input(
                format!("{about}: a subflow came or went, so its paths cannot be compared"),
                "ask again when the connection is steady",
            ));
        }
        for (held_back, subflow) in held_back.iter_mut().zip(&now.subflows) {
            let other = matches!(
                subflow.limit,
                Limit::Application | Limit::Receiver | Limit::SendBuffer | Limit::Idle
            );
            *held_back += usize::from(other);
        }
        looks.push(Look { at_s: at.as_secs_f64(), subflows: now.subflows.iter().map(of).collect() });
    }
    if looks.is_empty() {
        return Err(Failure::new(INTERRUPTED, format!("{about}: it ended at once")));
    }
    let names = paths(&chosen);
    let notes = names.iter().zip(&held_back).filter(|(_, held_back)| 2 * **held_back > looks.len()).map(|(name, _)| {
        format!("note: on {name} application, receiver or buffers were the limit, not the network: it may carry more.")
    });
    let name = chosen.subflows[0].algorithm.as_str();
    let addresses =
        names.iter().cloned().zip(chosen.subflows.iter().map(|subflow| subflow.local.ip())).collect();
    Ok(Watched {
        algorithm: name.strip_prefix(PREFIX).unwrap_or(name).to_owned(),
        notes: notes.collect(),
        about,
        place: Place { namespace, addresses },
        names,
        looks,
    })
}

/// Of those with several subflows, which sends most.
fn choose(connections: Vec<Connection>, filter: &str) -> Result<Connection, Failure> {
    let rate =
        |connection: &Connection| connection.subflows.iter().map(|subflow| subflow.rate_bps).sum::<f64>();
    let several = connections
        .into_iter()
        .filter(|connection| connection.token.is_some() && connection.subflows.len() > 1);
    let fitting = several.filter(|connection| filter.is_empty() || connection.contains(filter));
    fitting.max_by(|one, other| rate(one).total_cmp(&rate(other))).ok_or_else(|| {
        let fits = if filter.is_empty() { String::new() } else { format!(" that fits `{filter}`") };
        Failure::bad_input(
            format!("there is no MPTCP connection with several subflows{fits}"),
            "start a transfer over MPTCP first (`mptcpize run`), be root, or name a scenario; `braid top --all` shows all",
        )
    })
}

fn is_same(one: &Connection, other: &Connection) -> bool {
    one.token == other.token && one.namespace == other.namespace
}

/// A name for each path that a scenario may have, all different.
fn paths(connection: &Connection) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for subflow in &connection.subflows {
        let name: String = subflow
            .path()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let name = name.trim_matches('-').to_owned();
        let name =
            if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("path-{name}") };
        let taken = names.contains(&name);
        names.push(if taken { format!("{name}-{}", subflow.number) } else { name });
    }
    names
}

pub(super) fn seen(flow: &Flow, group: Option<u16>) -> Seen {
    let mss = u64::from(flow.mss.max(1));
    Seen {
        bytes: flow.bytes_acked + flow.bytes_acked / mss * HEADERS,
        retransmissions: flow.bytes_retransmitted / mss,
        srtt_s: f64::from(flow.srtt_us) / 1e6,
        min_rtt_s: f64::from(flow.min_rtt_us) / 1e6,
        group,
    }
}

/// The other one, if there are two, beside it.
pub(super) fn save_all(path: &Path, networks: &[Source]) -> Result<(), Failure> {
    save(path, &networks[0].text)?;
    if let Some(other) = networks.get(1) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        save(&path.with_file_name(format!("{stem}-shared.toml")), &other.text)?;
    }
    Ok(())
}

/// Writes a file whole or not at all; one that is there stays.
fn save(path: &Path, text: &str) -> Result<(), Failure> {
    free(path)?;
    files::whole(path, text.as_bytes())
        .map_err(|error| Failure::writing_to("--save", "the name of a file", path, &error))
}

pub(super) fn free(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Failure::bad_input(format!("--save: {} is there already", path.display()), "name another file"))
}
