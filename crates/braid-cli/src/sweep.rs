//! `braid sweep`.

use std::ops::ControlFlow;
use std::process::{self, Command};
use std::{env, fs};

use braid_report::html::{self, SweepReport};
use braid_study::{Grid, Kind, Sweep, Swept, files};

use crate::Failure;
use crate::args::SweepArgs;
use crate::command::{self, VERSION};
use crate::failure::FAILED;
use crate::progress::Progress;
use crate::{report, signal, study, terminal};

/// Reads, checks, runs and writes.
pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        report::free(path)?;
        files::part(path).map_err(|error| report::failure(path, &error))?;
    }
    if let Some(address) = &args.dask {
        on_dask(args, address)?;
        return if args.report.is_some() { write_report(args, &read(args)?) } else { Ok(()) };
    }
    let grid = read(args)?;
    let plan = grid.study()?.check()?;
    if args.dry_run {
        return terminal::print(study::intention(&plan).as_bytes());
    }
    let cancel = signal::cancel()?;
    plan.prepare(&cancel, |_| ())?;
    let mut sweep = Sweep::open(&grid, plan, &args.out)?;
    if let Some(summary) = sweep.complete()? {
        if !args.quiet {
            eprintln!("{} is complete already.", args.out.display());
        }
        terminal::print(summary.as_bytes())?;
        return write_report(args, &grid);
    }
    let mut progress = Progress::new(sweep.plan().len(), args.quiet);
    let swept = sweep.run(
        |execution| {
            let execution = execution.cancel(&cancel).time_limit(args.time_limit);
            match args.jobs {
                Some(jobs) => execution.jobs(jobs),
                None => execution,
            }
        },
        |done, _| {
            progress.tick(done);
            ControlFlow::Continue(())
        },
    );
    progress.finish();
    let swept = swept.map_err(|error| {
        let interrupted = error.kind == Kind::Cancelled;
        let failure = Failure::from(error);
        if interrupted { failure.and("; the same command goes on from there") } else { failure }
    })?;
    let Swept { summary, failed, first } = swept.expect("nobody has broken it off");
    terminal::print(summary.as_bytes())?;
    if !args.quiet {
        eprintln!("Wrote {} to {}.", Sweep::TABLES.join("/, ") + "/", args.out.display());
    }
    write_report(args, &grid)?;
    match first {
        None => Ok(()),
        Some(run) => Err(Failure::new(
            FAILED,
            format!("{failed} of {} runs failed; the first was {run}", sweep.plan().len()),
        )),
    }
}

/// The grid, with its user algorithms registered.
fn read(args: &SweepArgs) -> Result<Grid, Failure> {
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
    Ok(grid)
}

/// Writes the requested page of `--report` from the folder of a complete sweep.
fn write_report(args: &SweepArgs, grid: &Grid) -> Result<(), Failure> {
    let Some(path) = &args.report else { return Ok(()) };
    let plan = grid.study()?.check()?;
    let mut scenarios: Vec<(String, String)> = Vec::new();
    for planned in plan.files() {
        let own = (planned.file.cells[0].name.clone(), planned.file.title.clone());
        if !scenarios.contains(&own) {
            scenarios.push(own);
        }
    }
    let summary = fs::read_to_string(args.out.join(Sweep::SUMMARY)).unwrap_or_default();
    let report = SweepReport {
        version: VERSION,
        command: &command::line([
            "braid".to_owned(),
            "sweep".to_owned(),
            args.grid.display().to_string(),
            "--out".to_owned(),
            "DIR".to_owned(),
            "--report".to_owned(),
            "sweep.html".to_owned(),
        ]),
        summary: summary.lines().next().unwrap_or_default(),
        algorithms: report::algorithms(&plan),
        scenarios,
        seeds: plan.seeds_of_each(),
        sweep: &braid_study::measured(grid, &args.out)?,
    };
    report::save(path, &html::sweep(&report))?;
    if !args.quiet {
        eprintln!("Wrote the report {}; open it in a browser.", path.display());
    }
    Ok(())
}

/// Dask needs Python: the package does the same, with the same library.
fn on_dask(args: &SweepArgs, address: &str) -> Result<(), Failure> {
    let python = env::var_os("BRAID_PYTHON").unwrap_or_else(|| "python3".into());
    let name = python.to_string_lossy().into_owned();
    let remedy = "install Braid's Python package with Dask (docs/python.md), or name the Python that has it in the variable \
                  BRAID_PYTHON";
    // Otherwise a missing package would be a traceback.
    let there = Command::new(&python).args(["-c", "import braid, distributed"]).output();
    if !there.as_ref().is_ok_and(|output| output.status.success()) {
        return Err(Failure::bad_input(
            format!("--dask: {name} has no package braid, or no distributed"),
            remedy,
        ));
    }
    let mut command = Command::new(&python);
    command
        .args(["-m", "braid", "sweep"])
        .arg(&args.grid)
        .arg("--out")
        .arg(&args.out)
        .args(["--dask", address]);
    command.arg("--time-limit").arg(args.time_limit.as_secs_f64().to_string());
    if args.quiet {
        command.arg("--quiet");
    }
    let status =
        command.status().map_err(|error| Failure::bad_input(format!("--dask: {name}: {error}"), remedy))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has printed the error.
        code => process::exit(code.unwrap_or(FAILED.into())),
    }
}
