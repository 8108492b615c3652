//! Algorithms: built-in ones, and C files of users.

use std::path::PathBuf;

use braid_algorithms::Algorithm;
use pyo3::prelude::*;

use crate::error;

/// Name, title and page of all known algorithms.
#[pyfunction]
pub(crate) fn list() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = braid_algorithms::all().iter().chain(braid_algorithms::added());
    all.map(|algorithm: &Algorithm| (algorithm.name(), algorithm.title(), algorithm.page())).collect()
}

/// Shows a compiler's warnings.
pub(crate) fn warn(text: &str) {
    eprintln!("{text}");
}

/// Compiles, checks and loads a C file; returns the algorithm's name.
#[pyfunction]
pub(crate) fn compile(py: Python<'_>, path: PathBuf) -> PyResult<&'static str> {
    py.detach(|| braid_compile::algorithm(&path, warn))
        .map(Algorithm::name)
        .map_err(|wrong| error::of_compiler(&wrong))
}

/// Name and text of the files of a new algorithm, and whether all algorithms of the folder share it.
#[pyfunction]
pub(crate) fn template(name: &str) -> PyResult<Vec<(String, String, bool)>> {
    let files = braid_compile::template(name).map_err(|wrong| error::of_compiler(&wrong))?;
    Ok(files.into_iter().map(|file| (file.name, file.text, file.shared)).collect())
}
