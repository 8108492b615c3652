//! The user's cache of images and snapshots, each complete or absent.

use std::{
    env,
    fs::{self, File},
    hash::Hasher as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use braid_study::Stop;
use twox_hash::XxHash3_64;

use super::{
    error,
    scratch::{self, Scratch},
};

/// Number of newest images and snapshots that stay, in addition to recently used ones, which another braid may be about
/// to use.
const KEPT: usize = 4;
const IN_USE: Duration = Duration::from_secs(3600);
pub(crate) fn cache() -> Result<PathBuf, Stop> {
    let base = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let base = base.ok_or_else(|| {
        error::machine_with("there is no folder for the lab's cache", "set HOME or XDG_CACHE_HOME")
    })?;
    Ok(base.join("braid"))
}

/// Creates a file or folder that is complete or absent. A valid existing one is marked as used.
pub(crate) fn whole(
    path: &Path,
    is_whole: impl Fn(&Path) -> io::Result<bool>,
    say: &dyn Fn(&str),
    make: impl FnOnce(&Path) -> Result<(), Stop>,
) -> Result<(), Stop> {
    match is_whole(path) {
        Ok(true) => {
            mark(path);
            return Ok(());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(false) | Err(_) => say(&format!("{} is damaged and replaced", path.display())),
    }
    let parent = path.parent().expect("it is in the cache");
    fs::create_dir_all(parent).map_err(error::writing(parent))?;
    scratch::sweep(parent);
    let scratch = Scratch::new_in(parent)?;
    let part = scratch.path().join("part");
    make(&part)?;
    let _ = fs::remove_dir_all(path);
    match fs::rename(&part, path) {
        // Another braid may have been faster.
        Err(error) if !is_whole(path).is_ok_and(|is| is) => Err(error::writing(path)(error)),
        _ => Ok(()),
    }
}

/// Marks a file as used. Errors are ignored.
pub(crate) fn mark(path: &Path) {
    let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Bytes of the checksum at the end of a sealed file.
const SEAL: usize = 8;

fn sum(bytes: &[u8]) -> [u8; SEAL] {
    let mut hash = XxHash3_64::default();
    hash.write(bytes);
    hash.finish().to_le_bytes()
}

/// Appends a checksum. QEMU ignores trailing data.
pub(crate) fn seal(file: &Path) -> io::Result<()> {
    let sum = sum(&fs::read(file)?);
    File::options().append(true).open(file)?.write_all(&sum)
}

/// Whether the checksum at the end matches.
pub(crate) fn is_sealed(file: &Path) -> io::Result<bool> {
    let bytes = fs::read(file)?;
    Ok(bytes.split_last_chunk::<SEAL>().is_some_and(|(rest, seal)| sum(rest) == *seal))
}

/// Removes images and snapshots that were not used for long. Errors are ignored.
pub(crate) fn tidy(folder: &Path) {
    let used = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for kind in ["cpio", "snapshot"] {
        let mut files: Vec<PathBuf> =
            entries().filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect();
        files.sort_by_key(used);
        let is_old =
            |file: &&PathBuf| used(file).and_then(|time| time.elapsed().ok()).is_some_and(|age| age > IN_USE);
        for file in files.iter().rev().skip(KEPT).filter(is_old) {
            let _: io::Result<()> = fs::remove_file(file);
        }
    }
}
