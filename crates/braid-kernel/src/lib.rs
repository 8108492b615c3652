//! The algorithms of `algorithms/` as eBPF programs: embedded objects, compiled at build time; verification; loading,
//! replacing and unloading as congestion controls ([`load`], [`unload`]); hints of the operator ([`state_hints`]);
//! users ([`sockets`]) and defaults ([`set_default`]); requirements of a machine ([`doctor`]); and single transitions
//! inside the kernel, on any input and without traffic, for comparison with the native build.
//!
//! All that needs Linux 6.4 and the right to load programs. Where that is missing the [`Error`] says what to do,
//! and [`Error::is_machine`] is true. Kernels from 5.15 on can have the same algorithms as a kernel module instead, see
//! [`Host`].

#![allow(clippy::missing_errors_doc, reason = "each error says what may be wrong")]

mod batch;
mod bpffs;
mod capabilities;
mod control;
mod doctor;
mod error;
mod fixed;
mod genetlink;
mod hints;
mod host;
mod module;
mod namespace;
pub mod netlink;
mod object;
mod parity;
mod paths;
mod rtts;
mod scheduler;
mod sockets;
pub mod sockopt;
mod trace;
mod verdicts;

pub use bpffs::is_private;
pub use control::{Held, Use, hold, load, load_into, loaded, unload, uses};
pub use doctor::{Aim, Requirement, doctor, hosts};
pub use error::{Error, Refusal};
pub use fixed::{FixedCall, FixedTest};
pub use hints::{Hint, MAX_HINTS, Place, Stated, hint_of, hints, state_hints, withdraw_hints};
pub use host::{Host, Loaded, Version};
pub use module::module_layout;
pub use namespace::{Namespace, available, default, noted_default, set_default, switch_default};
pub use object::{PREFIX, Verified, add_object, object, verify};
pub use parity::{Call, Parity};
pub use paths::{Endpoint, Paths, paths, programs};
pub use rtts::{RttCounts, Rtts};
pub use scheduler::scheduler;
pub use sockets::{Flow, Socket, interface_names, interfaces, sockets};
pub use trace::{Recorded, record};
pub use verdicts::{Said, Verdicts};

/// An algorithm compiled for BPF.
pub struct Object {
    /// The algorithm's name.
    pub name: &'static str,
    /// An ELF file for the BPF target, with BTF.
    pub bytes: &'static [u8],
}

macro_rules! object {
    ($name:literal) => {
        Object { name: $name, bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")) }
    };
}

/// All objects, by name: one per C file of `algorithms/`.
pub fn objects() -> &'static [Object] {
    static OBJECTS: &[Object] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));
    OBJECTS
}
