//! The lab: scenarios on the network stack of a distribution kernel, in a guest whose clock counts instructions.
//!
//! A guest is emulated by QEMU with virtual time: the same kernel, QEMU, program and seed give the same bytes on any
//! machine, without KVM or root. [`Lab::prepare`] finds kernel and QEMU, builds the guest's image around this program
//! and boots it once. [`Lab::run`] restores that and runs a scenario in it: namespaces, veth, netem, MPTCP sockets, and
//! the algorithms as eBPF. [`agent()`] runs in the guest. A [`Host`] runs the same on the kernel of this machine, in
//! real time. Both are backends of studies as a [`Kernel`].
//!
//! `driver` is outside, `agent` inside; they share only `job`, plain data. `backend`, above `driver`, is the interface
//! to `braid-study`.

mod agent;
mod backend;
mod driver;
mod job;
mod scheduling;

pub use agent::{agent, agent_here};
pub use backend::Kernel;
pub use driver::{
    Capture, Error, Host, KERNELS_OWN as SCHEDULER, Kind, Lab, Outcome, Start, Unsupported, check,
    default_kernel, own_of_the_kernel,
};
pub use job::Packet;

/// Tells the sources of lab, loader and kernel side from those of another version.
pub(crate) const SOURCE_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/source-hash"));
