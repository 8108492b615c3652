//! What is changed on this machine when advice is applied, one thing at a time, and taken back.

use std::net::IpAddr;

use braid_algorithms::Spec;
use braid_kernel::{Namespace, PREFIX};
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::failure::FAILED;
use crate::names::parse;

/// One change. It knows what was there before, so that it can be taken back by whoever reads it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// An algorithm, under a name that nothing had.
    Load { spec: String, name: String },
    /// The congestion control of new sockets.
    Default { before: String, now: String },
    /// The packet scheduler of new connections.
    Scheduler { before: String, now: String },
    /// Whether a path is only for when others fail; it was the other way round.
    Endpoint { id: u32, address: IpAddr, backup: bool, fullmesh: bool },
}

impl Step {
    pub(super) fn take(&self, namespace: &Namespace) -> Result<(), Failure> {
        match self {
            Self::Load { spec, name } => {
                braid_kernel::load(&parse(spec)?, name)?;
            }
            Self::Default { now, .. } => {
                braid_kernel::set_default(namespace, Some(now))?;
            }
            Self::Scheduler { now, .. } => braid_kernel::set_scheduler(namespace, now)?,
            Self::Endpoint { id, backup, fullmesh, .. } => change(namespace, *id, *backup, *fullmesh)?,
        }
        Ok(())
    }

    /// Puts back what was there before. What was never done, or is no longer, is left alone; so is what somebody has changed since,
    /// of which it tells.
    pub(super) fn take_back(&self, namespace: &Namespace) -> Result<Option<String>, Failure> {
        match self {
            Self::Load { name, .. } => take_back_load(name),
            Self::Default { before, now } => {
                let present = braid_kernel::default(namespace)?;
                if present == *now {
                    braid_kernel::set_default(namespace, Some(before))?;
                }
                Ok((present != *now && present != *before).then(|| {
                    format!("the default is {present} by now, which the advice was not: left alone")
                }))
            }
            Self::Scheduler { before, now } => {
                let present = braid_kernel::scheduler(namespace).unwrap_or_default();
                if present == *now {
                    braid_kernel::set_scheduler(namespace, before)?;
                }
                Ok((present != *now && present != *before).then(|| {
                    format!("the packet scheduler is {present} by now, which the advice was not: left alone")
                }))
            }
            Self::Endpoint { id, address, backup, .. } => {
                let Some(now) =
                    endpoints(namespace)?.into_iter().find(|now| now.id == *id && now.address == *address)
                else {
                    return Ok(Some(format!("there is no endpoint {id} with {address} any more")));
                };
                if now.backup == *backup {
                    change(namespace, *id, !backup, now.fullmesh)?;
                }
                Ok(None)
            }
        }
    }
}

/// Only if nobody has it: connections keep it.
fn take_back_load(name: &str) -> Result<Option<String>, Failure> {
    match braid_kernel::unload(name, false) {
        Ok(_) | Err(braid_kernel::Error::NotLoaded { .. }) => Ok(None),
        Err(braid_kernel::Error::InUse { users, .. }) => Ok(Some(format!(
            "{PREFIX}{name} stays loaded, for it is in use ({}); `braid unload {name}` when it is not",
            users.join("; ")
        ))),
        Err(error) => Err(error.into()),
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Load { spec, name } => write!(f, "load {spec} as {PREFIX}{name}"),
            Self::Default { before, now } => {
                write!(f, "the congestion control of new sockets becomes {now}; it is {before}")
            }
            Self::Scheduler { before, now } => {
                write!(f, "the packet scheduler of new connections becomes {now}; it is {before}")
            }
            Self::Endpoint { id, address, backup, .. } => {
                let what = if *backup { "is used only when the others fail" } else { "is used again" };
                write!(f, "the path of {address} (MPTCP endpoint {id}) {what}")
            }
        }
    }
}

/// A congestion control that the machine is to have as the default, as the kernel names it, and what has to be loaded for it.
pub(super) fn algorithm(spec: &str, namespace: &Namespace) -> Result<(String, Option<Step>), Failure> {
    let spec = parse(spec)?;
    // The kernel's own, to which ours is equal.
    if spec.text() == "cubic" && braid_kernel::may_be_default(namespace, "cubic") {
        return Ok(("cubic".into(), None));
    }
    let loaded = braid_kernel::loaded()?;
    if let Some(same) = loaded.iter().find(|loaded| is(&loaded.spec, &spec)) {
        return Ok((format!("{PREFIX}{}", same.name), None));
    }
    // Nothing of that name is replaced: it would not be there to be taken back.
    let names = [spec.algorithm().name(), "advised", "advised2"];
    let Some(name) = names.into_iter().find(|name| loaded.iter().all(|loaded| loaded.name != **name)) else {
        return Err(Failure::bad_input(
            format!("{} are loaded, all with something else than {spec}", names.join(", ")),
            "`braid unload` the one that nobody needs",
        ));
    };
    let step = Step::Load { spec: spec.to_string(), name: name.to_owned() };
    Ok((format!("{PREFIX}{name}"), Some(step)))
}

fn is(loaded: &str, spec: &Spec) -> bool {
    Spec::parse(loaded).is_ok_and(|loaded| loaded.to_string() == spec.to_string())
}

/// An address that MPTCP makes subflows from.
#[derive(Debug, Deserialize)]
pub(super) struct Endpoint {
    pub(super) id: u32,
    pub(super) address: IpAddr,
    #[serde(default)]
    pub(super) backup: bool,
    #[serde(default)]
    pub(super) fullmesh: bool,
}

pub(super) fn endpoints(namespace: &Namespace) -> Result<Vec<Endpoint>, Failure> {
    let text = ip(namespace, &["-j", "mptcp", "endpoint", "show"])?;
    // Nothing at all where there are none.
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(FAILED, format!("`ip -j mptcp endpoint show` cannot be read: {error}")))
}

fn change(namespace: &Namespace, id: u32, backup: bool, fullmesh: bool) -> Result<(), Failure> {
    let id = id.to_string();
    let mut arguments = vec!["mptcp", "endpoint", "change", "id", &id];
    arguments.push(if backup { "backup" } else { "nobackup" });
    // What is not said is taken away.
    if fullmesh {
        arguments.push("fullmesh");
    }
    ip(namespace, &arguments).map(drop)
}

fn ip(namespace: &Namespace, arguments: &[&str]) -> Result<String, Failure> {
    let output = namespace.output("ip", arguments)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(FAILED, format!("`ip {}`: {}", arguments.join(" "), said.trim())))
}
