//! `braid compare`: the simulator, the lab and the QUIC stack side by side.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use braid_lab::{Kernel, Start};
use braid_report::compare::{markdown, text};
use braid_report::html::{Part, Report, Selection, Series};
use braid_report::overlay::{Panel, svg};
use braid_report::{Cell, Table};
use braid_results::compare::{Comparison, Curve, Keyed, Other, Side, curves, differences, parting};
use braid_results::measure::{Measurements, SAMPLE_INTERVAL_NS};
use braid_results::summary::summarize;
use braid_results::{OK, Run, json};
use braid_scenario::File;
use braid_scenario::model::Scenario;
use braid_study::files;
use braid_study::{
    Backend, Cancel, Case, Error, Event, Group, Kind, Outcome, Plan, Planned, Request, Seeds, Sim, Stop,
    Study,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::args::{CompareArgs, CompareFormat, Compared};
use crate::command::{self, VERSION};
use crate::failure::FAILED;
use crate::progress::Progress;
use crate::report::{self, ReportFile};
use crate::study::intention;
#[cfg(not(feature = "quic"))]
use crate::study::without_quic;
use crate::{Failure, list, signal, terminal};

/// Checks, runs, writes and prints.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let others = others(args)?;
    let kept = Kept::of(args)?.map(Arc::new);
    let needed = Arc::new(OnceLock::new());
    let beside_lab = others.contains(&Other::Lab);
    let plan_of = |other: &Other| -> Result<Plan, Failure> {
        match other {
            Other::Lab => {
                let lab = Kernel::in_guest(args.kernel.as_deref(), Start::Restored);
                let lab = Keeping { lab, kept: kept.clone(), needed: Arc::clone(&needed) };
                Ok(study(args, args.seeds).schedulers([braid_lab::SCHEDULER]).backend(lab).check()?)
            }
            Other::Quic => on_quic(study(args, args.seeds), beside_lab),
        }
    };
    let plans = others.iter().map(plan_of).collect::<Result<Vec<Plan>, _>>()?;
    let in_sim = study(args, args.sim_seeds);
    let in_sim = if beside_lab {
        // The scheduler of both.
        in_sim.schedulers([braid_lab::SCHEDULER]).backend(AsInTheLab(Sim)).check()?
    } else {
        in_sim.check()?
    };
    if args.dry_run {
        let of = |(other, plan): (&Other, &Plan)| format!("{}:\n{}", other.name(), intention(plan));
        let of_others: String = others.iter().zip(&plans).map(of).collect();
        return terminal::print(format!("{of_others}sim:\n{}", intention(&in_sim)).as_bytes());
    }
    if let Some(kept) = &kept {
        kept.prepare()?;
    }
    let report = args.report.as_deref().map(|path| ReportFile::prepare(path, &in_sim)).transpose()?;
    let cancel = signal::cancel()?;
    let then = if kept.is_some() {
        "; the same command goes on from there"
    } else {
        "; nothing was kept; with --out they are"
    };
    let mut runs_of_others = Vec::new();
    for (other, plan) in others.iter().zip(&plans) {
        if *other == Other::Lab {
            let is_kept = |run| kept.as_ref().is_some_and(|kept| kept.read(&plan.case(run)).is_some());
            let _ = needed.set(!(0..plan.len()).all(is_kept));
            runs_of_others.push(run_all(args, plan, &cancel, &format!(" of the lab{then}"))?);
        } else {
            runs_of_others.push(run_all(args, plan, &cancel, &format!(" on {}", other.noun()))?);
        }
    }
    let sim_runs = run_all(args, &in_sim, &cancel, " of the simulator")?;

    let mut stacks: Vec<Stacks> =
        sim_runs.chunks(in_sim.seeds_of_each()).map(|sim| Stacks { sim, others: Vec::new() }).collect();
    for ((other, plan), runs) in others.iter().zip(&plans).zip(&runs_of_others) {
        for (stacks, finished) in stacks.iter_mut().zip(runs.chunks(plan.seeds_of_each())) {
            stacks.others.push((*other, finished));
        }
    }
    let each = scenarios(&in_sim).zip(&stacks);
    let comparisons: Vec<Comparison> = each
        .flat_map(|(scenario, stacks)| {
            stacks.others.iter().map(|(other, finished)| comparison(scenario, stacks.sim, *other, finished))
        })
        .collect();
    let all = || runs_of_others.iter().flatten().chain(&sim_runs).map(|(run, _)| run);
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
        write_report(args, report, &in_sim, &stacks)?;
        if !args.quiet {
            eprintln!("{}", report.written());
        }
    }
    if let Some(folder) = &args.overlay {
        write_overlays(folder, &in_sim, &stacks)?;
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

/// A run, and what was measured in it.
type Finished = (Run, Option<Measurements>);
/// The runs of a cell and congestion control.
struct Stacks<'a> {
    sim: &'a [Finished],
    others: Vec<(Other, &'a [Finished])>,
}

impl<'a> Stacks<'a> {
    /// The simulator's first.
    fn all(&self) -> impl Iterator<Item = &'a [Finished]> {
        std::iter::once(self.sim).chain(self.others.iter().map(|(_, runs)| *runs))
    }
}

/// The backends beside the simulator, in order.
fn others(args: &CompareArgs) -> Result<Vec<Other>, Failure> {
    let mut others = Vec::new();
    for backend in &args.backends {
        let other = match backend {
            Compared::Sim => continue,
            Compared::Lab => Other::Lab,
            Compared::Quic => Other::Quic,
        };
        if !others.contains(&other) {
            others.push(other);
        }
    }
    if others.is_empty() || !args.backends.contains(&Compared::Sim) {
        let hint = "--backends sim,lab, sim,quic or sim,lab,quic";
        return Err(Failure::bad_input("--backends compares others with the simulator", hint));
    }
    if !others.contains(&Other::Lab) && (args.kernel.is_some() || args.out.is_some()) {
        return Err(Failure::bad_input("--kernel and --out are of the lab", "add lab to --backends"));
    }
    Ok(others)
}

#[cfg(feature = "quic")]
fn on_quic(study: Study, beside_lab: bool) -> Result<Plan, Failure> {
    let quic = braid_quic_sim::Quic::default();
    Ok(if beside_lab { study.backend(AsInTheLab(quic)) } else { study.backend(quic) }.check()?)
}

#[cfg(not(feature = "quic"))]
fn on_quic(_study: Study, _beside_lab: bool) -> Result<Plan, Failure> {
    Err(without_quic())
}

/// One cell and congestion control in the simulator and on another backend.
fn comparison(scenario: &Scenario, sim: &[Finished], other: Other, finished: &[Finished]) -> Comparison {
    let runs = |finished: &[Finished]| -> Vec<Run> { finished.iter().map(|(run, _)| run.clone()).collect() };
    let (of_other, of_sim) = (summarize(&runs(finished)).remove(0), summarize(&runs(sim)).remove(0));
    let of_other_runs: Vec<(u64, &Measurements)> =
        finished.iter().filter_map(|(run, counts)| Some((run.seed, counts.as_ref()?))).collect();
    let counted: Vec<&Measurements> = of_other_runs.iter().map(|&(_, counts)| counts).collect();
    let of_sim_runs: Vec<&Measurements> = sim.iter().filter_map(|(_, counts)| counts.as_ref()).collect();
    let mut doubts: Vec<String> = finished.iter().flat_map(|(run, _)| run.doubts.clone()).collect();
    doubts.sort();
    doubts.dedup();
    let key = match other {
        Other::Lab => "lab_runs",
        Other::Quic => "quic_runs",
    };
    let of_sim_side = Side { summary: &of_sim, counts: &of_sim_runs };
    let of_other_side = Side { summary: &of_other, counts: &counted };
    Comparison {
        scenario: of_other.scenario.clone(),
        cc: of_other.cc.clone(),
        params: of_other.params.clone(),
        backend: other,
        duration_s: scenario.duration_ns as f64 / 1e9,
        measured_s: [scenario.warmup_ns, scenario.duration_ns - scenario.cooldown_ns]
            .map(|ns| ns as f64 / 1e9),
        sim_runs: of_sim.runs - of_sim.failed,
        other_runs: Keyed { key, value: of_other.runs - of_other.failed },
        doubts,
        differences: differences(scenario, of_sim_side, other, of_other_side),
        parting: parting(scenario, &of_sim_runs, other, &of_other_runs),
    }
}

/// A page with each congestion control once per backend.
fn write_report(
    args: &CompareArgs,
    file: &ReportFile,
    plan: &Plan,
    stacks: &[Stacks],
) -> Result<(), Failure> {
    let n = 1 + stacks.first().map_or(0, |stacks| stacks.others.len());
    let each = scenarios(plan).flat_map(|scenario| vec![scenario; n]);
    let most = stacks.iter().flat_map(Stacks::all).map(<[Finished]>::len).max().unwrap_or(1);
    let selection = Selection::new(each, most);
    let scenarios: Vec<&Scenario> = scenarios(plan).collect();
    let mut runs: Vec<Run> = Vec::new();
    let mut curves = Vec::new();
    let mut ends = Vec::new();
    for (place, stacks) in stacks.iter().enumerate() {
        for (which, finished) in stacks.all().enumerate() {
            for (nth, (run, counts)) in finished.iter().enumerate() {
                if let Some(counts) = counts.as_ref().filter(|_| selection.takes(n * place + which, nth)) {
                    curves.push((runs.len(), selection.curves(scenarios[place], counts)));
                }
                runs.push(Run { cc: format!("{} {}", run.cc, run.backend), ..run.clone() });
            }
        }
        ends.push(runs.len());
    }
    let summary = summarize(&runs);
    let (mut parts, mut first) = (Vec::new(), 0);
    for planned in plan.files() {
        let Planned { file, specs } = planned;
        let after = first + file.cells.len() * specs.len();
        let summaries = summary[n * first..n * after].chunks(n * specs.len());
        let cells =
            file.cells.iter().zip(summaries).map(|(scenario, summaries)| Cell { scenario, summaries });
        let (from, to) = (first.checked_sub(1).map_or(0, |before| ends[before]), ends[after - 1]);
        let series = curves.iter().filter(|(run, _)| (from..to).contains(run));
        parts.push(Part {
            table: Table::new(&file.title, cells.collect()),
            story: &file.story,
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
    let command = command_of(args);
    file.save(&Report { version: VERSION, command: &command, algorithms: report::algorithms(plan), parts })
}

/// The command that makes the same page.
fn command_of(args: &CompareArgs) -> String {
    let mut words = vec!["braid".to_owned(), "compare".to_owned()];
    words.extend(args.scenarios.iter().cloned());
    if !args.cc.is_empty() {
        words.extend(["--cc".to_owned(), args.cc.join(",")]);
    }
    if args.backends.contains(&Compared::Quic) {
        let lab = if args.backends.contains(&Compared::Lab) { "lab," } else { "" };
        words.extend(["--backends".to_owned(), format!("sim,{lab}quic")]);
    }
    for (option, seeds) in [("--seeds", args.seeds), ("--sim-seeds", args.sim_seeds)] {
        words.extend([option.to_owned(), format!("{}..{}", seeds.first(), seeds.last())]);
    }
    for set in set(args) {
        words.extend(["--set".to_owned(), set]);
    }
    words.extend(["--report".to_owned(), "report.html".to_owned()]);
    command::line(words)
}

/// One drawing for each cell and congestion control: the first run of each backend over each other.
fn write_overlays(folder: &Path, plan: &Plan, stacks: &[Stacks]) -> Result<(), Failure> {
    let failure = |path: &Path, error| {
        Failure::writing_to(
            "--overlay",
            "the name of a folder, which is created if it is missing",
            path,
            &error,
        )
    };
    fs::create_dir_all(folder).map_err(|error| failure(folder, error))?;
    for (scenario, stacks) in scenarios(plan).zip(stacks) {
        let Some((run, Some(in_sim))) = stacks.sim.first() else { continue };
        let of_others = stacks.others.iter().filter_map(|(other, finished)| {
            let (_, counts) = finished.first()?;
            Some((other.name(), curves(scenario, counts.as_ref()?)))
        });
        let of_others: Vec<_> = of_others.collect();
        if of_others.is_empty() {
            continue;
        }
        let points = |curve: &Curve| -> Vec<(f64, f64)> {
            let time = |at: usize| (at as u64 * SAMPLE_INTERVAL_NS) as f64 / 1e9;
            curve.iter().enumerate().filter_map(|(at, value)| Some((time(at), (*value)?))).collect()
        };
        let panel = |(place, (who, what, of_sim)): (usize, (String, &str, Curve))| {
            let unit = match what {
                "rtt" => "ms",
                "rate" => "Mbit/s",
                _ => "packets",
            };
            let others =
                of_others.iter().map(|(name, curves)| ((*name).to_owned(), points(&curves[place].2)));
            let simulator = std::iter::once(("simulator".to_owned(), points(&of_sim)));
            Panel { title: format!("{who}: {what}, {unit}"), lines: others.chain(simulator).collect() }
        };
        let panels: Vec<Panel> = curves(scenario, in_sim).into_iter().enumerate().map(panel).collect();
        let values = run.params.values().map(|value| format!(" {value}"));
        let name = format!("{}{} {}", run.scenario, values.collect::<String>(), run.cc);
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".=".contains(c) { c } else { '-' };
        let path = folder.join(format!("{}.svg", name.chars().map(plain).collect::<String>()));
        files::whole(&path, svg(&name, &panels).as_bytes()).map_err(|error| failure(&path, error))?;
    }
    Ok(())
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    braid_version: &'a str,
    comparisons: &'a [Comparison],
    /// The other backends' runs, then the simulator's.
    runs: Vec<&'a Run>,
}

/// The study of each backend.
fn study(args: &CompareArgs, seeds: Seeds) -> Study {
    let study = set(args).into_iter().fold(Study::new(args.scenarios.iter().cloned()), Study::set);
    study.algorithms(&args.cc).seeds(seeds)
}

fn set(args: &CompareArgs) -> Vec<String> {
    let duration = args.duration.iter().map(|duration| format!("duration={duration}"));
    args.set.iter().cloned().chain(duration).collect()
}

/// Scenario of each group of runs.
fn scenarios(plan: &Plan) -> impl Iterator<Item = &Scenario> {
    plan.groups().map(|group| group.scenario)
}

/// All runs of a plan, with samples.
fn run_all(args: &CompareArgs, plan: &Plan, cancel: &Cancel, of: &str) -> Result<Vec<Finished>, Failure> {
    let mut execution = plan.execution().cancel(cancel).samples();
    if let Some(jobs) = args.jobs {
        execution = execution.jobs(jobs);
    }
    let mut progress = Progress::new(plan.len(), args.quiet);
    let mut finished = Vec::new();
    let done = execution.run(|event| {
        match event {
            Event::Preparing(what) if !args.quiet => eprintln!("lab: {what}"),
            Event::Progress { done, .. } => progress.tick(done),
            Event::Finished(one) => finished.push((one.run, one.measurements)),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    progress.finish();
    match done {
        Ok(_) => Ok(finished),
        Err(error) => {
            let interrupted = error.kind == Kind::Cancelled;
            let failure = Failure::from(error);
            Err(if interrupted { failure.and(of) } else { failure })
        }
    }
}

/// A backend with the kernel's own algorithms where the lab has them.
struct AsInTheLab<B>(B);

impl<B: Backend> Backend for AsInTheLab<B> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        self.0.scheduler(name)
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        self.0.check(file, cell)
    }

    fn adapt(&self, cell: &mut Scenario) {
        for connection in &mut cell.connections {
            if let Some(same) = braid_lab::own_of_the_kernel(connection) {
                connection.cc = Some(same);
            }
        }
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        self.0.identity(group)
    }

    fn computes(&self) -> bool {
        self.0.computes()
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.0.run(request)
    }
}

/// The lab with stored runs, since they take long.
struct Keeping {
    lab: Kernel,
    kept: Option<Arc<Kept>>,
    /// Whether any run is missing; else the lab need not be prepared.
    needed: Arc<OnceLock<bool>>,
}

impl Backend for Keeping {
    fn name(&self) -> &'static str {
        self.lab.name()
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        self.lab.scheduler(name)
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        self.lab.check(file, cell)
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        self.lab.identity(group)
    }

    fn prepare(
        &self,
        scenarios: &[&Scenario],
        cancel: &Cancel,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let needed = self.needed.get().is_none_or(|needed| *needed);
        if needed { self.lab.prepare(scenarios, cancel, say) } else { Ok(()) }
    }

    fn computes(&self) -> bool {
        false
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        let Some(kept) = &self.kept else { return self.lab.run(request) };
        let case = request.case;
        if let Some(outcome) = kept.read(&case) {
            return Ok(outcome);
        }
        let outcome = self.lab.run(request)?;
        kept.write(&case, &outcome).map_err(|failure| Stop::All(failure.into()))?;
        Ok(outcome)
    }
}

/// The folder of `--out`: a file for each run of the lab, named by all its inputs.
struct Kept {
    path: PathBuf,
    /// [`braid_lab::kernel_identity`]
    kernel: String,
}

/// Content of such a file: JSON, so that it stays readable when a field is added.
#[derive(Deserialize, Serialize)]
struct Record {
    run: Run,
    counts: Option<Measurements>,
}

impl Kept {
    fn of(args: &CompareArgs) -> Result<Option<Self>, Failure> {
        let Some(path) = args.out.clone() else { return Ok(None) };
        let kernel = args.kernel.as_deref().unwrap_or(braid_lab::default_kernel());
        let kernel = braid_lab::kernel_identity(kernel).map_err(Error::from)?;
        Ok(Some(Self { path, kernel }))
    }

    /// Creates the folder if necessary, and checks that it is writable.
    fn prepare(&self) -> Result<(), Failure> {
        let writing = |error| Failure::writing(&self.path, &error);
        fs::create_dir_all(&self.path).map_err(writing)?;
        tempfile::tempfile_in(&self.path).map_err(writing).map(drop)
    }

    fn file(&self, case: &Case) -> PathBuf {
        let asked = (case.scenario, case.spec.text(), case.seed, case.scheduler, &self.kernel);
        let scenario: String =
            case.scenario.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let hash = Sha256::digest(format!("{asked:?}"));
        let hash = hash[..8].iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        self.path.join(format!("{scenario}-{hash}-{}.json", case.seed))
    }

    fn read(&self, case: &Case) -> Option<Outcome> {
        let bytes = fs::read(self.file(case)).ok()?;
        let Record { run, counts } = serde_json::from_slice(&bytes).ok()?;
        Some(Outcome { measurements: counts?, environment: run.environment, doubts: run.doubts })
    }

    fn write(&self, case: &Case, outcome: &Outcome) -> Result<(), Failure> {
        let path = self.file(case);
        let mut run = case.setup().measured(&outcome.measurements);
        run.environment.clone_from(&outcome.environment);
        run.doubts.clone_from(&outcome.doubts);
        let record = Record { run, counts: Some(outcome.measurements.clone()) };
        files::whole(&path, json(&record).as_bytes()).map_err(|error| Failure::writing(&path, &error))
    }
}
