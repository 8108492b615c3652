//! The time series of a run, reduced for a page.

use braid_results::measure::{Measurements, SAMPLE_INTERVAL_NS, SubflowSample, by_time};
use braid_scenario::model::Scenario;
use serde::{Serialize, Serializer};

/// Maximum of values on a page: about 3 MB of text.
const BUDGET: usize = 500_000;
/// Maximum of points per series: more than a chart has pixels.
const MOST_POINTS: usize = 1600;
/// Minimum of points per series, to show events.
const FEWEST_POINTS: usize = 200;
/// A reader does not tell more lines than these apart.
pub(super) const MOST_SUBFLOWS: usize = 16;
pub(super) const MOST_LINKS: usize = 16;
/// Maximum of runs of one scenario and congestion control.
const MOST_SEEDS: usize = 3;
/// Rates are means over this many samples, unless the run is short.
const RATE_WINDOW: usize = 10;
const SHORT: usize = 200;

/// Runs whose time series are on the page, and their resolution, so that the page stays small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    groups: usize,
    seeds: usize,
    points: usize,
}

impl Selection {
    /// For grouped runs, with `seeds` runs for each of these scenarios and congestion controls.
    pub fn new<'a>(groups: impl Iterator<Item = &'a Scenario>, seeds: usize) -> Self {
        let lines: Vec<usize> = groups.map(lines).collect();
        let all: usize = lines.iter().sum();
        let seeds = (BUDGET / (all * FEWEST_POINTS).max(1)).clamp(1, MOST_SEEDS).min(seeds);
        let points = (BUDGET / (all * seeds).max(1)).clamp(FEWEST_POINTS, MOST_POINTS);
        let mut room = BUDGET;
        let fits = |lines: &&usize| {
            let left = room.checked_sub(*lines * seeds * points);
            room = left.unwrap_or(0);
            left.is_some()
        };
        // At least the first run, so that the page has time series.
        let groups = lines.iter().take_while(fits).count().max(1);
        Self { groups, seeds, points }
    }

    /// Whether it includes a group's `nth` seed, counted from 0.
    pub fn takes(&self, group: usize, nth: usize) -> bool {
        group < self.groups && nth < self.seeds
    }

    /// The time series of a run with samples.
    pub fn curves(&self, scenario: &Scenario, counts: &Measurements) -> Curves {
        let length = (scenario.duration_ns / SAMPLE_INTERVAL_NS) as usize + 1;
        let window = if length < SHORT { 1 } else { RATE_WINDOW.max(length.div_ceil(self.points)) };
        let per_bucket = if length <= self.points { 1 } else { (2 * length).div_ceil(self.points) };

        let mut curves = Curves { per_bucket, window, ..Curves::default() };
        let subflows = counts.connections.iter().flat_map(|connection| &connection.subflows);
        for subflow in subflows.take(MOST_SUBFLOWS) {
            let grid = by_time(&subflow.samples, |sample| sample.time_ns, scenario.duration_ns);
            let level = |of: &dyn Fn(&SubflowSample) -> Option<f64>| {
                let values: Vec<Option<f64>> = grid.iter().map(|sample| sample.and_then(of)).collect();
                extremes(&values, per_bucket)
            };
            curves.cwnd.push(level(&|sample| Some(f64::from(sample.cwnd))));
            curves.rtt.push(level(&|sample| sample.srtt_us.map(|us| f64::from(us) / 1e3)));
            curves.rate.push(rates(&grid, window));
            curves.group.push(level(&|sample| sample.group.map(f64::from)));
        }
        if curves.group.iter().flatten().all(|group| group.0.is_none()) {
            curves.group.clear();
        }
        for (_, link) in scenario.links.iter().zip(&counts.links).filter(|(l, _)| !l.private).take(MOST_LINKS)
        {
            let grid = by_time(&link.samples, |sample| sample.time_ns, scenario.duration_ns);
            let packets = grid.iter().map(|sample| sample.map(|sample| f64::from(sample.queue_packets)));
            curves.queue.push(extremes(&packets.collect::<Vec<_>>(), per_bucket));
        }
        curves
    }
}

/// Number of time series of a run.
fn lines(scenario: &Scenario) -> usize {
    let subflows: usize = scenario.connections.iter().map(|connection| connection.subflows.len()).sum();
    let links = scenario.links.iter().filter(|link| !link.private).count();
    4 * subflows.min(MOST_SUBFLOWS) + links.min(MOST_LINKS)
}

/// The time series of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curves {
    /// Samples per bucket. 1: value i of a level is sample i. More: values 2i and 2i + 1 are the smallest and the
    /// largest of bucket i, in order of time.
    per_bucket: usize,
    /// Samples per mean rate; value i begins at sample i times this.
    window: usize,
    /// Packets, of each subflow.
    cwnd: Vec<Vec<Rounded>>,
    /// Smoothed, milliseconds, of each subflow.
    rtt: Vec<Vec<Rounded>>,
    /// IP bytes that arrived, Mbit/s, of each subflow.
    rate: Vec<Vec<Rounded>>,
    /// What its detector of shared bottlenecks says of each subflow: a group, 0 for none; empty if there is no detector.
    group: Vec<Vec<Rounded>>,
    /// Packets, of each shared link, forward.
    queue: Vec<Vec<Rounded>>,
}

/// A number with four significant digits, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rounded(Option<f64>);

impl Serialize for Rounded {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.and_then(|value| format!("{value:.3e}").parse::<f64>().ok()) {
            None => to.serialize_none(),
            Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => to.serialize_i64(value as i64),
            Some(value) => to.serialize_f64(value),
        }
    }
}

/// The smallest and the largest of each bucket, in the order in which they came.
fn extremes(values: &[Option<f64>], per_bucket: usize) -> Vec<Rounded> {
    if per_bucket == 1 {
        return values.iter().copied().map(Rounded).collect();
    }
    let pair = |bucket: &[Option<f64>]| {
        let known = || bucket.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
        let low = known().min_by(|a, b| a.1.total_cmp(&b.1));
        let high = known().max_by(|a, b| a.1.total_cmp(&b.1));
        match low.zip(high) {
            None => [Rounded(None); 2],
            Some((low, high)) if low.0 <= high.0 => [Rounded(Some(low.1)), Rounded(Some(high.1))],
            Some((low, high)) => [Rounded(Some(high.1)), Rounded(Some(low.1))],
        }
    };
    values.chunks(per_bucket).flat_map(pair).collect()
}

/// Mean rates in Mbit/s over `window` samples each.
fn rates(grid: &[Option<&SubflowSample>], window: usize) -> Vec<Rounded> {
    let ends: Vec<Option<&SubflowSample>> = grid.iter().step_by(window).copied().collect();
    let mut before = 0;
    let rate = |pair: &[Option<&SubflowSample>]| {
        let bytes = pair[1]?.received_bytes;
        // Nothing has arrived before it is established.
        let news = bytes - pair[0].map_or(before, |from| from.received_bytes);
        before = bytes;
        Some(news as f64 * 8e3 / (window as u64 * SAMPLE_INTERVAL_NS) as f64)
    };
    ends.windows(2).map(rate).map(Rounded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[Rounded]) -> String {
        serde_json::to_string(values).unwrap()
    }

    #[test]
    fn a_bucket_keeps_its_smallest_and_largest_in_the_order_they_came() {
        let values = [4.0, 1.0, 9.0, 5.0, 7.0, 2.0, 3.0].map(Some);
        assert_eq!(shown(&extremes(&values, 3)), "[1,9,7,2,3,3]");
        assert_eq!(shown(&extremes(&values, 1)), "[4,1,9,5,7,2,3]");
    }

    #[test]
    fn what_is_missing_stays_missing_and_hides_nothing() {
        let values = [None, None, Some(2.0), None];
        assert_eq!(shown(&extremes(&values, 2)), "[null,null,2,2]");
    }

    #[test]
    fn numbers_have_four_significant_digits_and_no_needless_ones() {
        let values = [12.3456, 1234.56, 0.000_123_456, 300.0, 0.1 + 0.2].map(|v| Rounded(Some(v)));
        assert_eq!(shown(&values), "[12.35,1235,0.0001235,300,0.3]");
    }

    #[test]
    fn a_rate_is_the_bytes_of_its_window_over_its_time() {
        let at = |index: u64, received_bytes| SubflowSample {
            time_ns: index * SAMPLE_INTERVAL_NS,
            received_bytes,
            ..SubflowSample::default()
        };
        let samples = [at(1, 5_000), at(2, 12_500), at(3, 50_000), at(4, 50_000), at(5, 100_000)];
        let grid: Vec<_> = std::iter::once(None).chain(samples.iter().map(Some)).collect();
        assert_eq!(shown(&rates(&grid, 1)), "[0.4,0.6,3,0,4]");
        assert_eq!(shown(&rates(&grid, 2)), "[0.5,1.5]");
    }
}
