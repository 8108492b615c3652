//! User algorithms: one C file using `algorithms/braid.h`, compiled with the user's C compiler, checked against the
//! contract, and loaded, so that [`braid_algorithms::Spec::parse`] knows it beside the built-in ones.
//!
//! Such code may crash or never return, so its runner (`braid-study`) uses separate processes. [`object`] compiles the
//! same file for a kernel, whose verifier proves that it neither crashes nor loops.

mod clang;
mod compiler;
mod error;
mod flags;
mod headers;
mod load;
mod source;
mod symbols;
mod template;

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use braid_algorithms::{Algorithm, guard};

pub use error::Error;
pub use template::{File, template};

/// Compiles, checks and loads an algorithm for the rest of the program. It replaces one of the same name, unless that
/// is the same. `warn` gets the compiler's warnings, if there are some.
///
/// Unless [`braid_algorithms::guard`] is switched off, a run ends with a message at the first call that writes what it
/// may not, or whose behaviour is undefined.
///
/// # Errors
/// If there is no compiler, the file does not compile, it breaks the contract, or it uses what its flags say it does not; the
/// message says where.
pub fn algorithm(path: &Path, warn: impl FnOnce(&str)) -> Result<&'static Algorithm, Error> {
    let text = source::read(path)?;
    let declared = source::declaration(path, &text)?;
    let folder = tempfile::tempdir().map_err(|error| Error::new(format!("no temporary folder: {error}")))?;
    headers::write(folder.path())?;
    let compiler = compiler::Compiler { headers: folder.path(), source: path };
    let expanded = compiler.expand()?;
    let tokens = source::tokens(&expanded, folder.path());
    source::check(&tokens)?;
    let [plain, checked] = ["algorithm.so", "checked.so"].map(|name| folder.path().join(name));
    // At the same time: each takes as long as a short run.
    let (warnings, findings, built) = thread::scope(|threads| {
        let findings = guard::is_on().then(|| threads.spawn(|| compiler.analyse()));
        let built = guard::is_on().then(|| threads.spawn(|| compiler.build_checked(&checked)));
        let join = |thread: Option<thread::ScopedJoinHandle<Result<(), Error>>>| {
            thread.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        };
        (compiler.build(&plain), join(findings), join(built))
    });
    let warnings = warnings?;
    if !warnings.is_empty() {
        warn(&warnings);
    }
    symbols::check(&plain, &tokens, &declared)?;
    findings.and(built)?;
    let library = if guard::is_on() { checked } else { plain };
    load::load(&library, path, &tokens, &declared, folder.path())
}

/// Compiles a file that [`algorithm`] has accepted for a kernel, as the algorithms of the tree. Needs clang. The same
/// file gives the same bytes, wherever it is.
///
/// # Errors
/// If there is no clang, or the file does not compile for BPF; the message has the place.
pub fn object(path: &Path, algorithm: &Algorithm) -> Result<Vec<u8>, Error> {
    let folder = tempfile::tempdir().map_err(|error| Error::new(format!("no temporary folder: {error}")))?;
    headers::write(folder.path())?;
    let compiler = compiler::Compiler { headers: folder.path(), source: path };
    compiler.build_for_kernel(algorithm.source_hash(), &folder.path().join("algorithm.bpf.o"))
}
