//! Results as files: read, put together and written.

use std::fs;
use std::path::Path;

use braid_report::repro::Part;
use braid_results::claims::{self, Document};
use braid_study::Folder;

use crate::Failure;
use crate::args::{ReproArgs, ReproFormat};
use crate::command::VERSION;

/// What the results are called in the folder of `--out`.
pub(super) const RESULTS: &str = "repro.json";

/// Writes the files of the data set, over earlier ones.
pub(super) fn dataset(folder: &Path, documents: &[Document]) -> Result<(), Failure> {
    let files =
        claims::dataset::files(documents, VERSION).map_err(|error| Failure::writing(folder, &error))?;
    let folder = Folder::create(folder)?;
    files.iter().try_for_each(|(name, bytes)| folder.write(name, bytes))?;
    Ok(())
}

/// Documents as one: they must be about the same seeds and changes, and about different experiments. Searches say their
/// seeds themselves, so that they may have any where nothing else is shown.
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
