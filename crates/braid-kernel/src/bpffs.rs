//! The BPF file system, where what is loaded stays when the tool ends.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use libbpf_rs::MapHandle;
use rustix::{
    fs::{FlockOperation, flock, statfs},
    io::Errno,
    mount::{MountFlags, mount},
};

use crate::{Error, object::CARRIED};

const BPFFS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC`
const MAGIC: i128 = 0xcafe_4a11;

/// What all have in common, see [`hints`](crate::hints()), and one folder per loaded name, with the pins `link`, `spec`, those of the maps that a replacement goes on with, and the
/// spec of each [`version`].
pub(crate) fn folder() -> PathBuf {
    Path::new(BPFFS).join("braid")
}

pub(crate) fn is_mounted() -> bool {
    statfs(BPFFS).is_ok_and(|info| i128::from(info.f_type) == MAGIC)
}

/// Makes sure that there is a BPF file system, and [locks](lock) it.
pub(crate) fn ensure() -> Result<Lock, Error> {
    if !is_mounted() {
        mount("bpf", BPFFS, "bpf", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
            .map_err(|error| match error {
                Errno::PERM => Error::NoPrivileges,
                other => Error::NoBpffs { report: other.to_string() },
            })?;
    }
    lock().map_err(|error| match error {
        Error::NotYours { .. } => Error::NoPrivileges,
        other => other,
    })
}

/// What is pinned stays as it is, or as its owner makes it, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it gives the lock back")] Option<File>);

/// Waits until no other braid reads or changes what is pinned, and keeps the others out. What one makes sure of, such as the
/// maps of the hints, another would otherwise remove as unused before it is used.
pub(crate) fn lock() -> Result<Lock, Error> {
    lock_as(FlockOperation::LockExclusive)
}

/// Waits until no other braid changes what is pinned, and keeps those that would out: half of what is loaded may be pinned
/// meanwhile.
pub(crate) fn lock_to_read() -> Result<Lock, Error> {
    lock_as(FlockOperation::LockShared)
}

fn lock_as(operation: FlockOperation) -> Result<Lock, Error> {
    let failed = |error: io::Error| match error.kind() {
        // Some systems let only root into the file system.
        ErrorKind::PermissionDenied => Error::NotYours { pin: folder() },
        _ => Error::Kernel { doing: format!("locking {BPFFS}"), report: error.to_string() },
    };
    // Not the folder: that comes and goes.
    let file_system = match File::open(BPFFS) {
        // Then nothing is pinned.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lock(None)),
        opened => opened.map_err(failed)?,
    };
    flock(&file_system, operation).map_err(|error| failed(error.into()))?;
    Ok(Lock(Some(file_system)))
}

/// The names of the loaded, sorted.
pub(crate) fn names() -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(folder()) {
        Ok(entries) => entries,
        // Some systems let only root into the file system.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(Error::NotYours { pin: folder() });
        }
        Err(_) => return Ok(Vec::new()),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| folder().join(name).join("link").exists())
        .collect();
    names.sort();
    Ok(names)
}

/// The pin of a version's spec. A version is what was loaded under a name at some time; its number is that of the map that
/// the kernel keeps its callbacks in.
pub(crate) fn version(id: u32) -> String {
    format!("version_{id}")
}

/// The numbers of the versions in a folder of pins, ascending.
pub(crate) fn versions(pins: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(pins) else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("version_")?.parse().ok();
    let mut ids: Vec<u32> = entries.flatten().filter_map(number).collect();
    ids.sort_unstable();
    ids
}

/// Removes the versions that are not to be kept.
pub(crate) fn forget_versions(pins: &Path, is_kept: impl Fn(u32) -> bool) {
    for id in versions(pins).into_iter().filter(|&id| !is_kept(id)) {
        let _ = fs::remove_file(pins.join(version(id)));
    }
}

/// A map that is pinned there.
pub(crate) fn pinned_map(path: &Path) -> Result<MapHandle, Error> {
    MapHandle::from_pinned_path(path).map_err(|error| opening(path, &error))
}

/// What it means that something pinned cannot be opened.
pub(crate) fn opening(pin: &Path, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => Error::NotYours { pin: pin.to_owned() },
        _ => Error::Kernel { doing: format!("opening {}", pin.display()), report: format!("{error:#}") },
    }
}

/// Removes a folder of pins, and the one above it if that was the last.
pub(crate) fn remove(pins: &Path) {
    // The link last: as long as it is there the rest belongs to something loaded.
    forget_versions(pins, |_| false);
    let carried = CARRIED.iter().map(|(pin, ..)| *pin);
    for name in carried.chain(["spec", "link"]) {
        let _ = fs::remove_file(pins.join(name));
    }
    let _ = fs::remove_dir(pins);
    let _ = fs::remove_dir(folder());
}
