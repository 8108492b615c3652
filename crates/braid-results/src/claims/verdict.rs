//! Rules for verdicts from repetitions.
//!
//! Every comparison is one or more margins: a value per repetition that is above zero where the comparison is true,
//! such as a - b for "a > b", or 1.15 b - a for "at most 1.15 times b". A margin holds if the 95 % confidence interval
//! of its mean (Student's t over the repetitions) lies above zero, fails if it lies below, and is undecided if it
//! straddles zero. Both sides of a margin come from the repetition with the same seed, so common effects do not widen
//! the interval.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::Statistics;

/// Verdict of the repetitions on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// True, beyond chance.
    Holds,
    /// False, beyond chance.
    Fails,
    /// The confidence interval straddles the boundary, or there is only one repetition.
    Undecided,
    /// No measurement could decide it.
    NotCheckable,
}

impl Verdict {
    /// All, in the order of [`Counts`](super::Counts).
    pub const ALL: [Self; 4] = [Self::Holds, Self::Fails, Self::Undecided, Self::NotCheckable];

    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::NotCheckable => "not checkable",
        }
    }

    /// Verdict on the conjunction: one failed part is enough to fail.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = None;
        for verdict in verdicts {
            all = Some(match (all, verdict) {
                (Some(Self::Fails), _) | (_, Self::Fails) => Self::Fails,
                (Some(Self::NotCheckable), _) | (_, Self::NotCheckable) => Self::NotCheckable,
                (Some(Self::Undecided), _) | (_, Self::Undecided) => Self::Undecided,
                _ => Self::Holds,
            });
        }
        all.unwrap_or(Self::NotCheckable)
    }
}

/// Whether equality is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Above zero.
    Strict,
    /// Not below zero.
    Inclusive,
}

/// Verdict from the margins of all repetitions.
pub(super) fn margin(values: &[f64], bound: Bound) -> Verdict {
    let Some(statistics) = Statistics::of(values) else { return Verdict::NotCheckable };
    let Some(half) = statistics.ci95 else { return Verdict::Undecided };
    let (low, high) = (statistics.mean - half, statistics.mean + half);
    if low > 0.0 || (bound == Bound::Inclusive && low >= 0.0) {
        Verdict::Holds
    } else if high < 0.0 || (bound == Bound::Strict && high <= 0.0) {
        Verdict::Fails
    } else {
        Verdict::Undecided
    }
}

/// The place of `a` among itself and `others`, 1 being the largest: it is `place` if `place - 1` others are above it.
pub(super) fn rank(a: &[f64], others: &[Vec<f64>], place: usize) -> Verdict {
    let against: Vec<Verdict> =
        others.iter().map(|other| margin(&combine(other, a, |other, a| other - a), Bound::Strict)).collect();
    let count = |verdict| against.iter().filter(|&&found| found == verdict).count();
    if count(Verdict::NotCheckable) > 0 || others.is_empty() {
        return Verdict::NotCheckable;
    }
    let (best, worst) = (1 + count(Verdict::Holds), others.len() + 1 - count(Verdict::Fails));
    if !(best..=worst).contains(&place) {
        Verdict::Fails
    } else if best == worst {
        Verdict::Holds
    } else {
        Verdict::Undecided
    }
}

/// Whether groups of repetitions spread more than others: the 95 % confidence interval of the ratio of the pooled
/// variances, by the F distribution.
pub(super) fn spreads_more(a: &[Vec<f64>], b: &[Vec<f64>]) -> Verdict {
    let (Some((variance_a, degrees_a)), Some((variance_b, degrees_b))) = (pooled(a), pooled(b)) else {
        return Verdict::NotCheckable;
    };
    if variance_b == 0.0 || variance_a == 0.0 {
        return if variance_a > variance_b { Verdict::Holds } else { Verdict::Fails };
    }
    let ratio = variance_a / variance_b;
    let f = FisherSnedecor::new(degrees_a, degrees_b).expect("both have degrees of freedom");
    if ratio / f.inverse_cdf(0.975) > 1.0 {
        Verdict::Holds
    } else if ratio / f.inverse_cdf(0.025) < 1.0 {
        Verdict::Fails
    } else {
        Verdict::Undecided
    }
}

/// Variance within the groups and its degrees of freedom; `None` if a group has fewer than two values.
fn pooled(groups: &[Vec<f64>]) -> Option<(f64, f64)> {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for group in groups {
        let free = group.len() as f64 - 1.0;
        squares += Statistics::of(group)?.sd?.powi(2) * free;
        degrees += free;
    }
    (degrees > 0.0).then(|| (squares / degrees, degrees))
}

/// Repetition by repetition.
pub(super) fn combine(a: &[f64], b: &[f64], with: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(&a, &b)| with(a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Fails, Holds, NotCheckable, Undecided};

    #[test]
    fn a_margin_holds_or_fails_only_if_its_interval_lies_on_one_side_of_zero() {
        // Mean 1, standard deviation 1, five values: the half width is 2.776 / sqrt(5) = 1.24.
        let wide = [-0.414_213_562, 1.0, 1.0, 1.0, 2.414_213_562];
        assert_eq!(margin(&wide, Bound::Strict), Undecided);
        let shifted = |by: f64| wide.map(|value| value + by);
        assert_eq!(margin(&shifted(0.24), Bound::Strict), Undecided);
        assert_eq!(margin(&shifted(0.25), Bound::Strict), Holds);
        assert_eq!(margin(&shifted(-2.24), Bound::Strict), Undecided);
        assert_eq!(margin(&shifted(-2.25), Bound::Strict), Fails);
    }

    #[test]
    fn equality_is_enough_for_an_inclusive_bound_only() {
        assert_eq!(margin(&[0.0, 0.0], Bound::Inclusive), Holds);
        assert_eq!(margin(&[0.0, 0.0], Bound::Strict), Fails);
        assert_eq!(margin(&[0.5, 0.5], Bound::Strict), Holds);
    }

    #[test]
    fn one_repetition_decides_nothing_and_none_cannot_be_checked() {
        assert_eq!(margin(&[5.0], Bound::Strict), Undecided);
        assert_eq!(margin(&[], Bound::Strict), NotCheckable);
        assert_eq!(margin(&[1.0, f64::NAN], Bound::Strict), NotCheckable);
    }

    #[test]
    fn a_claim_about_many_cells_is_as_good_as_its_worst() {
        assert_eq!(Verdict::all([Holds, Holds]), Holds);
        assert_eq!(Verdict::all([Holds, Undecided, Holds]), Undecided);
        assert_eq!(Verdict::all([Undecided, Holds, NotCheckable]), NotCheckable);
        assert_eq!(Verdict::all([NotCheckable, Fails, Holds]), Fails);
        assert_eq!(Verdict::all([]), NotCheckable);
    }

    #[test]
    fn a_rank_is_certain_only_if_every_neighbour_is_on_a_certain_side() {
        let at = |mean: f64| vec![mean - 0.1, mean, mean + 0.1, mean];
        let unclear = vec![1.0, 3.0, 2.1, 1.9];
        assert_eq!(rank(&at(2.0), &[at(3.0), at(1.0)], 2), Holds);
        assert_eq!(rank(&at(2.0), &[at(3.0), at(1.0)], 1), Fails);
        assert_eq!(rank(&at(2.0), &[at(3.0), at(1.0)], 3), Fails);
        assert_eq!(rank(&at(2.0), &[at(3.0), unclear.clone()], 2), Undecided);
        assert_eq!(rank(&at(2.0), &[at(3.0), unclear.clone()], 3), Undecided);
        // Third is still possible, first is not.
        assert_eq!(rank(&at(2.0), &[at(3.0), unclear], 1), Fails);
        assert_eq!(rank(&at(2.0), &[], 1), NotCheckable);
    }

    #[test]
    fn a_spread_is_larger_only_beyond_what_chance_explains() {
        let group = |spread: f64| vec![-spread, -spread / 2.0, 0.0, spread / 2.0, spread];
        // F(4, 4) has its 97.5 % quantile at 9.60, that is a ratio of 3.1 between standard deviations.
        assert_eq!(spreads_more(&[group(3.2)], &[group(1.0)]), Holds);
        assert_eq!(spreads_more(&[group(3.0)], &[group(1.0)]), Undecided);
        assert_eq!(spreads_more(&[group(1.0)], &[group(3.2)]), Fails);
        assert_eq!(spreads_more(&[vec![1.0]], &[group(1.0)]), NotCheckable);
        // The mean of a group has no effect.
        let moved = |by: f64| group(1.0).iter().map(|value| value + by).collect();
        assert_eq!(spreads_more(&[group(1.0), moved(50.0)], &[group(1.0)]), Undecided);
    }

    #[test]
    fn no_spread_at_all_is_certain() {
        assert_eq!(spreads_more(&[vec![1.0, 2.0]], &[vec![3.0, 3.0]]), Holds);
        assert_eq!(spreads_more(&[vec![3.0, 3.0]], &[vec![1.0, 2.0]]), Fails);
    }
}
