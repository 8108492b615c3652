//! The headers that an algorithm may include; they are embedded in the program.

use std::fs;
use std::io;
use std::path::Path;

use crate::Error;

/// All headers: path and text. Those of the hosts, native and kernel, are in separate folders.
pub(crate) fn headers() -> &'static [(&'static str, &'static str)] {
    include!(concat!(env!("OUT_DIR"), "/headers.rs"))
}

/// Writes all headers into a folder.
pub(crate) fn write(folder: &Path) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        for (name, text) in headers() {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("it is in the folder"))?;
            fs::write(path, text)?;
        }
        Ok(())
    };
    write().map_err(|error| Error::new(format!("cannot write {}: {error}", folder.display())))
}
