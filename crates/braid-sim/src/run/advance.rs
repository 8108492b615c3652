//! The event loop.

use std::cmp::Reverse;

use super::calendar::Plan;
use super::state::Run;
use crate::driven::Driven;
use crate::event_queue::{Element, FIRST_LINK};

/// Interval of samples.
const SAMPLE_NS: u64 = braid_results::measure::SAMPLE_INTERVAL_NS;

impl Run<'_> {
    /// Handles all events before `limit`, a [`moment`](crate::event_queue::moment).
    pub(crate) fn advance(&mut self, limit: u64) {
        self.handle_events(limit, false);
    }

    /// As [`Self::advance`], but stops at the next arriving datagram.
    pub(super) fn advance_to_datagram(&mut self, limit: u64) {
        self.handle_events(limit, true);
    }

    /// The only event loop: functions called once are inlined into it. A second loop would make a packet cost a tenth
    /// more.
    #[inline(never)]
    fn handle_events(&mut self, limit: u64, stops_at_datagram: bool) {
        while !stops_at_datagram || self.arrived.is_empty() {
            let Some((time, element)) = self.network.events.next_before(limit) else { return };
            self.handle(time, element);
        }
    }

    #[allow(clippy::inline_always, reason = "once per event")]
    #[inline(always)]
    fn handle(&mut self, time: u64, element: Element) {
        debug_assert!(time >= self.network.now, "time never goes back");
        self.network.now = time;
        self.events += 1;
        if (FIRST_LINK..self.first_sender).contains(&element) {
            if let Some(packet) = self.network.arrive(element - FIRST_LINK) {
                self.receive(&packet);
            }
            return;
        }
        self.network.events.remove_first();
        if element < FIRST_LINK {
            self.follow_calendar();
        } else if element < self.first_receiver {
            self.sender_timer((element - self.first_sender) as usize);
        } else {
            self.receiver_timer((element - self.first_receiver) as usize);
        }
    }

    pub(super) fn follow_calendar(&mut self) {
        while let Some(&Reverse((time, plan))) = self.calendar.peek() {
            if time > self.network.now {
                break;
            }
            self.calendar.pop();
            match plan {
                Plan::Open(number) => self.begin(number),
                Plan::Join(subflow, incarnation) => self.join(subflow, incarnation),
                Plan::Leave(subflow, incarnation) => self.leave(subflow, incarnation),
                Plan::Close(number) => self.stop(number),
                Plan::Due(timer, number) => self.due(number, timer),
                Plan::Repeat(number, transfer) => self.repeat_request(number, transfer),
                Plan::Wake(number, incarnation) => self.wake(number, incarnation),
                Plan::Change(link, nth) => self.network.change(link, &self.direction(link).changes[nth]),
                Plan::Reroute(number, index, nth) => self.reroute(number, index, nth),
                Plan::Measure => {
                    self.at_start = Some(self.totals());
                    self.plan(time, Plan::Sample);
                }
                Plan::Mark => {
                    let totals = self.totals();
                    self.marks.insert(time, totals);
                }
                Plan::Sample => {
                    self.sample();
                    self.plan(time + SAMPLE_NS, Plan::Sample);
                }
                Plan::Observe => {
                    self.observe();
                    self.plan(time + SAMPLE_NS, Plan::Observe);
                }
                Plan::Look => {
                    self.look();
                    self.plan(time + SAMPLE_NS, Plan::Look);
                }
            }
        }
    }

    /// Packets that these subflows send from now on take another route.
    pub(super) fn reroute(&mut self, number: usize, index: usize, nth: usize) {
        let change = &self.scenario.connections[number].subflows[index].reroutes[nth];
        let forward = change.forward.as_ref().map(|route| self.network.add_forward_route(route));
        let reverse = change.reverse.as_ref().map(|route| self.network.add_reverse_route(route));
        let Driven { first, n, .. } = self.applications[number];
        for connection in first..first + n {
            let subflow = self.connections[connection].first + index;
            if let Some(hop) = forward {
                let route = change.forward.as_deref().unwrap_or_default();
                self.paths[subflow].forward_hop = hop;
                self.paths[subflow].queue = self.scenario.bottleneck_queue(route);
                self.senders[subflow].set_route(hop);
                self.state_queue(subflow);
            }
            if let Some(hop) = reverse {
                self.paths[subflow].reverse_hop = hop;
                self.receivers[subflow].set_route(hop);
            }
        }
    }
}
