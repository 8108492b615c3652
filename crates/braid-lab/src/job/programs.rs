//! Programs as the agent runs them.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Programs {
    /// That of the server, then that of the client; with addresses filled in.
    pub(crate) commands: [Command; 2],
    /// Whether the server is where the sender is; else the client.
    pub(crate) server_sends: bool,
    /// Where they begin.
    pub(crate) folder: String,
    /// Folders of shared libraries, as `LD_LIBRARY_PATH` has them, if they are not found without.
    pub(crate) libraries: Option<String>,
    /// A library that is loaded before all others.
    pub(crate) preload: Option<String>,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Command {
    pub(crate) path: String,
    /// Its name and its arguments.
    pub(crate) words: Vec<String>,
}
