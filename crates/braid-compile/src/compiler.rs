//! The user's C compiler.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Error;

/// As the algorithms of the tree are compiled (`crates/braid-algorithms/build.rs`).
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

pub(crate) struct Compiler<'a> {
    pub(crate) headers: &'a Path,
    pub(crate) source: &'a Path,
}

impl Compiler<'_> {
    /// The source after the preprocessor, which says with each piece what file and line it is from.
    pub(crate) fn expand(&self) -> Result<String, Error> {
        let output = self.run(&["-E".as_ref()])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A shared library of it alone, at `to`.
    pub(crate) fn build(&self, to: &Path) -> Result<PathBuf, Error> {
        let flags = ["-shared", "-fPIC", "-nostdlib", "-fvisibility=default", "-o"];
        let mut words: Vec<&Path> = flags.iter().map(Path::new).collect();
        words.push(to);
        self.run(&words)?;
        fs::metadata(to)
            .map_err(|error| Error::new(format!("the C compiler has left no library: {error}")))?;
        Ok(to.to_owned())
    }

    fn run(&self, words: &[&Path]) -> Result<Output, Error> {
        let program = env::var_os("CC").filter(|program| !program.is_empty()).unwrap_or_else(|| "cc".into());
        let mut command = Command::new(&program);
        // Messages are for programs to look at, too.
        command.env("LC_ALL", "C").args(CONTRACT).arg("-I").arg(self.headers).args(words).arg(self.source);
        let output = command.output().map_err(|error| {
            let name = program.to_string_lossy();
            let missing = error.kind() == io::ErrorKind::NotFound;
            let why = if missing { "is not there".to_owned() } else { error.to_string() };
            Error::new(format!("{}: the C compiler `{name}` {why}", self.source.display()))
                .hint("install gcc or clang, or name one in the environment variable CC")
        })?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("{} does not compile:\n{}", self.source.display(), said.trim_end()))
            .hint("the contract is in braid.h; `braid new algorithm NAME` writes a file that compiles"))
    }
}
