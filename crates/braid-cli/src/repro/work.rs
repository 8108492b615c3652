//! What has to be run for the papers, each thing once, and what came of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use braid_algorithms::Spec;
use braid_results::OK;
use braid_results::claims::{
    self, Cell, Document, ExperimentResult, Figure, Names, Paper, Reproduction, Strip, StripSubflow,
    Variation, Varied,
};
use braid_scenario::{File, Source};
use braid_study::{Error, Event, Kind, Plan, Planned, Seeds, Sink, Store};
use indexmap::IndexMap;

use super::asked::instead;
use crate::Failure;
use crate::args::{Backend, ReproArgs};
use crate::command::VERSION;
use crate::conduct::{How, conduct};
use crate::failure::BAD_INPUT;

/// What differs from what the papers' files say.
#[derive(Clone, Default)]
pub(super) struct Change {
    pub(super) set: Vec<String>,
    pub(super) cc: IndexMap<String, String>,
    /// Experiments that all this is for; all of them if none is named.
    pub(super) only: Vec<String>,
    /// Each assignment must fit to an experiment.
    pub(super) strict: bool,
}

impl Change {
    /// `--set` and `--cc`.
    pub(super) fn asked(args: &ReproArgs) -> Result<Self, Failure> {
        Ok(Self { set: args.set.clone(), cc: stand_ins(&args.cc)?, only: Vec::new(), strict: true })
    }
}

impl From<&Variation> for Change {
    fn from(Variation { set, cc, experiments, .. }: &Variation) -> Self {
        Self { set: set.clone(), cc: cc.clone(), only: experiments.clone(), strict: false }
    }
}

/// Runs that differ only in their seed.
pub(super) struct Unit {
    /// Index in [`Work::files`].
    pub(super) file: usize,
    pub(super) cell: usize,
    spec: Spec,
    seeds: Seeds,
    figures: Vec<Figure>,
}

/// A paper, or a part of it, with one choice of assumptions.
pub(super) struct Study {
    paper: usize,
    /// Index of the variation in the paper's file; none for what was asked for itself.
    variation: Option<usize>,
    pub(super) experiments: Vec<ExperimentResult>,
    /// With the unit that each is measured in.
    pub(super) cells: Vec<(Cell, usize, Vec<Figure>)>,
}

/// What was measured of everything that had to be run.
pub(super) struct Measured {
    /// The figures of every run, by unit and seed; not a number where there is none.
    values: Vec<Vec<Vec<f64>>>,
    /// The first seed of the units that are about detection, second by second.
    strips: BTreeMap<usize, (u64, Vec<StripSubflow>)>,
}

/// Everything that has to be run, each thing once.
#[derive(Default)]
pub(super) struct Work {
    /// By scenario and changes.
    pub(super) files: IndexMap<(String, Vec<String>), File>,
    pub(super) units: Vec<Unit>,
    pub(super) studies: Vec<Study>,
}

/// Whether `--cc` names algorithms of the papers.
pub(super) fn check_stand_ins(args: &ReproArgs, papers: &[Paper]) -> Result<(), Failure> {
    let mut known: Vec<String> = papers
        .iter()
        .flat_map(|paper| paper.experiment.values())
        .flat_map(|experiment| experiment.algorithms.clone())
        .collect();
    known.sort_unstable();
    known.dedup();
    match stand_ins(&args.cc)?.keys().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::bad_input(
            format!("--cc {name}=...: no algorithm of these papers is called \"{name}\""),
            instead(name, &known).unwrap_or_else(|| format!("they have {}", known.join(", "))),
        )),
    }
}

impl Work {
    pub(super) fn new(args: &ReproArgs, papers: &[Paper], names: &Names) -> Result<Self, Failure> {
        let asked = Change::asked(args)?;
        let mut work = Self::default();
        for (index, paper) in papers.iter().enumerate() {
            work.add(index, paper, None, std::slice::from_ref(&asked), args.seeds, names)?;
        }
        for (index, paper) in papers.iter().enumerate().filter(|_| args.sensitivity) {
            for (number, variation) in paper.variation.iter().enumerate() {
                let changes = [Change { strict: false, ..asked.clone() }, variation.into()];
                work.add(index, paper, Some(number), &changes, args.seeds, names)?;
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
        seeds: Seeds,
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
                    let unit = unit(&mut self.units, file, number, spec, seeds, &figures);
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
        let unused = |place: &usize| !used[*place] && all[*place].0.strict;
        if let Some(place) = (0..all.len()).find(unused) {
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

    /// What `--dry-run` prints.
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
        text + &self.count()
    }

    /// How many runs that are, for people.
    pub(super) fn count(&self) -> String {
        let count: u64 = self.units.iter().map(|unit| unit.seeds.last() - unit.seeds.first() + 1).sum();
        format!("{count} {}\n", if count == 1 { "run" } else { "runs" })
    }

    /// Everything that has to be run: a group for each unit.
    pub(super) fn plan(&self, args: &ReproArgs) -> Result<Plan, Failure> {
        let mut specs: Vec<Vec<Spec>> = vec![Vec::new(); self.files.len()];
        let unit = |unit: &Unit| {
            let own = &mut specs[unit.file];
            let known = own.iter().position(|known| known.text() == unit.spec.text());
            let spec = known.unwrap_or_else(|| {
                own.push(unit.spec.clone());
                own.len() - 1
            });
            braid_study::Unit { file: unit.file, cell: unit.cell, spec, seeds: unit.seeds }
        };
        let units = self.units.iter().map(unit).collect();
        let mut study = braid_study::Study::default().units(units).schedulers(&args.scheduler);
        for (file, specs) in self.files.values().zip(specs) {
            study = study.planned(Planned { file: file.clone(), specs });
        }
        #[cfg(target_os = "linux")]
        if args.backend == Backend::Lab {
            study = study.backend(braid_lab::Kernel::in_guest(None, braid_lab::Start::Restored));
        }
        Ok(study.check()?)
    }

    /// Runs everything; what is in the store is not run again.
    pub(super) fn measure(
        &self,
        args: &ReproArgs,
        plan: &Plan,
        store: Option<&mut Store>,
    ) -> Result<Measured, Failure> {
        let on_kernel = args.backend == Backend::Lab;
        let keeps_samples = on_kernel && store.is_some();
        let measured = Measured { values: vec![Vec::new(); self.units.len()], strips: BTreeMap::new() };
        let mut sink = Measuring { work: self, on_kernel, keeps_samples, measured };
        let how = How { jobs: args.jobs, quiet: args.quiet };
        conduct(plan, plan.execution(), store, &how, vec![&mut sink])?;
        Ok(sink.measured)
    }

    /// What was measured in the cells of a study.
    pub(super) fn cells(&self, study: &Study, measured: &Measured) -> Vec<Cell> {
        let cell = |(cell, unit, figures): &(Cell, usize, Vec<Figure>)| {
            let place = |figure| self.units[*unit].figures.iter().position(|known| known == figure);
            let values = figures.iter().filter_map(|figure| {
                let place = place(figure)?;
                Some((figure.clone(), measured.values[*unit].iter().map(|run| run[place]).collect()))
            });
            Cell { values: values.collect(), ..cell.clone() }
        };
        study.cells.iter().map(cell).collect()
    }

    /// A paper beside what was measured in studies of its parts.
    fn reproduction(
        &self,
        studies: &[&Study],
        paper: &Paper,
        names: &Names,
        measured: &Measured,
    ) -> Reproduction {
        let cells: Vec<Cell> = studies.iter().flat_map(|study| self.cells(study, measured)).collect();
        Reproduction {
            experiments: studies.iter().flat_map(|study| study.experiments.clone()).collect(),
            strips: studies.iter().flat_map(|study| strips(study, measured)).collect(),
            ..claims::evaluate(paper, names, &cells)
        }
    }

    pub(super) fn document(
        &self,
        args: &ReproArgs,
        papers: &[Paper],
        names: &Names,
        measured: &Measured,
    ) -> Result<Document, Failure> {
        let of_paper = |(index, paper): (usize, &Paper)| {
            let own = |study: &&Study| study.paper == index && study.variation.is_none();
            let own: Vec<&Study> = self.studies.iter().filter(own).collect();
            self.reproduction(&own, paper, names, measured)
        };
        let results: Vec<Reproduction> = papers.iter().enumerate().map(of_paper).collect();
        let varied = self.studies.iter().filter(|_| args.sensitivity).filter_map(|study| {
            let paper = &papers[study.paper];
            let variation = &paper.variation[study.variation?];
            let result = self.reproduction(&[study], paper, names, measured);
            let (counts, changed) = Varied::of(&results[study.paper], &result);
            Some(Varied {
                paper: paper.key.clone(),
                id: variation.id.clone(),
                what: variation.what.clone(),
                set: variation.set.clone(),
                cc: variation.cc.clone(),
                counts,
                changed,
            })
        });
        let sensitivity = varied.collect();
        let last = self.units.iter().map(|unit| unit.seeds.last()).max().unwrap_or(args.seeds.first());
        Ok(Document {
            backend: args.backend.name().to_owned(),
            set: args.set.clone(),
            cc: stand_ins(&args.cc)?,
            scheduler: args.scheduler.clone(),
            sensitivity,
            ..Document::new(VERSION, [args.seeds.first(), last], results)
        })
    }
}

/// The unit of that cell, spec and seeds, with these figures among its own.
fn unit(
    units: &mut Vec<Unit>,
    file: usize,
    cell: usize,
    spec: &Spec,
    seeds: Seeds,
    figures: &[Figure],
) -> usize {
    let same = |unit: &Unit| {
        (unit.file, unit.cell, unit.seeds) == (file, cell, seeds) && unit.spec.text() == spec.text()
    };
    let index = units.iter().position(same).unwrap_or_else(|| {
        units.push(Unit { file, cell, spec: spec.clone(), seeds, figures: Vec::new() });
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

/// Takes the figures of all runs.
struct Measuring<'a> {
    work: &'a Work,
    /// There a run that fails is only missing.
    on_kernel: bool,
    /// Other figures may be asked for later.
    keeps_samples: bool,
    measured: Measured,
}

impl Measuring<'_> {
    /// Whether the run goes into a strip, second by second.
    fn is_stripped(&self, plan: &Plan, number: usize) -> bool {
        let unit = plan.group_of(number);
        plan.group(unit).first == number && self.work.units[unit].figures.iter().any(Figure::of_detection)
    }
}

impl Sink for Measuring<'_> {
    fn samples(&self, plan: &Plan, number: usize) -> bool {
        let figures = &self.work.units[plan.group_of(number)].figures;
        self.keeps_samples || self.is_stripped(plan, number) || figures.iter().any(Figure::needs_samples)
    }

    fn see(&mut self, plan: &Plan, event: &Event) -> Result<bool, Error> {
        let Event::Finished(finished) = event else { return Ok(true) };
        let (number, run) = (finished.number, &finished.run);
        let unit = plan.group_of(number);
        let figures = &self.work.units[unit].figures;
        let Some(counts) = finished.measurements.as_ref().filter(|_| run.status == OK) else {
            if !self.on_kernel {
                return Err(Error::new(Kind::Failed, finished.which()));
            }
            eprintln!("{}", finished.which());
            self.measured.values[unit].push(vec![f64::NAN; figures.len()]);
            return Ok(true);
        };
        let values = figures.iter().map(|figure| figure.value(run, counts).unwrap_or(f64::NAN));
        self.measured.values[unit].push(values.collect());
        if self.is_stripped(plan, number) {
            let subflows = StripSubflow::of(run, counts);
            if !subflows.is_empty() {
                self.measured.strips.insert(unit, (run.seed, subflows));
            }
        }
        Ok(true)
    }
}

/// Of the cells of a study that are about detection.
fn strips(study: &Study, measured: &Measured) -> Vec<Strip> {
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

/// Whether the scenario has the table that an assignment changes; what is not in a link or connection concerns all.
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
fn stand_ins(texts: &[String]) -> Result<IndexMap<String, String>, Failure> {
    let mut stand_ins = IndexMap::new();
    for text in texts {
        let (name, spec) = text.split_once('=').filter(|(name, _)| !name.contains(':')).ok_or_else(|| {
            Failure::bad_input(
                format!("--cc {text} does not name the algorithm of the paper that it replaces"),
                format!("write for instance --cc lia={text}"),
            )
        })?;
        let spec =
            Spec::parse(spec).map_err(|error| Failure::new(BAD_INPUT, format!("--cc {text}: {error}")))?;
        stand_ins.insert(name.to_owned(), spec.text().to_owned());
    }
    Ok(stand_ins)
}
