//! What others lose by a candidate, against CUBIC on one path of each bottleneck.

use std::collections::BTreeMap;

use braid_results::Run;

/// A flow of somebody else in one network.
pub(crate) struct Flow {
    pub(crate) name: String,
    /// The name of the link.
    pub(crate) bottleneck: String,
    /// What is its own there, bits per second.
    pub(crate) fair_bps: f64,
}

/// What flows of others lose, seed by seed.
pub(crate) struct Losses {
    /// Each flow, on average over the seeds nothing where it has its fair share.
    pub(crate) of_flows: Vec<Vec<f64>>,
    /// On average those at a bottleneck; nothing where none is there.
    pub(crate) of_bottlenecks: Vec<Vec<f64>>,
}

/// Those of a network that may be any of several.
pub(crate) struct OtherFlows<'a> {
    /// All that are in any of these, in the order of the first that has them.
    flows: Vec<&'a Flow>,
    /// Of each its fair share, seed by seed, where it is there.
    fair: Vec<Vec<Option<f64>>>,
}

impl<'a> OtherFlows<'a> {
    /// The flows of each network that it may be, and of that which it is with each seed.
    pub(crate) fn of(may_be: &'a [Vec<Flow>], with_seed: &[&Vec<Flow>]) -> Self {
        let mut flows: Vec<&Flow> = Vec::new();
        for flow in may_be.iter().flatten() {
            if flows.iter().all(|other| other.name != flow.name) {
                flows.push(flow);
            }
        }
        let fair_bps = |flow: &Flow, there: &Vec<Flow>| {
            there.iter().find(|other| other.name == flow.name).map(|there| there.fair_bps)
        };
        let of_flow = |flow: &&Flow| with_seed.iter().map(|there| fair_bps(flow, there)).collect();
        let fair = flows.iter().map(of_flow).collect();
        Self { flows, fair }
    }

    /// What they lose by a candidate, against that CUBIC. Both have the same seeds.
    pub(crate) fn lose(&self, beside: &[Run], usual: &[Run]) -> Losses {
        let of_flow = |(flow, fair): (&&Flow, &Vec<Option<f64>>)| {
            let had = |runs: &[Run]| runs.iter().map(|run| goodput_bps(run, &flow.name)).collect::<Vec<_>>();
            loses(&had(usual), &had(beside), fair)
        };
        let all: Vec<Vec<Option<f64>>> = self.flows.iter().zip(&self.fair).map(of_flow).collect();
        let together = |of: &[usize]| {
            let at = |seed: usize| mean(&of.iter().map(|&flow| all[flow][seed]).collect::<Vec<_>>());
            within_orders((0..beside.len()).map(at).collect())
        };
        let mut bottlenecks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, flow) in self.flows.iter().enumerate() {
            bottlenecks.entry(&flow.bottleneck).or_default().push(place);
        }
        Losses {
            of_flows: (0..self.flows.len()).map(|flow| together(&[flow])).collect(),
            of_bottlenecks: bottlenecks.values().map(|flows| together(flows)).collect(),
        }
    }
}

pub(crate) fn goodput_bps(run: &Run, name: &str) -> Option<f64> {
    run.connections.iter().find(|one| one.id == name).map(|one| one.goodput_bps)
}

/// What a flow loses that `kept` so much with CUBIC on one path of each bottleneck, as a share, seed by seed; `None` where it is not there. It
/// may have kept more than is `fair`, as who is there before others often does: that is not its own to lose.
fn loses(kept: &[Option<f64>], has: &[Option<f64>], fair: &[Option<f64>]) -> Vec<Option<f64>> {
    let less = |(kept, has): (&Option<f64>, &Option<f64>)| Some((*kept)? - (*has)?);
    let less: Vec<Option<f64>> = kept.iter().zip(has).map(less).collect();
    let (mean_kept, mean_fair) = (mean(kept), mean(fair));
    let not_its_own = mean(&less).min(mean_kept - mean_fair).max(0.0);
    let own = mean_kept.min(mean_fair).max(1.0);
    less.into_iter().map(|less| Some((less? - not_its_own) / own)).collect()
}

/// Of those that are there.
fn mean(values: &[Option<f64>]) -> f64 {
    let there: Vec<f64> = values.iter().copied().flatten().collect();
    there.iter().sum::<f64>() / there.len().max(1) as f64
}

/// How many of so many seeds go first, with flows in the order listed; the others have them in the reverse order.
fn as_listed(count: usize) -> usize {
    count.div_ceil(2)
}

/// The same mean, and the scatter that there is within each order: what the order does is no chance.
fn within_orders(mut losses: Vec<f64>) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let count = losses.len() as f64;
    if losses.len() < 4 {
        return losses;
    }
    let all = mean(&losses);
    let (one, other) = losses.split_at_mut(as_listed(count as usize));
    // Two means were taken from them, and who reads them expects one.
    let wider = ((count - 1.0) / (count - 2.0)).sqrt();
    for half in [one, other] {
        let own = mean(half);
        for loss in half.iter_mut() {
            *loss = all + (*loss - own) * wider;
        }
    }
    losses
}

#[cfg(test)]
mod tests {
    use braid_results::Statistics;

    use super::*;

    #[test]
    fn what_the_order_of_flows_does_is_in_the_mean_of_a_loss_and_not_in_its_scatter() {
        let losses = within_orders(vec![0.29, 0.3, 0.31, -0.11, -0.1, -0.09]);
        let statistics = Statistics::of(&losses).unwrap();
        assert!((statistics.mean - 0.1).abs() < 1e-9);
        // Squares of 0.01 four times, and two means for six values.
        assert!((statistics.sd.unwrap() - (4e-4_f64 / 4.0).sqrt()).abs() < 1e-9, "{statistics:?}");
    }

    #[test]
    fn what_a_flow_has_above_its_fair_share_is_not_its_own_to_lose() {
        let loses = |kept: f64, has: f64| {
            let each = |value: f64| [value - 1.0, value + 1.0].map(Some);
            let losses = loses(&each(kept), &each(has), &[Some(60.0); 2]);
            (losses[0].unwrap() * 100.0).round() as i32
        };
        // Of a fair share of 60.
        assert_eq!([loses(90.0, 70.0), loses(90.0, 60.0), loses(90.0, 45.0)], [0, 0, 25]);
        assert_eq!([loses(40.0, 30.0), loses(40.0, 50.0), loses(90.0, 96.0)], [25, -25, -10]);
        let there_once = super::loses(&[None, Some(40.0)], &[None, Some(30.0)], &[None, Some(60.0)]);
        assert_eq!(there_once, [None, Some(0.25)]);
    }
}
