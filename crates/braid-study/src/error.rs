//! Why a study cannot be done.

use std::fmt;

/// What kind of error it is: who can put it right, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Something asked for is wrong.
    Input,
    /// An algorithm or its parameters are not there.
    Algorithm,
    /// Neither the study nor the scenario says which algorithms to run.
    NoAlgorithm,
    /// More runs than fit into memory.
    TooMany,
    /// The machine lacks something, or something failed that every run needs.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// A file or folder cannot be written.
    Writing(std::io::ErrorKind),
    /// A folder holds something else; nothing was overwritten.
    Taken,
    /// Another program writes to the same folder.
    Busy,
}

/// Why a study cannot be done, in a sentence, and a remedy if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of error it is.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// How to put it right.
    pub hint: Option<String>,
}

impl Error {
    /// An error without a remedy.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A file or folder could not be written.
    pub fn writing(path: &std::path::Path, error: &std::io::Error) -> Self {
        // Of a temporary file, whose name says nothing, only what is the matter.
        let text = error.to_string();
        let text = text.split(" at path ").next().unwrap_or_default();
        Self::new(Kind::Writing(error.kind()), format!("cannot write {}: {text}", path.display()))
    }

    /// The same with a remedy.
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
