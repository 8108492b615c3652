//! The functions of `fixed.h` inside the kernel.

use crate::{
    Error, Verified,
    batch::{Batch, Plain},
    object::load,
};

/// `struct fixed_call` of `kernel/fixed_test.bpf.c`: arguments and result. Narrow ones use the low bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedCall {
    /// First argument.
    pub a: u64,
    /// Second argument, ignored if unused.
    pub b: u64,
    /// Third argument, ignored if unused.
    pub c: u64,
    /// The function's result.
    pub result: u64,
}

// SAFETY: four integers.
unsafe impl Plain for FixedCall {}

/// The functions, loaded.
pub struct FixedTest {
    batch: Batch<FixedCall>,
    verified: Vec<Verified>,
}

impl FixedTest {
    /// Loads them.
    pub fn load() -> Result<Self, Error> {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/fixed_test.bpf.o"));
        let (object, verified) = load("fixed_test", bytes, |_| Ok(()))?;
        Ok(Self { batch: Batch::new(object, "fixed_calls")?, verified })
    }

    /// One program per function, under the function's name without `braid_`.
    pub fn functions(&self) -> &[Verified] {
        &self.verified
    }

    /// Calls a function with the arguments in `calls` and fills in the results.
    pub fn run(&mut self, function: &str, calls: &mut [FixedCall]) -> Result<(), Error> {
        let most = self.batch.entries().len();
        for chunk in calls.chunks_mut(most) {
            self.batch.entries()[..chunk.len()].copy_from_slice(chunk);
            self.batch.run(function, chunk.len())?;
            chunk.copy_from_slice(&self.batch.entries()[..chunk.len()]);
        }
        Ok(())
    }
}
