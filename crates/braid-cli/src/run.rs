//! `braid run`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::SystemTime;

use braid_report::{Cell, Style, Table, tables};
use braid_results::measure::Measurements;
use braid_results::summary::summarize;
use braid_results::{Document, OK, Run, Summary, json, table};

use crate::Failure;
use crate::args::{Format, RunArgs};
use crate::failure::{FAILED, INTERRUPTED};
use crate::out::{Folder, Samples};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{self, ReportFile};
use crate::{pool, terminal};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Checks, runs, writes and prints, in this order.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let plan = Plan::new(args)?;
    if args.dry_run {
        return terminal::print(intention(&plan).as_bytes());
    }
    let folder = args.out.as_deref().map(|path| Folder::prepare(path, &plan)).transpose()?;
    let mut report = args.report.as_deref().map(|path| ReportFile::prepare(path, &plan)).transpose()?;
    let mut samples = folder.as_ref().filter(|_| args.samples).map(Folder::samples).transpose()?;

    let mut progress = Progress::new(plan.len(), args.quiet);
    let Outcome { runs, failed, first_failure, readers } =
        execute(&plan, args, samples.as_mut(), report.as_mut(), &mut progress)?;
    let seconds = progress.started().elapsed().as_secs_f64();

    let summary = if keeps_runs(args) { summarize(&runs) } else { vec![] };
    if let Some(folder) = &folder {
        let document = Document::new(VERSION, &runs, &summary).to_json();
        folder.write(
            &runs,
            &document,
            &tables(&by_file(&plan, &summary), Style::default()),
            samples,
            &log(runs.len(), seconds),
        )?;
    }
    if let Some(report) = &report {
        report.write(args, &plan, by_file(&plan, &summary), &runs)?;
    }
    if readers {
        match args.format {
            Format::Table => {
                terminal::print(tables(&by_file(&plan, &summary), terminal::style()).as_bytes())?;
            }
            Format::Json => terminal::print(Document::new(VERSION, &runs, &summary).to_json().as_bytes())?,
            Format::Jsonl => {}
            Format::Csv => terminal::print(table::FLOWS.to_csv(&table::flows(&runs)).as_bytes())?,
        }
    }
    if let Some(folder) = folder.filter(|_| !args.quiet) {
        eprintln!("{}", folder.written(args.samples));
    }
    if let Some(report) = report.filter(|_| !args.quiet) {
        eprintln!("{}", report.written());
    }
    match first_failure {
        None => Ok(()),
        Some(run) => Err(Failure::new(
            FAILED,
            format!(
                "{failed} of {} runs failed; the first was {} --cc {} --seeds {seed}..{seed}: {}",
                plan.len(),
                run.scenario,
                run.cc,
                run.status,
                seed = run.seed
            ),
        )),
    }
}

/// Whether something is made of all runs together.
fn keeps_runs(args: &RunArgs) -> bool {
    args.out.is_some() || args.report.is_some() || args.format != Format::Jsonl
}

/// What came of the runs.
struct Outcome {
    /// In the plan's order; empty if nobody needs them any more.
    runs: Vec<Run>,
    failed: usize,
    first_failure: Option<Run>,
    /// Whether standard output is still read.
    readers: bool,
}

fn execute(
    plan: &Plan,
    args: &RunArgs,
    mut samples: Option<&mut Samples>,
    mut report: Option<&mut ReportFile>,
    progress: &mut Progress,
) -> Result<Outcome, Failure> {
    let stop = pool::stop_on_signal()?;
    pool::keep_panics();

    let keep = keeps_runs(args);
    let in_report = report.as_ref().map(|report| report.selection());
    let mut outcome = Outcome { runs: Vec::new(), failed: 0, first_failure: None, readers: true };
    let mut done = 0;
    let mut broken = None;
    let each = |(run, counts): (Run, Option<Measurements>)| {
        if let Some(counts) = counts {
            if let Some(report) = &mut report {
                report.add(plan, done, &counts);
            }
            if let Some(samples) = &mut samples {
                broken = samples.add(done as u64, &run, counts).err();
            }
        }
        done += 1;
        if args.format == Format::Jsonl && outcome.readers {
            match terminal::still_read((json(&run) + "\n").as_bytes()) {
                Ok(readers) => outcome.readers = readers,
                Err(failure) => broken = Some(failure),
            }
        }
        if run.status != OK {
            outcome.failed += 1;
            outcome.first_failure.get_or_insert_with(|| run.clone());
        }
        if keep {
            outcome.runs.push(run);
        }
        if broken.is_some() || !(keep || outcome.readers) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let jobs = args.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let work = |index| {
        let in_report = in_report.is_some_and(|selection| report::takes(selection, plan, index));
        plan.execute(index, args.samples || in_report)
    };
    pool::in_order(plan.len(), jobs, &stop, work, each, |done| progress.tick(done));
    progress.finish();

    if let Some(failure) = broken {
        return Err(failure);
    }
    if stop.load(Ordering::Relaxed) && done < plan.len() {
        let message = format!("interrupted after {done} of {} runs; no file was written", plan.len());
        return Err(Failure::new(INTERRUPTED, message));
    }
    Ok(outcome)
}

/// One table per scenario file, in the order asked for.
fn by_file<'a>(plan: &'a Plan, mut summaries: &'a [Summary]) -> Vec<Table<'a>> {
    let mut tables = Vec::new();
    for planned in &plan.files {
        let mut cells = Vec::new();
        for scenario in &planned.file.cells {
            let (of_cell, rest) = summaries.split_at(planned.specs.len());
            summaries = rest;
            cells.push(Cell { scenario, summaries: of_cell });
        }
        tables.push(Table { title: &planned.file.title, cells });
    }
    tables
}

/// What `--dry-run` prints.
fn intention(plan: &Plan) -> String {
    let mut text = String::new();
    for planned in &plan.files {
        let specs: Vec<&str> = planned.specs.iter().map(braid_algorithms::Spec::text).collect();
        for cell in &planned.file.cells {
            let params: Vec<String> =
                cell.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let _ = writeln!(
                text,
                "{}{}{}  {} s  cc {}  seeds {}..{}",
                cell.name,
                if params.is_empty() { "" } else { "  " },
                params.join(" "),
                cell.duration_ns as f64 / 1e9,
                specs.join(","),
                plan.seeds.first,
                plan.seeds.last
            );
        }
    }
    let _ = writeln!(text, "{} {}", plan.len(), if plan.len() == 1 { "run" } else { "runs" });
    text
}

/// What differs between equal runs and so is not among the results.
fn log(runs: usize, seconds: f64) -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    let words: Vec<String> = std::env::args().map(quoted).collect();
    format!("{now} braid {VERSION}, {runs} runs in {seconds:.1} s: {}\n", words.join(" "))
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn the_log_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("cubic:beta=0.8".into()), "cubic:beta=0.8");
        assert_eq!(quoted("my file".into()), "'my file'");
        assert_eq!(quoted("it's".into()), r"'it'\''s'");
        assert_eq!(quoted(String::new()), "''");
    }
}
