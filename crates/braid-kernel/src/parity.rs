//! Transitions of an algorithm inside the kernel, on any input, without traffic.

use braid_algorithms::{
    Spec,
    layout::{Event, View},
};

use crate::{
    Error,
    batch::{Batch, Plain},
    object::{PARITY, load_algorithm},
};

/// `BRAID_PRIVATE_BYTES` in words.
const PRIVATE_WORDS: usize = 256;

/// `struct braid_call` of `kernel/host.h`: the arguments of a transition, overwritten by its results.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The event; `kind` selects the transition.
    pub event: Event,
    /// The connection.
    pub view: View,
    /// The subflow's private memory; an algorithm uses its first
    /// [`private_bytes`](braid_algorithms::Algorithm::private_bytes).
    pub private: [u64; PRIVATE_WORDS],
}

// SAFETY: integers only, without padding: 64 + 1552 + 2048 bytes.
unsafe impl Plain for Call {}
const _: () = assert!(size_of::<Call>() == 64 + 1552 + 2048);

impl Call {
    /// All words in memory order: event, view, private memory.
    pub fn words(&self) -> &[u64] {
        // SAFETY: integers only, without padding (above), aligned as the words of the last field.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>() / 8) }
    }
}

/// An algorithm with its parameters, loaded into the kernel to run single transitions.
pub struct Parity {
    batch: Batch<Call>,
}

impl Parity {
    /// Loads it.
    pub fn load(spec: &Spec) -> Result<Self, Error> {
        let (object, _) = load_algorithm(spec, None, None)?;
        Ok(Self { batch: Batch::new(object, "braid_calls")? })
    }

    /// Memory shared with the kernel, for one batch of calls.
    pub fn calls(&mut self) -> &mut [Call] {
        self.batch.entries()
    }

    /// Runs the first `count` calls in place.
    pub fn run(&mut self, count: usize) -> Result<(), Error> {
        self.batch.run(PARITY, count)
    }
}
