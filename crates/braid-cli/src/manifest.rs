//! Which runs a folder of `--out` is about.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::lab::Machine;
use crate::plan::Plan;
use crate::run::VERSION;

/// Raised when a field changes or goes.
const SCHEMA_VERSION: u32 = 1;

/// Everything that determines the results of a folder; the same for equal runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Manifest {
    schema_version: u32,
    braid_version: String,
    backend: String,
    /// [`Machine::name`]; none of the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    scheduler: String,
    /// [`Plan::disturbed`]
    #[serde(default, skip_serializing_if = "is_false")]
    disturbed: bool,
    /// First and last.
    seeds: [u64; 2],
    scenarios: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Entry {
    name: String,
    /// Of what the file says once it is resolved, `--set` and parameters included; comments do not count.
    sha256: String,
    /// [`Machine::programs`] of each cell that has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    programs: Vec<String>,
    cc: Vec<String>,
}

impl Manifest {
    pub(crate) fn of(plan: &Plan, machine: Option<&Machine>) -> Self {
        let (setup, _) = plan.get(0);
        let scenarios = plan.files.iter().map(|planned| Entry {
            name: planned.file.cells[0].name.clone(),
            sha256: hash(&(&planned.file.title, &planned.file.cells)),
            programs: machine
                .map(|machine| planned.file.cells.iter().filter_map(|cell| machine.programs(cell)))
                .map_or_else(Vec::new, Iterator::collect),
            cc: planned.specs.iter().map(|spec| spec.text().to_owned()).collect(),
        });
        Self {
            schema_version: SCHEMA_VERSION,
            braid_version: VERSION.to_owned(),
            backend: setup.backend.to_owned(),
            machine: machine.map(Machine::name),
            scheduler: setup.scheduler.to_owned(),
            disturbed: plan.disturbed,
            seeds: [plan.seeds.first, plan.seeds.last],
            scenarios: scenarios.collect(),
        }
    }

    /// As a file.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data with string keys") + "\n"
    }

    /// From a file of some version of the program.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// How what is `there` differs, if it does; for people.
    pub(crate) fn difference(&self, there: &Self) -> Option<String> {
        let names = |manifest: &Self| -> Vec<String> {
            manifest.scenarios.iter().map(|entry| entry.name.clone()).collect()
        };
        if self == there {
            None
        } else if (self.schema_version, &self.braid_version) != (there.schema_version, &there.braid_version) {
            Some(format!("by braid {}; this is {}", there.braid_version, self.braid_version))
        } else if names(self) != names(there) {
            Some(format!("of {}", names(there).join(", ")))
        } else if self.seeds != there.seeds {
            let [first, last] = there.seeds;
            Some(format!("with seeds {first}..{last}"))
        } else if (&self.backend, &self.scheduler) != (&there.backend, &there.scheduler) {
            Some(format!("with backend {} and scheduler {}", there.backend, there.scheduler))
        } else if self.machine != there.machine {
            let [own, other] =
                [self, there].map(|manifest| manifest.machine.as_deref().unwrap_or("another kernel"));
            Some(format!("on {other}; this is {own}"))
        } else if self.disturbed != there.disturbed {
            let how = if there.disturbed { "with" } else { "without" };
            Some(format!("{how} --pcap, which takes some of a kernel's time"))
        } else {
            let mut pairs = self.scenarios.iter().zip(&there.scenarios);
            let (asked, there) = pairs.find(|(asked, there)| asked != there)?;
            Some(if asked.sha256 == there.sha256 && asked.programs != there.programs {
                format!("of {} with other versions of its programs", there.name)
            } else if asked.cc == there.cc {
                format!("of {} before it has changed, or with another --set", there.name)
            } else {
                format!("of {} with --cc {}", there.name, there.cc.join(","))
            })
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Of all that a value says of itself.
pub(crate) fn hash(value: &impl fmt::Debug) -> String {
    /// What is written goes into the hash at once: a scenario may hold long traces.
    struct Hashing(Sha256);

    impl fmt::Write for Hashing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }

    let mut hashing = Hashing(Sha256::new());
    let _ = write!(hashing, "{value:?}");
    hashing.0.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_on_another_kernel_are_other_runs() {
        let of = |machine: Option<&str>| Manifest {
            schema_version: SCHEMA_VERSION,
            braid_version: VERSION.to_owned(),
            backend: "lab".to_owned(),
            machine: machine.map(str::to_owned),
            scheduler: "minrtt".to_owned(),
            disturbed: false,
            seeds: [1, 3],
            scenarios: Vec::new(),
        };
        let (old, new) = (of(Some("Linux 6.12.107, QEMU 7.2")), of(Some("Linux 6.12.117, QEMU 7.2")));
        let said = new.difference(&old).expect("they differ");
        assert_eq!(said, "on Linux 6.12.107, QEMU 7.2; this is Linux 6.12.117, QEMU 7.2");
        let there = Manifest::parse(new.to_json().as_bytes()).expect("it was written so");
        assert_eq!(new.difference(&there), None);
        // Written before manifests said so.
        assert!(new.difference(&of(None)).expect("unknown").contains("another kernel"));
        assert!(!of(None).to_json().contains("machine"));
    }
}
