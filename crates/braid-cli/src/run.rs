//! `braid run`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::SystemTime;

use braid_report::{Cell, Style, Table, tables};
use braid_results::{Document, OK, Run, Summary, json, table};
use braid_study::{Cancel, Event, Finished, Kind, Plan};

use crate::Failure;
use crate::args::{Format, RunArgs};
use crate::capture::Captures;
use crate::command::{self, VERSION};
use crate::failure::FAILED;
use crate::out::{Folder, Samples};
use crate::progress::Progress;
use crate::report::{self, ReportFile};
use crate::{signal, study, terminal};

/// Checks, runs, writes and prints, in this order.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let captures = Captures::of(args).map(Arc::new);
    let plan = study::plan(args, captures.as_ref())?;
    if args.dry_run {
        return terminal::print(study::intention(&plan).as_bytes());
    }
    let cancel = signal::cancel()?;
    plan.prepare(&cancel, |what| {
        if !args.quiet {
            eprintln!("{}: {what}", args.backend.name());
        }
    })?;
    let mut folder = args.out.as_deref().map(|path| Folder::open(path, &plan)).transpose()?;
    if let Some(captures) = &captures {
        captures.prepare()?;
    }
    let mut report = args.report.as_deref().map(|path| ReportFile::prepare(path, &plan)).transpose()?;
    let mut samples = match &folder {
        Some(folder) if args.samples && !folder.has_samples() => Some(folder.samples()?),
        _ => None,
    };

    let mut progress = Progress::new(plan.len(), args.quiet);
    let Outcome { runs, before, failed, first_failure, readers } = execute(
        &plan,
        args,
        &cancel,
        captures.as_deref(),
        folder.as_mut(),
        samples.as_mut(),
        report.as_mut(),
        &mut progress,
    )?;
    let seconds = progress.started().elapsed().as_secs_f64();

    let summary = if keeps_runs(args) { plan.summarize(&runs) } else { vec![] };
    if let Some(folder) = &mut folder {
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

/// Whether the output needs all runs together.
fn keeps_runs(args: &RunArgs) -> bool {
    args.out.is_some() || args.report.is_some() || args.format != Format::Jsonl
}

/// The outcome of the runs.
struct Outcome {
    /// In the plan's order; empty if they are no longer needed.
    runs: Vec<Run>,
    /// Number of stored runs.
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
    cancel: &Cancel,
    captures: Option<&Captures>,
    folder: Option<&mut Folder>,
    mut samples: Option<&mut Samples>,
    mut report: Option<&mut ReportFile>,
    progress: &mut Progress,
) -> Result<Outcome, Failure> {
    let sampling = samples.is_some();
    let in_report = report.as_ref().map(|report| report.selection());
    let then =
        if folder.is_some() { "; the same command goes on from there" } else { "; nothing was written" };
    let mut execution = plan
        .execution()
        .cancel(cancel)
        .time_limit(args.time_limit)
        .samples_of(|run| sampling || in_report.is_some_and(|selection| report::takes(selection, plan, run)))
        .again(|run| captures.is_some_and(|captures| !captures.has(run, &plan.case(run))));
    if let Some(jobs) = args.jobs {
        execution = execution.jobs(jobs);
    }
    if let Some(folder) = folder {
        execution = execution.store(folder.store());
    }

    let keep = keeps_runs(args);
    let mut outcome = Outcome { runs: Vec::new(), before: 0, failed: 0, first_failure: None, readers: true };
    let mut broken = None;
    let mut finished = |Finished { number, run, measurements, .. }: Finished| {
        if let Some(counts) = measurements {
            if let Some(report) = &mut report {
                report.add(plan, number, &counts);
            }
            if let Some(samples) = &mut samples {
                samples.add(number as u64, &run, counts)?;
            }
        }
        if args.format == Format::Jsonl && outcome.readers {
            outcome.readers = terminal::still_read((json(&run) + "\n").as_bytes())?;
        }
        if run.status != OK {
            outcome.failed += 1;
            outcome.first_failure.get_or_insert_with(|| run.clone());
        }
        if keep {
            outcome.runs.push(run);
        }
        Ok::<_, Failure>(keep || outcome.readers)
    };
    let done = execution.run(|event| {
        match event {
            Event::Progress { done, .. } => progress.tick(done),
            Event::Finished(run) => match finished(*run) {
                Ok(true) => {}
                Ok(false) => return ControlFlow::Break(()),
                Err(failure) => {
                    broken = Some(failure);
                    return ControlFlow::Break(());
                }
            },
            _ => {}
        }
        ControlFlow::Continue(())
    });
    progress.finish();
    if let Some(failure) = broken {
        return Err(failure);
    }
    let done = done.map_err(|error| {
        let interrupted = error.kind == Kind::Cancelled;
        let failure = Failure::from(error);
        if interrupted { failure.and(then) } else { failure }
    })?;
    outcome.before = done.reused;
    Ok(outcome)
}

/// One table per scenario file, in the requested order.
fn by_file<'a>(plan: &'a Plan, mut summaries: &'a [Summary]) -> Vec<Table<'a>> {
    let mut tables = Vec::new();
    for planned in plan.files() {
        let mut cells = Vec::new();
        for scenario in &planned.file.cells {
            let (of_cell, rest) = summaries.split_at(planned.specs.len() * plan.schedulers().len());
            summaries = rest;
            cells.push(Cell { scenario, summaries: of_cell });
        }
        tables.push(Table::new(&planned.file.title, cells));
    }
    tables
}

/// Values that differ between equal runs, and so are not results.
fn log(runs: usize, before: usize, seconds: f64) -> String {
    let noun = if runs == 1 { "run" } else { "runs" };
    let before = if before > 0 { format!(" ({before} done before)") } else { String::new() };
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    format!(
        "{now} braid {VERSION}, {runs} {noun}{before} in {seconds:.1} s: {}\n",
        command::line(std::env::args())
    )
}
