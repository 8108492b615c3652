//! `braid repro`: published experiments run again.

mod lab;
mod page;
mod search;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use braid_algorithms::{Spec, nearest};
use braid_report::repro::{self as report, Part};
use braid_results::OK;
use braid_results::claims::{
    self, Cell, Document, ExperimentResult, Figure, Names, Paper, Reproduction, Variation, Varied, Verdict,
};
use braid_scenario::{File, Source};
use braid_study::{Cancel, Event, Finished, Group, Kind, Plan, Planned, Seeds, Store};
use indexmap::IndexMap;

use crate::Failure;
use crate::args::{Backend, ReproArgs, ReproFormat};
use crate::command::VERSION;
use crate::failure::{BAD_INPUT, FAILED};
use crate::progress::Progress;
use crate::{signal, terminal};

const RESULTS: &str = "repro.json";

/// Runs what was asked for, or reads what was run, and prints it.
pub(crate) fn repro(args: &ReproArgs) -> Result<(), Failure> {
    check(args)?;
    if let Some(path) = &args.report {
        page::prepare(path)?;
    }
    let (document, pages, store) = if args.from.is_empty() {
        let Some((document, store)) = measured(args)? else { return Ok(()) };
        (document.clone(), vec![document], store)
    } else {
        let all: Vec<Document> = args.from.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        (together(args, &all)?, all, None)
    };
    if let Some(folder) = &args.out {
        write(folder, &document)?;
    }
    if let Some(mut store) = store {
        store.remove_runs()?;
    }
    if let Some(path) = &args.report {
        page::write(path, args, &pages)?;
        if !args.quiet {
            eprintln!("Wrote the report {}; open it in a browser.", path.display());
        }
    }
    if let Some(folder) = &args.dataset {
        dataset(folder, &pages)?;
        if !args.quiet {
            eprintln!("Wrote the data set to {}; dictionary.csv says what is in it.", folder.display());
        }
    }
    if side_by_side(args) {
        return Ok(());
    }
    let parts = if args.show.is_empty() { &Part::DEFAULT[..] } else { &args.show };
    let text = match args.format {
        ReproFormat::Table => report::text(&document, parts, terminal::style()),
        ReproFormat::Markdown => report::markdown(&document, parts),
        ReproFormat::Json => document.to_json(),
        ReproFormat::Csv => document.to_csv(),
    };
    terminal::print(text.as_bytes())?;
    if let Some(folder) = args.out.as_ref().filter(|_| !args.quiet) {
        eprintln!("Wrote {}.", folder.join(RESULTS).display());
    }

    let claims = document.papers.iter().flat_map(|paper| &paper.claims);
    match claims.filter(|claim| claim.verdict == Verdict::Fails).count() {
        0 => Ok(()),
        1 => Err(Failure::new(FAILED, "1 claim does not hold")),
        failed => Err(Failure::new(FAILED, format!("{failed} claims do not hold"))),
    }
}

/// Runs what was asked for, with the store that keeps the runs until the results are written; nothing if it was only asked what
/// that would be.
fn measured(args: &ReproArgs) -> Result<Option<(Document, Option<Store>)>, Failure> {
    let names = claims::names().map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
    let papers = papers(&args.what, &args.claim)?;
    if args.backend == Backend::Lab {
        return Ok(lab::document(args, &papers, &names)?.map(|document| (document, None)));
    }
    let work = Work::new(args, &papers, &names)?;
    let spaces: Vec<search::Space> = papers
        .iter()
        .enumerate()
        .filter(|_| args.search)
        .map(|(index, paper)| search::Space::new(index, paper, args.settings))
        .collect();
    let searched = search::work(args, &papers, &names, &spaces)?;
    let seeds = args.seeds.last() - args.seeds.first() + 1;
    if args.dry_run {
        let mut text = if args.search { String::new() } else { work.intention(args.seeds) };
        if args.search {
            text += &search::intention(&papers, &spaces, &searched, seeds);
        }
        terminal::print(text.as_bytes())?;
        return Ok(None);
    }
    // What is as assumed is among the settings of a search: its runs are not done twice.
    if !args.search {
        let (values, store) = work.measure(args)?;
        return Ok(Some((work.document(args, &papers, &names, &values), store)));
    }
    let (values, store) = searched.measure(args)?;
    let search = search::searches(args, &papers, &names, &spaces, &searched, &values);
    let mut firsts = searched.studies.iter().enumerate().filter(|(_, study)| study.variation.is_none());
    let results = firsts.by_ref().map(|(_, study)| {
        let cells = searched.cells(study, &values, seeds as usize);
        let experiments = study.experiments.clone();
        Reproduction { experiments, ..claims::evaluate(&papers[study.paper], &names, &cells) }
    });
    let seeds = [args.seeds.first(), args.seeds.last()];
    let document = Document {
        set: args.set.clone(),
        cc: stand_ins(&args.cc)?,
        search,
        ..Document::new(VERSION, seeds, results.collect())
    };
    Ok(Some((document, store)))
}

/// What does not go together.
fn check(args: &ReproArgs) -> Result<(), Failure> {
    match args.backend {
        Backend::Host => Err(Failure::bad_input(
            "--backend host runs one scenario at a time on this machine; papers need the simulator or the lab",
            "use --backend lab, a kernel of its own",
        )),
        Backend::Quic => Err(Failure::bad_input(
            "braid repro does not run on the backend quic: the papers are about MPTCP",
            "use --backend sim or lab; `braid run SCENARIO --backend quic` runs one of their scenarios on QUIC",
        )),
        Backend::Lab if args.search || args.sensitivity => Err(Failure::bad_input(
            "--search and --sensitivity are of the simulator: a kernel takes too long for so many runs",
            "leave --backend out, or try one setting with --set or --cc",
        )),
        Backend::Lab | Backend::Sim => Ok(()),
    }
}

/// Whether results that are there only go into a page or a data set, which take any.
fn side_by_side(args: &ReproArgs) -> bool {
    !args.from.is_empty() && args.show.is_empty() && (args.report.is_some() || args.dataset.is_some())
}

/// Writes the files of the data set, over earlier ones.
fn dataset(folder: &Path, documents: &[Document]) -> Result<(), Failure> {
    prepare(folder)?;
    let files =
        claims::dataset::files(documents, VERSION).map_err(|error| Failure::writing(folder, &error))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        braid_study::files::whole(&path, &bytes).map_err(|error| Failure::writing(&path, &error))?;
    }
    Ok(())
}

/// Documents as one, for tables: they must be about the same seeds and changes.
fn together(args: &ReproArgs, all: &[Document]) -> Result<Document, Failure> {
    let mut first = all[0].clone();
    if side_by_side(args) {
        return Ok(first);
    }
    for (document, path) in all.iter().zip(&args.from).skip(1) {
        let basis = |document: &Document| {
            (document.seeds, document.set.clone(), document.cc.clone(), document.backend.clone())
        };
        if basis(document) != basis(&first) {
            return Err(Failure::bad_input(
                format!(
                    "{} and {} have other seeds, changes or backends",
                    args.from[0].display(),
                    path.display()
                ),
                "name one --from, or add --report FILE.html, which shows them side by side",
            ));
        }
        first.papers.extend(document.papers.iter().cloned());
        first.sensitivity.extend(document.sensitivity.iter().cloned());
        first.search.extend(document.search.iter().cloned());
    }
    Ok(first)
}

/// The papers asked for, each with the experiments asked for; all that come with Braid if none is named.
fn papers(asked: &[String], claims_asked: &[String]) -> Result<Vec<Paper>, Failure> {
    let bad = |error: claims::Error| Failure::new(BAD_INPUT, error.to_string());
    let all: Vec<String> = claims::embedded().map(str::to_owned).collect();
    let mut papers: IndexMap<String, (Paper, Vec<String>)> = IndexMap::new();
    for name in if asked.is_empty() { &all } else { asked } {
        let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
        let (key, experiment) = match name.split_once('/').filter(|_| !is_file) {
            Some((key, experiment)) => (key, Some(experiment)),
            None => (name.as_str(), None),
        };
        let stem = Path::new(key).file_stem().map_or(key.into(), |stem| stem.to_string_lossy());
        let paper = if is_file {
            let text = fs::read_to_string(name).map_err(|error| {
                Failure::bad_input(
                    format!("cannot read {name}: {error}"),
                    format!("there are {}", all.join(", ")),
                )
            })?;
            Paper::parse(&stem, name, &text).map_err(bad)?
        } else {
            let found = claims::find(key).ok_or_else(|| {
                let there = instead(key, &all).unwrap_or_else(|| {
                    format!("there are {}; a file of your own ends in .toml", all.join(", "))
                });
                Failure::bad_input(format!("no paper is called \"{key}\""), there)
            })?;
            found.map_err(bad)?
        };
        let known: Vec<String> = paper.experiment.keys().cloned().collect();
        if let Some(experiment) = experiment.filter(|id| !known.iter().any(|known| known == id)) {
            return Err(Failure::bad_input(
                format!("{key} has no experiment \"{experiment}\""),
                instead(experiment, &known).unwrap_or_else(|| format!("it has {}", known.join(", "))),
            ));
        }
        let wanted = experiment.map_or(known, |id| vec![id.to_owned()]);
        papers.entry(key.to_owned()).or_insert((paper, Vec::new())).1.extend(wanted);
    }
    let papers = papers.into_values().map(|(paper, wanted)| reduced(paper, &wanted));
    if claims_asked.is_empty() {
        return Ok(papers.collect());
    }
    let papers: Vec<Paper> = papers.map(|paper| for_claims(paper, claims_asked)).collect();
    let known = |id: &String| papers.iter().flat_map(|paper| &paper.claim).any(|claim| claim.id == *id);
    match claims_asked.iter().find(|id| !known(id)) {
        Some(id) => Err(Failure::bad_input(
            format!("no claim of these papers is called \"{id}\""),
            "`braid repro PAPER --show claims --from papers/results/PAPER.json` lists them",
        )),
        None => Ok(papers.into_iter().filter(|paper| !paper.claim.is_empty()).collect()),
    }
}

/// What was meant by a misspelt name, if that can be guessed.
fn instead(wrong: &str, known: &[String]) -> Option<String> {
    nearest(wrong, known.iter().map(String::as_str)).map(|name| format!("did you mean {name}?"))
}

/// The part of a paper that these experiments decide.
fn reduced(mut paper: Paper, wanted: &[String]) -> Paper {
    if paper.experiment.keys().all(|id| wanted.contains(id)) {
        return paper;
    }
    paper.experiment.retain(|id, _| wanted.contains(id));
    paper.table.retain(|table| table.experiments().all(|id| wanted.contains(&id)));
    paper.claim.retain(|claim| {
        !claim.experiments.is_empty() && claim.experiments.iter().all(|id| wanted.contains(id))
    });
    paper
}

/// The part of a paper that decides these claims, and nothing else.
fn for_claims(mut paper: Paper, wanted: &[String]) -> Paper {
    paper.claim.retain(|claim| wanted.contains(&claim.id));
    let needed = |id: &String| paper.claim.iter().any(|claim| claim.experiments.contains(id));
    paper.experiment.retain(|id, _| needed(id));
    paper.table.clear();
    paper
}

/// What differs from what the papers' files say.
#[derive(Clone, Default)]
struct Change {
    set: Vec<String>,
    cc: IndexMap<String, String>,
    /// Experiments that all this is for; all of them if none is named.
    only: Vec<String>,
}

/// Runs that differ only in their seed.
struct Unit {
    /// Index in [`Work::files`].
    file: usize,
    cell: usize,
    spec: Spec,
    figures: Vec<Figure>,
}

/// A paper with one choice of assumptions.
struct Study {
    paper: usize,
    /// Key and description of the variation; none for what was asked for itself.
    variation: Option<usize>,
    experiments: Vec<ExperimentResult>,
    /// With the unit that each is measured in.
    cells: Vec<(Cell, usize, Vec<Figure>)>,
}

/// Everything that has to be run, each thing once.
struct Work {
    /// By scenario and changes.
    files: IndexMap<(String, Vec<String>), File>,
    units: Vec<Unit>,
    studies: Vec<Study>,
}

impl Work {
    fn new(args: &ReproArgs, papers: &[Paper], names: &Names) -> Result<Self, Failure> {
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

    fn add(
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
        // A variation may be about experiments that were not asked for.
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
        let file = braid_study::load(&Source::find(scenario)?, set)?;
        Ok(self.files.insert_full(key, file).0)
    }

    /// What `--dry-run` prints.
    fn intention(&self, seeds: Seeds) -> String {
        let mut text = String::new();
        for study in &self.studies {
            for experiment in &study.experiments {
                let settings: Vec<String> =
                    experiment.set.iter().map(|set| format!(" --set {set}")).collect();
                let cc: Vec<&str> = experiment.algorithms.values().map(String::as_str).collect();
                let (id, scenario) = (&experiment.id, &experiment.scenario);
                let _ = writeln!(text, "{id}: {scenario}{} --cc {}", settings.concat(), cc.join(","));
            }
        }
        let count = self.units.len() as u64 * (seeds.last() - seeds.first() + 1);
        let _ = writeln!(text, "{count} {}", if count == 1 { "run" } else { "runs" });
        text
    }

    /// Everything that has to be run, and the unit of each of its groups.
    fn plan(
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

    /// The figures of every run, by unit and seed; not a number where there is none.
    fn measure(&self, args: &ReproArgs) -> Result<(Vec<Vec<f64>>, Option<Store>), Failure> {
        let (plan, units) = self.plan(args.seeds, |study| study)?;
        let cancel = signal::cancel()?;
        plan.prepare(&cancel, |_| ())?;
        let open = |folder: &PathBuf| Store::open(folder, &plan, &[RESULTS.to_owned()]);
        let mut store = args.out.as_ref().map(open).transpose()?;
        let values = self.run(args, &plan, &units, store.as_mut(), &cancel)?;
        Ok((values, store))
    }

    /// The same of a plan; what is in the store is not run again. On a kernel a run that fails is only missing.
    fn run(
        &self,
        args: &ReproArgs,
        plan: &Plan,
        units: &[usize],
        store: Option<&mut Store>,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let then =
            if store.is_some() { "; the same command goes on from there" } else { "; no file was written" };
        let seeds = plan.seeds_of_each();
        let figures = |run: usize| &self.units[units[run / seeds]].figures;
        let mut execution = plan
            .execution()
            .cancel(cancel)
            .measurements()
            .samples_of(|run| args.runs.is_some() || figures(run).iter().any(Figure::needs_samples));
        if let Some(store) = store {
            execution = execution.store(store);
        }
        if let Some(jobs) = args.jobs {
            execution = execution.jobs(jobs);
        }
        let mut progress = Progress::new(plan.len(), args.quiet);
        let mut values = vec![Vec::new(); plan.len()];
        let mut failure = None;
        let done = execution.run(|event| {
            match event {
                Event::Progress { done, .. } => progress.tick(done),
                Event::Finished(finished) => {
                    let Finished { number, run, measurements, .. } = *finished;
                    let Some(counts) = measurements.filter(|_| run.status == OK) else {
                        let (cc, seed) = (&run.cc, run.seed);
                        let what = format!("{} --cc {cc} --seeds {seed}..{seed}", run.scenario);
                        if args.backend == Backend::Lab {
                            eprintln!("{what}: {}", run.status);
                            values[units[number / seeds] * seeds + number % seeds] =
                                vec![f64::NAN; figures(number).len()];
                            return ControlFlow::Continue(());
                        }
                        failure = Some(Failure::new(FAILED, format!("{what}: {}", run.status)));
                        return ControlFlow::Break(());
                    };
                    let own = figures(number).iter();
                    let own = own.map(|figure| figure.value(&run, &counts).unwrap_or(f64::NAN));
                    values[units[number / seeds] * seeds + number % seeds] = own.collect();
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        progress.finish();
        match (failure, done) {
            (Some(failure), _) => Err(failure),
            (None, Ok(_)) => Ok(values),
            (None, Err(error)) => {
                let interrupted = error.kind == Kind::Cancelled;
                let failure = Failure::from(error);
                Err(if interrupted { failure.and(then) } else { failure })
            }
        }
    }

    /// What was measured in the cells of a study; `values` are by unit and seed.
    fn cells(&self, study: &Study, values: &[Vec<f64>], seeds: usize) -> Vec<Cell> {
        let cell = |(cell, unit, figures): &(Cell, usize, Vec<Figure>)| {
            let of_unit = &values[unit * seeds..(unit + 1) * seeds];
            let place = |figure| self.units[*unit].figures.iter().position(|known| known == figure);
            let values = figures.iter().filter_map(|figure| {
                let place = place(figure)?;
                Some((figure.clone(), of_unit.iter().map(|run| run[place]).collect()))
            });
            Cell { values: values.collect(), ..cell.clone() }
        };
        study.cells.iter().map(cell).collect()
    }

    fn document(&self, args: &ReproArgs, papers: &[Paper], names: &Names, values: &[Vec<f64>]) -> Document {
        let seeds = (args.seeds.last() - args.seeds.first() + 1) as usize;
        let evaluated = |study: &Study| -> Reproduction {
            let cells = self.cells(study, values, seeds);
            let experiments = study.experiments.clone();
            Reproduction { experiments, ..claims::evaluate(&papers[study.paper], names, &cells) }
        };
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
            sensitivity,
            ..Document::new(VERSION, [args.seeds.first(), args.seeds.last()], results)
        }
    }
}

/// The unit of that cell and spec, with these figures among its own.
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

fn read(path: &Path) -> Result<Document, Failure> {
    let hint = "name a file that `braid repro --out DIR` or `--format json` wrote";
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display()), hint))?;
    Document::from_json(&text)
        .map_err(|error| Failure::bad_input(format!("{}: not a reproduction: {error}", path.display()), hint))
}

/// Checks the folder before any time is spent on running.
fn prepare(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, &error))?;
    tempfile::tempfile_in(folder).map_err(|error| Failure::writing(folder, &error)).map(drop)
}

/// Writes the results, unless other ones are there.
fn write(folder: &Path, document: &Document) -> Result<(), Failure> {
    prepare(folder)?;
    let path = folder.join(RESULTS);
    let text = document.to_json();
    match fs::read(&path) {
        Ok(there) if there == text.as_bytes() => return Ok(()),
        Ok(_) => {
            return Err(Failure::bad_input(
                format!("{} holds other results; nothing was overwritten", path.display()),
                "name another folder with --out, or remove this one",
            ));
        }
        Err(_) => {}
    }
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| Failure::writing(&path, &error))
}
