//! `events CALLS [SEED]`: calls every algorithm so many times in all, with parameters and events at random, and checks each
//! call. Meant to be built with sanitizers: `scripts/sanitize`.

mod algorithms;

use std::collections::BTreeMap;

use braid_trace::generate::Random;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let calls: u64 = arguments.next().expect("usage: events CALLS [SEED]");
    let mut random = Random::new(arguments.next().unwrap_or(1));
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    let mut total = 0;
    while total < calls {
        let spec = algorithms::any_spec(&mut random);
        let share = algorithms::drive(&spec, (calls - total).min(2_000), &mut random);
        *done.entry(spec.algorithm().name()).or_default() += share;
        total += share;
    }
    for (name, calls) in &done {
        println!("{name:<10} {calls:>12}");
    }
    println!("{total} calls of {} algorithms, nothing found", done.len());
}
