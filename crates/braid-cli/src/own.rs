//! User algorithms.

use std::path::Path;

use braid_algorithms::Algorithm;
#[cfg(target_os = "linux")]
use braid_algorithms::Spec;

use crate::Failure;
#[cfg(target_os = "linux")]
use crate::names;

/// Compiles and registers a file, also for kernels if it is to run in one.
pub(crate) fn add(file: &Path, in_kernel: bool) -> Result<&'static Algorithm, Failure> {
    let algorithm = braid_compile::algorithm(file, |warnings| eprintln!("{warnings}"))?;
    if in_kernel {
        #[cfg(target_os = "linux")]
        braid_kernel::add_object(algorithm, braid_compile::object(file, algorithm)?);
    }
    Ok(algorithm)
}

/// An algorithm for the kernel: `NAME[:key=value]...`, or `FILE.c[:key=value]...`.
#[cfg(target_os = "linux")]
pub(crate) fn parse(text: &str) -> Result<Spec, Failure> {
    match file(text) {
        None => names::parse(text),
        Some((file, params)) => names::parse(&format!("{}{params}", add(file, true)?.name())),
    }
}

/// The parts of `FILE.c[:key=value]...`.
#[cfg(target_os = "linux")]
pub(crate) fn file(text: &str) -> Option<(&Path, &str)> {
    let (file, params) = match text.find(".c:") {
        Some(end) => text.split_at(end + 2),
        None => (text, ""),
    };
    let file = Path::new(file);
    (file.extension()? == "c").then_some((file, params))
}
