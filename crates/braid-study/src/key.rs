//! Keys of runs.

use std::fmt::{self, Write as _};

use braid_scenario::model::Scenario;
use sha2::{Digest as _, Sha256};

use crate::Group;

/// Key of a run: hash of the resolved scenario, congestion control, scheduler, seed, and further inputs of its backend.
/// Runs with equal keys have equal results.
///
/// Name and title of a scenario, comments and the order of settings do not count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "store", derive(serde::Deserialize, serde::Serialize))]
pub struct Key([u8; 32]);

impl Key {
    /// The common part of a group's runs.
    pub(crate) fn new(group: &Group, backend: &str, identity: &str) -> Self {
        let Group { scenario, spec, scheduler, .. } = group;
        // Everything that can matter.
        let scenario = Scenario { name: String::new(), title: String::new(), ..(*scenario).clone() };
        let own = (spec.text(), scheduler, backend, identity, braid_results::SOURCE_HASH);
        Self(hash(&(scenario, own)))
    }

    /// The key of one run.
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        Self(hash(&(self.0, seed)))
    }

    /// The key of any value.
    #[cfg(feature = "store")]
    pub(crate) fn of(value: &impl fmt::Debug) -> Self {
        Self(hash(value))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Hash of a value's debug output.
fn hash(value: &impl fmt::Debug) -> [u8; 32] {
    /// Hashed while it is written: a scenario may contain long traces.
    struct Hashing(Sha256);

    impl fmt::Write for Hashing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }

    let mut hashing = Hashing(Sha256::new());
    write!(hashing, "{value:?}").expect("a hash takes everything");
    hashing.0.finalize().into()
}
