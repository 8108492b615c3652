//! A run that its caller advances equals one that runs by itself.

use std::sync::atomic::{AtomicBool, Ordering};

use braid_algorithms::Spec;
use braid_scenario::Source;
use braid_scenario::model::Scenario;
use braid_sim::{Options, Simulation};
use proptest::prelude::*;

fn scenario(name: &str) -> Scenario {
    let set = ["duration=12s", "warmup=1s"].map(str::to_owned);
    braid_scenario::load(&Source::find(name).unwrap(), &set).unwrap().cells.remove(0)
}

fn simulation(scenario: &Scenario, options: Options) -> Simulation<'_> {
    Simulation::new(scenario, &Spec::parse("olia").unwrap(), 3, options).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn pieces_do_not_change_a_run(pieces in prop::collection::vec(0..3_000_000_000_u64, 0..12)) {
        for name in ["d-olia/2", "everyday/mice", "everyday/video"] {
            let scenario = match name {
                "everyday/video" => {
                    let set = ["duration=12s", "periods=[]"].map(str::to_owned);
                    let mut source = Source::find(name).unwrap();
                    source.text = source.text.replace("[\"45s..75s\"]", "[\"4s..7s\"]");
                    match braid_scenario::load(&source, &set) {
                        Ok(mut file) => file.cells.remove(0),
                        Err(_) => continue,
                    }
                }
                _ => scenario(name),
            };
            let options = Options { samples: true, ..Options::default() };
            let whole = simulation(&scenario, options.clone()).finish();
            let mut cut = simulation(&scenario, options);
            for piece in &pieces {
                cut.advance_until(cut.now_ns() + piece);
                prop_assert!(cut.now_ns() <= cut.end_ns());
                let _ = (cut.subflows(), cut.links(), cut.delivered_bytes());
            }
            prop_assert_eq!(cut.finish(), whole);
        }
    }
}

#[test]
fn single_steps_lead_to_the_same_end() {
    let scenario = scenario("d-olia/2");
    let whole = simulation(&scenario, Options::default()).finish();
    let mut single = simulation(&scenario, Options::default());
    let mut steps = 0_u64;
    let mut before = single.now_ns();
    while single.step() {
        assert!(single.now_ns() > before);
        before = single.now_ns();
        steps += 1;
    }
    assert!(steps > 10_000 && steps <= single.events());
    assert_eq!(single.finish(), whole);
}

#[test]
fn what_is_seen_on_the_way_is_what_samples_say() {
    let scenario = scenario("d-olia/2");
    let whole = simulation(&scenario, Options { samples: true, ..Options::default() }).finish();
    let mut driven = simulation(&scenario, Options::default());
    // Samples precede other events of the same time.
    driven.advance_until(5_000_000_000);
    for (place, sample) in driven.subflows() {
        let samples = &whole.connections[place.connection].subflows[place.subflow].samples;
        assert!(samples.contains(&sample), "{place:?}");
    }
    assert!(!driven.subflows().is_empty());
}

#[test]
fn a_run_ends_at_once_when_it_is_stopped() {
    let scenario = scenario("d-olia/2");
    let stop = AtomicBool::new(false);
    let mut last = 0;
    let outcome = simulation(&scenario, Options::default()).finish_unless(&stop, |time_ns| {
        last = time_ns;
        stop.store(time_ns >= 2_000_000_000, Ordering::Relaxed);
    });
    assert_eq!((outcome, last), (None, 2_000_000_000));
}
