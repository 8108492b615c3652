//! Errors of user algorithms.

use std::fmt;

/// The problem and its place, and a remedy if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The problem, `FILE:LINE: ...` if it has a place.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
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
