//! Errors of the lab.

use std::{fmt, io, path::Path};

/// A key of a scenario that the lab does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The key, such as `link.b1.trace`.
    pub key: String,
    /// The reason.
    pub reason: String,
    /// The remedy, unless it is to use the simulator or to change the scenario.
    pub remedy: Option<String>,
}

/// An error.
#[derive(Clone, Debug)]
pub struct Error {
    /// Its category.
    pub kind: Kind,
    /// Description.
    pub message: String,
    /// Remedy.
    pub hint: Option<String>,
}

/// Category of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Wrong input.
    Input,
    /// This machine: something is missing, full or unreachable.
    Machine,
    /// The guest: it crashed, hung or could not do its job.
    Guest,
    /// The user interrupted.
    Interrupted,
}

impl Error {
    pub(crate) fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: Kind::Input, message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn machine(message: impl Into<String>) -> Self {
        Self { kind: Kind::Machine, message: message.into(), hint: None }
    }

    pub(crate) fn machine_with(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: Kind::Machine, message: message.into(), hint: Some(hint.into()) }
    }

    /// A file could not be written.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Self {
        Self::machine_with(
            format!("cannot write {}: {error}", path.display()),
            "make room, or name another place for the cache with XDG_CACHE_HOME",
        )
    }

    pub(crate) fn guest(message: impl Into<String>) -> Self {
        Self { kind: Kind::Guest, message: message.into(), hint: None }
    }

    pub(crate) fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, message: "interrupted".into(), hint: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Unsupported> for Error {
    fn from(Unsupported { key, reason, remedy }: Unsupported) -> Self {
        Self::input(format!("{key}: {reason}"), remedy.unwrap_or_else(|| "use --backend sim".to_owned()))
    }
}
