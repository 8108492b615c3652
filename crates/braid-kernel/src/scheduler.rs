//! The packet scheduler of new MPTCP connections in each network namespace.

use crate::{Namespace, namespace::read};

/// The scheduler of new connections in the namespace; `None` if the kernel has only one.
pub fn scheduler(namespace: &Namespace) -> Option<String> {
    namespace.within(|| read("/proc/sys/net/mptcp/scheduler")).ok()
}
