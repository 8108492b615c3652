//! `braid advise`: which congestion control a network should have, from a file or from connections that run.

#[cfg(target_os = "linux")]
mod live;
mod text;

use std::path::PathBuf;

use braid_advise::{Advice, CANDIDATES, Question};
use braid_scenario::Source;
use braid_study::{Seeds, files};
use clap::ValueHint;
use clap_complete::ArgValueCompleter;
use serde_json::json;

use crate::progress::Progress;
use crate::{Failure, complete, signal, terminal};

/// What the help says beside the options, and with it the manual page.
pub(crate) const MORE: &str = "Examples:\n  \
    braid advise                                     # from the connection of this machine that sends most\n  \
    braid advise --save here.toml                    # and keep what was measured\n  \
    braid advise here.toml --cc cubic,lia,olia       # from a file\n  \
    braid advise --peer root@server.example          # what this machine receives is sent there\n\n\
    Each candidate is simulated alone and beside a TCP flow at each bottleneck. What it brings is the geometric mean of both \
    goodputs. It harms others if, at 95 % confidence, one loses more than 10 % against one CUBIC TCP at each bottleneck in its \
    place. The advice is the candidate that brings most of those that harm nobody; of those within 2 % the first.\n\n\
    It speaks of what is sent from where it runs. It is young: docs/guides/advise.md says how often it was right in random networks. Exit code: 0 done, 1 a run failed, 2 wrong usage or input.";

#[derive(Debug, clap::Args)]
pub(crate) struct AdviseArgs {
    /// The network: a scenario file or the name of a scenario that comes with Braid, with one MPTCP connection. Default: a
    /// connection of this machine is looked at, which changes and sends nothing.
    #[arg(value_name = "SCENARIO", add = ArgValueCompleter::new(complete::scenarios))]
    scenario: Option<String>,
    /// Candidates, each NAME[:key=value]... Where they hardly differ the first one wins, so the simplest should be first.
    #[arg(long, value_name = "SPEC,...", value_delimiter = ',', default_values_t = CANDIDATES.map(String::from),
          add = ArgValueCompleter::new(complete::specs))]
    cc: Vec<String>,
    /// Packet schedulers to try with each. Default: the usual one.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// Repeat every run with these seeds: N means 1 to N, A..B means A to B, both included; at least 5.
    #[arg(long, value_name = "N|A..B", default_value = "10", allow_negative_numbers = true)]
    seeds: Seeds,
    /// Length of each run, instead of the scenario's.
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// How long to look at the connection.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = looking, conflicts_with = "scenario")]
    time: std::time::Duration,
    /// Only connections where this is part of an address, the interface, the token, the algorithm or the namespace.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        conflicts_with = "scenario"
    )]
    filter: String,
    /// Write what was measured as a scenario file; a network that may be two is two files, the other with -shared in its name.
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, conflicts_with = "scenario")]
    save: Option<PathBuf>,
    /// Do it on this host, as ssh knows it: what is sent from there obeys the congestion control of there.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["scenario", "save"])]
    peer: Option<String>,
    /// One JSON document instead of text.
    #[arg(long)]
    json: bool,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    quiet: bool,
}

fn looking(text: &str) -> Result<std::time::Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time < std::time::Duration::from_secs(5) || time > std::time::Duration::from_secs(300) {
        return Err("it is a time from 5s to 5m".into());
    }
    Ok(time)
}

pub(crate) fn advise(args: &AdviseArgs) -> Result<(), Failure> {
    if args.seeds.last() - args.seeds.first() < 4 {
        return Err(Failure::bad_input(
            "who harms others is more than fewer than 5 seeds show",
            "leave --seeds out for 10",
        ));
    }
    if let Some(name) = &args.scenario {
        let advice = ask(args, vec![Source::find(name)?])?;
        return print(args, &Answer { about: name, advice: &advice, current: None, notes: &[] });
    }
    #[cfg(target_os = "linux")]
    return live::advise(args);
    #[cfg(not(target_os = "linux"))]
    Err(Failure::bad_input("connections are looked at on Linux only", "name a scenario"))
}

fn ask(args: &AdviseArgs, networks: Vec<Source>) -> Result<Advice, Failure> {
    let question =
        Question::either(networks).candidates(&args.cc).schedulers(&args.scheduler).seeds(args.seeds);
    let question = match &args.duration {
        Some(duration) => question.duration(duration),
        None => question,
    };
    let cancel = signal::cancel()?;
    let mut progress: Option<Progress> = None;
    let advice = question.cancel(&cancel).ask_with(|done, total| {
        progress.get_or_insert_with(|| Progress::new(total, args.quiet)).tick(done);
    });
    if let Some(progress) = progress {
        progress.finish();
    }
    Ok(advice?)
}

/// What is said at the end.
struct Answer<'a> {
    about: &'a str,
    advice: &'a Advice,
    /// The candidate that is used now.
    current: Option<&'a str>,
    /// What makes it uncertain, and what it speaks of.
    notes: &'a [String],
}

fn print(args: &AdviseArgs, answer: &Answer) -> Result<(), Failure> {
    if args.json {
        return terminal::print(format!("{:#}\n", document(answer)).as_bytes());
    }
    terminal::print(text::of(answer).as_bytes())
}

fn document(Answer { about, advice, current, notes }: &Answer) -> serde_json::Value {
    let row = |row: &braid_advise::Row| {
        json!({
            "cc": row.spec,
            "scheduler": row.scheduler,
            "coupled": row.is_coupled,
            "alone_bps": row.alone_bps().round(),
            "beside_bps": row.beside_bps().round(),
            "utility_bps": row.utility().round(),
            "harm": row.harm.map(|harm| json!({"mean": harm.mean, "ci95": harm.ci95})),
            "fair": row.is_fair(),
        })
    };
    let choice = advice.choice();
    let rows: Vec<_> = advice.rows.iter().map(row).collect();
    json!({
        "about": about,
        "candidates": rows,
        "choice": {"cc": choice.spec, "scheduler": choice.scheduler, "fair": choice.is_fair()},
        "current": current,
        "notes": notes,
    })
}

/// Writes a file whole or not at all; one that is there stays.
fn save(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    free(path)?;
    files::whole(path, text.as_bytes())
        .map_err(|error| Failure::writing_to("--save", "the name of a file", path, &error))
}

fn free(path: &std::path::Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Failure::bad_input(format!("--save: {} is there already", path.display()), "name another file"))
}
