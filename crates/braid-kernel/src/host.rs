//! The two hosts of algorithms in the kernel, and what is loaded into them.

/// Name of the kernel module.
pub(crate) const MODULE: &str = "tcp_braid";

/// What runs algorithms in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// eBPF programs: Linux 6.4 or newer with type information.
    Bpf,
    /// The kernel module `tcp_braid`: Linux 5.15 or newer, built for it.
    Module,
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bpf => "as eBPF",
            Self::Module => "by the module tcp_braid",
        })
    }
}

/// An algorithm that the kernel has as a congestion control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its name; the kernel calls it `braid_NAME`.
    pub name: String,
    /// The algorithm and its parameters, as parsed by [`Spec`](braid_algorithms::Spec). Missing parameters have their defaults.
    pub spec: String,
    /// What runs it.
    pub host: Host,
    /// What was loaded under this name and not unloaded since, the newest first: the present one, and those that it
    /// replaced as long as connections may still run them. Empty if another version of braid loaded it.
    pub versions: Vec<Version>,
    /// ACKs handled since it was loaded, by the number of the connection's usable subflows on this algorithm: 0 before
    /// the first RTT sample, 1 for one path, 2 or more if it coupled.
    pub acks: [u64; 9],
    /// Congestion events handled since it was loaded, by [cause](braid_algorithms::layout::cause); 0 is not used.
    pub losses: [u64; 4],
}

/// A load under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number in [`Said::version`](crate::Said::version).
    pub id: u32,
    /// As [`Loaded::spec`].
    pub spec: String,
}
