//! The manifest of a store.

use serde::{Deserialize, Serialize};

use crate::{Error, Key, Plan};

/// Raised when a field changes or is removed.
const SCHEMA_VERSION: u32 = 2;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything that determines the results of a folder; equal for equal runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Manifest {
    schema_version: u32,
    braid_version: String,
    backend: String,
    /// [`Backend::machine`](crate::Backend::machine)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    schedulers: Vec<String>,
    /// First and last seed.
    seeds: [u64; 2],
    scenarios: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Entry {
    name: String,
    /// Hash of the resolved file with settings and parameters; comments do not count.
    sha256: String,
    cc: Vec<String>,
    /// Hash of the keys of its runs, which include further inputs.
    key: String,
}

/// Enough of a manifest to recognise Braid's, and its version.
#[derive(Deserialize)]
struct Head {
    schema_version: u32,
    braid_version: String,
}

/// An existing manifest.
pub(crate) enum There {
    /// Not Braid's.
    Foreign,
    /// Of another version of Braid.
    Other(String),
    Known(Manifest),
}

impl Manifest {
    pub(crate) fn of(plan: &Plan) -> Result<Self, Error> {
        let mut keys = vec![Vec::new(); plan.files().len()];
        for (group, key) in plan.groups().zip(plan.group_keys()?) {
            keys[group.file].push(key);
        }
        let mut scenarios = Vec::new();
        for (planned, own) in plan.files().iter().zip(keys) {
            scenarios.push(Entry {
                name: planned.file.cells[0].name.clone(),
                sha256: Key::of(&(&planned.file.title, &planned.file.cells)).to_string(),
                cc: planned.specs.iter().map(|spec| spec.text().to_owned()).collect(),
                key: Key::of(&own).to_string(),
            });
        }
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            braid_version: VERSION.to_owned(),
            backend: plan.backend().name().to_owned(),
            machine: plan.backend().machine(),
            schedulers: plan.schedulers().to_vec(),
            seeds: [plan.seeds().first(), plan.seeds().last()],
            scenarios,
        })
    }

    /// As the text of a file.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data with string keys") + "\n"
    }

    /// Parses a file of any version.
    pub(crate) fn parse(bytes: &[u8]) -> There {
        match (serde_json::from_slice(bytes), serde_json::from_slice::<Head>(bytes)) {
            (Ok(manifest), _) => There::Known(manifest),
            (Err(_), Ok(head)) if head.schema_version < SCHEMA_VERSION => There::Other(format!(
                "by an earlier build of braid {}; this is {VERSION}",
                head.braid_version
            )),
            (Err(_), Ok(head)) => There::Other(format!("by braid {}; this is {VERSION}", head.braid_version)),
            (Err(_), Err(_)) => There::Foreign,
        }
    }

    /// The difference to an existing manifest, if any, as text.
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
        } else if (&self.backend, &self.schedulers) != (&there.backend, &there.schedulers) {
            let schedulers = there.schedulers.join(",");
            Some(format!("with backend {} and scheduler {schedulers}", there.backend))
        } else if self.machine != there.machine {
            let [own, other] =
                [self, there].map(|manifest| manifest.machine.as_deref().unwrap_or("another kernel"));
            Some(format!("on {other}; this is {own}"))
        } else {
            let mut pairs = self.scenarios.iter().zip(&there.scenarios);
            let (asked, there) = pairs.find(|(asked, there)| asked != there)?;
            Some(if asked.cc != there.cc {
                format!("of {} with --cc {}", there.name, there.cc.join(","))
            } else if asked.sha256 != there.sha256 {
                format!("of {} before it has changed, or with another --set", there.name)
            } else {
                let what = "another build of braid or other versions of the scenario's programs";
                format!("of {}, by {what}", there.name)
            })
        }
    }
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
            schedulers: vec!["minrtt".to_owned()],
            seeds: [1, 3],
            scenarios: Vec::new(),
        };
        let (old, new) = (of(Some("Linux 6.12.107, QEMU 7.2")), of(Some("Linux 6.12.117, QEMU 7.2")));
        let said = new.difference(&old).expect("they differ");
        assert_eq!(said, "on Linux 6.12.107, QEMU 7.2; this is Linux 6.12.117, QEMU 7.2");
        let There::Known(there) = Manifest::parse(new.to_json().as_bytes()) else {
            panic!("it was written so")
        };
        assert_eq!(new.difference(&there), None);
        assert!(new.difference(&of(None)).expect("unknown").contains("another kernel"));
        assert!(!of(None).to_json().contains("machine"));
    }

    #[test]
    fn a_manifest_of_another_version_is_not_somebody_elses_file() {
        let parsed =
            Manifest::parse(br#"{"schema_version": 1, "braid_version": "0.1.0", "scheduler": "minrtt"}"#);
        assert!(matches!(parsed, There::Other(by) if by.contains("earlier build of braid 0.1.0")));
        assert!(matches!(Manifest::parse(b"{\"name\": \"an extension\"}"), There::Foreign));
    }
}
