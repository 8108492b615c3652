//! The user's C compiler, and clang for a kernel.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

use crate::{Error, clang};

/// The same options as for the algorithms of the tree (`crates/braid-algorithms/build.rs`).
const CONTRACT: [&str; 8] = [
    "-std=gnu11",
    "-O2",
    "-ffreestanding",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
];

/// Warnings that are errors: what they warn of gives results that mean nothing.
const REFUSED: [&str; 3] = ["-Werror=uninitialized", "-Werror=array-bounds", "-Werror=return-type"];

/// Finds undefined behaviour in each call, and makes uninitialised memory differ from zero.
const CHECKED: [&str; 3] = ["-w", "-fsanitize=undefined", "-ftrivial-auto-var-init=pattern"];
/// The array at the end of the view has the length that it says, too: by the first of these that the compiler knows.
const BOUNDS: [&str; 2] = ["-fstrict-flex-arrays=3", "-fsanitize=bounds-strict"];
/// What the sanitizer calls.
const HANDLERS: &str = include_str!("undefined.c");

pub(crate) struct Compiler<'a> {
    pub(crate) headers: &'a Path,
    pub(crate) source: &'a Path,
}

impl Compiler<'_> {
    /// The preprocessed source, with the file and line of each part.
    pub(crate) fn expand(&self) -> Result<String, Error> {
        let output = self.run(&["-E"])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A shared library of this file alone, at `to`, and the compiler's warnings.
    pub(crate) fn build(&self, to: &Path) -> Result<String, Error> {
        let output = self.library(REFUSED.as_slice(), to)?;
        Ok(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
    }

    /// Refuses a value that may be used before it is set: by gcc's analyzer, which needs the code as written, or by clang.
    pub(crate) fn analyse(&self) -> Result<(), Error> {
        let gcc =
            ["-c", "-O0", "-fanalyzer", "-Werror=analyzer-use-of-uninitialized-value", "-o", "/dev/null"];
        let is_finding = |error: &Error| error.message.contains("-use-of-uninitialized-value]");
        match self.run(&gcc) {
            Err(error) if is_finding(&error) => Err(error),
            Err(_) => self.run(&["-fsyntax-only", "-Werror=conditional-uninitialized"]).map(drop),
            Ok(_) => Ok(()),
        }
    }

    /// The same library, which calls `braid_undefined` before undefined behaviour.
    pub(crate) fn build_checked(&self, to: &Path) -> Result<(), Error> {
        let handlers = to.with_extension("c");
        fs::write(&handlers, HANDLERS)
            .map_err(|error| Error::new(format!("cannot write {}: {error}", handlers.display())))?;
        let handlers = handlers.to_string_lossy();
        let build = |more: &[&str]| self.library(&[&CHECKED, more, &[&handlers]].concat(), to).map(drop);
        BOUNDS.iter().find_map(|more| build(&[more]).ok()).map_or_else(|| build(&[]), Ok)
    }

    fn library(&self, words: &[&str], to: &Path) -> Result<Output, Error> {
        let flags = ["-shared", "-fPIC", "-nostdlib", "-fvisibility=default", "-o", &to.to_string_lossy()];
        let output = self.run(&[words, flags.as_slice()].concat())?;
        fs::metadata(to).map_err(|error| Error::new(format!("the C compiler wrote no library: {error}")))?;
        Ok(output)
    }

    /// The BPF object of this file.
    pub(crate) fn build_for_kernel(&self, source_hash: u64, to: &Path) -> Result<Vec<u8>, Error> {
        let clang = clang::find()
            .map_err(|wrong| Error::new(format!("{}: {wrong}", self.source.display())).hint(clang::REMEDY))?;
        let mut command = Command::new(&clang);
        command.env("LC_ALL", "C").args(clang::FLAGS).arg(format!("-DBRAID_SOURCE_HASH={source_hash:#x}ull"));
        command.arg("-I").arg(self.headers).arg("-I").arg(self.headers.join("kernel"));
        // The object must not depend on its path, and has the source lines for the verifier's messages.
        let folder = self.source.parent().filter(|folder| !folder.as_os_str().is_empty());
        command.current_dir(folder.unwrap_or(Path::new(".")));
        command
            .arg(format!("-ffile-prefix-map={}/=", self.headers.display()))
            .arg("-fdebug-compilation-dir=.");
        command.arg("-o").arg(to).arg(self.source.file_name().unwrap_or_default());
        let output = command.output().map_err(|error| {
            Error::new(format!("{}: {}: {error}", self.source.display(), clang.display()))
        })?;
        self.succeeded(output, " for a kernel").map_err(|error| {
            let is_no_bpf = error.message.contains("unable to create target");
            error.hint(if is_no_bpf { clang::REMEDY } else { IN_KERNEL })
        })?;
        fs::read(to).map_err(|error| Error::new(format!("clang wrote no object file: {error}")))
    }

    fn run(&self, words: &[&str]) -> Result<Output, Error> {
        let named = env::var_os("CC").filter(|program| !program.is_empty());
        let program = named.clone().unwrap_or_else(|| "cc".into());
        let run = |program: &OsStr| {
            let mut command = Command::new(program);
            // Messages are parsed by programs, too.
            command.env("LC_ALL", "C").args(CONTRACT).arg("-I").arg(self.headers);
            command.arg("-I").arg(self.headers.join("native")).args(words).arg(self.source).output()
        };
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let output = match run(&program) {
            // clang alone is enough, too.
            Err(error) if named.is_none() && is_missing(&error) => {
                clang::find().map_or(Err(error), |clang| run(clang.as_os_str()))
            }
            other => other,
        };
        let output = output.map_err(|error| {
            let name = program.to_string_lossy();
            let why = if is_missing(&error) { "is not there".to_owned() } else { error.to_string() };
            Error::new(format!("{}: the C compiler `{name}` {why}", self.source.display()))
                .hint("install gcc or clang, or name one in the environment variable CC")
        })?;
        self.succeeded(output, "").map_err(|error| {
            error.hint("the contract is in braid.h; `braid new algorithm NAME` writes a file that compiles")
        })
    }

    fn succeeded(&self, output: Output, what_for: &str) -> Result<Output, Error> {
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let source = self.source.display();
        Err(Error::new(format!("{source} does not compile{what_for}:\n{}", said.trim_end())))
    }
}

/// Differences between native compilers and clang for BPF.
const IN_KERNEL: &str =
    "a kernel has no signed division, no 128 bits and a stack of 512 bytes; fixed.h has the arithmetic";
