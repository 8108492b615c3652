//! `braid run` and `braid report`.

use braid_results::{json, table};
use braid_study::{Error, Event, Plan, Results, Sink, Store};

use crate::args::{Format, ReportArgs, RunArgs};
use crate::capture::Captures;
use crate::conduct::{How, conduct, failed_runs};
use crate::out::{self, Written};
use crate::report::{self, Page};
use crate::{Failure, own, study, terminal};

/// Checks, runs, writes and prints.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let captures = Captures::of(args).map(std::sync::Arc::new);
    let plan = study::plan(args, captures.as_ref())?;
    if args.dry_run {
        return terminal::print(study::intention(&plan).as_bytes());
    }
    let mut store = args.out.as_deref().map(|path| Store::open(path, &plan, &out::names())).transpose()?;
    if let Some(captures) = &captures {
        captures.prepare()?;
    }
    let mut written = store.as_ref().map(|store| Written::new(store.folder(), args.samples, args.quiet));
    let page = |path| Page::prepare(path, &plan, report::command_of(args), args.quiet);
    let mut page = args.report.as_deref().map(page).transpose()?;
    let mut printed = Printed::new(args.format);
    let mut sinks: Vec<&mut dyn Sink> = Vec::new();
    sinks.extend(written.as_mut().map(|sink| sink as &mut dyn Sink));
    sinks.extend(page.as_mut().map(|sink| sink as &mut dyn Sink));
    sinks.push(&mut printed);
    let execution = plan
        .execution()
        .time_limit(args.time_limit)
        .again(|run| captures.as_ref().is_some_and(|captures| !captures.has(run, &plan.case(run))));
    let how = How { jobs: args.jobs, quiet: args.quiet };
    let done = conduct(&plan, execution, store.as_mut(), &how, sinks)?;
    if let Some(store) = store.as_mut().filter(|_| done.runs == plan.len()) {
        store.finish()?;
    }
    failed_runs(&plan, &done)
}

/// Shows the runs of a folder.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    for file in &args.algorithm {
        own::add(file, false)?;
    }
    let (plan, mut store) = Store::complete(&args.folder)?;
    let folder = [args.folder.display().to_string()];
    let command = report::command("report", &folder, &[("--algorithm", report::paths(&args.algorithm))]);
    let page = |path| Page::prepare(path, &plan, command, args.quiet);
    let mut page = args.report.as_deref().map(page).transpose()?;
    let mut printed = Printed::new(args.format);
    let mut sinks: Vec<&mut dyn Sink> = Vec::new();
    sinks.extend(page.as_mut().map(|sink| sink as &mut dyn Sink));
    sinks.push(&mut printed);
    let how = How { jobs: None, quiet: args.quiet };
    conduct(&plan, plan.execution(), Some(&mut store), &how, sinks).map(drop)
}

/// Standard output.
struct Printed {
    format: Format,
    /// Whether it is still read.
    readers: bool,
}

impl Printed {
    fn new(format: Format) -> Self {
        Self { format, readers: true }
    }
}

impl Sink for Printed {
    fn collects(&self) -> bool {
        self.format != Format::Jsonl
    }

    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        if let (Event::Finished(finished), Format::Jsonl, true) = (event, self.format, self.readers) {
            self.readers = terminal::still_read((json(&finished.run) + "\n").as_bytes())?;
        }
        Ok(self.readers)
    }

    fn finish(&mut self, plan: &Plan, results: &Results) -> Result<(), Error> {
        let text = match self.format {
            Format::Table => report::text(plan, results.summary(), terminal::style()),
            Format::Json => report::document(results),
            Format::Jsonl => return Ok(()),
            Format::Csv => table::FLOWS.to_csv(&table::flows(results.runs())),
        };
        Ok(terminal::print(text.as_bytes())?)
    }
}
