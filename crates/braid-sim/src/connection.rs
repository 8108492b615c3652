//! A connection: what its subflows share.

use braid_algorithms::layout::{MAX_SUBFLOWS, SSTHRESH_INFINITE, Subflow, View, ca_state, subflow_flags};
use braid_scenario::model;

use crate::data::{DataLevel, Reinjection};
use crate::network::Network;
use crate::schedule::{Backlog, Scheduler};
use crate::tcp::sender::{Phase, Sender};

/// The index of no subflow.
const NOBODY: usize = usize::MAX;

pub(crate) struct Connection {
    /// Subflow state as algorithms see it: the live values, never a copy.
    pub(crate) view: View,
    pub(crate) data: DataLevel,
    /// One per subflow, if the scheduler gives packets to subflows before they can send them.
    pub(crate) backlogs: Vec<Backlog>,
    /// MPTCP: packets have numbers of their own at the data level.
    multipath: bool,
    /// Its number in the scenario.
    pub(crate) number: usize,
    /// Its subflows among all of the run.
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// How often it has begun: short flows use a connection one after the other.
    pub(crate) life: u32,
    /// A subflow was established.
    pub(crate) established: bool,
    pub(crate) closed: bool,
}

impl Connection {
    pub(crate) fn new(number: usize, model: &model::Connection, first: usize, scheduler: Scheduler) -> Self {
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
        let gives_ahead = multipath && scheduler == Scheduler::Linux;
        let backlogs = if gives_ahead { model.subflows.len() } else { 0 };
        Self {
            view,
            backlogs: (0..backlogs).map(|_| Backlog::default()).collect(),
            data: DataLevel::new(buffer, model.traffic == model::Traffic::Bulk),
            multipath,
            number,
            first,
            n: model.subflows.len(),
            life: 0,
            established: false,
            closed: false,
        }
    }

    /// A subflow that has gone comes back as if it had never been there.
    pub(crate) fn renew(&mut self, index: usize) {
        let old = self.subflow(index);
        *self.subflow_mut(index) = fresh(old.mss, index, old.flags & subflow_flags::BACKUP != 0);
        if let Some(backlog) = self.backlogs.get_mut(index) {
            *backlog = Backlog::default();
        }
        for given in self.data.reinject.iter_mut().filter(|given| given.from == index) {
            given.from = NOBODY;
        }
    }

    /// The application is about to write.
    pub(crate) fn note_application_limit(&self, senders: &mut [Sender]) {
        if self.data.all_sent() {
            for sender in senders {
                sender.note_application_limit(self);
            }
        }
    }

    /// Sends what the application has just written.
    pub(crate) fn push_written(&mut self, senders: &mut [Sender], network: &mut Network) {
        if let Some(index) = senders.iter().position(|sender| sender.phase == Phase::Established) {
            self.push(senders, index, network);
        }
    }

    #[inline]
    pub(crate) fn subflow(&self, index: usize) -> &Subflow {
        &self.view.subflow[index % MAX_SUBFLOWS]
    }

    #[inline]
    pub(crate) fn subflow_mut(&mut self, index: usize) -> &mut Subflow {
        &mut self.view.subflow[index % MAX_SUBFLOWS]
    }

    /// Whether subflow `index` may take new data by itself. Under MPTCP the scheduler decides; minRTT leaves a subflow
    /// in the Loss state alone.
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
        if self.closed || !self.data.may_send_new() {
            return None;
        }
        let dsn = self.data.snd_nxt;
        self.data.snd_nxt += 1;
        Some(dsn)
    }

    /// Sends all that may be sent now. `senders` are those of this connection.
    #[inline]
    pub(crate) fn push(&mut self, senders: &mut [Sender], acknowledged: usize, network: &mut Network) {
        if self.closed {
            return;
        }
        if !self.backlogs.is_empty() {
            self.hand_out(senders, network);
        } else if self.multipath {
            self.schedule(senders, network);
        } else {
            self.send_burst(&mut senders[0], network);
        }
        senders[acknowledged].note_usage(self, network);
    }

    /// Sends new data on this subflow until its window or the receiver's is full.
    #[inline]
    fn send_burst(&mut self, sender: &mut Sender, network: &mut Network) {
        let before = self.data.snd_nxt;
        while sender.has_room(self) && self.data.may_send_new() {
            let dsn = self.data.snd_nxt;
            self.data.snd_nxt += 1;
            sender.send_new(self, network, dsn);
        }
        if self.data.snd_nxt != before {
            sender.restart_probe(self, network.now);
        }
    }

    /// The minRTT scheduler: reinjections first, then new data, each on the usable subflow with the smallest srtt.
    fn schedule(&mut self, senders: &mut [Sender], network: &mut Network) {
        loop {
            while self.data.reinject.front().is_some_and(|head| head.dsn < self.data.snd_una) {
                self.data.reinject.pop_front();
            }
            if let Some(&Reinjection { dsn, from }) = self.data.reinject.front() {
                if let Some(index) = self.choose(senders, Some(from)) {
                    self.data.reinject.pop_front();
                    self.data.reinjections += 1;
                    senders[index].send_new(self, network, dsn);
                    senders[index].restart_probe(self, network.now);
                    senders[index].note_usage(self, network);
                    continue;
                }
            }
            if !self.data.may_send_new() {
                return;
            }
            let Some(index) = self.choose(senders, None) else { return };
            // Sending changes neither an srtt nor another's room: the choice stands until it is full.
            self.send_burst(&mut senders[index], network);
            senders[index].note_usage(self, network);
        }
    }

    /// The subflow with room and the smallest srtt, not `except`. A backup subflow only if no other is usable in
    /// principle, that is, if all others are closed or have failed.
    #[inline]
    fn choose(&self, senders: &[Sender], except: Option<usize>) -> Option<usize> {
        let mut chosen = [None; 2];
        let mut regular_usable = false;
        for (index, sender) in senders.iter().enumerate() {
            if except == Some(index) || !sender.is_usable() {
                continue;
            }
            let view = self.subflow(index);
            let backup = view.flags & subflow_flags::BACKUP != 0;
            regular_usable |= !backup;
            if view.ca_state == ca_state::LOSS || !sender.has_room(self) {
                continue;
            }
            let best = &mut chosen[usize::from(backup)];
            if best.is_none_or(|(srtt, _)| view.srtt_us < srtt) {
                *best = Some((view.srtt_us, index));
            }
        }
        let [regular, backup] = chosen;
        if regular_usable { regular } else { backup }.map(|(_, index)| index)
    }

    /// The established subflows, smallest srtt first.
    pub(crate) fn by_srtt(&self, senders: &[Sender]) -> Vec<usize> {
        let established = |&index: &usize| senders[index].phase == Phase::Established;
        let mut order: Vec<usize> = (0..self.n).filter(established).collect();
        order.sort_by_key(|&index| (!senders[index].is_usable(), self.subflow(index).srtt_us));
        order
    }

    /// Offers what subflow `index` has outstanding to the others.
    pub(crate) fn reinject_from(&mut self, senders: &mut [Sender], index: usize) {
        if !self.multipath || self.n < 2 {
            return;
        }
        if !self.backlogs.is_empty() {
            return self.offer(senders, index);
        }
        let Self { data, .. } = self;
        let acknowledged = data.snd_una;
        let queue = &mut data.reinject;
        senders[index]
            .give_away(acknowledged..u32::MAX, |dsn| queue.push_back(Reinjection { dsn, from: index }));
    }
}

/// What algorithms see of a subflow that has not been opened.
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
