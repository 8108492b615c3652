//! The file of `--report`: written completely, and only over an earlier report.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use braid_algorithms::Spec;
use braid_report::Table;
use braid_report::html::{self, Curves, Event, MARK, Part, Report, Selection, Series};
use braid_results::Run;
use braid_results::measure::Measurements;
use braid_schedulers::Spec as Scheduler;
use braid_study::{Plan, Planned, files};

use crate::args::{Backend, RunArgs};
use crate::command::{self, VERSION};
use crate::{Failure, list};

/// More than any report has before its mark.
const HEAD: u64 = 1024;

/// A writable place for a report, and its time series so far.
pub(crate) struct ReportFile {
    path: PathBuf,
    selection: Selection,
    /// With the number of their run.
    curves: Vec<(usize, Curves)>,
}

/// Whether the report includes the time series of a run.
pub(crate) fn takes(selection: Selection, plan: &Plan, run: usize) -> bool {
    let seeds = plan.seeds_of_each();
    selection.takes(run / seeds, run % seeds)
}

impl ReportFile {
    /// Checks the place before running.
    pub(crate) fn prepare(path: &Path, plan: &Plan) -> Result<Self, Failure> {
        free(path)?;
        files::part(path).map_err(|error| failure(path, &error))?;
        let selection = Selection::new(plan.groups().map(|group| group.scenario), plan.seeds_of_each());
        Ok(Self { path: path.to_owned(), selection, curves: Vec::new() })
    }

    pub(crate) fn selection(&self) -> Selection {
        self.selection
    }

    /// Stores the page's time series of a run with samples.
    pub(crate) fn add(&mut self, plan: &Plan, run: usize, counts: &Measurements) {
        if takes(self.selection, plan, run) {
            let scenario = plan.case(run).scenario;
            self.curves.push((run, self.selection.curves(scenario, counts)));
        }
    }

    /// Writes the page.
    pub(crate) fn write(
        &self,
        args: &RunArgs,
        plan: &Plan,
        tables: Vec<Table>,
        runs: &[Run],
    ) -> Result<(), Failure> {
        let mut parts = Vec::new();
        let mut first = 0;
        for (planned, table) in plan.files().iter().zip(tables) {
            let Planned { file, specs } = planned;
            let after =
                first + file.cells.len() * specs.len() * plan.schedulers().len() * plan.seeds_of_each();
            let series = self.curves.iter().filter(|(run, _)| (first..after).contains(run));
            parts.push(Part {
                table,
                story: &file.story,
                numbers: list::numbers(&file.cells[0]),
                events: file
                    .cells
                    .iter()
                    .map(|cell| list::events(cell).iter().map(event).collect())
                    .collect(),
                runs: &runs[first..after],
                series: series.map(|(run, curves)| Series { run: run - first, curves }).collect(),
            });
            first = after;
        }
        let report =
            Report { version: VERSION, command: &command_of(args), algorithms: algorithms(plan), parts };
        self.save(&report)
    }

    /// Writes a page.
    pub(crate) fn save(&self, report: &Report) -> Result<(), Failure> {
        save(&self.path, &html::html(report))
    }

    /// Describes the written file.
    pub(crate) fn written(&self) -> String {
        format!("Wrote the report {}; open it in a browser.", self.path.display())
    }
}

/// Refuses a file that is not a report.
pub(crate) fn free(path: &Path) -> Result<(), Failure> {
    if is_free(path).map_err(|error| failure(path, &error))? {
        return Ok(());
    }
    Err(Failure::bad_input(
        format!("{} is not a report of Braid; nothing was overwritten", path.display()),
        "name another file with --report, or remove this one",
    ))
}

/// Writes a page completely, and only over an earlier report.
pub(crate) fn save(path: &Path, page: &str) -> Result<(), Failure> {
    // The file may have been created during the runs.
    match is_free(path) {
        Ok(true) => files::whole(path, page.as_bytes()),
        Ok(false) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error),
    }
    .map_err(|error| failure(path, &error))
}

/// Whether the path is free or a report.
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

pub(crate) fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::writing_to("--report", "the name of a file in a folder that is there", path, error)
}

pub(crate) fn event(event: &list::LinkEvent) -> Event {
    Event { from_ns: event.from_ns, to_ns: event.to_ns, what: format!("{} {}", event.link, event.what) }
}

/// Each spec once with its description; and each scheduler, if there are several.
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

/// The command that makes the same page, without irrelevant options.
fn command_of(args: &RunArgs) -> String {
    let mut words = vec!["braid".to_owned(), "run".to_owned()];
    words.extend(args.scenarios.iter().cloned());
    if !args.cc.is_empty() {
        words.extend(["--cc".to_owned(), args.cc.join(",")]);
    }
    if !args.scheduler.is_empty() {
        words.extend(["--scheduler".to_owned(), args.scheduler.join(",")]);
    }
    for file in &args.algorithm {
        words.extend(["--algorithm".to_owned(), file.display().to_string()]);
    }
    if args.backend != Backend::Sim {
        words.extend(["--backend".to_owned(), args.backend.name().to_owned()]);
    }
    if let Some(kernel) = &args.kernel {
        words.extend(["--kernel".to_owned(), kernel.clone()]);
    }
    let seeds = match (args.seeds.first(), args.seeds.last()) {
        (1, last) => last.to_string(),
        (first, last) => format!("{first}..{last}"),
    };
    words.extend(["--seeds".to_owned(), seeds]);
    for set in &args.set {
        words.extend(["--set".to_owned(), set.clone()]);
    }
    words.extend(["--report".to_owned(), "report.html".to_owned()]);
    command::line(words)
}
