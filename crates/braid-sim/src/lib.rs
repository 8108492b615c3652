//! Deterministic packet-level simulator of TCP and MPTCP.
//!
//! The congestion control algorithms are the C files that also run in the kernel; the TCP around them follows Linux.
//! The same scenario, seed and binary give the same result, to the last bit. `docs/tcp-model.md` lists what is modelled
//! and left out.

// For code shared by unit tests and `tests/`.
#[cfg(test)]
extern crate self as braid_sim;

pub mod application;
mod autotuning;
mod backlog;
mod connection;
mod data;
mod datagram;
mod draws;
mod driven;
mod event_queue;
mod link;
mod network;
pub mod observe;
mod options;
mod packet;
mod place;
mod random;
mod ranges;
mod ring;
mod run;
mod schedule;
mod simulation;
mod tcp;
mod tournament;

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;

pub use datagram::{Datagram, Ecn};
pub use draws::start_ns;
pub use options::{Error, Options, USUAL_SCHEDULER};
pub use place::Place;
pub use simulation::Simulation;

/// Hash of this simulator's sources without the algorithms, hexadecimal.
pub const SOURCE_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/source-hash"));

/// The longest run; times in the event order are at most twice that.
pub const LONGEST_NS: u64 = event_queue::MAX_TIME / 2;

/// Runs `scenario` once. Connections that name no congestion control use `cc`.
///
/// # Errors
/// If a connection's congestion control cannot be understood, or the scenario is too long or too large.
pub fn run(scenario: &Scenario, cc: &Spec, seed: u64) -> Result<Measurements, Error> {
    run_with(scenario, cc, seed, Options::default())
}

/// As [`run`], with options.
///
/// # Errors
/// As [`run`].
pub fn run_with(scenario: &Scenario, cc: &Spec, seed: u64, options: Options) -> Result<Measurements, Error> {
    Ok(run::Run::new(scenario, cc, seed, options)?.finish())
}

/// As [`run_with`], and reports events to `observer`. Results are the same.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    scenario: &Scenario,
    cc: &Spec,
    seed: u64,
    options: Options,
    observer: &mut dyn observe::Observer,
) -> Result<Measurements, Error> {
    Ok(run::Run::new(scenario, cc, seed, options)?.finish_observed(observer))
}
