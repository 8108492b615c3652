//! Temporary folders. Each is locked by its owner; an unlocked one belongs to a killed program, and is removed at the
//! next start.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use braid_study::Stop;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::error;

const PREFIX: &str = "scratch-";

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    _own: File,
}

impl Scratch {
    pub(crate) fn new_in(parent: &Path) -> Result<Self, Stop> {
        let make = || {
            // Prevents a sweep before the folder is locked.
            let _no_sweep = lock(parent, FlockOperation::LockShared)?;
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let own = lock(folder.path(), FlockOperation::LockExclusive)?;
            Ok(Self { folder, _own: own })
        };
        make().map_err(error::writing(parent))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders whose owner is gone. Errors are ignored.
pub(crate) fn sweep(parent: &Path) {
    let Ok(_nobody_makes_one) = lock(parent, FlockOperation::LockExclusive) else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_scratch = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if let Some(Ok(_own)) =
            is_scratch.then(|| lock(&entry.path(), FlockOperation::NonBlockingLockExclusive))
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks a folder or file until the result is dropped.
pub(crate) fn lock(path: &Path, how: FlockOperation) -> io::Result<File> {
    let file = File::open(path)?;
    flock(&file, how)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_owner_goes_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let mine = Scratch::new_in(parent.path()).unwrap();
        fs::write(mine.path().join("work"), "in progress").unwrap();
        let dead = parent.path().join("scratch-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("half"), "written").unwrap();
        let other = parent.path().join("kernels");
        fs::create_dir(&other).unwrap();
        sweep(parent.path());
        assert!(mine.path().join("work").exists() && other.exists() && !dead.exists());
        let path = mine.path().to_owned();
        drop(mine);
        assert!(!path.exists());
    }
}
