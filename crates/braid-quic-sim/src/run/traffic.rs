//! Behaviour of applications over time.

use braid_scenario::model::{Spread, Traffic};

use super::state::{Plan, Run};
use crate::application::Application;
use crate::flow::Flow;
use crate::streams::ENDLESS;

impl Run<'_> {
    /// An application begins.
    pub(super) fn open(&mut self, now_ns: u64, index: usize) {
        let application = &mut self.applications[index];
        application.start(now_ns);
        match application.model.traffic {
            Traffic::Poisson { .. } => return self.plan_arrival(now_ns, index),
            Traffic::Object { size } => {
                let bytes = self.simulation.draw_bytes(application.number, size);
                application.begin(now_ns, bytes);
            }
            _ => {}
        }
        let (place, now) = (application.places.start, self.now());
        self.flows[place].iter_mut().for_each(|flow| flow.open(now));
        self.work(place);
    }

    /// An application and all its flows end.
    pub(super) fn close(&mut self, now_ns: u64, index: usize) {
        let application = &mut self.applications[index];
        if application.end(now_ns) {
            for place in application.places.clone() {
                let now = self.now();
                self.flows[place].iter_mut().for_each(|flow| flow.close(now, now_ns));
                self.work(place);
            }
        }
    }

    pub(super) fn plan_arrival(&mut self, now_ns: u64, index: usize) {
        let Application { number, model, .. } = self.applications[index];
        if let Traffic::Poisson { every_ns, .. } = model.traffic {
            let wait = self.simulation.draw_time(number, Spread::Exponential { mean: every_ns as f64 });
            self.plan(now_ns + wait, Plan::Arrive(index));
        }
    }

    /// A short flow arrives; it waits if the maximum is reached.
    pub(super) fn arrive(&mut self, now_ns: u64, index: usize) {
        let application = &mut self.applications[index];
        let Traffic::Poisson { size, .. } = application.model.traffic else { return };
        if application.is_over() {
            return;
        }
        let bytes = self.simulation.draw_bytes(application.number, size);
        let transfer = application.begin(now_ns, bytes);
        application.waiting.push_back(transfer);
        self.admit(now_ns, index);
        self.plan_arrival(now_ns, index);
    }

    /// Opens a connection for a waiting short flow, if a slot is free.
    pub(super) fn admit(&mut self, now_ns: u64, index: usize) {
        let is_free = |flow: &Option<Flow>| flow.as_ref().is_none_or(|flow| flow.is_closed);
        let place = self.applications[index].places.clone().find(|&place| is_free(&self.flows[place]));
        let Some(place) = place else { return };
        let Some(transfer) = self.applications[index].waiting.pop_front() else { return };
        if let Some(old) = self.flows[place].take() {
            self.applications[index].retire(&old, now_ns);
        }
        match self.new_flow(self.applications[index].number) {
            Ok(mut flow) => {
                flow.transfer = Some(transfer);
                flow.open(self.now());
                self.flows[place] = Some(flow);
                self.work(place);
            }
            Err(why) => self.doubts.push(why),
        }
    }

    /// The receiver makes a request.
    pub(super) fn request(&mut self, now_ns: u64, index: usize) {
        let application = &mut self.applications[index];
        let Traffic::RequestResponse { request, response, .. } = application.model.traffic else { return };
        if application.is_over() {
            return;
        }
        let bytes = self.simulation.draw_bytes(application.number, response);
        application.begin(now_ns, bytes);
        let place = application.places.start;
        self.flows[place].iter_mut().for_each(|flow| flow.request(request, bytes));
        self.work(place);
    }

    /// An on-off application begins to send or to pause.
    pub(super) fn toggle(&mut self, now_ns: u64, index: usize) {
        let application = &mut self.applications[index];
        let Traffic::OnOff { on, off, rate } = application.model.traffic else { return };
        let place = application.places.start;
        let Some(flow) = self.flows[place].as_mut().filter(|_| !application.is_over()) else { return };
        let sends = application.toggle(now_ns, flow);
        let lasts = self.simulation.draw_time(application.number, if sends { on } else { off });
        let turn = application.turn();
        if sends && rate.is_none() {
            flow.streams.add(ENDLESS);
        }
        self.plan(now_ns + lasts, Plan::Toggle(index));
        if sends && rate.is_some() {
            self.write(now_ns, index, turn);
        } else {
            self.work(place);
        }
    }

    /// Writes at a constant rate, and plans the next write.
    pub(super) fn write(&mut self, now_ns: u64, index: usize, turn: usize) {
        let application = &mut self.applications[index];
        let place = application.places.start;
        let Some(flow) = self.flows[place].as_mut().filter(|_| !application.is_over()) else { return };
        if let Some(next) = application.write(now_ns, turn, flow) {
            self.plan(next, Plan::Write(index, turn));
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
        if let Traffic::RequestResponse { .. } = model.traffic {
            // The first request comes at once.
            self.plan(now_ns, Plan::Request(index));
        }
    }

    /// The sender of a flow is connected.
    pub(super) fn may_write(&mut self, now_ns: u64, place: usize) {
        let index = self.owner[place];
        let Self { flows, applications, .. } = self;
        let (Some(flow), application) = (&mut flows[place], &mut applications[index]) else { return };
        match application.model.traffic {
            Traffic::Bulk => flow.send(ENDLESS, false),
            Traffic::Object { .. } | Traffic::Poisson { .. } => {
                let transfer = flow.transfer.unwrap_or(0);
                flow.send(application.transfers[transfer].bytes, true);
            }
            Traffic::OnOff { .. } => {
                flow.send(0, false);
                self.plan(now_ns, Plan::Toggle(index));
            }
            Traffic::Cbr(_) => {
                flow.send(0, false);
                application.start_writing(now_ns);
                self.plan(now_ns, Plan::Write(index, 0));
            }
            Traffic::RequestResponse { .. } | Traffic::Program(_) => {}
        }
    }

    /// The receiver of a flow has read a stream to its end.
    pub(super) fn finished(&mut self, now_ns: u64, place: usize) {
        let (index, now) = (self.owner[place], self.now());
        let Self { flows, applications, .. } = self;
        let (Some(flow), application) = (&mut flows[place], &mut applications[index]) else { return };
        application.arrived(now_ns, flow.transfer);
        match application.model.traffic {
            Traffic::Object { .. } => self.close(now_ns, index),
            Traffic::Poisson { .. } => {
                flow.close(now, now_ns);
                self.work(place);
                self.admit(now_ns, index);
            }
            Traffic::RequestResponse { think, .. } => {
                let wait = self.simulation.draw_time(application.number, think);
                self.plan(now_ns + wait, Plan::Request(index));
            }
            Traffic::Bulk | Traffic::OnOff { .. } | Traffic::Cbr(_) | Traffic::Program(_) => {}
        }
    }
}
