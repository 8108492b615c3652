//! A run second by second: labels of a detector, the truth, and throughput.

use serde::{Deserialize, Serialize};

use super::Coordinates;
use super::figure::received;
use crate::Run;
use crate::measure::{Measurements, SubflowCounts};

const SECOND: u64 = 1_000_000_000;

/// One run of an experiment about detection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// Key of the experiment.
    pub experiment: String,
    /// The paper's name.
    pub algorithm: String,
    /// The scenario's parameters and their values.
    pub parameters: Coordinates,
    /// The seed.
    pub seed: u64,
    /// Subflows with a detector.
    pub subflows: Vec<StripSubflow>,
}

/// One subflow of that run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StripSubflow {
    /// Keys in the scenario: `connection.subflow`.
    pub subflow: String,
    /// Truth while it was established, in order.
    pub truth: Vec<Stretch>,
    /// Percent of each second of the run in which its label was "shared".
    pub said_percent: Vec<u8>,
    /// IP bytes that arrived in each second, Mbit/s.
    pub throughput_mbps: Vec<f64>,
}

/// An interval in which the truth about a subflow did not change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Since the start of the run, seconds.
    pub from_s: f64,
    /// End, seconds.
    pub to_s: f64,
    /// Whether another subflow had the same bottleneck.
    pub shared: bool,
}

impl StripSubflow {
    /// For all subflows with a detector in a run with samples.
    pub fn of(run: &Run, counts: &Measurements) -> Vec<Self> {
        let seconds = run.duration_s.ceil() as u64;
        let mut all = Vec::new();
        for (connection, counts) in run.connections.iter().zip(&counts.connections) {
            for (subflow, counts) in connection.subflows.iter().zip(&counts.subflows) {
                let own = run
                    .detections
                    .iter()
                    .filter(|found| found.connection == connection.id && found.subflow == subflow.id);
                let truth: Vec<Stretch> = own
                    .map(|found| Stretch { from_s: found.from_s, to_s: found.to_s, shared: found.shared })
                    .collect();
                if truth.is_empty() {
                    continue;
                }
                let bytes = |second: u64| {
                    received(&counts.samples, (second + 1) * SECOND)
                        - received(&counts.samples, second * SECOND)
                };
                all.push(Self {
                    subflow: format!("{}.{}", connection.id, subflow.id),
                    truth,
                    said_percent: (0..seconds).map(|second| said_percent(counts, second)).collect(),
                    // At visible precision.
                    throughput_mbps: (0..seconds)
                        .map(|second| (bytes(second) as f64 * 8.0 / 1e4).round() / 100.0)
                        .collect(),
                });
            }
        }
        all
    }
}

fn said_percent(counts: &SubflowCounts, second: u64) -> u8 {
    let (from, to) = (second * SECOND, (second + 1) * SECOND);
    let mut shared = 0;
    for (nth, verdict) in counts.verdicts.iter().enumerate() {
        let until = counts.verdicts.get(nth + 1).map_or(u64::MAX, |next| next.time_ns);
        if verdict.group != 0 {
            shared += until.min(to).saturating_sub(verdict.time_ns.max(from));
        }
    }
    (100 * shared / SECOND) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::VerdictChange;

    #[test]
    fn a_second_has_the_part_of_it_in_which_the_label_was_shared() {
        let at = |ms: u64, group| VerdictChange { time_ns: ms * 1_000_000, group };
        let verdicts = vec![at(0, 0), at(1_250, 1), at(1_500, 0), at(1_750, 2), at(3_100, 0)];
        let counts = SubflowCounts { verdicts, ..SubflowCounts::default() };
        let said: Vec<u8> = (0..5).map(|second| said_percent(&counts, second)).collect();
        assert_eq!(said, [0, 50, 100, 10, 0]);
    }

    #[test]
    fn a_subflow_of_which_nothing_was_said_shares_nothing() {
        assert_eq!(said_percent(&SubflowCounts::default(), 0), 0);
    }
}
