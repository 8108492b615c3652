//! `braid sweep`.

use std::fs;
use std::ops::ControlFlow;

use braid_results::{OK, Run};
use braid_study::{Dataset, Event, Finished, Grid, Kind, Store};

use crate::Failure;
use crate::args::SweepArgs;
use crate::failure::FAILED;
use crate::progress::Progress;
use crate::{signal, study, terminal};

/// There when a sweep is complete: what came of it.
const SUMMARY: &str = "sweep.txt";
/// Folders of the dataset.
const TABLES: [&str; 4] = ["runs", "flows", "links", "periods"];

/// Reads, checks, runs and writes.
pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let name = args.grid.display().to_string();
    let text = fs::read_to_string(&args.grid).map_err(|error| {
        Failure::bad_input(
            format!("cannot read {name}: {error}"),
            "name a sweep file; docs/sweeps.md shows one",
        )
    })?;
    let grid = Grid::parse(&name, &text)?;
    for file in grid.algorithms() {
        braid_compile::algorithm(file)?;
    }
    let plan = grid.study()?.check()?;
    if args.dry_run {
        return terminal::print(study::intention(&plan).as_bytes());
    }
    let cancel = signal::cancel()?;
    plan.prepare(&cancel, |_| ())?;
    let results: Vec<String> = TABLES.into_iter().chain([SUMMARY]).map(str::to_owned).collect();
    let mut store = Store::open(&args.out, &plan, &results)?;
    if let Some(summary) = store.read(SUMMARY)?.filter(|_| !store.has_runs()) {
        if !args.quiet {
            eprintln!("{} is complete already.", args.out.display());
        }
        return terminal::print(&summary);
    }

    let mut dataset = Dataset::new(&args.out, &grid.parameters());
    let mut progress = Progress::new(plan.len(), args.quiet);
    let (mut failed, mut first, mut broken) = (0, None, None);
    let mut execution = plan.execution().cancel(&cancel).time_limit(args.time_limit).store(&mut store);
    if let Some(jobs) = args.jobs {
        execution = execution.jobs(jobs);
    }
    let done = execution.run(|event| {
        match event {
            Event::Progress { done, .. } => progress.tick(done),
            Event::Finished(finished) => {
                let Finished { number, run, .. } = *finished;
                if run.status != OK {
                    failed += 1;
                    first.get_or_insert_with(|| run.clone());
                }
                if let Err(error) = dataset.add(number as u64, run) {
                    broken = Some(error);
                    return ControlFlow::Break(());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    drop(execution);
    progress.finish();
    if let Some(error) = broken {
        return Err(error.into());
    }
    done.map_err(|error| {
        let interrupted = error.kind == Kind::Cancelled;
        let failure = Failure::from(error);
        if interrupted { failure.and("; the same command goes on from there") } else { failure }
    })?;
    dataset.finish()?;
    let summary = summary(plan.len(), failed, first.as_ref());
    store.write(SUMMARY, summary.as_bytes())?;
    store.remove_runs()?;
    terminal::print(summary.as_bytes())?;
    if !args.quiet {
        eprintln!("Wrote {} to {}.", TABLES.join("/, ") + "/", args.out.display());
    }
    match first {
        None => Ok(()),
        Some(run) => Err(Failure::new(
            FAILED,
            format!("{failed} of {} runs failed; the first was {}", plan.len(), which(&run)),
        )),
    }
}

fn summary(runs: usize, failed: usize, first: Option<&Run>) -> String {
    let noun = if runs == 1 { "run" } else { "runs" };
    let first = first.map(|run| format!("the first: {}\n", which(run))).unwrap_or_default();
    format!("{runs} {noun}, {failed} failed\n{first}")
}

fn which(run: &Run) -> String {
    let params =
        run.params.iter().fold(String::new(), |text, (name, value)| format!("{text} {name}={value}"));
    format!(
        "{}{params} --cc {} --seeds {seed}..{seed}: {}",
        run.scenario,
        run.cc,
        run.status,
        seed = run.seed
    )
}
