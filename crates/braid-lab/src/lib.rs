//! The lab: scenarios on the network stack of a distribution kernel, in a guest whose clock counts instructions.
//!
//! A guest is QEMU, emulating, with virtual time: the same kernel, QEMU, program and seed give the same bytes, on any
//! machine, and neither KVM nor root is needed. `Lab::prepare` finds kernel and QEMU, builds the guest's image around
//! this very program and boots it once; `Lab::run` restores that and runs a scenario in it: namespaces, veth, netem,
//! MPTCP sockets, and the algorithms as eBPF. [`agent()`] is what runs in the guest. A `Host` runs the same on the kernel of
//! this machine, in real time. Either is a backend of studies as a [`Kernel`].
//!
//! Two halves that do not know each other: `driver` is outside, `agent` inside. Between them is `job`, plain data. `backend`, above `driver`, is what
//! `braid-study` knows of it.

mod agent;
mod backend;
mod driver;
mod job;
mod scheduling;

pub use agent::{agent, agent_here};
pub use backend::{Capture, Kernel};
pub use driver::{KERNELS_OWN as SCHEDULER, Start, own_of_the_kernel};
pub use job::Packet;

/// Tells the sources of lab, loader and kernel side from those of another version.
pub(crate) const SOURCE_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/source-hash"));
