//! `braid compare`: the simulator, the lab and the QUIC stack side by side.

use std::fs;
use std::path::Path;

use braid_lab::{Kernel, Start};
use braid_report::compare::{markdown, text};
use braid_report::overlay::{Panel, svg};
use braid_results::compare::{Comparison, Curve, Keyed, Other, Side, curves, differences, parting};
use braid_results::measure::{Measurements, SAMPLE_INTERVAL_NS};
use braid_results::summary::summarize;
use braid_results::{Run, json};
use braid_scenario::model::Scenario;
use braid_study::files;
use braid_study::{Backend, Error, Event, Group, Plan, Results, Sim, Sink, Store, Study};
use serde::Serialize;

use crate::args::{CompareArgs, CompareFormat, Compared};
use crate::command::VERSION;
use crate::conduct::{How, conduct, failed_runs};
use crate::failure::FOLDER;
use crate::report::{self, Page};
use crate::study::intention;
use crate::{Failure, terminal};

/// Checks, runs, writes and prints.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let others = others(args)?;
    let plan = plan(args, &others)?;
    if args.dry_run {
        return terminal::print(intention(&plan).as_bytes());
    }
    let mut store = args.out.as_deref().map(|path| Store::open(path, &plan, &[])).transpose()?;
    let page = |path| Page::prepare(path, &plan, command_of(args), args.quiet);
    let mut page = args.report.as_deref().map(page).transpose()?;
    let mut side_by_side = SideBySide { args, others, finished: Vec::new() };
    let mut sinks: Vec<&mut dyn Sink> = vec![&mut side_by_side];
    sinks.extend(page.as_mut().map(|page| page as &mut dyn Sink));
    let how = How { jobs: args.jobs, quiet: args.quiet };
    let done = conduct(&plan, plan.execution(), store.as_mut(), &how, sinks)?;
    if let Some(store) = &mut store {
        store.finish()?;
    }
    failed_runs(&plan, &done)
}

/// The simulator, then the others, each with its seeds.
fn plan(args: &CompareArgs, others: &[Other]) -> Result<Plan, Failure> {
    let beside_lab = others.contains(&Other::Lab);
    let beside = |backend: Box<dyn Backend>, scheduler| -> Box<dyn Backend> {
        if beside_lab { Box::new(AsInTheLab { backend, scheduler }) } else { backend }
    };
    let study = set(args).into_iter().fold(Study::new(args.scenarios.iter().cloned()), Study::set);
    let study = study.algorithms(&args.cc).seeds(args.seeds);
    let sim = beside(Box::new(Sim), Some(braid_lab::SCHEDULER));
    let mut study = study.on(sim, Some(args.sim_seeds));
    for other in others {
        study = match other {
            Other::Lab => study.backend(Kernel::in_guest(args.kernel.as_deref(), Start::Restored)),
            Other::Quic => study.on(beside(Box::<braid_quic_sim::Quic>::default(), None), None),
        };
    }
    Ok(study.check()?)
}

/// A run, and what was measured in it.
type Finished = (Run, Option<Measurements>);

/// The runs of a cell and congestion control.
struct Stacks<'a> {
    /// As the simulator has it.
    scenario: &'a Scenario,
    sim: &'a [Finished],
    others: Vec<(Other, &'a [Finished])>,
}

/// Compares, prints and draws.
struct SideBySide<'a> {
    args: &'a CompareArgs,
    others: Vec<Other>,
    finished: Vec<Finished>,
}

impl SideBySide<'_> {
    fn runs_of(&self, group: &Group) -> &[Finished] {
        &self.finished[group.first..][..group.seeds.count().unwrap_or(0)]
    }

    fn stacks<'a>(&'a self, plan: &'a Plan) -> Vec<Stacks<'a>> {
        let groups: Vec<Group> = plan.groups().collect();
        let stacks = |groups: &[Group<'a>]| Stacks {
            scenario: groups[0].scenario,
            sim: self.runs_of(&groups[0]),
            others: self
                .others
                .iter()
                .zip(&groups[1..])
                .map(|(other, group)| (*other, self.runs_of(group)))
                .collect(),
        };
        groups.chunks(1 + self.others.len()).map(stacks).collect()
    }
}

impl Sink for SideBySide<'_> {
    fn samples(&self, _: &Plan, _: usize) -> bool {
        true
    }

    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        if let Event::Finished(finished) = event {
            self.finished.push((finished.run.clone(), finished.measurements.clone()));
        }
        Ok(true)
    }

    fn finish(&mut self, plan: &Plan, _: &Results) -> Result<(), Error> {
        let stacks = self.stacks(plan);
        let comparisons: Vec<Comparison> = stacks.iter().flat_map(comparisons).collect();
        let text = match self.args.format {
            CompareFormat::Table => text(&comparisons, terminal::style()),
            CompareFormat::Markdown => markdown(&comparisons),
            CompareFormat::Json => {
                let of_others = (0..self.others.len())
                    .flat_map(|other| stacks.iter().flat_map(move |stacks| stacks.others[other].1));
                let runs = of_others.chain(stacks.iter().flat_map(|stacks| stacks.sim));
                let document = Document {
                    schema_version: braid_results::SCHEMA_VERSION,
                    braid_version: VERSION,
                    comparisons: &comparisons,
                    runs: runs.map(|(run, _)| run).collect(),
                };
                json(&document) + "\n"
            }
        };
        terminal::print(text.as_bytes())?;
        if let Some(folder) = &self.args.overlay {
            write_overlays(folder, &stacks)?;
        }
        Ok(())
    }
}

fn comparisons<'a>(stacks: &'a Stacks) -> impl Iterator<Item = Comparison> + 'a {
    stacks.others.iter().map(|(other, finished)| comparison(stacks.scenario, stacks.sim, *other, finished))
}

/// The backends beside the simulator, in the order in which they stand.
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
    if !others.contains(&Other::Lab) && args.kernel.is_some() {
        return Err(Failure::bad_input("--kernel needs the lab", "add lab to --backends"));
    }
    Ok(others)
}

/// One cell and congestion control in the simulator and elsewhere.
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

/// The command that gives the same page.
fn command_of(args: &CompareArgs) -> String {
    let lab = if args.backends.contains(&Compared::Lab) { "lab," } else { "" };
    let quic = args.backends.contains(&Compared::Quic);
    let backends = if quic { vec![format!("sim,{lab}quic")] } else { vec![] };
    let seeds = |seeds: braid_study::Seeds| vec![seeds.to_string()];
    report::command(
        "compare",
        &args.scenarios,
        &[
            ("--cc", report::list(&args.cc)),
            ("--backends", backends),
            ("--kernel", args.kernel.iter().cloned().collect()),
            ("--seeds", seeds(args.seeds)),
            ("--sim-seeds", seeds(args.sim_seeds)),
            ("--set", set(args)),
        ],
    )
}

/// One drawing for each cell and congestion control: the first run of each backend over each other.
fn write_overlays(folder: &Path, stacks: &[Stacks]) -> Result<(), Failure> {
    let failure = |path: &Path, error| Failure::writing_to("--overlay", FOLDER, path, &error);
    fs::create_dir_all(folder).map_err(|error| failure(folder, error))?;
    for stacks in stacks {
        let Some((run, Some(in_sim))) = stacks.sim.first() else { continue };
        let of_others = stacks.others.iter().filter_map(|(other, finished)| {
            let (_, counts) = finished.first()?;
            Some((other.name(), curves(stacks.scenario, counts.as_ref()?)))
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
        let panels: Vec<Panel> = curves(stacks.scenario, in_sim).into_iter().enumerate().map(panel).collect();
        let values = run.params.values().map(|value| format!(" {value}"));
        let name = format!("{}{} {}", run.scenario, values.collect::<String>(), run.cc);
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".=".contains(c) { c } else { '-' };
        let path = folder.join(format!("{}.svg", name.chars().map(plain).collect::<String>()));
        files::whole(&path, svg(&name, &panels).as_bytes()).map_err(|error| failure(&path, error))?;
    }
    Ok(())
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    braid_version: &'a str,
    comparisons: &'a [Comparison],
    /// The others', then the simulator's.
    runs: Vec<&'a Run>,
}

fn set(args: &CompareArgs) -> Vec<String> {
    let duration = args.duration.iter().map(|duration| format!("duration={duration}"));
    args.set.iter().cloned().chain(duration).collect()
}

/// Another backend, with the kernel's own algorithms where the lab has them.
struct AsInTheLab {
    backend: Box<dyn Backend>,
    /// Its default.
    scheduler: Option<&'static str>,
}

impl Backend for AsInTheLab {
    fn base(&self) -> &dyn Backend {
        &*self.backend
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        self.backend.scheduler(name.or(self.scheduler))
    }

    fn adapted(&self, cell: &Scenario) -> Option<Scenario> {
        let mut cell = cell.clone();
        let mut adapted = false;
        for connection in &mut cell.connections {
            if let Some(same) = braid_lab::own_of_the_kernel(connection) {
                connection.cc = Some(same);
                adapted = true;
            }
        }
        adapted.then_some(cell)
    }
}
