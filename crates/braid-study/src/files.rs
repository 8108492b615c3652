//! Files that are whole or not there.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// How the name of a file ends that is not whole.
pub const PART: &str = ".part";

/// All of a file or nothing: it takes its name only once it is on the disk.
///
/// # Errors
/// What the system says.
pub fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = part(path)?;
    file.write_all(bytes)?;
    publish(file, path)
}

/// A file beside `path` that is gone if it is not given its name.
///
/// # Errors
/// What the system says.
pub fn part(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(path.file_name().unwrap_or_default()).suffix(PART);
    // Temporary files are private; results are for everyone the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Gives a file its name once it is on the disk.
///
/// # Errors
/// What the system says.
pub fn publish(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
