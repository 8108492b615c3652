//! `braid new`.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use crate::{Failure, terminal};

/// Writes the files of a new algorithm, unless one of them exists.
pub(crate) fn algorithm(name: &str, folder: &Path) -> Result<(), Failure> {
    let files = braid_compile::template(name)?;
    if let Some(there) = files.iter().map(|file| folder.join(&file.name)).find(|path| path.exists()) {
        return Err(Failure::bad_input(
            format!("{} already exists; nothing was written", there.display()),
            "give the algorithm another name, or name another folder with --out",
        ));
    }
    for file in &files {
        let path = folder.join(&file.name);
        let write = || {
            let mut new = OpenOptions::new().write(true).create_new(true).open(&path)?;
            new.write_all(file.text.as_bytes())
        };
        write()
            .map_err(|error: io::Error| Failure::writing_to("--out", "an existing folder", &path, &error))?;
    }
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    terminal::print(
        format!(
            "Wrote {}.\nRun it: braid run {name}.toml --algorithm {name}.c --cc {name},lia,reno\nTest it: sh {name}-test.sh\n",
            names.join(", ")
        )
        .as_bytes(),
    )
}
