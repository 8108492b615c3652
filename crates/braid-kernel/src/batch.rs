//! A test program and its array of arguments, shared with the kernel.

use std::{marker::PhantomData, os::fd::AsFd as _, os::fd::AsRawFd as _, slice};

use libbpf_rs::{MapCore as _, Object, ProgramInput};
use memmap2::{MmapMut, MmapOptions};

use crate::Error;

/// Plain memory: made of integers without padding, so that any bytes are a value.
///
/// # Safety
/// Every bit pattern must be valid, and the size a multiple of eight.
pub(crate) unsafe trait Plain {}

/// A loaded object with one memory-mapped array of `T`; its programs work on the first entries.
pub(crate) struct Batch<T> {
    object: Object,
    memory: MmapMut,
    len: usize,
    entry: PhantomData<T>,
}

impl<T: Plain> Batch<T> {
    /// Maps the array called `map`.
    pub(crate) fn new(object: Object, map: &str) -> Result<Self, Error> {
        let failed = |report: String| Error::Kernel { doing: format!("sharing the map {map}"), report };
        let array = object.maps().find(|candidate| candidate.name() == map);
        let array = array.ok_or_else(|| failed("the object has none".to_owned()))?;
        let len = array.max_entries() as usize;
        if array.value_size() as usize != size_of::<T>() {
            return Err(failed(format!(
                "its entries have {} bytes, not {}",
                array.value_size(),
                size_of::<T>()
            )));
        }
        // SAFETY: the kernel writes this memory only while `run` is in its system call; no other code has the map.
        let memory =
            unsafe { MmapOptions::new().len(len * size_of::<T>()).map_mut(array.as_fd().as_raw_fd()) };
        let memory = memory.map_err(|error| failed(error.to_string()))?;
        Ok(Self { object, memory, len, entry: PhantomData })
    }

    /// The array.
    pub(crate) fn entries(&mut self) -> &mut [T] {
        // SAFETY: `new` mapped `len` entries; they are plain memory, and the mapping is aligned to a page.
        unsafe { slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.len) }
    }

    /// Runs a program on the first `count` entries.
    pub(crate) fn run(&mut self, program: &str, count: usize) -> Result<(), Error> {
        let failed = |report: String| Error::Kernel { doing: format!("running {program}"), report };
        if count > self.len {
            return Err(failed(format!("{count} entries asked for, there are {}", self.len)));
        }
        let loaded = self.object.progs_mut().find(|candidate| candidate.name() == program);
        let loaded = loaded.ok_or_else(|| failed("the object has no such program".to_owned()))?;
        let mut context = (count as u32).to_ne_bytes();
        let input = ProgramInput { context_in: Some(&mut context), ..Default::default() };
        let output = loaded.test_run(input).map_err(|error| failed(format!("{error:#}")))?;
        if output.return_value as usize != count {
            return Err(failed(format!("returned {}, not {count}", output.return_value as i32)));
        }
        Ok(())
    }
}
