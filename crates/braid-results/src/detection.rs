//! Labels of shared-bottleneck detectors, compared with the truth.
//!
//! The truth is the scenario's: the bottleneck of a subflow is the slowest link of its present route. It is shared if
//! another established subflow of the connection has the same bottleneck, unless each flow has its own queue there
//! (`fq_codel`).

use braid_scenario::model::{self, Scenario};

use crate::catalogue::Detection;
use crate::measure::{ConnectionCounts, LinkCounts, LinkLook, SubflowCounts};

/// A queue persists where packets wait longer than this, on average over the previous [`SECOND`].
const STANDING_NS: f64 = 3e6;
/// And longer than the jitter times this.
const JITTERS: f64 = 3.0;
const SECOND: u64 = 1_000_000_000;
/// Times at which labels are checked, nanoseconds after their interval has begun.
const LOOKS_NS: [u64; 6] = [500_000_000, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 20 * SECOND];

impl Detection {
    /// Length in seconds.
    pub fn lasts_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// Percent of all time of all subflows in which the label was right; `None` without a detector.
pub fn accuracy_percent<'a>(detections: impl Iterator<Item = &'a Detection> + Clone) -> Option<f64> {
    let time: f64 = detections.clone().map(Detection::lasts_s).sum();
    let right = detections.map(|detection| detection.accuracy_percent * detection.lasts_s());
    (time > 0.0).then(|| right.sum::<f64>() / time)
}

/// Labels of every subflow with a detector until `end`, nanoseconds from the start of the run.
pub(crate) fn detections(
    scenario: &Scenario,
    counts: &[ConnectionCounts],
    links: &[LinkCounts],
    end: u64,
) -> Vec<Detection> {
    let connections = scenario.connections.iter().zip(counts);
    connections.flat_map(|(model, counts)| of_connection(scenario, model, counts, links, end)).collect()
}

fn of_connection(
    scenario: &Scenario,
    model: &model::Connection,
    counts: &ConnectionCounts,
    links: &[LinkCounts],
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
        // Intervals between changes of the truth about anybody, joined where it is the same for this one.
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
            let looks = &links[truth.bottleneck].looks;
            let stood = (!looks.is_empty()).then(|| standing(scenario, subflow, &truth, looks));
            detections.push(Detection {
                connection: model.name.clone(),
                subflow: subflow.model.name.clone(),
                bottleneck,
                ..judge(&subflows, own, &truth, (from, to), stood.as_deref())
            });
        }
    }
    detections
}

/// A subflow over time: routes, existence and labels.
struct Observed<'a> {
    model: &'a model::Subflow,
    counts: &'a SubflowCounts,
    /// Changes of its bottleneck, each with its time.
    bottlenecks: Vec<(u64, usize)>,
    /// Intervals in which it was established: `[from, to)`.
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

/// Subflows of a connection that share the bottleneck of one of them.
#[derive(PartialEq)]
struct Truth {
    bottleneck: usize,
    /// Their numbers, without the subflow itself.
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

/// Intervals with a persistent queue at the bottleneck: `[from, to)`.
fn standing(scenario: &Scenario, subflow: &Observed, truth: &Truth, looks: &[LinkLook]) -> Vec<(u64, u64)> {
    let model = subflow.model;
    let routes = model.reroutes.iter().filter_map(|reroute| reroute.forward.as_ref());
    let links = routes.chain([&model.route]).flatten().map(|&link| scenario.links[link].forward.jitter_ns);
    let least = STANDING_NS.max(JITTERS * links.max().unwrap_or(0) as f64);
    let bottleneck = &scenario.links[truth.bottleneck].forward;
    let mut times: Vec<(u64, u64)> = Vec::new();
    for (nth, look) in looks.iter().enumerate() {
        let before = looks.partition_point(|other| other.time_ns + SECOND < look.time_ns);
        let until = looks.get(nth + 1).map_or(u64::MAX, |next| next.time_ns);
        if wait_ns(bottleneck, &looks[before], look) > least {
            match times.last_mut() {
                Some((_, to)) if *to == look.time_ns => *to = until,
                _ => times.push((look.time_ns, until)),
            }
        }
    }
    times
}

/// Mean waiting time of a packet that arrived between two samples: packets that waited, without the one being sent,
/// times the transmission time.
fn wait_ns(link: &model::Direction, first: &LinkLook, last: &LinkLook) -> f64 {
    let (before, after) = (&first.counts, &last.counts);
    let packets = after.packets - before.packets;
    if packets == 0 {
        return 0.0;
    }
    let rates = link.changes.iter().take_while(|change| change.at_ns <= last.time_ns);
    let rate_bps = rates.filter_map(|change| change.rate_bps).last().unwrap_or(link.rate_bps);
    let being_sent = u128::from(after.busy_ns.saturating_sub(before.busy_ns));
    let waited = after.queue_integral.saturating_sub(before.queue_integral + being_sent) as f64;
    let one_ns = 8e9 * (after.bytes - before.bytes) as f64 / packets as f64 / rate_bps.max(1) as f64;
    waited / (last.time_ns - first.time_ns) as f64 * one_ns
}

/// `stood`: intervals with a persistent queue at the bottleneck.
fn judge(
    subflows: &[Observed],
    own: usize,
    truth: &Truth,
    (from, to): (u64, u64),
    stood: Option<&[(u64, u64)]>,
) -> Detection {
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
    let looks = LOOKS_NS.iter().map(|after| from + after).filter(|&time| time < to);
    let right_at = looks.map(|time| {
        let right = (subflows[own].group_at(time) != 0) == shared;
        ((time - from) as f64 / 1e9, right)
    });
    let right_at = right_at.collect();
    // Right time within intervals with a persistent queue, except the first second.
    let of_standing = |(begin, end): (u64, u64)| -> u64 {
        let begin = begin.max(from + SECOND);
        let parts = stood.unwrap_or_default().iter();
        parts.map(|&(since, until)| until.min(end).saturating_sub(since.max(begin))).sum()
    };
    let mut right_standing_ns = 0;
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
            right_standing_ns += of_standing((stretch[0], stretch[1]));
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
    let standing_ns = of_standing((from, to));
    let milliseconds = |time: u64| (time - from) as f64 / 1e6;
    Detection {
        shared,
        from_s: from as f64 / 1e9,
        to_s: to as f64 / 1e9,
        accuracy_percent: percent(right_ns),
        group_accuracy_percent: percent(group_right_ns),
        changes,
        right_changes,
        first_right_ms: first_right.map(milliseconds),
        settled_ms: settled.map(milliseconds),
        right_at,
        standing_s: stood.map(|_| standing_ns as f64 / 1e9),
        standing_accuracy_percent: (standing_ns > 0)
            .then(|| 100.0 * right_standing_ns as f64 / standing_ns as f64),
        ..Detection::default()
    }
}
