//! The headers that an algorithm may include; they travel with the program.

use std::fs;
use std::path::Path;

use crate::Error;

/// All of them: path as in `#include`, and text.
pub fn headers() -> &'static [(&'static str, &'static str)] {
    include!(concat!(env!("OUT_DIR"), "/headers.rs"))
}

/// Writes all of them into a folder.
pub(crate) fn write(folder: &Path) -> Result<(), Error> {
    let write = || {
        fs::create_dir_all(folder.join("sbd"))?;
        headers().iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
    };
    write().map_err(|error| Error::new(format!("cannot write {}: {error}", folder.display())))
}
