//! Changes of a link during the run.

use super::queue::{ecn_threshold, queue_limit};
use super::resolver::{LONGEST_DELAY, Resolver};
use crate::document::Path;
use crate::format;
use crate::model::{Change, Direction};
use crate::units::Duration;

impl Resolver<'_> {
    /// The changes of a direction with these initial values.
    pub(super) fn changes(
        &mut self,
        place: &Path,
        given: &[format::Change],
        start: &Direction,
    ) -> Vec<Change> {
        let mut before = Duration(0);
        let (mut limit, mut threshold, mut up) = (start.queue, start.ecn_threshold, true);
        let mut changes = Vec::with_capacity(given.len());
        for (i, change) in given.iter().enumerate() {
            let place = place.index(i);
            self.at(&place, change.at, before, "at the start, the values of the link itself hold");
            before = change.at;
            if change.rate.is_some() && start.trace.is_some() {
                let hint = Some("remove it, or give the link a rate instead of a trace".to_owned());
                self.fail(&place.key("rate"), "the trace gives the rate", hint);
            }
            if let Some(delay) = change.delay {
                self.delay(&place.key("delay"), delay, LONGEST_DELAY);
            }
            if let Some(queue) = change.queue {
                self.queue(&place, queue);
                limit = queue_limit(queue);
            }
            if let Some(given) = change.ecn_threshold {
                threshold = Some(ecn_threshold(given));
            }
            if change.queue.is_some() || change.ecn_threshold.is_some() {
                let key = if change.ecn_threshold.is_some() { "ecn-threshold" } else { "queue" };
                self.marking(&place.key(key), threshold, limit, &start.discipline);
            }
            if let Some(state) = change.state {
                let now = state == format::State::Up;
                if now == up {
                    let message = format!("the link is {} already", if up { "up" } else { "down" });
                    self.fail(&place.key("state"), message, None);
                }
                up = now;
            }
            let discipline = change.discipline.map(|given| self.parameters(&place, given, &start.discipline));
            let change = Change {
                at_ns: change.at.0,
                rate_bps: change.rate.map(|rate| rate.0),
                delay_ns: change.delay.map(|delay| delay.0),
                loss: change.loss.map(|loss| self.loss(&place.key("loss"), loss)),
                queue: change.queue.map(queue_limit),
                discipline,
                ecn_threshold: change.ecn_threshold.map(ecn_threshold),
                up: change.state.map(|state| state == format::State::Up),
            };
            if change.is_empty() {
                let hint = Some("add a new rate, delay, loss, queue or state".to_owned());
                self.fail(&place, format!("nothing changes at {before}"), hint);
            }
            changes.push(change);
        }
        changes
    }
}

/// The changes of the forward direction, except of keys that the return direction sets.
pub(super) fn changes_but(forward: &[Change], reverse: &format::Reverse) -> Vec<Change> {
    let own_rate = reverse.rate.is_some() || reverse.trace.is_some();
    let own_loss = reverse.loss.is_some() || reverse.drop_every.is_some();
    let own_discipline = reverse.discipline.is_some();
    let own_threshold = own_discipline || reverse.ecn_threshold.is_some();
    let kept = forward.iter().map(|change| Change {
        at_ns: change.at_ns,
        rate_bps: change.rate_bps.filter(|_| !own_rate),
        delay_ns: change.delay_ns.filter(|_| reverse.delay.is_none()),
        loss: change.loss.filter(|_| !own_loss),
        queue: change.queue.filter(|_| reverse.queue.is_none()),
        discipline: change.discipline.filter(|_| !own_discipline),
        ecn_threshold: change.ecn_threshold.filter(|_| !own_threshold),
        up: change.up,
    });
    kept.filter(|change| !change.is_empty()).collect()
}
