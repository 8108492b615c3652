//! Errors of the lab, as reasons to stop a run.

use std::{io, path::Path};

use braid_study::{Error, Kind, Stop};

/// A key of a scenario that the lab does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported {
    /// Such as `link.b1.trace`.
    pub(crate) key: String,
    pub(crate) reason: String,
    /// The remedy, unless it is to use the simulator or to change the scenario.
    pub(crate) remedy: Option<String>,
}

impl From<Unsupported> for Stop {
    fn from(Unsupported { key, reason, remedy }: Unsupported) -> Self {
        input(format!("{key}: {reason}"), remedy.unwrap_or_else(|| "use --backend sim".to_owned()))
    }
}

/// Wrong input.
pub(crate) fn input(message: impl Into<String>, hint: impl Into<String>) -> Stop {
    Stop::All(Error::new(Kind::Input, message).hint(hint))
}

/// On this machine something is missing, full or unreachable.
pub(crate) fn machine(message: impl Into<String>) -> Stop {
    Stop::All(Error::new(Kind::Failed, message))
}

/// The same with a remedy.
pub(crate) fn machine_with(message: impl Into<String>, remedy: impl Into<String>) -> Stop {
    machine(format!("{}; {}", message.into(), remedy.into()))
}

pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Stop {
    let path = path.display().to_string();
    move |error| machine(format!("cannot read {path}: {error}"))
}

pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Stop {
    let path = path.display().to_string();
    let remedy = "make room, or name another place for the cache with XDG_CACHE_HOME";
    move |error| machine_with(format!("cannot write {path}: {error}"), remedy)
}
