//! Files that are complete or absent.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Suffix of an incomplete file.
pub const PART: &str = ".part";

/// Writes a file completely or not at all: it is renamed once it is on the disk.
///
/// # Errors
/// The system's error.
pub fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = part(path)?;
    file.write_all(bytes)?;
    publish(file, path)
}

/// A temporary file beside `path`, removed unless it is renamed.
///
/// # Errors
/// The system's error.
pub fn part(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(path.file_name().unwrap_or_default()).suffix(PART);
    // Temporary files are private; results follow the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Renames a file once it is on the disk.
///
/// # Errors
/// The system's error.
pub fn publish(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
