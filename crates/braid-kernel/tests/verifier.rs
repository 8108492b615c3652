//! Every algorithm has an object, and the running kernel's verifier accepts it.
//!
//! `cargo test -p braid-kernel --test verifier -- --nocapture` prints what each costs the verifier.

mod common;

use std::fmt::Write as _;

use braid_algorithms::Algorithm;
use braid_kernel::{objects, verify};

#[test]
fn every_algorithm_has_an_object() {
    let algorithms: Vec<&str> = braid_algorithms::all().iter().map(Algorithm::name).collect();
    let objects: Vec<&str> = objects().iter().map(|object| object.name).collect();
    assert_eq!(algorithms, objects);
}

/// Parameters are constants to the verifier, so it sees other paths with other values.
#[test]
fn the_verifier_accepts_every_algorithm_with_the_extremes_of_every_parameter() {
    let mut table = format!(
        "{:<10} {:<16} {:>12} {:>8} {:>8}\n",
        "algorithm", "program", "instructions", "states", "stack"
    );
    for algorithm in braid_algorithms::all() {
        for (i, spec) in common::settings(algorithm).iter().enumerate() {
            let Some(programs) = common::or_skip("the verifier on every algorithm", verify(spec)) else {
                return;
            };
            assert!(!programs.is_empty(), "{} has no program", algorithm.name());
            let default_parameters = i == 0;
            for program in programs.iter().filter(|_| default_parameters) {
                writeln!(
                    table,
                    "{:<10} {:<16} {:>12} {:>8} {:>8}",
                    algorithm.name(),
                    program.program,
                    program.instructions,
                    program.states,
                    program.stack
                )
                .expect("a string");
            }
        }
    }
    print(&table);
}

#[expect(clippy::print_stdout, reason = "the table is what a person runs this for")]
fn print(table: &str) {
    print!("{table}");
}
