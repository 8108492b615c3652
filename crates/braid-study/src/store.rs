//! A folder that stores runs by their [`Key`], so that none is done twice.
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | what the folder is about, for people |
//! | `unfinished/NNNNNNN` | finished runs while others are missing, written a few times a second |
//! | `runs.store` | once all are done: the plan, and all runs in the order of their keys |
//!
//! Every file is whole or not there. A run that is missing or cannot be read is done again, which gives the same.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::event::Record;
use crate::files::{PART, part, publish, whole};
use crate::plan::{NAME_FILE, Stored};
use crate::{Error, Key, Kind, Plan, Seeds};

const MANIFEST: &str = "manifest.json";
const RUNS: &str = "runs.store";
const UNFINISHED: &str = "unfinished";
/// This much work may be lost: often enough for people, rarely enough for the disk.
const EVERY: Duration = Duration::from_millis(250);
/// Raised when the format of a file changes.
const SCHEMA_VERSION: u32 = 3;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A folder that stores runs. No other program writes to it at the same time.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
    index: HashMap<Key, Slot>,
    /// The bytes of the plan in [`RUNS`]; empty if there is none.
    complete: Vec<u8>,
    /// The plan that [`RUNS`] will hold; `None` of a folder that is only read.
    plan: Option<Stored>,
    /// Names of the caller's files.
    results: Vec<String>,
    /// Number of the next file of finished runs.
    next: usize,
    waiting: Vec<(Key, bool, Vec<u8>)>,
    since: Instant,
    _lock: Option<Lock>,
}

/// The files of results in the folder of a store.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether results that are there are of fewer runs.
    replaces: bool,
}

/// Where a run is.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    file: Arc<Path>,
    start: u64,
    length: u64,
    /// Whether it holds all that could be asked for.
    sampled: bool,
}

impl Slot {
    pub(crate) fn read(&self) -> Option<(Record, bool)> {
        Some((postcard::from_bytes(&self.bytes().ok()?).ok()?, self.sampled))
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.start))?;
        let mut bytes = vec![0; self.length as usize];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Begins a file of runs, after its own length: the bytes of a plan or nothing, and each run's key, whether it is sampled, and
/// length.
type Header = (Vec<u8>, Vec<(Key, bool, u64)>);

/// What [`MANIFEST`] says.
#[derive(Deserialize, Serialize)]
struct Manifest {
    schema_version: u32,
    braid_version: String,
    /// For people, a line for each group.
    #[serde(default)]
    runs: Vec<String>,
    /// Names of the files of the command that writes to the folder.
    #[serde(default)]
    results: Vec<String>,
}

impl Folder {
    /// A folder without a store, created if need be.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let writing = |error| Error::writing(path, &error);
        fs::create_dir_all(path).map_err(writing)?;
        tempfile::tempfile_in(path).map_err(writing)?;
        Ok(Self { path: path.to_owned(), replaces: false })
    }

    /// Whether results that are there, if any, are of fewer runs.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file of it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The content of a file of it, if it is there.
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

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.file(name);
        whole(&path, bytes).map_err(|error| Error::writing(&path, &error))
    }

    /// Writes the results of a plan. They take the place of others only if these are of fewer runs.
    ///
    /// # Errors
    /// If they cannot be written, or other results of the same runs are there.
    pub fn write_results(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        match self.read(name)? {
            Some(there) if there == bytes => Ok(()),
            Some(_) if !self.replaces => {
                Err(self.taken(&format!("other {name} of the same runs (it or braid has changed)")))
            }
            _ => self.write(name, bytes),
        }
    }

    fn taken(&self, holds: &str) -> Error {
        let message = format!("{} holds {holds}; nothing was overwritten", self.path.display());
        Error::new(Kind::Taken, message).hint("name another folder, or remove this one")
    }
}

impl Store {
    /// Opens a folder for the runs of a plan, and creates it if need be. `results` are the names of files that the caller writes
    /// besides; a folder keeps to them.
    ///
    /// A folder with results takes any plan that has all of their runs. One without takes every plan, and adds it to those there.
    ///
    /// # Errors
    /// If it cannot be written to, holds something else, or is in use. Nothing was changed then.
    pub fn open(path: &Path, plan: &Plan, results: &[String]) -> Result<Self, Error> {
        let writing = |error| Error::writing(path, &error);
        let mut stored = plan.stored()?;
        Folder::create(path)?;
        let mut store = Self::empty(path, Some(lock(path)?));
        results.clone_into(&mut store.results);
        let there = store.head()?;
        let named = results.iter().find(|name| store.folder.file(name).exists());
        match (&there, named) {
            (Some(there), _) if there.results != results => {
                return Err(store.folder.taken("the results of another command"));
            }
            (None, Some(name)) => {
                return Err(store.folder.taken(&format!("a file {name} but no {MANIFEST}")));
            }
            _ => {}
        }
        store.find_runs().map_err(writing)?;
        if let (Some(there), Some(earlier)) = (&there, store.earlier()?) {
            if results.is_empty() {
                stored.add(&earlier);
            } else if let Some(difference) = difference(&there.braid_version, &earlier, &stored) {
                return Err(store.folder.taken(&format!("the results of other runs: {difference}")));
            }
        }
        store.remove_parts().map_err(writing)?;
        if there.is_none() {
            store.folder.write(MANIFEST, manifest(&stored, results).as_bytes())?;
        }
        let differs = store.complete != bytes_of(&stored);
        store.plan = Some(stored);
        store.folder.replaces = differs || !store.missing(plan)?.is_empty();
        Ok(store)
    }

    /// Opens a folder whose runs are all done, with the plan that it holds. Nothing is written.
    ///
    /// # Errors
    /// If there is no such folder, or it is incomplete.
    pub fn complete(path: &Path) -> Result<(Plan, Self), Error> {
        let mut store = Self::empty(path, None);
        let wrong = |what: &str| Error::new(Kind::Input, format!("{}: {what}", path.display()));
        if store.head()?.is_none() {
            let hint = "name a folder that a command wrote with --out";
            return Err(wrong(&format!("not a folder of results: it has no {MANIFEST}")).hint(hint));
        }
        store.find_runs().map_err(|error| wrong(&error.to_string()))?;
        let hint = "give the command that began it again: it goes on from there";
        let stored = store.earlier()?.ok_or_else(|| wrong("its runs are incomplete").hint(hint))?;
        Ok((stored.plan()?, store))
    }

    fn empty(path: &Path, lock: Option<Lock>) -> Self {
        Self {
            folder: Folder { path: path.to_owned(), replaces: false },
            index: HashMap::new(),
            complete: Vec::new(),
            plan: None,
            results: Vec::new(),
            next: 0,
            waiting: Vec::new(),
            since: Instant::now(),
            _lock: lock,
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The runs that are missing.
    ///
    /// # Errors
    /// [`Plan::key`]
    pub fn missing(&self, plan: &Plan) -> Result<Vec<usize>, Error> {
        plan.group_keys()?;
        Ok((0..plan.len()).filter(|&number| !self.has(plan, number, false)).collect())
    }

    /// Whether a run need not be done: it is there, with samples if these are needed, and did not fail in a kernel, where the
    /// next one may succeed. A folder that is only read has every run that is there.
    pub(crate) fn has(&self, plan: &Plan, number: usize, samples: bool) -> bool {
        let Some(slot) = self.place(plan, number) else { return false };
        let succeeded = || matches!(slot.read(), Some((Record::Done(_), _)));
        self.plan.is_none() || (slot.sampled || !samples) && (plan.backend(number).computes() || succeeded())
    }

    pub(crate) fn place(&self, plan: &Plan, number: usize) -> Option<Slot> {
        self.index.get(&plan.key(number).ok()?).cloned()
    }

    /// Stores a run; its record is that of [`Finished::record`](crate::Finished::record).
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, key: Key, sampled: bool, record: Vec<u8>) -> Result<(), Error> {
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        self.waiting.push((key, sampled, record));
        if self.since.elapsed() >= EVERY { self.flush() } else { Ok(()) }
    }

    /// All stored runs go to the disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let folder = self.folder.file(UNFINISHED);
        let path = folder.join(format!("{:07}", self.next));
        let index = self.waiting.iter().map(|(key, sampled, record)| (*key, *sampled, record.len() as u64));
        let header = (Vec::new(), index.collect());
        let records = self.waiting.iter().map(|(_, _, record)| Ok(record.clone()));
        let write = || {
            fs::create_dir_all(&folder)?;
            write_runs(&path, &header, records)
        };
        write().map_err(|error| Error::writing(&self.folder.path, &error))?;
        self.take(&path).map_err(|error| Error::writing(&path, &error))?;
        self.next += 1;
        self.waiting.clear();
        Ok(())
    }

    /// All runs of the plan are done and its results are written: puts the runs into one file, whose bytes depend on nothing but
    /// the plan and the runs.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.flush()?;
        let Some(plan) = &self.plan else { return Ok(()) };
        let bytes = bytes_of(plan);
        let unfinished = self.folder.file(UNFINISHED);
        if bytes == self.complete && !unfinished.exists() {
            return Ok(());
        }
        let keys: BTreeSet<Key> = plan.run_keys().collect();
        let all: Vec<(Key, Slot)> =
            keys.into_iter().filter_map(|key| Some((key, self.index.remove(&key)?))).collect();
        let index = all.iter().map(|(key, slot)| (*key, slot.sampled, slot.length)).collect();
        let path = self.folder.file(RUNS);
        let writing = |error| Error::writing(&path, &error);
        write_runs(&path, &(bytes, index), all.iter().map(|(_, slot)| slot.bytes())).map_err(writing)?;
        self.folder.write(MANIFEST, manifest(plan, &self.results).as_bytes())?;
        match fs::remove_dir_all(unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(writing(error)),
            _ => {
                self.index.clear();
                self.find_runs().map_err(writing)
            }
        }
    }

    /// What Braid says of the folder; nothing if it is new.
    fn head(&self) -> Result<Option<Manifest>, Error> {
        let Some(bytes) = self.folder.read(MANIFEST)? else { return Ok(None) };
        let head: Manifest = serde_json::from_slice(&bytes)
            .map_err(|_| self.folder.taken(&format!("a file {MANIFEST} that Braid did not write")))?;
        if head.schema_version == SCHEMA_VERSION {
            return Ok(Some(head));
        }
        let build = if head.schema_version < SCHEMA_VERSION { "an earlier build of " } else { "" };
        let version = head.braid_version;
        Err(self
            .folder
            .taken(&format!("the results of other runs, by {build}braid {version}; this is {VERSION}")))
    }

    /// The plan in [`RUNS`].
    fn earlier(&self) -> Result<Option<Stored>, Error> {
        if self.complete.is_empty() {
            return Ok(None);
        }
        // The file is whole, so only the name of an algorithm can be unknown.
        postcard::from_bytes(&self.complete).map(Some).map_err(|_| {
            let message = format!("{}: its runs have an unknown algorithm", self.folder.path.display());
            Error::new(Kind::Input, message).hint(NAME_FILE)
        })
    }

    fn find_runs(&mut self) -> io::Result<()> {
        let path = self.folder.file(RUNS);
        if path.exists() {
            self.complete = self.take(&path)?;
        }
        let folder = self.folder.file(UNFINISHED);
        if !folder.exists() {
            return Ok(());
        }
        let mut numbers: Vec<usize> = Vec::new();
        for entry in fs::read_dir(&folder)? {
            numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<usize>().ok()));
        }
        numbers.sort_unstable();
        for number in numbers {
            self.next = self.next.max(number + 1);
            self.take(&folder.join(format!("{number:07}")))?;
        }
        Ok(())
    }

    /// Indexes the runs of a file, unless it is damaged; gives the bytes of its plan.
    fn take(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut length = [0; 8];
        if size < 8 {
            return Ok(Vec::new());
        }
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > size - 8 {
            return Ok(Vec::new());
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header)?;
        let Ok((plan, index)) = postcard::from_bytes::<Header>(&header) else { return Ok(Vec::new()) };
        let total = index.iter().try_fold(8 + length, |sum, (_, _, length)| sum.checked_add(*length));
        if total != Some(size) {
            return Ok(Vec::new());
        }
        let file: Arc<Path> = path.into();
        let mut start = 8 + length;
        for (key, sampled, length) in index {
            self.index.insert(key, Slot { file: Arc::clone(&file), start, length, sampled });
            start += length;
        }
        Ok(plan)
    }

    /// Removes the files that killed programs have left unfinished.
    fn remove_parts(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let mut own = [MANIFEST, RUNS].into_iter().chain(self.results.iter().map(String::as_str));
            if name.ends_with(PART) && own.any(|file| name.starts_with(file)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

fn bytes_of(stored: &Stored) -> Vec<u8> {
    postcard::to_stdvec(stored).expect("plain data")
}

fn write_runs(
    path: &Path,
    header: &Header,
    records: impl Iterator<Item = io::Result<Vec<u8>>>,
) -> io::Result<()> {
    let file = part(path)?;
    let mut out = BufWriter::new(file.as_file());
    let header = postcard::to_stdvec(header).map_err(io::Error::other)?;
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for record in records {
        out.write_all(&record?)?;
    }
    out.flush()?;
    drop(out);
    publish(file, path)
}

fn manifest(stored: &Stored, results: &[String]) -> String {
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        braid_version: VERSION.to_owned(),
        runs: (0..stored.groups.len()).map(|group| stored.describe(group)).collect(),
        results: results.to_vec(),
    };
    serde_json::to_string_pretty(&manifest).expect("plain data with string keys") + "\n"
}

/// Runs of an earlier plan that another plan lacks, if there are some, and why; for people.
fn difference(version: &str, earlier: &Stored, new: &Stored) -> Option<String> {
    let mut there: HashMap<Key, Vec<Seeds>> = HashMap::new();
    for (key, place) in new.keys.iter().zip(&new.groups) {
        there.entry(*key).or_default().push(place.unit.seeds);
    }
    let lacks = |group: &usize| {
        let seeds = earlier.groups[*group].unit.seeds;
        !there.get(&earlier.keys[*group]).is_some_and(|own| own.iter().any(|own| own.covers(seeds)))
    };
    let group = (0..earlier.groups.len()).find(lacks)?;
    let (all, name) = (|| 0..new.groups.len(), &earlier.scenario(group).name);
    let why = if there.contains_key(&earlier.keys[group]) || !all().any(|own| new.scenario(own).name == *name)
    {
        String::new()
    } else if !all().any(|own| new.scenario(own) == earlier.scenario(group)) {
        ", before it has changed, or with another --set".to_owned()
    } else if !all().any(|own| new.same(own, earlier, group)) {
        String::new()
    } else if version == VERSION {
        ", by another build of braid, on another kernel, or with other programs".to_owned()
    } else {
        format!(", by braid {version}; this is {VERSION}")
    };
    Some(format!("{}{why}", earlier.describe(group)))
}

/// Held as long as the program writes to a folder; the system lets go of it when the program ends, however it does.
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
