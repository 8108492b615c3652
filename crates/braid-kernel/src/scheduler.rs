//! The packet scheduler that each network namespace has for new MPTCP connections.

use crate::{Namespace, namespace::read};

/// The one that new connections of the namespace get; `None` where the kernel has only one.
pub fn scheduler(namespace: &Namespace) -> Option<String> {
    namespace.within(|| read("/proc/sys/net/mptcp/scheduler")).ok()
}
