//! The folder of `--out`: results that are either whole and of these very runs, or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use braid_results::Run;
use braid_results::measure::Measurements;
use braid_results::parquet::Writer;
use braid_results::table::{self, FLOWS, LINKS, PERIODS, QUEUES, RUNS, Row, SAMPLES, TRANSFERS, Table};
use serde::Deserialize;
use tempfile::NamedTempFile;

use crate::Failure;
use crate::lab::Machine;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::run::VERSION;
use crate::unfinished::{Finished, Unfinished};

const RESULTS: &str = "results.json";
const TABLE: &str = "table.txt";
const LOG: &str = "log.txt";
const MANIFEST: &str = "manifest.json";
/// How the name of a file ends that is not whole.
const PART: &str = ".part";
/// Samples go to the disk in portions of this many: few enough for the memory, enough to compress well.
const PORTION: usize = 1 << 16;

/// A folder that can be written to and holds nothing of another run. No other program writes to it meanwhile.
pub(crate) struct Folder {
    path: PathBuf,
    unfinished: Unfinished,
    /// All results are there.
    complete: bool,
    _lock: Lock,
}

impl Folder {
    /// Creates the folder if needed, and checks everything before any time is spent on running.
    pub(crate) fn prepare(path: &Path, plan: &Plan, machine: Option<&Machine>) -> Result<Self, Failure> {
        let writing = |error| Failure::writing(path, &error);
        fs::create_dir_all(path).map_err(writing)?;
        tempfile::tempfile_in(path).map_err(writing)?;
        let lock = lock(path)?;
        let unfinished = Unfinished::of(path).map_err(writing)?;
        let mut folder = Self { path: path.to_owned(), unfinished, complete: false, _lock: lock };
        let manifest = Manifest::of(plan, machine);
        if let Some(there) = folder.read(MANIFEST)? {
            let Some(there) = Manifest::parse(&there) else {
                return Err(folder.taken(&format!("a file {MANIFEST} that Braid did not write")));
            };
            if let Some(difference) = manifest.difference(&there) {
                return Err(folder.taken(&format!("the results of other runs, {difference}")));
            }
            folder.remove_parts()?;
        } else {
            if let Some(name) = of_results().find(|name| folder.file(name).exists()) {
                return Err(folder.taken(&format!("a file {name} but no {MANIFEST}")));
            }
            folder.remove_parts()?;
            folder.whole(MANIFEST, manifest.to_json().as_bytes())?;
        }
        folder.complete = !folder.unfinished.exists() && folder.file(RESULTS).exists();
        Ok(folder)
    }

    /// The runs that are done already, as far as they can be used; in order from the first.
    pub(crate) fn finished(&mut self) -> Vec<Finished> {
        if self.complete {
            let results = fs::read(self.file(RESULTS)).ok();
            let results = results.and_then(|bytes| serde_json::from_slice::<Results>(&bytes).ok());
            return results
                .map_or_else(Vec::new, |results| results.runs.into_iter().map(|run| (run, None)).collect());
        }
        std::iter::from_fn(|| self.unfinished.read()).flatten().collect()
    }

    /// Whether the samples of all runs are there.
    pub(crate) fn has_samples(&self) -> bool {
        self.complete
            && [&SAMPLES, &QUEUES, &TRANSFERS].into_iter().all(|table| self.file(&file_of(table)).exists())
    }

    /// Keeps a run, so that it need not be done again if the rest is interrupted.
    pub(crate) fn keep(&mut self, run: &Run, counts: Option<&Measurements>) -> Result<(), Failure> {
        // What is complete needs no help; it is only run again for something that was not asked for then.
        if self.complete {
            return Ok(());
        }
        self.unfinished.add(run, counts).map_err(|error| Failure::writing(&self.path, &error))
    }

    /// Everything kept goes to the disk.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        self.unfinished.write().map_err(|error| Failure::writing(&self.path, &error))
    }

    /// What programs that were killed have left behind.
    fn remove_parts(&self) -> Result<(), Failure> {
        let remove = || {
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let of_a_file = of_results().chain([MANIFEST.to_owned()]).any(|file| name.starts_with(&file));
                if name.ends_with(PART) && of_a_file {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        remove().map_err(|error| Failure::writing(&self.path, &error))
    }

    /// Begins the files of samples. They have no names before [`Folder::write`].
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
        let path = self.file(&name);
        let begin = || {
            let file = part(&path)?;
            let writer = Writer::new(file.as_file().try_clone()?, table, VERSION)?;
            Ok((file, writer))
        };
        let (file, writer) = begin().map_err(|error| Failure::writing(&path, &error))?;
        Ok(Part { file, writer, path })
    }

    /// Writes the results, the tables and the samples if there are some, and adds to the log.
    pub(crate) fn write(
        &self,
        runs: &[Run],
        results: &str,
        table: &str,
        samples: Option<Samples>,
        log: &str,
    ) -> Result<(), Failure> {
        match self.read(RESULTS)? {
            Some(there) if there == results.as_bytes() => {}
            Some(_) => {
                return Err(
                    self.taken(&format!("other {RESULTS} of the same runs (it or braid has changed)"))
                );
            }
            None => self.whole(RESULTS, results.as_bytes())?,
        }
        self.whole(TABLE, table.as_bytes())?;
        let mut tables =
            vec![(&RUNS, table::runs(runs)), (&FLOWS, table::flows(runs)), (&LINKS, table::links(runs))];
        if runs.iter().any(|run| !run.periods.is_empty()) {
            tables.push((&PERIODS, table::periods(runs)));
        }
        for (table, rows) in tables {
            let name = file_of(table);
            let bytes = parquet(table, &rows).map_err(|error| Failure::writing(&self.file(&name), &error))?;
            self.whole(&name, &bytes)?;
        }
        if let Some(samples) = samples {
            samples.finish()?;
        }
        self.unfinished.remove().map_err(|error| Failure::writing(&self.path, &error))?;
        let path = self.file(LOG);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| Failure::writing(&path, &error))?;
        file.write_all(log.as_bytes()).map_err(|error| Failure::writing(&path, &error))
    }

    /// What was written, for people.
    pub(crate) fn written(&self, samples: bool) -> String {
        let with_samples = if samples { ", those of the samples" } else { "" };
        format!(
            "Wrote {RESULTS}, {TABLE}, the Parquet tables{with_samples} and {LOG} to {}.",
            self.path.display()
        )
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.file(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::bad_input(
                format!("cannot read {}: {error}", path.display()),
                "name another folder with --out",
            )),
        }
    }

    fn whole(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.file(name);
        whole(&path, bytes).map_err(|error| Failure::writing(&path, &error))
    }

    fn taken(&self, holds: &str) -> Failure {
        Failure::bad_input(
            format!("{} holds {holds}; nothing was overwritten", self.path.display()),
            "name another folder with --out, or remove this one",
        )
    }
}

/// All of a file or nothing: it takes its name only once it is on the disk.
pub(crate) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = part(path)?;
    file.write_all(bytes)?;
    publish(file, path)
}

/// A file beside `path` that is gone if it is not given its name.
pub(crate) fn part(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(path.file_name().unwrap_or_default()).suffix(PART);
    // Temporary files are private; results are for everyone the umask allows.
    #[cfg(unix)]
    builder.permissions(fs::Permissions::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Gives a file its name once it is on the disk.
pub(crate) fn publish(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
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
fn of_results() -> impl Iterator<Item = String> {
    [RESULTS, TABLE, LOG].into_iter().map(str::to_owned).chain(table::TABLES.into_iter().map(file_of))
}

/// The samples of all runs, on their way to the disk.
pub(crate) struct Samples {
    subflows: Part,
    links: Part,
    transfers: Part,
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
    /// Takes those of the run with this number; runs come in order.
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

/// What is needed of a results file.
#[derive(Deserialize)]
struct Results {
    runs: Vec<Run>,
}

/// Held as long as the program writes to a folder; the system lets go of it when the program ends, however it does.
#[cfg(unix)]
type Lock = File;

#[cfg(unix)]
fn lock(path: &Path) -> Result<Lock, Failure> {
    use rustix::fs::{FlockOperation, flock};
    let folder = File::open(path).map_err(|error| Failure::writing(path, &error))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Failure::bad_input(
            format!("another braid is writing to {}", path.display()),
            "wait for it to end, or name another folder with --out",
        )),
        // Not every file system has locks.
        _ => Ok(folder),
    }
}

#[cfg(not(unix))]
type Lock = ();

#[cfg(not(unix))]
fn lock(_: &Path) -> Result<Lock, Failure> {
    Ok(())
}
