//! The state of a run, and functions for all its parts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use braid_algorithms::Spec;
use braid_results::measure::{LinkLook, LinkSample, Measurements, SubflowSample};
use braid_scenario::model::{self, Direction, Scenario};

use super::calendar::Plan;
use super::retired::Retired;
use crate::connection::Connection;
use crate::driven::Driven;
use crate::event_queue::{CALENDAR, Element, NEVER};
use crate::network::Network;
use crate::packet::Packet;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;

/// A mark that no subflow has.
pub(super) const NOBODY: u32 = u32::MAX;

/// The routes of a subflow and its present incarnation.
pub(crate) struct Path {
    /// Mark of accepted packets: the current incarnation's once it is established, otherwise [`NOBODY`].
    pub(super) live: u32,
    /// Mark of its packets: the subflow's number, and above it the number of its incarnation.
    pub(super) id: u32,
    pub(super) connection: usize,
    pub(super) index: usize,
    /// Its number among the scenario's subflows: short flows count together.
    pub(super) scenario_subflow: usize,
    pub(super) forward_hop: u32,
    pub(super) reverse_hop: u32,
    /// The queue at its bottleneck, as a perfect detector would know it.
    pub(super) queue: u32,
    pub(super) established: Option<u64>,
    pub(super) closed: Option<u64>,
}

impl Path {
    /// Mark of its packets.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Its connection, and its index there.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.connection, self.index)
    }
}

/// A run in progress.
pub(crate) struct Run<'a> {
    pub(super) scenario: &'a Scenario,
    pub(crate) network: Network,
    pub(super) calendar: BinaryHeap<Reverse<(u64, Plan)>>,
    /// One per connection of the scenario.
    pub(crate) applications: Vec<Driven>,
    pub(super) specs: Vec<Spec>,
    /// One per connection of the scenario, too.
    pub(super) schedulers: Vec<braid_schedulers::Spec>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) paths: Vec<Path>,
    /// Mask of the subflow's number in a packet's mark.
    pub(crate) number_mask: u32,
    pub(crate) senders: Vec<Sender>,
    pub(super) receivers: Vec<Receiver>,
    pub(super) first_sender: Element,
    pub(super) first_receiver: Element,
    pub(super) end: u64,
    pub(super) at_start: Option<Measurements>,
    /// Counters at the start and end of periods.
    pub(super) marks: BTreeMap<u64, Measurements>,
    /// Counters of past incarnations, one per subflow of the scenario.
    pub(super) retired: Vec<Retired>,
    pub(super) cwnd_samples: Vec<Vec<u32>>,
    pub(super) subflow_samples: Vec<Vec<SubflowSample>>,
    /// One list per link of the scenario.
    pub(super) link_samples: Vec<Vec<LinkSample>>,
    /// One list per sampled link of the scenario.
    pub(super) link_looks: BTreeMap<usize, Vec<LinkLook>>,
    pub(super) events: u64,
    /// An external stack sends datagrams in place of MPTCP connections.
    pub(super) carries_datagrams: bool,
    /// Datagrams at the end of their routes that the caller has not taken yet.
    pub(super) arrived: VecDeque<Packet>,
}

impl<'a> Run<'a> {
    /// The model of a connection.
    pub(crate) fn model(&self, connection: usize) -> &'a model::Connection {
        &self.scenario.connections[self.connections[connection].number]
    }

    /// The model of one direction of a link.
    pub(super) fn direction(&self, link: u32) -> &'a Direction {
        let both = &self.scenario.links[link as usize / 2];
        if link.is_multiple_of(2) { &both.forward } else { &both.reverse }
    }

    /// When it ends.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end
    }

    /// Events that have happened.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Time of the next event; outdated entries count, too.
    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        self.network.events.peek().map(|(time, _)| time)
    }

    pub(super) fn plan(&mut self, time: u64, plan: Plan) {
        if time >= self.end {
            return;
        }
        self.calendar.push(Reverse((time, plan)));
        self.network.events.schedule(time, CALENDAR);
    }

    /// Lets the other subflows send a subflow's outstanding data.
    pub(super) fn reinject_from(&mut self, number: usize, index: usize) {
        let connection = &mut self.connections[number];
        let senders = &mut self.senders[connection.first..connection.first + connection.n];
        connection.reinject_from(senders, index);
    }

    /// Sends all data that may be sent now.
    pub(super) fn push_written(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        let first = connection.first;
        let senders = &mut self.senders[first..first + connection.n];
        connection.push_written(senders, &mut self.network);
        self.plan_senders(first);
    }

    pub(super) fn plan_senders(&mut self, subflow: usize) {
        let number = self.paths[subflow].connection;
        let connection = &self.connections[number];
        let (first, n, wakes) = (connection.first, connection.n, connection.wake_at != NEVER);
        for (subflow, sender) in (first..).zip(&mut self.senders[first..first + n]) {
            if sender.is_to_be_planned() {
                sender.planned = sender.deadline();
                self.network.events.schedule(sender.planned, self.first_sender + subflow as Element);
            }
        }
        if wakes {
            self.plan_wake(number);
        }
    }

    /// Plans the scheduler's next call, if it waits for a time.
    #[cold]
    fn plan_wake(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        if connection.wake_at < connection.wake_planned {
            connection.wake_planned = connection.wake_at;
            let (time, incarnation) = (connection.wake_at, connection.incarnation);
            self.plan(time, Plan::Wake(number, incarnation));
        }
    }

    /// Calls the scheduler at the planned time.
    pub(super) fn wake(&mut self, number: usize, incarnation: u32) {
        let connection = &mut self.connections[number];
        let is_meant = connection.incarnation == incarnation && !connection.closed;
        if is_meant && connection.wake_planned <= self.network.now {
            connection.wake_planned = NEVER;
            if connection.is_early(self.network.now) {
                self.plan_wake(number);
                return;
            }
            let senders = &mut self.senders[connection.first..connection.first + connection.n];
            connection.data_timeout(senders, &mut self.network);
            self.push_written(number);
        }
    }

    /// Ensures that the event queue has an entry no later than the timer's deadline.
    #[inline]
    pub(super) fn plan_sender(&mut self, subflow: usize) {
        let sender = &mut self.senders[subflow];
        if sender.is_to_be_planned() {
            sender.planned = sender.deadline();
            self.network.events.schedule(sender.planned, self.first_sender + subflow as Element);
        }
    }

    /// Ensures that the event queue has an entry no later than the delayed acknowledgement.
    pub(super) fn plan_receiver(&mut self, subflow: usize) {
        let receiver = &mut self.receivers[subflow];
        if receiver.due < receiver.planned {
            receiver.planned = receiver.due;
            self.network.events.schedule(receiver.due, self.first_receiver + subflow as Element);
        }
    }
}
