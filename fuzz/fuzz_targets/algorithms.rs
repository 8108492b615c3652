//! Every algorithm, with any parameters, on any events: no undefined behaviour, and each call keeps the contract.

#![no_main]

#[path = "../algorithms.rs"]
mod algorithms;

use braid_algorithms::Algorithm;
use braid_trace::generate::Random;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut random = Random::from_bytes(bytes);
    let all: Vec<&Algorithm> = braid_algorithms::all().iter().collect();
    let spec = algorithms::any_spec(&all, &mut random);
    algorithms::drive(&spec, u64::MAX, &mut random);
});
