//! Behaviour of applications, with all random values drawn.

use serde::{Deserialize, Serialize};

/// Traffic of a connection. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Traffic {
    /// Unlimited data.
    Bulk,
    /// One object of this many bytes; the connection ends when it has arrived.
    Object(u64),
    /// Short flows, each a connection of its own.
    Short {
        /// Arrival of each since the start of the run, and its bytes.
        arrivals: Vec<(u64, u64)>,
        /// Maximum at a time; further ones wait.
        at_once: usize,
    },
    /// Sends and pauses alternately.
    OnOff {
        /// Durations of sending and pausing.
        turns: Vec<(u64, u64)>,
        /// Rate while it sends; `None`: unlimited.
        rate: Option<ConstantRate>,
    },
    /// The receiver requests, the sender responds.
    Exchange {
        /// Bytes of a request.
        request: u64,
        /// Bytes of each response, and the time from its arrival to the next request.
        responses: Vec<(u64, u64)>,
    },
    /// Writes at regular intervals.
    Steady(ConstantRate),
    /// Programs.
    Programs(Programs),
}

/// Writes of this many bytes at intervals that give this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ConstantRate {
    /// Bits per second.
    pub(crate) rate_bps: u64,
    /// Bytes of a write.
    pub(crate) write: u64,
}

impl ConstantRate {
    /// Time from the first write to this one, counted from 0.
    pub(crate) fn time_of(self, write: u64) -> u64 {
        let bits = u128::from(write) * u128::from(self.write) * 8_000_000_000;
        (bits / u128::from(self.rate_bps)) as u64
    }
}

/// A server and a client.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Programs {
    /// Of the server, then of the client, with addresses filled in.
    pub(crate) commands: [Command; 2],
    /// Whether the server is at the sender; else the client is.
    pub(crate) server_sends: bool,
    /// Their working folder.
    pub(crate) folder: String,
    /// Folders of shared libraries (`LD_LIBRARY_PATH`), if they are not found otherwise.
    pub(crate) libraries: Option<String>,
    /// A preloaded library.
    pub(crate) preload: Option<String>,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Command {
    /// Its file.
    pub(crate) path: String,
    /// Its name and arguments.
    pub(crate) words: Vec<String>,
}
