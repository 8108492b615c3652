//! What is asked, and how carefully.

use std::path::PathBuf;

use braid_advise::{Advice, CANDIDATES, Measured, Network, Question};
use braid_study::Seeds;
use clap::ValueHint;
use clap_complete::ArgValueCompleter;

use crate::progress::Progress;
use crate::{Failure, complete, signal};

/// What the help says beside the options, and with it the manual page.
pub(crate) const MORE: &str = "Examples:\n  \
    braid advise                                     # from the connection of this machine that sends most\n  \
    braid advise --save here.toml                    # and keep what was measured\n  \
    braid advise here.toml --cc cubic,lia,olia       # from a file\n  \
    braid advise --test server.example:9 --from 192.0.2.7,198.51.100.7 --limit 200MB\n                                                   # by a test, which knows more\n  \
    braid advise --peer root@server.example          # what this machine receives is sent there\n  \
    braid advise --apply                             # and do it; `braid advise --undo` takes it back\n\n\
    Each candidate is simulated alone and beside a TCP flow at each bottleneck; CUBIC on one path of each bottleneck is always one. \
    What it brings is the geometric mean of both goodputs. It takes too much if other flows at a bottleneck lose more than 10 % on \
    average against that CUBIC, or one of them more than 20 %; what a flow has above its fair share is not its own to lose. The advice is the candidate that brings most of those that do not, by \
    which they certainly (95 %) lose no more than 15 %, if it brings 3 % more than that CUBIC, on average; else that \
    CUBIC.\n\n\
    It speaks of what is sent from where it runs. It is young: docs/guides/advise.md says how often it was right in random networks. Exit code: 0 done, 1 a run failed, 2 wrong usage or input.";

#[derive(Debug, clap::Args)]
pub(crate) struct AdviseArgs {
    /// The network: a scenario file or the name of a scenario that comes with Braid, with one MPTCP connection. Default: a
    /// connection of this machine is looked at, which changes and sends nothing.
    #[arg(value_name = "SCENARIO", add = ArgValueCompleter::new(complete::scenarios))]
    pub(super) scenario: Option<String>,
    /// Candidates, each NAME[:key=value]...
    #[arg(long, value_name = "SPEC,...", value_delimiter = ',', default_values_t = CANDIDATES.map(String::from),
          add = ArgValueCompleter::new(complete::specs))]
    pub(super) cc: Vec<String>,
    /// Packet schedulers to try with each. Default: that of the machine which is asked about; for a scenario linux, that of the unmodified kernel.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) scheduler: Vec<String>,
    /// Repeat every run with these seeds: N means 1 to N, A..B means A to B, both included; at least 5. As long as
    /// chance may decide between some candidates, as many follow again for these, up to three times.
    #[arg(long, value_name = "N|A..B", default_value = "10", allow_negative_numbers = true)]
    pub(super) seeds: Seeds,
    /// Length of each run, instead of the scenario's. Of what was measured it is 50s, of which the first fifteen do not count, and with
    /// each seed others are alone there for up to 20s more before.
    #[arg(long, value_name = "TIME")]
    pub(super) duration: Option<String>,
    /// How long to look at the connection; with --test, how long each phase of the test is. Default: 30s, and 15s.
    #[arg(long = "for", value_name = "TIME", value_parser = looking, conflicts_with = "scenario")]
    pub(super) time: Option<std::time::Duration>,
    /// Instead of watching: send to this TCP server, which has to swallow what it is sent, from each address of --from alone and
    /// from each two of them.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["scenario", "filter", "peer"], requires_all = ["from", "limit"])]
    pub(super) test: Option<String>,
    /// This machine's addresses, one for each path.
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',', requires = "test")]
    pub(super) from: Vec<std::net::IpAddr>,
    /// The test sends no more than this: 200MB.
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "test")]
    pub(super) limit: Option<u64>,
    /// Do what is advised, after a question: load the algorithm, make it, or the kernel's own, the default of new sockets in the
    /// network namespace, have paths that are not to be used as backup, set the scheduler. It lasts until the next boot.
    #[arg(long)]
    pub(super) apply: bool,
    /// Take back what --apply did, also where it was ended in the middle.
    #[arg(long, conflicts_with_all = ["scenario", "test", "apply", "save", "filter", "json"])]
    pub(super) undo: bool,
    /// Send and change without asking.
    #[arg(long, short = 'y')]
    pub(super) yes: bool,
    /// Only connections where this is part of an address, the interface, the token, the algorithm or the namespace.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        conflicts_with = "scenario"
    )]
    pub(super) filter: String,
    /// Write what was measured as a scenario file; a network that may be two is two files, the other with -shared in its name.
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, conflicts_with = "scenario")]
    pub(super) save: Option<PathBuf>,
    /// Do it on this host, as ssh knows it: what is sent from there obeys the congestion control of there.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["scenario", "save"])]
    pub(super) peer: Option<String>,
    /// One JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

fn looking(text: &str) -> Result<std::time::Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time < std::time::Duration::from_secs(5) || time > std::time::Duration::from_secs(300) {
        return Err("it is a time from 5s to 5m".into());
    }
    Ok(time)
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}`: expected a size such as 200MB, with kB, MB or GB");
    let (number, unit) = text.split_at(text.len().saturating_sub(2));
    let unit = match unit {
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    if number > 0.0 && number <= 1e6 { Ok((number * unit) as u64) } else { Err(wrong()) }
}

/// What a question is about.
pub(super) enum About<'a> {
    /// A network, or one that may be any of these.
    Networks(Vec<Network>),
    /// What a test has shown.
    Tested(&'a Measured),
}

/// `present` is the scheduler of the machine that it is for; candidates have that where none is named.
pub(super) fn ask(args: &AdviseArgs, about: About<'_>, present: Option<&str>) -> Result<Advice, Failure> {
    let cancel = signal::cancel()?;
    let networks = match about {
        About::Networks(networks) => networks,
        About::Tested(measured) => {
            with_progress(args.quiet, |tell| measured.rehearsed("tested", &cancel, tell))?
        }
    };
    let question = Question::either(networks).candidates(&args.cc).seeds(args.seeds);
    let question = match present {
        Some(present) if args.scheduler.is_empty() => question.schedulers([present]),
        _ => question.schedulers(&args.scheduler),
    };
    let question = match &args.duration {
        Some(duration) => question.duration(duration),
        None => question,
    };
    Ok(with_progress(args.quiet, |tell| question.cancel(&cancel).ask_with(tell))?)
}

/// Shows how many runs are done, of how many.
fn with_progress<T>(quiet: bool, work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
    let mut progress: Option<Progress> = None;
    let outcome = work(&mut |done, total| {
        let progress = progress.get_or_insert_with(|| Progress::new(total, quiet));
        progress.grow(total);
        progress.tick(done);
    });
    if let Some(progress) = progress {
        progress.finish();
    }
    outcome
}
