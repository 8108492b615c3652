//! Errors of the kernel side, with remedies.

use std::{fmt, path::PathBuf};

use crate::host::{Host, MODULE};

/// Why something could not be done in the kernel.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The kernel is older than Linux 6.4.
    OldKernel {
        /// The running kernel's release.
        release: String,
    },
    /// The kernel was built without BPF or its type information.
    NoBpf {
        /// The missing part.
        missing: &'static str,
    },
    /// This process may not load BPF programs.
    NoPrivileges,
    /// A loaded algorithm belongs to another user.
    NotYours {
        /// The pin that cannot be opened.
        pin: PathBuf,
    },
    /// No object has that name.
    NoObject {
        /// The requested name.
        name: String,
    },
    /// The kernel's verifier refused a program.
    Refused {
        /// Object and program.
        program: String,
        /// The last lines of the verifier's log.
        log: String,
        /// It belongs to a user's algorithm.
        added: bool,
    },
    /// There is no BPF file system to pin to.
    NoBpffs {
        /// Why it could not be mounted.
        report: String,
    },
    /// A congestion control cannot be called that.
    BadName {
        /// The requested name, without `braid_`.
        name: String,
    },
    /// Another program has registered a congestion control of that name.
    NameTaken {
        /// The name in the kernel.
        name: String,
    },
    /// Another version of braid loaded it.
    OtherVersion {
        /// The requested name, without `braid_`.
        name: String,
    },
    /// Nothing is loaded under that name.
    NotLoaded {
        /// The requested name, without `braid_`.
        name: String,
        /// Loaded names.
        loaded: Vec<String>,
    },
    /// It is in use.
    InUse {
        /// The name in the kernel.
        name: String,
        /// Its users, one line each.
        users: Vec<String>,
    },
    /// The kernel has no congestion control of that name.
    NotAvailable {
        /// The requested name.
        name: String,
        /// The available names.
        available: String,
    },
    /// Too many hints.
    TooManyHints {
        /// The maximum.
        most: usize,
    },
    /// There is no such network namespace.
    NoNamespace {
        /// The requested name.
        name: String,
        /// Why it could not be entered.
        report: String,
    },
    /// The kernel module cannot be loaded.
    Module(Refusal),
    /// The module that is loaded was built without that algorithm.
    NotInModule {
        /// The algorithm's name.
        name: String,
    },
    /// The name is loaded into the other host.
    OtherHost {
        /// The name in the kernel.
        name: String,
        /// Which has it.
        host: Host,
    },
    /// Neither host is possible.
    NoHost {
        /// Why not eBPF.
        bpf: Box<Error>,
        /// Why not the module.
        module: Box<Error>,
    },
    /// Anything else that libbpf or the kernel reported.
    Kernel {
        /// The failed action.
        doing: String,
        /// The reported error.
        report: String,
    },
}

impl Error {
    /// Whether the machine is the cause, not the program: tests are skipped then.
    pub fn is_machine(&self) -> bool {
        matches!(
            self,
            Self::OldKernel { .. }
                | Self::NoBpf { .. }
                | Self::NoPrivileges
                | Self::NoBpffs { .. }
                | Self::Module(_)
                | Self::NoHost { .. }
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldKernel { release } => write!(
                f,
                "Linux {release} is too old, 6.4 is needed: boot a newer kernel (Debian 12 has one in \
                 bookworm-backports)"
            ),
            Self::NoBpf { missing } => write!(
                f,
                "this kernel lacks {missing}: boot a distribution kernel, they have it, or build yours with it"
            ),
            Self::NoPrivileges => write!(
                f,
                "no permission to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON; in a container, \
                 give it these capabilities"
            ),
            Self::NotYours { pin } => write!(
                f,
                "no permission to open {}: a loaded algorithm belongs to the user who loaded it; run as root or as \
                 that user",
                pin.display()
            ),
            Self::NoObject { name } => {
                write!(f, "no algorithm `{name}` in this build: `braid algorithms` lists them")
            }
            Self::Refused { program, log, added: false } => {
                write!(f, "the kernel's verifier refused {program}, please report this:\n{log}")
            }
            Self::Refused { program, log, added: true } => write!(
                f,
                "the kernel's verifier refused {program}: {}\n  hint: a loop needs a bound that the verifier sees, such as \
                 BRAID_MAX_SUBFLOWS, and an index of an array must be seen to be below its length",
                in_short(log)
            ),
            Self::NoBpffs { report } => write!(
                f,
                "/sys/fs/bpf is no BPF file system and cannot be made one ({report}): run as root \
                 `mount -t bpf bpf /sys/fs/bpf` (systemd does it at boot)"
            ),
            Self::BadName { name } => write!(
                f,
                "`{name}` cannot be the name of a congestion control: use 1 to 9 characters of a-z, 0-9 and _ \
                 (the kernel calls it `braid_NAME`)"
            ),
            Self::NameTaken { name } => write!(
                f,
                "the kernel already has a `{name}` that this braid did not load: choose another name with --as, or \
                 have its owner unload it (`bpftool struct_ops list` may show it)"
            ),
            Self::OtherVersion { name } => write!(
                f,
                "`{name}` was loaded by another version of braid: `braid load` it again, existing connections keep \
                 the old version and are not visible"
            ),
            Self::NotLoaded { name, loaded } if loaded.is_empty() => {
                write!(f, "`{name}` is not loaded, nothing is: `braid load NAME` loads an algorithm")
            }
            Self::NotLoaded { name, loaded } => {
                write!(f, "`{name}` is not loaded: `braid status` lists {}", loaded.join(", "))
            }
            Self::InUse { name, users } => write!(
                f,
                "`{name}` is in use, nothing was changed:\n  {}\n--force unloads it all the same: connections that \
                 use it keep it until they close, subflows that they join later get the namespace's default, and a \
                 namespace whose default it is gets the kernel's",
                users.join("\n  ")
            ),
            Self::NotAvailable { name, available } => write!(
                f,
                "the kernel has no congestion control `{name}`: it has {available}; `braid load` adds braid's"
            ),
            Self::TooManyHints { most } => write!(
                f,
                "more than {most} hints, nothing was changed: `braid hint` lists them, `braid hint --remove` and \
                 `--clear` make room"
            ),
            Self::NoNamespace { name, report } => {
                write!(f, "network namespace `{name}`: {report}; `ip netns` lists those with a name")
            }
            Self::Module(refusal) => refusal.fmt(f),
            Self::NotInModule { name } => write!(
                f,
                "the module that is loaded was built without `{name}`: `modinfo tcp_braid` lists what it has, build it with \
                 ALGORITHMS=\"... {name}\""
            ),
            Self::OtherHost { name, host } => write!(
                f,
                "`{name}` is loaded {host}: unload it first, or leave out --host, which replaces it there"
            ),
            Self::NoHost { bpf, module } => {
                write!(
                    f,
                    "algorithms cannot be loaded into this kernel\n  as eBPF: {bpf}\n  by the module: {module}"
                )
            }
            Self::Kernel { doing, report } => write!(f, "{doing}: {}", report.trim_end()),
        }
    }
}

impl std::error::Error for Error {}

/// Why the module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It was not built for this kernel.
    NotBuilt {
        /// The kernel's release.
        release: String,
        /// Its headers are here.
        has_headers: bool,
        /// DKMS has its sources.
        has_sources: bool,
    },
    /// It was built for another kernel.
    OtherKernel {
        /// What the kernel says.
        line: String,
    },
    /// The kernel takes signed modules only (Secure Boot).
    Unsigned,
    /// The kernel's structures are not as the module expects them.
    Layout {
        /// What the module says.
        line: String,
    },
    /// This process may not load modules.
    NoPrivileges,
    /// Anything else.
    Other {
        /// What modprobe and the kernel say.
        report: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt { release, has_headers: false, .. } => write!(
                f,
                "no module {MODULE} for Linux {release}, and no headers to build it: apt-get install \
                 linux-headers-{release} tcp-braid-dkms"
            ),
            Self::NotBuilt { release, has_sources: false, .. } => {
                write!(
                    f,
                    "no module {MODULE} for Linux {release}: apt-get install tcp-braid-dkms, which builds it"
                )
            }
            Self::NotBuilt { release, .. } => write!(
                f,
                "DKMS has not built {MODULE} for Linux {release}: `dkms autoinstall` tries again, \
                 /var/lib/dkms/tcp-braid/*/build/make.log says what failed"
            ),
            Self::OtherKernel { line } => write!(
                f,
                "{MODULE} was built for another kernel ({line}): `dkms autoinstall` builds it for this one, or `make -C \
                 kernel/tcp_braid` with this kernel's headers"
            ),
            Self::Unsigned => write!(
                f,
                "this kernel takes signed modules only (Secure Boot): DKMS signs {MODULE} with a key of yours; make it known \
                 once with `mokutil --import /var/lib/dkms/mok.pub`, reboot and confirm; or switch Secure Boot off"
            ),
            Self::Layout { line } => write!(
                f,
                "{MODULE} does not fit this kernel, nothing was loaded: {line}; report it with the output of `uname -a`, \
                 and use eBPF (`--host bpf`) on Linux 6.4 or newer"
            ),
            Self::NoPrivileges => {
                write!(f, "no permission to load {MODULE}: run as root, or with CAP_SYS_MODULE")
            }
            Self::Other { report } => write!(f, "{MODULE} cannot be loaded: {}", report.trim_end()),
        }
    }
}

/// The verifier's complaint and the last source lines, without instructions and registers.
fn in_short(log: &str) -> String {
    // Instructions, registers, and the verifier's path.
    let begins =
        ["from ", "frame", "returning from ", "to caller ", "verification time", "stack depth", "processed "];
    let is_noise = |line: &str| {
        line.is_empty()
            || line.starts_with(|c: char| c.is_ascii_digit())
            || line.contains("R10=fp0")
            || begins.iter().any(|word| line.starts_with(word))
    };
    let mut complaints: Vec<&str> = Vec::new();
    let mut sources: Vec<String> = Vec::new();
    for line in log.lines().map(str::trim) {
        if let Some((code, place)) = line.strip_prefix(';').and_then(|line| line.rsplit_once(" @ ")) {
            // For a macro only its position is known.
            if code.trim().is_empty() || code.contains("BRAID_ALGORITHM") {
                continue;
            }
            let source = format!("{place}: {}", code.trim());
            sources.retain(|seen| *seen != source);
            sources.push(source);
        } else if !is_noise(line) {
            complaints.push(line);
        }
    }
    let mut text = complaints.join("; ");
    for source in sources.iter().skip(sources.len().saturating_sub(3)) {
        text.push_str("\n  ");
        text.push_str(source);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_users_file_the_complaint_is_shown_with_the_lines_of_the_source() {
        let log = "677: (5e) if w3 != w0 goto pc-5 673: R0=scalar(id=142692)\n\
                   ; while (self->cwnd != (u32)priv->carry) @ loop.c:61\n\
                   673: (27) r4 *= 3                     ; R4=scalar()\n\
                   ; priv->carry = 3 * priv->carry; @ loop.c:62\n\
                   ; while (self->cwnd != (u32)priv->carry) @ loop.c:61\n\
                   ;  @ braid.h:165\nframe1: R0=scalar(umin=1) R10=fp0; to caller at 660:\n\
                   BPF program is too large. Processed 1000001 insn\n\
                   verification time 18001193 usec\nstack depth 48+16+32\nprocessed 1000001 insns";
        let refused = Error::Refused { program: "loop/braid_ssthresh".into(), log: log.into(), added: true };
        let expected = "the kernel's verifier refused loop/braid_ssthresh: BPF program is too large. Processed 1000001 insn\n  \
                        loop.c:62: priv->carry = 3 * priv->carry;\n  \
                        loop.c:61: while (self->cwnd != (u32)priv->carry)\n  hint: a loop needs a bound";
        assert!(refused.to_string().starts_with(expected), "{refused}");
        let own = Error::Refused { program: "lia/braid_ssthresh".into(), log: log.into(), added: false };
        assert!(own.to_string().contains("please report this:\n677: (5e)"));
    }
}
