//! A folder of runs, so that an interruption loses little.
//!
//! Finished runs are written together a few times a second, to files that are complete or absent, each run under its
//! [`Key`]. Missing or unreadable runs are executed again, with the same results.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use braid_results::measure::Measurements;
use braid_results::{Run, json};
use serde::{Deserialize, Serialize};

use crate::event::Kept;
use crate::files::{PART, whole};
use crate::manifest::{Manifest, There};
use crate::{Error, Key, Kind, Plan};

const MANIFEST: &str = "manifest.json";
const RUNS: &str = "unfinished";
/// Interval of writes: the amount of work that may be lost.
const EVERY: Duration = Duration::from_millis(250);

/// A writable, locked folder without runs of other plans.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    index: HashMap<Key, Place>,
    /// Number of the next file of runs.
    next: usize,
    waiting: Vec<(Key, Vec<u8>)>,
    since: Instant,
    /// Everything is stored already: repeated runs are not.
    complete: bool,
    _lock: Lock,
}

/// Location of a run.
#[derive(Debug)]
enum Place {
    Memory(Box<Run>),
    /// A part of a file of runs.
    File(PathBuf, Range<usize>),
}

/// A stored run.
#[derive(Deserialize, Serialize)]
struct Record {
    /// As JSON: some of its types need a self-describing format.
    run: String,
    measurements: Option<Measurements>,
    /// Whether they include samples.
    sampled: bool,
}

impl Store {
    /// Opens a folder for the runs of a plan whose backend is prepared; creates it if necessary. `results` are the
    /// names of further files that the caller writes.
    ///
    /// # Errors
    /// If it cannot be written to, has other content, or is in use. Nothing was changed then.
    pub fn open(path: &Path, plan: &Plan, results: &[String]) -> Result<Self, Error> {
        let writing = |error| Error::writing(path, &error);
        let manifest = Manifest::of(plan)?;
        fs::create_dir_all(path).map_err(writing)?;
        tempfile::tempfile_in(path).map_err(writing)?;
        let mut store = Self {
            path: path.to_owned(),
            index: HashMap::new(),
            next: 0,
            waiting: Vec::new(),
            since: Instant::now(),
            complete: false,
            _lock: lock(path)?,
        };
        if let Some(there) = store.read(MANIFEST)? {
            match Manifest::parse(&there) {
                There::Foreign => {
                    return Err(store.taken(&format!("a file {MANIFEST} that Braid did not write")));
                }
                There::Other(by) => return Err(store.taken(&format!("the results of other runs, {by}"))),
                There::Known(there) => {
                    if let Some(difference) = manifest.difference(&there) {
                        return Err(store.taken(&format!("the results of other runs, {difference}")));
                    }
                }
            }
            store.remove_parts(results).map_err(writing)?;
        } else {
            if let Some(name) = results.iter().find(|name| store.file(name).exists()) {
                return Err(store.taken(&format!("a file {name} but no {MANIFEST}")));
            }
            store.remove_parts(results).map_err(writing)?;
            store.write(MANIFEST, manifest.to_json().as_bytes())?;
        }
        store.find_runs().map_err(writing)?;
        Ok(store)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The content of a file in it, if it exists.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.file(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                Err(Error::new(Kind::Taken, message).hint("name another folder"))
            }
        }
    }

    /// Writes a file completely or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.file(name);
        whole(&path, bytes).map_err(|error| Error::writing(&path, &error))
    }

    /// The error that the folder has other content.
    pub fn taken(&self, holds: &str) -> Error {
        let message = format!("{} holds {holds}; nothing was overwritten", self.path.display());
        Error::new(Kind::Taken, message).hint("name another folder, or remove this one")
    }

    /// Whether it has stored runs besides results.
    pub fn has_runs(&self) -> bool {
        self.file(RUNS).exists()
    }

    /// The results exist already and contain these runs of the plan, in its order: repeated runs are not stored.
    ///
    /// # Errors
    /// [`Plan::key`]
    pub fn complete(&mut self, plan: &Plan, runs: Vec<Run>) -> Result<(), Error> {
        self.complete = true;
        for (number, run) in runs.into_iter().enumerate().take(plan.len()) {
            self.index.insert(plan.key(number)?, Place::Memory(Box::new(run)));
        }
        Ok(())
    }

    /// Whether [`Store::complete`] was called.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The run with this key, if it is stored.
    pub(crate) fn get(&self, key: &Key) -> Option<Kept> {
        match self.index.get(key)? {
            Place::Memory(run) => Some(Kept { run: (**run).clone(), measurements: None, sampled: false }),
            Place::File(path, range) => {
                let mut file = File::open(path).ok()?;
                file.seek(SeekFrom::Start(range.start as u64)).ok()?;
                let mut bytes = vec![0; range.len()];
                file.read_exact(&mut bytes).ok()?;
                let record: Record = postcard::from_bytes(&bytes).ok()?;
                let Record { run, measurements, sampled } = record;
                Some(Kept { run: serde_json::from_str(&run).ok()?, measurements, sampled })
            }
        }
    }

    /// Whether a run is stored.
    #[cfg(feature = "parquet")]
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.index.contains_key(key)
    }

    /// Stores a run.
    pub(crate) fn keep(
        &mut self,
        key: Key,
        run: &Run,
        measurements: Option<&Measurements>,
        sampled: bool,
    ) -> Result<(), Error> {
        if self.complete {
            return Ok(());
        }
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        let record = Record { run: json(run), measurements: measurements.cloned(), sampled };
        self.waiting.push((key, postcard::to_stdvec(&record).expect("plain data")));
        if self.since.elapsed() >= EVERY { self.settle() } else { Ok(()) }
    }

    /// Writes all stored runs to the disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let write = || {
            let folder = self.file(RUNS);
            fs::create_dir_all(&folder)?;
            let bytes = postcard::to_stdvec(&self.waiting).map_err(io::Error::other)?;
            let path = folder.join(format!("{:07}", self.next));
            whole(&path, &bytes)?;
            io::Result::Ok((path, bytes))
        };
        let (path, bytes) = write().map_err(|error| Error::writing(&self.path, &error))?;
        self.index(&path, &bytes);
        self.next += 1;
        self.waiting.clear();
        Ok(())
    }

    /// Removes the stored runs, once the results are on the disk.
    ///
    /// # Errors
    /// If they cannot be removed.
    pub fn remove_runs(&mut self) -> Result<(), Error> {
        self.index.clear();
        match fs::remove_dir_all(self.file(RUNS)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::writing(&self.path, &error)),
            _ => Ok(()),
        }
    }

    fn find_runs(&mut self) -> io::Result<()> {
        let folder = self.file(RUNS);
        if !folder.exists() {
            return Ok(());
        }
        let mut names: Vec<_> = fs::read_dir(&folder)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<Result<_, _>>()?;
        names.sort();
        for name in names {
            let Some(number) = name.to_str().and_then(|name| name.parse::<usize>().ok()) else {
                continue;
            };
            self.next = self.next.max(number + 1);
            let path = folder.join(&name);
            let bytes = fs::read(&path)?;
            self.index(&path, &bytes);
        }
        Ok(())
    }

    /// Records the runs of a file and their positions.
    fn index(&mut self, path: &Path, bytes: &[u8]) {
        let Ok(records) = postcard::from_bytes::<Vec<(Key, &[u8])>>(bytes) else { return };
        for (key, record) in records {
            let start = record.as_ptr() as usize - bytes.as_ptr() as usize;
            self.index.insert(key, Place::File(path.to_owned(), start..start + record.len()));
        }
    }

    /// Removes left-overs of killed programs.
    fn remove_parts(&self, results: &[String]) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_of = |file: &str| name.starts_with(file);
            if name.ends_with(PART) && (is_of(MANIFEST) || results.iter().any(|file| is_of(file))) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Held while the program writes to a folder; the system releases it when the program ends.
#[cfg(unix)]
type Lock = File;

#[cfg(unix)]
fn lock(path: &Path) -> Result<Lock, Error> {
    use rustix::fs::{FlockOperation, flock};
    let folder = File::open(path).map_err(|error| Error::writing(path, &error))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let message = format!("another braid is writing to {}", path.display());
            Err(Error::new(Kind::Busy, message).hint("wait for it to end, or name another folder"))
        }
        // Not every file system has locks.
        _ => Ok(folder),
    }
}

#[cfg(not(unix))]
type Lock = ();

#[cfg(not(unix))]
fn lock(_: &Path) -> Result<Lock, Error> {
    Ok(())
}
