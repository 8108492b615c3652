//! Recorded calls: `trace`, `replay`, `vectors`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use braid_algorithms::Spec;
use braid_trace::{Call, Origin, Replay, generate, json, tsv};
use clap::{Subcommand, ValueEnum, ValueHint};
use serde_json::{Value, json};

use crate::Failure;
use crate::failure::{BAD_INPUT, FAILED};
use crate::terminal;

#[derive(Debug, Subcommand)]
#[allow(clippy::doc_markdown, reason = "these comments are the help, where backticks are in the way")]
pub(crate) enum Calls {
    /// Record every call of the loaded algorithms in the kernel, word for word.
    #[cfg(target_os = "linux")]
    #[command(after_help = "Examples:\n  \
        braid trace -o run.trace --duration 10s\n  \
        braid trace -o losses.trace --filter name=olia --filter event=on_loss\n\n\
        A filter is name=NAME (as loaded), connection=HEX (the token, as in `braid top`), subflow=ID or event=EVENT \
        (init, release, on_loss, on_recovered, on_ack, on_idle_restart). Filters with the same key are alternatives; \
        filters with different keys must all match. `braid replay` repeats the calls natively.")]
    Trace(TraceArgs),
    /// Repeat recorded calls natively and compare every word.
    #[command(after_help = "Exit code: 0 every word is equal, 1 some differ, 2 wrong usage or input.")]
    Replay {
        /// A trace, or test vectors.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// One JSON document instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Print test vectors of an algorithm, or recorded calls as such: arguments and every word of the result.
    #[command(after_help = "Examples:\n  \
        braid vectors lia > lia.json\n  \
        braid vectors run.trace --format tsv | less")]
    Vectors {
        /// An algorithm with parameters, NAME[:key=value]..., or a file: a trace, or vectors of either format.
        #[arg(value_name = "SPEC|FILE", value_hint = ValueHint::FilePath)]
        what: String,
        /// JSON for programs, or tab-separated text to review.
        #[arg(long, value_enum, default_value = "json")]
        format: Format,
        /// For an algorithm: calls per connection; there are four connections, with 1, 2, 3 and 8 subflows.
        #[arg(long, value_name = "N", default_value = "100")]
        calls: usize,
    },
}

#[cfg(target_os = "linux")]
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Output file; an existing file is not overwritten.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Duration, such as 10s or 2min. Default: until Ctrl-C.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Option<std::time::Duration>,
    /// Keep only these calls, KEY=VALUE; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    filter: Vec<String>,
    /// Memory between kernel and tool in MiB, a power of two: calls that do not fit are lost, and counted.
    #[arg(long, value_name = "MIB", default_value = "64")]
    buffer: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// One document.
    Json,
    /// One row per part of a call.
    Tsv,
}

impl From<braid_trace::Error> for Failure {
    fn from(error: braid_trace::Error) -> Self {
        Self::new(BAD_INPUT, error.to_string())
    }
}

pub(crate) fn run(command: &Calls) -> Result<(), Failure> {
    match command {
        #[cfg(target_os = "linux")]
        Calls::Trace(args) => live::trace(args),
        Calls::Replay { file, json } => replay(file, *json),
        Calls::Vectors { what, format, calls } => vectors(what, *format, *calls),
    }
}

#[cfg(target_os = "linux")]
mod live {
    use std::fs::{self, OpenOptions};
    use std::io::BufWriter;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use braid_kernel::Recorded;
    use braid_trace::{Call, Writer, event_name};

    use super::TraceArgs;
    use crate::Failure;
    use crate::failure::FAILED;
    use crate::names::short;

    /// Selection of calls; an empty list selects all.
    #[derive(Default)]
    struct Filter {
        names: Vec<String>,
        connections: Vec<u64>,
        subflows: Vec<u32>,
        events: Vec<String>,
    }

    impl Filter {
        fn parse(filters: &[String]) -> Result<Self, Failure> {
            let mut all = Self::default();
            for text in filters {
                let wrong = |hint: &str| Failure::bad_input(format!("`{text}` is no filter"), hint);
                let (key, value) = text.split_once('=').ok_or_else(|| wrong("write KEY=VALUE"))?;
                match key {
                    "name" => all.names.push(short(value).to_owned()),
                    "connection" => {
                        let value = u64::from_str_radix(value.trim_start_matches("0x"), 16);
                        all.connections
                            .push(value.map_err(|_| wrong("a connection is a hexadecimal number"))?);
                    }
                    "subflow" => {
                        let value = value.parse();
                        all.subflows.push(value.map_err(|_| wrong("a subflow is a number, from 1"))?);
                    }
                    "event" => {
                        let events: Vec<&str> = (0..6).map(event_name).collect();
                        if !events.contains(&value) {
                            return Err(wrong(&format!("events are {}", events.join(", "))));
                        }
                        all.events.push(value.to_owned());
                    }
                    _ => return Err(wrong("keys are name, connection, subflow and event")),
                }
            }
            Ok(all)
        }

        fn keeps(&self, call: &Call) -> bool {
            let subflow = &call.view.subflow[call.view.self_index as usize];
            let any = |empty: bool, found: bool| empty || found;
            any(self.connections.is_empty(), self.connections.contains(&call.view.connection))
                && any(self.subflows.is_empty(), self.subflows.contains(&subflow.id))
                && any(self.events.is_empty(), self.events.iter().any(|e| e == event_name(call.event.kind)))
        }
    }

    pub(super) fn trace(args: &TraceArgs) -> Result<(), Failure> {
        let filter = Filter::parse(&args.filter)?;
        if !args.buffer.is_power_of_two() || args.buffer > 1024 {
            return Err(Failure::bad_input(
                format!("--buffer cannot be {}", args.buffer),
                "it is a power of two from 1 to 1024",
            ));
        }
        let loaded: Vec<String> = braid_kernel::loaded()?.into_iter().map(|loaded| loaded.name).collect();
        let names = if filter.names.is_empty() { loaded } else { filter.names.clone() };
        if names.is_empty() {
            return Err(Failure::bad_input(
                "no algorithm is loaded that could be recorded",
                "`braid load NAME` first",
            ));
        }
        let path = &args.output;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::AlreadyExists => "name another file with -o, or remove this one",
                _ => "name a file with -o in a folder that you may write to",
            };
            Failure::bad_input(format!("cannot write {}: {error}", path.display()), hint)
        })?;
        let result = record(args, &filter, &names, file);
        if result.is_err() {
            // A partial file is valid; only an empty one is removed.
            if fs::metadata(path).is_ok_and(|data| data.len() == 0) {
                let _ = fs::remove_file(path);
            }
        }
        let (recorded, filtered) = result?;
        let Recorded { calls, lost, cut } = recorded;
        let kept = calls - filtered;
        eprintln!("Recorded {kept} calls of {} to {}.", names.join(", "), path.display());
        if filtered > 0 {
            eprintln!("{filtered} others did not pass the filter.");
        }
        if cut > 0 {
            eprintln!("{cut} had not returned when recording ended and are left out.");
        }
        if lost > 0 {
            eprintln!(
                "warning: {lost} calls were lost, because the kernel wrote them faster than braid reads: use a larger \
                 --buffer, \
                 or record fewer algorithms with --filter name=NAME"
            );
        }
        Ok(())
    }

    fn record(
        args: &TraceArgs,
        filter: &Filter,
        names: &[String],
        file: fs::File,
    ) -> Result<(Recorded, u64), Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        ctrlc::set_handler(move || stopping.store(true, Ordering::Relaxed))
            .map_err(|error| Failure::new(FAILED, format!("cannot catch Ctrl-C: {error}")))?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        // The header stays in the buffer until the first call, so that a failed start leaves the file empty.
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, file), kernel.trim())?;
        let (mut filtered, mut failed) = (0, None);
        let mut began = None;
        let recorded = braid_kernel::record(
            names,
            args.buffer << 20,
            || {
                // Called for the first time when recording has begun.
                let began = began.get_or_insert_with(|| {
                    let end = if args.duration.is_some() { "" } else { "; Ctrl-C ends it" };
                    eprintln!("Recording {}{end}.", names.join(", "));
                    Instant::now()
                });
                let over = args.duration.is_some_and(|duration| began.elapsed() >= duration);
                !over && !stop.load(Ordering::Relaxed)
            },
            |call| {
                if !filter.keeps(&call) {
                    filtered += 1;
                    return true;
                }
                failed = writer.call(&call).err();
                failed.is_none()
            },
        );
        let cut_off = |error: braid_trace::Error| {
            let path = args.output.display();
            let hint = format!("make room; the calls recorded so far can be read: `braid replay {path}`");
            Failure::new(FAILED, format!("cannot write {path}: {error}")).hint(hint)
        };
        if let Some(error) = failed {
            return Err(cut_off(error));
        }
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                if writer.calls() == 0 {
                    let _ = fs::remove_file(&args.output);
                }
                return Err(error.into());
            }
        };
        writer.finish(recorded.lost, filtered).map_err(cut_off)?;
        Ok((recorded, filtered))
    }
}

fn replay(file: &Path, as_json: bool) -> Result<(), Failure> {
    let mut calls = braid_trace::read(file)?;
    let mut replay = Replay::new();
    for call in calls.by_ref() {
        let at = |error: braid_trace::Error| Failure::new(BAD_INPUT, format!("{}: {error}", file.display()));
        replay.call(&call.map_err(at)?);
    }
    let is_trace = calls.kernel().is_some();
    if is_trace && calls.end().is_none() {
        eprintln!(
            "warning: {} is incomplete: only the calls in it are replayed, and the number of lost calls is unknown",
            file.display()
        );
    }
    for spec in &replay.other_sources {
        eprintln!("warning: {spec} was recorded with other sources than this braid's; results may differ");
    }
    // Calls that are missing because of a filter or a full ring may have changed the memory; vectors may be arbitrary.
    let is_whole = calls.end().is_some_and(|end| end.lost == 0 && end.filtered == 0);
    let gaps = if is_whole { replay.gaps } else { 0 };
    let text = if as_json {
        format!("{:#}\n", replay_json(&replay, &calls, gaps))
    } else {
        replay_text(&replay, &calls, gaps)
    };
    terminal::print(text.as_bytes())?;
    if replay.differing > 0 || gaps > 0 {
        return Err(Failure::new(FAILED, "the native build's results differ from the recorded ones"));
    }
    Ok(())
}

fn replay_text(replay: &Replay, calls: &braid_trace::Calls, gaps: u64) -> String {
    let mut text = String::new();
    if let Some(kernel) = calls.kernel() {
        let _ = writeln!(text, "recorded on Linux {kernel}");
    }
    if let Some(end) = calls.end() {
        let _ = writeln!(text, "lost while recording: {}; left out by filters: {}", end.lost, end.filtered);
    }
    let mut specs: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    let events: BTreeSet<&str> = replay.calls.keys().map(|(_, event)| *event).collect();
    for ((spec, event), count) in &replay.calls {
        specs.entry(spec).or_default().insert(event, *count);
    }
    let width = specs.keys().map(|spec| spec.len()).max().unwrap_or(0).max(4);
    let _ = write!(text, "\n{:<width$} {:>10}", "spec", "calls");
    for event in &events {
        let _ = write!(text, " {event:>15}");
    }
    text.push('\n');
    for (spec, counts) in &specs {
        let _ = write!(text, "{spec:<width$} {:>10}", counts.values().sum::<u64>());
        for event in &events {
            let _ = write!(text, " {:>15}", counts.get(event).copied().unwrap_or(0));
        }
        text.push('\n');
    }
    let (total, coupled, words) = (replay.total(), replay.with_siblings, replay.words);
    let _ = writeln!(text, "\n{total} calls, {coupled} with several subflows, {words} words compared");
    if replay.differing == 0 {
        text.push_str("no word differs\n");
    } else {
        let _ = writeln!(text, "{} words differ, the first:", replay.differing);
        for difference in &replay.first {
            let _ = writeln!(
                text,
                "  call {}, {} {}: {} recorded {:#x}, native {:#x}",
                difference.sequence,
                difference.spec,
                difference.event,
                difference.word,
                difference.recorded,
                difference.replayed
            );
        }
    }
    if gaps > 0 {
        let _ = writeln!(text, "{gaps} calls found private memory that the call before had not left");
    }
    text
}

fn replay_json(replay: &Replay, calls: &braid_trace::Calls, gaps: u64) -> Value {
    let counts: Vec<Value> = replay
        .calls
        .iter()
        .map(|((spec, event), count)| json!({"spec": spec, "event": event, "calls": count}))
        .collect();
    let first: Vec<Value> = replay
        .first
        .iter()
        .map(|difference| {
            json!({
                "sequence": difference.sequence, "spec": difference.spec, "event": difference.event,
                "word": difference.word, "recorded": format!("{:#x}", difference.recorded),
                "replayed": format!("{:#x}", difference.replayed),
            })
        })
        .collect();
    json!({
        "schema_version": 1,
        "kernel": calls.kernel(),
        "lost": calls.end().map(|end| end.lost),
        "filtered": calls.end().map(|end| end.filtered),
        "calls": replay.total(),
        "calls_with_siblings": replay.with_siblings,
        "by_event": counts,
        "words": replay.words,
        "differing_words": replay.differing,
        "memory_gaps": gaps,
        "other_sources": replay.other_sources,
        "first_differences": first,
    })
}

fn vectors(what: &str, format: Format, calls: usize) -> Result<(), Failure> {
    let calls: Vec<Call> = if Path::new(what).is_file() {
        let at = |error: braid_trace::Error| Failure::new(BAD_INPUT, format!("{what}: {error}"));
        braid_trace::read(Path::new(what))?.collect::<Result<_, _>>().map_err(at)?
    } else {
        let spec = Spec::parse(what).map_err(|error| {
            Failure::bad_input(format!("{error}"), "or name a file that exists: a trace or vectors")
        })?;
        generate::vectors(&Origin::native(spec), calls)
    };
    let text = match format {
        Format::Json => json::write(calls),
        Format::Tsv => tsv::write(calls),
    };
    terminal::print(text.as_bytes())
}
