//! The BPF file system: pins survive the tool.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use libbpf_rs::MapHandle;
use rustix::{
    fs::{FlockOperation, flock, statfs},
    io::Errno,
    mount::{MountFlags, mount},
};

use crate::{Error, object::CARRIED};

const BPFFS: &str = "/sys/fs/bpf";

/// This process's BPF file system; where it has mounts of its own without one (`ip netns exec`), that of an ancestor.
fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let own = PathBuf::from(BPFFS);
        if is_bpffs(&own) {
            return own;
        }
        let mut theirs = ancestors().into_iter().map(|id| PathBuf::from(format!("/proc/{id}/root{BPFFS}")));
        theirs.find(|path| is_bpffs(path)).unwrap_or(own)
    })
}

fn ancestors() -> Vec<u32> {
    let parent = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok().filter(|&id| id != 0)
    };
    std::iter::successors(parent(&std::process::id()), parent).collect()
}

/// Whether this process has mounts of its own and no BPF file system: what it loads would end with it.
pub fn is_private() -> bool {
    let mounts = |id: &str| fs::read_link(format!("/proc/{id}/ns/mnt")).ok();
    let own = mounts("self");
    let differs = |id: u32| mounts(&id.to_string()).is_some_and(|theirs| Some(theirs) != own);
    !is_mounted() && ancestors().into_iter().any(differs)
}
/// `BPF_FS_MAGIC`
const MAGIC: i128 = 0xcafe_4a11;

/// Contains the shared maps, see [`hints`](crate::hints()), and one folder per loaded name: the pins `link` and `spec`,
/// the maps that survive a replacement, and the spec of each [`version`].
pub(crate) fn folder() -> PathBuf {
    root().join("braid")
}

pub(crate) fn is_mounted() -> bool {
    is_bpffs(root())
}

fn is_bpffs(path: &Path) -> bool {
    statfs(path).is_ok_and(|info| i128::from(info.f_type) == MAGIC)
}

/// Ensures that there is a BPF file system, and [locks](lock) it.
pub(crate) fn ensure() -> Result<Lock, Error> {
    if is_private() {
        let report =
            "this command has mounts of its own, which end with it: run `braid` outside, with --netns NAME";
        return Err(Error::NoBpffs { report: report.into() });
    }
    if !is_mounted() {
        mount("bpf", BPFFS, "bpf", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
            .map_err(|error| match error {
                Errno::PERM => Error::NoPrivileges,
                other => Error::NoBpffs { report: other.to_string() },
            })?;
    }
    lock().map_err(|error| match error {
        Error::NotYours { pin } => Error::refused(pin),
        other => other,
    })
}

/// Keeps pins unchanged, except by the owner of the lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it gives the lock back")] Option<File>);

/// Waits for the exclusive lock on pins. Without it another braid could remove new objects, such as the maps of hints,
/// as unused.
pub(crate) fn lock() -> Result<Lock, Error> {
    lock_as(FlockOperation::LockExclusive)
}

/// Waits for a shared lock: a braid that changes pins may have done only half of it.
pub(crate) fn lock_to_read() -> Result<Lock, Error> {
    lock_as(FlockOperation::LockShared)
}

fn lock_as(operation: FlockOperation) -> Result<Lock, Error> {
    let failed = |error: io::Error| match error.kind() {
        // On some systems only root can enter the file system.
        ErrorKind::PermissionDenied => Error::NotYours { pin: folder() },
        _ => Error::Kernel { doing: format!("locking {BPFFS}"), report: error.to_string() },
    };
    // Not the folder, which comes and goes.
    let file_system = match File::open(root()) {
        // Nothing is pinned.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lock(None)),
        opened => opened.map_err(failed)?,
    };
    flock(&file_system, operation).map_err(|error| failed(error.into()))?;
    Ok(Lock(Some(file_system)))
}

/// Loaded names, sorted.
pub(crate) fn names() -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(folder()) {
        Ok(entries) => entries,
        // On some systems only root can enter the file system.
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

/// The pin of a version's spec. Each load under a name is a version; its number is that of the kernel's map with its
/// callbacks.
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

/// Removes versions that are no longer in use.
pub(crate) fn forget_versions(pins: &Path, is_kept: impl Fn(u32) -> bool) {
    for id in versions(pins).into_iter().filter(|&id| !is_kept(id)) {
        let _ = fs::remove_file(pins.join(version(id)));
    }
}

/// Opens a pinned map.
pub(crate) fn pinned_map(path: &Path) -> Result<MapHandle, Error> {
    MapHandle::from_pinned_path(path).map_err(|error| opening(path, &error))
}

/// Explains why a pin cannot be opened.
pub(crate) fn opening(pin: &Path, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => Error::NotYours { pin: pin.to_owned() },
        _ => Error::Kernel { doing: format!("opening {}", pin.display()), report: format!("{error:#}") },
    }
}

/// Removes a folder of pins, and its parent if that is empty.
pub(crate) fn remove(pins: &Path) {
    // The link last: while it exists, the rest belongs to a loaded algorithm.
    forget_versions(pins, |_| false);
    let carried = CARRIED.iter().map(|(pin, ..)| *pin);
    for name in carried.chain(["next", "spec", "link"]) {
        let _ = fs::remove_file(pins.join(name));
    }
    let _ = fs::remove_dir(pins);
    let _ = fs::remove_dir(folder());
}
