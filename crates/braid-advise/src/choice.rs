//! The answer: what each candidate brings, what it takes from others, and which one it should be.

use braid_algorithms::{Algorithm, Spec};
use braid_results::Statistics;
use serde::{Deserialize, Serialize};

/// The flows of others at a bottleneck may lose this share of what CUBIC on one path of each bottleneck would leave them, or of their fair share
/// if that is less, on average...
pub const MOST_HARM: f64 = 0.1;
/// ...and none of them more than this, on average.
pub const GREAT_HARM: f64 = 0.2;
/// What is advised certainly (95 %) takes no more from those at a bottleneck than this.
pub const SURE_HARM: f64 = 0.15;
/// Candidates are as good as each other whose utility differs by less than this share.
pub const ALIKE: f64 = 0.03;

/// What the connection has with one seed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Seed {
    pub(crate) alone_bps: f64,
    pub(crate) beside_bps: f64,
}

/// What came of a candidate in one network.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Figures {
    pub(crate) seeds: Vec<Seed>,
    /// Of each other flow, seed by seed: the share that it loses.
    pub(crate) losses: Vec<Vec<f64>>,
    /// Of each bottleneck, seed by seed: the share that flows of others there lose on average.
    pub(crate) losses_at: Vec<Vec<f64>>,
    /// Whether it is what it is compared with: CUBIC, on one path of each bottleneck at most.
    pub(crate) usual: bool,
    /// Whether it has several subflows at one bottleneck, and is uncoupled, or has more packets there at least than CUBIC on one path, or a queue
    /// for each.
    pub(crate) several_shares: bool,
}

/// The upper end of the 95 % confidence interval.
pub(crate) fn most(statistics: &Statistics) -> f64 {
    statistics.mean + statistics.ci95.unwrap_or(f64::INFINITY)
}

/// The lower end of the 95 % confidence interval.
pub(crate) fn least(statistics: &Statistics) -> f64 {
    statistics.mean - statistics.ci95.unwrap_or_default()
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Row {
    /// Its congestion control, as it was asked for.
    pub spec: String,
    /// Its packet scheduler.
    pub scheduler: String,
    /// Whether it looks at its other subflows at all.
    pub is_coupled: bool,
    /// The subflows that it uses, the others being for when these fail; none: all of them.
    pub only: Vec<String>,
    /// Of each network that it may be.
    figures: Vec<Figures>,
}

impl Row {
    pub(crate) fn new(spec: &Spec, scheduler: &str, only: &[String]) -> Self {
        Self {
            spec: spec.text().to_owned(),
            scheduler: scheduler.to_owned(),
            is_coupled: spec.algorithm().flags() & Algorithm::UNCOUPLED == 0,
            only: only.to_vec(),
            figures: Vec::new(),
        }
    }

    /// Whether they are the same candidate.
    pub fn is(&self, other: &Self) -> bool {
        (&self.spec, &self.scheduler, &self.only) == (&other.spec, &other.scheduler, &other.only)
    }

    /// With how many seeds it was simulated.
    pub fn seeds(&self) -> usize {
        self.figures.first().map_or(0, |figures| figures.seeds.len())
    }

    /// Whether it may be that others keep what is theirs.
    pub fn may_be_fair(&self) -> bool {
        self.is_usual() || !self.has_several_shares() && !self.is_harmful()
    }

    pub(crate) fn add(&mut self, figures: Figures) {
        self.figures.push(figures);
    }

    /// The share that flows of others at a bottleneck lose on average, against CUBIC on one path of each bottleneck: where they lose most, and
    /// if the network may be several, in that where they do. Which of them loses more is hardly more than chance. `None` where there is no
    /// other flow.
    pub fn harm(&self) -> Option<Statistics> {
        self.losses_at().max_by(|one, other| one.mean.total_cmp(&other.mean))
    }

    /// Bottleneck by bottleneck.
    fn losses_at(&self) -> impl Iterator<Item = Statistics> {
        self.figures.iter().flat_map(|figures| &figures.losses_at).filter_map(|losses| Statistics::of(losses))
    }

    /// Flow by flow.
    fn losses(&self) -> impl Iterator<Item = Statistics> {
        self.figures.iter().flat_map(|figures| &figures.losses).filter_map(|losses| Statistics::of(losses))
    }

    /// Whether it is CUBIC on one path of each bottleneck, in all networks that it may be. That takes from others what one TCP takes.
    pub fn is_usual(&self) -> bool {
        !self.figures.is_empty() && self.figures.iter().all(|figures| figures.usual)
    }

    /// Whether it is uncoupled with several subflows at one bottleneck, in a network that it may be: it has as many shares as subflows
    /// there, though chance may make less of it in a simulation. So has a coupled one whose subflows there have two packets each, and with
    /// these more than CUBIC on one path, for no window is smaller; or where each has a queue of its own, which is served in turn (`fq_codel`).
    pub fn has_several_shares(&self) -> bool {
        self.figures.iter().any(|figures| figures.several_shares)
    }

    /// What the flow loses on average that loses most.
    pub fn mean_harm(&self) -> f64 {
        self.losses().map(|losses| losses.mean).fold(f64::NEG_INFINITY, f64::max)
    }

    /// What a flow loses at least, at 95 % confidence: that of which it is most certain that it loses.
    pub fn least_harm(&self) -> f64 {
        self.losses().map(|losses| least(&losses)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// What a flow loses at most, at 95 % confidence: that of which it is least certain that it does not.
    pub fn most_harm(&self) -> f64 {
        self.losses().map(|losses| most(&losses)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether others keep what is theirs: on average they lose no more than [`MOST_HARM`] at any bottleneck, and none of them more than
    /// [`GREAT_HARM`].
    pub fn is_fair(&self) -> bool {
        let keep_theirs = || self.harm().is_none_or(|harm| harm.mean <= MOST_HARM);
        self.is_usual() || keep_theirs() && self.mean_harm() <= GREAT_HARM
    }

    /// Whether it is certain (95 %) that others do not.
    pub fn is_harmful(&self) -> bool {
        let surely_lose = || self.harm().is_some_and(|harm| least(&harm) > MOST_HARM);
        !self.is_usual() && (surely_lose() || self.least_harm() > GREAT_HARM)
    }

    /// Whether it can be advised: it [has one share](Row::has_several_shares), others [keep what is theirs](Row::is_fair), and certainly
    /// (95 %) they lose no more than [`SURE_HARM`] at any bottleneck.
    pub fn is_advisable(&self) -> bool {
        let surely_lose_little = || self.losses_at().all(|losses| most(&losses) <= SURE_HARM);
        self.is_usual() || !self.has_several_shares() && self.is_fair() && surely_lose_little()
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
        let values: Vec<f64> = self.figures.iter().flat_map(|figures| &figures.seeds).map(value).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    /// What it brings: the geometric mean of the goodput alone and of that beside TCP, over all seeds and all networks that it may be; bits
    /// per second. Geometric, so that a tenth more counts the same on a slow path and on a fast one.
    pub fn utility(&self) -> f64 {
        let logarithms: Vec<f64> = self.utilities().map(f64::ln).collect();
        if logarithms.is_empty() {
            0.0
        } else {
            (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
        }
    }

    /// [`Row::utility`] seed by seed.
    fn utilities(&self) -> impl Iterator<Item = f64> {
        let count = self.figures.first().map_or(0, |figures| figures.seeds.len());
        (0..count).map(|seed| {
            let logarithm = |figures: &Figures| {
                let Seed { alone_bps, beside_bps } = figures.seeds[seed];
                (alone_bps.max(1.0) * beside_bps.max(1.0)).ln() / 2.0
            };
            (self.figures.iter().map(logarithm).sum::<f64>() / self.figures.len() as f64).exp()
        })
    }

    /// Whether it brings so much more than another one, on average, that they are not [`ALIKE`].
    fn is_better(&self, other: &Self) -> bool {
        (1.0 - ALIKE) * self.utility() > other.utility()
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Advice {
    /// In the order asked for: by congestion control, then by scheduler.
    pub rows: Vec<Row>,
    choice: usize,
}

impl Advice {
    pub(crate) fn of(rows: Vec<Row>) -> Self {
        // Who has fewer seeds was out of the race before.
        let seeds = rows.iter().map(Row::seeds).max().unwrap_or_default();
        let there = || (0..rows.len()).filter(|&place| rows[place].seeds() == seeds);
        let advisable = || there().filter(|&place| rows[place].is_advisable());
        let usual = best(&rows, advisable().filter(|&place| rows[place].is_usual()));
        let is_better = |&place: &usize| usual.is_none_or(|usual| rows[place].is_better(&rows[usual]));
        let choice = best(&rows, advisable().filter(is_better)).or(usual);
        // Where all do harm: who does least.
        let least =
            || there().min_by(|&one, &other| rows[one].mean_harm().total_cmp(&rows[other].mean_harm()));
        let choice = choice.or_else(least).unwrap_or_default();
        Self { rows, choice }
    }

    /// Between whom chance decides: the places of the choice and of all that may do no harm and may be so much better (95 %) that they would
    /// be chosen instead; and of the usual one, as long as the choice may do harm. None if there are no such.
    pub(crate) fn open(&self) -> Vec<usize> {
        let choice = self.choice();
        let choice_may_harm = !choice.is_usual() && choice.harm().is_some_and(|harm| most(&harm) > MOST_HARM);
        let may_be_chosen = |row: &Row| {
            let enough = match (row.is_usual(), choice.is_usual()) {
                (true, false) => -ALIKE,
                (false, true) => 1.0 / (1.0 - ALIKE) - 1.0,
                _ => 0.0,
            };
            row.may_be_fair() && most(&row.gain_over(choice)) > enough || choice_may_harm && row.is_usual()
        };
        let others = |place: usize| place != self.choice && may_be_chosen(&self.rows[place]);
        let all = (0..self.rows.len()).filter(|&place| place == self.choice || others(place));
        let open: Vec<usize> = all.collect();
        if open.len() > 1 { open } else { Vec::new() }
    }

    /// With more figures of some candidates.
    pub(crate) fn with(self, more: Vec<Row>) -> Self {
        let mut rows = self.rows;
        for more in more {
            let own = rows.iter_mut().find(|row| row.is(&more)).expect("they were candidates before");
            for (own, more) in own.figures.iter_mut().zip(more.figures) {
                own.seeds.extend(more.seeds);
                own.losses.iter_mut().zip(more.losses).for_each(|(own, more)| own.extend(more));
                own.losses_at.iter_mut().zip(more.losses_at).for_each(|(own, more)| own.extend(more));
            }
        }
        Self::of(rows)
    }

    /// The same figures, chosen from anew.
    #[must_use]
    pub fn again(self) -> Self {
        Self::of(self.rows)
    }

    /// The candidate of the greatest utility of those that are [advisable](Row::is_advisable) and better than the [usual](Row::is_usual) one
    /// by more than [`ALIKE`]. If there is none, the usual one. Where all do harm, the one that does least. Whether it is certainly better does
    /// not matter: where chance may decide, it is as likely to be the usual one that is worse.
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

/// Of the greatest utility.
fn best(rows: &[Row], places: impl Iterator<Item = usize>) -> Option<usize> {
    places.max_by(|&one, &other| rows[one].utility().total_cmp(&rows[other].utility()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(spec: &str, mbit: f64, harm: f64) -> Row {
        let mut row = Row::new(&Spec::parse(spec).unwrap(), "linux", &[]);
        let seed = |extra: f64| Seed { alone_bps: (mbit + extra) * 1e6, beside_bps: (mbit + extra) * 1e6 };
        // By chance a loss is a little more or less: ± 0.03 at 95 %.
        let losses: Vec<f64> = (0..6).map(|n| harm + if n % 2 == 0 { 0.026 } else { -0.026 }).collect();
        row.add(Figures {
            seeds: vec![seed(0.0), seed(0.1)],
            losses: vec![losses.clone()],
            losses_at: vec![losses],
            usual: false,
            several_shares: false,
        });
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
        assert_eq!(choice(&[("cubic", 30.0, 0.3), ("lia", 18.0, 0.0), ("olia", 20.0, 0.04)]), "olia");
    }

    #[test]
    fn what_flows_of_a_bottleneck_lose_on_average_decides_unless_one_of_them_loses_much() {
        let of = |flows: [f64; 2]| {
            let mut row = row("olia", 20.0, 0.0);
            row.figures[0].losses = flows.map(|loss| vec![loss; 6]).to_vec();
            row.figures[0].losses_at = vec![vec![f64::midpoint(flows[0], flows[1]); 6]];
            row.is_fair()
        };
        assert_eq!([[0.15, 0.01], [0.15, 0.09], [0.25, -0.15]].map(of), [true, false, false]);
    }

    #[test]
    fn who_is_fair_on_average_and_may_take_half_as_much_again_is_not_chosen() {
        let mut rows = vec![row("lia", 18.0, 0.0), row("olia", 20.0, 0.08)];
        assert_eq!(Advice::of(rows.clone()).choice().spec, "olia");
        rows[1].figures[0].losses_at[0] = vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.48];
        assert!(rows[1].is_fair() && !rows[1].is_advisable());
        assert_eq!(Advice::of(rows).choice().spec, "lia");
    }

    #[test]
    fn who_is_better_than_usual_on_average_is_chosen_though_it_is_not_certain() {
        let with = |worst_mbit: f64| {
            let mut usual = row("cubic", 20.0, 0.0);
            usual.figures[0].usual = true;
            let mut other = row("weave", 30.0, 0.0);
            other.figures[0].seeds[0] = Seed { alone_bps: worst_mbit * 1e6, beside_bps: worst_mbit * 1e6 };
            Advice::of(vec![usual, other]).choice().spec.clone()
        };
        assert_eq!([with(20.0), with(13.0)], ["weave", "cubic"]);
    }

    #[test]
    fn cubic_on_one_path_of_each_bottleneck_does_no_harm_whatever_chance_says() {
        let mut usual = row("cubic", 19.5, 0.2);
        usual.only = vec!["wifi".into()];
        usual.figures[0].usual = true;
        assert!(usual.is_fair() && !usual.is_harmful());
        let rows = vec![row("cubic", 30.0, 0.3), row("weave", 20.0, 0.0), usual.clone()];
        assert_eq!(Advice::of(rows).choice().only, ["wifi"], "it is within 3 % of weave");
        let rows = vec![row("cubic", 30.0, 0.3), row("weave", 21.0, 0.0), usual.clone()];
        assert_eq!(Advice::of(rows).choice().spec, "weave");
        usual.add(Figures::default());
        assert!(!usual.is_usual(), "it has to be so in each network that it may be");
    }

    #[test]
    fn who_has_several_shares_of_a_bottleneck_is_not_chosen_though_nobody_loses_in_the_simulation() {
        let mut cubic = row("cubic", 30.0, 0.0);
        cubic.figures[0].several_shares = true;
        assert!(cubic.is_fair() && !cubic.is_advisable());
        assert_eq!(Advice::of(vec![cubic, row("lia", 18.0, 0.0)]).choice().spec, "lia");
    }

    #[test]
    fn what_chance_may_decide_is_open_until_there_is_enough() {
        let rows = |harm| {
            let mut rows = vec![row("cubic", 18.0, 0.0), row("olia", 20.0, harm)];
            rows[0].figures[0].usual = true;
            rows
        };
        let of = |harm| Advice::of(rows(harm));
        assert_eq!([of(0.0).open(), of(0.08).open(), of(0.2).open()], [vec![], vec![0, 1], vec![]]);
        let mut advice = of(0.08);
        for _ in 0..3 {
            advice = advice.with(rows(0.08));
        }
        assert_eq!((advice.choice().spec.as_str(), advice.open()), ("olia", vec![]));
    }

    #[test]
    fn of_those_that_hardly_differ_the_best_is_chosen() {
        assert_eq!(choice(&[("lia", 19.8, 0.0), ("balia", 18.0, 0.0), ("olia", 20.0, 0.0)]), "olia");
    }

    #[test]
    fn where_all_do_harm_the_mildest_is_chosen() {
        assert_eq!(choice(&[("cubic", 30.0, 0.3), ("lia", 18.0, 0.2), ("olia", 20.0, 0.25)]), "lia");
    }

    #[test]
    fn of_several_networks_the_worst_harm_counts_and_all_goodputs() {
        let mut one = row("cubic", 10.0, 0.0);
        let seeds = vec![Seed { alone_bps: 40e6, beside_bps: 40e6 }; 2];
        let losses = vec![vec![0.4, 0.4]];
        one.add(Figures { seeds, losses: losses.clone(), losses_at: losses, ..Figures::default() });
        assert!(!one.is_fair());
        assert!((one.utility() / 20.05e6 - 1.0).abs() < 0.001, "{}", one.utility());
        let gain = one.gain_over(&row("lia", 10.0, 0.0));
        assert!((gain.mean - 1.0).abs() < 0.02 && gain.n == 2, "{gain:?}");
    }
}
