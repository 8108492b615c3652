//! Every algorithm has an object that the running kernel's verifier accepts.
//!
//! `cargo test -p braid-kernel --test verifier -- --nocapture` prints the verifier's cost of each.

mod common;

use std::fmt::Write as _;

use braid_algorithms::Algorithm;
use braid_kernel::{Parity, Verified, objects, verify};

#[test]
fn every_algorithm_has_an_object() {
    let algorithms: Vec<&str> = braid_algorithms::all().iter().map(Algorithm::name).collect();
    let objects: Vec<&str> = objects().iter().map(|object| object.name).collect();
    assert_eq!(algorithms, objects);
}

/// The first settings are the defaults, all parameters lowest and all highest: for these the test verifies every hook,
/// for the others only the transitions, which all hooks consist of.
const EXTREMES: usize = 3;

/// Parameters are constants to the verifier, so other values open other paths.
#[test]
fn the_verifier_accepts_every_algorithm_with_the_extremes_of_every_parameter() {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut table = format!(
        "Linux {release}{:<10} {:<16} {:>12} {:>8} {:>12} {:>25}\n",
        "algorithm", "program", "instructions", "states", "stack", "most with any parameters"
    );
    for algorithm in common::algorithms() {
        let mut rows: Vec<Verified> = Vec::new();
        let mut most: Vec<u64> = Vec::new();
        for (i, spec) in common::settings(algorithm).into_iter().enumerate() {
            if i >= EXTREMES {
                Parity::load(&spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
                continue;
            }
            let Some(programs) = common::or_skip("the verifier on every algorithm", verify(&spec)) else {
                return;
            };
            let instructions: Vec<u64> = programs.iter().map(|program| program.instructions).collect();
            if rows.is_empty() {
                (rows, most) = (programs, instructions);
            } else {
                assert_eq!(
                    instructions.len(),
                    rows.len(),
                    "{spec} has the programs of the default parameters"
                );
                most = most.iter().zip(instructions).map(|(&most, next)| most.max(next)).collect();
            }
        }
        assert!(!rows.is_empty(), "{} has no program", algorithm.name());
        for (Verified { program, instructions, states, stack }, most) in rows.iter().zip(most) {
            let name = algorithm.name();
            writeln!(table, "{name:<10} {program:<16} {instructions:>12} {states:>8} {stack:>12} {most:>25}")
                .expect("a string");
        }
    }
    print(&table);
}

#[expect(clippy::print_stdout, reason = "the table is what a person runs this for")]
fn print(table: &str) {
    print!("{table}");
}
