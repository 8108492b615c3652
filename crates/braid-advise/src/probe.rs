//! A test of a network: each path sends alone, then two at a time.
//!
//! One TCP flow for each path is enough. Where two paths have one bottleneck, packets wait equally long on both at the same time,
//! and what they carry together is less than the sum of what each carries alone.

use crate::estimate::{Look, Series, TooLittle, correlation, mean, rate_bps};
use crate::measured::{Measured, Pair, Sharing};

/// Seconds of a phase.
pub const PHASE_S: f64 = 15.0;
/// Of them, these do not count: flows begin.
pub const BEGINNING_S: f64 = 3.0;
/// Seconds between two phases, in which queues empty: else the first packet of a path waits for those of the one before, and its lowest
/// RTT is too high.
pub const PAUSE_S: f64 = 0.7;

/// Of a full packet.
const PACKET_BITS: f64 = 12_000.0;
/// Looks by which one path may see the queue later than the other.
const LAG: usize = 5;

/// Some paths send for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Their places.
    pub paths: Vec<usize>,
    /// Looks at their sockets in the same order, without the [beginning](BEGINNING_S).
    pub looks: Vec<Look>,
}

/// Which paths send at the same time: each alone, then each pair.
pub fn phases(paths: usize) -> Vec<Vec<usize>> {
    let alone = (0..paths).map(|path| vec![path]);
    let pairs = (0..paths).flat_map(|one| (one + 1..paths).map(move |other| vec![one, other]));
    alone.chain(pairs).collect()
}

/// What the paths are like, from a test.
///
/// # Errors
/// If a path carried next to nothing when it was alone.
///
/// # Panics
/// If a phase of [`phases`] is missing.
pub fn estimate(names: &[String], phases: &[Phase]) -> Result<Measured, TooLittle> {
    let of = |paths: &[usize]| phases.iter().find(|phase| phase.paths == paths).expect("all phases");
    // The lowest RTT of a path shows where nobody else of us sends.
    let base = |place: usize| {
        let seen = phases.iter().filter_map(|phase| {
            let at = phase.paths.iter().position(|&path| path == place)?;
            let least = |look: &Look| {
                let seen = &look.subflows[at];
                let known = [seen.min_rtt_s, seen.srtt_s].into_iter().find(|&rtt_s| rtt_s > 0.0);
                known.unwrap_or(f64::INFINITY)
            };
            Some(phase.looks.iter().map(least).fold(f64::INFINITY, f64::min))
        });
        seen.fold(f64::INFINITY, f64::min)
    };
    let bases: Vec<f64> = (0..names.len()).map(base).collect();
    let mut paths = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let looks = &of(&[place]).looks;
        if looks.len() < 2 {
            return Err(TooLittle::Sent(place));
        }
        let series = Series::over(looks, 0, bases[place]);
        paths.push(series.path(name, looks).ok_or(TooLittle::Sent(place))?);
    }
    let mut pairs = Vec::new();
    let mut together_bps = Vec::new();
    for one in 0..names.len() {
        for other in one + 1..names.len() {
            let phase = of(&[one, other]);
            let waits = |at: usize, place: usize| Series::over(&phase.looks, at, bases[place]).waits;
            let seen = Both {
                alone_bps: [one, other].map(|place| mean_bps(&of(&[place]).looks, &[0])),
                together_bps: [0, 1].map(|at| mean_bps(&phase.looks, &[at])),
                waits: [waits(0, one), waits(1, other)],
            };
            pairs.push(Pair { one, other, sharing: seen.sharing() });
            together_bps.push((vec![one, other], rate_bps(&phase.looks, &[0, 1])));
        }
    }
    let mut measured = Measured { paths, pairs, together_bps };
    // What more than two carry is what the best two of them do.
    for unknown_share in [false, true] {
        let groups = measured.groups(unknown_share);
        for first in 0..groups.len() {
            let members: Vec<usize> = (0..groups.len()).filter(|&place| groups[place] == first).collect();
            if members.len() < 2 {
                continue;
            }
            let within =
                |(places, _): &&(Vec<usize>, f64)| places.iter().all(|place| members.contains(place));
            let pairs = measured.together_bps.iter().filter(within).map(|(_, bps)| *bps);
            let most =
                pairs.chain(members.iter().map(|&place| measured.paths[place].rate_bps)).fold(0.0, f64::max);
            measured.together_bps.retain(|(places, _)| *places != members);
            measured.together_bps.push((members, most));
        }
    }
    Ok(measured)
}

fn mean_bps(looks: &[Look], places: &[usize]) -> f64 {
    let [first, .., last] = looks else { return 0.0 };
    let bytes = |look: &Look| places.iter().map(|&place| look.subflows[place].bytes).sum::<u64>();
    (bytes(last) - bytes(first)) as f64 * 8.0 / (last.at_s - first.at_s)
}

/// Two paths, each alone and then both.
struct Both {
    alone_bps: [f64; 2],
    together_bps: [f64; 2],
    /// How long packets waited, seconds, look by look while both sent.
    waits: [Vec<f64>; 2],
}

impl Both {
    fn sharing(&self) -> Sharing {
        let [one, other] = &self.waits;
        let (together, differ) = concordance(one, other);
        let (quickly, _) = concordance(&quick(one), &quick(other));
        let adds_up = self.together_bps.iter().sum::<f64>() / self.alone_bps.iter().sum::<f64>().max(1.0);
        if self.has_fair_queue(adds_up)
            || (differ <= 0.6 && together >= 0.6 && quickly >= 0.6)
            || (differ <= 0.25 && together >= 0.9)
        {
            return Sharing::Shared;
        }
        // In one queue all wait equally long, but for a packet or two on the link, which on slow links is long.
        let slack_s = 2.0 * PACKET_BITS / self.together_bps.iter().sum::<f64>().max(1.0);
        if differ - slack_s / f64::midpoint(mean(one), mean(other)).max(1e-9) > 0.85 {
            return Sharing::Own;
        }
        // What one loses the other has: it is not that a rate was low by chance.
        let most_bps = self.alone_bps[0].max(self.alone_bps[1]);
        if adds_up < 0.56 {
            let kept = self.together_bps.iter().sum::<f64>() >= 0.75 * most_bps;
            return if kept { Sharing::Shared } else { Sharing::Unknown };
        }
        if adds_up >= 0.9 || (adds_up >= 0.65 && quickly < 0.5 && together < 0.5 && differ > 0.3) {
            return Sharing::Own;
        }
        Sharing::Unknown
    }

    /// Queues of a fair scheduler are short, and give both the same and less than either had before.
    fn has_fair_queue(&self, adds_up: f64) -> bool {
        let [one, other] = self.together_bps;
        let less = self.together_bps.iter().zip(&self.alone_bps).all(|(now, alone)| *now < 0.9 * alone);
        let short = self.waits.iter().all(|waits| mean(waits) < 0.01);
        short && less && adds_up < 0.85 && (one - other).abs() < 0.03 * (one + other)
    }
}

/// Without what changes slowly: less its mean over a second.
fn quick(values: &[f64]) -> Vec<f64> {
    let around = |at: usize| &values[at.saturating_sub(5)..(at + 6).min(values.len())];
    values.iter().enumerate().map(|(at, value)| value - mean(around(at))).collect()
}

/// The greatest correlation and the least difference, as a share of the mean, at any lag.
fn concordance(one: &[f64], other: &[f64]) -> (f64, f64) {
    let lags = -(LAG as isize)..=LAG as isize;
    lags.fold((-1.0, f64::INFINITY), |(together, differ), lag| {
        let (skip_one, skip_other) = ((-lag).max(0) as usize, lag.max(0) as usize);
        let one = one.get(skip_one..).unwrap_or_default();
        let other = other.get(skip_other..).unwrap_or_default();
        let count = one.len().min(other.len());
        let (one, other) = (&one[..count], &other[..count]);
        let apart = one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>();
        let apart = apart / count.max(1) as f64 / f64::midpoint(mean(one), mean(other)).max(1e-9);
        (f64::max(together, correlation(one, other)), f64::min(differ, apart))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Seen;

    /// What one path does: Mbit/s, and how long packets wait, seconds.
    type Flow = (f64, fn(f64) -> f64);

    fn phase(paths: &[usize], flows: &[Flow]) -> Phase {
        let seen = |at_s: f64, (mbit, wait): &Flow| Seen {
            bytes: (mbit * 1e6 / 8.0 * at_s) as u64,
            srtt_s: 0.03 + wait(at_s),
            min_rtt_s: 0.03,
            ..Seen::default()
        };
        let look = |n: u32| {
            let at_s = f64::from(n) / 10.0;
            Look { at_s, subflows: flows.iter().map(|flow| seen(at_s, flow)).collect() }
        };
        Phase { paths: paths.to_vec(), looks: (0..120).map(look).collect() }
    }

    fn saw(at_s: f64, period_s: f64) -> f64 {
        0.02 + 0.03 * (at_s / period_s).fract()
    }

    /// Two paths that carry 10 Mbit/s each where they are alone, and these together.
    fn measured(together: [Flow; 2]) -> Measured {
        let alone: Flow = (10.0, |at_s| saw(at_s, 1.7));
        let phases = [phase(&[0], &[alone]), phase(&[1], &[alone]), phase(&[0, 1], &together)];
        estimate(&["wifi".into(), "lte".into()], &phases).unwrap()
    }

    #[test]
    fn each_path_is_alone_once_and_with_each_other_once() {
        let all: [&[usize]; 6] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]];
        assert_eq!(phases(3), all);
    }

    #[test]
    fn packets_that_wait_equally_long_at_the_same_time_wait_in_one_queue() {
        let shared = measured([(8.0, |at_s| saw(at_s, 1.3)), (2.0, |at_s| 1.05 * saw(at_s, 1.3))]);
        assert_eq!(shared.pairs[0].sharing, Sharing::Shared);
        assert!((shared.together_bps[0].1 / 10e6 - 1.0).abs() < 0.02, "{shared:?}");
        // As well with a lot of others there, where it takes more by being two.
        let crowded = measured([(9.0, |at_s| saw(at_s, 1.3)), (9.0, |at_s| saw(at_s, 1.3))]);
        assert_eq!(crowded.pairs[0].sharing, Sharing::Shared);
    }

    #[test]
    fn paths_that_carry_as_much_together_as_alone_have_their_own() {
        let own = measured([(10.0, |at_s| saw(at_s, 1.3)), (10.0, |at_s| saw(at_s, 0.9))]);
        assert_eq!(own.pairs[0].sharing, Sharing::Own);
        assert!((own.paths[0].rate_bps / 10e6 - 1.0).abs() < 0.02, "{own:?}");
    }

    #[test]
    fn where_no_queue_stands_rates_tell() {
        let shared = measured([(5.0, |_| 0.001), (5.0, |_| 0.0012)]);
        assert_eq!(shared.pairs[0].sharing, Sharing::Shared);
        let own = measured([(10.0, |_| 0.001), (10.0, |_| 0.0012)]);
        assert_eq!(own.pairs[0].sharing, Sharing::Own);
    }

    #[test]
    fn what_does_not_show_is_unknown() {
        // Less than alone, and waits that are alike but do not go together.
        let unclear = measured([
            (6.5, |at_s| 0.03 + 0.01 * (at_s / 1.3).fract()),
            (8.0, |at_s| 0.03 + 0.01 * (at_s / 0.9).fract()),
        ]);
        assert_eq!(unclear.pairs[0].sharing, Sharing::Unknown);
        assert_eq!(unclear.scenarios("unclear").len(), 2);
    }

    #[test]
    fn a_path_that_carries_nothing_is_refused() {
        let none: Flow = (0.0, |_| 0.0);
        let works: Flow = (10.0, |_| 0.0);
        let phases = [phase(&[0], &[works]), phase(&[1], &[none]), phase(&[0, 1], &[works, none])];
        assert_eq!(estimate(&["wifi".into(), "lte".into()], &phases), Err(TooLittle::Sent(1)));
    }
}
