//! The text of a scenario and its name in messages.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::{Error, Problem, quote, suggest};
use crate::{case, embedded};

/// Maximum of a scenario's bytes, in case a device or disk image is given by mistake.
const LONGEST: u64 = 1 << 20;

/// The text of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The embedded name such as `d-olia/1`, or the path as given, for messages.
    pub name: String,
    /// TOML.
    pub text: String,
}

impl Source {
    /// The built-in scenario of that name, or a random one ([`mod@case`]).
    pub fn embedded(name: &str) -> Option<Self> {
        let text = embedded::text(name).map(str::to_owned).or_else(|| case::text(name))?;
        Some(Self { name: name.to_owned(), text })
    }

    /// The file at `path`.
    ///
    /// # Errors
    ///
    /// If it is missing, a directory, unreadable, longer than 1 MiB or not UTF-8.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let fail = |message: String, hint: &str| -> Error {
            Problem::new(&name, message).hint((!hint.is_empty()).then(|| hint.to_owned())).into()
        };
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(
            |error| match error.kind() {
                ErrorKind::NotFound => {
                    fail("no such file".into(), "`braid scenarios` lists what is built in")
                }
                ErrorKind::IsADirectory => {
                    fail("a directory, not a scenario".into(), "name a .toml file inside it")
                }
                ErrorKind::PermissionDenied => {
                    fail("no permission to read it".into(), "make it readable, for instance with `chmod +r`")
                }
                _ => fail(format!("cannot be read: {error}"), ""),
            },
        )?;
        if bytes.len() as u64 > LONGEST {
            return Err(fail("longer than 1 MiB, so not a scenario".into(), ""));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = bytes[..at].split(|byte| *byte == b'\n').count();
            fail(
                format!("not text: byte 0x{:02x} in line {line} is not UTF-8", bytes[at]),
                "a scenario is a TOML file, saved as UTF-8",
            )
        })?;
        Ok(Self { name, text })
    }

    /// The embedded scenario of that name, or else the file at that path.
    ///
    /// # Errors
    ///
    /// As [`Source::read`]; a name that is neither gets a suggestion.
    pub fn find(name_or_path: &str) -> Result<Self, Error> {
        if let Some(source) = Self::embedded(name_or_path) {
            return Ok(source);
        }
        let path = Path::new(name_or_path);
        if path.exists() || path.extension().is_some_and(|extension| extension == "toml") {
            return Self::read(path);
        }
        let folder = format!("{}/", name_or_path.trim_end_matches('/'));
        let inside: Vec<&str> = embedded::names().filter(|name| name.starts_with(&folder)).collect();
        let hint = if inside.is_empty() {
            suggest(name_or_path, embedded::names())
        } else {
            Some(format!("did you mean one of {}?", inside.join(", ")))
        };
        let message = "neither a built-in scenario nor a file";
        Err(Problem::new(quote(name_or_path), message).hint(hint).into())
    }
}
