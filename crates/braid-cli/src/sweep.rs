//! `braid sweep`.

use std::ops::ControlFlow;
use std::process::{self, Command};
use std::{env, fs};

use braid_study::{Grid, Kind, Sweep, Swept};

use crate::Failure;
use crate::args::SweepArgs;
use crate::failure::FAILED;
use crate::progress::Progress;
use crate::{signal, study, terminal};

/// Reads, checks, runs and writes.
pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    if let Some(address) = &args.dask {
        return on_dask(args, address);
    }
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
    let mut sweep = Sweep::open(&grid, plan, &args.out)?;
    if let Some(summary) = sweep.complete()? {
        if !args.quiet {
            eprintln!("{} is complete already.", args.out.display());
        }
        return terminal::print(summary.as_bytes());
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
    match first {
        None => Ok(()),
        Some(run) => Err(Failure::new(
            FAILED,
            format!("{failed} of {} runs failed; the first was {run}", sweep.plan().len()),
        )),
    }
}

/// Dask speaks Python: the package does the same, with the same library.
fn on_dask(args: &SweepArgs, address: &str) -> Result<(), Failure> {
    let python = env::var_os("BRAID_PYTHON").unwrap_or_else(|| "python3".into());
    let name = python.to_string_lossy().into_owned();
    let remedy = "install Braid's Python package with Dask (docs/python.md), or name the Python that has it in the variable \
                  BRAID_PYTHON";
    // Else a missing package would be a traceback.
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
        // It has said what is wrong.
        code => process::exit(code.unwrap_or(FAILED.into())),
    }
}
