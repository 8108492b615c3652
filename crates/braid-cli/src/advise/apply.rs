//! Applying advice, after consent, and taking it back.
//!
//! What is to be changed is written down, with what was there before, before anything is changed: whoever is ended in the middle has
//! left what the next one needs to take it back.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use braid_advise::{Advice, Row};
use braid_kernel::{Namespace, PREFIX};
use braid_study::files;

use super::consent::consent;
use super::question::AdviseArgs;
use super::steps::{Step, algorithm, endpoints};
use crate::Failure;
use crate::failure::FAILED;

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const UNDO: &str = "braid advise --undo";
/// The usual scheduler, as the simulator and as the kernel call it.
const USUAL: (&str, &str) = ("linux", "default");

/// Where advice is for.
pub(super) struct Place {
    pub(super) namespace: Namespace,
    /// This machine's address of each path, where that is known.
    pub(super) addresses: Vec<(String, IpAddr)>,
}

impl Place {
    /// This network namespace; nothing is known of its paths.
    pub(super) fn here() -> Self {
        Self { namespace: Namespace::own(), addresses: Vec::new() }
    }
}

/// Before time is spent on measuring: whether anything could be applied there.
pub(super) fn may(args: &AdviseArgs, namespace: &Namespace) -> Result<(), Failure> {
    if !args.apply {
        return Ok(());
    }
    if fs::OpenOptions::new().write(true).open(DEFAULT).is_err() {
        return Err(Failure::bad_input(
            "--apply: this process may not change what the machine does",
            "run as root",
        ));
    }
    let record = record(namespace)?;
    if record.exists() {
        return Err(Failure::bad_input(
            "--apply: advice is applied already",
            format!("`{UNDO}` takes it back; or remove {} to keep it as it is", record.display()),
        ));
    }
    Ok(())
}

/// Does what is advised, if that is asked for.
pub(super) fn apply(args: &AdviseArgs, advice: &Advice, place: &Place) -> Result<(), Failure> {
    if !args.apply {
        return Ok(());
    }
    may(args, &place.namespace)?;
    let choice = advice.choice();
    if !choice.is_fair() {
        return Err(Failure::new(
            FAILED,
            "--apply: nothing is changed, for every candidate takes too much from others",
        ));
    }
    let steps = steps(args, choice, place)?;
    if steps.is_empty() {
        say(args, "It is so already: nothing is changed.");
        return Ok(());
    }
    let each: Vec<String> = steps.iter().map(|step| format!("  - {step}")).collect();
    let question = format!(
        "In {}, until the next boot:\n{}\nConnections that exist keep their congestion control. Change it?",
        here(&place.namespace),
        each.join("\n")
    );
    consent(args.yes, &question)?;
    let record = record(&place.namespace)?;
    write(&record, &steps)?;
    for step in &steps {
        if let Err(failure) = step.take(&place.namespace) {
            return Err(match undo_in(&place.namespace, &record) {
                Ok(_) => failure.and("\n  what was changed before it is taken back"),
                Err(_) => failure.and(&format!("\n  `{UNDO}` takes back what was changed before it")),
            });
        }
    }
    say(args, &format!("Changed. `{UNDO}` takes it back.{}", lasting(args, &steps)));
    Ok(())
}

/// How it would outlast a boot.
fn lasting(args: &AdviseArgs, steps: &[Step]) -> String {
    let load = steps.iter().find_map(|step| match step {
        Step::Load { spec, .. } if args.peer.is_none() => Some(spec),
        _ => None,
    });
    load.map_or_else(String::new, |spec| {
        format!(" `braid enable {spec}` would keep the algorithm after a boot.")
    })
}

fn say(args: &AdviseArgs, text: &str) {
    if !args.quiet {
        eprintln!("{text}");
    }
}

fn here(namespace: &Namespace) -> String {
    if namespace.name.is_empty() {
        "this network namespace".into()
    } else {
        format!("network namespace {}", namespace.name)
    }
}

/// What is not so yet. The default comes last: until then new sockets have what they had.
fn steps(args: &AdviseArgs, choice: &Row, place: &Place) -> Result<Vec<Step>, Failure> {
    let namespace = &place.namespace;
    let (algorithm, load) = algorithm(&choice.spec, namespace)?;
    let mut steps: Vec<Step> = load.into_iter().collect();
    steps.extend(paths(choice, place)?);
    // Without the option nothing is known of any but the one that there is.
    if !args.scheduler.is_empty() {
        steps.extend(scheduler(choice, namespace)?);
    }
    let before = braid_kernel::default(namespace)?;
    if before != algorithm {
        steps.push(Step::Default { before, now: algorithm });
    }
    Ok(steps)
}

/// The packet scheduler of new connections, as the simulator calls it; `None` where it is the usual one or not one of Braid's.
pub(super) fn present_scheduler(namespace: &Namespace) -> Option<&'static str> {
    simulated(&braid_kernel::scheduler(namespace)?)
}

fn simulated(scheduler: &str) -> Option<&'static str> {
    braid_schedulers::find(scheduler.strip_prefix(PREFIX)?).map(braid_schedulers::Scheduler::name)
}

/// Says that candidates are simulated with the present one.
pub(super) fn scheduler_note(present: &str) -> String {
    format!(
        "The packet scheduler here is {PREFIX}{present}, so candidates are simulated with {present}; --scheduler tries others."
    )
}

fn scheduler(choice: &Row, namespace: &Namespace) -> Result<Option<Step>, Failure> {
    let now = if choice.scheduler == USUAL.0 {
        USUAL.1.to_owned()
    } else {
        format!("{PREFIX}{}", choice.scheduler)
    };
    let before = braid_kernel::scheduler(namespace);
    if before.as_ref() == Some(&now) || before.is_none() && now == USUAL.1 {
        return Ok(None);
    }
    match before {
        Some(before) if braid_kernel::schedulers().contains(&now) => {
            Ok(Some(Step::Scheduler { before, now }))
        }
        _ => Err(Failure::new(
            FAILED,
            format!("--apply: nothing is changed, for this kernel has no packet scheduler {now}"),
        )
        .hint("`braid doctor` says how to get it: the module braid_sched; or leave --scheduler out".into())),
    }
}

/// Which paths are for when others fail, where that is not so yet.
fn paths(choice: &Row, place: &Place) -> Result<Vec<Step>, Failure> {
    if place.addresses.is_empty() {
        return if choice.only.is_empty() {
            Ok(Vec::new())
        } else {
            Err(Failure::new(
                FAILED,
                format!(
                    "--apply: nothing is changed, for it is not known which addresses {} are",
                    choice.only.join(", ")
                ),
            )
            .hint(
                "advice about a file cannot be applied where it is about some of the paths: measure (--test)"
                    .into(),
            ))
        };
    }
    let endpoints = endpoints(&place.namespace)?;
    let mut steps = Vec::new();
    for (name, address) in &place.addresses {
        let backup = !choice.only.is_empty() && !choice.only.contains(name);
        match endpoints.iter().find(|endpoint| endpoint.address == *address) {
            Some(endpoint) if endpoint.backup == backup => (),
            Some(endpoint) => {
                let &super::steps::Endpoint { id, address, fullmesh, .. } = endpoint;
                steps.push(Step::Endpoint { id, address, backup, fullmesh });
            }
            None if backup => {
                let message = format!(
                    "--apply: nothing is changed, for {name} ({address}) is no MPTCP endpoint, so it cannot be kept for when others fail"
                );
                return Err(Failure::new(FAILED, message).hint(format!(
                    "make it one (`ip mptcp endpoint add {address} subflow`), or connect from another address"
                )));
            }
            None => (),
        }
    }
    Ok(steps)
}

fn record(namespace: &Namespace) -> Result<PathBuf, Failure> {
    Ok(namespace.record("advice")?)
}

fn write(record: &Path, steps: &[Step]) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(steps).expect("it has no keys but names");
    let folder = record.parent().expect("a folder of ours");
    fs::create_dir_all(folder).and_then(|()| files::whole(record, text.as_bytes())).map_err(|error| {
        Failure::new(
            FAILED,
            format!("--apply: nothing is changed, for {} cannot be written: {error}", record.display()),
        )
        .hint("it is needed to take things back; make room in /run, run as root".into())
    })
}

/// Takes back what was applied, wherever that was.
pub(super) fn undo(args: &AdviseArgs) -> Result<(), Failure> {
    let mut found = false;
    for namespace in Namespace::all() {
        let Ok(record) = record(&namespace) else { continue };
        if !record.exists() {
            continue;
        }
        found = true;
        let notes = undo_in(&namespace, &record)?;
        say(args, &format!("In {} all is as it was before the advice.", here(&namespace)));
        for note in notes {
            say(args, &format!("note: {note}"));
        }
    }
    if !found {
        say(args, "No advice is applied: nothing is changed.");
    }
    Ok(())
}

/// In the reverse order; returns what could not be put back, and why.
fn undo_in(namespace: &Namespace, record: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error: io::Error| Failure::new(FAILED, format!("{}: {error}", record.display()));
    let text = fs::read(record).map_err(failed)?;
    let steps: Vec<Step> = serde_json::from_slice(&text).map_err(|error| {
        Failure::bad_input(
            format!("{} is not what `braid advise --apply` wrote: {error}", record.display()),
            "remove it; `braid default` and `ip mptcp endpoint` show and set what it was about",
        )
    })?;
    let mut notes = Vec::new();
    for step in steps.iter().rev() {
        notes.extend(step.take_back(namespace)?);
    }
    fs::remove_file(record).map_err(failed)?;
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::simulated;

    #[test]
    fn a_scheduler_of_braid_in_the_kernel_is_known_to_the_simulator_and_no_other_is() {
        assert_eq!(simulated("braid_blest"), Some("blest"));
        assert_eq!((simulated("default"), simulated("braid_nosuch"), simulated("blest")), (None, None, None));
    }
}
