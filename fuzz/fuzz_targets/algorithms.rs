//! Every algorithm, with any parameters, on any events: no undefined behaviour, and each call within what it may do.

#![no_main]

#[path = "../algorithms.rs"]
mod algorithms;

use braid_trace::generate::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut random = Random::from_bytes(bytes);
    let spec = algorithms::any_spec(&mut random);
    algorithms::drive(&spec, u64::MAX, &mut random);
});
