//! `braid run`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

use braid_report::{Cell, Style, Table, tables};
use braid_results::summary::summarize;
use braid_results::{Document, OK, Run, Summary, json, table};

use crate::Failure;
use crate::args::{Backend, Format, RunArgs};
use crate::capture::Captures;
use crate::failure::{FAILED, INTERRUPTED};
#[cfg(target_os = "linux")]
use crate::lab;
use crate::out::{Folder, Samples};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{self, ReportFile};
use crate::unfinished::Finished;
use crate::{pool, terminal};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Checks, runs, writes and prints, in this order.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let plan = Plan::new(args)?;
    if args.dry_run {
        return terminal::print(intention(&plan).as_bytes());
    }
    let stop = pool::stop_on_signal()?;
    #[cfg(target_os = "linux")]
    let machine = lab::prepare(args, &plan, &stop)?;
    let mut folder =
        args.out.as_deref().map(|path| Folder::prepare(path, &plan, machine.as_ref())).transpose()?;
    let captures = Captures::prepare(args)?;
    let execute_one = |number: usize, samples: bool| {
        #[cfg(target_os = "linux")]
        if let Some(machine) = &machine {
            return lab::execute(machine, &plan, number, samples, captures.as_ref(), &stop);
        }
        match &captures {
            Some(captures) => captures.execute(&plan, number, samples),
            None => Ok(plan.execute(number, samples)),
        }
    };
    let mut report = args.report.as_deref().map(|path| ReportFile::prepare(path, &plan)).transpose()?;
    let mut samples = match &folder {
        Some(folder) if args.samples && !folder.has_samples() => Some(folder.samples()?),
        _ => None,
    };

    let mut progress = Progress::new(plan.len(), args.quiet);
    let Outcome { runs, before, failed, first_failure, readers } = execute(
        &plan,
        args,
        &stop,
        &execute_one,
        captures.as_ref(),
        folder.as_mut(),
        samples.as_mut(),
        report.as_mut(),
        &mut progress,
    )?;
    let seconds = progress.started().elapsed().as_secs_f64();

    let mut summary = if keeps_runs(args) { summarize(&runs) } else { vec![] };
    plan.add_theory(&mut summary);
    if let Some(folder) = &folder {
        let document = Document::new(VERSION, &runs, &summary).to_json();
        folder.write(
            &runs,
            &document,
            &tables(&by_file(&plan, &summary), Style::default()),
            samples,
            &log(runs.len(), before, seconds),
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
    /// How many of them were done already.
    before: usize,
    failed: usize,
    first_failure: Option<Run>,
    /// Whether standard output is still read.
    readers: bool,
}

#[allow(clippy::too_many_arguments)]
fn execute(
    plan: &Plan,
    args: &RunArgs,
    stop: &AtomicBool,
    execute_one: &(dyn Fn(usize, bool) -> Result<Finished, Failure> + Sync),
    captures: Option<&Captures>,
    mut folder: Option<&mut Folder>,
    mut samples: Option<&mut Samples>,
    mut report: Option<&mut ReportFile>,
    progress: &mut Progress,
) -> Result<Outcome, Failure> {
    pool::keep_panics();
    let sampling = samples.is_some();

    let keep = keeps_runs(args);
    let in_report = report.as_ref().map(|report| report.selection());
    let with_counts =
        |run| sampling || in_report.is_some_and(|selection| report::takes(selection, plan, run));
    let mut outcome = Outcome { runs: Vec::new(), before: 0, failed: 0, first_failure: None, readers: true };
    let mut done = 0;
    let mut broken = None;
    let mut each = |(run, counts): Finished| {
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

    // Those of an earlier attempt, as long as they have what is asked for now.
    let mut before = folder.as_mut().map_or_else(Vec::new, |folder| folder.finished());
    let usable = |number, (run, counts): &Finished| {
        run.status != OK
            || ((counts.is_some() || !with_counts(number))
                && captures.is_none_or(|captures| captures.has(plan, number)))
    };
    let n_before =
        before.iter().enumerate().take_while(|(number, run)| usable(*number, run)).count().min(plan.len());
    before.truncate(n_before);
    let go_on = before.into_iter().try_for_each(&mut each).is_continue();

    let mut unkept = None;
    if go_on {
        let work = |index: usize| {
            let number = n_before + index;
            execute_one(number, with_counts(number))
        };
        let each = |finished: Result<Finished, Failure>| {
            let (run, counts) = match finished {
                Ok(finished) => finished,
                Err(failure) => {
                    unkept = Some(failure);
                    return ControlFlow::Break(());
                }
            };
            if let Some(folder) = &mut folder {
                if let Err(failure) = folder.keep(&run, counts.as_ref()) {
                    unkept = Some(failure);
                    return ControlFlow::Break(());
                }
            }
            each((run, counts))
        };
        // In real time one run would disturb another.
        let most = || thread::available_parallelism().ok().filter(|_| plan.backend != Backend::Host);
        let jobs = args.jobs.or_else(most).map_or(1, NonZeroUsize::get);
        pool::in_order(plan.len() - n_before, jobs, stop, work, each, |done| progress.tick(n_before + done));
    }
    progress.finish();

    let interrupted = unkept.as_ref().is_some_and(|failure| failure.code == INTERRUPTED);
    if let Some(failure) = unkept.filter(|_| !interrupted).or(broken) {
        return Err(failure);
    }
    if let Some(folder) = &mut folder {
        folder.settle()?;
    }
    if stop.load(Ordering::Relaxed) && done < plan.len() {
        let then = match folder {
            Some(_) => "the same command goes on from there",
            None => "nothing was written",
        };
        let message = format!("interrupted after {done} of {} runs; {then}", plan.len());
        return Err(Failure::new(INTERRUPTED, message));
    }
    outcome.before = n_before;
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
pub(crate) fn intention(plan: &Plan) -> String {
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
fn log(runs: usize, before: usize, seconds: f64) -> String {
    let noun = if runs == 1 { "run" } else { "runs" };
    let before = if before > 0 { format!(" ({before} done before)") } else { String::new() };
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    let words: Vec<String> = std::env::args().map(quoted).collect();
    format!("{now} braid {VERSION}, {runs} {noun}{before} in {seconds:.1} s: {}\n", words.join(" "))
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
