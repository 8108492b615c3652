//! Errors of studies.

use std::fmt;

/// Category of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Wrong input.
    Input,
    /// An algorithm or its parameters do not exist.
    Algorithm,
    /// Neither the study nor the scenario names algorithms.
    NoAlgorithm,
    /// More runs than fit into memory.
    TooMany,
    /// A missing requirement, or a failure that affects every run.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// A file or folder cannot be written.
    Writing(std::io::ErrorKind),
    /// A folder has other content; nothing was overwritten.
    Taken,
    /// Another program writes to the same folder.
    Busy,
}

/// An error of a study, with a remedy if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Its category.
    pub kind: Kind,
    /// The description.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Error {
    /// An error without a remedy.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A file or folder could not be written.
    pub fn writing(path: &std::path::Path, error: &std::io::Error) -> Self {
        // For a temporary file, whose name is meaningless, only the cause.
        let text = error.to_string();
        let text = text.split(" at path ").next().unwrap_or_default();
        Self::new(Kind::Writing(error.kind()), format!("cannot write {}: {text}", path.display()))
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<braid_scenario::Error> for Error {
    fn from(error: braid_scenario::Error) -> Self {
        Self::new(Kind::Input, error.to_string())
    }
}
