//! Errors of the kernel side, with remedies.

use std::path::PathBuf;

use crate::host::{Host, MODULE};

/// Why something could not be done in the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error(
        "Linux {release} is too old, 6.4 is needed: boot a newer kernel (Debian 12 has one in bookworm-backports)"
    )]
    OldKernel { release: String },
    #[error("this kernel lacks {missing}: boot a distribution kernel, they have it, or build yours with it")]
    NoBpf { missing: &'static str },
    #[error(
        "no permission to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON; in a container, give it these \
         capabilities"
    )]
    NoPrivileges,
    #[error(
        "no permission to open {}: a loaded algorithm belongs to the user who loaded it; run as root or as that user",
        .pin.display()
    )]
    NotYours { pin: PathBuf },
    #[error("no algorithm `{name}` in this build: `braid algorithms` lists them")]
    NoObject { name: String },
    /// The log is that of the kernel's verifier; it may be about a user's algorithm.
    #[error("the kernel's verifier refused {program}{}", refusal_of(.log, *.added))]
    Refused { program: String, log: String, added: bool },
    #[error(
        "/sys/fs/bpf is no BPF file system and cannot be made one ({report}): run as root \
         `mount -t bpf bpf /sys/fs/bpf` (systemd does it at boot)"
    )]
    NoBpffs { report: String },
    /// Without `braid_`.
    #[error(
        "`{name}` cannot be the name of a congestion control: use 1 to 9 characters of a-z, 0-9 and _ \
         (the kernel calls it `braid_NAME`)"
    )]
    BadName { name: String },
    #[error(
        "the kernel already has a `{name}` that this braid did not load: choose another name with --as, or have its owner \
         unload it (`bpftool struct_ops list` may show it)"
    )]
    NameTaken { name: String },
    #[error(
        "`{name}` was loaded by another version of braid: `braid load` it again, existing connections keep the old version \
         and are not visible"
    )]
    OtherVersion { name: String },
    #[error("`{name}` is not loaded{}", instead(.loaded))]
    NotLoaded { name: String, loaded: Vec<String> },
    #[error(
        "`{name}` is in use, nothing was changed:\n  {}\n--force unloads it all the same: connections that use it keep it \
         until they close, subflows that they join later get the namespace's default, and a namespace whose default it is \
         gets the kernel's",
        .users.join("\n  ")
    )]
    InUse { name: String, users: Vec<String> },
    #[error("the kernel has no congestion control `{name}`: it has {available}; `braid load` adds braid's")]
    NotAvailable { name: String, available: String },
    #[error(
        "more than {most} hints, nothing was changed: `braid hint` lists them, `braid hint --remove` and `--clear` make room"
    )]
    TooManyHints { most: usize },
    #[error("network namespace `{name}`: {report}; `ip netns` lists those with a name")]
    NoNamespace { name: String, report: String },
    #[error("{0}")]
    Module(Refusal),
    #[error(
        "the module that is loaded was built without `{name}`: `modinfo tcp_braid` lists what it has, build it with \
         ALGORITHMS=\"... {name}\""
    )]
    NotInModule { name: String },
    #[error("`{name}` is loaded {host}: unload it first, or leave out --host, which replaces it there")]
    OtherHost { name: String, host: Host },
    #[error("algorithms cannot be loaded into this kernel\n  as eBPF: {bpf}\n  by the module: {module}")]
    NoHost { bpf: Box<Error>, module: Box<Error> },
    /// Anything else that libbpf or the kernel reported.
    #[error("{doing}: {}", .report.trim_end())]
    Kernel { doing: String, report: String },
}

impl Error {
    /// The file is another user's, or this process may not load programs at all.
    pub(crate) fn refused(pin: PathBuf) -> Self {
        if crate::capabilities::may_load() { Self::NotYours { pin } } else { Self::NoPrivileges }
    }

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

    /// What failed at an action, whatever it was.
    pub(crate) fn at<E: std::fmt::Display>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |error| Self::Kernel { doing, report: format!("{error:#}") }
    }
}

fn instead(loaded: &[String]) -> String {
    if loaded.is_empty() {
        return ", nothing is: `braid load NAME` loads an algorithm".to_owned();
    }
    format!(": `braid status` lists {}", loaded.join(", "))
}

/// Why the module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Refusal {
    /// For this kernel, whose headers may be here, as DKMS may have the sources.
    #[error("{}", not_built(.release, *.has_headers, *.has_sources))]
    NotBuilt { release: String, has_headers: bool, has_sources: bool },
    #[error(
        "{MODULE} was built for another kernel ({line}): `dkms autoinstall` builds it for this one, or `make -C \
         kernel/tcp_braid` with this kernel's headers"
    )]
    OtherKernel { line: String },
    #[error(
        "this kernel takes signed modules only (Secure Boot): DKMS signs {MODULE} with a key of yours; make it known once \
         with `mokutil --import /var/lib/dkms/mok.pub`, reboot and confirm; or switch Secure Boot off"
    )]
    Unsigned,
    /// The kernel's structures are not as the module expects them.
    #[error(
        "{MODULE} does not fit this kernel, nothing was loaded: {line}; report it with the output of `uname -a`, and use eBPF \
         (`--host bpf`) on Linux 6.4 or newer"
    )]
    Layout { line: String },
    #[error("no permission to load {MODULE}: run as root, or with CAP_SYS_MODULE")]
    NoPrivileges,
    #[error("{MODULE} cannot be loaded: {}", .report.trim_end())]
    Other { report: String },
}

fn not_built(release: &str, has_headers: bool, has_sources: bool) -> String {
    match (has_headers, has_sources) {
        (false, _) => format!(
            "no module {MODULE} for Linux {release}, and no headers to build it: apt-get install \
             linux-headers-{release} tcp-braid-dkms"
        ),
        (true, false) => {
            format!("no module {MODULE} for Linux {release}: apt-get install tcp-braid-dkms, which builds it")
        }
        (true, true) => format!(
            "DKMS has not built {MODULE} for Linux {release}: `dkms autoinstall` tries again, \
             /var/lib/dkms/tcp-braid/*/build/make.log says what failed"
        ),
    }
}

fn refusal_of(log: &str, added: bool) -> String {
    if !added {
        return format!(", please report this:\n{log}");
    }
    format!(
        ": {}\n  hint: a loop needs a bound that the verifier sees, such as BRAID_MAX_SUBFLOWS, and an index of an array must be \
         seen to be below its length",
        in_short(log)
    )
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
