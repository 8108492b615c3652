//! The folder of `--out`: results that are complete and of these runs, or absent.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use braid_results::Run;
use braid_results::measure::Measurements;
use braid_results::parquet::Writer;
use braid_results::table::{self, FLOWS, LINKS, PERIODS, QUEUES, RUNS, Row, SAMPLES, TRANSFERS, Table};
use braid_study::files::{part, publish};
use braid_study::{Plan, Store};
use serde::Deserialize;
use tempfile::NamedTempFile;

use crate::Failure;
use crate::command::VERSION;

const RESULTS: &str = "results.json";
const TABLE: &str = "table.txt";
const LOG: &str = "log.txt";
/// Samples per write: few enough for the memory, enough to compress well.
const PORTION: usize = 1 << 16;

/// The results of a plan, being written to a folder.
pub(crate) struct Folder {
    store: Store,
}

impl Folder {
    /// Creates the folder if necessary, and checks everything before running.
    pub(crate) fn open(path: &Path, plan: &Plan) -> Result<Self, Failure> {
        let mut store = Store::open(path, plan, &of_results())?;
        if !store.has_runs() && store.file(RESULTS).exists() {
            let results =
                store.read(RESULTS)?.and_then(|bytes| serde_json::from_slice::<Results>(&bytes).ok());
            store.complete(plan, results.map_or_else(Vec::new, |results| results.runs))?;
        }
        Ok(Self { store })
    }

    /// Store of runs until all are done.
    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Whether the samples of all runs are stored.
    pub(crate) fn has_samples(&self) -> bool {
        let mut samples = [&SAMPLES, &QUEUES, &TRANSFERS].into_iter();
        self.store.is_complete() && samples.all(|table| self.store.file(&file_of(table)).exists())
    }

    /// Begins the sample files. They are renamed by [`Folder::write`].
    pub(crate) fn samples(&self) -> Result<Samples, Failure> {
        Ok(Samples {
            subflows: self.begin(&SAMPLES)?,
            links: self.begin(&QUEUES)?,
            transfers: self.begin(&TRANSFERS)?,
            waiting: Vec::new(),
            rows_waiting: 0,
        })
    }

    fn begin(&self, table: &'static Table) -> Result<Part, Failure> {
        let name = file_of(table);
        let path = self.store.file(&name);
        let begin = || {
            let file = part(&path)?;
            let writer = Writer::new(file.as_file().try_clone()?, table, VERSION)?;
            Ok((file, writer))
        };
        let (file, writer) = begin().map_err(|error| Failure::writing(&path, &error))?;
        Ok(Part { file, writer, path })
    }

    /// Writes the results, the tables and the samples if any, and appends to the log.
    pub(crate) fn write(
        &mut self,
        runs: &[Run],
        results: &str,
        table: &str,
        samples: Option<Samples>,
        log: &str,
    ) -> Result<(), Failure> {
        match self.store.read(RESULTS)? {
            Some(there) if there == results.as_bytes() => {}
            Some(_) => {
                let holds = format!("other {RESULTS} of the same runs (it or braid has changed)");
                return Err(self.store.taken(&holds).into());
            }
            None => self.store.write(RESULTS, results.as_bytes())?,
        }
        self.store.write(TABLE, table.as_bytes())?;
        let mut tables =
            vec![(&RUNS, table::runs(runs)), (&FLOWS, table::flows(runs)), (&LINKS, table::links(runs))];
        if runs.iter().any(|run| !run.periods.is_empty()) {
            tables.push((&PERIODS, table::periods(runs)));
        }
        for (table, rows) in tables {
            let name = file_of(table);
            let bytes =
                parquet(table, &rows).map_err(|error| Failure::writing(&self.store.file(&name), &error))?;
            self.store.write(&name, &bytes)?;
        }
        if let Some(samples) = samples {
            samples.finish()?;
        }
        self.store.remove_runs()?;
        let path = self.store.file(LOG);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| Failure::writing(&path, &error))?;
        file.write_all(log.as_bytes()).map_err(|error| Failure::writing(&path, &error))
    }

    /// Describes the written files.
    pub(crate) fn written(&self, samples: bool) -> String {
        let with_samples = if samples { ", those of the samples" } else { "" };
        format!(
            "Wrote {RESULTS}, {TABLE}, the Parquet tables{with_samples} and {LOG} to {}.",
            self.store.path().display()
        )
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

/// Files that depend on the manifest.
fn of_results() -> Vec<String> {
    [RESULTS, TABLE, LOG]
        .into_iter()
        .map(str::to_owned)
        .chain(table::TABLES.into_iter().map(file_of))
        .collect()
}

/// The samples of all runs, being written.
pub(crate) struct Samples {
    subflows: Part,
    links: Part,
    transfers: Part,
    waiting: Vec<(u64, Run, Measurements)>,
    rows_waiting: usize,
}

/// A temporary file.
struct Part {
    file: NamedTempFile,
    writer: Writer<File>,
    path: PathBuf,
}

impl Part {
    fn write(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.writer.write(rows).map_err(|error| Failure::writing(&self.path, &error))
    }

    fn finish(self) -> Result<(), Failure> {
        let Self { file, writer, path } = self;
        let finish = || {
            writer.finish()?;
            publish(file, &path)
        };
        finish().map_err(|error| Failure::writing(&path, &error))
    }
}

impl Samples {
    /// Adds the samples of the run with this number; runs come in order.
    pub(crate) fn add(&mut self, number: u64, run: &Run, counts: Measurements) -> Result<(), Failure> {
        let subflows = counts.connections.iter().flat_map(|connection| &connection.subflows);
        self.rows_waiting += subflows.map(|subflow| subflow.samples.len()).sum::<usize>();
        self.rows_waiting += counts.connections.iter().map(|own| own.transfers.len()).sum::<usize>();
        self.waiting.push((number, run.clone(), counts));
        if self.rows_waiting >= PORTION { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let waiting = &self.waiting;
        let subflows: Vec<Row> =
            waiting.iter().flat_map(|(number, run, counts)| table::samples(*number, run, counts)).collect();
        let links: Vec<Row> =
            waiting.iter().flat_map(|(number, run, counts)| table::queues(*number, run, counts)).collect();
        self.subflows.write(&subflows)?;
        let transfers: Vec<Row> =
            waiting.iter().flat_map(|(number, run, counts)| table::transfers(*number, run, counts)).collect();
        self.links.write(&links)?;
        self.transfers.write(&transfers)?;
        self.waiting.clear();
        self.rows_waiting = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.subflows.finish()?;
        self.links.finish()?;
        self.transfers.finish()
    }
}

/// The needed parts of a results file.
#[derive(Deserialize)]
struct Results {
    runs: Vec<Run>,
}
