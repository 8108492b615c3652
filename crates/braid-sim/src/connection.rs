//! A connection: state shared by its subflows.

use braid_algorithms::layout::{MAX_SUBFLOWS, SSTHRESH_INFINITE, Subflow, View, ca_state, subflow_flags};
use braid_scenario::model;
use braid_schedulers::{Scheduler, Spec};

use crate::backlog::Backlog;
use crate::data::DataLevel;
use crate::event_queue::NEVER;
use crate::schedule::{Retransmission, Scheduling};

pub(crate) struct Connection {
    /// Live state of all subflows as algorithms see it. A subflow keeps its index when another leaves, unlike in the
    /// kernel's list. Algorithms may depend on neither (`crates/braid-algorithms/tests/detectors.rs`).
    pub(crate) view: View,
    pub(crate) data: DataLevel,
    /// One per subflow, if the scheduler assigns packets before they can be sent.
    pub(crate) backlogs: Vec<Backlog>,
    /// MPTCP: the packet scheduler.
    pub(crate) scheduling: Option<Box<Scheduling>>,
    /// With unmodified Linux's scheduler: its timer.
    pub(crate) retransmission: Option<Box<Retransmission>>,
    /// Latest time at which the scheduler wants to be called again; [`NEVER`]: only after a change.
    pub(crate) wake_at: u64,
    /// Time of the planned call; [`NEVER`]: none.
    pub(crate) wake_planned: u64,
    /// MPTCP: packets have separate numbers at the data level.
    pub(crate) multipath: bool,
    /// Its number in the scenario.
    pub(crate) number: usize,
    /// Index of its first subflow in the run.
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// Number of incarnations: successive short flows use one connection.
    pub(crate) incarnation: u32,
    /// A subflow was established.
    pub(crate) established: bool,
    pub(crate) closed: bool,
}

impl Connection {
    pub(crate) fn new(number: usize, model: &model::Connection, first: usize, scheduler: &Spec) -> Self {
        let mut view = View {
            connection: number as u64,
            n: model.subflows.len().min(MAX_SUBFLOWS) as u32,
            ..View::default()
        };
        for (index, subflow) in model.subflows.iter().take(MAX_SUBFLOWS).enumerate() {
            view.subflow[index] = fresh(model.mss, index, subflow.backup);
        }
        let buffer = (model.receive_buffer / u64::from(model.mss)).clamp(1, u64::from(u32::MAX / 4)) as u32;
        let multipath = model.kind == model::Kind::Mptcp;
        let scheduling = multipath.then(|| Box::new(Scheduling::new(scheduler)));
        let gives_ahead = multipath && scheduler.definition().flags() & Scheduler::QUEUES != 0;
        let is_mainline = multipath && scheduler.definition().flags() & Scheduler::MAINLINE != 0;
        let backlogs = if gives_ahead { model.subflows.len() } else { 0 };
        let bulk = model.traffic == model::Traffic::Bulk;
        let mut data = DataLevel::new(buffer, model.mss, bulk, multipath);
        if model.autotuning {
            data.tune(model.receive_buffer);
        }
        if let Some(bytes) = model.send_buffer {
            data.limit_written((bytes / u64::from(model.mss)).max(1) as u32);
        } else if !multipath && matches!(model.traffic, model::Traffic::OnOff { rate: None, .. }) {
            // What it holds at the end of a turn is still sent.
            data.tune_send_buffer();
        }
        Self {
            view,
            data,
            backlogs: (0..backlogs).map(|_| Backlog::default()).collect(),
            scheduling,
            retransmission: is_mainline.then(|| Box::new(Retransmission::new())),
            wake_at: NEVER,
            wake_planned: NEVER,
            multipath,
            number,
            first,
            n: model.subflows.len(),
            incarnation: 0,
            established: false,
            closed: false,
        }
    }

    /// Resets a subflow that comes back.
    pub(crate) fn renew(&mut self, index: usize) {
        let old = self.subflow(index);
        *self.subflow_mut(index) = fresh(old.mss, index, old.flags & subflow_flags::BACKUP != 0);
        if let Some(backlog) = self.backlogs.get_mut(index) {
            *backlog = Backlog::default();
        }
    }

    /// The receiver's application has read. Uses the sender's RTT in place of the receiver's estimate.
    #[cold]
    pub(crate) fn note_read(&mut self, now: u64) {
        let rtt_us = (0..self.n).map(|index| self.subflow(index).srtt_us).max();
        self.data.note_read(now, rtt_us.unwrap_or(0));
    }

    #[inline]
    pub(crate) fn subflow(&self, index: usize) -> &Subflow {
        &self.view.subflow[index % MAX_SUBFLOWS]
    }

    #[inline]
    pub(crate) fn subflow_mut(&mut self, index: usize) -> &mut Subflow {
        &mut self.view.subflow[index % MAX_SUBFLOWS]
    }

    /// Whether subflow `index` may take new data by itself. Under MPTCP the scheduler decides; minRTT skips a subflow
    /// in the Loss state.
    pub(crate) fn has_new_data(&self, index: usize) -> bool {
        match self.backlogs.get(index) {
            Some(backlog) => !backlog.is_empty(),
            None => !self.multipath && self.data.may_send_new(),
        }
    }

    /// The next new packet, for a tail loss probe of subflow `index`.
    pub(crate) fn take_new_data(&mut self, index: usize) -> Option<u32> {
        if let Some(backlog) = self.backlogs.get_mut(index) {
            return backlog.pop();
        }
        if self.closed || !self.data.may_send_new() || (self.sends_copies() && self.is_behind(index)) {
            return None;
        }
        Some(self.data.take_next(index))
    }
}

impl Connection {
    fn sends_copies(&self) -> bool {
        self.scheduling.as_ref().is_some_and(|scheduling| scheduling.flags() & Scheduler::COPIES != 0)
    }

    fn is_behind(&self, index: usize) -> bool {
        !self.data.carriers.behind(index).is_empty()
    }
}

/// View of a subflow that has not been opened.
fn fresh(mss: u32, index: usize, backup: bool) -> Subflow {
    Subflow {
        cwnd: 1,
        ssthresh: SSTHRESH_INFINITE,
        ca_state: ca_state::OPEN,
        flags: if backup { subflow_flags::BACKUP } else { 0 },
        mss,
        cwnd_clamp: u32::MAX,
        id: index as u32 + 1,
        ..Subflow::default()
    }
}
