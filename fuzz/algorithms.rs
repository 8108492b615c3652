//! Invariants of every algorithm on arbitrary events; for the fuzzer and for the run under sanitizers.

use braid_algorithms::layout::{Event, View, event_type};
use braid_algorithms::{Algorithm, Spec};
use braid_trace::Origin;
use braid_trace::generate::{Connection, Random};

/// A random algorithm with random parameters: defaults, ends of their ranges, or values between.
pub fn any_spec(algorithms: &[&Algorithm], random: &mut Random) -> Spec {
    let algorithm = algorithms[random.between(0, algorithms.len() as u32 - 1) as usize];
    let mut text = algorithm.name().to_owned();
    for param in algorithm.params() {
        let value = match random.between(0, 5) {
            0 => param.low,
            1 => param.high,
            2 => random.between(param.low, param.high),
            _ => param.initial,
        };
        text.extend([":", param.name, "=", &param.show(value)]);
    }
    Spec::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Makes `calls` calls of a spec on one connection, fewer if the random data runs out. Returns the number.
pub fn drive(spec: &Spec, calls: u64, random: &mut Random) -> u64 {
    let (subflows, wild) = (random.between(1, 8), random.one_in(3));
    let mut connection = Connection::new(&Origin::native(spec.clone()), subflows, wild, random);
    let mut scratch = View::default();
    let owns_cwnd = spec.algorithm().flags() & Algorithm::OWNS_CWND != 0;
    for done in 0..calls {
        if random.is_over() {
            return done;
        }
        connection.step(random, &mut scratch, |event, before, after| {
            if let Err(what) = check(event, before, after, owns_cwnd, spec.algorithm()) {
                let i = before.self_index as usize;
                let (old, new) = (&before.subflow[i], &after.subflow[i]);
                panic!("{}: {what}\n{event:#?}\nbefore: {old:#?}\nafter: {new:#?}", spec.text());
            }
        });
    }
    calls
}

fn check(
    event: &Event,
    before: &View,
    after: &View,
    owns_cwnd: bool,
    algorithm: &Algorithm,
) -> Result<(), &'static str> {
    let i = before.self_index as usize;
    let (old, new) = (&before.subflow[i], &after.subflow[i]);
    let siblings = (0..8).filter(|&k| k != i);
    if siblings.into_iter().any(|k| before.subflow[k] != after.subflow[k]) {
        return Err("wrote to a sibling");
    }
    let mut allowed = *old;
    (allowed.cwnd, allowed.ssthresh, allowed.pacing_rate) = (new.cwnd, new.ssthresh, new.pacing_rate);
    allowed.public_words = new.public_words;
    if allowed != *new
        || (before.n, before.self_index, before.connection) != (after.n, after.self_index, after.connection)
    {
        return Err("wrote what is the host's");
    }
    let words = algorithm.public_bytes().div_ceil(8);
    if old.public_words[words..] != new.public_words[words..] {
        return Err("wrote public words that it does not have");
    }
    // With a bound of 0 there is no smaller window.
    if old.cwnd_clamp >= 1 && (old.cwnd >= 1 && new.cwnd < 1 || old.ssthresh >= 1 && new.ssthresh < 1) {
        return Err("left a window of 0");
    }
    if owns_cwnd {
        return Ok(());
    }
    if new.cwnd > old.cwnd.max(old.cwnd_clamp).max(1) {
        return Err("exceeded the clamp");
    }
    // Slow start adds the acknowledged packets, OLIA up to half as many more; Compound's delay window comes on top.
    let most = u64::from(old.cwnd) + 2 * u64::from(event.grow) + 40_000;
    if event.kind == event_type::ON_ACK && u64::from(new.cwnd) > most {
        return Err("grew by far more than was acknowledged");
    }
    if event.kind == event_type::ON_LOSS && new.ssthresh > old.cwnd.max(2) {
        return Err("a loss raised the window");
    }
    Ok(())
}
