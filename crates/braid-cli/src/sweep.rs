//! `braid sweep`.

use std::process::{self, Command};
use std::{env, fs};

use braid_algorithms::guard;
use braid_report::html::{self, SweepReport};
use braid_study::{Dataset, Grid, Store};

use crate::args::SweepArgs;
use crate::command::VERSION;
use crate::conduct::{How, conduct, failed_runs};
use crate::failure::FAILED;
use crate::study::intention;
use crate::{Failure, own, report, terminal};

/// Reads, checks, runs and writes.
pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    args.report.as_deref().map(report::free).transpose()?;
    if let Some(address) = &args.dask {
        on_dask(args, address)?;
        return if args.report.is_some() { write_report(args, &read(args)?) } else { Ok(()) };
    }
    let grid = read(args)?;
    let plan = grid.study()?.check()?;
    if args.dry_run {
        return terminal::print(intention(&plan).as_bytes());
    }
    let mut store = Store::open(&args.out, &plan, &Dataset::names())?;
    if let (false, Some(summary)) = (store.folder().replaces(), store.folder().read(Dataset::SUMMARY)?) {
        if !args.quiet {
            eprintln!("{} is complete already.", args.out.display());
        }
        terminal::print(&summary)?;
        return write_report(args, &grid);
    }
    let mut dataset = Dataset::new(&args.out, &grid.parameters());
    let execution = plan.execution().time_limit(args.time_limit);
    let how = How { jobs: args.jobs, quiet: args.quiet };
    let done = conduct(&plan, execution, Some(&mut store), &how, vec![&mut dataset])?;
    store.finish()?;
    terminal::print(dataset.summary().as_bytes())?;
    if !args.quiet {
        eprintln!("Wrote {}/ to {}.", Dataset::TABLES.join("/, "), args.out.display());
    }
    write_report(args, &grid)?;
    failed_runs(&plan, &done)
}

/// The grid, with the algorithms of its own made known.
fn read(args: &SweepArgs) -> Result<Grid, Failure> {
    let name = args.grid.display().to_string();
    let text = fs::read_to_string(&args.grid).map_err(|error| {
        Failure::bad_input(
            format!("cannot read {name}: {error}"),
            "name a sweep file; docs/sweeps.md shows one",
        )
    })?;
    let grid = Grid::parse(&name, &text)?;
    if args.unchecked {
        guard::switch_off();
    }
    for file in grid.algorithms() {
        own::add(file, false)?;
    }
    Ok(grid)
}

/// The page of `--report`, if it is wanted, from the folder of a complete sweep.
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
    let summary = fs::read_to_string(args.out.join(Dataset::SUMMARY)).unwrap_or_default();
    let out = ("--out", vec!["DIR".to_owned()]);
    let report = SweepReport {
        version: VERSION,
        command: &report::command("sweep", &[args.grid.display().to_string()], &[out]),
        summary: summary.lines().next().unwrap_or_default(),
        algorithms: report::algorithms(&plan),
        scenarios,
        seeds: plan.seeds_of_each(),
        sweep: &braid_study::measured(grid, &args.out)?,
    };
    report::save(path, &html::sweep(&report), args.quiet)
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
