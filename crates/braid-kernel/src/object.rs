//! Loads BPF objects into the kernel.

use std::{
    cell::RefCell,
    fs,
    path::Path,
    sync::{PoisonError, RwLock},
};

use braid_algorithms::{Algorithm, Spec};
use libbpf_rs::{
    ErrorKind, MapCore as _, MapHandle, MapMut, MapType, Object, ObjectBuilder, OpenMapMut, OpenObject,
    PrintLevel,
    btf::{
        Btf, ReferencesType as _, TypeId,
        types::{FuncProto, Ptr, Struct},
    },
    set_print,
};

use crate::{Error, objects};

/// Prefix of our congestion controls in the kernel.
pub const PREFIX: &str = "braid_";

/// The verifier's statistics about an accepted program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Name of the program within its object.
    pub program: String,
    /// Instructions processed over all paths; the limit is a million.
    pub instructions: u64,
    /// Machine states stored.
    pub states: u64,
    /// Deepest stack in bytes, the frames of nested calls joined by `+`; 512 in all are allowed.
    pub stack: String,
}

/// Loads the algorithm with these parameters and unloads it: whether the running kernel accepts its programs, and at
/// what cost.
pub fn verify(spec: &Spec) -> Result<Vec<Verified>, Error> {
    Ok(load_programs(spec, Some(spec.algorithm().name()), None, true)?.1)
}

/// Loads the algorithm's object with the spec's parameters. With a name it can be registered as `braid_NAME`; without,
/// it runs single transitions only. With `pins` it continues with the maps of [`CARRIED`] pinned there, and uses hints,
/// prepared by [`hints::ensure`](crate::hints::ensure).
pub(crate) fn load_algorithm(
    spec: &Spec,
    name: Option<&str>,
    pins: Option<&Path>,
) -> Result<(Object, Vec<Verified>), Error> {
    load_programs(spec, name, pins, name.is_none())
}

/// The same with or without the transitions' test program, which costs verification time.
fn load_programs(
    spec: &Spec,
    name: Option<&str>,
    pins: Option<&Path>,
    single_transitions: bool,
) -> Result<(Object, Vec<Verified>), Error> {
    let algorithm = spec.algorithm().name();
    let bytes = object(spec.algorithm()).ok_or_else(|| Error::NoObject { name: algorithm.to_owned() })?;
    check_kernel()?;
    let ops = ops_of_this_kernel()?;
    let loaded = load(algorithm, bytes, |open| {
        if !spec.values().is_empty() {
            let values: Vec<u8> = spec.values().iter().flat_map(|value| value.to_ne_bytes()).collect();
            open_map(open, ".rodata.params")?.set_initial_value(&values)?;
        }
        write(&mut open_map(open, ".rodata.spec")?, spec.text().as_bytes())?;
        for (pin, map, value_bytes) in CARRIED {
            let Some(path) = pins.map(|pins| pins.join(pin)).filter(|path| path.exists()) else { continue };
            // Another braid may have pinned a different map.
            if MapHandle::from_pinned_path(&path)?.value_size() == value_bytes {
                open_map(open, map)?.reuse_pinned_map(&path)?;
            }
        }
        if let Some(folder) = pins.and_then(Path::parent) {
            for (pin, map) in SHARED {
                open_map(open, map)?.reuse_pinned_map(folder.join(pin))?;
            }
        }
        for mut program in open.progs_mut().filter(|program| program.name() == PARITY) {
            program.set_autoload(single_transitions);
        }
        // The section is optional, but libbpf handles that for its first map only.
        for mut map in open.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            let is_wanted = name.is_some() && map.name() == ops;
            map.set_autocreate(is_wanted)?;
        }
        let Some(name) = name else { return Ok(()) };
        let mut ops = open_map(open, ops)?;
        // The name is the first member, see kernel/compat.h.
        write(&mut ops, format!("{PREFIX}{name}").as_bytes())
    });
    loaded.map_err(|error| match error {
        Error::Refused { program, log, .. } => {
            Error::Refused { program, log, added: added(spec.algorithm()).is_some() }
        }
        other => other,
    })
}

/// Objects of user algorithms, with the hash of their source.
static ADDED: RwLock<Vec<(u64, &'static [u8])>> = RwLock::new(Vec::new());

/// Registers the object of a user's algorithm.
pub fn add_object(algorithm: &Algorithm, bytes: Vec<u8>) {
    if added(algorithm).is_none() {
        let mut objects = ADDED.write().unwrap_or_else(PoisonError::into_inner);
        objects.push((algorithm.source_hash(), Vec::leak(bytes)));
    }
}

fn added(algorithm: &Algorithm) -> Option<&'static [u8]> {
    let objects = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    objects.iter().find(|(hash, _)| *hash == algorithm.source_hash()).map(|(_, bytes)| *bytes)
}

/// The object of an algorithm.
pub fn object(algorithm: &Algorithm) -> Option<&'static [u8]> {
    let own = objects().iter().find(|object| object.name == algorithm.name()).map(|object| object.bytes);
    own.or_else(|| added(algorithm))
}

/// The program that runs single transitions, see kernel/host.h.
pub(crate) const PARITY: &str = "braid_parity";

/// The maps of the operator's hints, shared by all loaded algorithms: their pins, whose names are too long for an
/// algorithm, and their names in the objects.
pub(crate) const SHARED: [(&str, &str); 2] =
    [("stated_hints", "braid_hints"), ("stated_generation", ".data.hints")];

/// Maps that survive a replacement, by the name of their pin: counters (`struct braid_counts`), a trace's ring and the
/// number of traced calls (`struct braid_trace_state`). The last value is the size in bytes.
pub(crate) const CARRIED: [(&str, &str, u32); 3] = [
    ("counts", "braid_counts", 13 * 8),
    ("ring", "braid_trace_ring", 4),
    ("calls", "braid_trace_state", 2 * 8),
];

/// The map that registers the congestion control; one per layout of `tcp_congestion_ops`, see kernel/compat.h.
pub(crate) fn ops_of_this_kernel() -> Result<&'static str, Error> {
    let btf = Btf::from_vmlinux().map_err(Error::at("reading the kernel's type information"))?;
    let ops = btf.type_by_name::<Struct<'_>>("tcp_congestion_ops");
    let member = |name: &str| {
        ops.as_ref()?
            .iter()
            .find(|member| member.name.is_some_and(|found| found == name))
            .map(|found| found.ty)
    };
    let arguments = |function: TypeId| {
        let pointer = btf.type_by_id::<Ptr<'_>>(function)?;
        Some(btf.type_by_id::<FuncProto<'_>>(pointer.referenced_type().type_id())?.len())
    };
    Ok(if member("cwnd_event_tx_start").is_some() {
        "braid_ops_7_1"
    } else if member("cong_control").and_then(arguments) == Some(2) {
        "braid_ops_6_4"
    } else {
        "braid_ops"
    })
}

fn open_map<'obj>(open: &'obj mut OpenObject, name: &str) -> libbpf_rs::Result<OpenMapMut<'obj>> {
    let missing = || libbpf_rs::Error::from(std::io::Error::other(format!("the object has no map {name}")));
    open.maps_mut().find(|map| map.name() == name).ok_or_else(missing)
}

/// Writes text into a map's initial value, which must stay null-terminated.
fn write(map: &mut OpenMapMut<'_>, text: &[u8]) -> libbpf_rs::Result<()> {
    match map.initial_value_mut() {
        Some(value) if value.len() > text.len() => {
            value[..text.len()].copy_from_slice(text);
            Ok(())
        }
        _ => Err(std::io::Error::other("there is no room for the name or its parameters").into()),
    }
}

/// The map of that name.
pub(crate) fn map<'obj>(object: &'obj mut Object, name: &str) -> Result<MapMut<'obj>, Error> {
    let missing = || Error::at(format!("looking for the map {name}"))("the object has none");
    object.maps_mut().find(|map| map.name() == name).ok_or_else(missing)
}

type Prepare<'a> = &'a dyn Fn(&mut OpenObject) -> libbpf_rs::Result<()>;

/// Loads an object that `prepare` has changed.
pub(crate) fn load(
    name: &str,
    bytes: &[u8],
    prepare: impl Fn(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<(Object, Vec<Verified>), Error> {
    check_kernel()?;
    let refused = match load_with_log(name, bytes, &prepare, LOG_STATISTICS) {
        // The statistics' log has the complaint but not the path to it.
        Err(Error::Refused { .. }) => load_with_log(name, bytes, &prepare, LOG_STATISTICS | LOG_INSTRUCTIONS),
        other => other,
    };
    refused.map_err(|error| match error {
        Error::Refused { program, log, added } => {
            Error::Refused { program, log: last_lines(&log, 30), added }
        }
        other => other,
    })
}

/// The verifier's log levels, `BPF_LOG_*`.
const LOG_INSTRUCTIONS: u32 = 1;
const LOG_STATISTICS: u32 = 4;

fn load_with_log(
    name: &str,
    bytes: &[u8],
    prepare: Prepare<'_>,
    log_level: u32,
) -> Result<(Object, Vec<Verified>), Error> {
    set_print(Some((PrintLevel::Debug, collect)));
    MESSAGES.take();
    let failed = |error: libbpf_rs::Error| failure(name, &error, &MESSAGES.take());

    let mut open =
        ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(bytes)).map_err(failed)?;
    prepare(&mut open).map_err(failed)?;
    for mut program in open.progs_mut() {
        program.set_log_level(log_level);
    }
    let object = open.load().map_err(failed)?;
    let verified = MESSAGES.take().iter().filter_map(|(_, message)| statistics(message)).collect();
    Ok((object, verified))
}

thread_local! {
    /// libbpf's messages since the last load began: warnings, and the verifier's logs.
    static MESSAGES: RefCell<Vec<(PrintLevel, String)>> = const { RefCell::new(Vec::new()) };
}

const LOG_BEGINS: &str = "-- BEGIN PROG LOAD LOG --\n";
const LOG_ENDS: &str = "-- END PROG LOAD LOG --";

fn collect(level: PrintLevel, message: String) {
    if level == PrintLevel::Warn || message.contains(LOG_BEGINS) {
        MESSAGES.with_borrow_mut(|messages| messages.push((level, message)));
    }
}

/// Program and log, if the message carries a verifier's log: `libbpf: prog 'NAME': -- BEGIN...`.
fn verifier_log(message: &str) -> Option<(&str, &str)> {
    let (before, rest) = message.split_once(LOG_BEGINS)?;
    let program = before.split('\'').nth(1)?;
    Some((program, rest.split(LOG_ENDS).next()?))
}

/// Reads `stack depth 8+0` and `processed 12 insns (limit 1000000) ... total_states 3 ...`.
fn statistics(message: &str) -> Option<Verified> {
    let (program, log) = verifier_log(message)?;
    let word_after = |key: &str| log.split_once(key)?.1.split_whitespace().next();
    Some(Verified {
        program: program.to_owned(),
        instructions: word_after("processed ")?.parse().ok()?,
        states: word_after("total_states ")?.parse().ok()?,
        stack: word_after("stack depth ")?.to_owned(),
    })
}

fn failure(name: &str, error: &libbpf_rs::Error, messages: &[(PrintLevel, String)]) -> Error {
    // The log of an accepted program is not a warning.
    let warnings: Vec<&str> = messages
        .iter()
        .filter(|(level, _)| *level == PrintLevel::Warn)
        .map(|(_, text)| text.as_str())
        .collect();
    if let Some((program, log)) = warnings.iter().find_map(|warning| verifier_log(warning)) {
        // Without CAP_PERFMON the verifier refuses otherwise valid programs.
        if log.contains("for !root") || log.contains("CAP_PERFMON") {
            return Error::NoPrivileges;
        }
        let program = format!("{name}/{program}");
        return Error::Refused { program, log: log.to_owned(), added: false };
    }
    match error.kind() {
        ErrorKind::PermissionDenied => Error::NoPrivileges,
        ErrorKind::Unsupported if warnings.is_empty() => {
            Error::NoBpf { missing: "the bpf() system call (CONFIG_BPF_SYSCALL)" }
        }
        _ => Error::Kernel {
            doing: format!("loading {name}"),
            report: format!("{error:#}\n{}", warnings.concat()),
        },
    }
}

/// Checks of the kernel without privileges.
pub(crate) fn check_kernel() -> Result<(), Error> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    check(release.trim(), Path::new("/sys/kernel/btf/vmlinux"))
}

fn check(release: &str, btf: &Path) -> Result<(), Error> {
    if version(release).is_some_and(|version| version < OLDEST_KERNEL) {
        return Err(Error::OldKernel { release: release.to_owned() });
    }
    if !btf.exists() {
        return Err(Error::NoBpf {
            missing: "/sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF, and /sys mounted)",
        });
    }
    Ok(())
}

pub(crate) const OLDEST_KERNEL: (u32, u32) = (6, 4);

/// Major and minor number of a release such as `6.12.107+deb13-amd64` or `7.0-rc3`.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_and_candidates_are_read() {
        assert_eq!(version("6.12.107+deb13-amd64"), Some((6, 12)));
        assert_eq!(version("7.0-rc3"), Some((7, 0)));
        assert_eq!(version("6.1.0-44-cloud-amd64"), Some((6, 1)));
        assert_eq!(version("strange"), None);
        assert!((6, 1) < OLDEST_KERNEL && (6, 4) >= OLDEST_KERNEL && (7, 0) >= OLDEST_KERNEL);
    }

    #[test]
    fn kernels_that_are_too_old_or_lack_type_information_are_told_with_the_remedy() {
        let here = Path::new("/");
        assert!(check("6.18.44", here).is_ok());
        let says = |release: &str, btf: &Path| check(release, btf).expect_err("it cannot do").to_string();
        let old = says("6.1.0-44-cloud-amd64", here);
        for part in ["6.1.0-44-cloud-amd64", "6.4", "bookworm-backports"] {
            assert!(old.contains(part), "{part} in: {old}");
        }
        let bare = says("6.12.0", Path::new("/never/there"));
        for part in ["CONFIG_DEBUG_INFO_BTF", "distribution kernel"] {
            assert!(bare.contains(part), "{part} in: {bare}");
        }
    }

    #[test]
    fn statistics_are_read_from_the_log_that_libbpf_passes_on() {
        let message = "libbpf: prog 'braid_parity': -- BEGIN PROG LOAD LOG --\nverification time 93 usec\n\
                       stack depth 0+8\nprocessed 81 insns (limit 1000000) max_states_per_insn 1 total_states 9 \
                       peak_states 9 mark_read 3\n-- END PROG LOAD LOG --\n";
        let expected =
            Verified { program: "braid_parity".into(), instructions: 81, states: 9, stack: "0+8".into() };
        assert_eq!(statistics(message), Some(expected));
        assert_eq!(statistics("libbpf: some warning\n"), None);
    }
}
