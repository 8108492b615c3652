//! What a trial changes in the kernel: written down before the first change, and taken back after the last one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use braid_kernel::{Namespace, PREFIX};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::failure::FAILED;
use crate::journal;

/// Until the next boot, like the changes themselves.
const FOLDER: &str = "/run/braid";
/// Locked as long as the trial's process lives.
const TRIAL: &str = "/run/braid/trial.json";
/// What `--apply` changed.
const APPLIED: &str = "/run/braid/applied.json";

/// The changes, and what was there before.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct State {
    /// Cookie of the network namespace.
    pub(super) namespace: u64,
    /// Its default before.
    pub(super) default: String,
    /// Defaults that the trial sets, by their names in the kernel.
    pub(super) candidates: Vec<String>,
    /// Names without `braid_` that the trial loads.
    pub(super) loaded: Vec<String>,
    /// Kernel modules that the trial loads.
    pub(super) modules: Vec<String>,
}

/// A trial in progress. Dropping it takes its changes back.
pub(super) struct Changes {
    file: Option<File>,
    pub(super) state: State,
}

impl Changes {
    /// Stores the state. Nothing is changed yet.
    pub(super) fn begin(state: State) -> Result<Self, Failure> {
        let failed = |error: &io::Error| Failure::new(FAILED, format!("cannot write {TRIAL}: {error}"));
        fs::create_dir_all(FOLDER).map_err(|error| failed(&error))?;
        let mut file = lock(true).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                Failure::bad_input("another trial is running", "wait for its end, or end it with Ctrl-C")
            }
            _ => failed(&error),
        })?;
        take_back_stored(&mut file);
        let text = serde_json::to_vec(&state).expect("strings and numbers");
        file.rewind()
            .and_then(|()| file.set_len(0))
            .and_then(|()| file.write_all(&text))
            .map_err(|error| failed(&error))?;
        Ok(Self { file: Some(file), state })
    }

    /// Takes the changes back. Returns a line for each thing that a person should know.
    pub(super) fn end(mut self) -> Vec<String> {
        self.undo()
    }

    fn undo(&mut self) -> Vec<String> {
        let Some(file) = self.file.take() else { return Vec::new() };
        let notes = take_back(&self.state);
        // Still locked: another trial then sees that its file has no name any more.
        forget(TRIAL);
        drop(file);
        notes
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for note in self.undo() {
            eprintln!("{note}");
        }
    }
}

/// The state's file, locked; `WouldBlock` while a trial runs.
fn lock(create: bool) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(create).truncate(false).open(TRIAL)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        if file.metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

fn forget(path: &str) {
    let _ = fs::remove_file(path);
    // Only if it is empty.
    let _ = fs::remove_dir(FOLDER);
}

/// A killed trial's changes. An incomplete state comes from a trial that had changed nothing.
fn take_back_stored(file: &mut File) -> bool {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    let Ok(state) = serde_json::from_str::<State>(&text) else { return false };
    for note in take_back(&state) {
        eprintln!("{note}");
    }
    journal::write("try", &format!("a killed trial taken back, the default is {} again", state.default));
    eprintln!("note: a trial was killed; what it had changed is as before it.");
    true
}

/// Takes back what a killed trial has changed, if there is one and this process may. Returns whether there was one.
pub(crate) fn recover() -> bool {
    if !Path::new(TRIAL).exists() {
        return false;
    }
    match lock(false) {
        Ok(mut file) => {
            let was = take_back_stored(&mut file);
            forget(TRIAL);
            was
        }
        Err(error) => {
            if error.kind() == io::ErrorKind::PermissionDenied {
                eprintln!(
                    "note: a trial runs or was killed; `sudo braid try --restore` takes back a killed one's changes."
                );
            }
            false
        }
    }
}

fn find(cookie: u64) -> Option<Namespace> {
    Namespace::all().into_iter().find(|namespace| namespace.cookie().is_ok_and(|found| found == cookie))
}

fn take_back(state: &State) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(namespace) = find(state.namespace)
        && let Ok(now) = braid_kernel::default(&namespace)
        && now != state.default
    {
        // If another program unloads a candidate, the namespaces with that default get another one.
        let available = braid_kernel::available().unwrap_or_default();
        let is_whole = state.candidates.iter().all(|candidate| available.contains(candidate));
        if !state.candidates.contains(&now) && is_whole {
            notes.push(format!("note: another program made {now} the default; it stays."));
        } else if let Err(error) = braid_kernel::switch_default(&namespace, &state.default) {
            notes.push(format!("warning: the default stays {now} instead of {}: {error}", state.default));
        }
    }
    for name in &state.loaded {
        match braid_kernel::unload(name, true) {
            Ok(users) => notes.extend(users.iter().map(|user| {
                format!(
                    "warning: connections keep {PREFIX}{name} until they close, {user}; their later subflows get the default."
                )
            })),
            // Killed before it was loaded.
            Err(braid_kernel::Error::NotLoaded { .. }) => {}
            Err(error) => notes.push(format!("warning: {PREFIX}{name} stays loaded: {error}")),
        }
    }
    for module in &state.modules {
        let _ = Command::new("modprobe").args(["-qr", module]).status();
    }
    notes
}

/// Remembers what `--apply` made the default, for [`withdraw`].
pub(super) fn applied(state: &State) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(FAILED, format!("cannot write {APPLIED}: {error}"));
    fs::create_dir_all(FOLDER).map_err(failed)?;
    fs::write(APPLIED, serde_json::to_vec(state).expect("strings and numbers")).map_err(failed)
}

/// Takes back what `--apply` did: for `disable`. Returns the former winner and the default that is restored, if a
/// trial's result was in use.
pub(crate) fn withdraw() -> Option<(String, String)> {
    let state: State = serde_json::from_slice(&fs::read(APPLIED).ok()?).ok()?;
    let winner = state.candidates.first()?.clone();
    // By name, which keeps the record of the default before Braid's right.
    if let Some(namespace) = find(state.namespace)
        && braid_kernel::default(&namespace).is_ok_and(|now| now == winner)
        && let Err(error) = braid_kernel::set_default(&namespace, Some(&state.default))
    {
        eprintln!("warning: the default stays {winner}: {error}");
        return None;
    }
    for note in take_back(&state) {
        eprintln!("{note}");
    }
    forget(APPLIED);
    Some((winner, state.default))
}
