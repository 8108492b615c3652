//! `braid hint`: the operator's hints about shared bottlenecks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use braid_kernel::{Hint, Loaded, Namespace, Place};
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};

use crate::live::{FILE, Lines};
use crate::{Failure, complete, journal, terminal};

/// Additional help text.
pub(crate) const MORE: &str = "Examples:\n  \
    braid hint eth0,eth1                 subflows over eth0 and eth1 share one bottleneck\n  \
    braid hint 10.0.0.2,wwan0 wlan0      two bottlenecks; wlan0's is shared by all subflows that leave by it\n  \
    braid hint --remove eth0\n  \
    braid hint --clear\n\n\
    Each word is a bottleneck: addresses, interfaces and lines of /etc/braid/lines.conf, joined by commas. A subflow matches by its local address, \
    otherwise by its outgoing interface. `split:sbd=hint` couples accordingly, in existing connections as well. Hints \
    apply to all algorithms, loaded now or later, until they are removed or the machine reboots; `HINT=` in \
    /etc/braid/NAME.conf states them at boot.";

#[derive(Debug, clap::Args)]
pub(crate) struct HintArgs {
    /// Interfaces and local addresses that share a bottleneck, joined by commas; a word for each bottleneck. Default:
    /// show the hints.
    #[arg(value_name = "WHAT,WHAT", add = ArgValueCandidates::new(complete::places))]
    groups: Vec<String>,
    /// Remove the hints about these interfaces and addresses.
    #[arg(long, requires = "groups")]
    remove: bool,
    /// Remove all hints: in all network namespaces, or in that of --netns.
    #[arg(long, conflicts_with_all = ["groups", "remove", "early"])]
    clear: bool,
    /// As at boot: interfaces may appear later, and an empty list does nothing.
    #[arg(long, conflicts_with = "remove")]
    early: bool,
    /// Network namespace of the interfaces and addresses, as `ip netns` lists it or a path. Default: the one braid runs in.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Print the resulting hints as one JSON document instead of text (docs/hint.schema.json).
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &HintArgs) -> Result<(), Failure> {
    let namespace = args.netns.as_deref().map_or_else(|| Ok(Namespace::own()), Namespace::named)?;
    if args.clear {
        let mut all = braid_kernel::hints()?;
        if args.netns.is_some() {
            let cookie = namespace.cookie()?;
            all.retain(|hint| hint.namespace == cookie);
        }
        braid_kernel::withdraw_hints(&all)?;
        journal::write("hint", &format!("withdrawn: {}", counted(all.len())));
        eprintln!("Withdrawn: {}.", counted(all.len()));
    } else if args.groups.is_empty() {
        if args.early {
            return Ok(());
        }
        return show(&braid_kernel::hints()?, args.json);
    } else if args.remove {
        let places: Vec<Place> = resolved(&namespace, groups(&args.groups)?)?.concat();
        remove(&namespace, &places)?;
    } else {
        state(&namespace, &resolved(&namespace, groups(&args.groups)?)?, args.early)?;
    }
    if args.json { show(&braid_kernel::hints()?, true) } else { Ok(()) }
}

/// No place is in two groups.
pub(crate) fn groups(words: &[String]) -> Result<Vec<Vec<Place>>, Failure> {
    let mut groups: Vec<Vec<Place>> = Vec::new();
    for word in words {
        let mut group: Vec<Place> = Vec::new();
        for text in word.split(',') {
            let place = Place::parse(text).ok_or_else(|| {
                Failure::bad_input(
                    format!("{text:?} in {word:?} is neither an address nor the name of an interface"),
                    "write addresses without a prefix length and names of at most 15 characters, joined by commas: eth0,10.0.0.2",
                )
            })?;
            if groups.iter().flatten().any(|other| *other == place) {
                return Err(Failure::bad_input(
                    format!("{place} cannot be behind two bottlenecks"),
                    "join with commas all that share one: `braid hint eth0,eth1,wwan0`",
                ));
            }
            if !group.contains(&place) {
                group.push(place);
            }
        }
        groups.push(group);
    }
    Ok(groups)
}

/// Replaces names of lines by this machine's addresses on them.
fn resolved(namespace: &Namespace, groups: Vec<Vec<Place>>) -> Result<Vec<Vec<Place>>, Failure> {
    let lines = Lines::read()?;
    let here = braid_kernel::interfaces(namespace)?;
    let resolve = |place: Place| {
        let Place::Interface(name) = &place else { return Ok(vec![place]) };
        match lines.on(name, here.keys()) {
            None => Ok(vec![place]),
            Some(found) if found.is_empty() => Err(Failure::bad_input(
                format!("no interface has an address of the line {name} ({FILE})"),
                "hints are about this machine's own addresses and interfaces: name those, or state them at the other end",
            )),
            Some(found) => Ok(found.into_iter().map(Place::Address).collect()),
        }
    };
    let resolve_all =
        |group: Vec<Place>| Ok(group.into_iter().map(resolve).collect::<Result<Vec<_>, Failure>>()?.concat());
    groups.into_iter().map(resolve_all).collect()
}

fn listed(places: &[Place]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn state(namespace: &Namespace, groups: &[Vec<Place>], early: bool) -> Result<(), Failure> {
    let interfaces = braid_kernel::interface_names(namespace)?;
    let addresses = braid_kernel::interfaces(namespace)?;
    for place in groups.iter().flatten() {
        match place {
            Place::Interface(name) if !interfaces.contains(name) && !early => {
                return Err(Failure::bad_input(
                    format!(
                        "there is no interface `{name}`, only {}: nothing was stated",
                        interfaces.join(", ")
                    ),
                    "--early states it in advance; --netns names another network namespace",
                ));
            }
            Place::Address(address) if !addresses.contains_key(address) && !early => eprintln!(
                "warning: no interface has the address {address} now; the hint is for the local address of subflows, not for \
                 the peer's"
            ),
            _ => {}
        }
    }
    let stated = braid_kernel::state_hints(namespace, groups)?;
    for (group, number) in groups.iter().zip(&stated.bottlenecks) {
        journal::write("hint", &format!("bottleneck {number}: {}", listed(group)));
        eprintln!("Bottleneck {number}: {}.", listed(group));
    }
    if groups.len() > 1 && groups.iter().all(|group| group.len() == 1) {
        let (first, second) = (&groups[0][0], &groups[1][0]);
        eprintln!(
            "note: these are several bottlenecks; `braid hint {first},{second}` says that both share one."
        );
    }
    if stated.is_unheard {
        eprintln!(
            "warning: the loaded algorithms are from a version of braid without hints; `braid load` them again, then \
             new connections use hints"
        );
    } else if !braid_kernel::loaded()?.iter().any(hears) && !early {
        eprintln!("note: no loaded algorithm uses hints; `braid load split:sbd=hint` does.");
    }
    Ok(())
}

/// Its detector is `hint`; or it is a user's algorithm, whose detector is unknown.
fn hears(loaded: &Loaded) -> bool {
    let Ok(spec) = braid_algorithms::Spec::parse(&loaded.spec) else { return true };
    let mut params = spec.algorithm().params().zip(spec.values());
    params.any(|(param, &value)| param.name == "sbd" && param.show(value) == "hint")
}

fn remove(namespace: &Namespace, places: &[Place]) -> Result<(), Failure> {
    let cookie = namespace.cookie()?;
    let mut all = braid_kernel::hints()?;
    all.retain(|hint| hint.namespace == cookie);
    if let Some(unknown) = places.iter().find(|place| !all.iter().any(|hint| hint.place == **place)) {
        let there: Vec<Place> = all.iter().map(|hint| hint.place.clone()).collect();
        let only = if there.is_empty() { String::new() } else { format!(", only about {}", listed(&there)) };
        return Err(Failure::bad_input(
            format!("nothing is stated about {unknown}{only}: nothing was removed"),
            "`braid hint` lists the hints of all network namespaces; --netns names another one",
        ));
    }
    all.retain(|hint| places.contains(&hint.place));
    braid_kernel::withdraw_hints(&all)?;
    journal::write("hint", &format!("withdrawn: {}", listed(places)));
    eprintln!("Withdrawn: {}.", listed(places));
    Ok(())
}

fn counted(hints: usize) -> String {
    match hints {
        0 => "nothing was stated".into(),
        1 => "1 hint".into(),
        n => format!("{n} hints"),
    }
}

/// Name of the namespace, and the hints of each of its bottlenecks.
fn by_bottleneck(hints: &[Hint]) -> Vec<(Option<String>, u32, Vec<Place>)> {
    let names: BTreeMap<u64, String> = Namespace::all()
        .into_iter()
        .rev()
        .filter_map(|namespace| Some((namespace.cookie().ok()?, namespace.name)))
        .collect();
    let mut bottlenecks: BTreeMap<(u64, u32), Vec<Place>> = BTreeMap::new();
    for hint in hints {
        bottlenecks.entry((hint.namespace, hint.bottleneck)).or_default().push(hint.place.clone());
    }
    let named = |((namespace, number), places)| (names.get(&namespace).cloned(), number, places);
    bottlenecks.into_iter().map(named).collect()
}

/// A line for each bottleneck.
pub(crate) fn text(hints: &[Hint], lines: &Lines) -> String {
    let shown = |place: &Place| match place {
        Place::Address(address) => {
            lines.name(&[*address]).map_or(place.to_string(), |name| format!("{address} ({name})"))
        }
        Place::Interface(_) => place.to_string(),
    };
    let mut text = String::new();
    for (namespace, number, places) in by_bottleneck(hints) {
        let place = match namespace.as_deref() {
            Some("") => String::new(),
            Some(name) => format!("  in {name}"),
            None => "  in a network namespace that no longer exists or is not visible".into(),
        };
        let _ =
            writeln!(text, "{number:<4}{}{place}", places.iter().map(shown).collect::<Vec<_>>().join(","));
    }
    text
}

pub(crate) fn json(hints: &[Hint]) -> Vec<Value> {
    let bottleneck = |(namespace, number, places): (Option<String>, u32, Vec<Place>)| {
        let only = |is_interface: bool| -> Vec<String> {
            let wanted = places.iter().filter(|place| matches!(place, Place::Interface(_)) == is_interface);
            wanted.map(ToString::to_string).collect()
        };
        json!({"bottleneck": number, "namespace": namespace, "interfaces": only(true), "addresses": only(false)})
    };
    by_bottleneck(hints).into_iter().map(bottleneck).collect()
}

fn show(hints: &[Hint], is_json: bool) -> Result<(), Failure> {
    if is_json {
        let document = json!({"schema_version": 1, "hints": json(hints)});
        return terminal::print(format!("{document:#}\n").as_bytes());
    }
    if hints.is_empty() {
        eprintln!(
            "No hints are stated. `braid hint eth0,eth1` states that subflows over eth0 and eth1 share one bottleneck."
        );
    }
    terminal::print(text(hints, &Lines::read()?).as_bytes())
}
