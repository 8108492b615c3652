//! Result files: read, joined and written.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use braid_report::repro::Part;
use braid_results::claims::{self, Document};

use crate::Failure;
use crate::args::{ReproArgs, ReproFormat};
use crate::command::VERSION;

/// Name of the results in the folder of `--out`.
pub(super) const RESULTS: &str = "repro.json";

/// Writes the files of the data set, over earlier ones.
pub(super) fn dataset(folder: &Path, documents: &[Document]) -> Result<(), Failure> {
    prepare(folder)?;
    let files =
        claims::dataset::files(documents, VERSION).map_err(|error| Failure::writing(folder, &error))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        braid_study::files::whole(&path, &bytes).map_err(|error| Failure::writing(&path, &error))?;
    }
    Ok(())
}

/// Joins documents: they must have the same seeds and changes, and different experiments. Searches contain their seeds,
/// so they may differ if nothing else is shown.
pub(super) fn together(args: &ReproArgs, all: &[Document]) -> Result<Document, Failure> {
    let mut first = all[0].clone();
    let own_seeds =
        args.show == [Part::Search] && matches!(args.format, ReproFormat::Table | ReproFormat::Markdown);
    for (document, path) in all.iter().zip(&args.from).skip(1) {
        let mut document = document.clone();
        if own_seeds {
            document.seeds = first.seeds;
        }
        first.join(document).map_err(|why| {
            Failure::bad_input(
                format!("{} and {}: {why}", args.from[0].display(), path.display()),
                "name one --from, or add --report FILE.html, which shows them side by side",
            )
        })?;
    }
    Ok(first)
}

pub(super) fn read(path: &Path) -> Result<Document, Failure> {
    let hint = "name a file that `braid repro --out DIR` or `--format json` wrote";
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display()), hint))?;
    Document::from_json(&text)
        .map_err(|error| Failure::bad_input(format!("{}: not a reproduction: {error}", path.display()), hint))
}

/// Checks the folder before running.
fn prepare(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, &error))?;
    tempfile::tempfile_in(folder).map_err(|error| Failure::writing(folder, &error)).map(drop)
}

/// Writes the results, unless different ones exist.
pub(super) fn write(folder: &Path, document: &Document) -> Result<(), Failure> {
    prepare(folder)?;
    let path = folder.join(RESULTS);
    let text = document.to_json();
    match fs::read(&path) {
        Ok(there) if there == text.as_bytes() => return Ok(()),
        Ok(_) => {
            return Err(Failure::bad_input(
                format!("{} holds other results; nothing was overwritten", path.display()),
                "name another folder with --out, or remove this one",
            ));
        }
        Err(_) => {}
    }
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| Failure::writing(&path, &error))
}
