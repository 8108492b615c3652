//! Loading, replacing and unloading algorithms as congestion controls of the running kernel.

use std::{
    ffi::CString,
    fs, io,
    os::fd::{AsFd as _, AsRawFd as _},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use braid_algorithms::Spec;
use libbpf_rs::{ErrorKind, Link, MapCore as _, MapFlags, MapHandle, set_print};

use crate::{
    Error, Namespace, Socket,
    bpffs::{self, opening, pinned_map},
    default, hints,
    host::{Host, Loaded, Version},
    module, namespace,
    object::{CARRIED, PREFIX, load_algorithm, map, ops_of_this_kernel},
    set_default, sockets,
};

/// The kernel limits names to 15 characters.
const MAX_NAME: usize = 15 - PREFIX.len();

/// Users of a congestion control in a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The namespace.
    pub namespace: Namespace,
    /// It is the default of new sockets there.
    pub is_default: bool,
    /// The sockets that use it.
    pub sockets: Vec<Socket>,
}

/// Registers the algorithm with the spec's parameters as the congestion control `braid_NAME`. It stays until [`unload`]
/// or the next boot. If this name is loaded already it is replaced: existing connections keep the old one, new
/// connections and subflows get the new one, and the two still couple if the algorithm is the same. Returns the
/// replaced spec.
///
/// The host is the one that has the name already, else eBPF where that is possible, else the module.
///
/// # Errors
/// If the machine can do neither, the name is too long or taken by another program, or the verifier refuses.
pub fn load(spec: &Spec, name: &str) -> Result<Option<String>, Error> {
    load_into(None, spec, name).map(|(before, _)| before)
}

/// [`load`] with a choice of the host. Returns which it is, too.
///
/// # Errors
/// As [`load`]; and if the other host has the name.
pub fn load_into(host: Option<Host>, spec: &Spec, name: &str) -> Result<(Option<String>, Host), Error> {
    check_name(name)?;
    let kernel_name = format!("{PREFIX}{name}");
    let has = loaded()?.into_iter().find(|loaded| loaded.name == name).map(|loaded| loaded.host);
    let host = match (has, host) {
        (Some(has), Some(wanted)) if has != wanted => {
            return Err(Error::OtherHost { name: kernel_name, host: has });
        }
        (Some(host), _) | (None, Some(host)) => host,
        (None, None) => match crate::object::check_kernel() {
            Ok(()) => Host::Bpf,
            Err(bpf) => {
                let loaded = load_module(spec, name);
                return loaded.map(|before| (before, Host::Module)).map_err(|error| match error {
                    Error::Module(_) => Error::NoHost { bpf: Box::new(bpf), module: Box::new(error) },
                    other => other,
                });
            }
        },
    };
    let before = match host {
        Host::Bpf => load_bpf(spec, name)?,
        Host::Module => load_module(spec, name)?,
    };
    Ok((before, host))
}

fn load_bpf(spec: &Spec, name: &str) -> Result<Option<String>, Error> {
    crate::object::check_kernel()?;
    let _lock = bpffs::ensure()?;
    hints::ensure()?;
    // Cleans up after a failed load.
    register(spec, name).inspect_err(|_| hints::tidy())
}

fn load_module(spec: &Spec, name: &str) -> Result<Option<String>, Error> {
    let before = module::load(spec, name)?;
    hints::tell_module()?;
    if before.is_some() {
        set_defaults_again(name)?;
    }
    Ok(before)
}

/// The sysctl keeps pointing at the replaced version: sets it again.
fn set_defaults_again(name: &str) -> Result<(), Error> {
    let kernel_name = format!("{PREFIX}{name}");
    for namespace in Namespace::all() {
        if default(&namespace).is_ok_and(|default| default == kernel_name) {
            set_default(&namespace, Some(&kernel_name))?;
        }
    }
    Ok(())
}

fn register(spec: &Spec, name: &str) -> Result<Option<String>, Error> {
    let pins = bpffs::folder().join(name);
    let (mut object, _) = load_algorithm(spec, Some(name), Some(&pins))?;

    let failed = |doing: &str| failed(doing, name);
    let ops = ops_of_this_kernel()?;
    let before = match map(&mut object, ops)?.attach_struct_ops() {
        Ok(mut link) => {
            bpffs::remove(&pins);
            fs::create_dir_all(&pins).map_err(|error| pinning(&pins, &error))?;
            link.pin(pins.join("link")).map_err(failed("pinning"))?;
            None
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let link = match pinned_link(&pins) {
                Err(Error::Kernel { .. }) => {
                    return Err(Error::NameTaken { name: format!("{PREFIX}{name}") });
                }
                link => link?,
            };
            update(&link, &map(&mut object, ops)?).map_err(failed("replacing"))?;
            set_defaults_again(name)?;
            Some(pinned_spec(&pins.join("spec"))?)
        }
        Err(error) => return Err(failed("registering")(error)),
    };
    let id = map_id(&map(&mut object, ops)?)?;
    bpffs::forget_versions(&pins, is_map);
    // Without it versions cannot be distinguished; loading goes on.
    let _ = pin_again(&map(&mut object, ".rodata.spec")?, &pins.join(bpffs::version(id)));
    for (pin_name, source) in
        [("spec", ".rodata.spec")].into_iter().chain(CARRIED.map(|(pin, source, _)| (pin, source)))
    {
        let pinned = map(&mut object, source).and_then(|mut map| pin(&mut map, &pins.join(pin_name)));
        if let Err(error) = pinned {
            if before.is_none() {
                bpffs::remove(&pins);
            }
            return Err(error);
        }
    }
    Ok(before)
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_letter) {
        return Err(Error::BadName { name: name.to_owned() });
    }
    Ok(())
}

fn failed(doing: &str, name: &str) -> impl Fn(libbpf_rs::Error) -> Error + use<> {
    let doing = format!("{doing} {PREFIX}{name}");
    move |error| match error.kind() {
        ErrorKind::PermissionDenied => Error::NoPrivileges,
        _ => Error::Kernel { doing: doing.clone(), report: format!("{error:#}") },
    }
}

/// A congestion control that exists as long as this value.
#[derive(Debug)]
pub struct Held {
    /// Keeps the registration alive.
    _link: Link,
}

/// Registers the algorithm as the congestion control `braid_NAME` for this process: it is unregistered when [`Held`] is
/// dropped or the process ends. Connections that use it then keep it until they close.
///
/// # Errors
/// As [`load`]; and if the name is in use.
pub fn hold(spec: &Spec, name: &str) -> Result<Held, Error> {
    check_name(name)?;
    let (mut object, _) = load_algorithm(spec, Some(name), None)?;
    match map(&mut object, ops_of_this_kernel()?)?.attach_struct_ops() {
        Ok(link) => Ok(Held { _link: link }),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Error::NameTaken { name: format!("{PREFIX}{name}") })
        }
        Err(error) => Err(failed("registering", name)(error)),
    }
}

/// Pins a map in place of an existing pin, atomically.
fn pin(map: &mut libbpf_rs::MapMut<'_>, path: &Path) -> Result<(), Error> {
    let failed = |report: String| Error::Kernel { doing: format!("pinning {}", path.display()), report };
    // The BPF file system has no names with dots.
    let next = path.with_file_name("next");
    let _ = fs::remove_file(&next);
    map.pin(&next).map_err(|error| failed(format!("{error:#}")))?;
    fs::rename(&next, path).map_err(|error| failed(error.to_string()))
}

/// Puts another `tcp_congestion_ops` of the same name into a link. The failed attempt to attach it has prepared the
/// map.
fn update(link: &Link, ops: &libbpf_rs::MapMut<'_>) -> libbpf_rs::Result<()> {
    // SAFETY: both descriptors are open while their owners are borrowed; there are no options.
    let result = unsafe {
        libbpf_sys::bpf_link_update(link.as_fd().as_raw_fd(), ops.as_fd().as_raw_fd(), std::ptr::null())
    };
    if result < 0 { Err(io::Error::from_raw_os_error(-result).into()) } else { Ok(()) }
}

/// The kernel's number of a map.
fn map_id(map: &libbpf_rs::MapMut<'_>) -> Result<u32, Error> {
    let info = map.info().map_err(|error| Error::Kernel {
        doing: "asking for a map's number".into(),
        report: format!("{error:#}"),
    })?;
    Ok(info.info.id)
}

/// Whether a map with that id exists; true if this process may not know.
fn is_map(id: u32) -> bool {
    MapHandle::from_map_id(id).map_or_else(|error| error.kind() != ErrorKind::NotFound, |_| true)
}

/// Pins a map at a further path.
fn pin_again(map: &libbpf_rs::MapMut<'_>, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the descriptor is open while its owner is borrowed, and the path is null-terminated.
    let result = unsafe { libbpf_sys::bpf_obj_pin(map.as_fd().as_raw_fd(), path.as_ptr()) };
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

fn pinning(pins: &Path, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Error::refused(pins.to_owned());
    }
    Error::Kernel { doing: format!("creating {}", pins.display()), report: error.to_string() }
}

/// Loaded algorithms, by name.
///
/// # Errors
/// If this process may not inspect it.
pub fn loaded() -> Result<Vec<Loaded>, Error> {
    let _lock = bpffs::lock_to_read()?;
    let look = |name: String| {
        let pins = bpffs::folder().join(&name);
        let [a0, a1, a2, a3, a4, a5, a6, a7, a8, losses @ ..] = pinned_counts(&pins)?;
        let acks = [a0, a1, a2, a3, a4, a5, a6, a7, a8];
        let spec = pinned_spec(&pins.join("spec"))?;
        Ok(Loaded { spec, host: Host::Bpf, versions: versions(&pins)?, acks, losses, name })
    };
    let mut all: Vec<Loaded> = bpffs::names()?.into_iter().map(look).collect::<Result<_, _>>()?;
    all.extend(module::loaded()?);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn pinned_link(pins: &Path) -> Result<Link, Error> {
    // Otherwise libbpf prints what the error reports.
    set_print(None);
    let path = pins.join("link");
    Link::open(&path).map_err(|error| opening(&path, &error))
}

/// The map's only value, per CPU or single.
fn values(path: &Path, per_cpu: bool) -> Result<Vec<Vec<u8>>, Error> {
    let map = pinned_map(path)?;
    let only = 0_u32.to_ne_bytes();
    let found = if per_cpu {
        map.lookup_percpu(&only, MapFlags::ANY)
    } else {
        map.lookup(&only, MapFlags::ANY).map(|value| value.map(|value| vec![value]))
    };
    found.map(Option::unwrap_or_default).map_err(|error| Error::Kernel {
        doing: format!("reading {}", path.display()),
        report: format!("{error:#}"),
    })
}

fn versions(pins: &Path) -> Result<Vec<Version>, Error> {
    let ids = bpffs::versions(pins).into_iter().rev();
    ids.map(|id| Ok(Version { id, spec: pinned_spec(&pins.join(bpffs::version(id)))? })).collect()
}

fn pinned_spec(pin: &Path) -> Result<String, Error> {
    let bytes = values(pin, false)?.concat();
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// `struct braid_counts` of `kernel/store.h`.
type Counts = [u64; 13];

fn pinned_counts(pins: &Path) -> Result<Counts, Error> {
    let mut sums = Counts::default();
    for cpu in values(&pins.join("counts"), true)? {
        for (sum, bytes) in sums.iter_mut().zip(cpu.chunks_exact(8)) {
            *sum += u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        }
    }
    Ok(sums)
}

/// Users of a congestion control, by its name in the kernel, in every network namespace that this process can inspect.
pub fn uses(kernel_name: &str) -> Vec<Use> {
    let look = |namespace: Namespace| {
        let is_default = default(&namespace).is_ok_and(|default| default == kernel_name);
        let mut sockets = sockets(&namespace).unwrap_or_default();
        sockets.retain(|socket| socket.algorithm == kernel_name);
        (is_default || !sockets.is_empty()).then_some(Use { namespace, is_default, sockets })
    };
    Namespace::all().into_iter().filter_map(look).collect()
}

/// Unregisters a congestion control; while it is in use only with `force`. Namespaces with it as default then get the
/// kernel's own. Connections keep it until they close; their later subflows get the namespace's default. Returns its
/// remaining users.
///
/// # Errors
/// If it is not loaded, in use, or this process may not unload it.
pub fn unload(name: &str, force: bool) -> Result<Vec<Use>, Error> {
    let lock = bpffs::lock()?;
    let pinned = bpffs::names()?;
    let is_pinned = pinned.iter().any(|loaded| loaded == name);
    let in_module: Vec<String> = module::loaded()?.into_iter().map(|loaded| loaded.name).collect();
    if !is_pinned && !in_module.iter().any(|loaded| loaded == name) {
        // Leftovers of a process that was killed while it loaded this name.
        if check_name(name).is_ok() {
            bpffs::remove(&bpffs::folder().join(name));
        }
        hints::tidy();
        return Err(Error::NotLoaded { name: name.to_owned(), loaded: [pinned, in_module].concat() });
    }
    let kernel_name = format!("{PREFIX}{name}");
    let users = uses(&kernel_name);
    if !users.is_empty() && !force {
        let users = users.iter().map(ToString::to_string).collect();
        return Err(Error::InUse { name: kernel_name, users });
    }
    for user in users.iter().filter(|user| user.is_default) {
        set_default(&user.namespace, None)?;
    }
    if is_pinned {
        let pins = bpffs::folder().join(name);
        let link = pinned_link(&pins)?;
        // Not every kernel can; then it goes with its last reference, the pin.
        let _ = link.detach();
        drop(link);
        bpffs::remove(&pins);
        hints::tidy();
    } else {
        module::unload(name)?;
    }
    drop(lock);
    wait_until_gone(&kernel_name)?;
    Ok(users.into_iter().filter(|user| !user.sockets.is_empty()).collect())
}

/// The kernel drops the last reference in the background.
fn wait_until_gone(kernel_name: &str) -> Result<(), Error> {
    let began = Instant::now();
    while namespace::available()?.iter().any(|available| available == kernel_name) {
        if began.elapsed() > Duration::from_secs(5) {
            return Err(Error::Kernel {
                doing: format!("unregistering {kernel_name}"),
                report: "the pin is removed, but another program holds the link: see `bpftool link`".into(),
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.namespace.name;
        if name.is_empty() {
            write!(f, "in this network namespace: ")?;
        } else {
            write!(f, "in network namespace {name}: ")?;
        }
        let sockets = self.sockets.len();
        let plural = if sockets == 1 { "socket" } else { "sockets" };
        match (self.is_default, self.sockets.first()) {
            (true, None) => write!(f, "the default"),
            (is_default, Some(first)) => {
                let default = if is_default { "the default, and " } else { "" };
                let more = if sockets > 1 { ", ..." } else { "" };
                write!(f, "{default}{sockets} {plural} ({} to {}{more})", first.local, first.remote)
            }
            (false, None) => write!(f, "no socket"),
        }
    }
}
