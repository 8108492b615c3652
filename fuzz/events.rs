//! `events CALLS [SEED [ALGORITHM...]]`: makes CALLS calls in total of every algorithm, or of the named ones, with
//! random parameters and events, and checks each call. Meant to be built with sanitizers: `scripts/sanitize`.

mod algorithms;

use std::collections::BTreeMap;

use braid_algorithms::{Algorithm, all, find};
use braid_trace::generate::Random;

fn main() {
    const USAGE: &str = "usage: events CALLS [SEED [ALGORITHM...]]";
    let mut arguments = std::env::args().skip(1);
    let calls: u64 = arguments.next().and_then(|text| text.parse().ok()).expect(USAGE);
    let mut random = Random::new(arguments.next().map_or(1, |text| text.parse().expect(USAGE)));
    let mut algorithms: Vec<&Algorithm> =
        arguments.map(|name| find(&name).unwrap_or_else(|| panic!("no algorithm {name}"))).collect();
    if algorithms.is_empty() {
        algorithms = all().iter().collect();
    }
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    let mut total = 0;
    while total < calls {
        let spec = algorithms::any_spec(&algorithms, &mut random);
        let share = algorithms::drive(&spec, (calls - total).min(2_000), &mut random);
        *done.entry(spec.algorithm().name()).or_default() += share;
        total += share;
    }
    for (name, calls) in &done {
        println!("{name:<10} {calls:>12}");
    }
    println!("{total} calls of {} algorithms, nothing found", done.len());
}
