//! The rule: which candidate is advised.

use std::collections::BTreeMap;

use braid_results::{Run, Statistics};

use super::network::Competitor;

/// Largest mean loss of the competitors at a bottleneck, as a share of their goodput beside the baseline.
pub(super) const MOST_LOSS: f64 = 0.1;
/// Smallest gain over the baseline that is worth a change, as a share.
pub(super) const LEAST_GAIN: f64 = 0.03;

/// Goodputs of one algorithm, bits per second, seed by seed, averaged over the orders of connections.
pub(super) struct Goodputs {
    pub(super) alone: Vec<f64>,
    pub(super) beside: Vec<f64>,
    /// Of each competitor.
    pub(super) competitors: Vec<Vec<f64>>,
}

impl Goodputs {
    /// `groups` has the runs of one cell each, seed by seed; the first `alone` are without further competitors.
    pub(super) fn of(groups: &[&[Run]], alone: usize, connection: &str, competitors: &[Competitor]) -> Self {
        let (without, with) = groups.split_at(alone);
        Self {
            alone: goodputs(without, connection),
            beside: goodputs(with, connection),
            competitors: competitors.iter().map(|one| goodputs(with, &one.name)).collect(),
        }
    }

    /// Seed by seed: the geometric mean of the goodputs alone and beside competitors.
    fn means(&self) -> impl Iterator<Item = f64> {
        self.alone.iter().zip(&self.beside).map(|(alone, beside)| (alone * beside).sqrt())
    }
}

fn goodputs(groups: &[&[Run]], name: &str) -> Vec<f64> {
    let of = |run: &Run| run.connections.iter().find(|one| one.id == name).map_or(0.0, |one| one.goodput_bps);
    let seeds = groups.first().map_or(0, |runs| runs.len());
    let mean = |seed: usize| groups.iter().map(|runs| of(&runs[seed])).sum::<f64>() / groups.len() as f64;
    (0..seeds).map(mean).collect()
}

/// A candidate compared with the baseline.
pub(super) struct Row {
    /// Its congestion control.
    pub(super) spec: String,
    pub(super) alone: Statistics,
    pub(super) beside: Statistics,
    /// Gain over the baseline, as a share.
    pub(super) gain: Statistics,
    /// Mean loss of the competitors at the bottleneck where it is largest; `None` without competitors.
    pub(super) loss: Option<Statistics>,
}

impl Row {
    pub(super) fn of(spec: &str, own: &Goodputs, baseline: &Goodputs, competitors: &[Competitor]) -> Self {
        let gains: Vec<f64> =
            own.means().zip(baseline.means()).map(|(own, base)| own / base.max(1.0) - 1.0).collect();
        let mut at_bottlenecks: BTreeMap<usize, Vec<Vec<f64>>> = BTreeMap::new();
        for (place, competitor) in competitors.iter().enumerate() {
            let losses =
                losses(&baseline.competitors[place], &own.competitors[place], competitor.fair_share_bps);
            at_bottlenecks.entry(competitor.bottleneck).or_default().push(losses);
        }
        let of_bottleneck = |flows: &Vec<Vec<f64>>| {
            let mean =
                |seed: usize| flows.iter().map(|losses| losses[seed]).sum::<f64>() / flows.len() as f64;
            statistics(&(0..gains.len()).map(mean).collect::<Vec<_>>())
        };
        Self {
            spec: spec.to_owned(),
            alone: statistics(&own.alone),
            beside: statistics(&own.beside),
            loss: at_bottlenecks
                .values()
                .map(of_bottleneck)
                .max_by(|one, other| one.mean.total_cmp(&other.mean)),
            gain: statistics(&gains),
        }
    }

    pub(super) fn is_fair(&self) -> bool {
        self.loss.as_ref().is_none_or(|loss| loss.mean <= MOST_LOSS)
    }

    /// Whether the gain is large enough, and more than chance: its 95 % interval is above zero.
    pub(super) fn is_worth_a_change(&self) -> bool {
        self.gain.mean >= LEAST_GAIN.max(self.gain.ci95.unwrap_or(0.0))
    }

    /// Whether both hold over all of the 95 % intervals.
    pub(super) fn is_certain(&self) -> bool {
        let half = |of: &Statistics| of.ci95.unwrap_or(f64::INFINITY);
        let is_fair = self.loss.as_ref().is_none_or(|loss| loss.mean + half(loss) <= MOST_LOSS);
        is_fair && self.gain.mean - half(&self.gain) >= LEAST_GAIN
    }
}

/// The candidate of the greatest gain of those that are fair, if it is worth a change.
pub(super) fn choose(candidates: &[Row]) -> Option<&Row> {
    best(candidates.iter().filter(|row| row.is_fair() && row.is_worth_a_change()))
}

pub(super) fn best<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    rows.max_by(|one, other| one.gain.mean.total_cmp(&other.gain.mean))
}

/// Loss of a competitor for each seed, as a share of its goodput beside the baseline or of its fair share, whichever is less. What it
/// gets above its fair share does not count as lost; means over the seeds decide how much that is.
fn losses(baseline: &[f64], own: &[f64], fair_share: f64) -> Vec<f64> {
    let (base, now) = (statistics(baseline).mean, statistics(own).mean);
    let above = (base - now).min(base - fair_share).max(0.0);
    let due = base.min(fair_share).max(1.0);
    baseline.iter().zip(own).map(|(base, now)| (base - now - above) / due).collect()
}

fn statistics(values: &[f64]) -> Statistics {
    Statistics::of(values).expect("one finite value for each seed")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAIR: f64 = 10.0;

    fn goodputs(mbit: f64, competitor: f64) -> Goodputs {
        Goodputs { alone: vec![mbit; 3], beside: vec![mbit; 3], competitors: vec![vec![competitor; 3]] }
    }

    /// Rows of these goodputs, and of a competitor; the baseline gets 20 and leaves `base`.
    fn rows(base: f64, candidates: &[(&str, f64, f64)]) -> Vec<Row> {
        let competitors = [Competitor { name: "tcp0".into(), bottleneck: 0, fair_share_bps: FAIR }];
        let row = |&(spec, mbit, left): &(&str, f64, f64)| {
            Row::of(spec, &goodputs(mbit, left), &goodputs(20.0, base), &competitors)
        };
        candidates.iter().map(row).collect()
    }

    fn choice(base: f64, candidates: &[(&str, f64, f64)]) -> Option<String> {
        choose(&rows(base, candidates)).map(|row| row.spec.clone())
    }

    #[test]
    fn of_the_fair_ones_the_best_is_chosen_if_it_is_worth_a_change() {
        let of = |lia, olia| choice(10.0, &[("bbr", 40.0, 5.0), ("lia", lia, 9.5), ("olia", olia, 10.0)]);
        assert_eq!(of(24.0, 22.0).as_deref(), Some("lia"));
        assert_eq!(of(20.5, 20.0), None, "2.5 % more");
        assert_eq!(of(20.7, 20.0).as_deref(), Some("lia"), "3.5 % more");
    }

    #[test]
    fn an_interval_that_includes_too_little_gain_is_not_certain() {
        let with = |worst: f64| {
            let own = Goodputs { alone: vec![30.0, 30.0, worst], ..goodputs(30.0, 10.0) };
            let row = Row::of("lia", &own, &goodputs(20.0, 10.0), &[]);
            (row.is_worth_a_change(), row.is_certain())
        };
        assert_eq!([with(29.0), with(20.2), with(15.0)], [(true, true), (true, false), (false, false)]);
    }

    #[test]
    fn a_competitor_may_lose_a_tenth() {
        assert_eq!(choice(10.0, &[("bbr", 40.0, 9.1)]).as_deref(), Some("bbr"));
        assert_eq!(choice(10.0, &[("bbr", 40.0, 8.9)]), None);
    }

    #[test]
    fn what_a_competitor_gets_above_its_fair_share_is_not_its_own_to_lose() {
        let loss = |base: f64, left: f64| {
            let row = rows(base, &[("lia", 20.0, left)]).remove(0);
            (100.0 * row.loss.unwrap().mean).round() as i32
        };
        assert_eq!([loss(15.0, 12.0), loss(15.0, 10.0), loss(15.0, 7.5)], [0, 0, 25]);
        assert_eq!([loss(8.0, 6.0), loss(8.0, 10.0), loss(15.0, 16.0)], [25, -25, -10]);
    }

    #[test]
    fn the_bottleneck_counts_where_competitors_lose_most() {
        let at = |bottleneck| Competitor { name: String::new(), bottleneck, fair_share_bps: FAIR };
        let of = |left: [f64; 3]| Goodputs {
            competitors: left.map(|mbit| vec![mbit; 3]).to_vec(),
            ..goodputs(20.0, 0.0)
        };
        let row = Row::of("lia", &of([5.0, 10.0, 6.0]), &of([10.0; 3]), &[at(0), at(0), at(1)]);
        assert!((row.loss.unwrap().mean - 0.4).abs() < 1e-12, "a quarter of two at one, 0.4 at the other");
    }

    #[test]
    fn goodputs_count_alike_alone_and_beside_competitors() {
        let own = Goodputs { alone: vec![40.0; 3], beside: vec![10.0; 3], competitors: vec![] };
        let row = Row::of("lia", &own, &goodputs(20.0, 10.0), &[]);
        assert!(row.gain.mean.abs() < 1e-12 && row.loss.is_none());
    }
}
