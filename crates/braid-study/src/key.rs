//! What tells runs apart.

use std::fmt::{self, Write as _};

use braid_scenario::model::Scenario;
use sha2::{Digest as _, Sha256};

use crate::Group;

/// The identity of a run: hash of the resolved scenario, congestion control, scheduler, seed, and of what else its
/// backend says that results depend on. Runs with the same key have the same results.
///
/// Name and title of a scenario do not count, nor do comments or the order in which values were set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "store", derive(serde::Deserialize, serde::Serialize))]
pub struct Key([u8; 32]);

impl Key {
    /// What the runs of a group have in common.
    pub(crate) fn new(group: &Group, backend: &str, identity: &str) -> Self {
        let Group { scenario, spec, scheduler, .. } = group;
        // Of everything in it that can matter.
        let scenario = Scenario { name: String::new(), title: String::new(), ..(*scenario).clone() };
        let own = (spec.text(), scheduler, backend, identity, braid_results::SOURCE_HASH);
        Self(hash(&(scenario, own)))
    }

    /// One of them.
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        Self(hash(&(self.0, seed)))
    }

    /// Of something else.
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

/// Of all that a value says of itself.
fn hash(value: &impl fmt::Debug) -> [u8; 32] {
    /// What is written goes into the hash at once: a scenario may hold long traces.
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
