//! Runs that are done while others of the same folder are not: on the disk, so that an interruption loses little.
//!
//! Finished runs go to the disk together, a few times a second, as a file that is whole or not there. What is missing
//! or cannot be used is run again, which gives the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use braid_results::measure::Measurements;
use braid_results::{Run, json};
use serde::{Deserialize, Serialize};

use crate::out::whole;

const FOLDER: &str = "unfinished";
/// This much work may be lost: often enough for people, rarely enough for the disk.
const EVERY: Duration = Duration::from_millis(250);

/// A run, and its measurements if they were asked for.
pub(crate) type Finished = (Run, Option<Measurements>);

/// Consecutive runs; in a file named after the number of the first.
#[derive(Deserialize, Serialize)]
struct Batch {
    /// Another build of the program may come to other results.
    build: (u64, SystemTime),
    /// A run as JSON: some of its types need a format that describes itself.
    runs: Vec<(String, Option<Measurements>)>,
}

/// The runs of a folder that are done.
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Number of the first run that is waiting.
    next: usize,
    waiting: Batch,
    since: Instant,
}

impl Unfinished {
    /// Those in `folder`.
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let waiting = Batch { build: build()?, runs: Vec::new() };
        Ok(Self { path: folder.join(FOLDER), next: 0, waiting, since: Instant::now() })
    }

    /// Whether there may be some.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// The next runs that are there already, if they are of this build.
    pub(crate) fn read(&mut self) -> Option<Vec<Finished>> {
        let batch: Batch = postcard::from_bytes(&fs::read(self.file()).ok()?).ok()?;
        if batch.build != self.waiting.build || batch.runs.is_empty() {
            return None;
        }
        let runs =
            batch.runs.into_iter().map(|(run, counts)| Some((serde_json::from_str(&run).ok()?, counts)));
        let runs: Vec<Finished> = runs.collect::<Option<_>>()?;
        self.next += runs.len();
        Some(runs)
    }

    /// Adds the run that follows those before.
    pub(crate) fn add(&mut self, run: &Run, counts: Option<&Measurements>) -> io::Result<()> {
        if self.waiting.runs.is_empty() {
            self.since = Instant::now();
        }
        self.waiting.runs.push((json(run), counts.cloned()));
        if self.since.elapsed() >= EVERY { self.write() } else { Ok(()) }
    }

    /// Everything added goes to the disk.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if self.waiting.runs.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(&self.path)?;
        let bytes = postcard::to_stdvec(&self.waiting).map_err(io::Error::other)?;
        whole(&self.file(), &bytes)?;
        self.next += self.waiting.runs.len();
        self.waiting.runs.clear();
        self.since = Instant::now();
        Ok(())
    }

    /// The results are on the disk: these are not needed any more.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self) -> PathBuf {
        self.path.join(format!("{:07}", self.next))
    }
}

/// What tells this program from another build of it: its size, and when it was made.
fn build() -> io::Result<(u64, SystemTime)> {
    let program = fs::metadata(std::env::current_exe()?)?;
    Ok((program.len(), program.modified()?))
}
