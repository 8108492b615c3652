//! The runs for the papers, each once, and their results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use braid_algorithms::Spec;
use braid_results::OK;
use braid_results::claims::{
    self, Cell, Document, ExperimentResult, Figure, Names, Paper, Reproduction, Strip, StripSubflow,
    Variation, Varied,
};
use braid_scenario::{File, Source};
use braid_study::{Cancel, Event, Finished, Group, Kind, Plan, Planned, Seeds, Store};
use indexmap::IndexMap;

use super::asked::instead;
use super::files::RESULTS;
use crate::Failure;
use crate::args::{Backend, ReproArgs};
use crate::command::VERSION;
use crate::failure::{BAD_INPUT, FAILED};
use crate::progress::Progress;
use crate::signal;

/// Differences from the papers' files.
#[derive(Clone, Default)]
pub(super) struct Change {
    pub(super) set: Vec<String>,
    pub(super) cc: IndexMap<String, String>,
    /// Affected experiments; all of them if none is named.
    pub(super) only: Vec<String>,
}

/// Runs that differ only in their seed.
pub(super) struct Unit {
    /// Index in [`Work::files`].
    pub(super) file: usize,
    pub(super) cell: usize,
    spec: Spec,
    figures: Vec<Figure>,
}

/// A paper with one choice of assumptions.
pub(super) struct Study {
    pub(super) paper: usize,
    /// Key and description of the variation; `None` for the requested setting itself.
    pub(super) variation: Option<usize>,
    pub(super) experiments: Vec<ExperimentResult>,
    /// With the unit of its runs.
    pub(super) cells: Vec<(Cell, usize, Vec<Figure>)>,
}

/// Measurements of all units.
pub(super) struct Measured {
    /// The figures of every run, by unit and seed; NaN if missing.
    pub(super) values: Vec<Vec<f64>>,
    /// Labels over time in the first seed of units about detection.
    strips: BTreeMap<usize, (u64, Vec<StripSubflow>)>,
}

/// All units, each once.
pub(super) struct Work {
    /// By scenario and changes.
    pub(super) files: IndexMap<(String, Vec<String>), File>,
    pub(super) units: Vec<Unit>,
    pub(super) studies: Vec<Study>,
}

impl Work {
    pub(super) fn new(args: &ReproArgs, papers: &[Paper], names: &Names) -> Result<Self, Failure> {
        let base = Change { set: args.set.clone(), cc: stand_ins(&args.cc)?, only: Vec::new() };
        let algorithms =
            || papers.iter().flat_map(|paper| &paper.experiment).flat_map(|(_, e)| &e.algorithms);
        if let Some(name) = base.cc.keys().find(|name| !algorithms().any(|known| known == *name)) {
            let mut known: Vec<String> = algorithms().cloned().collect();
            known.sort_unstable();
            known.dedup();
            return Err(Failure::bad_input(
                format!("--cc {name}=...: no algorithm of these papers is called \"{name}\""),
                instead(name, &known).unwrap_or_else(|| format!("they have {}", known.join(", "))),
            ));
        }
        let mut work = Self { files: IndexMap::new(), units: Vec::new(), studies: Vec::new() };
        for (index, paper) in papers.iter().enumerate() {
            work.add(index, paper, None, std::slice::from_ref(&base), names)?;
        }
        for (index, paper) in papers.iter().enumerate().filter(|_| args.sensitivity) {
            for (number, variation) in paper.variation.iter().enumerate() {
                let Variation { set, cc, experiments, .. } = variation.clone();
                let changes = [base.clone(), Change { set, cc, only: experiments }];
                work.add(index, paper, Some(number), &changes, names)?;
            }
        }
        Ok(work)
    }

    pub(super) fn add(
        &mut self,
        index: usize,
        paper: &Paper,
        variation: Option<usize>,
        changes: &[Change],
        names: &Names,
    ) -> Result<(), Failure> {
        let all: Vec<(&Change, &String)> =
            changes.iter().flat_map(|change| change.set.iter().map(move |set| (change, set))).collect();
        let mut used = vec![false; all.len()];
        let mut experiments = Vec::new();
        let mut cells = Vec::new();
        for (id, experiment) in &paper.experiment {
            let concerned = |change: &Change| change.only.is_empty() || change.only.contains(id);
            let plain = self.file(&experiment.scenario, &experiment.set)?;
            let fits =
                |(change, set): &(&Change, &String)| concerned(change) && concerns(&self.files[plain], set);
            let fits: Vec<bool> = all.iter().map(fits).collect();
            let mut set = experiment.set.clone();
            for (place, (_, assignment)) in all.iter().enumerate().filter(|(place, _)| fits[*place]) {
                used[place] = true;
                set.push((*assignment).clone());
            }
            let file = self.file(&experiment.scenario, &set)?;
            let figures = claims::figures(paper, names, id);
            let mut specs = IndexMap::new();
            for name in &experiment.algorithms {
                let mut latest = changes.iter().rev().filter(|change| concerned(change));
                let changed = latest.find_map(|change| change.cc.get(name));
                let text = changed.or_else(|| names.algorithm.get(name)).unwrap_or(name);
                let spec = Spec::parse(text).map_err(|error| {
                    Failure::new(BAD_INPUT, format!("{}/{id}: algorithm {name}: {error}", paper.key))
                })?;
                specs.insert(name.clone(), spec);
            }
            let before = cells.len();
            for (number, cell) in self.files[file].cells.iter().enumerate() {
                let belongs = |(name, value): (&String, &String)| cell.parameters.get(name) == Some(value);
                if !experiment.only.iter().all(belongs) {
                    continue;
                }
                for (algorithm, spec) in &specs {
                    let cell = Cell {
                        experiment: id.clone(),
                        algorithm: algorithm.clone(),
                        parameters: cell.parameters.clone(),
                        values: IndexMap::new(),
                    };
                    let unit = unit(&mut self.units, file, number, spec, &figures);
                    cells.push((cell, unit, figures.clone()));
                }
            }
            if cells.len() == before {
                return Err(Failure::bad_input(
                    format!(
                        "{}/{id}: {} has no cell with what `where` asks for",
                        paper.key, experiment.scenario
                    ),
                    "compare with its parameters (`braid scenarios NAME` shows them)",
                ));
            }
            experiments.push(ExperimentResult {
                id: id.clone(),
                title: experiment.title.clone(),
                source: experiment.source.clone(),
                scenario: experiment.scenario.clone(),
                set,
                algorithms: specs.iter().map(|(name, spec)| (name.clone(), spec.text().to_owned())).collect(),
            });
        }
        // A variation may be about experiments that were not requested.
        if let Some(place) = used.iter().position(|used| !used).filter(|_| variation.is_none()) {
            return Err(Failure::bad_input(
                format!("--set {}: no scenario of {} has that table", all[place].1, paper.key),
                "name a link or connection of the scenarios (`braid scenarios NAME` shows them)",
            ));
        }
        self.studies.push(Study { paper: index, variation, experiments, cells });
        Ok(())
    }

    fn file(&mut self, scenario: &str, set: &[String]) -> Result<usize, Failure> {
        let key = (scenario.to_owned(), set.to_owned());
        if let Some(index) = self.files.get_index_of(&key) {
            return Ok(index);
        }
        let file = braid_scenario::load(&Source::find(scenario)?, set)?;
        Ok(self.files.insert_full(key, file).0)
    }

    /// The output of `--dry-run`.
    pub(super) fn intention(&self, args: &ReproArgs) -> String {
        let scheduler =
            args.scheduler.as_ref().map_or_else(String::new, |text| format!(" --scheduler {text}"));
        let mut text = String::new();
        for study in &self.studies {
            for experiment in &study.experiments {
                let settings: Vec<String> =
                    experiment.set.iter().map(|set| format!(" --set {set}")).collect();
                let cc: Vec<&str> = experiment.algorithms.values().map(String::as_str).collect();
                let (id, scenario) = (&experiment.id, &experiment.scenario);
                let _ =
                    writeln!(text, "{id}: {scenario}{} --cc {}{scheduler}", settings.concat(), cc.join(","));
            }
        }
        let count = self.units.len() as u64 * (args.seeds.last() - args.seeds.first() + 1);
        let _ = writeln!(text, "{count} {}", if count == 1 { "run" } else { "runs" });
        text
    }

    /// All runs, and the unit of each group.
    pub(super) fn plan(
        &self,
        seeds: Seeds,
        backend: impl Fn(braid_study::Study) -> braid_study::Study,
    ) -> Result<(Plan, Vec<usize>), Failure> {
        let none: [&str; 0] = [];
        let mut study = braid_study::Study::new(none).seeds(seeds);
        for (index, file) in self.files.values().enumerate() {
            let mut specs: Vec<Spec> = Vec::new();
            for unit in self.units.iter().filter(|unit| unit.file == index) {
                if specs.iter().all(|known| known.text() != unit.spec.text()) {
                    specs.push(unit.spec.clone());
                }
            }
            study = study.planned(Planned { file: file.clone(), specs });
        }
        let unit_of = |group: &Group| {
            self.units.iter().position(|unit| {
                (unit.file, unit.cell) == (group.file, group.cell) && unit.spec.text() == group.spec.text()
            })
        };
        let plan = backend(study).check()?.only(|group| unit_of(&group).is_some());
        let units = plan.groups().filter_map(|group| unit_of(&group)).collect();
        Ok((plan, units))
    }

    /// Runs everything in the simulator, with the store of runs.
    pub(super) fn measure(&self, args: &ReproArgs) -> Result<(Measured, Option<Store>), Failure> {
        let (plan, units) = self.plan(args.seeds, |study| study.schedulers(&args.scheduler))?;
        let cancel = signal::cancel()?;
        plan.prepare(&cancel, |_| ())?;
        let open = |folder: &PathBuf| Store::open(folder, &plan, &[RESULTS.to_owned()]);
        let mut store = args.out.as_ref().map(open).transpose()?;
        let measured = self.run(args, &plan, &units, store.as_mut(), &cancel)?;
        Ok((measured, store))
    }

    /// The same for a plan, without stored runs. On a kernel a failed run is only missing.
    pub(super) fn run(
        &self,
        args: &ReproArgs,
        plan: &Plan,
        units: &[usize],
        store: Option<&mut Store>,
        cancel: &Cancel,
    ) -> Result<Measured, Failure> {
        let then =
            if store.is_some() { "; the same command goes on from there" } else { "; no file was written" };
        let seeds = plan.seeds_of_each();
        let figures = |run: usize| &self.units[units[run / seeds]].figures;
        let stripped = |run: usize| run % seeds == 0 && figures(run).iter().any(Figure::of_detection);
        let mut execution = plan.execution().cancel(cancel).measurements().samples_of(|run| {
            args.runs.is_some() || stripped(run) || figures(run).iter().any(Figure::needs_samples)
        });
        if let Some(store) = store {
            execution = execution.store(store);
        }
        if let Some(jobs) = args.jobs {
            execution = execution.jobs(jobs);
        }
        let mut progress = Progress::new(plan.len(), args.quiet);
        let mut measured = Measured { values: vec![Vec::new(); plan.len()], strips: BTreeMap::new() };
        let mut failure = None;
        let done = execution.run(|event| {
            match event {
                Event::Progress { done, .. } => progress.tick(done),
                Event::Finished(finished) => {
                    let Finished { number, run, measurements, .. } = *finished;
                    let unit = units[number / seeds];
                    let values = &mut measured.values[unit * seeds + number % seeds];
                    let Some(counts) = measurements.filter(|_| run.status == OK) else {
                        let (cc, seed) = (&run.cc, run.seed);
                        let what = format!("{} --cc {cc} --seeds {seed}..{seed}", run.scenario);
                        if args.backend == Backend::Lab {
                            eprintln!("{what}: {}", run.status);
                            *values = vec![f64::NAN; figures(number).len()];
                            return ControlFlow::Continue(());
                        }
                        failure = Some(Failure::new(FAILED, format!("{what}: {}", run.status)));
                        return ControlFlow::Break(());
                    };
                    let own = figures(number).iter();
                    let own = own.map(|figure| figure.value(&run, &counts).unwrap_or(f64::NAN));
                    *values = own.collect();
                    let subflows =
                        if stripped(number) { StripSubflow::of(&run, &counts) } else { Vec::new() };
                    if !subflows.is_empty() {
                        measured.strips.insert(unit, (run.seed, subflows));
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        progress.finish();
        match (failure, done) {
            (Some(failure), _) => Err(failure),
            (None, Ok(_)) => Ok(measured),
            (None, Err(error)) => {
                let interrupted = error.kind == Kind::Cancelled;
                let failure = Failure::from(error);
                Err(if interrupted { failure.and(then) } else { failure })
            }
        }
    }

    /// The measurements of a study's cells.
    pub(super) fn cells(&self, study: &Study, measured: &Measured, seeds: usize) -> Vec<Cell> {
        let cell = |(cell, unit, figures): &(Cell, usize, Vec<Figure>)| {
            let of_unit = &measured.values[unit * seeds..(unit + 1) * seeds];
            let place = |figure| self.units[*unit].figures.iter().position(|known| known == figure);
            let values = figures.iter().filter_map(|figure| {
                let place = place(figure)?;
                Some((figure.clone(), of_unit.iter().map(|run| run[place]).collect()))
            });
            Cell { values: values.collect(), ..cell.clone() }
        };
        study.cells.iter().map(cell).collect()
    }

    /// The paper beside the measurements of a study.
    pub(super) fn reproduction(
        &self,
        study: &Study,
        papers: &[Paper],
        names: &Names,
        measured: &Measured,
        seeds: usize,
    ) -> Reproduction {
        let cells = self.cells(study, measured, seeds);
        Reproduction {
            experiments: study.experiments.clone(),
            strips: strips(study, measured),
            ..claims::evaluate(&papers[study.paper], names, &cells)
        }
    }

    pub(super) fn document(
        &self,
        args: &ReproArgs,
        papers: &[Paper],
        names: &Names,
        measured: &Measured,
    ) -> Document {
        let seeds = (args.seeds.last() - args.seeds.first() + 1) as usize;
        let evaluated = |study: &Study| self.reproduction(study, papers, names, measured, seeds);
        let (asked, varied): (Vec<&Study>, Vec<&Study>) =
            self.studies.iter().partition(|study| study.variation.is_none());
        let results: Vec<Reproduction> = asked.into_iter().map(&evaluated).collect();
        let sensitivity = varied.into_iter().filter_map(|study| {
            let variation = &papers[study.paper].variation[study.variation?];
            let (counts, changed) = Varied::of(&results[study.paper], &evaluated(study));
            Some(Varied {
                paper: papers[study.paper].key.clone(),
                id: variation.id.clone(),
                what: variation.what.clone(),
                set: variation.set.clone(),
                cc: variation.cc.clone(),
                counts,
                changed,
            })
        });
        let sensitivity = sensitivity.collect();
        Document {
            set: args.set.clone(),
            cc: stand_ins(&args.cc).unwrap_or_default(),
            scheduler: args.scheduler.clone(),
            sensitivity,
            ..Document::new(VERSION, [args.seeds.first(), args.seeds.last()], results)
        }
    }
}

/// For a study's cells about detection.
pub(super) fn strips(study: &Study, measured: &Measured) -> Vec<Strip> {
    let about = study.cells.iter().filter(|(.., figures)| figures.iter().any(Figure::of_detection));
    about
        .filter_map(|(cell, unit, _)| {
            let (seed, subflows) = measured.strips.get(unit)?;
            Some(Strip {
                experiment: cell.experiment.clone(),
                algorithm: cell.algorithm.clone(),
                parameters: cell.parameters.clone(),
                seed: *seed,
                subflows: subflows.clone(),
            })
        })
        .collect()
}

/// The unit of that cell and spec, extended by these figures.
fn unit(units: &mut Vec<Unit>, file: usize, cell: usize, spec: &Spec, figures: &[Figure]) -> usize {
    let same = |unit: &Unit| unit.file == file && unit.cell == cell && unit.spec.text() == spec.text();
    let index = units.iter().position(same).unwrap_or_else(|| {
        units.push(Unit { file, cell, spec: spec.clone(), figures: Vec::new() });
        units.len() - 1
    });
    let known = &mut units[index].figures;
    for figure in figures {
        if !known.contains(figure) {
            known.push(figure.clone());
        }
    }
    index
}

/// Whether the scenario has the table of an assignment; keys outside of links and connections exist in all.
fn concerns(file: &File, assignment: &str) -> bool {
    let key = assignment.split_once('=').map_or(assignment, |(key, _)| key);
    let mut parts = key.trim().split('.');
    let cell = &file.cells[0];
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("link"), Some(name), ..) => {
            cell.links.iter().any(|link| link.name.split('@').next() == Some(name))
        }
        (Some("connection"), Some(name), third, fourth) => cell.connections.iter().any(|connection| {
            let subflow = |name| connection.subflows.iter().any(|subflow| subflow.name == name);
            connection.name == name && (third != Some("subflow") || fourth.is_none_or(subflow))
        }),
        (Some("parameters"), Some(name), ..) => {
            cell.parameters.is_empty() || cell.parameters.contains_key(name)
        }
        _ => true,
    }
}

/// `--cc NAME=SPEC`.
pub(super) fn stand_ins(texts: &[String]) -> Result<IndexMap<String, String>, Failure> {
    let mut stand_ins = IndexMap::new();
    for text in texts {
        let (name, spec) = text.split_once('=').filter(|(name, _)| !name.contains(':')).ok_or_else(|| {
            Failure::bad_input(
                format!("--cc {text} does not say for which algorithm of the paper it stands"),
                format!("write for instance --cc lia={text}"),
            )
        })?;
        let spec =
            Spec::parse(spec).map_err(|error| Failure::new(BAD_INPUT, format!("--cc {text}: {error}")))?;
        stand_ins.insert(name.to_owned(), spec.text().to_owned());
    }
    Ok(stand_ins)
}
