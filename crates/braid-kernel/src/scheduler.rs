//! The packet scheduler that each network namespace has for new MPTCP connections.

use std::fs;

use crate::{Error, Namespace, namespace::read};

const SCHEDULER: &str = "/proc/sys/net/mptcp/scheduler";
const AVAILABLE: &str = "/proc/sys/net/mptcp/available_schedulers";

/// The one that new connections of the namespace get; `None` where the kernel has only one.
pub fn scheduler(namespace: &Namespace) -> Option<String> {
    namespace.within(|| read(SCHEDULER)).ok()
}

/// All that the kernel has.
pub fn schedulers() -> Vec<String> {
    read(AVAILABLE).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Sets the one that new connections of the namespace get.
///
/// # Errors
/// If there is none of that name, or this process may not set it.
pub fn set_scheduler(namespace: &Namespace, name: &str) -> Result<(), Error> {
    namespace.within(|| {
        fs::write(SCHEDULER, name).map_err(|error| Error::Kernel {
            doing: format!("making {name} the packet scheduler"),
            report: error.to_string(),
        })
    })
}
