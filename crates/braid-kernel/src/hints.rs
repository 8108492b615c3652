//! Hints of the operator: which local addresses and interfaces share a bottleneck (`kernel/hints.h`,
//! `kernel/tcp_braid/hints.h`). They are in maps of the BPF file system, which eBPF programs read; the module gets a copy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::{IpAddr, Ipv6Addr},
    path::PathBuf,
};

use bytemuck::{Pod, Zeroable};
use libbpf_rs::{ErrorKind, MapCore as _, MapFlags, MapHandle, MapType};
use libbpf_sys::{BPF_F_MMAPABLE, BPF_F_NO_PREALLOC, bpf_map_create_opts};

use crate::{
    Error, Namespace,
    bpffs::{self, pinned_map},
    genetlink::{attribute, command, with},
    module,
    object::SHARED,
};

/// A property of a subflow in a network namespace: its outgoing interface or a local address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// By name, whether it exists or not.
    Interface(String),
    /// IPv4 as such, not mapped into IPv6.
    Address(IpAddr),
}

/// States that a place shares a bottleneck with all places of the same number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// Cookie of the network namespace, see [`Namespace::cookie`].
    pub namespace: u64,
    /// From 1, unique over all namespaces.
    pub bottleneck: u32,
    /// The place.
    pub place: Place,
}

/// `struct braid_hint_key` of `kernel/hints.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Key {
    netns: u64,
    kind: u64,
    bytes: [u8; 16],
}

/// `struct braid_stated` of `kernel/tcp_braid/hints.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Entry {
    key: Key,
    bottleneck: u64,
}

const ADDRESS: u64 = 1;
const INTERFACE: u64 = 2;
/// `max_entries` of `braid_hints`.
pub const MAX_HINTS: usize = 1024;

fn path(which: usize) -> PathBuf {
    bpffs::folder().join(SHARED[which].0)
}

impl Place {
    /// Parses an address or the name of an interface. `None` if it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical()));
        }
        let is_name = !text.is_empty()
            && text.len() < 16
            && text != "."
            && text != ".."
            && !text.contains(|c: char| c == '/' || c == ':' || c == ',' || c.is_whitespace());
        is_name.then(|| Self::Interface(text.to_owned()))
    }

    fn key(&self, netns: u64) -> Key {
        let (kind, bytes) = match self {
            Self::Address(IpAddr::V4(address)) => (ADDRESS, address.to_ipv6_mapped().octets()),
            Self::Address(IpAddr::V6(address)) => (ADDRESS, address.octets()),
            Self::Interface(name) => {
                let mut bytes = [0; 16];
                let length = name.len().min(15);
                bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
                (INTERFACE, bytes)
            }
        };
        Key { netns, kind, bytes }
    }

    fn of(key: &Key) -> Self {
        if key.kind == ADDRESS {
            return Self::Address(Ipv6Addr::from(key.bytes).to_canonical());
        }
        let length = key.bytes.iter().position(|&byte| byte == 0).unwrap_or(16);
        Self::Interface(String::from_utf8_lossy(&key.bytes[..length]).into_owned())
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn failed(doing: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
    move |error| match error.kind() {
        ErrorKind::PermissionDenied => Error::NoPrivileges,
        _ => Error::Kernel { doing: doing.to_owned(), report: format!("{error:#}") },
    }
}

/// Ensures that the maps are pinned; the file system is locked. Returns whether they were missing.
pub(crate) fn ensure() -> Result<bool, Error> {
    let pins = bpffs::folder();
    fs::create_dir_all(&pins).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => Error::refused(pins.clone()),
        _ => Error::Kernel { doing: format!("creating {}", pins.display()), report: error.to_string() },
    })?;
    let mut is_new = false;
    for (which, (kind, key, value, entries, flags)) in [
        (MapType::Hash, size_of::<Key>() as u32, 4, MAX_HINTS as u32, BPF_F_NO_PREALLOC),
        (MapType::Array, 4, 4, 1, BPF_F_MMAPABLE),
    ]
    .into_iter()
    .enumerate()
    {
        if path(which).exists() {
            continue;
        }
        let options = bpf_map_create_opts {
            sz: size_of::<bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: flags,
            ..Default::default()
        };
        let name = ["braid_hints", "braid_hinted"][which];
        let mut map = MapHandle::create(kind, Some(name), key, value, entries, &options)
            .map_err(failed("creating a map for hints"))?;
        map.pin(path(which)).map_err(failed("pinning the hints"))?;
        is_new = true;
    }
    Ok(is_new)
}

/// Removes the maps if there are no hints and no loaded algorithms; the file system is locked.
pub(crate) fn tidy() {
    let is_unused =
        bpffs::names().is_ok_and(|names| names.is_empty()) && stated().is_ok_and(|hints| hints.is_empty());
    if is_unused {
        for which in 0..SHARED.len() {
            let _ = fs::remove_file(path(which));
        }
        let _ = fs::remove_dir(bpffs::folder());
    }
}

/// All hints, by namespace and bottleneck.
///
/// # Errors
/// If this process may not read them.
pub fn hints() -> Result<Vec<Hint>, Error> {
    let _lock = bpffs::lock_to_read()?;
    stated()
}

fn stated() -> Result<Vec<Hint>, Error> {
    // On some systems only root can enter the file system.
    bpffs::names()?;
    if !path(0).exists() {
        return Ok(Vec::new());
    }
    let map = pinned_map(&path(0))?;
    let mut hints = Vec::new();
    for bytes in map.keys() {
        let Some(value) = map.lookup(&bytes, MapFlags::ANY).map_err(failed("reading a hint"))? else {
            continue;
        };
        let key: Key = bytemuck::pod_read_unaligned(&bytes);
        let bottleneck: u32 = bytemuck::pod_read_unaligned(&value);
        hints.push(Hint { namespace: key.netns, bottleneck, place: Place::of(&key) });
    }
    hints.sort();
    Ok(hints)
}

/// Gives the module all hints, if it is loaded.
pub(crate) fn tell_module() -> Result<(), Error> {
    let _lock = bpffs::lock_to_read()?;
    tell(&stated()?)
}

fn tell(hints: &[Hint]) -> Result<(), Error> {
    let Some(family) = module::family()? else { return Ok(()) };
    let entry =
        |hint: &Hint| Entry { key: hint.place.key(hint.namespace), bottleneck: hint.bottleneck.into() };
    let entries: Vec<Entry> = hints.iter().map(entry).collect();
    let hints = with(attribute::HINTS, bytemuck::cast_slice(&entries));
    family.command(command::STATE, &[hints]).map_err(|error| Error::Kernel {
        doing: "stating hints to the module tcp_braid".into(),
        report: error.to_string(),
    })
}

/// The hint for a subflow, as the kernel finds it: by its local address, else by its interface.
pub fn hint_of(hints: &[Hint], namespace: u64, local: IpAddr, interface: Option<&str>) -> Option<u32> {
    let stated = |place: &Place| {
        let is_it = |hint: &&Hint| hint.namespace == namespace && hint.place == *place;
        hints.iter().find(is_it).map(|hint| hint.bottleneck)
    };
    let by_interface = || stated(&Place::Interface(interface?.to_owned()));
    stated(&Place::Address(local.to_canonical())).or_else(by_interface)
}

/// Changes hints, and notifies loaded algorithms; the file system is locked.
fn change<T>(change: impl FnOnce(&MapHandle, &[Hint]) -> Result<T, Error>) -> Result<T, Error> {
    let map = pinned_map(&path(0))?;
    let result = change(&map, &stated()?);
    let generation = pinned_map(&path(1))?;
    let only = 0_u32.to_ne_bytes();
    let value = generation.lookup(&only, MapFlags::ANY).map_err(failed("reading the hints' generation"))?;
    let before: u32 = value.map_or(0, |value| bytemuck::pod_read_unaligned(&value));
    // 0 means: no hint until now.
    let next = before.wrapping_add(1).max(1);
    generation
        .update(&only, &next.to_ne_bytes(), MapFlags::ANY)
        .map_err(failed("writing the hints' generation"))?;
    tell(&stated()?)?;
    result
}

/// Result of [`state_hints`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The number of each group.
    pub bottlenecks: Vec<u32>,
    /// The loaded algorithms come from a braid without hints.
    pub is_unheard: bool,
}

/// States that the places of a group share a bottleneck, each group another one. Hints about other places stay.
///
/// # Errors
/// If this process may not, or there are too many.
pub fn state_hints(namespace: &Namespace, groups: &[Vec<Place>]) -> Result<Stated, Error> {
    let netns = namespace.cookie()?;
    let _lock = bpffs::ensure()?;
    let is_new = ensure()?;
    let is_unheard = is_new && !bpffs::names()?.is_empty();
    let bottlenecks = change(|map, before| {
        let mut now: BTreeMap<(u64, Place), u32> =
            before.iter().map(|hint| ((hint.namespace, hint.place.clone()), hint.bottleneck)).collect();
        let mut numbers = Vec::new();
        for group in groups {
            let number = number_of(group, netns, &now);
            now.extend(group.iter().map(|place| ((netns, place.clone()), number)));
            numbers.push(number);
        }
        if now.len() > MAX_HINTS {
            return Err(Error::TooManyHints { most: MAX_HINTS });
        }
        for ((_, place), number) in
            now.iter().filter(|((at, _), number)| *at == netns && numbers.contains(number))
        {
            map.update(bytemuck::bytes_of(&place.key(netns)), &number.to_ne_bytes(), MapFlags::ANY)
                .map_err(failed("stating a hint"))?;
        }
        Ok(numbers)
    })?;
    Ok(Stated { bottlenecks, is_unheard })
}

/// A number used by this group only, or a free one: repeating a hint changes nothing.
fn number_of(group: &[Place], netns: u64, now: &BTreeMap<(u64, Place), u32>) -> u32 {
    let is_outside = |(at, place): &(u64, Place)| *at != netns || !group.contains(place);
    let outside: BTreeSet<u32> =
        now.iter().filter(|(key, _)| is_outside(key)).map(|(_, &number)| number).collect();
    let own = group.iter().filter_map(|place| now.get(&(netns, place.clone()))).copied();
    let taken: BTreeSet<u32> = now.values().copied().collect();
    own.filter(|number| !outside.contains(number))
        .min()
        .unwrap_or_else(|| (1..u32::MAX).find(|number| !taken.contains(number)).expect("fewer are stated"))
}

/// Removes these hints.
///
/// # Errors
/// If this process may not.
pub fn withdraw_hints(withdrawn: &[Hint]) -> Result<(), Error> {
    if withdrawn.is_empty() {
        return Ok(());
    }
    let _lock = bpffs::lock()?;
    change(|map, _| {
        for hint in withdrawn {
            match map.delete(bytemuck::bytes_of(&hint.place.key(hint.namespace))) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(failed("withdrawing a hint")(error));
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    tidy();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_read_and_come_back_out_of_their_keys() {
        for text in ["eth0", "enp0s31f6.100", "fifteen_letters", "10.0.0.2", "fd00::2", "10.0.0.300"] {
            let place = Place::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(Place::of(&place.key(7)), place);
            assert_eq!(place.to_string(), text);
        }
        assert_eq!(Place::parse("::ffff:10.0.0.2"), Place::parse("10.0.0.2"));
        for text in ["", "sixteen__letters", "10.0.0.0/24", "eth0 eth1", "fd00:::1", ".."] {
            assert_eq!(Place::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_group_keeps_its_number_and_a_new_one_gets_one_that_nothing_else_has() {
        let place = |name: &str| Place::Interface(name.into());
        let now: BTreeMap<(u64, Place), u32> =
            [((7, place("a")), 1), ((7, place("b")), 1), ((8, place("a")), 3)].into();
        assert_eq!(number_of(&[place("a"), place("b")], 7, &now), 1, "the same again");
        assert_eq!(number_of(&[place("a"), place("b"), place("c")], 7, &now), 1, "one more");
        assert_eq!(number_of(&[place("a"), place("c")], 7, &now), 2, "b keeps the old one");
        assert_eq!(number_of(&[place("a")], 9, &now), 2, "another namespace");
    }

    #[test]
    fn a_subflows_hint_is_that_of_its_address_before_that_of_its_interface() {
        let hint =
            |text: &str, bottleneck| Hint { namespace: 7, bottleneck, place: Place::parse(text).unwrap() };
        let hints = [hint("10.0.0.2", 1), hint("eth0", 2)];
        let of =
            |namespace, local: &str, interface| hint_of(&hints, namespace, local.parse().unwrap(), interface);
        assert_eq!(of(7, "10.0.0.2", Some("eth0")), Some(1));
        assert_eq!(of(7, "::ffff:10.0.0.2", None), Some(1));
        assert_eq!(of(7, "10.0.0.3", Some("eth0")), Some(2));
        assert_eq!(of(7, "10.0.0.3", None), None);
        assert_eq!(of(8, "10.0.0.2", Some("eth0")), None);
    }
}
