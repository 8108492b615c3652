//! Figures that papers report, measured in a run.

use braid_scenario::units::Window;
use serde::{Deserialize, Serialize};

use crate::measure::{Measurements, SubflowCounts, SubflowSample};
use crate::run::{Connection, Run, Subflow};

/// What papers measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Payload delivered in order, Mbit/s; of a connection.
    Goodput,
    /// IP bits that arrived, Mbit/s; of a connection or subflow.
    Throughput,
    /// Throughput in percent of the fair share; of a connection or subflow.
    Share,
    /// Mean of the RTT samples, ms; of a connection the mean of its subflows.
    Rtt,
    /// Congestion window, packets, mean over time; of a connection the sum of its subflows.
    Cwnd,
    /// The subflow's part of the connection's congestion window, mean over time.
    CwndShare,
    /// Packets per second by which the congestion window grows between two reductions, outside slow start.
    Growth,
    /// Data packets sent again; of a connection or subflow.
    Retransmissions,
    /// Aggregate benefit against the fair shares; of a connection.
    Benefit,
    /// Jain's index over the MPTCP subflows that cross a link.
    JainSubflows,
    /// Jain's index over the connections that cross a link.
    JainConnections,
    /// Share of the time that a link is busy, 0 to 1.
    Utilization,
}

impl Metric {
    /// Whether it is a link's, not a flow's.
    pub fn of_link(self) -> bool {
        matches!(self, Self::JainSubflows | Self::JainConnections | Self::Utilization)
    }

    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Throughput => "throughput",
            Self::Share => "share",
            Self::Rtt => "RTT",
            Self::Cwnd => "cwnd",
            Self::CwndShare => "part of cwnd",
            Self::Growth => "growth",
            Self::Retransmissions => "retransmissions",
            Self::Benefit => "aggregate benefit",
            Self::JainSubflows => "Jain's index of subflows",
            Self::JainConnections => "Jain's index",
            Self::Utilization => "utilization",
        }
    }

    /// Its unit; empty if it has none.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Goodput | Self::Throughput => "Mbit/s",
            Self::Share => "%",
            Self::Rtt => "ms",
            Self::Cwnd | Self::Retransmissions => "packets",
            Self::Growth => "packets/s",
            Self::CwndShare
            | Self::Benefit
            | Self::JainSubflows
            | Self::JainConnections
            | Self::Utilization => "",
        }
    }

    /// Digits after the point that people want to see.
    pub fn decimals(self) -> usize {
        match self {
            Self::Goodput | Self::Throughput | Self::Growth => 2,
            Self::Share | Self::Rtt | Self::Cwnd => 1,
            Self::Retransmissions => 0,
            Self::CwndShare
            | Self::Benefit
            | Self::JainSubflows
            | Self::JainConnections
            | Self::Utilization => 3,
        }
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Figure {
    /// What.
    pub metric: Metric,
    /// Of whom: links or flows by their keys in the scenario (`b1`, `tcp0`, `mp0.sf1`), several of them with ` + ` and
    /// ` - ` between or in `mean(A, B)`, which counts those that were open.
    pub of: String,
    /// When, if not during all of the measured time: stretches of the run with ` + ` between; the mean over them.
    pub during: Option<String>,
}

impl Figure {
    /// Whether it takes samples over time to measure it.
    pub fn needs_samples(&self) -> bool {
        self.during.is_some() || matches!(self.metric, Metric::CwndShare | Metric::Growth)
    }

    /// Its value in a run; `None` if there is none, because something is not in the scenario or was never open.
    pub fn value(&self, run: &Run, counts: &Measurements) -> Option<f64> {
        let windows: Vec<Option<Window>> = match &self.during {
            None => vec![None],
            Some(text) => text.split(" + ").map(|part| part.parse().ok().map(Some)).collect::<Option<_>>()?,
        };
        let values: Option<Vec<f64>> =
            windows.iter().map(|&window| self.during_window(run, counts, window)).collect();
        Some(mean(&values?))
    }

    fn during_window(&self, run: &Run, counts: &Measurements, window: Option<Window>) -> Option<f64> {
        let one = |id: &str| Flow::find(run, counts, id).and_then(|flow| flow.value(self.metric, window));
        let one = |id: &str| if self.metric.of_link() { of_link(self.metric, run, id) } else { one(id) };
        if let Some(list) = self.of.strip_prefix("mean(").and_then(|rest| rest.strip_suffix(')')) {
            let values: Vec<f64> = list.split(", ").filter_map(one).collect();
            return (!values.is_empty()).then(|| mean(&values));
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

fn of_link(metric: Metric, run: &Run, id: &str) -> Option<f64> {
    match metric {
        Metric::JainSubflows => run.metrics.jain_mptcp_subflows.get(id).copied(),
        Metric::JainConnections => run.metrics.jain_connections.get(id).copied(),
        _ => run.links.iter().find(|link| link.id == id).map(|link| link.forward.utilization),
    }
}

/// A connection, or one of its subflows.
struct Flow<'a> {
    run: &'a Run,
    id: &'a str,
    connection: &'a Connection,
    /// Those of the flow, and all of the connection's.
    subflows: Vec<(&'a Subflow, &'a SubflowCounts)>,
    siblings: Vec<&'a SubflowCounts>,
    whole: bool,
}

impl<'a> Flow<'a> {
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
        match (metric, window) {
            (Metric::Goodput, None) => self.whole.then_some(self.connection.goodput_bps / 1e6),
            (Metric::Throughput, None) if self.whole => Some(self.connection.throughput_bps / 1e6),
            (Metric::Throughput, None) => Some(self.subflows[0].0.throughput_bps / 1e6),
            (Metric::Throughput, Some(window)) => self.rate(window).map(|rate| rate / 1e6),
            (Metric::Share, None) => *self.run.metrics.share_of_expected_percent.get(self.id)?,
            (Metric::Rtt, None) => {
                let rtts: Option<Vec<f64>> = self.subflows.iter().map(|(flow, _)| flow.mean_rtt_ms).collect();
                rtts.map(|rtts| mean(&rtts))
            }
            (Metric::Cwnd, None) => self.subflows.iter().map(|(flow, _)| flow.mean_cwnd).sum(),
            (Metric::Cwnd, Some(window)) => {
                self.subflows.iter().map(|(_, counts)| cwnd(&counts.samples, window)).sum()
            }
            (Metric::CwndShare, window) => {
                let window = window.unwrap_or(self.measured());
                let own: f64 = self
                    .subflows
                    .iter()
                    .map(|(_, counts)| cwnd(&counts.samples, window))
                    .sum::<Option<_>>()?;
                let all: f64 =
                    self.siblings.iter().map(|counts| cwnd(&counts.samples, window)).sum::<Option<_>>()?;
                (all > 0.0).then(|| own / all)
            }
            (Metric::Growth, window) => {
                let window = window.unwrap_or(self.measured());
                self.subflows.iter().map(|(_, counts)| growth(&counts.samples, window)).sum()
            }
            (Metric::Retransmissions, None) => {
                Some(self.subflows.iter().map(|(flow, _)| flow.retransmissions).sum::<u64>() as f64)
            }
            (Metric::Benefit, None) => *self.run.metrics.aggregate_benefits.get(self.id)?,
            _ => None,
        }
    }

    /// The part of the run that is measured, as far as it is known here: the whole run.
    fn measured(&self) -> Window {
        use braid_scenario::units::Duration;
        Window { from: Duration(0), to: Duration((self.run.duration_s * 1e9) as u64) }
    }

    /// Bits per second that arrived in that time; none if it was not open.
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

/// IP bytes that had reached the receiver by then.
fn received(samples: &[SubflowSample], time_ns: u64) -> u64 {
    let until = samples.partition_point(|sample| sample.time_ns <= time_ns);
    until.checked_sub(1).map_or(0, |last| samples[last].received_bytes)
}

fn within(samples: &[SubflowSample], window: Window) -> &[SubflowSample] {
    let place = |time| samples.partition_point(|sample| sample.time_ns < time);
    &samples[place(window.from.0)..place(window.to.0)]
}

fn cwnd(samples: &[SubflowSample], window: Window) -> Option<f64> {
    let cwnds: Vec<f64> = within(samples, window).iter().map(|sample| f64::from(sample.cwnd)).collect();
    (!cwnds.is_empty()).then(|| mean(&cwnds))
}

/// Packets per second gained in congestion avoidance: between two reductions, from where the window has come down to
/// the slow-start threshold, so that recovery does not count.
fn growth(samples: &[SubflowSample], window: Window) -> Option<f64> {
    let (mut gained, mut time) = (0.0, 0.0);
    let mut before: Option<&SubflowSample> = None;
    for sample in within(samples, window) {
        let Some(ssthresh) = sample.ssthresh else { continue };
        let same = |before: &&SubflowSample| {
            before.ssthresh == sample.ssthresh && before.retransmissions == sample.retransmissions
        };
        match before.filter(same) {
            Some(before) => {
                gained += f64::from(sample.cwnd) - f64::from(before.cwnd);
                time += (sample.time_ns - before.time_ns) as f64 / 1e9;
            }
            // Not yet at the threshold: still recovering, or in slow start.
            None if sample.cwnd.abs_diff(ssthresh) > 1 => {
                before = None;
                continue;
            }
            None => {}
        }
        before = Some(sample);
    }
    (time > 0.0).then(|| gained / time)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_counts_neither_slow_start_nor_recovery() {
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
            // The next one, and half a packet per sample.
            sample(7, 20, Some(11), 2),
            sample(8, 11, Some(11), 2),
            sample(9, 11, Some(11), 2),
            sample(10, 12, Some(11), 2),
        ];
        let whole: Window = "0s..2s".parse().unwrap();
        // Three packets in four tenths of a second.
        assert!((growth(&samples, whole).unwrap() - 7.5).abs() < 1e-9);
        assert_eq!(growth(&samples[..4], whole), None);
    }
}
