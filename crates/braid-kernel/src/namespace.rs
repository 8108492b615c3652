//! Network namespaces and their default congestion controls.

use std::{
    fs::{self, File},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    thread,
};

use rustix::{
    net::{AddressFamily, SocketType, socket},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use crate::{Error, PREFIX, sockopt};

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name in `ip netns`, or `of process N`; empty for this process's own.
    pub name: String,
    path: PathBuf,
}

impl Namespace {
    /// The namespace of this process.
    pub fn own() -> Self {
        Self { name: String::new(), path: "/proc/self/ns/net".into() }
    }

    /// A namespace of `ip netns`, or of a path such as `/proc/PID/ns/net`.
    pub fn named(name: &str) -> Result<Self, Error> {
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) };
        match fs::metadata(&path) {
            Ok(_) => Ok(Self { name: name.to_owned(), path }),
            Err(error) => Err(Error::NoNamespace { name: name.to_owned(), report: error.to_string() }),
        }
    }

    /// Every namespace with a name or an inspectable process, this process's own first, each once.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::own()];
        let mut named: Vec<PathBuf> = files("/run/netns");
        named.sort();
        all.extend(named.into_iter().map(|path| Self {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            path,
        }));
        let mut processes: Vec<u32> =
            files("/proc").iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect();
        processes.sort_unstable();
        all.extend(
            processes.into_iter().map(|id| Self {
                name: format!("of process {id}"),
                path: format!("/proc/{id}/ns/net").into(),
            }),
        );
        let mut seen = Vec::new();
        all.retain(|namespace| match namespace.identity() {
            Some(identity) if !seen.contains(&identity) => {
                seen.push(identity);
                true
            }
            _ => false,
        });
        all
    }

    /// By this path, whether it exists or not.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { name: path.display().to_string(), path }
    }

    /// What distinguishes it from other namespaces now.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        fs::metadata(&self.path).ok().map(|data| (data.dev(), data.ino()))
    }

    /// File with the default before braid's, until the next boot. Named by the namespace's cookie, since inode numbers
    /// are reused.
    fn note(&self) -> Option<PathBuf> {
        Some(Path::new(NOTES).join(format!("default-{}", self.cookie().ok()?)))
    }

    /// A number of this network namespace, unique until the next boot.
    pub fn cookie(&self) -> Result<u64, Error> {
        self.within(cookie)
    }

    /// Does something inside the namespace, in a thread of its own.
    pub(crate) fn within<T: Send>(
        &self,
        action: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        if self.name.is_empty() {
            return action();
        }
        let failed = |report: String| Error::NoNamespace { name: self.name.clone(), report };
        let file = File::open(&self.path).map_err(|error| failed(error.to_string()))?;
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                    .map_err(|error| failed(error.to_string()))?;
                action()
            });
            inside.join().unwrap_or_else(|_| Err(failed("the thread inside it panicked".into())))
        })
    }
}

/// Cookie of the thread's namespace.
fn cookie() -> Result<u64, Error> {
    let doing = "asking for the namespace's cookie";
    let socket = socket(AddressFamily::UNIX, SocketType::DGRAM, None).map_err(Error::at(doing))?;
    let mut cookie = 0_u64;
    // SAFETY: it is a number.
    let done = unsafe { sockopt::get(&socket, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, &mut cookie) };
    done.map_err(Error::at(doing))?;
    Ok(cookie)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

const NOTES: &str = "/run/braid";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The congestion control of new sockets in the namespace.
pub fn default(namespace: &Namespace) -> Result<String, Error> {
    namespace.within(|| read(DEFAULT))
}

/// All congestion controls that the kernel has, its own and loaded ones.
pub fn available() -> Result<Vec<String>, Error> {
    Ok(read(AVAILABLE)?.split_whitespace().map(str::to_owned).collect())
}

pub(crate) fn read(path: &str) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(Error::at(format!("reading {path}")))?;
    Ok(text.trim().to_owned())
}

/// Sets the congestion control of new sockets of the namespace, including MPTCP subflows, by its name in the kernel.
/// Without a name: the default before braid's, or if that is unknown or gone, `cubic` or `reno`. Returns the new
/// default.
pub fn set_default(namespace: &Namespace, name: Option<&str>) -> Result<String, Error> {
    let available = available()?;
    let note = namespace.note();
    let before = default(namespace)?;
    let noted = noted_default(namespace).unwrap_or_default();
    let candidates = match name {
        Some(name) => vec![name],
        None => vec![&noted, "cubic", "reno"],
    };
    let mut result = None;
    for name in candidates.into_iter().filter(|name| available.iter().any(|available| available == name)) {
        result = Some(namespace.within(|| write(name)));
        if let Some(Ok(())) = result {
            if let Some(note) = note {
                remember(&note, &before, name);
            }
            return Ok(name.to_owned());
        }
    }
    Err(result.and_then(Result::err).unwrap_or_else(|| Error::NotAvailable {
        name: name.unwrap_or("reno").to_owned(),
        available: available.join(", "),
    }))
}

/// As [`set_default`], but what [`noted_default`] returns stays as it is: for a change that is taken back.
///
/// # Errors
/// If the kernel does not have that name, or this process may not set it.
pub fn switch_default(namespace: &Namespace, name: &str) -> Result<(), Error> {
    namespace.within(|| write(name))
}

/// Stores the default that braid's replaces; removes the note when another default replaces braid's. Errors are
/// ignored: without the note a reset sets the kernel's default.
fn remember(note: &Path, before: &str, now: &str) {
    let folder = Path::new(NOTES);
    match (before.starts_with(PREFIX), now.starts_with(PREFIX)) {
        (false, true) => {
            let _ = fs::create_dir_all(folder);
            let _ = fs::write(note, before);
        }
        (_, false) => {
            let _ = fs::remove_file(note);
            let _ = fs::remove_dir(folder);
        }
        (true, true) => {}
    }
}

/// The namespace's default before braid's, if known.
pub fn noted_default(namespace: &Namespace) -> Option<String> {
    let text = fs::read_to_string(namespace.note()?).ok()?;
    Some(text.trim().to_owned())
}

fn write(name: &str) -> Result<(), Error> {
    fs::write(DEFAULT, name).map_err(|error| Error::Kernel {
        doing: format!("making {name} the default"),
        report: match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "permission denied: run as root; the kernel keeps some for the first network namespace \
                 (/proc/sys/net/ipv4/tcp_allowed_congestion_control lists the others)"
                    .to_owned()
            }
            _ => error.to_string(),
        },
    })
}
