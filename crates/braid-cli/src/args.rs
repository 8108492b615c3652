//! What a person types.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use braid_report::repro::Part;
use braid_study::Seeds;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCompleter;

use crate::failure::FAILED;
use crate::{Failure, complete, terminal};

/// Coupled congestion control for Multipath TCP: run every published algorithm in a packet-level simulator and
/// compare what it does to the others on the same links.
#[derive(Debug, Parser)]
#[command(name = "braid", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run scenarios with one or more congestion controls and show how the flows shared the links.
    #[command(after_help = "Examples:\n  \
        braid run d-olia/1\n  \
        braid run d-olia/1 d-olia/2 --cc lia,olia,balia --seeds 10\n  \
        braid run analysis/disjoint --seeds 5 --report disjoint.html\n  \
        braid run my.toml --cc cubic,cubic:beta=0.8 --set link.b1.rate=20mbit --format json\n\n\
        Exit code: 0 done, 1 a run failed, 2 wrong usage or input.")]
    Run(RunArgs),
    /// Show the runs of a folder that run, compare, repro or sweep wrote with --out.
    #[command(after_help = "Examples:\n  \
        braid report results\n  \
        braid report results --report results.html --format csv\n\n\
        Nothing is run: it shows what the program found that wrote the folder.")]
    Report(ReportArgs),
    /// Run the same scenarios in the simulator and in the lab, on a kernel's network stack, and show where they differ.
    #[cfg(target_os = "linux")]
    #[command(after_help = "Examples:\n  \
        braid compare d-olia/2 --cc reno,olia --seeds 3 --duration 60s\n  \
        braid compare my.toml --seeds 5 --out comparison --report comparison.html\n\n\
        Exit code: 0 done, 1 a run failed, 2 wrong usage or input.")]
    Compare(CompareArgs),
    /// Run published experiments again, compare with what was published, and say which claims hold.
    #[command(after_help = "Examples:\n  \
        braid repro\n  \
        braid repro d-olia/3 --seeds 30\n  \
        braid repro analysis --set connection.tcp0.cc=cubic --cc lia=lia:rounding=usec\n\n\
        Exit code: 0 no claim fails, 1 a claim fails or a run failed, 2 wrong usage or input.")]
    Repro(ReproArgs),
    /// Run scenarios for every point of a grid of parameters, or for a sample of them, and keep all results as Parquet files.
    #[command(after_help = "Example:\n  braid sweep grid.toml --out results --jobs 2\n\n\
        Killed or interrupted, the same command goes on where it was.\n\
        Exit code: 0 done, 1 a run failed, 2 wrong usage or input.")]
    Sweep(SweepArgs),
    /// Say which congestion control a network should have: measure it or read it from a file, simulate candidates, choose.
    #[command(after_help = crate::advise::MORE)]
    Advise(crate::advise::AdviseArgs),
    /// Begin something of your own.
    #[command(subcommand)]
    New(New),
    /// Check scenario files without running them.
    Check {
        /// Scenario files or names of built-in scenarios.
        #[arg(required = true, value_name = "FILE", add = ArgValueCompleter::new(complete::scenarios))]
        files: Vec<String>,
    },
    /// List the built-in scenarios, or show one with its picture and its numbers.
    Scenarios {
        /// The scenario to show, or a file.
        #[arg(add = ArgValueCompleter::new(complete::scenarios))]
        name: Option<String>,
    },
    /// Print the JSON schema of scenario files, with which editors check and complete them.
    Schema,
    /// List the congestion controls, or show the page of one with its parameters.
    Algorithms {
        /// The congestion control to show.
        #[arg(add = ArgValueCompleter::new(complete::specs))]
        name: Option<String>,
    },
    /// List the packet schedulers of MPTCP connections, or show the page of one with its parameters.
    Schedulers {
        /// The packet scheduler to show.
        name: Option<String>,
    },
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Kernel(crate::kernel::Kernel),
    #[command(flatten)]
    Calls(crate::calls::Calls),
    /// What runs in the lab's guest as its only process, or a run on this machine.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Agent {
        /// On this machine.
        #[arg(long)]
        here: bool,
    },
    /// Print a completion script for a shell.
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder.
    #[command(hide = true)]
    Man {
        /// An existing folder.
        folder: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SweepArgs {
    /// What to run: scenarios, algorithms, parameters and their values, as TOML (docs/sweeps.md).
    #[arg(value_name = "GRID.toml", value_hint = ValueHint::FilePath)]
    pub(crate) grid: PathBuf,
    /// Folder for the results: runs/, flows/, links/ and periods/, partitioned by scenario and algorithm.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Write a page for people: the swept parameter with a line and its confidence band for each algorithm, and the numbers.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Number of runs at the same time; the results do not depend on it. Default: one per processor.
    #[arg(long, short, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Have the runs done by the workers of a Dask cluster with this scheduler, such as `tcp://10.0.0.1:8786`. Needs
    /// Braid's Python package and Dask on this machine, and the package on the workers (docs/python.md).
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["jobs", "dry_run"])]
    pub(crate) dask: Option<String>,
    /// How long a run with an algorithm of your own may make no progress before it counts as failed.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration,
          hide_short_help = true)]
    pub(crate) time_limit: Duration,
    /// Do not check the calls of a user algorithm. By default a run fails at the first call that writes what the contract does
    /// not allow, or whose behaviour is undefined.
    #[arg(long, hide_short_help = true)]
    pub(crate) unchecked: bool,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Check everything and say what would run.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum New {
    /// Write an algorithm that works and is yours to change: a C file, its page, a scenario and a test.
    #[command(
        after_help = "Example:\n  braid new algorithm mine && braid run mine.toml --algorithm mine.c --cc mine,lia"
    )]
    Algorithm {
        /// Its name, at most 9 characters of a-z and 0-9.
        name: String,
        /// Where to write; an existing folder.
        #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
        out: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Scenario files or names of built-in scenarios (`braid scenarios` lists them).
    #[arg(required = true, value_name = "SCENARIO", add = ArgValueCompleter::new(complete::scenarios))]
    pub(crate) scenarios: Vec<String>,
    /// Congestion controls to compare, each NAME[:key=value]... (`braid algorithms` lists them). Default: those that
    /// the scenario names.
    #[arg(long, value_name = "SPEC,...", value_delimiter = ',', add = ArgValueCompleter::new(complete::specs))]
    pub(crate) cc: Vec<String>,
    /// A congestion control of your own, one C file (`braid new algorithm NAME` writes one); may be repeated. It is compiled
    /// with `cc`, or what CC names, and checked against the contract; --cc knows it by its name. The backends lab and host take clang
    /// besides.
    #[arg(long, value_name = "FILE.c", value_hint = ValueHint::FilePath)]
    pub(crate) algorithm: Vec<PathBuf>,
    /// With --algorithm, how long a run may make no progress before it counts as failed.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration,
          hide_short_help = true)]
    pub(crate) time_limit: Duration,
    /// Do not check the calls of a user algorithm. By default a run fails at the first call that writes what the contract does
    /// not allow, or whose behaviour is undefined.
    #[arg(long, hide_short_help = true)]
    pub(crate) unchecked: bool,
    /// Packet schedulers of MPTCP connections to compare, each NAME[:key=value]... (`braid schedulers` lists them). Default:
    /// minrtt, that of the papers, in the simulator; linux, that of unmodified kernels, in the lab, which has all, and on this machine, which has no other.
    #[arg(long, value_name = "SPEC,...", value_delimiter = ',')]
    pub(crate) scheduler: Vec<String>,
    /// Run every combination with these seeds: N means 1 to N, A..B means A to B, both included.
    #[arg(long, value_name = "N|A..B", default_value = "1", allow_negative_numbers = true)]
    pub(crate) seeds: Seeds,
    /// Where to run; with several, all runs are done on each.
    #[arg(long, value_enum, value_name = "BACKEND,...", value_delimiter = ',', default_value = "sim")]
    pub(crate) backend: Vec<Backend>,
    /// With --backend lab, the guest's kernel: a name of the built-in list (fetched from the archive that
    /// apt is configured for, and kept), a kernel's Debian package, or a file such as /boot/vmlinuz-6.12.0.
    #[arg(long, value_name = "FILE|NAME", value_hint = ValueHint::FilePath)]
    pub(crate) kernel: Option<String>,
    /// With --backend lab, boot the guest for every run, instead of once for all: slower, with the same results.
    #[arg(long, hide_short_help = true)]
    pub(crate) boot: bool,
    /// Change a value of the scenario, such as link.b1.rate=20mbit; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Number of runs at the same time; the results do not depend on it. Default: one per processor (with --backend host,
    /// where runs disturb each other, one).
    #[arg(long, short, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// What to print: a table for people, one JSON document, one JSON object per run and line, or CSV.
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Store all runs in this folder and write results.json, table.txt, runs.parquet, flows.parquet, links.parquet and log.txt
    /// there. The same command goes on where it was interrupted; one with more seeds, values or algorithms does only the runs that
    /// are missing. Results of other runs are never overwritten.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// With --out, also write samples.parquet and queues.parquet: window, RTT, bytes and queue every 100 ms of all runs.
    #[arg(long, requires = "out")]
    pub(crate) samples: bool,
    /// With --out, also write a log of each run into the folder's `events`: congestion states, windows, losses,
    /// timers and what the scheduler decides, as JSON text sequences in the shape of qlog.
    #[arg(long, requires = "out")]
    pub(crate) events: bool,
    /// Also write the packets of each connection, as its sender sees them, into this folder: pcapng for Wireshark,
    /// one interface per subflow. About 250 bytes per packet.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) pcap: Option<PathBuf>,
    /// With --backend quic, also write each connection's events, as its sender sees them, into this folder: qlog, JSON texts in sequence.
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) qlog: Option<PathBuf>,
    /// With --pcap, keep at most this many bytes of each packet; all headers fit into 128.
    #[arg(long, value_name = "BYTES", default_value = "128", requires = "pcap",
          value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub(crate) snaplen: u32,
    /// Also write one HTML page with a summary, findings and charts that opens in any browser, offline. Replaces
    /// an earlier report of that name, and no other file.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Check everything and say what would run.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The folder.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// A congestion control of your own that was run, one C file; may be repeated.
    #[arg(long, value_name = "FILE.c", value_hint = ValueHint::FilePath)]
    pub(crate) algorithm: Vec<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Also write one HTML page, as `braid run --report`. Time series are of the runs that were stored with samples.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// No notes, only results and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReproArgs {
    /// Papers (d-olia, analysis), single experiments of them (d-olia/3) or files of papers. Default: all built-in
    /// papers.
    #[arg(value_name = "PAPER|EXPERIMENT")]
    pub(crate) what: Vec<String>,
    /// Repeat every run with these seeds: N means 1 to N, A..B means A to B, both included. One decides nothing.
    #[arg(long, value_name = "N|A..B", default_value = "10", allow_negative_numbers = true)]
    pub(crate) seeds: Seeds,
    /// Change every scenario that has the link or connection, such as link.b1.queue=50p; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// What stands for an algorithm of the papers, such as lia=lia:rounding=usec.
    #[arg(long, value_name = "NAME=SPEC,...", value_delimiter = ',')]
    pub(crate) cc: Vec<String>,
    /// The packet scheduler of MPTCP connections, NAME[:key=value]... Default: minrtt, that of the papers, in the simulator;
    /// linux, that of unmodified kernels, in the lab.
    #[arg(long, value_name = "SPEC")]
    pub(crate) scheduler: Option<String>,
    /// Also run everything with each of the other assumptions that the papers' files list.
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Only these claims, such as c12, and what they need. Two claims about few runs take seconds.
    #[arg(long, value_name = "CLAIM,...", value_delimiter = ',', conflicts_with = "search")]
    pub(crate) claim: Vec<String>,
    /// Look for the test bed behind each paper: try the other assumptions that its file lists, one by one and in pairs, and
    /// say under which the paper and the figures agree best, with a guard against chance.
    #[arg(long, conflicts_with = "sensitivity")]
    pub(crate) search: bool,
    /// Most settings that --search tries of each paper, single ones first.
    #[arg(long, value_name = "N", default_value = "60", requires = "search")]
    pub(crate) settings: usize,
    /// What runs the experiments: the simulator, or the lab, a real kernel, by the plan in the papers' files.
    #[arg(long, value_enum, default_value = "sim")]
    pub(crate) backend: Backend,
    /// Number of runs at the same time; the results do not depend on it. Default: one per processor.
    #[arg(long, short, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Also write everything as one page for a browser, complete in itself: scoreboard, drawn topologies, published
    /// beside measured, claims with causes.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Also write the published figures, the claims, the verdicts and what was measured into this folder as Parquet files,
    /// with a dictionary of their columns.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dataset: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: ReproFormat,
    /// Which parts to print as table or Markdown. Default: all of them.
    #[arg(long, value_name = "PART,...", value_delimiter = ',', value_parser = part())]
    pub(crate) show: Vec<Part>,
    /// Store all runs in this folder and write repro.json there. The same command goes on where it was interrupted; one with more
    /// seeds does only the runs that are missing. Other results there are never overwritten.
    #[arg(long, alias = "runs", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Run nothing; show a repro.json written earlier, or several.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, num_args = 1..,
        conflicts_with_all = ["what", "set", "cc", "scheduler", "sensitivity", "search", "claim", "dry_run"])]
    pub(crate) from: Vec<PathBuf>,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Check everything and say what would run.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Scenario files or names of built-in scenarios.
    #[arg(required = true, value_name = "SCENARIO", add = ArgValueCompleter::new(complete::scenarios))]
    pub(crate) scenarios: Vec<String>,
    /// Congestion controls, each NAME[:key=value]... Default: those that the scenario names.
    #[arg(long, value_name = "SPEC,...", value_delimiter = ',', add = ArgValueCompleter::new(complete::specs))]
    pub(crate) cc: Vec<String>,
    /// What to compare: the simulator, and the lab or the QUIC stack or both.
    #[arg(long, value_enum, value_name = "NAME,...", value_delimiter = ',', default_value = "sim,lab")]
    pub(crate) backends: Vec<Compared>,
    /// Seeds of the runs in the lab and on the QUIC stack: N means 1 to N, A..B means A to B, both included.
    #[arg(long, value_name = "N|A..B", default_value = "1", allow_negative_numbers = true)]
    pub(crate) seeds: Seeds,
    /// Seeds of the simulator's runs, which cost little: more of them tell better what chance does.
    #[arg(long, value_name = "N|A..B", default_value = "20", allow_negative_numbers = true)]
    pub(crate) sim_seeds: Seeds,
    /// Length of each run, warm-up included; short for --set duration=...
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Change a value of the scenario, such as link.b1.rate=20mbit; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The guest's kernel, as for `braid run --backend lab`.
    #[arg(long, value_name = "FILE|NAME", value_hint = ValueHint::FilePath)]
    pub(crate) kernel: Option<String>,
    /// Number of runs at the same time; the results do not depend on it. Default: one per processor.
    #[arg(long, short, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: CompareFormat,
    /// Store all runs in this folder, each as soon as it is done, and do not repeat those that are there. It may hold other
    /// comparisons.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write one HTML page with the backends beside each other, time series among them.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Also draw the first run of each backend over each other, as one SVG file for each comparison in this folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) overlay: Option<PathBuf>,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Check everything and say what would run.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compared {
    /// The packet simulator: what the others are compared with.
    Sim,
    /// A real Linux kernel in a virtual machine.
    Lab,
    /// A multipath QUIC stack in place of MPTCP; only if braid was built with it.
    Quic,
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For people.
    Table,
    /// For documents.
    Markdown,
    /// One document, all runs included.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReproFormat {
    /// For people.
    Table,
    /// For documents.
    Markdown,
    /// One document, which --from reads.
    Json,
    /// For spreadsheets: one published cell, or one comparison of a claim, a line.
    Csv,
}

/// A number of runs at the same time.
fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<usize>().map(NonZeroUsize::new) {
        Ok(Some(jobs)) => Ok(jobs),
        Ok(None) => Err("no run would ever begin; leave --jobs out for one per processor".to_owned()),
        Err(_) => Err("expected a whole number, at least 1".to_owned()),
    }
}

fn part() -> impl TypedValueParser<Value = Part> {
    let names = PossibleValuesParser::new(Part::ALL.map(Part::name));
    names.try_map(|name| Part::named(&name).ok_or("no such part"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// Packet-level simulator.
    Sim,
    /// Distribution kernel in a virtual machine, in virtual time.
    Lab,
    /// The kernel of this machine, in real time; needs root.
    Host,
    /// A multipath QUIC stack in place of MPTCP, over the simulator's links; only if braid was built with it.
    Quic,
}

impl Backend {
    /// As results and `--backend` call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Lab => "lab",
            Self::Host => "host",
            Self::Quic => "quic",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: one table per scenario, one row per congestion control.
    Table,
    /// One document.
    Json,
    /// One run a line, printed as soon as it and those before it are done.
    Jsonl,
    /// For spreadsheets: one subflow a line, with the run it belongs to.
    Csv,
}

/// Prints a completion script, which asks this program what could be typed next.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let shells = clap_complete::env::Shells::builtins();
    let name = shell.to_string();
    let completer =
        shells.completer(&name).ok_or_else(|| Failure::new(FAILED, format!("no completion for {name}")))?;
    let mut script = Vec::new();
    completer
        .write_registration("COMPLETE", "braid", "braid", "braid", &mut script)
        .map_err(|error| Failure::new(FAILED, format!("the completion script of {name}: {error}")))?;
    terminal::print(&script)
}

/// Commands of system administration: their pages are in section 8.
const ADMINISTRATION: [&str; 12] = [
    "load", "unload", "enable", "disable", "default", "hint", "status", "top", "metrics", "try", "log",
    "doctor",
];

fn section(command: &str) -> &'static str {
    if ADMINISTRATION.contains(&command) { "8" } else { "1" }
}

/// Writes one manual page per command.
pub(crate) fn man(folder: &Path) -> Result<(), Failure> {
    // No page is about `help`.
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    page(&command, &["braid".to_owned()], folder)
}

fn page(command: &clap::Command, words: &[String], folder: &Path) -> Result<(), Failure> {
    let section = section(words.get(1).map_or("", String::as_str));
    let title = words.join("-");
    let path = folder.join(format!("{title}.{section}"));
    let failed = |error: &std::io::Error| Failure::writing(&path, error);
    let mut text = Vec::new();
    let man = clap_mangen::Man::new(command.clone().display_name(title)).section(section);
    man.render(&mut text).map_err(|error| failed(&error))?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    // clap takes all pages to be in the section of this one.
    for name in ADMINISTRATION {
        text = text.replace(&format!("braid\\-{name}(1)"), &format!("braid\\-{name}(8)"));
    }
    std::fs::write(&path, text).map_err(|error| failed(&error))?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        page(subcommand, &[words, &[subcommand.get_name().to_owned()]].concat(), folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_definition() {
        Args::command().debug_assert();
    }
}
