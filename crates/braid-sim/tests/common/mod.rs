//! Runs of small scenarios.
#![allow(dead_code, unused_imports, reason = "not every test file uses all of it")]

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;
use braid_sim::Options;
pub(crate) use braid_testing::model::{connection, link, scenario};

pub(crate) fn run(scenario: &Scenario, cc: &str, seed: u64) -> Measurements {
    let spec = Spec::parse(cc).unwrap_or_else(|error| panic!("{}", error.0));
    braid_sim::run(scenario, &spec, seed).unwrap()
}

/// With another packet scheduler than the default.
pub(crate) fn run_scheduled(scenario: &Scenario, cc: &str, seed: u64, scheduler: &str) -> Measurements {
    let spec = Spec::parse(cc).unwrap_or_else(|error| panic!("{}", error.0));
    let scheduler = braid_schedulers::Spec::parse(scheduler).unwrap_or_else(|error| panic!("{}", error.0));
    braid_sim::run_with(scenario, &spec, seed, Options { scheduler: Some(scheduler), ..Options::default() })
        .unwrap()
}

/// Goodput of a connection in Mbit/s.
pub(crate) fn goodput(result: &Measurements, connection: usize) -> f64 {
    result.connections[connection].goodput_bytes as f64 * 8e3 / result.measured_ns as f64
}

/// Share of a subflow in the bytes received by its connection.
pub(crate) fn share(result: &Measurements, connection: usize, subflow: usize) -> f64 {
    let bytes = |subflow: usize| result.connections[connection].subflows[subflow].received_bytes as f64;
    let total: f64 = (0..result.connections[connection].subflows.len()).map(bytes).sum();
    bytes(subflow) / total
}
