//! The answer: what each candidate brings, what it takes from others, and which one it should be.

use braid_algorithms::{Algorithm, Spec};
use braid_results::Statistics;

/// Other flows may lose this share of what one TCP in our place would leave them.
pub const MOST_HARM: f64 = 0.1;
/// Candidates are as good as each other whose utility differs by less than this share.
pub const ALIKE: f64 = 0.02;

/// What the connection has with one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seed {
    pub(crate) alone_bps: f64,
    pub(crate) beside_bps: f64,
}

/// The lower end of the 95 % confidence interval.
pub(crate) fn least(statistics: &Statistics) -> f64 {
    statistics.mean - statistics.ci95.unwrap_or_default()
}

/// A candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its congestion control, as it was asked for.
    pub spec: String,
    /// Its packet scheduler.
    pub scheduler: String,
    /// Whether it looks at its other subflows at all.
    pub is_coupled: bool,
    /// The share that a flow beside it loses, against one CUBIC TCP at each bottleneck in its place: of the flow and, if the
    /// network may be several, of the network where it most certainly loses most. `None` where there is no other flow.
    pub harm: Option<Statistics>,
    /// Of each network, seed by seed.
    seeds: Vec<Vec<Seed>>,
}

impl Row {
    pub(crate) fn new(spec: &Spec, scheduler: &str) -> Self {
        Self {
            spec: spec.text().to_owned(),
            scheduler: scheduler.to_owned(),
            is_coupled: spec.algorithm().flags() & Algorithm::UNCOUPLED == 0,
            harm: None,
            seeds: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, seeds: Vec<Seed>, harm: Option<Statistics>) {
        self.seeds.push(seeds);
        self.harm =
            self.harm.into_iter().chain(harm).max_by(|one, other| least(one).total_cmp(&least(other)));
    }

    /// What others lose at least, at 95 % confidence.
    pub fn least_harm(&self) -> f64 {
        self.harm.as_ref().map_or(0.0, least)
    }

    /// Goodput where it meets nobody but who is in the network's file, bits per second.
    pub fn alone_bps(&self) -> f64 {
        self.mean(|seed| seed.alone_bps)
    }

    /// Goodput beside a TCP flow at each bottleneck, bits per second.
    pub fn beside_bps(&self) -> f64 {
        self.mean(|seed| seed.beside_bps)
    }

    fn mean(&self, value: impl Fn(&Seed) -> f64) -> f64 {
        let values: Vec<f64> = self.seeds.iter().flatten().map(value).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    /// What it brings: the geometric mean of the goodput alone and of that beside TCP, over all networks that it may be; bits per
    /// second. Geometric, so that a tenth more counts the same on a slow path and on a fast one.
    pub fn utility(&self) -> f64 {
        let of_seeds: Vec<f64> = self.utilities().collect();
        of_seeds.iter().sum::<f64>() / of_seeds.len().max(1) as f64
    }

    /// [`Row::utility`] seed by seed.
    fn utilities(&self) -> impl Iterator<Item = f64> {
        let count = self.seeds.first().map_or(0, Vec::len);
        (0..count).map(|seed| {
            let logarithm = |seeds: &Vec<Seed>| {
                (seeds[seed].alone_bps.max(1.0) * seeds[seed].beside_bps.max(1.0)).ln() / 2.0
            };
            (self.seeds.iter().map(logarithm).sum::<f64>() / self.seeds.len() as f64).exp()
        })
    }

    /// Whether others keep what is theirs, for all that the runs show: two TCP flows that are equals differ much, too.
    pub fn is_fair(&self) -> bool {
        self.least_harm() <= MOST_HARM
    }

    /// How much more it brings than another, seed by seed: 0.1 is a tenth more.
    ///
    /// # Panics
    /// If it was simulated with no seed.
    pub fn gain_over(&self, other: &Self) -> Statistics {
        let ratios: Vec<f64> =
            self.utilities().zip(other.utilities()).map(|(one, other)| one / other - 1.0).collect();
        Statistics::of(&ratios).expect("at least one seed")
    }
}

/// The candidates, and which one it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// In the order asked for: by congestion control, then by scheduler.
    pub rows: Vec<Row>,
    choice: usize,
}

impl Advice {
    pub(crate) fn of(rows: Vec<Row>) -> Self {
        let best = |places: &[usize]| places.iter().map(|&place| rows[place].utility()).fold(0.0, f64::max);
        let fair: Vec<usize> = (0..rows.len()).filter(|&place| rows[place].is_fair()).collect();
        let most = best(&fair);
        let first = fair.iter().copied().find(|&place| rows[place].utility() >= (1.0 - ALIKE) * most);
        // Where all do harm: who does least.
        let least = || {
            (0..rows.len()).min_by(|&one, &other| rows[one].least_harm().total_cmp(&rows[other].least_harm()))
        };
        let choice = first.or_else(least).unwrap_or_default();
        Self { rows, choice }
    }

    /// The candidate of the greatest utility among those that do no harm; of several that are [`ALIKE`] the first. Where all do
    /// harm, the one that does least.
    pub fn choice(&self) -> &Row {
        &self.rows[self.choice]
    }

    /// The coupled candidate that brings most without harm, if there is any; what coupling would bring or cost is to be seen from
    /// it.
    pub fn best_coupled(&self) -> Option<&Row> {
        let fair = self.rows.iter().filter(|row| row.is_coupled && row.is_fair());
        fair.max_by(|one, other| one.utility().total_cmp(&other.utility()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(spec: &str, mbit: f64, harm: f64) -> Row {
        let mut row = Row::new(&Spec::parse(spec).unwrap(), "linux");
        let seed = |extra: f64| Seed { alone_bps: (mbit + extra) * 1e6, beside_bps: (mbit + extra) * 1e6 };
        row.add(vec![seed(0.0), seed(0.1)], Statistics::of(&[harm, harm]));
        row
    }

    fn choice(rows: &[(&str, f64, f64)]) -> String {
        Advice::of(rows.iter().map(|&(spec, mbit, harm)| row(spec, mbit, harm)).collect())
            .choice()
            .spec
            .clone()
    }

    #[test]
    fn who_brings_most_without_harm_is_chosen() {
        assert_eq!(choice(&[("cubic", 30.0, 0.3), ("lia", 18.0, 0.0), ("olia", 20.0, 0.05)]), "olia");
    }

    #[test]
    fn of_those_that_hardly_differ_the_first_is_chosen() {
        assert_eq!(choice(&[("cubic", 19.8, 0.0), ("lia", 18.0, 0.0), ("olia", 20.0, 0.0)]), "cubic");
    }

    #[test]
    fn where_all_do_harm_the_mildest_is_chosen() {
        assert_eq!(choice(&[("cubic", 30.0, 0.3), ("lia", 18.0, 0.2), ("olia", 20.0, 0.25)]), "lia");
    }

    #[test]
    fn of_several_networks_the_worst_harm_counts_and_all_goodputs() {
        let mut one = row("cubic", 10.0, 0.0);
        one.add(vec![Seed { alone_bps: 40e6, beside_bps: 40e6 }; 2], Statistics::of(&[0.4, 0.4]));
        assert!(!one.is_fair());
        assert!((one.utility() / 20.05e6 - 1.0).abs() < 0.001, "{}", one.utility());
        let gain = one.gain_over(&row("lia", 10.0, 0.0));
        assert!((gain.mean - 1.0).abs() < 0.02 && gain.n == 2, "{gain:?}");
    }
}
