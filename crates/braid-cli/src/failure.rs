//! Failure of a command: one message, perhaps a remedy, and the exit code.

use std::fmt;
use std::io;
use std::path::Path;

/// It ran, but something failed.
pub(crate) const FAILED: u8 = 1;
/// Usage or bad input.
pub(crate) const BAD_INPUT: u8 = 2;
/// Ended by Ctrl-C, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Description of an option's folder argument.
pub(crate) const FOLDER: &str = "the name of a folder, which is created if it is missing";

/// Printed by `main` before it ends with a code other than 0.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// An error in the request.
    pub(crate) fn bad_input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds a consequence.
    pub(crate) fn and(mut self, then: &str) -> Self {
        self.message += then;
        self
    }

    /// Several failures, each with its own "error:".
    pub(crate) fn several(code: u8, messages: &[Self]) -> Self {
        let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
        let text = messages.join("\n");
        Self::new(code, text.strip_prefix("error: ").unwrap_or(&text))
    }

    /// A file of the folder `--out`, or the folder, could not be written: a wrong place is bad input, a full disk is
    /// not.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Self {
        Self::writing_to("--out", FOLDER, path, error)
    }

    /// As [`Failure::writing`], for a path given by `option`, which takes `what`.
    pub(crate) fn writing_to(option: &str, what: &str, path: &Path, error: &io::Error) -> Self {
        let (code, hint) = remedy(error.kind(), option, what);
        let message = braid_study::Error::writing(path, error).message;
        Self { code, message, hint }
    }

    /// Adds a remedy.
    pub(crate) fn hint(self, hint: String) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(crate) fn stdout(error: &io::Error) -> Self {
        Self::new(FAILED, format!("cannot write to standard output: {error}"))
    }
}

/// Remedy for an unwritable path given by `option`.
fn remedy(kind: io::ErrorKind, option: &str, what: &str) -> (u8, Option<String>) {
    use io::ErrorKind::{
        AlreadyExists, FileTooLarge, IsADirectory, NotADirectory, NotFound, PermissionDenied, QuotaExceeded,
        ReadOnlyFilesystem, StorageFull,
    };
    match kind {
        StorageFull | QuotaExceeded => {
            (FAILED, Some(format!("make room or name a place on another disk with {option}")))
        }
        FileTooLarge => {
            (FAILED, Some("allow larger files (`ulimit -f`), then give the same command again".to_owned()))
        }
        PermissionDenied | ReadOnlyFilesystem => {
            (BAD_INPUT, Some(format!("name a place that you may write to with {option}")))
        }
        AlreadyExists | NotADirectory | IsADirectory | NotFound => {
            (BAD_INPUT, Some(format!("{option} takes {what}")))
        }
        _ => (FAILED, None),
    }
}

/// A study's error, in the words of the command line.
impl From<braid_study::Error> for Failure {
    fn from(error: braid_study::Error) -> Self {
        use braid_study::Kind;
        let braid_study::Error { kind, message, hint } = error;
        match kind {
            Kind::Algorithm => Self::new(BAD_INPUT, format!("--cc {message}")),
            Kind::NoAlgorithm => Self::bad_input(
                message,
                "name one or more, such as --cc lia,olia (`braid algorithms` lists them)",
            ),
            Kind::TooMany => Self::bad_input(
                message,
                "use fewer seeds with --seeds, and the remaining ones in a second command",
            ),
            Kind::Taken => Self::bad_input(message, "name another folder with --out, or remove this one"),
            Kind::Busy => Self::bad_input(message, "wait for it to end, or name another folder with --out"),
            Kind::Writing(kind) => {
                let (code, remedy) = remedy(kind, "--out", FOLDER);
                Self { code, message, hint: hint.or(remedy) }
            }
            Kind::Cancelled => Self { code: INTERRUPTED, message, hint },
            Kind::Failed => Self { code: FAILED, message, hint },
            _ => Self { code: BAD_INPUT, message, hint },
        }
    }
}

/// A failure during a study, which ends it.
impl From<Failure> for braid_study::Error {
    fn from(Failure { code, message, hint }: Failure) -> Self {
        use braid_study::Kind;
        let kind = match code {
            INTERRUPTED => Kind::Cancelled,
            BAD_INPUT => Kind::Input,
            _ => Kind::Failed,
        };
        Self { kind, message, hint }
    }
}

impl From<braid_compile::Error> for Failure {
    fn from(braid_compile::Error { message, hint }: braid_compile::Error) -> Self {
        Self { code: BAD_INPUT, message, hint }
    }
}

impl From<braid_scenario::Error> for Failure {
    fn from(error: braid_scenario::Error) -> Self {
        Self::new(BAD_INPUT, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}
