//! What applications do, with all that is random in it drawn already.

use serde::{Deserialize, Serialize};

/// What the application of a connection sends, and when. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Traffic {
    /// More than the network takes.
    Bulk,
    /// One object of so many bytes; when it has arrived, the connection ends.
    Object(u64),
    /// Short flows, each a connection of its own.
    Short {
        /// When each arrives, since the start of the run, and its bytes.
        arrivals: Vec<(u64, u64)>,
        /// So many at a time; one that arrives meanwhile waits.
        at_once: usize,
    },
    /// Sends and pauses by turns.
    OnOff {
        /// How long it sends, and how long it pauses then.
        turns: Vec<(u64, u64)>,
        /// What it writes while it sends; `None`: as much as the network takes.
        rate: Option<ConstantRate>,
    },
    /// The receiver requests, the sender responds.
    Exchange {
        /// Bytes of a request.
        request: u64,
        /// Bytes of each response, and the time from its arrival to the next request.
        responses: Vec<(u64, u64)>,
    },
    /// Writes at regular times.
    Steady(ConstantRate),
    /// Programs.
    Programs(Programs),
}

/// Writes of this many bytes at times that make this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ConstantRate {
    /// Bits per second.
    pub(crate) rate_bps: u64,
    /// Bytes of a write.
    pub(crate) write: u64,
}

impl ConstantRate {
    /// How long after the first write this one is due, counted from 0.
    pub(crate) fn time_of(self, write: u64) -> u64 {
        let bits = u128::from(write) * u128::from(self.write) * 8_000_000_000;
        (bits / u128::from(self.rate_bps)) as u64
    }
}

/// A server and a client.
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
    /// Its file.
    pub(crate) path: String,
    /// Its name and its arguments.
    pub(crate) words: Vec<String>,
}
