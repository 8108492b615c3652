//! What need not be made again, in the user's cache: images and snapshots, each there whole or not at all.

use std::{
    env,
    fs::{self, File},
    hash::Hasher as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use twox_hash::XxHash3_64;

use super::{error::Error, scratch::Scratch};

/// Of images and snapshots, the newest so many are kept, and those that were used a short time ago: another braid may be
/// about to use them again.
const KEPT: usize = 4;
const IN_USE: Duration = Duration::from_secs(3600);
/// The folder for what need not be made again.
pub(crate) fn cache() -> Result<PathBuf, Error> {
    let base = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let base = base.ok_or_else(|| {
        Error::machine_with("there is no place for the lab's cache", "set HOME or XDG_CACHE_HOME")
    })?;
    Ok(base.join("braid"))
}

/// A file that is there whole or not at all. One that is there already, and is as it should be, is marked as used.
pub(crate) fn whole(
    path: &Path,
    is_whole: impl FnOnce(&Path) -> io::Result<bool>,
    say: &dyn Fn(&str),
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    match is_whole(path) {
        Ok(true) => {
            mark(path);
            return Ok(());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(false) | Err(_) => say(&format!("{} is damaged and made anew", path.display())),
    }
    let folder = path.parent().expect("it is in the cache");
    let scratch = Scratch::new_in(folder)?;
    let part = scratch.path().join("part");
    make(&part)?;
    fs::rename(&part, path).map_err(|error| Error::writing(path, &error))
}

/// Notes that a file is used. It does no harm if that cannot be.
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

/// Adds a checksum. QEMU does not mind something after its own.
pub(crate) fn seal(file: &Path) -> io::Result<()> {
    let sum = sum(&fs::read(file)?);
    File::options().append(true).open(file)?.write_all(&sum)
}

/// Whether the checksum at the end is that of the rest.
pub(crate) fn is_sealed(file: &Path) -> io::Result<bool> {
    let bytes = fs::read(file)?;
    Ok(bytes.split_last_chunk::<SEAL>().is_some_and(|(rest, seal)| sum(rest) == *seal))
}

/// Removes images and snapshots that were not used for long. What cannot be removed does no harm.
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
