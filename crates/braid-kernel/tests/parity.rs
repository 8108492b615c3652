//! The transitions in the kernel give the same results as the native build, word for word, on generated events.
//!
//! `BRAID_PARITY_CALLS=1000000 cargo test -p braid-kernel --test parity -- --nocapture` for more calls per algorithm.

mod common;

use std::{env, fmt::Write as _, time::Instant};

use braid_algorithms::{Algorithm, Spec, layout::View};
use braid_kernel::{Call, Parity};
use braid_trace::{
    Origin,
    generate::{Connection, Random},
};

/// Calls per algorithm unless `BRAID_PARITY_CALLS` says otherwise.
const CALLS: usize = 40_000;

/// Runs `calls` calls both ways and returns how many of them changed anything. The digest covers every word of the
/// kernel's result: two processors with equal results print equal digests.
fn compare(spec: &Spec, kernel: &mut Parity, calls: usize, random: &mut Random, digest: &mut u64) -> usize {
    let origin = Origin::native(spec.clone());
    let connection = |random: &mut Random| {
        let (subflows, wild) = (random.between(1, 8), random.one_in(3));
        Connection::new(&origin, subflows, wild, random)
    };
    let batch = kernel.calls().len();
    let mut at = connection(random);
    let mut before: Vec<Call> = kernel.calls().to_vec();
    let mut native = before.clone();
    let (mut done, mut changed) = (0, 0);
    while done < calls {
        let count = batch.min(calls - done);
        for (before, native) in before.iter_mut().zip(&mut native).take(count) {
            if random.one_in(2_000) {
                at = connection(random);
            }
            let call = at.next(random);
            *before = prepared(&call, &call.view, &call.private);
            *native = prepared(&call, &call.view_after(), &call.outputs.private);
            changed += usize::from(before != native);
        }
        kernel.calls()[..count].clone_from_slice(&before[..count]);
        kernel.run(count).unwrap_or_else(|error| panic!("{}: {error}", spec.text()));
        for i in 0..count {
            assert!(
                native[i] == kernel.calls()[i],
                "{}, call {}: native - and kernel + differ after {:?}\n{}\nbefore: {:#?}",
                spec.text(),
                done + i,
                before[i].event,
                differences(&native[i], &kernel.calls()[i]),
                before[i].view
            );
            extend(digest, spec.algorithm(), &kernel.calls()[i]);
        }
        done += count;
    }
    changed
}

/// FNV-1a over words.
fn extend(digest: &mut u64, algorithm: &Algorithm, call: &Call) {
    let unused = call.private.len() - algorithm.private_bytes().div_ceil(8);
    let words = call.words();
    for word in &words[..words.len() - unused] {
        *digest = (*digest ^ word).wrapping_mul(0x0100_0000_01b3);
    }
}

/// A call in the kernel's layout.
fn prepared(call: &braid_trace::Call, view: &View, private: &[u64]) -> Call {
    let mut prepared = Call { event: call.event, view: view.clone(), private: [0; 256] };
    prepared.private[..private.len()].copy_from_slice(private);
    prepared
}

/// The lines in which two calls differ.
fn differences(native: &Call, kernel: &Call) -> String {
    let (native, kernel) = (format!("{native:#?}"), format!("{kernel:#?}"));
    let mut text = String::new();
    for (i, (native, kernel)) in native.lines().zip(kernel.lines()).enumerate() {
        if native != kernel {
            writeln!(text, "line {i}\n- {native}\n+ {kernel}").expect("a string");
        }
    }
    text
}

/// The settings of [`common::settings`] and some random ones.
fn settings(algorithm: &Algorithm, random: &mut Random) -> Vec<Spec> {
    let mut all = common::settings(algorithm);
    if algorithm.params().len() > 0 {
        for _ in 0..8 {
            let values: Vec<u32> =
                algorithm.params().map(|param| random.between(param.low, param.high)).collect();
            all.push(common::spec(algorithm, &values));
        }
    }
    all
}

#[test]
fn every_algorithm_does_in_the_kernel_what_it_does_natively() {
    // Its inputs are random, beyond what a host passes.
    braid_algorithms::guard::switch_off();
    let calls = env::var("BRAID_PARITY_CALLS").map_or(CALLS, |text| text.parse().expect("a number of calls"));
    let wanted: Vec<&str> = common::algorithms().iter().map(|algorithm| algorithm.name()).collect();
    for (algorithm, seed) in braid_algorithms::all().iter().zip(1..) {
        if !wanted.contains(&algorithm.name()) {
            continue;
        }
        let mut random = Random::new(seed);
        let settings = settings(algorithm, &mut random);
        let began = Instant::now();
        let (mut done, mut changed) = (0, 0);
        let mut digest = 0xcbf2_9ce4_8422_2325;
        for spec in &settings {
            let Some(mut kernel) = common::or_skip("parity of kernel and native build", Parity::load(spec))
            else {
                return;
            };
            let share = calls.div_ceil(settings.len());
            changed += compare(spec, &mut kernel, share, &mut random, &mut digest);
            done += share;
        }
        assert!(changed * 4 > done, "{}: only {changed} of {done} calls did anything", algorithm.name());
        report(&format!(
            "{}: {done} calls with {} settings, no difference, digest {digest:016x}; {:.0} calls/s, loading included",
            algorithm.name(),
            settings.len(),
            done as f64 / began.elapsed().as_secs_f64()
        ));
    }
}

#[test]
fn a_call_that_the_kernel_did_not_make_is_noticed() {
    let spec = Spec::parse("reno").expect("reno is there");
    let Some(mut kernel) = common::or_skip("parity notices a difference", Parity::load(&spec)) else {
        return;
    };
    let mut random = Random::new(1);
    let mut connection = Connection::new(&Origin::native(spec), 2, false, &mut random);
    let too_many = kernel.calls().len() + 1;
    assert!(kernel.run(too_many).is_err());
    let mut unchanged = 0;
    for _ in 0..100 {
        let call = connection.next(&mut random);
        unchanged += usize::from(call.view == call.view_after());
    }
    assert!(unchanged < 90, "{unchanged} of 100 native calls left the view as it was");
}

#[expect(clippy::print_stdout, reason = "figures for a person")]
fn report(line: &str) {
    println!("{line}");
}
