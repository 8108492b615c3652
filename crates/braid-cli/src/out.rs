//! The files of `--out`: results that are either whole and of these very runs, or not there.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use braid_report::Style;
use braid_results::Run;
use braid_results::measure::Measurements;
use braid_results::parquet::Writer;
use braid_results::table::{self, FLOWS, LINKS, PERIODS, QUEUES, RUNS, Row, SAMPLES, TRANSFERS, Table};
use braid_study::files::{part, publish};
use braid_study::{Error, Event, Folder, Plan, Results, Sink};
use tempfile::NamedTempFile;

use crate::command::{self, VERSION};
use crate::report;

const RESULTS: &str = "results.json";
const TABLE: &str = "table.txt";
const LOG: &str = "log.txt";
/// Samples go to the disk in portions of this many: few enough for the memory, enough to compress well.
const PORTION: usize = 1 << 16;
/// The tables of samples, and their rows of a run.
const SAMPLED: [(&Table, RowsOf); 3] =
    [(&SAMPLES, table::samples), (&QUEUES, table::queues), (&TRANSFERS, table::transfers)];

type RowsOf = for<'a> fn(u64, &'a Run, &'a Measurements) -> Vec<Row<'a>>;

/// The files of a folder.
pub(crate) struct Written {
    folder: Folder,
    started: Instant,
    /// How many runs were done already.
    before: usize,
    samples: Option<Samples>,
    quiet: bool,
}

impl Written {
    /// An earlier table of samples of fewer runs is written again, too.
    pub(crate) fn new(folder: &Folder, samples: bool, quiet: bool) -> Self {
        let earlier =
            || folder.replaces() && SAMPLED.iter().any(|(table, _)| folder.file(&file_of(table)).exists());
        let samples = (samples || earlier()).then(Samples::default);
        Self { folder: folder.clone(), started: Instant::now(), before: 0, samples, quiet }
    }

    /// What differs between equal runs and so is not among the results.
    fn log(&self, runs: usize) -> String {
        let noun = if runs == 1 { "run" } else { "runs" };
        let before = if self.before > 0 { format!(" ({} done before)", self.before) } else { String::new() };
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        let seconds = self.started.elapsed().as_secs_f64();
        let line = command::line(std::env::args());
        format!("{now} braid {VERSION}, {runs} {noun}{before} in {seconds:.1} s: {line}\n")
    }
}

impl Sink for Written {
    fn samples(&self, _: &Plan, _: usize) -> bool {
        self.samples.is_some()
    }

    fn collects(&self) -> bool {
        true
    }

    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        let Event::Finished(finished) = event else { return Ok(true) };
        self.before += usize::from(finished.reused);
        if let (Some(samples), Some(counts)) = (&mut self.samples, &finished.measurements) {
            samples.add(&self.folder, finished.number as u64, &finished.run, counts)?;
        }
        Ok(true)
    }

    fn finish(&mut self, plan: &Plan, results: &Results) -> Result<(), Error> {
        let runs = results.runs();
        let folder = &self.folder;
        folder.write_results(RESULTS, report::document(results).as_bytes())?;
        folder.write(TABLE, report::text(plan, results.summary(), Style::default()).as_bytes())?;
        let mut tables =
            vec![(&RUNS, table::runs(runs)), (&FLOWS, table::flows(runs)), (&LINKS, table::links(runs))];
        if runs.iter().any(|run| !run.periods.is_empty()) {
            tables.push((&PERIODS, table::periods(runs)));
        }
        for (table, rows) in tables {
            let name = file_of(table);
            let bytes = parquet(table, &rows).map_err(|error| Error::writing(&folder.file(&name), &error))?;
            folder.write(&name, &bytes)?;
        }
        let with_samples = if self.samples.is_some() { ", those of the samples" } else { "" };
        if let Some(samples) = self.samples.take() {
            samples.finish(folder)?;
        }
        let path = folder.file(LOG);
        let add = || {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)?
                .write_all(self.log(runs.len()).as_bytes())
        };
        add().map_err(|error| Error::writing(&path, &error))?;
        if !self.quiet {
            let folder = folder.path().display();
            eprintln!("Wrote {RESULTS}, {TABLE}, the Parquet tables{with_samples} and {LOG} to {folder}.");
        }
        Ok(())
    }
}

/// A table as one file.
fn parquet(table: &'static Table, rows: &[Row]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, table, VERSION)?;
    for rows in rows.chunks(PORTION) {
        writer.write(rows)?;
    }
    writer.finish().map(|()| bytes)
}

fn file_of(table: &Table) -> String {
    format!("{}.parquet", table.name)
}

/// The files that mean nothing without the manifest.
pub(crate) fn names() -> Vec<String> {
    [RESULTS, TABLE, LOG]
        .into_iter()
        .map(str::to_owned)
        .chain(table::TABLES.into_iter().map(file_of))
        .collect()
}

/// The samples of all runs, on their way to the disk.
#[derive(Default)]
struct Samples {
    parts: Vec<Part>,
    waiting: Vec<(u64, Run, Measurements)>,
    rows_waiting: usize,
}

/// A file that has no name yet.
struct Part {
    file: NamedTempFile,
    writer: Writer<File>,
    path: PathBuf,
}

impl Part {
    fn begin(folder: &Folder, table: &'static Table) -> Result<Self, Error> {
        let path = folder.file(&file_of(table));
        let begin = || {
            let file = part(&path)?;
            let writer = Writer::new(file.as_file().try_clone()?, table, VERSION)?;
            io::Result::Ok((file, writer))
        };
        let (file, writer) = begin().map_err(|error| Error::writing(&path, &error))?;
        Ok(Self { file, writer, path })
    }

    fn finish(self) -> Result<(), Error> {
        let Self { file, writer, path } = self;
        let finish = || {
            writer.finish()?;
            publish(file, &path)
        };
        finish().map_err(|error| Error::writing(&path, &error))
    }
}

impl Samples {
    /// Takes those of the run with this number; runs come in order.
    fn add(&mut self, folder: &Folder, number: u64, run: &Run, counts: &Measurements) -> Result<(), Error> {
        let subflows = counts.connections.iter().flat_map(|connection| &connection.subflows);
        self.rows_waiting += subflows.map(|subflow| subflow.samples.len()).sum::<usize>();
        self.rows_waiting += counts.connections.iter().map(|own| own.transfers.len()).sum::<usize>();
        self.waiting.push((number, run.clone(), counts.clone()));
        if self.rows_waiting >= PORTION { self.flush(folder) } else { Ok(()) }
    }

    fn flush(&mut self, folder: &Folder) -> Result<(), Error> {
        if self.parts.is_empty() {
            self.parts =
                SAMPLED.iter().map(|(table, _)| Part::begin(folder, table)).collect::<Result<_, _>>()?;
        }
        for (part, (_, rows_of)) in self.parts.iter_mut().zip(SAMPLED) {
            let rows = self.waiting.iter().flat_map(|(number, run, counts)| rows_of(*number, run, counts));
            let rows: Vec<Row> = rows.collect();
            part.writer.write(&rows).map_err(|error| Error::writing(&part.path, &error))?;
        }
        self.waiting.clear();
        self.rows_waiting = 0;
        Ok(())
    }

    fn finish(mut self, folder: &Folder) -> Result<(), Error> {
        self.flush(folder)?;
        self.parts.into_iter().try_for_each(Part::finish)
    }
}
