//! What can go wrong on the way into the kernel, each with its remedy.

use std::fmt;

/// Why something could not be done in the kernel.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The kernel is older than Linux 6.4.
    OldKernel {
        /// What the running kernel calls itself.
        release: String,
    },
    /// The kernel was built without BPF or its type information.
    NoBpf {
        /// What is missing.
        missing: &'static str,
    },
    /// This process may not load BPF programs.
    NoPrivileges,
    /// No object has that name.
    NoObject {
        /// The name asked for.
        name: String,
    },
    /// The kernel's verifier refused a program.
    Refused {
        /// Object and program.
        program: String,
        /// What the verifier said, its last lines.
        log: String,
    },
    /// Anything else that libbpf or the kernel reported.
    Kernel {
        /// What was being done.
        doing: String,
        /// What was reported.
        report: String,
    },
}

impl Error {
    /// Whether the machine, not the program, is the reason: tests skip on it.
    pub fn is_machine(&self) -> bool {
        matches!(self, Self::OldKernel { .. } | Self::NoBpf { .. } | Self::NoPrivileges)
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
                "no permission to load BPF programs: run as root (or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN); \
                 in a container, give it these capabilities"
            ),
            Self::NoObject { name } => {
                write!(f, "no algorithm `{name}` in this build: see `braid algorithms` for those there are")
            }
            Self::Refused { program, log } => {
                write!(f, "the kernel's verifier refused {program}, please report this:\n{log}")
            }
            Self::Kernel { doing, report } => write!(f, "{doing}: {}", report.trim_end()),
        }
    }
}

impl std::error::Error for Error {}
