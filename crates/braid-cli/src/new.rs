//! `braid new`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::{Failure, terminal};

/// Writes the files of a new algorithm, unless one of them exists. Those for an editor replace earlier ones.
pub(crate) fn algorithm(name: &str, folder: &Path) -> Result<(), Failure> {
    let files = braid_compile::template(name)?;
    let own = || files.iter().filter(|file| !file.shared);
    if let Some(there) = own().map(|file| folder.join(&file.name)).find(|path| path.exists()) {
        return Err(Failure::bad_input(
            format!("{} already exists; nothing was written", there.display()),
            "give the algorithm another name, or name another folder with --out",
        ));
    }
    for file in &files {
        let path = folder.join(&file.name);
        let write = || {
            if file.shared {
                path.parent().filter(|parent| *parent != folder).map_or(Ok(()), fs::create_dir_all)?;
                return fs::write(&path, &file.text);
            }
            let mut new = OpenOptions::new().write(true).create_new(true).open(&path)?;
            new.write_all(file.text.as_bytes())
        };
        write()
            .map_err(|error: io::Error| Failure::writing_to("--out", "an existing folder", &path, &error))?;
    }
    let names: Vec<&str> = own().map(|file| file.name.as_str()).collect();
    terminal::print(
        format!(
            "Wrote {}, and for an editor .clangd and braid/.\nRun it: braid run {name}.toml --algorithm {name}.c --cc {name},lia,reno\nTest it: sh {name}-test.sh\n",
            names.join(", ")
        )
        .as_bytes(),
    )
}
