//! Pins, with several processes that load, unload, state hints and read at the same time. Needs root; if something is
//! missing the test prints `SKIPPED: ...` with the reason.

mod common;

use std::thread;

use braid_algorithms::Spec;
use braid_kernel::{Namespace, Place, hints, load, loaded, state_hints, unload, withdraw_hints};

#[test]
fn loading_unloading_stating_and_looking_do_not_disturb_each_other() {
    const ROUNDS: usize = 20;
    let reno = Spec::parse("reno").expect("an algorithm");
    let ours = |i: usize| format!("t_{i}_{:x}", std::process::id() % 0x1_0000);
    if common::or_skip("pins", load(&reno, &ours(0))).is_none() {
        return;
    }
    unload(&ours(0), false).expect("it is loaded");
    let place = Place::parse("t_pins").expect("a name");
    thread::scope(|scope| {
        for i in 0..3 {
            let (reno, name) = (&reno, ours(i));
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    load(reno, &name).unwrap_or_else(|error| panic!("load {name}, {round}: {error}"));
                    unload(&name, false).unwrap_or_else(|error| panic!("unload {name}, {round}: {error}"));
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                state_hints(&Namespace::own(), &[vec![place.clone()]]).expect("room for one");
                let mut own = hints().expect("root may read them");
                own.retain(|hint| hint.place == place);
                assert_eq!(own.len(), 1);
                withdraw_hints(&own).expect("root may");
            }
        });
        scope.spawn(|| {
            for _ in 0..20 * ROUNDS {
                loaded().expect("root may look");
            }
        });
    });
    let left = loaded().expect("root may look").into_iter().map(|loaded| loaded.name);
    assert_eq!(left.filter(|name| (0..3).any(|i| *name == ours(i))).count(), 0);
}
