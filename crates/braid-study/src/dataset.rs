//! Runs as Parquet files, partitioned by scenario and algorithm as other programs expect it:
//! `flows/scenario=everyday%2Fshared/algorithm=lia/data.parquet`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use braid_results::parquet::Writer;
use braid_results::table::{self, Kind, Table};
use braid_results::{OK, Run};
use tempfile::NamedTempFile;

use crate::files::{part, publish, whole};
use crate::{Error, Event, Finished, Plan, Results, Sink};

/// The file of each partition.
const FILE: &str = "data.parquet";
/// Runs go to a file in portions of this many.
const PORTION: usize = 500;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The dataset of a sweep: its files get their names together, at the end. Their bytes depend on the grid only.
pub struct Dataset {
    folder: PathBuf,
    parameters: Vec<(String, Kind)>,
    /// Tables with columns for the parameters, by name.
    tables: BTreeMap<&'static str, &'static Table>,
    /// By folder within those of the tables.
    parts: BTreeMap<String, Part>,
    summary: String,
    failed: usize,
    /// The first run that failed.
    first: String,
}

/// Runs of one scenario and algorithm.
#[derive(Default)]
struct Part {
    waiting: Vec<(u64, Run)>,
    files: BTreeMap<&'static str, Open>,
}

/// A file that has no name yet.
struct Open {
    file: NamedTempFile,
    writer: Writer<File>,
    path: PathBuf,
}

impl Dataset {
    /// The file that is there when a sweep is complete.
    pub const SUMMARY: &'static str = "sweep.txt";
    /// Folders of the dataset.
    pub const TABLES: [&'static str; 4] = ["runs", "flows", "links", "periods"];

    /// In a folder, with a column for each of these parameters (and whether they are numbers).
    pub fn new(folder: &Path, parameters: &[(String, bool)]) -> Self {
        let kind = |is_number| if is_number { Kind::Real } else { Kind::Text };
        let parameters = parameters.iter().map(|(name, is_number)| (name.clone(), kind(*is_number)));
        Self {
            folder: folder.to_owned(),
            parameters: parameters.collect(),
            tables: BTreeMap::new(),
            parts: BTreeMap::new(),
            summary: String::new(),
            failed: 0,
            first: String::new(),
        }
    }

    /// All names that it writes.
    pub fn names() -> Vec<String> {
        Self::TABLES.into_iter().chain([Self::SUMMARY]).map(str::to_owned).collect()
    }

    /// For people, once it is complete.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    fn flush(&mut self, partition: &str) -> Result<(), Error> {
        let Self { folder, parameters, tables, parts, .. } = self;
        let part = parts.get_mut(partition).expect("it was added");
        let mut rows: BTreeMap<&'static str, (&'static Table, Vec<table::Row>)> = BTreeMap::new();
        for (number, run) in &part.waiting {
            for (table, own) in table::of_run(*number, run) {
                let table = *tables.entry(table.name).or_insert_with(|| table.with_parameters(parameters));
                rows.entry(table.name).or_insert((table, Vec::new())).1.extend(own);
            }
        }
        for (name, (table, rows)) in rows {
            if rows.is_empty() {
                continue;
            }
            if !part.files.contains_key(name) {
                part.files.insert(name, Open::begin(&folder.join(name).join(partition), table)?);
            }
            let open = part.files.get_mut(name).expect("it was opened");
            open.writer.write(&rows).map_err(|error| Error::writing(&open.path, &error))?;
        }
        part.waiting.clear();
        Ok(())
    }
}

impl Sink for Dataset {
    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        let Event::Finished(finished) = event else { return Ok(true) };
        let Finished { number, run, .. } = &**finished;
        if run.status != OK {
            self.failed += 1;
            if self.first.is_empty() {
                self.first = format!("the first: {}\n", finished.which());
            }
        }
        let algorithm = run.cc.split(':').next().unwrap_or_default();
        let partition = format!("scenario={}/algorithm={}", encoded(&run.scenario), encoded(algorithm));
        let part = self.parts.entry(partition.clone()).or_default();
        part.waiting.push((*number as u64, run.clone()));
        if part.waiting.len() >= PORTION {
            self.flush(&partition)?;
        }
        Ok(true)
    }

    fn finish(&mut self, plan: &Plan, _: &Results) -> Result<(), Error> {
        let partitions: Vec<String> = self.parts.keys().cloned().collect();
        partitions.iter().try_for_each(|partition| self.flush(partition))?;
        let mut files = Vec::new();
        for open in std::mem::take(&mut self.parts).into_values().flat_map(|part| part.files.into_values()) {
            let Open { file, writer, path } = open;
            writer.finish().map_err(|error| Error::writing(&path, &error))?;
            files.push((file, path));
        }
        let (total, failed) = (plan.len(), self.failed);
        let noun = if total == 1 { "run" } else { "runs" };
        self.summary = format!("{total} {noun}, {failed} failed\n{}", self.first);
        for (file, path) in files {
            publish(file, &path).map_err(|error| Error::writing(&path, &error))?;
        }
        let path = self.folder.join(Self::SUMMARY);
        whole(&path, self.summary.as_bytes()).map_err(|error| Error::writing(&path, &error))
    }
}

impl Open {
    fn begin(folder: &Path, table: &'static Table) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let begin = || {
            fs::create_dir_all(folder)?;
            // What a killed sweep has left.
            for entry in fs::read_dir(folder)? {
                fs::remove_file(entry?.path())?;
            }
            let file = part(&path)?;
            let writer = Writer::new(file.as_file().try_clone()?, table, VERSION)?;
            io::Result::Ok((file, writer))
        };
        let (file, writer) = begin().map_err(|error| Error::writing(&path, &error))?;
        Ok(Self { file, writer, path })
    }
}

/// As programs that read such folders decode it.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
