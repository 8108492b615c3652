//! What detectors of shared bottlenecks said, beside what was so.
//!
//! The truth is the scenario's: at any moment the bottleneck of a subflow is the slowest link of its route of that
//! moment, and it is shared if it is the bottleneck of another established subflow of the connection as well, unless
//! each flow has a queue of its own there (`fq_codel`).

use braid_scenario::model::{self, Scenario};
use serde::{Deserialize, Serialize};

use crate::measure::{ConnectionCounts, SubflowCounts};

/// What a detector said of one subflow during a time in which the truth about that did not change.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Detection {
    /// The connection's key in the scenario.
    pub connection: String,
    /// The subflow's key in the scenario.
    pub subflow: String,
    /// Id of the link that was its bottleneck.
    pub bottleneck: String,
    /// The truth: whether that was the bottleneck of another subflow, too.
    pub shared: bool,
    /// Since when, seconds from the start of the run.
    pub from_s: f64,
    /// Until when, seconds from the start of the run.
    pub to_s: f64,
    /// Percent of that time in which the subflow's label, shared or not, was right.
    pub accuracy_percent: f64,
    /// Percent of that time in which its group was right: just the subflows with that bottleneck.
    pub group_accuracy_percent: f64,
    /// How often the label changed.
    pub changes: usize,
    /// How often it changed to the right one.
    pub right_changes: usize,
    /// Time until the label was right for the first time, milliseconds; absent if it never was.
    pub first_right_ms: Option<f64>,
    /// Time from which on it was right to the end, milliseconds; absent if it was wrong at the end.
    pub settled_ms: Option<f64>,
}

impl Detection {
    /// Seconds that it is about.
    pub fn lasts_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// Percent of all time of all subflows in which the label was right; `None` without a detector.
pub fn accuracy_percent(detections: &[Detection]) -> Option<f64> {
    let time: f64 = detections.iter().map(Detection::lasts_s).sum();
    let right = detections.iter().map(|detection| detection.accuracy_percent * detection.lasts_s());
    (time > 0.0).then(|| right.sum::<f64>() / time)
}

/// What was said of every subflow with a detector until `end`, nanoseconds from the start of the run.
pub(crate) fn detections(scenario: &Scenario, counts: &[ConnectionCounts], end: u64) -> Vec<Detection> {
    let connections = scenario.connections.iter().zip(counts);
    connections.flat_map(|(model, counts)| of_connection(scenario, model, counts, end)).collect()
}

fn of_connection(
    scenario: &Scenario,
    model: &model::Connection,
    counts: &ConnectionCounts,
    end: u64,
) -> Vec<Detection> {
    let end = model.stop_ns.unwrap_or(end).min(end);
    let subflows: Vec<Observed> = model
        .subflows
        .iter()
        .zip(&counts.subflows)
        .map(|(model, counts)| Observed::new(scenario, model, counts, end))
        .collect();
    let mut times: Vec<u64> = subflows.iter().flat_map(Observed::changes_of_truth).collect();
    times.sort_unstable();
    times.dedup();

    let mut detections = Vec::new();
    for (own, subflow) in subflows.iter().enumerate() {
        // Stretches between changes of the truth about anybody, joined where it is the same for this one.
        let mut stretches: Vec<(Truth, u64, u64)> = Vec::new();
        for stretch in times.windows(2) {
            let Some(truth) = Truth::of(scenario, &subflows, own, stretch[0]) else { continue };
            match stretches.last_mut() {
                Some((last, _, to)) if *last == truth && *to == stretch[0] => *to = stretch[1],
                _ => stretches.push((truth, stretch[0], stretch[1])),
            }
        }
        for (truth, from, to) in stretches {
            let bottleneck = scenario.links[truth.bottleneck].name.clone();
            let mut detection = judge(&subflows, own, &truth, (from, to));
            detection.connection.clone_from(&model.name);
            detection.subflow.clone_from(&subflow.model.name);
            detection.bottleneck = bottleneck;
            detections.push(detection);
        }
    }
    detections
}

/// A subflow: where it went, when it was there, what was said of it.
struct Observed<'a> {
    model: &'a model::Subflow,
    counts: &'a SubflowCounts,
    /// Its bottleneck from each time on.
    bottlenecks: Vec<(u64, usize)>,
    /// When it was established: `[from, to)`.
    lives: Vec<(u64, u64)>,
}

impl<'a> Observed<'a> {
    fn new(scenario: &Scenario, model: &'a model::Subflow, counts: &'a SubflowCounts, end: u64) -> Self {
        let slowest = |route: &[usize]| scenario.bottleneck(route);
        let mut bottlenecks = vec![(0, slowest(&model.route))];
        for reroute in &model.reroutes {
            bottlenecks.extend(reroute.forward.as_ref().map(|route| (reroute.at_ns, slowest(route))));
        }
        let always = [(0, end)];
        let up: &[(u64, u64)] = if model.up.is_empty() { &always } else { &model.up };
        let lives = up.iter().filter_map(|&(from, to)| {
            let heard = counts.verdicts.iter().map(|verdict| verdict.time_ns);
            let from = heard.filter(|&time| time >= from).min()?;
            (from < to.min(end)).then_some((from, to.min(end)))
        });
        Self { model, counts, bottlenecks, lives: lives.collect() }
    }

    fn changes_of_truth(&self) -> Vec<u64> {
        let lives = self.lives.iter().flat_map(|&(from, to)| [from, to]);
        lives.chain(self.bottlenecks.iter().map(|&(time, _)| time)).collect()
    }

    fn lives_at(&self, time: u64) -> bool {
        self.lives.iter().any(|life| (life.0..life.1).contains(&time))
    }

    fn bottleneck_at(&self, time: u64) -> usize {
        self.bottlenecks[self.bottlenecks.partition_point(|&(from, _)| from <= time) - 1].1
    }

    /// Its group; 0 before it was established.
    fn group_at(&self, time: u64) -> u16 {
        let heard = self.counts.verdicts.partition_point(|verdict| verdict.time_ns <= time);
        heard.checked_sub(1).map_or(0, |last| self.counts.verdicts[last].group)
    }
}

/// Which subflows of a connection have the bottleneck of one of them.
#[derive(PartialEq)]
struct Truth {
    bottleneck: usize,
    /// By their numbers, without the one itself.
    others: Vec<usize>,
}

impl Truth {
    fn of(scenario: &Scenario, subflows: &[Observed], own: usize, time: u64) -> Option<Self> {
        let bottleneck = subflows[own].lives_at(time).then(|| subflows[own].bottleneck_at(time))?;
        let shares = |other: &usize| {
            *other != own
                && scenario.links[bottleneck].forward.has_one_queue()
                && subflows[*other].lives_at(time)
                && subflows[*other].bottleneck_at(time) == bottleneck
        };
        Some(Self { bottleneck, others: (0..subflows.len()).filter(shares).collect() })
    }
}

fn judge(subflows: &[Observed], own: usize, truth: &Truth, (from, to): (u64, u64)) -> Detection {
    let shared = !truth.others.is_empty();
    let mut times: Vec<u64> = subflows
        .iter()
        .flat_map(|subflow| subflow.counts.verdicts.iter().map(|verdict| verdict.time_ns))
        .filter(|time| (from + 1..to).contains(time))
        .chain([from, to])
        .collect();
    times.sort_unstable();
    times.dedup();

    let (mut right_ns, mut group_right_ns) = (0, 0);
    let (mut changes, mut right_changes) = (0, 0);
    let (mut first_right, mut settled) = (None, None);
    let mut before = None;
    for stretch in times.windows(2) {
        let group = subflows[own].group_at(stretch[0]);
        let right = (group != 0) == shared;
        let together = |other: usize| {
            other != own && group != 0 && subflows[other].lives_at(stretch[0]) && {
                subflows[other].group_at(stretch[0]) == group
            }
        };
        if right {
            right_ns += stretch[1] - stretch[0];
            first_right.get_or_insert(stretch[0]);
            settled.get_or_insert(stretch[0]);
            if (0..subflows.len()).filter(|&other| together(other)).eq(truth.others.iter().copied()) {
                group_right_ns += stretch[1] - stretch[0];
            }
        } else {
            settled = None;
        }
        if before.is_some_and(|before| before != right) {
            changes += 1;
            right_changes += usize::from(right);
        }
        before = Some(right);
    }
    let percent = |ns: u64| 100.0 * ns as f64 / (to - from) as f64;
    let milliseconds = |time: u64| (time - from) as f64 / 1e6;
    Detection {
        connection: String::new(),
        subflow: String::new(),
        bottleneck: String::new(),
        shared,
        from_s: from as f64 / 1e9,
        to_s: to as f64 / 1e9,
        accuracy_percent: percent(right_ns),
        group_accuracy_percent: percent(group_right_ns),
        changes,
        right_changes,
        first_right_ms: first_right.map(milliseconds),
        settled_ms: settled.map(milliseconds),
    }
}
