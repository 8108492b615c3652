//! A user's algorithms, for loading them elsewhere.

use std::ffi::c_void;

use braid_algorithms::layout::{Event, View};
use braid_algorithms::{Algorithm, Definition, Param, define};
use serde::{Deserialize, Serialize};

/// A user's algorithm, compiled for BPF.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Added {
    pub(crate) name: String,
    flags: u32,
    params: Vec<Tunable>,
    source_hash: u64,
    #[serde(with = "serde_bytes")]
    object: Vec<u8>,
}

/// As [`Param`].
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Tunable {
    name: String,
    initial: u32,
    low: u32,
    high: u32,
    scale: u32,
    unit: String,
}

impl Added {
    /// The algorithm with its object; `None` without an object, or if it is built in.
    pub(crate) fn of(algorithm: &Algorithm) -> Option<Self> {
        let object = braid_kernel::object(algorithm).filter(|_| algorithm.is_added())?;
        let tunable = |param: Param| Tunable {
            name: param.name.to_owned(),
            initial: param.initial,
            low: param.low,
            high: param.high,
            scale: param.scale,
            unit: param.unit.to_owned(),
        };
        Some(Self {
            name: algorithm.name().to_owned(),
            flags: algorithm.flags(),
            params: algorithm.params().map(tunable).collect(),
            source_hash: algorithm.source_hash(),
            object: object.to_vec(),
        })
    }

    /// Registers it here, for the kernel only.
    pub(crate) fn make_known(&self) -> Result<(), String> {
        let param = |own: &Tunable| Param {
            name: own.name.clone().leak(),
            initial: own.initial,
            low: own.low,
            high: own.high,
            scale: own.scale,
            unit: own.unit.clone().leak(),
            help: "",
        };
        let definition = Definition {
            name: self.name.clone(),
            page: format!("# {}: an algorithm of the user's own\n", self.name),
            flags: self.flags,
            params: self.params.iter().map(param).collect(),
            source_hash: self.source_hash,
            transition: never,
        };
        braid_kernel::add_object(made_known(definition)?, self.object.clone());
        Ok(())
    }
}

fn made_known(definition: Definition) -> Result<&'static Algorithm, String> {
    // SAFETY: its transition does nothing.
    unsafe { define(definition) }.map_err(|error| error.0)
}

/// Not called: it runs in the kernel only.
unsafe extern "C" fn never(_: *mut View, _: *mut c_void, _: *const c_void, _: *const Event) {}
