//! What plots show: statistics over seeds against a parameter, and rates and delays of one run.

use std::str::FromStr as _;

use braid_scenario::units::{Duration, Packets, Probability, Rate, Size};
use indexmap::{IndexMap, IndexSet};

use crate::catalogue::{Connection, Figure, Key, Metrics};
use crate::measure::SubflowSample;
use crate::statistics::nearest_rank;
use crate::{Statistics, Summary};

const SECOND_NS: u64 = 1_000_000_000;

/// Runs that differ only in their seed, at one value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value in base units; its place among the values if one of them is not a number.
    pub x: f64,
    /// The value as written.
    pub text: String,
    /// Over the seeds.
    pub statistics: Statistics,
}

/// A figure against a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Of the parameter; empty if it has none.
    pub unit: &'static str,
    /// The figure.
    pub figure: &'static Figure,
    /// By what tells each line from the others, in ascending order of the parameter.
    pub lines: IndexMap<String, Vec<Point>>,
}

/// What tells each summary from the others: the congestion control, and whatever else differs among them; without the
/// parameter `but`.
pub fn labels(summaries: &[Summary], but: &str) -> Vec<String> {
    let differs = |of: fn(&Summary) -> &String| summaries.iter().any(|one| of(one) != of(&summaries[0]));
    let names: IndexSet<&String> = summaries.iter().flat_map(|one| one.params.keys()).collect();
    let varies = |name: &&&String| {
        **name != but && summaries.iter().any(|one| one.params.get(**name) != summaries[0].params.get(**name))
    };
    let names: Vec<&&String> = names.iter().filter(varies).collect();
    let label = |one: &Summary| {
        let given = |name: &str| one.params.get(name).map(|value| format!("{name}={value}"));
        let cc = given(but).map_or(one.cc.clone(), |given| one.cc.replace(&given, but));
        let params = names.iter().filter_map(|name| given(name)).filter(|given| !cc.contains(given));
        let words = differs(|one| &one.scenario).then(|| one.scenario.clone()).into_iter();
        let words = words.chain([cc.clone()]).chain(params);
        let words = words.chain(differs(|one| &one.scheduler).then(|| one.scheduler.clone()));
        words.chain(differs(|one| &one.backend).then(|| one.backend.clone())).collect::<Vec<_>>().join(" ")
    };
    summaries.iter().map(label).collect()
}

/// The figure `y`, a column of flows or links, of a connection or link against the parameter `x`. Subflows have a line each.
///
/// # Errors
/// If there is no such parameter or figure.
pub fn lines(summaries: &[Summary], x: &str, y: &str, of: &str) -> Result<Lines, String> {
    let is_it = |key: &Key| {
        let whole = *key.figure == Metrics::aggregate_benefits && y == Connection::connection_benefit.name;
        let rest = key.of.strip_prefix(of);
        key.period.is_none()
            && (key.figure.name == y || whole)
            && (key.of.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let mut found: Option<&'static Figure> = None;
    let mut lines: IndexMap<String, Vec<Point>> = IndexMap::new();
    for (one, label) in summaries.iter().zip(labels(summaries, x)) {
        let Some(text) = one.params.get(x) else { continue };
        let own: Vec<_> = one.statistics.iter().filter(|(key, _)| is_it(key)).collect();
        for &(key, statistics) in &own {
            found = found.or(Some(key.figure));
            let subflow = key.of.split_once('.').filter(|_| own.len() > 1);
            let label = subflow.map_or(label.clone(), |(_, subflow)| format!("{label} {subflow}"));
            let point = Point { x: 0.0, text: text.clone(), statistics: *statistics };
            lines.entry(label).or_default().push(point);
        }
    }
    if summaries.iter().all(|one| !one.params.contains_key(x)) {
        let names = summaries.iter().flat_map(|one| one.params.keys().map(String::as_str));
        return Err(format!("the runs have no parameter '{x}'; they have {}", listed(names)));
    }
    let Some(figure) = found else {
        let keys =
            summaries.iter().flat_map(|one| one.statistics.keys()).filter(|key| key.of.starts_with(of));
        let names = keys.map(|key| key.figure.name).filter(|name| !name.is_empty());
        return Err(format!("there is no figure '{y}' of {of}; there are {}", listed(names)));
    };
    let texts: IndexSet<String> = lines.values().flatten().map(|point| point.text.clone()).collect();
    let numbers: Option<Vec<(f64, &str)>> = texts.iter().map(|text| number(text)).collect();
    for point in lines.values_mut().flatten() {
        let place = texts.get_index_of(&point.text).unwrap_or_default();
        point.x = numbers.as_ref().map_or(place as f64, |numbers| numbers[place].0);
    }
    lines.values_mut().for_each(|line| line.sort_by(|a, b| a.x.total_cmp(&b.x)));
    let unit = numbers.and_then(|numbers| Some(numbers.first()?.1)).unwrap_or("");
    Ok(Lines { unit, figure, lines })
}

/// Each name once.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<IndexSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// A value of a parameter in base units.
fn number(text: &str) -> Option<(f64, &'static str)> {
    let plain = text.parse().ok().map(|value: f64| (value, ""));
    let rate = || Some((Rate::from_str(text).ok()?.0 as f64, "bit/s"));
    let time = || Some((Duration::from_str(text).ok()?.0 as f64 / SECOND_NS as f64, "s"));
    let size = || Some((Size::from_str(text).ok()?.0 as f64, "bytes"));
    let packets = || Some((f64::from(Packets::from_str(text).ok()?.0), "packets"));
    let share = || Some((Probability::from_str(text).ok()?.0, ""));
    plain.or_else(rate).or_else(time).or_else(size).or_else(packets).or_else(share)
}

/// Rate of a flow in each whole second of a run, bit/s, from its samples.
pub fn rates(samples: &[SubflowSample]) -> Vec<f64> {
    let received = |second: u64| {
        let count = samples.partition_point(|sample| sample.time_ns <= second * SECOND_NS);
        count.checked_sub(1).map_or(0, |last| samples[last].received_bytes)
    };
    let seconds = samples.last().map_or(0, |last| last.time_ns / SECOND_NS);
    (1..=seconds).map(|second| (received(second) - received(second - 1)) as f64 * 8.0).collect()
}

/// 95 % quantile (nearest rank) of the smoothed RTT, ms; `None` without RTT samples.
pub fn high_rtt_ms(samples: &[SubflowSample]) -> Option<f64> {
    let mut srtts: Vec<u32> = samples.iter().filter_map(|sample| sample.srtt_us).collect();
    srtts.sort_unstable();
    Some(f64::from(nearest_rank(&srtts, 95)?) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_parameter_is_in_base_units() {
        let of = |text| number(text).unwrap();
        assert_eq!(["500kbit", "100mbit", "1gbit"].map(of), [(5e5, "bit/s"), (1e8, "bit/s"), (1e9, "bit/s")]);
        assert_eq!(["10ms", "64kB", "50p"].map(of), [(0.01, "s"), (64e3, "bytes"), (50.0, "packets")]);
        assert_eq!(["0.5", "2%"].map(of), [(0.5, ""), (0.02, "")]);
        assert_eq!(number("fq-codel"), None);
    }

    #[test]
    fn the_rate_of_a_second_is_of_that_second_alone() {
        // 1 kB in each tenth of a second, until 2.5 s.
        let sample = |tenth: u64| SubflowSample {
            time_ns: tenth * SECOND_NS / 10,
            received_bytes: tenth * 1000,
            ..SubflowSample::default()
        };
        assert_eq!(rates(&(0..=25).map(sample).collect::<Vec<_>>()), [80e3, 80e3]);
        assert_eq!(rates(&[]), [] as [f64; 0]);
    }
}
