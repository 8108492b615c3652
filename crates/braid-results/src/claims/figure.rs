//! Figures that papers report, measured in a run.

use braid_scenario::units::Window;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Connection, Detection, LinkDirection, Metrics, Period, Run, Subflow};
use crate::detection::accuracy_percent;
use crate::measure::{Measurements, SubflowCounts, SubflowSample};
use crate::statistics::mean;

/// Declares the metrics: where each comes from, its name for people, its unit with what divides it and its digits after
/// the point, and the difference that counts as agreement with a printed figure (`None`: 10 % of it).
macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $name:ident: $from:ident, $text:literal, $shown:expr, $agreement:expr;)*) => {
        /// What papers measure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Metric {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Metric {
            fn facts(self) -> Facts {
                let (from, text, (unit, scale, decimals), agreement) = match self {
                    $(Self::$name => (Source::$from, $text, $shown, $agreement),)*
                };
                Facts { from, text, unit, scale, decimals, agreement }
            }
        }
    };
}

struct Facts {
    from: Source,
    text: &'static str,
    unit: &'static str,
    scale: f64,
    decimals: usize,
    agreement: Option<f64>,
}

/// What a metric is measured from.
#[derive(PartialEq)]
enum Source {
    /// A connection or subflow; from samples where it is of a part of the run.
    Flow,
    /// Samples of a connection or subflow over time.
    Samples,
    /// A link.
    Link,
}

metrics! {
    /// Payload delivered in order, Mbit/s; of a connection.
    Goodput: Flow, "goodput", Connection::goodput_bps.shown(), None;
    /// IP bits that arrived, Mbit/s; of a connection or subflow.
    Throughput: Flow, "throughput", Connection::throughput_bps.shown(), None;
    /// Throughput in percent of the fair share; of a connection or subflow.
    Share: Flow, "share", Metrics::share_of_expected_percent.shown(), Some(10.0);
    /// Mean of the RTT samples, ms; of a connection the mean of its subflows.
    Rtt: Flow, "RTT", Subflow::mean_rtt_ms.shown(), None;
    /// Congestion window, packets, mean over time; of a connection the sum of its subflows.
    Cwnd: Flow, "cwnd", Subflow::mean_cwnd.shown(), None;
    /// Congestion window at its largest, packets; of a connection the sum of its subflows'.
    CwndMax: Samples, "largest cwnd", ("packets", 1.0, 1), None;
    /// When the congestion window is at its largest for the first time, seconds; of a subflow.
    PeakTime: Samples, "time of the largest cwnd", ("s", 1.0, 2), None;
    /// What a reduction leaves of the congestion window, 0 to 1, mean over the reductions; of a subflow.
    Kept: Samples, "part of cwnd kept", ("", 1.0, 3), Some(0.05);
    /// The subflow's part of the connection's congestion window, mean over time.
    CwndShare: Samples, "part of cwnd", ("", 1.0, 3), Some(0.05);
    /// Packets per second by which the congestion window grows between two reductions, outside slow start.
    Growth: Samples, "growth", ("packets/s", 1.0, 2), None;
    /// How well straight lines fit the congestion window between two reductions, as a coefficient of determination; of a
    /// subflow.
    Straight: Samples, "fit of straight lines to cwnd", ("", 1.0, 3), Some(0.05);
    /// How well cubic curves do.
    CubicCurve: Samples, "fit of cubic curves to cwnd", ("", 1.0, 3), Some(0.05);
    /// Correlation of the congestion windows of two flows over time, given as `A, B`.
    CwndCorrelation: Samples, "correlation of cwnd", ("", 1.0, 3), Some(0.05);
    /// Share of the seconds in which the RTTs of flows, given as `A, B`, move alike: the mean difference between one RTT
    /// sample and the next of each is within 20 % of each other's.
    RttAlike: Samples, "share of seconds with RTTs that move alike", ("", 1.0, 3), Some(0.05);
    /// Data packets sent again; of a connection or subflow.
    Retransmissions: Flow, "retransmissions", Subflow::retransmissions.shown(), None;
    /// Aggregate benefit against the fair shares; of a connection.
    Benefit: Flow, "aggregate benefit", Metrics::aggregate_benefits.shown(), None;
    /// Jain's index over the MPTCP subflows that cross a link.
    JainSubflows: Link, "Jain's index of subflows", Metrics::jain_mptcp_subflows.shown(), Some(0.05);
    /// Jain's index over the connections that cross a link.
    JainConnections: Link, "Jain's index", Metrics::jain_connections.shown(), Some(0.05);
    /// Share of the time that a link is busy, 0 to 1.
    Utilization: Link, "utilization", LinkDirection::utilization.shown(), Some(0.05);
    /// Percent of the time in which a detector of shared bottlenecks was right about the subflows whose bottleneck the
    /// link was.
    DetectionAccuracy: Link, "detection accuracy", ("%", 1.0, 1), Some(10.0);
    /// Time until it was right for the first time, from their beginning or from when the link became their bottleneck, or
    /// became shared or was not any longer; milliseconds, the mean. Where it never was, as long as that lasted.
    DetectionTime: Link, "detection time", ("ms", 1.0, 0), None;
}

impl Metric {
    /// Whether it is a link's, not a flow's.
    pub fn of_link(self) -> bool {
        self.facts().from == Source::Link
    }

    /// Its name in reports.
    pub fn text(self) -> &'static str {
        self.facts().text
    }

    /// Its unit; empty if it has none.
    pub fn unit(self) -> &'static str {
        self.facts().unit
    }

    /// Digits after the decimal point in reports.
    pub fn decimals(self) -> usize {
        self.facts().decimals
    }

    /// The difference that counts as agreement with this printed figure: ten points of a share, 0.05 of a fraction or an index,
    /// 10 % of everything else.
    pub fn tolerance(self, published: f64) -> f64 {
        self.facts().agreement.unwrap_or(0.1 * published.abs())
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Figure {
    /// The metric.
    pub metric: Metric,
    /// Links or flows by their keys in the scenario (`b1`, `tcp0`, `mp0.sf1`), several with ` + ` and ` - ` between, or
    /// in `mean(A, B)`, `min(A, B)` or `max(A, B)`, which ignore absent flows.
    pub of: String,
    /// When, if not during all of the measured time: intervals of the run with ` + ` between, or `each` for all of the
    /// scenario's periods; the mean over them.
    pub during: Option<String>,
}

impl Figure {
    /// Whether it is about labels of a detector.
    pub fn of_detection(&self) -> bool {
        matches!(self.metric, Metric::DetectionAccuracy | Metric::DetectionTime)
    }

    /// Whether it needs samples over time.
    pub fn needs_samples(&self) -> bool {
        // Benefit, and what is of links, is known for the scenario's own periods.
        let by_period = self.metric.of_link() || self.metric == Metric::Benefit;
        self.metric.facts().from == Source::Samples || (self.during.is_some() && !by_period)
    }

    /// Its value in a run; `None` if something is missing in the scenario or was never open.
    pub fn value(&self, run: &Run, counts: &Measurements) -> Option<f64> {
        let windows: Vec<Option<Window>> = match self.during.as_deref() {
            None => vec![None],
            Some("each") => {
                run.periods.iter().map(|period| period.id.parse().ok().map(Some)).collect::<Option<_>>()?
            }
            Some(text) => text.split(" + ").map(|part| part.parse().ok().map(Some)).collect::<Option<_>>()?,
        };
        let values: Option<Vec<f64>> =
            windows.iter().map(|&window| self.during_window(run, counts, window)).collect();
        mean(&values?)
    }

    fn during_window(&self, run: &Run, counts: &Measurements, window: Option<Window>) -> Option<f64> {
        if matches!(self.metric, Metric::RttAlike | Metric::CwndCorrelation) {
            let flows: Option<Vec<MeasuredFlow>> =
                self.of.split(", ").map(|id| MeasuredFlow::find(run, counts, id)).collect();
            let flows = flows?;
            let samples: Vec<&[SubflowSample]> =
                flows.iter().map(|flow| flow.subflows[0].1.samples.as_slice()).collect();
            let window = window.unwrap_or(flows.first()?.measured());
            return match self.metric {
                Metric::RttAlike => alike(&samples, window),
                _ => correlation(&samples, window),
            };
        }
        let one = |id: &str| {
            if self.metric.of_link() {
                return of_link(self.metric, run, window, id);
            }
            MeasuredFlow::find(run, counts, id)?.value(self.metric, window)
        };
        if let Some((combine, list)) =
            self.of.split_once('(').and_then(|(way, rest)| Some((combination(way)?, rest.strip_suffix(')')?)))
        {
            let values: Vec<f64> = list.split(", ").filter_map(one).collect();
            return combine(&values);
        }
        let mut sum = 0.0;
        let mut sign = 1.0;
        for word in self.of.split(' ') {
            match word {
                "+" => sign = 1.0,
                "-" => sign = -1.0,
                id => sum += sign * one(id)?,
            }
        }
        Some(sum)
    }
}

/// Makes one value of several.
type Combine = fn(&[f64]) -> Option<f64>;

fn combination(name: &str) -> Option<Combine> {
    match name {
        "mean" => Some(mean),
        "min" => Some(|values| values.iter().copied().reduce(f64::min)),
        "max" => Some(|values| values.iter().copied().reduce(f64::max)),
        _ => None,
    }
}

/// The scenario's period of that name.
fn period(run: &Run, window: Window) -> Option<&Period> {
    let id = window.to_string();
    run.periods.iter().find(|period| period.id == id)
}

/// Labels of subflows while that link was their bottleneck.
fn detected(metric: Metric, detections: &[Detection], id: &str) -> Option<f64> {
    let found = || detections.iter().filter(|found| found.bottleneck == id);
    if metric == Metric::DetectionAccuracy {
        return accuracy_percent(found());
    }
    let times = found().map(|found| found.first_right_ms.unwrap_or(found.lasts_s() * 1e3));
    mean(&times.collect::<Vec<f64>>())
}

fn of_link(metric: Metric, run: &Run, window: Option<Window>, id: &str) -> Option<f64> {
    if matches!(metric, Metric::DetectionAccuracy | Metric::DetectionTime) {
        return window.is_none().then(|| detected(metric, &run.detections, id)).flatten();
    }
    let (metrics, links) = match window {
        None => (&run.metrics, &run.links),
        Some(window) => period(run, window).map(|period| (&period.metrics, &period.links))?,
    };
    match metric {
        Metric::JainSubflows => metrics.jain_mptcp_subflows.get(id).copied(),
        Metric::JainConnections => metrics.jain_connections.get(id).copied(),
        _ => links.iter().find(|link| link.id == id).map(|link| link.forward.utilization),
    }
}

/// A connection, or one of its subflows.
struct MeasuredFlow<'a> {
    run: &'a Run,
    id: &'a str,
    connection: &'a Connection,
    /// Subflows of the flow, and all of the connection.
    subflows: Vec<(&'a Subflow, &'a SubflowCounts)>,
    siblings: Vec<&'a SubflowCounts>,
    whole: bool,
}

impl<'a> MeasuredFlow<'a> {
    fn find(run: &'a Run, counts: &'a Measurements, id: &'a str) -> Option<Self> {
        let (name, subflow) = id.split_once('.').map_or((id, None), |(name, subflow)| (name, Some(subflow)));
        let place = run.connections.iter().position(|connection| connection.id == name)?;
        let (connection, counts) = (&run.connections[place], &counts.connections[place]);
        let pairs = connection.subflows.iter().zip(&counts.subflows);
        let subflows: Vec<_> =
            pairs.filter(|(found, _)| subflow.is_none_or(|wanted| found.id == wanted)).collect();
        let siblings = counts.subflows.iter().collect();
        let whole = subflow.is_none();
        (!subflows.is_empty()).then_some(Self { run, id, connection, subflows, siblings, whole })
    }

    fn value(&self, metric: Metric, window: Option<Window>) -> Option<f64> {
        type OfSamples = fn(&[SubflowSample], Window) -> Option<f64>;
        let times = window.unwrap_or(self.measured());
        let scale = metric.facts().scale;
        let sum = |of: OfSamples| -> Option<f64> {
            self.subflows.iter().map(|(_, counts)| of(&counts.samples, times)).sum()
        };
        // Of one subflow, not of a connection.
        let alone = |of: OfSamples| if self.whole { None } else { of(&self.subflows[0].1.samples, times) };
        match (metric, window) {
            (Metric::Goodput, None) => self.whole.then_some(self.connection.goodput_bps / scale),
            (Metric::Throughput, None) if self.whole => Some(self.connection.throughput_bps / scale),
            (Metric::Throughput, None) => Some(self.subflows[0].0.throughput_bps / scale),
            (Metric::Throughput, Some(window)) => self.rate(window).map(|rate| rate / scale),
            (Metric::Share, None) => *self.run.metrics.share_of_expected_percent.get(self.id)?,
            (Metric::Rtt, None) => {
                let rtts: Option<Vec<f64>> = self.subflows.iter().map(|(flow, _)| flow.mean_rtt_ms).collect();
                mean(&rtts?)
            }
            (Metric::Cwnd, None) => self.subflows.iter().map(|(flow, _)| flow.mean_cwnd).sum(),
            (Metric::Cwnd, Some(_)) => sum(cwnd),
            (Metric::CwndMax, _) => sum(|samples, times| Some(f64::from(peak(samples, times)?.cwnd))),
            (Metric::PeakTime, _) => alone(|samples, times| Some(peak(samples, times)?.time_ns as f64 / 1e9)),
            (Metric::Kept, _) => alone(kept),
            (Metric::CwndShare, _) => {
                let all = self.siblings.iter().map(|counts| cwnd(&counts.samples, times));
                let all = all.sum::<Option<f64>>()?;
                let own = sum(cwnd)?;
                (all > 0.0).then(|| own / all)
            }
            (Metric::Growth, _) => sum(growth),
            (Metric::Straight, _) => alone(|samples, times| fit(samples, times, 1)),
            (Metric::CubicCurve, _) => alone(|samples, times| fit(samples, times, 3)),
            (Metric::Retransmissions, None) => {
                Some(self.subflows.iter().map(|(flow, _)| flow.retransmissions).sum::<u64>() as f64)
            }
            (Metric::Benefit, None) => *self.run.metrics.aggregate_benefits.get(self.id)?,
            (Metric::Benefit, Some(window)) => {
                *period(self.run, window)?.metrics.aggregate_benefits.get(self.id)?
            }
            _ => None,
        }
    }

    /// The measured part of the run, as far as known here: the whole run.
    fn measured(&self) -> Window {
        use braid_scenario::units::Duration;
        Window { from: Duration(0), to: Duration((self.run.duration_s * 1e9) as u64) }
    }

    /// Bits per second that arrived in that time; `None` if it was not open.
    fn rate(&self, window: Window) -> Option<f64> {
        let (from, to) = (window.from.0, window.to.0);
        let open = |counts: &SubflowCounts| {
            counts.samples.iter().any(|sample| sample.time_ns > from && sample.time_ns <= to)
        };
        if !self.subflows.iter().any(|(_, counts)| open(counts)) {
            return None;
        }
        let bytes: u64 = self
            .subflows
            .iter()
            .map(|(_, counts)| received(&counts.samples, to) - received(&counts.samples, from))
            .sum();
        Some(bytes as f64 * 8e9 / (to - from) as f64)
    }
}

/// IP bytes received by then.
pub(super) fn received(samples: &[SubflowSample], time_ns: u64) -> u64 {
    let until = samples.partition_point(|sample| sample.time_ns <= time_ns);
    until.checked_sub(1).map_or(0, |last| samples[last].received_bytes)
}

fn within(samples: &[SubflowSample], window: Window) -> &[SubflowSample] {
    let place = |time| samples.partition_point(|sample| sample.time_ns < time);
    &samples[place(window.from.0)..place(window.to.0)]
}

fn cwnd(samples: &[SubflowSample], window: Window) -> Option<f64> {
    let cwnds: Vec<f64> = within(samples, window).iter().map(|sample| f64::from(sample.cwnd)).collect();
    mean(&cwnds)
}

/// The sample with the largest congestion window; the first of equals.
fn peak(samples: &[SubflowSample], window: Window) -> Option<&SubflowSample> {
    within(samples, window).iter().reduce(|peak, sample| if sample.cwnd > peak.cwnd { sample } else { peak })
}

/// Over whole seconds in which all flows have RTT samples.
fn alike(flows: &[&[SubflowSample]], window: Window) -> Option<f64> {
    const SECOND: u64 = 1_000_000_000;
    let steps = |samples: &[SubflowSample], second: u64| {
        let until = |time: u64| {
            let count = samples.partition_point(|sample| sample.time_ns <= time);
            count
                .checked_sub(1)
                .map_or((0, 0), |last| (samples[last].rtt_samples, samples[last].rtt_steps_us))
        };
        let (from, to) = (until(second * SECOND), until((second + 1) * SECOND));
        (to.0 > from.0).then(|| (to.1 - from.1) as f64 / (to.0 - from.0) as f64)
    };
    let seconds = window.from.0.div_ceil(SECOND)..window.to.0 / SECOND;
    let verdicts = seconds.filter_map(|second| {
        let steps: Vec<f64> = flows.iter().map(|samples| steps(samples, second)).collect::<Option<_>>()?;
        let within = |a: &f64, b: &f64| (a - b).abs() < 0.2 * a;
        Some(f64::from(u8::from(
            steps.iter().all(|a| steps.iter().all(|b| a.total_cmp(b).is_eq() || within(a, b))),
        )))
    });
    let verdicts: Vec<f64> = verdicts.collect();
    mean(&verdicts)
}

/// Mean over the reductions: the new threshold over the window in the previous sample.
fn kept(samples: &[SubflowSample], window: Window) -> Option<f64> {
    let pairs = within(samples, window).windows(2).filter_map(|pair| {
        let (before, after) = (pair[0], pair[1].ssthresh?);
        let reduced = before.ssthresh != Some(after) && after < before.cwnd;
        reduced.then(|| f64::from(after) / f64::from(before.cwnd))
    });
    let parts: Vec<f64> = pairs.collect();
    mean(&parts)
}

/// Intervals of congestion avoidance: between two reductions, from where the window has come down to the slow-start
/// threshold, so that recovery does not count.
fn stretches(samples: &[SubflowSample], window: Window) -> Vec<&[SubflowSample]> {
    let samples = within(samples, window);
    let uninterrupted = |a: &SubflowSample, b: &SubflowSample| {
        a.ssthresh == b.ssthresh && a.retransmissions == b.retransmissions
    };
    let settled = |sample: &SubflowSample| {
        sample.ssthresh.is_some_and(|threshold| sample.cwnd.abs_diff(threshold) <= 1)
    };
    let runs = samples.chunk_by(uninterrupted);
    let runs = runs.map(|run| &run[run.iter().position(settled).unwrap_or(run.len())..]);
    runs.filter(|run| run.len() > 1).collect()
}

/// Packets per second gained in congestion avoidance.
fn growth(samples: &[SubflowSample], window: Window) -> Option<f64> {
    let (mut gained, mut time) = (0.0, 0.0);
    for run in stretches(samples, window) {
        let (first, last) = (run[0], run[run.len() - 1]);
        gained += f64::from(last.cwnd) - f64::from(first.cwnd);
        time += (last.time_ns - first.time_ns) as f64 / 1e9;
    }
    (time > 0.0).then(|| gained / time)
}

/// Mean coefficient of determination of polynomials of that degree fitted to intervals of congestion avoidance of at
/// least a second in which the window moves.
fn fit(samples: &[SubflowSample], window: Window, degree: usize) -> Option<f64> {
    let fits = stretches(samples, window).into_iter().filter(|run| run.len() > 10).filter_map(|run| {
        let windows: Vec<f64> = run.iter().map(|sample| f64::from(sample.cwnd)).collect();
        let times: Vec<f64> = (0..run.len()).map(|place| place as f64 / run.len() as f64).collect();
        let middle = mean(&windows)?;
        let spread: f64 = windows.iter().map(|window| (window - middle).powi(2)).sum();
        let curve = polynomial(&times, &windows, degree);
        let value = |time: f64| curve.iter().rev().fold(0.0, |sum, factor| sum * time + factor);
        let missed = times.iter().zip(&windows).map(|(&time, window)| (window - value(time)).powi(2));
        (spread > 0.0).then(|| 1.0 - missed.sum::<f64>() / spread)
    });
    let fits: Vec<f64> = fits.collect();
    mean(&fits)
}

/// Coefficients, the constant first, of the least-squares polynomial: Gaussian elimination of the normal equations,
/// which are positive definite.
fn polynomial(x: &[f64], y: &[f64], degree: usize) -> Vec<f64> {
    let sum = |power: usize| x.iter().map(|x| x.powi(power as i32)).sum::<f64>();
    let right = |power: usize| x.iter().zip(y).map(|(x, y)| x.powi(power as i32) * y).sum::<f64>();
    let row = |r: usize| (0..=degree).map(|c| sum(r + c)).chain([right(r)]).collect::<Vec<f64>>();
    let mut rows: Vec<Vec<f64>> = (0..=degree).map(row).collect();
    for pivot in 0..=degree {
        let by = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|value| *value /= by);
        let above = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != pivot) {
            let by = row[pivot];
            row.iter_mut().zip(&above).for_each(|(value, above)| *value -= by * above);
        }
    }
    rows.iter().map(|row| row[degree + 1]).collect()
}

/// Over the windows of two subflows at times at which both have one.
fn correlation(flows: &[&[SubflowSample]], window: Window) -> Option<f64> {
    let [a, b] = flows else { return None };
    let at =
        |time_ns| b.binary_search_by_key(&time_ns, |sample| sample.time_ns).ok().map(|place| b[place].cwnd);
    let pairs = within(a, window).iter();
    let pairs = pairs.filter_map(|a| Some((f64::from(a.cwnd), f64::from(at(a.time_ns)?))));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let (mean_a, mean_b) = (mean(&a)?, mean(&b)?);
    let a: Vec<f64> = a.iter().map(|value| value - mean_a).collect();
    let b: Vec<f64> = b.iter().map(|value| value - mean_b).collect();
    let moment = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(p, q)| p * q).sum::<f64>();
    let scale = (moment(&a, &a) * moment(&b, &b)).sqrt();
    (scale > 0.0).then(|| moment(&a, &b) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detections_count_with_their_time_and_those_that_never_were_right_with_all_of_it() {
        let detection = |to_s: f64, accuracy_percent, first_right_ms| Detection {
            bottleneck: "b1".to_owned(),
            to_s,
            accuracy_percent,
            first_right_ms,
            ..Detection::default()
        };
        let detections = [detection(10.0, 90.0, Some(1000.0)), detection(30.0, 0.0, None)];
        assert_eq!(detected(Metric::DetectionAccuracy, &detections, "b1"), Some(22.5));
        assert_eq!(detected(Metric::DetectionTime, &detections, "b1"), Some(15_500.0));
        assert_eq!(detected(Metric::DetectionTime, &detections, "b2"), None);
    }

    #[test]
    fn curves_of_their_own_degree_fit_windows() {
        let windows = |cwnd: fn(f64) -> f64| -> Vec<SubflowSample> {
            let sample = |tenth: u64| SubflowSample {
                time_ns: tenth * 100_000_000,
                cwnd: cwnd(tenth as f64) as u32,
                ssthresh: Some(10_000),
                ..SubflowSample::default()
            };
            (0..20).map(sample).collect()
        };
        let line = windows(|tenth| 10_000.0 + 100.0 * tenth);
        let curve = windows(|tenth| 10_000.0 + 10.0 * ((tenth - 8.0).powi(3) + 512.0));
        let whole: Window = "0s..2s".parse().unwrap();
        assert!(fit(&line, whole, 1).unwrap() > 0.9999);
        assert!(fit(&curve, whole, 3).unwrap() > 0.9999);
        assert!(fit(&curve, whole, 1).unwrap() < 0.9);
        assert!((correlation(&[&line, &line], whole).unwrap() - 1.0).abs() < 1e-9);
        assert!((0.5..0.95).contains(&correlation(&[&line, &curve], whole).unwrap()));
    }

    #[test]
    fn rtts_move_alike_in_the_seconds_in_which_their_mean_steps_are_close() {
        let flow = |steps: [u64; 2]| -> Vec<SubflowSample> {
            let at = |second: u64, rtt_steps_us| SubflowSample {
                time_ns: second * 1_000_000_000,
                rtt_samples: second * 100,
                rtt_steps_us,
                ..SubflowSample::default()
            };
            vec![at(0, 0), at(1, steps[0]), at(2, steps[0] + steps[1])]
        };
        let (a, b) = (flow([1000, 1000]), flow([1150, 1300]));
        let whole: Window = "0s..2s".parse().unwrap();
        assert_eq!(alike(&[&a, &b], whole), Some(0.5));
        assert_eq!(alike(&[&a, &a], whole), Some(1.0));
        assert_eq!(alike(&[&a, &[]], whole), None);
    }

    #[test]
    fn peaks_cuts_and_growth_are_read_off_the_window() {
        let sample = |tenth: u64, cwnd, ssthresh, retransmissions| SubflowSample {
            time_ns: tenth * 100_000_000,
            cwnd,
            ssthresh,
            retransmissions,
            ..SubflowSample::default()
        };
        let samples = [
            sample(0, 10, None, 0),
            sample(1, 40, None, 0),
            // A reduction, recovery down to the threshold, then a packet per sample.
            sample(2, 38, Some(20), 1),
            sample(3, 28, Some(20), 1),
            sample(4, 20, Some(20), 1),
            sample(5, 21, Some(20), 1),
            sample(6, 22, Some(20), 1),
            // The next reduction, and half a packet per sample.
            sample(7, 20, Some(11), 2),
            sample(8, 11, Some(11), 2),
            sample(9, 11, Some(11), 2),
            sample(10, 12, Some(11), 2),
        ];
        let whole: Window = "0s..2s".parse().unwrap();
        assert_eq!(peak(&samples, whole).map(|peak| peak.time_ns), Some(100_000_000));
        // From 40 down to 20, and from 22 down to 11.
        assert!((kept(&samples, whole).unwrap() - 0.5).abs() < 1e-9);
        // Three packets in four tenths of a second.
        assert!((growth(&samples, whole).unwrap() - 7.5).abs() < 1e-9);
        assert_eq!(growth(&samples[..4], whole), None);
    }
}
