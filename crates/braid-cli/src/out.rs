//! The folder of `--out`: results that are either whole and of these very runs, or not there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use braid_results::json;
use serde_json::Value;

use crate::Failure;
use crate::plan::Plan;

const RESULTS: &str = "results.json";
const TABLE: &str = "table.txt";
const LOG: &str = "log.txt";

/// A folder that can be written to and holds nothing of another run.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder if needed, and checks both before any time is spent on running.
    pub(crate) fn prepare(path: &Path, plan: &Plan) -> Result<Self, Failure> {
        let folder = Self { path: path.to_owned() };
        fs::create_dir_all(path).map_err(|error| Failure::writing(path, &error))?;
        tempfile::tempfile_in(path).map_err(|error| Failure::writing(path, &error))?;
        match folder.read(RESULTS)? {
            Some(results) if !same_runs(&results, plan) => Err(folder.taken("the results of other runs")),
            Some(_) => Ok(folder),
            None => match [TABLE, LOG].iter().find(|name| folder.file(name).exists()) {
                Some(name) => Err(folder.taken(&format!("a file {name} but no {RESULTS}"))),
                None => Ok(folder),
            },
        }
    }

    /// Writes the results and the table, and adds to the log.
    pub(crate) fn write(&self, results: &str, table: &str, log: &str) -> Result<(), Failure> {
        match self.read(RESULTS)? {
            Some(there) if there == results.as_bytes() => {}
            Some(_) => {
                return Err(self.taken("other results of the same runs (the scenario or braid has changed)"));
            }
            None => self.whole(RESULTS, results)?,
        }
        self.whole(TABLE, table)?;
        let path = self.file(LOG);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| Failure::writing(&path, &error))?;
        file.write_all(log.as_bytes()).map_err(|error| Failure::writing(&path, &error))
    }

    /// What was written, for people.
    pub(crate) fn written(&self) -> String {
        format!("Wrote {RESULTS}, {TABLE} and {LOG} to {}.", self.path.display())
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

    /// All of a file or nothing: it takes its name only once it is on the disk.
    fn whole(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.file(name);
        let write = || {
            let mut builder = tempfile::Builder::new();
            builder.prefix(name).suffix(".part");
            // Temporary files are private; results are for everyone the umask allows.
            #[cfg(unix)]
            builder.permissions(fs::Permissions::from_mode(0o666));
            let mut file = builder.tempfile_in(&self.path)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)
        };
        write().map(drop).map_err(|error| Failure::writing(&path, &error))
    }

    fn taken(&self, holds: &str) -> Failure {
        Failure::bad_input(
            format!("{} holds {holds}; nothing was overwritten", self.path.display()),
            "name another folder with --out, or remove this one",
        )
    }
}

/// Whether a results file is about exactly the runs of the plan, from the same version of the program.
fn same_runs(results: &[u8], plan: &Plan) -> bool {
    const DETERMINED_BY: [&str; 7] =
        ["scenario", "backend", "cc", "params", "scheduler", "seed", "duration_s"];
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let Some(document) = parse(results) else { return false };
    let Some(runs) = document["runs"].as_array() else { return false };
    document["braid_version"] == env!("CARGO_PKG_VERSION")
        && runs.len() == plan.len()
        && runs.iter().enumerate().all(|(index, run)| {
            let planned = parse(json(&plan.get(index).0.failed("")).as_bytes());
            planned.is_some_and(|planned| DETERMINED_BY.iter().all(|key| run[key] == planned[key]))
        })
}
