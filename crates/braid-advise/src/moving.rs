//! Whether a path changes its bottleneck during a test, and between which.
//!
//! What a crowd carries there changes once within a phase, and by much. At the same time a single flow on another path has more or less,
//! where the crowd comes or goes. No crowd on another path does as much.

use crate::estimate::{deviation, mean};

/// Values of a phase at the same times.
pub(crate) struct Meeting {
    /// The path of a crowd, and what it carries, bits per second; none where a single flow is alone.
    pub(crate) crowd: Option<(usize, Vec<f64>)>,
    /// The path of the single flow.
    pub(crate) single: usize,
    /// What it carries, bits per second.
    pub(crate) rates_bps: Vec<f64>,
    /// How long its packets wait, seconds, look by look.
    pub(crate) waits: Vec<f64>,
}

/// How a path looks that moves, if of all it changes most.
#[derive(Clone, Copy)]
struct Signs {
    /// How much a crowd on it changes...
    crowd: f64,
    /// ...and a single flow on another path at that time: of the path where it is most.
    beside: f64,
    /// How well one change explains how long a single flow waits on it...
    waits: f64,
    /// ...and what that carries.
    single: f64,
}

/// Weights of these, the first and the third less those of other paths, and what there is to be overcome: by logistic regression over 750
/// networks, as in examples/fit.py, `case/5000` to 5399 and 9000 to 9199, and of those to 7396 where a path moves or has a trace. In eight
/// parts, each by weights from the others, 65 of 80 are told so, 4 of 130 where rates follow traces of `WiFi` and LTE, and none of 540 others.
const WEIGHTS: [f64; 4] = [3.1, 4.0, 5.2, 7.2];
const BIAS: f64 = -12.3;
/// A crowd changes more by this than on any other path: where all of them change, it is not the path.
const MORE: f64 = 0.05;
/// A greater change, by its logarithm, says no more than this: it is that to nothing.
const GREATEST: f64 = 2.0;
/// Each level lasts for this share of the time at least.
const SHORTEST: f64 = 0.1;
/// Seconds that are added to waits: their logarithm is not to be that of jitter.
const JITTER_S: f64 = 0.002;
/// How much a change of others at the same time says of a bottleneck, for one unit of odds.
const AT_ONCE: f64 = 4.0;
/// Nothing speaks for a second bottleneck of other paths: it has one of its own. By this 70 of the 80 are told right.
const NOTHING: f64 = -4.5;

/// The path that moves.
pub(crate) fn which(paths: usize, meetings: &[Meeting]) -> Option<usize> {
    let (path, signs) = most_like_it(paths, meetings)?;
    let weighed = signs.iter().zip(WEIGHTS).map(|(sign, weight)| sign * weight);
    (signs[0] > MORE && BIAS + weighed.sum::<f64>() > 0.0).then_some(path)
}

/// The path on which a crowd changes most, and what speaks for it that it moves, in the order of the [weights](WEIGHTS).
pub(crate) fn most_like_it(paths: usize, meetings: &[Meeting]) -> Option<(usize, [f64; 4])> {
    let all: Vec<Signs> = (0..paths).map(|path| signs_of(path, meetings)).collect();
    let path = (0..paths).max_by(|&one, &other| all[one].crowd.total_cmp(&all[other].crowd))?;
    let rest = || all.iter().enumerate().filter(|&(other, _)| other != path).map(|(_, signs)| signs);
    let waits_elsewhere: Vec<f64> = rest().map(|signs| signs.waits).collect();
    let signs = [
        all[path].crowd - rest().map(|signs| signs.crowd).fold(0.0, f64::max),
        all[path].beside,
        all[path].waits - median(waits_elsewhere),
        all[path].single,
    ];
    Some((path, signs))
}

/// The groups of paths between whose bottlenecks it moves, each by its first path: the two of which most speaks for it, by
/// the odds of each pair on average over the test, and by changes at the same time. Its own, if nothing speaks for a second.
pub(crate) fn between(
    path: usize,
    groups: &[usize],
    odds: impl Fn(usize) -> f64,
    meetings: &[Meeting],
) -> [usize; 2] {
    let speaks = |other: usize| odds(other) + AT_ONCE * at_once(path, other, meetings);
    let mut all: Vec<(f64, usize)> = (0..groups.len())
        .filter(|&other| other != path)
        .map(|other| (speaks(other), groups[other]))
        .collect();
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let first = all[0].1;
    let second = all.iter().find(|&&(_, group)| group != first);
    [first, second.filter(|&&(speaks, _)| speaks > NOTHING).map_or(path, |&(_, group)| group)]
}

fn signs_of(path: usize, meetings: &[Meeting]) -> Signs {
    let crowds: Vec<(&Meeting, Vec<f64>)> =
        meetings.iter().filter_map(|meeting| Some((meeting, meeting.crowd_on(path)?))).collect();
    let singles: Vec<&Meeting> = meetings.iter().filter(|meeting| meeting.single == path).collect();
    let beside = |(meeting, crowd): &(&Meeting, Vec<f64>)| {
        let at = Change::of(crowd).at;
        Change::at(&logarithms(&meeting.rates_bps), at).size()
    };
    Signs {
        crowd: median(crowds.iter().map(|(_, crowd)| Change::of(crowd).size()).collect()),
        beside: crowds.iter().map(beside).fold(0.0, f64::max),
        waits: median(
            singles.iter().map(|one| Change::of(&logarithms_of_waits(&one.waits)).explains).collect(),
        ),
        single: median(singles.iter().map(|one| Change::of(&logarithms(&one.rates_bps)).explains).collect()),
    }
}

/// How much a flow of another path changes where those of this one do, in both phases of theirs.
fn at_once(path: usize, other: usize, meetings: &[Meeting]) -> f64 {
    let of = |meeting: &Meeting| {
        let single = logarithms(&meeting.rates_bps);
        if meeting.single == other {
            let crowd = meeting.crowd_on(path)?;
            Some(Change::at(&single, Change::of(&crowd).at).size())
        } else if meeting.single == path {
            let crowd = meeting.crowd_on(other)?;
            Some(Change::at(&crowd, Change::of(&single).at).size())
        } else {
            None
        }
    };
    meetings.iter().filter_map(of).sum()
}

impl Meeting {
    /// What a crowd carries on this path, by its logarithm.
    fn crowd_on(&self, path: usize) -> Option<Vec<f64>> {
        self.crowd.as_ref().filter(|(on, _)| *on == path).map(|(_, rates_bps)| logarithms(rates_bps))
    }
}

/// Values that are at one level, and then at another.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    /// The place of the first value at the second level.
    at: usize,
    /// Of the variance, the share that is between both levels: 0 to 1.
    explains: f64,
    /// How far these are apart.
    jump: f64,
}

impl Change {
    /// That which explains most.
    fn of(values: &[f64]) -> Self {
        let shortest = (SHORTEST * values.len() as f64).ceil() as usize;
        let all = (shortest..=values.len() - shortest).map(|at| Self::at(values, at));
        all.fold(Self::default(), |most, one| if one.explains > most.explains { one } else { most })
    }

    fn at(values: &[f64], at: usize) -> Self {
        let variance = deviation(values).powi(2);
        if at == 0 || at >= values.len() || variance < 1e-9 {
            return Self::default();
        }
        let middle = mean(values);
        let (before, after) = values.split_at(at);
        let apart = |part: &[f64]| part.len() as f64 * (mean(part) - middle).powi(2);
        Self {
            at,
            explains: (apart(before) + apart(after)) / (values.len() as f64 * variance),
            jump: (mean(before) - mean(after)).abs(),
        }
    }

    /// How clear and how great it is.
    fn size(self) -> f64 {
        self.explains * self.jump.min(GREATEST)
    }
}

/// The mean of the two in the middle, where they are even; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    mean(&values[count.saturating_sub(1) / 2..(count / 2 + 1).min(count)])
}

fn logarithms(rates_bps: &[f64]) -> Vec<f64> {
    rates_bps.iter().map(|bps| bps.max(1.0).ln()).collect()
}

fn logarithms_of_waits(waits: &[f64]) -> Vec<f64> {
    waits.iter().map(|wait_s| (wait_s + JITTER_S).ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 12 s, ten values each: the path of the crowd and that of the single flow; what both carry, Mbit/s, before 7 s and after; and how
    /// long the single one waits.
    fn meeting(paths: [usize; 2], crowd: [f64; 2], single: [f64; 2], wait_s: [f64; 2]) -> Meeting {
        let over = |levels: [f64; 2]| {
            let noise = |n: u32| 1.0 + 0.02 * f64::from(n * 7 % 5);
            (0..120).map(move |n| levels[usize::from(n >= 70)] * noise(n)).collect::<Vec<_>>()
        };
        let rates = |mbit: [f64; 2]| over(mbit).iter().map(|mbit| mbit * 1e6).collect::<Vec<_>>();
        Meeting {
            crowd: Some((paths[0], rates(crowd))),
            single: paths[1],
            rates_bps: rates(single),
            waits: over(wait_s),
        }
    }

    const STEADY: [f64; 2] = [20.0; 2];
    const WAITS: [f64; 2] = [0.03; 2];

    /// Three paths. The last one moves: there a crowd has so much and then so much. First it has the bottleneck of the first one, and then
    /// that of the second, or its own.
    fn moving(crowd: [f64; 2], beside_second: [f64; 2]) -> Vec<Meeting> {
        vec![
            meeting([0, 1], STEADY, STEADY, WAITS),
            meeting([1, 0], STEADY, STEADY, WAITS),
            meeting([2, 0], crowd, [2.0, 20.0], WAITS),
            meeting([2, 1], crowd, beside_second, WAITS),
            meeting([0, 2], [18.0, 20.0], [2.0, crowd[1]], [0.03, 0.1]),
            meeting([1, 2], [20.0, 18.0], [crowd[0], 2.0], [0.03, 0.1]),
        ]
    }

    #[test]
    fn a_path_moves_where_what_flows_have_changes_on_it_and_beside_it() {
        assert_eq!(which(3, &moving([18.0, 60.0], [20.0, 2.0])), Some(2));
    }

    #[test]
    fn what_stays_as_it_is_does_not_move() {
        let steady = |on| meeting(on, STEADY, STEADY, WAITS);
        let all = [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]].map(steady);
        assert_eq!(which(3, &all), None);
        assert_eq!(which(1, &[]), None);
    }

    #[test]
    fn what_varies_on_all_paths_is_not_that_they_move() {
        let stops = |on| meeting(on, [20.0, 0.0], [20.0, 0.0], WAITS);
        assert_eq!(which(2, &[stops([0, 1]), stops([1, 0])]), None);
    }

    #[test]
    fn it_moves_between_those_bottlenecks_where_others_have_more_or_less_then() {
        let nothing = |_: usize| -6.0;
        let between = |beside_second| between(2, &[0, 1, 2], nothing, &moving([18.0, 60.0], beside_second));
        assert_eq!(between([20.0, 2.0]), [1, 0]);
    }

    #[test]
    fn it_moves_between_those_bottlenecks_for_which_the_odds_are_best() {
        let steady = |on| meeting(on, STEADY, STEADY, WAITS);
        let all = [[0, 2], [2, 0], [1, 2], [2, 1]].map(steady);
        assert_eq!(between(2, &[0, 1, 2], |other| [-0.5, 1.0][other], &all), [1, 0]);
        assert_eq!(between(2, &[0, 1, 2], |other| [-6.0, 1.0][other], &all), [1, 2], "it has its own");
        assert_eq!(between(2, &[0, 0, 2], |other| [3.0, 1.0][other], &all), [0, 2], "both have one");
    }

    #[test]
    fn the_median_of_two_is_between_them() {
        let medians = [vec![], vec![3.0], vec![1.0, 2.0], vec![9.0, 1.0, 2.0]].map(median);
        assert_eq!(medians.map(|value| (10.0 * value) as u32), [0, 30, 15, 20]);
    }

    #[test]
    fn a_change_is_told_from_what_goes_up_slowly() {
        let of = |value: fn(f64) -> f64| Change::of(&(0..100).map(f64::from).map(value).collect::<Vec<_>>());
        let once = of(|n| if n < 60.0 { 1.0 } else { 3.0 });
        assert!(once.at == 60 && once.explains > 0.99 && (once.jump - 2.0).abs() < 1e-9, "{once:?}");
        assert!(of(|n| n).explains < 0.8);
        // An outlier is no level.
        assert!(of(|n| if n < 1.0 { 100.0 } else { 0.0 }).explains < 0.2);
        assert!(Change::of(&[]).explains + Change::of(&[1.0]).explains + of(|_| 1.0).explains < 1e-9);
    }
}
