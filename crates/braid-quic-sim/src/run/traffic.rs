//! What applications do to QUIC connections.

use braid_sim::application::{Action, ENDLESS};

use super::state::{Plan, Run};
use crate::flow::Flow;

impl Run<'_> {
    /// An application ends, with all its flows.
    pub(super) fn close(&mut self, now_ns: u64, index: usize) {
        let own = &mut self.applications[index];
        if own.application.stop(now_ns) {
            for place in own.places.clone() {
                let now = self.now();
                self.flows[place].iter_mut().for_each(|flow| flow.close(now, now_ns));
                self.work(place);
            }
        }
    }

    /// Does what an application asks for.
    pub(super) fn drive(&mut self, now_ns: u64, index: usize) {
        while let Some(action) = self.applications[index].application.next_action() {
            match action {
                Action::Wait(time, timer) => self.plan(time, Plan::Due(timer, index)),
                Action::Open(transfer) => self.open(now_ns, index, transfer),
                Action::Stop => self.close(now_ns, index),
                action => {
                    let own = &mut self.applications[index];
                    let place = own.places.start;
                    if let Some(flow) = &mut self.flows[place] {
                        own.act(action, flow);
                        self.work(place);
                    }
                }
            }
        }
    }

    /// Opens a flow; that of a short flow takes a place that is free.
    fn open(&mut self, now_ns: u64, index: usize, transfer: Option<usize>) {
        let mut place = self.applications[index].places.start;
        if self.applications[index].application.is_short_flows() {
            let is_free = |flow: &Option<Flow>| flow.as_ref().is_none_or(|flow| flow.is_closed);
            let free = self.applications[index].places.clone().find(|&place| is_free(&self.flows[place]));
            place = free.expect("no more short flows than places");
            if let Some(old) = self.flows[place].take() {
                self.applications[index].retire(&old, now_ns);
            }
            match self.new_flow(self.applications[index].number) {
                Ok(flow) => self.flows[place] = Some(flow),
                Err(why) => self.doubts.push(why),
            }
        }
        let now = self.now();
        if let Some(flow) = &mut self.flows[place] {
            flow.transfer = transfer;
            flow.open(now);
            self.work(place);
        }
    }

    /// The receiver of a flow is connected: plans when other paths are opened and closed.
    pub(super) fn connected(&mut self, now_ns: u64, place: usize, id: u32) {
        let index = self.owner[place];
        let model = self.applications[index].model;
        for (subflow, of) in model.subflows.iter().enumerate() {
            if of.up.is_empty() && subflow > 0 {
                // The handshake has taken a round trip, after which others join with TCP, too.
                let wait = of.join_delay_ns.unwrap_or(0);
                self.plan(now_ns + wait, Plan::Join(place, id, subflow));
            }
            for &(from, to) in of.up.iter().filter(|&&(_, to)| to > now_ns) {
                if subflow > 0 || from > now_ns {
                    self.plan(from.max(now_ns), Plan::Join(place, id, subflow));
                }
                self.plan(to, Plan::Leave(place, id, subflow));
            }
        }
        if self.applications[index].application.begins_at_receiver() {
            self.plan(now_ns, Plan::Established(index));
        }
    }

    /// The sender of a flow is connected.
    pub(super) fn may_write(&mut self, now_ns: u64, place: usize) {
        let index = self.owner[place];
        let own = &self.applications[index];
        let Some(flow) = &mut self.flows[place] else { return };
        if let Some(bytes) = own.application.first_bytes(flow.transfer) {
            flow.send(bytes, bytes != ENDLESS);
        } else if !own.application.begins_at_receiver() {
            flow.send(0, false);
            self.plan(now_ns, Plan::Established(index));
        }
    }

    /// The receiver of a flow has read a stream to its end: that of its transfer, or else of the oldest response.
    pub(super) fn finished(&mut self, now_ns: u64, place: usize) {
        let (index, now) = (self.owner[place], self.now());
        let own = &mut self.applications[index];
        let Some(flow) = &mut self.flows[place] else { return };
        let is_short = own.application.is_short_flows();
        let mut transfers = own.application.transfers.iter();
        let transfer = flow.transfer.or_else(|| transfers.position(|transfer| transfer.end_ns.is_none()));
        if is_short {
            flow.close(now, now_ns);
        }
        if let Some(transfer) = transfer {
            own.application.arrived(now_ns, transfer);
        }
        if is_short {
            self.work(place);
        }
        self.drive(now_ns, index);
    }
}
