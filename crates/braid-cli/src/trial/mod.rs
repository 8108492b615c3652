//! `braid try`: a trial of algorithms on this machine's own traffic.

mod answer;
mod load;
pub(crate) mod state;
mod watch;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::process::Command as Program;
use std::time::{Duration, Instant};

use braid_algorithms::Spec;
use braid_kernel::{Namespace, PREFIX};
use braid_study::Cancel;
use clap_complete::ArgValueCompleter;

use crate::failure::{FAILED, INTERRUPTED};
use crate::{Failure, complete, journal, own, signal, terminal};
use answer::{Tried, Verdict};
use load::Direction;
use state::{Changes, State};
use watch::{Measured, STEP, Watch};

/// Additional help text.
pub(crate) const MORE: &str = "Examples:\n  \
    braid try weave,cubic,bbr,lia --for 2m        on the connections that programs open\n  \
    braid try weave,cubic --load server:5999      uploads to `braid try --serve 5999` on the server\n  \
    braid try weave,cubic --load server:5999 --download   downloads, if it serves these candidates\n  \
    braid try --serve 5999 weave,cubic\n\n\
    Congestion control acts at the sender: run it where the data come from. A name that the kernel has itself, such as \
    cubic or bbr, is the kernel's; with parameters, or if the kernel lacks it, Braid's.\n\n\
    Columns: conns compared connections; goodput of a block's connections while they had data, or payload over time of a \
    transfer; gain in goodput over the first row, rounds compared one by one, with the interval that holds for all \
    comparisons together with 95 %; queue RTT above the lowest of the line; resent share of the payload; time of \
    completed connections; beside what the TCP of --beside carried; lines share of each line in the payload.\n\n\
    Compared are connections that begin during the trial, are longer than the initial window, and run the block's \
    candidate on all subflows. Everything is as before afterwards, also after Ctrl-C; after kill -9 with the next \
    braid command.";

#[derive(Debug, clap::Args)]
pub(crate) struct TryArgs {
    /// Candidates, NAME[:key=value]... or FILE.c, joined by commas; or the names of loaded ones (`braid_NAME`).
    #[arg(value_name = "SPEC,...", value_delimiter = ',', add = ArgValueCompleter::new(complete::specs),
          required_unless_present_any = ["serve", "restore"])]
    candidates: Vec<String>,
    /// Duration of the trial; each candidate gets at least three blocks of 10 to 30 s.
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Transfer data to `braid try --serve` on this host, one connection after the other, instead of watching the
    /// connections of programs.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "netns")]
    load: Option<String>,
    /// Payload of a transfer, in megabytes.
    #[arg(long, value_name = "MB", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    size: u64,
    /// Transfers come from the other host, which sends with the candidates that it serves.
    #[arg(long, requires = "load")]
    download: bool,
    /// Be the other end of --load until Ctrl-C: receive, and send with these candidates, to every client.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["load", "netns", "apply", "beside"])]
    serve: Option<u16>,
    /// The plain TCP connections to or from this address also count: what they get beside each candidate.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address)]
    beside: Option<(IpAddr, Option<u16>)>,
    /// The network namespace, as `ip netns` lists it or a path. Default: the one braid runs in.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// If a candidate carries more than the present default, make it the default until the next boot; `braid disable`
    /// undoes that.
    #[arg(long, conflicts_with = "download")]
    apply: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Take back what a killed trial changed, and end.
    #[arg(long, exclusive = true)]
    pub(crate) restore: bool,
}

fn address(text: &str) -> Result<(IpAddr, Option<u16>), String> {
    if let Ok(end) = text.parse::<SocketAddr>() {
        return Ok((end.ip(), Some(end.port())));
    }
    text.parse()
        .map(|address| (address, None))
        .map_err(|_| "it is an address, such as 192.0.2.7 or [::1]:80".into())
}

struct Candidate {
    /// As typed.
    label: String,
    /// Its name in the kernel during the trial.
    kernel: String,
    /// What the trial loads under that name.
    load: Option<Spec>,
    /// The kernel module that the trial loads.
    module: Option<String>,
}

impl Candidate {
    fn about(&self) -> String {
        match (&self.load, &self.module) {
            (Some(_), _) => format!("{}: Braid's, loaded as {} for the trial", self.label, self.kernel),
            (None, Some(module)) => format!("{}: the kernel's, by its module {module}", self.label),
            (None, None) if self.kernel.starts_with(PREFIX) => {
                format!("{}: {}, as it is loaded", self.label, self.kernel)
            }
            (None, None) => format!("{}: the kernel's own", self.label),
        }
    }
}

/// Finds out what each candidate is; changes nothing.
fn resolve(texts: &[String]) -> Result<Vec<Candidate>, Failure> {
    let available = braid_kernel::available()?;
    let loaded = braid_kernel::loaded()?;
    let mut candidates: Vec<Candidate> = Vec::new();
    for label in texts {
        let has = |kernel: &str| available.iter().any(|name| name == kernel);
        let plain = |kernel: &str, module: Option<String>| Candidate {
            label: label.clone(),
            kernel: kernel.to_owned(),
            load: None,
            module,
        };
        let module = format!("tcp_{label}");
        let is_name = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_module = || {
            let words = ["-nq", &module];
            Program::new("modprobe").args(words).status().is_ok_and(|status| status.success())
        };
        let candidate = if has(label) {
            plain(label, None)
        } else if is_name && !label.starts_with(PREFIX) && is_module() {
            plain(label, Some(module))
        } else {
            let spec = own::parse(label)?;
            let name = spec.algorithm().name();
            let is_free = |name: &str| {
                let kernel = format!("{PREFIX}{name}");
                !has(&kernel) && candidates.iter().all(|other| other.kernel != kernel)
            };
            // Under the algorithm's own name; others belong to another purpose.
            let is_loaded =
                loaded.iter().any(|loaded| loaded.name == name && loaded.spec == spec.to_string());
            if is_loaded {
                plain(&format!("{PREFIX}{name}"), None)
            } else {
                let numbered = (1..).map(|number| format!("try{number}"));
                let mut names = std::iter::once(name.to_owned()).chain(numbered);
                let name = names.find(|name| is_free(name)).expect("there is always another number");
                let kernel = format!("{PREFIX}{name}");
                Candidate { label: label.clone(), kernel, load: Some(spec), module: None }
            }
        };
        if let Some(same) = candidates.iter().find(|other| other.kernel == candidate.kernel) {
            return Err(Failure::bad_input(
                format!("{} and {} are the same", same.label, candidate.label),
                "name each candidate once",
            ));
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

pub(crate) fn run(args: &TryArgs) -> Result<(), Failure> {
    if args.restore {
        if !state::recover() {
            eprintln!("There is nothing to take back.");
        }
        return Ok(());
    }
    if !args.download && !rustix::process::geteuid().is_root() {
        return Err(Failure::new(FAILED, "a trial changes the kernel's settings: run it as root"));
    }
    let namespace = args.netns.as_deref().map_or_else(|| Ok(Namespace::own()), Namespace::named)?;
    if let Some(port) = args.serve {
        return serve(port, &args.candidates, &namespace);
    }
    if args.candidates.len() < 2 {
        return Err(Failure::bad_input(
            "one candidate cannot be compared",
            "name two or more, joined by commas",
        ));
    }
    let to = args.load.as_deref().map(host).transpose()?;
    // A download changes nothing here, and the other end knows its names.
    let as_named =
        |label: &String| Candidate { label: label.clone(), kernel: String::new(), load: None, module: None };
    let mut candidates = if args.download {
        args.candidates.iter().map(as_named).collect()
    } else {
        resolve(&args.candidates)?
    };
    let default = braid_kernel::default(&namespace)?;
    let present = candidates.iter().position(|candidate| candidate.kernel == default);
    if args.apply && present.is_none() {
        return Err(Failure::bad_input(
            format!("the present default, {default}, is not among the candidates"),
            "with --apply, name it as well",
        ));
    }
    // The baseline is the first row.
    candidates.swap(0, present.unwrap_or(0));
    let blocks = if to.is_some() { Vec::new() } else { plan(args.duration, candidates.len())? };
    eprintln!("{}", announcement(args, &candidates, &default, present.is_some(), to.is_some()));
    if !args.yes && !terminal::can_ask() {
        return Err(Failure::bad_input(
            "standard input is no terminal, so nothing was changed",
            "--yes goes on without asking",
        ));
    }
    if !args.yes && !terminal::confirm("Go on?")? {
        return Err(Failure::new(FAILED, "nothing was changed"));
    }
    let cancel = signal::cancel()?;
    let mut watch = Watch::new(namespace.clone(), args.beside)?;
    let changes =
        if args.download { None } else { Some(begin(&namespace, &candidates, &default, to.is_none())?) };
    let listed: Vec<&str> = candidates.iter().map(|candidate| candidate.label.as_str()).collect();
    if changes.is_some() {
        journal::write("try", &format!("began: {}", listed.join(", ")));
    }
    let done = match to {
        Some(to) => transfers(args, to, &candidates, &mut watch, &cancel),
        None => live(&namespace, &candidates, &blocks, &mut watch, &cancel, &default),
    };
    let state = changes.as_ref().map(|changes| changes.state.clone()).unwrap_or_default();
    for note in changes.map(Changes::end).unwrap_or_default() {
        eprintln!("{note}");
    }
    let tried = done.inspect_err(|_| {
        if !args.download {
            journal::write("try", "ended early, all is as before");
        }
    })?;
    let about = if present.is_some() { "the present default " } else { "" };
    let sentence = answer::sentence(&tried, 0, about);
    let verdict = answer::verdict(&tried, 0);
    if !args.download {
        journal::write("try", &format!("ended, all is as before. {sentence}"));
    }
    let text = format!("{}\n{}\n", answer::table(&tried, 0), answer::wrapped(&sentence));
    terminal::print(text.as_bytes())?;
    match verdict {
        Verdict::Better(best, _) if args.apply => apply(&namespace, &candidates[best], &state),
        Verdict::Unknown => Err(Failure::new(FAILED, "the trial has no answer").hint(
            "let programs open connections while it runs, make it longer with --for, or use --load".into(),
        )),
        _ => Ok(()),
    }
}

fn announcement(
    args: &TryArgs,
    candidates: &[Candidate],
    default: &str,
    is_present: bool,
    is_load: bool,
) -> String {
    let duration = humantime::format_duration(args.duration);
    let what = match (&args.load, args.download) {
        (Some(host), false) => format!("data are sent to {host}, {} MB for each connection,", args.size),
        (Some(host), true) => format!("data are fetched from {host}, {} MB for each connection,", args.size),
        (None, _) => "new connections of this machine send".to_owned(),
    };
    let about = |candidate: &Candidate| {
        let as_there = || format!("{}: as the other end has it", candidate.label);
        if args.download { as_there() } else { candidate.about() }
    };
    let listed: Vec<String> = candidates.iter().map(about).collect();
    let present = match (args.download, is_present) {
        (true, _) => String::new(),
        (false, true) => ", the present default".to_owned(),
        (false, false) => format!("; the present default, {default}, is not among them"),
    };
    let list = format!("For {duration}, {what} with these in turn:\n  {}", listed.join("\n  "));
    let mut text = format!("They are compared with {}{present}.", candidates[0].label);
    if !is_load {
        text += " Existing connections are left alone. Subflows that join them during the trial get the block's candidate.";
    }
    if !args.download {
        text += " Afterwards everything is as before.";
    }
    if args.apply {
        text += " Then, if one carries more, it becomes the default.";
    }
    format!("{list}\n{}", answer::wrapped(&text))
}

fn host(text: &str) -> Result<SocketAddr, Failure> {
    if text.contains("://") {
        return Err(Failure::bad_input(
            format!(
                "{text}: that server sends, with the congestion control that it has; no trial here changes that"
            ),
            "run `braid try --serve PORT SPEC,...` on that host, and here `--load HOST:PORT --download`",
        ));
    }
    let found = text.to_socket_addrs().map_err(|error| {
        Failure::bad_input(
            format!("--load {text}: {error}"),
            "it is HOST:PORT, where `braid try --serve PORT` runs",
        )
    })?;
    found.into_iter().next().ok_or_else(|| Failure::new(FAILED, format!("{text} has no address")))
}

/// Blocks of each round: the candidate and its time.
fn plan(total: Duration, candidates: usize) -> Result<Vec<Vec<(usize, Duration)>>, Failure> {
    let seconds = total.as_secs_f64();
    let rounds = ((seconds / (20.0 * candidates as f64)) as usize).max(3);
    let mean = seconds / (rounds * candidates) as f64;
    if mean < 10.0 {
        return Err(Failure::bad_input(
            format!(
                "{candidates} candidates need at least {} s: three blocks of 10 s for each",
                30 * candidates
            ),
            "give more time with --for, or name fewer",
        ));
    }
    let spread = (mean - 10.0).min(30.0 - mean);
    let length = || Duration::from_secs_f64(mean + spread * (2.0 * fastrand::f64() - 1.0));
    let round = |_| order(candidates).into_iter().map(|candidate| (candidate, length())).collect();
    Ok((0..rounds).map(round).collect())
}

fn order(candidates: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates).collect();
    fastrand::shuffle(&mut order);
    order
}

fn begin(
    namespace: &Namespace,
    candidates: &[Candidate],
    default: &str,
    is_live: bool,
) -> Result<Changes, Failure> {
    let loaded = candidates.iter().filter(|candidate| candidate.load.is_some());
    let changes = Changes::begin(State {
        namespace: namespace.cookie()?,
        default: default.to_owned(),
        candidates: if is_live {
            candidates.iter().map(|one| one.kernel.clone()).collect()
        } else {
            Vec::new()
        },
        loaded: loaded.map(|candidate| candidate.kernel[PREFIX.len()..].to_owned()).collect(),
        modules: candidates.iter().filter_map(|candidate| candidate.module.clone()).collect(),
    })?;
    for candidate in candidates {
        if let Some(module) = &candidate.module {
            let _ = Program::new("modprobe").args(["-q", module]).status();
        }
        if let Some(spec) = &candidate.load {
            braid_kernel::load_into(None, spec, &candidate.kernel[PREFIX.len()..])?;
        }
    }
    Ok(changes)
}

/// Figures of the TCP beside the trial since the last call, bits per second.
fn beside(watch: &mut Watch, elapsed: Duration) -> f64 {
    std::mem::take(&mut watch.beside_bytes) as f64 * 8.0 / elapsed.as_secs_f64().max(1e-9)
}

fn empty(candidates: &[Candidate]) -> Vec<Tried> {
    let new = |one: &Candidate| Tried { label: one.label.clone(), rounds: Vec::new(), beside: Vec::new() };
    candidates.iter().map(new).collect()
}

fn interrupted() -> Failure {
    Failure::new(INTERRUPTED, "interrupted")
}

fn transfers(
    args: &TryArgs,
    to: SocketAddr,
    candidates: &[Candidate],
    watch: &mut Watch,
    cancel: &Cancel,
) -> Result<Vec<Tried>, Failure> {
    let mut tried = empty(candidates);
    let began = Instant::now();
    let bytes = args.size * 1_000_000;
    while began.elapsed() < args.duration {
        for at in order(candidates.len()) {
            let candidate = &candidates[at];
            let direction = if args.download {
                Direction::Down(&candidate.label)
            } else {
                Direction::Up(&candidate.kernel)
            };
            let start = Instant::now();
            let measured = load::transfer(to, &direction, bytes, watch, cancel).map_err(|error| {
                if cancel.is_cancelled() {
                    return interrupted();
                }
                Failure::new(FAILED, format!("a transfer with {} failed: {error}", candidate.label))
                    .hint(format!("`braid try --serve {}` has to run there", to.port()))
            })?;
            tried[at].rounds.push(Some(measured));
            let rate = beside(watch, start.elapsed());
            tried[at].beside.push(rate);
        }
    }
    Ok(tried)
}

fn live(
    namespace: &Namespace,
    candidates: &[Candidate],
    rounds: &[Vec<(usize, Duration)>],
    watch: &mut Watch,
    cancel: &Cancel,
    default: &str,
) -> Result<Vec<Tried>, Failure> {
    let mut tried = empty(candidates);
    let blocks: Vec<(usize, Duration)> = rounds.iter().flatten().copied().collect();
    // The kernel keeps some for the first network namespace: known before the first block.
    for candidate in candidates {
        braid_kernel::switch_default(namespace, &candidate.kernel)?;
    }
    braid_kernel::switch_default(namespace, default)?;
    let mut expected = default;
    for (number, &(at, length)) in blocks.iter().enumerate() {
        let now = braid_kernel::default(namespace)?;
        if now != expected {
            let text = format!("another program made {now} the default during the trial");
            return Err(
                Failure::new(FAILED, text).hint("see `braid log`, or that program's configuration".into())
            );
        }
        let before = std::mem::replace(&mut expected, &candidates[at].kernel);
        braid_kernel::switch_default(namespace, expected)?;
        let start = Instant::now();
        let mut is_first = true;
        while start.elapsed() < length {
            if cancel.is_cancelled() {
                return Err(interrupted());
            }
            std::thread::sleep(STEP);
            watch.sample(|algorithm| {
                // A connection may have begun after the last sample of the block before.
                let is_late = is_first && number > 0 && algorithm == before;
                if algorithm == expected { Some(number) } else { is_late.then(|| number - 1) }
            })?;
            is_first = false;
        }
        let rate = beside(watch, start.elapsed());
        tried[at].beside.push(rate);
    }
    let (measured, mixed) = watch.blocks(blocks.len());
    for ((at, _), measured) in blocks.iter().zip(measured) {
        tried[*at].rounds.push(Some(measured).filter(|measured: &Measured| measured.connections > 0));
    }
    if mixed > 0 {
        eprintln!(
            "note: {mixed} connections do not count, since a subflow joined after a change of blocks and runs another candidate."
        );
    }
    Ok(tried)
}

/// Makes the winner the default until the next boot.
fn apply(namespace: &Namespace, winner: &Candidate, trial: &State) -> Result<(), Failure> {
    let name = winner.kernel.trim_start_matches(PREFIX);
    // What was applied before is the default of now.
    let _ = state::withdraw();
    if let Some(module) = &winner.module {
        let _ = Program::new("modprobe").args(["-q", module]).status();
    }
    state::applied(&State {
        namespace: trial.namespace,
        default: braid_kernel::default(namespace)?,
        candidates: vec![winner.kernel.clone()],
        loaded: winner.load.iter().map(|_| name.to_owned()).collect(),
        modules: winner.module.iter().cloned().collect(),
    })?;
    if let Some(spec) = &winner.load {
        braid_kernel::load_into(None, spec, name)?;
        journal::write("load", &format!("{}: {spec}", winner.kernel));
    }
    braid_kernel::set_default(namespace, Some(&winner.kernel))?;
    journal::write("default", &format!("{} instead of {}", winner.kernel, trial.default));
    eprintln!(
        "{} is the default of new sockets until the next boot; `braid disable` takes that back{}.",
        winner.kernel,
        winner
            .load
            .as_ref()
            .map_or_else(String::new, |spec| format!(", `braid enable {spec}` makes it last"))
    );
    Ok(())
}

fn serve(port: u16, texts: &[String], namespace: &Namespace) -> Result<(), Failure> {
    let candidates = resolve(texts)?;
    let default = braid_kernel::default(namespace)?;
    let cancel = signal::cancel()?;
    let failed = |error: std::io::Error| Failure::new(FAILED, format!("--serve {port}: {error}"));
    let listener = load::listener(port).map_err(failed)?;
    let watch = Watch::new(namespace.clone(), None)?;
    // Without candidates it only receives.
    let is_sender = !candidates.is_empty();
    let changes = if is_sender { Some(begin(namespace, &candidates, &default, false)?) } else { None };
    for candidate in &candidates {
        eprintln!("Serving {}", candidate.about());
    }
    if is_sender {
        journal::write("try", &format!("serving {}", texts.join(", ")));
    }
    eprintln!("Anybody who reaches port {port} may send and fetch data until Ctrl-C.");
    let names: HashMap<String, String> =
        candidates.iter().map(|candidate| (candidate.label.clone(), candidate.kernel.clone())).collect();
    let done = load::serve(&listener, &names, watch, &cancel).map_err(failed);
    for note in changes.map(Changes::end).unwrap_or_default() {
        eprintln!("{note}");
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_last_10_to_30_s_and_every_candidate_has_one_in_each_round() {
        for (seconds, candidates) in [(60, 2), (120, 4), (121, 2), (159, 2), (600, 3), (3600, 5)] {
            let rounds = plan(Duration::from_secs(seconds), candidates).unwrap();
            assert!(rounds.len() >= 3);
            for round in &rounds {
                let mut seen: Vec<usize> = round.iter().map(|(candidate, _)| *candidate).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..candidates).collect::<Vec<_>>());
                for (_, length) in round {
                    assert!((9.999..30.001).contains(&length.as_secs_f64()), "{length:?}");
                }
            }
        }
        assert!(plan(Duration::from_secs(119), 4).is_err());
    }

    #[test]
    fn an_address_may_have_a_port() {
        assert_eq!(address("192.0.2.7:80").unwrap().1, Some(80));
        assert_eq!(address("2001:db8::1").unwrap().1, None);
        assert!(address("server").is_err());
    }
}
