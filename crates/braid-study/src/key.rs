//! The identity of a run.

use std::fmt;

use braid_scenario::model::Scenario;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Group;

/// The identity of a run: a hash of the resolved scenario, congestion control, scheduler, backend, seed, and of what else its
/// backend says that results depend on ([`Backend::identity`](crate::Backend::identity)). Runs with the same key have the same
/// results.
///
/// Independent of name and title of a scenario, of comments, of the order in which values were set, and of how the program calls
/// its own fields: the scenario enters as the bytes of its values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Key([u8; 32]);

impl Key {
    /// What the runs of a group have in common.
    pub(crate) fn new(group: &Group, identity: &str) -> Self {
        let Group { scenario, spec, scheduler, backend, .. } = group;
        let scenario = Scenario { name: String::new(), title: String::new(), ..(*scenario).clone() };
        hash(&(scenario, spec.text(), scheduler, backend, identity, braid_results::SOURCE_HASH))
    }

    /// One of them.
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        hash(&(self, seed))
    }
}

fn hash(value: &impl Serialize) -> Key {
    Key(Sha256::digest(postcard::to_stdvec(value).expect("plain data")).into())
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
