//! Metrics derived from rates: aggregate benefit, Jain's index, share of the expected rate.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use braid_scenario::model::{Connection, Loss, Scenario, Subflow, Traffic};
use braid_scenario::topology::{self, bottleneck};

/// Aggregate benefit of a multipath connection with goodput `goodput`, where `available[x]` is the rate available to
/// subflow x, in the same unit.
///
/// 0: as good as the best single path; 1: all available capacity; below 0: worse than the best single path. Not
/// clamped: it exceeds 1 if a competitor leaves capacity. With one subflow it is `goodput / available - 1`.
///
/// `None` if nothing is available.
pub fn aggregate_benefit(goodput: f64, available: &[f64]) -> Option<f64> {
    let best = available.iter().copied().fold(0.0, f64::max);
    benefit(goodput, best, available.iter().sum())
}

fn benefit(goodput: f64, best: f64, total: f64) -> Option<f64> {
    if best <= 0.0 {
        return None;
    }
    // With a single path the upper branch would divide by zero.
    let several = total > best * (1.0 + 1e-12);
    Some(if goodput >= best && several { (goodput - best) / (total - best) } else { (goodput - best) / best })
}

/// Jain's fairness index of `rates`: 1/n to 1; `None` if all of them are zero.
pub fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// Capacity available to a connection while it was open during the measured time, bits per second of payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Available {
    /// For each subflow, its mean over time.
    pub subflows: Vec<f64>,
    /// The best subflow at each time, mean over time.
    pub best: f64,
    /// Sum over all subflows.
    pub total: f64,
}

impl Available {
    /// [`aggregate_benefit`] of a goodput in bits per second.
    pub fn benefit(&self, goodput_bps: f64) -> Option<f64> {
        benefit(goodput_bps, self.best, self.total)
    }
}

/// The fair share of every connection: at each bottleneck all open connections get the same, and divide it evenly among
/// their subflows there. Capacity is payload after headers and loss on the wire. Only bulk transfers count. Changing
/// routes count in proportion to their time.
pub fn fair_shares(scenario: &Scenario) -> Vec<Available> {
    fair_shares_within(scenario, measured(scenario))
}

/// [`fair_shares`] in an interval `[from, to)` of the run, nanoseconds.
pub(crate) fn fair_shares_within(scenario: &Scenario, stretch: (u64, u64)) -> Vec<Available> {
    let mut open = BTreeMap::new();
    let mut bottlenecks = Vec::new();
    for connection in &scenario.connections {
        let mut own = BTreeSet::new();
        for subflow in &connection.subflows {
            let later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_ref());
            own.extend(iter::once(&subflow.route).chain(later).map(|route| bottleneck(scenario, route)));
        }
        for &link in &own {
            open.entry(link).or_insert_with(|| open_connections(scenario, link, stretch));
        }
        bottlenecks.push(own);
    }
    let fair_share = |(index, connection): (usize, &Connection)| {
        let (from, to) = open_within(connection, stretch);
        let mut share = Available { subflows: vec![0.0; connection.subflows.len()], best: 0.0, total: 0.0 };
        if from >= to || connection.traffic != Traffic::Bulk {
            return share;
        }
        let steps = bottlenecks[index].iter().flat_map(|link| &open[link]).map(|&(time, _)| time);
        for interval in intervals((from, to), steps.chain(reroutes(connection))) {
            let weight = (interval.1 - interval.0) as f64 / (to - from) as f64;
            let mut best: f64 = 0.0;
            for (subflow, mean) in connection.subflows.iter().zip(&mut share.subflows) {
                let link = bottleneck(scenario, subflow.route_at(interval.0));
                let steps = &open[&link];
                let now = steps.partition_point(|&(time, _)| time <= interval.0) - 1;
                let flows = steps[now].1 * crossings(connection, link, interval.0);
                let rate = payload_capacity(scenario, index, link) / flows as f64;
                *mean += weight * rate;
                best = best.max(rate);
            }
            share.best += weight * best;
        }
        share.total = share.subflows.iter().sum();
        share
    };
    scenario.connections.iter().enumerate().map(fair_share).collect()
}

/// The interval, cut at those times that lie within.
fn intervals((from, to): (u64, u64), times: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut times: Vec<u64> = times.filter(|time| (from..to).contains(time)).chain([from, to]).collect();
    times.sort_unstable();
    times.dedup();
    times.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Times at which data takes another route.
fn reroutes(connection: &Connection) -> impl Iterator<Item = u64> {
    let all = connection.subflows.iter().flat_map(|subflow| &subflow.reroutes);
    all.filter(|reroute| reroute.forward.is_some()).map(|reroute| reroute.at_ns)
}

/// The measured part of a run.
pub(crate) fn measured(scenario: &Scenario) -> (u64, u64) {
    (scenario.warmup_ns, scenario.duration_ns - scenario.cooldown_ns)
}

/// The part of an interval in which a connection is open: `[from, to)`, or `from >= to` if there is none.
fn open_within(connection: &Connection, (from, to): (u64, u64)) -> (u64, u64) {
    (connection.start_ns.max(from), connection.stop_ns.unwrap_or(to).min(to))
}

/// How many connections with a path over the link are open in that interval, from each time on.
fn open_connections(scenario: &Scenario, link: usize, stretch: (u64, u64)) -> Vec<(u64, usize)> {
    let mut changes = BTreeMap::new();
    for connection in scenario.connections.iter().filter(|connection| connection.traffic == Traffic::Bulk) {
        let open = open_within(connection, stretch);
        if open.0 >= open.1 {
            continue;
        }
        for (from, to) in intervals(open, reroutes(connection)) {
            if crossings(connection, link, from) > 0 {
                *changes.entry(from).or_insert(0) += 1;
                *changes.entry(to).or_insert(0) -= 1;
            }
        }
    }
    let steps = changes.into_iter().scan(0_isize, |open, (time, change)| {
        *open += change;
        Some((time, *open as usize))
    });
    steps.collect()
}

/// Number of the connection's subflows that cross the link at that time.
fn crossings(connection: &Connection, link: usize, time_ns: u64) -> usize {
    connection.subflows.iter().filter(|subflow| subflow.route_at(time_ns).contains(&link)).count()
}

/// Whether the subflow crosses the link in that interval; `None`: in a part of it only.
pub(crate) fn crosses(subflow: &Subflow, link: usize, (from, to): (u64, u64)) -> Option<bool> {
    let first = subflow.route_at(from).contains(&link);
    let later = subflow.reroutes.iter().map(|reroute| reroute.at_ns).filter(|time| (from..to).contains(time));
    let mut later = later.map(|time| subflow.route_at(time).contains(&link));
    later.all(|now| now == first).then_some(first)
}

/// Capacity of each subflow's bottleneck without competitors, bits per second of payload.
pub fn path_capacity(scenario: &Scenario, connection: usize) -> Available {
    let subflows: Vec<f64> = topology::paths(scenario)[connection]
        .iter()
        .map(|path| payload_capacity(scenario, connection, path.bottleneck))
        .collect();
    let best = subflows.iter().copied().fold(0.0, f64::max);
    let total = subflows.iter().sum();
    Available { subflows, best, total }
}

/// Payload bits per second of a link filled by a connection's packets.
fn payload_capacity(scenario: &Scenario, connection: usize, link: usize) -> f64 {
    let connection = &scenario.connections[connection];
    let link = &scenario.links[link].forward;
    let survive = match link.loss {
        Loss::None => 1.0,
        Loss::Bernoulli(p) => 1.0 - p,
        Loss::Periodic(n) => 1.0 - 1.0 / f64::from(n),
        Loss::GilbertElliott(chain) => 1.0 - chain.mean(),
    };
    link.rate_bps as f64 * survive * payload_fraction(connection.mss, connection.data_header)
}

/// Payload per byte on the wire.
pub(crate) fn payload_fraction(mss: u32, data_header: u32) -> f64 {
    f64::from(mss) / f64::from(mss + data_header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
    }

    #[test]
    fn aggregate_benefit_agrees_with_published_values() {
        close(aggregate_benefit(7.1, &[5.0, 5.0]).unwrap(), 0.42, 1e-12);
        close(aggregate_benefit(3.9, &[5.0, 5.0]).unwrap(), -0.22, 1e-12);
    }

    #[test]
    fn aggregate_benefit_is_zero_on_the_best_path_and_one_on_all() {
        close(aggregate_benefit(10.0, &[10.0, 5.0]).unwrap(), 0.0, 0.0);
        close(aggregate_benefit(15.0, &[10.0, 5.0]).unwrap(), 1.0, 0.0);
        close(aggregate_benefit(16.0, &[10.0, 5.0]).unwrap(), 1.2, 1e-12);
    }

    #[test]
    fn one_subflow_has_a_benefit_relative_to_its_path() {
        close(aggregate_benefit(6.0, &[5.0]).unwrap(), 0.2, 1e-12);
        close(aggregate_benefit(6.0, &[5.0, 0.0]).unwrap(), 0.2, 1e-12);
        close(aggregate_benefit(4.0, &[5.0]).unwrap(), -0.2, 1e-12);
    }

    #[test]
    fn nothing_available_means_no_benefit_at_all() {
        assert_eq!(aggregate_benefit(1.0, &[]), None);
        assert_eq!(aggregate_benefit(1.0, &[0.0, 0.0]), None);
    }

    #[test]
    fn jain_agrees_with_published_values() {
        close(jain(&[3.55, 4.73]).unwrap(), 0.980, 5e-4);
        close(jain(&[1.0, 0.0, 0.0, 0.0]).unwrap(), 0.25, 0.0);
    }

    #[test]
    fn nothing_has_no_fairness() {
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    proptest! {
        #[test]
        fn jain_is_between_one_nth_and_one(rates in prop::collection::vec(1.0_f64..1e9, 1..20)) {
            let index = jain(&rates).unwrap();
            prop_assert!(index >= 1.0 / rates.len() as f64 - 1e-9 && index <= 1.0 + 1e-9);
        }
    }
}
