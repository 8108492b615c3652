//! `braid compare`: the simulator and the lab side by side.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use braid_report::compare::{markdown, text};
use braid_report::html::{Part, Report, Selection, Series};
use braid_report::overlay::{Panel, svg};
use braid_report::{Cell, Table};
use braid_results::compare::{Comparison, Curve, Side, curves, differences, parting};
use braid_results::measure::{Measurements, SAMPLE_INTERVAL_NS};
use braid_results::summary::summarize;
use braid_results::{OK, Run, json};
use braid_scenario::model::Scenario;
use braid_sim::Scheduler;
use serde::{Deserialize, Serialize};

use crate::args::{Backend, CompareArgs, CompareFormat, Format, RunArgs, Seeds};
use crate::failure::{FAILED, INTERRUPTED};
use crate::manifest;
use crate::plan::{Plan, Planned};
use crate::progress::Progress;
use crate::report::{self, ReportFile};
use crate::run::{VERSION, intention, quoted};
use crate::unfinished::Finished;
use crate::{Failure, lab, list, out, pool, terminal};

/// Checks, runs, writes and prints.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let of_lab = run_args(args, Backend::Lab, args.seeds);
    let of_sim = run_args(args, Backend::Sim, args.sim_seeds);
    let (in_lab, mut in_sim) = (Plan::new(&of_lab)?, Plan::new(&of_sim)?);
    for connection in in_sim.connections_mut() {
        if let Some(same) = braid_lab::own_of_the_kernel(connection) {
            connection.cc = Some(same.to_owned());
        }
    }
    if args.dry_run {
        return terminal::print(
            format!("lab:\n{}sim:\n{}", intention(&in_lab), intention(&in_sim)).as_bytes(),
        );
    }
    let kept = args.out.as_deref().map(|path| Kept::prepare(path, args)).transpose()?;
    let report = args.report.as_deref().map(|path| ReportFile::prepare(path, &in_sim)).transpose()?;
    let stop = pool::stop_on_signal()?;
    let lab_runs = run_lab(args, &of_lab, &in_lab, kept.as_ref(), &stop)?;
    let sim_runs = run_sim(args, &in_sim, &stop)?;

    let mut comparisons = Vec::new();
    let (of_each_lab, of_each_sim) = (in_lab.seeds_of_each(), in_sim.seeds_of_each());
    let pairs: Vec<Pair> = lab_runs.chunks(of_each_lab).zip(sim_runs.chunks(of_each_sim)).collect();
    for (scenario, &(in_lab, in_sim)) in in_lab.group_scenarios().zip(&pairs) {
        let runs =
            |finished: &[Finished]| -> Vec<Run> { finished.iter().map(|(run, _)| run.clone()).collect() };
        let (of_lab, of_sim) = (summarize(&runs(in_lab)).remove(0), summarize(&runs(in_sim)).remove(0));
        let of_lab_runs: Vec<(u64, &Measurements)> =
            in_lab.iter().filter_map(|(run, counts)| Some((run.seed, counts.as_ref()?))).collect();
        let counted: Vec<&Measurements> = of_lab_runs.iter().map(|&(_, counts)| counts).collect();
        let of_sim_runs: Vec<&Measurements> =
            in_sim.iter().filter_map(|(_, counts)| counts.as_ref()).collect();
        let mut doubts: Vec<String> = in_lab.iter().flat_map(|(run, _)| run.doubts.clone()).collect();
        doubts.sort();
        doubts.dedup();
        comparisons.push(Comparison {
            scenario: of_lab.scenario.clone(),
            cc: of_lab.cc.clone(),
            params: of_lab.params.clone(),
            duration_s: scenario.duration_ns as f64 / 1e9,
            measured_s: [scenario.warmup_ns, scenario.duration_ns - scenario.cooldown_ns]
                .map(|ns| ns as f64 / 1e9),
            sim_runs: of_sim.runs - of_sim.failed,
            lab_runs: of_lab.runs - of_lab.failed,
            doubts,
            differences: differences(
                scenario,
                Side { summary: &of_sim, counts: &of_sim_runs },
                Side { summary: &of_lab, counts: &counted },
            ),
            parting: parting(scenario, &of_sim_runs, &of_lab_runs),
        });
    }
    let all = || lab_runs.iter().chain(&sim_runs).map(|(run, _)| run);
    match args.format {
        CompareFormat::Table => terminal::print(text(&comparisons, terminal::style()).as_bytes())?,
        CompareFormat::Markdown => terminal::print(markdown(&comparisons).as_bytes())?,
        CompareFormat::Json => {
            let document = Document {
                schema_version: braid_results::SCHEMA_VERSION,
                braid_version: VERSION,
                comparisons: &comparisons,
                runs: all().collect(),
            };
            terminal::print((json(&document) + "\n").as_bytes())?;
        }
    }
    if let Some(report) = &report {
        write_report(args, report, &in_sim, &pairs)?;
        if !args.quiet {
            eprintln!("{}", report.written());
        }
    }
    if let Some(folder) = &args.overlay {
        write_overlays(folder, &in_lab, &pairs)?;
    }
    match all().find(|run| run.status != OK) {
        None => Ok(()),
        Some(run) => Err(Failure::new(
            FAILED,
            format!(
                "{} --cc {} --seeds {seed}..{seed} --backend {}: {}",
                run.scenario,
                run.cc,
                run.backend,
                run.status,
                seed = run.seed
            ),
        )),
    }
}

/// The lab's and the simulator's runs of a cell and congestion control.
type Pair<'a> = (&'a [Finished], &'a [Finished]);

/// A page where each congestion control stands twice, once for each backend.
fn write_report(args: &CompareArgs, file: &ReportFile, plan: &Plan, pairs: &[Pair]) -> Result<(), Failure> {
    let twice = plan.group_scenarios().flat_map(|scenario| [scenario, scenario]);
    let most = pairs.iter().map(|(lab, sim)| lab.len().max(sim.len())).max().unwrap_or(1);
    let selection = Selection::new(twice, most);
    let scenarios: Vec<&Scenario> = plan.group_scenarios().collect();
    let mut runs: Vec<Run> = Vec::new();
    let mut curves = Vec::new();
    let mut ends = Vec::new();
    for (pair, &(lab, sim)) in pairs.iter().enumerate() {
        for (which, finished) in [sim, lab].into_iter().enumerate() {
            for (nth, (run, counts)) in finished.iter().enumerate() {
                if let Some(counts) = counts.as_ref().filter(|_| selection.takes(2 * pair + which, nth)) {
                    curves.push((runs.len(), selection.curves(scenarios[pair], counts)));
                }
                runs.push(Run { cc: format!("{} {}", run.cc, run.backend), ..run.clone() });
            }
        }
        ends.push(runs.len());
    }
    let summary = summarize(&runs);
    let (mut parts, mut first) = (Vec::new(), 0);
    for planned in &plan.files {
        let Planned { file, specs } = planned;
        let after = first + file.cells.len() * specs.len();
        let summaries = summary[2 * first..2 * after].chunks(2 * specs.len());
        let cells =
            file.cells.iter().zip(summaries).map(|(scenario, summaries)| Cell { scenario, summaries });
        let (from, to) = (first.checked_sub(1).map_or(0, |before| ends[before]), ends[after - 1]);
        let series = curves.iter().filter(|(run, _)| (from..to).contains(run));
        parts.push(Part {
            table: Table { title: &file.title, cells: cells.collect() },
            story: &file.story,
            picture: &file.picture,
            numbers: list::numbers(&file.cells[0]),
            events: file
                .cells
                .iter()
                .map(|cell| list::events(cell).iter().map(report::event).collect())
                .collect(),
            runs: &runs[from..to],
            series: series.map(|(run, curves)| Series { run: run - from, curves }).collect(),
        });
        first = after;
    }
    let command = command(args);
    file.save(&Report { version: VERSION, command: &command, algorithms: report::algorithms(plan), parts })
}

/// The command that gives the same page.
fn command(args: &CompareArgs) -> String {
    let mut words = vec!["braid".to_owned(), "compare".to_owned()];
    words.extend(args.scenarios.iter().cloned());
    if !args.cc.is_empty() {
        words.extend(["--cc".to_owned(), args.cc.join(",")]);
    }
    for (option, Seeds { first, last }) in [("--seeds", args.seeds), ("--sim-seeds", args.sim_seeds)] {
        words.extend([option.to_owned(), format!("{first}..{last}")]);
    }
    for set in run_args(args, Backend::Sim, args.seeds).set {
        words.extend(["--set".to_owned(), set]);
    }
    words.extend(["--report".to_owned(), "report.html".to_owned()]);
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// One drawing for each cell and congestion control: the first run of each backend over each other.
fn write_overlays(folder: &Path, plan: &Plan, pairs: &[Pair]) -> Result<(), Failure> {
    let failure = |path: &Path, error| {
        Failure::writing_to(
            "--overlay",
            "the name of a folder, which is created if it is missing",
            path,
            &error,
        )
    };
    fs::create_dir_all(folder).map_err(|error| failure(folder, error))?;
    for (scenario, (lab, sim)) in plan.group_scenarios().zip(pairs) {
        let (Some((run, Some(in_lab))), Some((_, Some(in_sim)))) = (lab.first(), sim.first()) else {
            continue;
        };
        let points = |curve: Curve| -> Vec<(f64, f64)> {
            let time = |at: usize| (at as u64 * SAMPLE_INTERVAL_NS) as f64 / 1e9;
            curve.iter().enumerate().filter_map(|(at, value)| Some((time(at), (*value)?))).collect()
        };
        let both = curves(scenario, in_lab).into_iter().zip(curves(scenario, in_sim));
        let panels: Vec<Panel> = both
            .map(|((who, what, of_lab), (_, _, of_sim))| {
                let unit = match what {
                    "rtt" => "ms",
                    "rate" => "Mbit/s",
                    _ => "packets",
                };
                let lines =
                    vec![("lab".to_owned(), points(of_lab)), ("simulator".to_owned(), points(of_sim))];
                Panel { title: format!("{who}: {what}, {unit}"), lines }
            })
            .collect();
        let values = run.params.values().map(|value| format!(" {value}"));
        let name = format!("{}{} {}", run.scenario, values.collect::<String>(), run.cc);
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".=".contains(c) { c } else { '-' };
        let path = folder.join(format!("{}.svg", name.chars().map(plain).collect::<String>()));
        out::whole(&path, svg(&name, &panels).as_bytes()).map_err(|error| failure(&path, error))?;
    }
    Ok(())
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    braid_version: &'a str,
    comparisons: &'a [Comparison],
    /// The lab's, then the simulator's.
    runs: Vec<&'a Run>,
}

/// As `braid run` would be asked for one of the backends.
fn run_args(args: &CompareArgs, backend: Backend, seeds: Seeds) -> RunArgs {
    let mut set = args.set.clone();
    set.extend(args.duration.iter().map(|duration| format!("duration={duration}")));
    RunArgs {
        scenarios: args.scenarios.clone(),
        cc: args.cc.clone(),
        // Both have it.
        scheduler: Some(Scheduler::Linux.name().to_owned()),
        seeds,
        backend,
        kernel: args.kernel.clone().filter(|_| backend == Backend::Lab),
        boot: false,
        set,
        jobs: args.jobs,
        format: Format::Json,
        out: None,
        samples: false,
        events: false,
        pcap: None,
        snaplen: 0,
        report: None,
        quiet: args.quiet,
        dry_run: false,
    }
}

fn jobs(args: &CompareArgs) -> usize {
    args.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// All runs of the simulator.
fn run_sim(args: &CompareArgs, plan: &Plan, stop: &AtomicBool) -> Result<Vec<Finished>, Failure> {
    pool::keep_panics();
    let mut finished = Vec::new();
    let each = |run| {
        finished.push(run);
        ControlFlow::Continue(())
    };
    pool::in_order(plan.len(), jobs(args), stop, |number| plan.execute(number, true), each, |_| ());
    if finished.len() < plan.len() {
        let message = format!("interrupted after {} of {} runs of the simulator", finished.len(), plan.len());
        return Err(Failure::new(INTERRUPTED, message));
    }
    Ok(finished)
}

/// All runs of the lab, those kept from an earlier attempt among them, in the order of the plan. What is missing is done
/// seed by seed, so that an interrupted comparison has something of everything.
fn run_lab(
    args: &CompareArgs,
    run_args: &RunArgs,
    plan: &Plan,
    kept: Option<&Kept>,
    stop: &AtomicBool,
) -> Result<Vec<Finished>, Failure> {
    let mut finished: Vec<Option<Finished>> =
        (0..plan.len()).map(|number| kept.and_then(|kept| kept.read(plan, number))).collect();
    let of_each = plan.seeds_of_each();
    let mut missing: Vec<usize> = (0..plan.len()).filter(|&number| finished[number].is_none()).collect();
    missing.sort_by_key(|number| number % of_each);
    if !missing.is_empty() {
        let lab = lab::prepare(run_args, plan, stop)?.expect("a lab was asked for");
        let mut progress = Progress::new(plan.len(), args.quiet);
        let before = plan.len() - missing.len();
        let mut done = before;
        let mut failure = None;
        let work = |index: usize| {
            let number = missing[index];
            let run = lab::execute(&lab, plan, number, true, None, stop)?;
            if let Some(kept) = kept.filter(|_| run.0.status == OK) {
                kept.write(plan, number, &run)?;
            }
            Ok::<_, Failure>((number, run))
        };
        let each = |result| match result {
            Ok((number, run)) => {
                finished[number] = Some(run);
                done += 1;
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        };
        pool::in_order(missing.len(), jobs(args), stop, work, each, |done| progress.tick(before + done));
        progress.finish();
        if let Some(failure) = failure.filter(|failure: &Failure| failure.code != INTERRUPTED) {
            return Err(failure);
        }
        if stop.load(Ordering::Relaxed) && done < plan.len() {
            let then = match kept {
                Some(_) => "the same command goes on from there",
                None => "nothing was kept; with --out they are",
            };
            let message = format!("interrupted after {done} of {} runs of the lab; {then}", plan.len());
            return Err(Failure::new(INTERRUPTED, message));
        }
    }
    Ok(finished.into_iter().map(|run| run.expect("all are done")).collect())
}

/// The folder of `--out`: a file for each run of the lab, named after all that it was asked for.
struct Kept {
    path: PathBuf,
    /// [`braid_lab::kernel_identity`]
    kernel: String,
}

/// What such a file holds: JSON, so that it can still be read when a field is added.
#[derive(Deserialize, Serialize)]
struct Record {
    run: Run,
    counts: Option<Measurements>,
}

impl Kept {
    fn prepare(path: &Path, args: &CompareArgs) -> Result<Self, Failure> {
        let kernel = args.kernel.as_deref().unwrap_or(braid_lab::default_kernel());
        let kernel = braid_lab::kernel_identity(kernel).map_err(|error| lab::failure(&error))?;
        let writing = |error| Failure::writing(path, &error);
        fs::create_dir_all(path).map_err(writing)?;
        tempfile::tempfile_in(path).map_err(writing)?;
        Ok(Self { path: path.to_owned(), kernel })
    }

    fn file(&self, plan: &Plan, number: usize) -> PathBuf {
        let (setup, spec) = plan.get(number);
        let asked = (setup.scenario, spec.text(), setup.seed, setup.scheduler, &self.kernel);
        let scenario: String =
            setup.scenario.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let hash = manifest::hash(&asked);
        self.path.join(format!("{scenario}-{:.16}-{}.json", hash, setup.seed))
    }

    fn read(&self, plan: &Plan, number: usize) -> Option<Finished> {
        let bytes = fs::read(self.file(plan, number)).ok()?;
        let Record { run, counts } = serde_json::from_slice(&bytes).ok()?;
        Some((run, counts))
    }

    fn write(&self, plan: &Plan, number: usize, (run, counts): &Finished) -> Result<(), Failure> {
        let path = self.file(plan, number);
        let record = Record { run: run.clone(), counts: counts.clone() };
        out::whole(&path, json(&record).as_bytes()).map_err(|error| Failure::writing(&path, &error))
    }
}
