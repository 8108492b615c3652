//! A link with both directions.

use std::sync::Arc;

use super::change::changes_but;
use super::queue::{ecn_threshold, queue_limit};
use super::resolver::{LONGEST_DELAY, Resolver};
use crate::document::Path;
use crate::error::MOST_PROBLEMS;
use crate::format;
use crate::model::{Direction, Discipline, Loss};
use crate::trace::{NotRead, Trace};
use crate::units::{Duration, Queue, Rate, Threshold, Window};

/// Keys of one direction in the file.
struct Keys<'a> {
    rate_bps: u64,
    trace: Option<Arc<Trace>>,
    delay: Duration,
    jitter: Duration,
    reordering: bool,
    queue: Queue,
    loss: Loss,
    ecn_threshold: Option<Threshold>,
    outages: &'a [Window],
    discipline: Discipline,
    keeps_queue: bool,
}

impl Resolver<'_> {
    pub(super) fn link(&mut self, place: &Path, link: &format::Link) -> (Direction, Direction) {
        let (there, back) = match (link.delay, link.rtt) {
            (Some(delay), None) => {
                self.delay(&place.key("delay"), delay, LONGEST_DELAY);
                (delay, delay)
            }
            (None, Some(rtt)) => {
                self.delay(&place.key("rtt"), rtt, Duration(2 * LONGEST_DELAY.0));
                let there = rtt.0 / 2;
                (Duration(there), Duration(rtt.0 - there))
            }
            (Some(_), Some(_)) => {
                self.both(&place.key("rtt"), &place.key("delay"));
                (Duration(0), Duration(0))
            }
            (None, None) => {
                let hint =
                    Some("add delay = \"5ms\" (one way) or rtt = \"10ms\" (there and back)".to_owned());
                self.fail(place, "missing key \"delay\"", hint);
                (Duration(0), Duration(0))
            }
        };
        self.queue(place, link.queue);
        let loss = self.loss_of(place, link.loss, link.drop_every);
        let discipline = self.discipline(&place.key("discipline"), link.discipline);
        if link.rate.is_none() && link.trace.is_none() {
            let hint = Some("add rate = \"10mbit\", or trace = \"FILE\" for a rate that varies".to_owned());
            self.fail(place, "missing key \"rate\"", hint);
        }
        let (rate_bps, trace) = self.rate(place, link.rate, link.trace.as_deref());
        let trace = self.begun(place, trace, link.trace_start);
        let mut forward = self.direction(
            place,
            &Keys {
                rate_bps,
                trace,
                delay: there,
                jitter: link.jitter,
                reordering: link.reordering,
                queue: link.queue,
                loss,
                ecn_threshold: link.ecn_threshold,
                outages: &link.outages,
                discipline,
                keeps_queue: link.when_down == Some(format::WhenDown::Keep),
            },
        );
        forward.changes = self.changes(&place.key("change"), &link.change, &forward);
        if link.reordering && !can_reorder(&forward) {
            self.cannot_reorder(place);
        }
        let reverse = match &link.reverse {
            None => Direction { delay_ns: back.0, ..forward.clone() },
            Some(reverse) => self.reverse(&place.key("reverse"), link, reverse, back, &forward),
        };
        let mut changes = forward.changes.iter().chain(&reverse.changes);
        if link.when_down.is_some() && changes.all(|change| change.up.is_none()) {
            let hint = Some("add a change with state = \"down\", or remove when-down".to_owned());
            self.fail(&place.key("when-down"), "no change takes the link down", hint);
        }
        (forward, reverse)
    }

    /// The rate, or a trace with its mean rate. The caller reports missing keys.
    fn rate(&mut self, place: &Path, rate: Option<Rate>, trace: Option<&str>) -> (u64, Option<Arc<Trace>>) {
        let Some(name) = trace else { return (rate.map_or(1, |rate| rate.0), None) };
        if rate.is_some() {
            self.both(&place.key("trace"), &place.key("rate"));
        }
        let place = place.key("trace");
        match self.traces.get(self.source, name) {
            Ok(trace) => (trace.mean_bps(), Some(trace)),
            Err(NotRead::Outside(message, hint)) => {
                self.fail(&place, message, hint);
                (1, None)
            }
            Err(NotRead::Inside(problem)) => {
                if self.problems.len() < MOST_PROBLEMS {
                    self.problems.push(problem.key(place.to_string()));
                }
                (1, None)
            }
        }
    }

    /// The trace from its start.
    fn begun(
        &mut self,
        place: &Path,
        trace: Option<Arc<Trace>>,
        start: Option<Duration>,
    ) -> Option<Arc<Trace>> {
        const MS: u64 = 1_000_000;
        let Some(Duration(start)) = start else { return trace };
        let place = place.key("trace-start");
        let Some(trace) = trace else {
            let hint = Some("add trace = \"FILE\", or remove trace-start".to_owned());
            self.fail(&place, "there is no trace to start", hint);
            return None;
        };
        if start % MS != 0 || start >= trace.period_ns() {
            let message = format!(
                "expected whole milliseconds, less than the trace's {}, found \"{}\"",
                Duration(trace.period_ns()),
                Duration(start)
            );
            self.fail(&place, message, None);
            return Some(trace);
        }
        Some(Arc::new(trace.begun_at((start / MS) as u32)))
    }

    fn cannot_reorder(&mut self, place: &Path) {
        let hint = Some("add jitter = \"1ms\", or remove reordering".to_owned());
        let message = "without jitter or a delay that gets shorter no packet overtakes another";
        self.fail(&place.key("reordering"), message, hint);
    }

    fn reverse(
        &mut self,
        place: &Path,
        link: &format::Link,
        reverse: &format::Reverse,
        back: Duration,
        forward: &Direction,
    ) -> Direction {
        if let Some(delay) = reverse.delay {
            if link.rtt.is_some() {
                let hint = Some("give the delay of each direction instead of rtt".to_owned());
                self.fail(
                    &place.key("delay"),
                    "the rtt of the link already gives the delay of both directions",
                    hint,
                );
            }
            self.delay(&place.key("delay"), delay, LONGEST_DELAY);
        }
        if let Some(queue) = reverse.queue {
            self.queue(place, queue);
        }
        let loss = match (reverse.loss, reverse.drop_every) {
            (None, None) => forward.loss,
            (loss, drop_every) => self.loss_of(place, loss, drop_every),
        };
        let discipline = match reverse.discipline {
            None => forward.discipline,
            given => self.discipline(&place.key("discipline"), given),
        };
        let ecn_threshold = match reverse.discipline {
            None => reverse.ecn_threshold.or(link.ecn_threshold),
            Some(_) => reverse.ecn_threshold,
        };
        let (rate_bps, trace) = match (reverse.rate, &reverse.trace) {
            (None, None) if reverse.trace_start.is_none() => (forward.rate_bps, forward.trace.clone()),
            (None, None) => self.rate(place, link.rate, link.trace.as_deref()),
            (rate, trace) => self.rate(place, rate, trace.as_deref()),
        };
        let trace = self.begun(place, trace, reverse.trace_start);
        let direction = self.direction(
            place,
            &Keys {
                rate_bps,
                trace,
                delay: reverse.delay.unwrap_or(back),
                jitter: reverse.jitter.unwrap_or(link.jitter),
                reordering: reverse.reordering.unwrap_or(link.reordering),
                queue: reverse.queue.unwrap_or(link.queue),
                loss,
                ecn_threshold,
                outages: reverse.outages.as_ref().unwrap_or(&link.outages),
                discipline,
                keeps_queue: forward.keeps_queue,
            },
        );
        let changes = match &reverse.change {
            None => changes_but(&forward.changes, reverse),
            Some(changes) => self.changes(&place.key("change"), changes, &direction),
        };
        let mut direction = Direction { changes, ..direction };
        if direction.reordering && !can_reorder(&direction) {
            direction.reordering = false;
            if reverse.reordering.is_some() {
                self.cannot_reorder(place);
            }
        }
        direction
    }

    fn direction(&mut self, place: &Path, keys: &Keys<'_>) -> Direction {
        self.delay(&place.key("jitter"), keys.jitter, LONGEST_DELAY);
        let queue = queue_limit(keys.queue);
        let ecn_threshold = keys.ecn_threshold.map(ecn_threshold);
        self.marking(&place.key("ecn-threshold"), ecn_threshold, queue, &keys.discipline);
        self.ordered(&place.key("outages"), keys.outages);
        Direction {
            rate_bps: keys.rate_bps,
            trace: keys.trace.clone(),
            delay_ns: keys.delay.0,
            jitter_ns: keys.jitter.0,
            noise_ns: 0,
            reordering: keys.reordering,
            queue,
            loss: keys.loss,
            ecn_threshold,
            outages: keys.outages.iter().map(|window| (window.from.0, window.to.0)).collect(),
            discipline: keys.discipline,
            changes: Vec::new(),
            keeps_queue: keys.keeps_queue,
        }
    }
}

/// Whether a packet can arrive before one sent earlier.
fn can_reorder(direction: &Direction) -> bool {
    let mut delay_ns = direction.delay_ns;
    let mut changes = direction.changes.iter().filter_map(|change| change.delay_ns);
    direction.jitter_ns > 0 || changes.any(|next| next < std::mem::replace(&mut delay_ns, next))
}
