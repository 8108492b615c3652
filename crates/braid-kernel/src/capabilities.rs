//! Rights of this process.

use rustix::thread::{CapabilitySet, capabilities};

/// Those in effect.
pub(crate) fn effective() -> CapabilitySet {
    capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective)
}

/// Whether they suffice to load programs.
pub(crate) fn may_load() -> bool {
    let has = |capability| effective().intersects(capability | CapabilitySet::SYS_ADMIN);
    has(CapabilitySet::BPF) && has(CapabilitySet::PERFMON)
}
