//! The shared libraries of a program.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use braid_study::Stop;
use lddtree::{DependencyAnalyzer, Library};

use super::error;

/// The shared libraries of a program, including its loader; empty if it is static.
pub(crate) fn needed(program: &Path) -> Result<Vec<PathBuf>, Stop> {
    let shown = program.display();
    let tree = DependencyAnalyzer::default()
        .analyze(program)
        .map_err(|error| error::machine(format!("cannot find the libraries of {shown}: {error}")))?;
    let libraries: BTreeMap<String, Library> = tree.libraries.into_iter().collect();
    if let Some(missing) = libraries.values().find(|library| library.realpath.is_none()) {
        return Err(error::machine_with(
            format!("{shown} needs the library {}, which is not on this machine", missing.name),
            "install it",
        ));
    }
    let mut paths: Vec<PathBuf> = libraries.into_values().map(|library| library.path).collect();
    paths.extend(tree.interpreter.map(PathBuf::from));
    paths.sort();
    paths.dedup();
    Ok(paths)
}
