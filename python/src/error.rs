//! Errors as exceptions with place and remedy.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

pyo3::create_exception!(
    braid,
    Error,
    pyo3::exceptions::PyValueError,
    "What cannot be done and why: `message`, `place` (FILE:LINE:COLUMN or None) and `hint` (the remedy, or None)."
);

/// An exception with these attributes.
fn exception(text: String, message: &str, place: Option<&str>, hint: Option<&str>) -> PyErr {
    let error = Error::new_err(text);
    Python::attach(|py| {
        let value = error.value(py);
        let set = || -> PyResult<()> {
            value.setattr("message", message)?;
            value.setattr("place", place)?;
            value.setattr("hint", hint)
        };
        match set() {
            Ok(()) => error.clone_ref(py),
            Err(other) => other,
        }
    })
}

/// For a study. A cancelled one was interrupted from the keyboard.
pub(crate) fn of_study(error: &braid_study::Error) -> PyErr {
    if error.kind == braid_study::Kind::Cancelled {
        return PyKeyboardInterrupt::new_err(error.message.clone());
    }
    exception(error.to_string(), &error.message, place(&error.message), error.hint.as_deref())
}

/// For a scenario.
pub(crate) fn of_scenario(error: &braid_scenario::Error) -> PyErr {
    let first = &error.problems()[0];
    exception(error.to_string(), &first.message, Some(&first.place), first.hint.as_deref())
}

/// For a user's C file.
pub(crate) fn of_compiler(error: &braid_compile::Error) -> PyErr {
    exception(error.to_string(), &error.message, place(&error.message), error.hint.as_deref())
}

/// For all other errors.
pub(crate) fn plain(message: impl std::fmt::Display) -> PyErr {
    let message = message.to_string();
    exception(message.clone(), &message, None, None)
}

/// `FILE:LINE` or `FILE:LINE:COLUMN` at the beginning of a message.
fn place(message: &str) -> Option<&str> {
    let end = message.find(": ")?;
    let place = &message[..end];
    let line = place.rsplit(':').next()?;
    (place.contains(':') && line.bytes().all(|byte| byte.is_ascii_digit())).then_some(place)
}
