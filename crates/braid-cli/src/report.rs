//! Tables of a plan, and the file of `--report`: written whole, and over nothing but an earlier report.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use braid_algorithms::Spec;
use braid_report::html::{self, Curves, MARK, Part, Report, Selection, Series};
use braid_report::{Cell, Style, Table, tables};
use braid_results::{Document, Run, Summary};
use braid_scenario::model::Scenario;
use braid_schedulers::Spec as Scheduler;
use braid_study::{Error, Event, Group, Plan, Results, Sink, files};

use crate::args::{Backend, RunArgs};
use crate::command::{self, VERSION};
use crate::{Failure, list};

/// Longer than what stands before the mark in any report.
const HEAD: u64 = 1024;

/// The summaries of a plan as tables for people.
pub(crate) fn text(plan: &Plan, summaries: &[Summary], style: Style) -> String {
    let rows = labelled(plan, summaries, |row| (&mut row.cc, &row.backend));
    let tables: Vec<Table> = by_file(plan, &rows).into_iter().map(|(_, table)| table).collect();
    self::tables(&tables, style)
}

/// The results of a plan as the JSON document.
pub(crate) fn document(results: &Results) -> String {
    Document::new(VERSION, results.runs(), results.summary()).to_json()
}

/// With several backends each is a row of its own.
fn labelled<T: Clone>(plan: &Plan, all: &[T], names: impl Fn(&mut T) -> (&mut String, &String)) -> Vec<T> {
    let mut all = all.to_vec();
    if plan.backends().len() > 1 {
        for one in &mut all {
            let (cc, backend) = names(one);
            *cc = format!("{cc} {backend}");
        }
    }
    all
}

/// One table for each file, in the order asked for, with its groups: consecutive cells that have the same rows.
fn by_file<'a>(plan: &'a Plan, summaries: &'a [Summary]) -> Vec<(Vec<Group<'a>>, Table<'a>)> {
    let groups: Vec<Group> = plan.groups().collect();
    let cells: Vec<&[Group]> = groups.chunk_by(|a, b| (a.file, a.cell) == (b.file, b.cell)).collect();
    let row = |group: &Group<'a>| (group.spec.text(), group.backend, group.scheduler);
    let alike = |a: &&[Group<'a>], b: &&[Group<'a>]| {
        a[0].file == b[0].file && a.iter().map(row).eq(b.iter().map(row))
    };
    let mut rest = summaries;
    let table = |cells: &[&[Group<'a>]]| {
        let title = &plan.files()[cells[0][0].file].file.title;
        let cell = |cell: &&[Group<'a>]| {
            let (own, others) = rest.split_at(cell.len());
            rest = others;
            Cell { scenario: cell[0].scenario, summaries: own }
        };
        let own = cells.iter().map(cell).collect();
        (cells.concat(), Table::new(title, own))
    };
    cells.chunk_by(alike).map(table).collect()
}

/// A page that can be written and is not something else, and the time series on their way into it.
pub(crate) struct Page {
    path: PathBuf,
    command: String,
    quiet: bool,
    selection: Selection,
    /// With the number of their run.
    curves: Vec<(usize, Curves)>,
}

impl Page {
    /// Checks the place before any time is spent on running.
    pub(crate) fn prepare(path: &Path, plan: &Plan, command: String, quiet: bool) -> Result<Self, Failure> {
        free(path)?;
        let most = plan.groups().filter_map(|group| group.seeds.count()).max().unwrap_or(1);
        let selection = Selection::new(plan.groups().map(|group| group.scenario), most);
        Ok(Self { path: path.to_owned(), command, quiet, selection, curves: Vec::new() })
    }
}

impl Sink for Page {
    fn samples(&self, plan: &Plan, number: usize) -> bool {
        let group = plan.group_of(number);
        self.selection.takes(group, number - plan.group(group).first)
    }

    fn collects(&self) -> bool {
        true
    }

    fn see(&mut self, plan: &Plan, event: &Event) -> Result<bool, Error> {
        if let Event::Finished(finished) = event {
            let number = finished.number;
            let wanted = finished.sampled && self.samples(plan, number);
            if let Some(counts) = finished.measurements.as_ref().filter(|_| wanted) {
                self.curves.push((number, self.selection.curves(plan.case(number).scenario, counts)));
            }
        }
        Ok(true)
    }

    fn finish(&mut self, plan: &Plan, results: &Results) -> Result<(), Error> {
        let rows = labelled(plan, results.summary(), |row| (&mut row.cc, &row.backend));
        let runs: Vec<Run> = labelled(plan, results.runs(), |run| (&mut run.cc, &run.backend));
        let part = |(groups, table): (Vec<Group>, _)| {
            let file = &plan.files()[groups[0].file].file;
            let (first, last) = (groups[0], groups[groups.len() - 1]);
            let range = first.first..last.first + last.seeds.count().unwrap_or(0);
            let series = self.curves.iter().filter(|(run, _)| range.contains(run));
            Part {
                table,
                story: &file.story,
                numbers: list::numbers(first.scenario),
                events: groups
                    .chunk_by(|a, b| a.cell == b.cell)
                    .map(|cell| events(cell[0].scenario))
                    .collect(),
                series: series.map(|(run, curves)| Series { run: run - range.start, curves }).collect(),
                runs: &runs[range],
            }
        };
        let parts = by_file(plan, &rows).into_iter().map(part).collect();
        let report = Report { version: VERSION, command: &self.command, algorithms: algorithms(plan), parts };
        save(&self.path, &html::html(&report), self.quiet)?;
        Ok(())
    }
}

/// Refuses a place that cannot be written, and a file that is something else than a report.
pub(crate) fn free(path: &Path) -> Result<(), Failure> {
    if is_free(path).map_err(|error| failure(path, &error))? {
        return files::part(path).map(drop).map_err(|error| failure(path, &error));
    }
    Err(Failure::bad_input(
        format!("{} is not a report of Braid; nothing was overwritten", path.display()),
        "name another file with --report, or remove this one",
    ))
}

/// Writes a page whole, and over nothing but an earlier report.
pub(crate) fn save(path: &Path, page: &str, quiet: bool) -> Result<(), Failure> {
    // The file may have come while the runs went on.
    match is_free(path) {
        Ok(true) => files::whole(path, page.as_bytes()),
        Ok(false) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error),
    }
    .map_err(|error| failure(path, &error))?;
    if !quiet {
        eprintln!("Wrote the report {}; open it in a browser.", path.display());
    }
    Ok(())
}

/// Whether nothing is there but perhaps a report.
fn is_free(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok(head.windows(MARK.len()).any(|window| window == MARK.as_bytes()))
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::writing_to("--report", "the name of a file in a folder that is there", path, error)
}

fn events(scenario: &Scenario) -> Vec<html::Event> {
    let event = |event: &list::LinkEvent| html::Event {
        from_ns: event.from_ns,
        to_ns: event.to_ns,
        what: format!("{} {}", event.link, event.what),
    };
    list::events(scenario).iter().map(event).collect()
}

/// Each spec once, with what its algorithm is; and each scheduler, if there are several.
pub(crate) fn algorithms(plan: &Plan) -> Vec<(String, String)> {
    let mut specs: Vec<&Spec> = Vec::new();
    for spec in plan.files().iter().flat_map(|planned| &planned.specs) {
        if specs.iter().all(|known| known.text() != spec.text()) {
            specs.push(spec);
        }
    }
    let specs = specs.into_iter().map(|spec| (spec.text().to_owned(), spec.algorithm().title().to_owned()));
    let schedulers = plan.schedulers().iter().filter(|_| plan.schedulers().len() > 1);
    let schedulers = schedulers.map(|text| {
        let title = Scheduler::parse(text).map_or("", |spec| spec.definition().title());
        (text.clone(), title.to_owned())
    });
    specs.chain(schedulers).collect()
}

/// The command that gives the same page; without what does not matter to it.
pub(crate) fn command_of(args: &RunArgs) -> String {
    let backends: &[Backend] = if args.backend == [Backend::Sim] { &[] } else { &args.backend };
    command(
        "run",
        &args.scenarios,
        &[
            ("--cc", list(&args.cc)),
            ("--scheduler", list(&args.scheduler)),
            ("--algorithm", paths(&args.algorithm)),
            ("--backend", list(&backends.iter().map(|backend| backend.name()).collect::<Vec<_>>())),
            ("--kernel", args.kernel.iter().cloned().collect()),
            ("--seeds", vec![args.seeds.to_string()]),
            ("--set", args.set.clone()),
        ],
    )
}

/// The value of an option that takes several with commas between.
pub(crate) fn list(values: &[impl AsRef<str>]) -> Vec<String> {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    if values.is_empty() { vec![] } else { vec![values.join(",")] }
}

/// The values of an option that takes one path each time.
pub(crate) fn paths(values: &[PathBuf]) -> Vec<String> {
    values.iter().map(|path| path.display().to_string()).collect()
}

/// A command that writes a page, with each value of each option.
pub(crate) fn command(name: &str, what: &[String], options: &[(&str, Vec<String>)]) -> String {
    let mut words = vec!["braid".to_owned(), name.to_owned()];
    words.extend(what.iter().cloned());
    for (option, values) in options {
        words.extend(values.iter().flat_map(|value| [(*option).to_owned(), value.clone()]));
    }
    words.extend(["--report".to_owned(), "report.html".to_owned()]);
    command::line(words)
}
