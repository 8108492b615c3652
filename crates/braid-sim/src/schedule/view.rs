//! Input of a scheduler.

use braid_algorithms::layout::{ca_state, subflow_flags};
use braid_schedulers::layout::{Path, path_flags};
use braid_schedulers::{Event, Scheduler};

use super::Scheduling;
use super::memory::pacing_rate;
use crate::connection::Connection;
use crate::network::Network;
use crate::tcp::sender::{Phase, Sender};

/// Default send buffer of a bulk sender, in windows.
const WINDOWS_WRITTEN: u64 = 2;

impl Scheduling {
    /// Fills in everything but the segment, or only the fields that every scheduler uses.
    #[inline]
    pub(super) fn show(
        &mut self,
        connection: &Connection,
        senders: &[Sender],
        network: &Network,
        everything: bool,
    ) {
        let flags = self.chooser.flags();
        let paths = &mut self.paths;
        paths.now_us = network.now_us();
        paths.n = senders.len() as u32;
        for (index, sender) in senders.iter().enumerate() {
            let path = &mut paths.path[index & 7];
            show_path(path, connection, sender, index, flags);
            if let Some(timer) = &connection.retransmission {
                let established = path.flags & path_flags::ESTABLISHED != 0;
                path.flags &= !path_flags::USABLE;
                if established && !timer.is_silent(index) {
                    path.flags |= path_flags::USABLE;
                }
                if timer.is_stale(index, sender.last_arrival) {
                    path.flags |= path_flags::STALE;
                }
            }
        }
        if everything {
            self.show_rest(connection, senders);
        }
    }

    fn show_rest(&mut self, connection: &Connection, senders: &[Sender]) {
        let flags = self.chooser.flags();
        let paths = &mut self.paths;
        let data = &connection.data;
        let mss = u64::from(connection.subflow(0).mss);
        paths.window = u64::from(data.window_end() - data.snd_una) * mss;
        paths.window_left = u64::from(data.window_end() - data.snd_nxt) * mss;
        let (mut windows, mut outstanding) = (0, 0);
        for (index, path) in paths.path.iter_mut().enumerate().take(senders.len()) {
            let sender = &senders[index];
            let view = connection.subflow(index);
            (path.rttvar_us, path.mdev_max_us) = sender.rtt_variation_us();
            path.last_rtt_us = view.last_rtt_us;
            path.memory = connection.memory(senders, index);
            path.pacing_rate = pacing_rate(view, sender.packets_out());
            path.behind =
                if flags & Scheduler::COPIES != 0 { data.carriers.behind(index).len() as u32 } else { 0 };
            if flags & Scheduler::QUEUES != 0 && connection.has_memory(senders, index) {
                path.flags |= path_flags::MEMORY;
            }
            windows += u64::from(view.cwnd);
            outstanding += u64::from(sender.packets_out() + path.queued);
        }
        let room = (WINDOWS_WRITTEN * windows).saturating_sub(outstanding);
        let room = if data.has_send_buffer() { u64::MAX } else { room };
        paths.unassigned = data.unassigned().min(room) * mss;
    }

    /// Reports a subflow that has joined, or a new srtt.
    pub(super) fn tell(
        &mut self,
        event: Event,
        index: usize,
        connection: &Connection,
        senders: &[Sender],
        network: &Network,
    ) {
        if self.chooser.wants(event) {
            self.blocked_cache = None;
            self.show(connection, senders, network, true);
            self.paths.self_index = index as u32;
            self.chooser.deliver(event, &self.paths);
        }
    }
}

/// Fields that every scheduler uses.
#[inline]
fn show_path(path: &mut Path, connection: &Connection, sender: &Sender, index: usize, flags: u32) {
    let view = connection.subflow(index);
    let in_flight = sender.in_flight();
    let queued = connection.backlogs.get(index).map_or(0, |backlog| backlog.packets);
    let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
    let established = sender.phase == Phase::Established;
    path.flags = when(established, path_flags::ESTABLISHED)
        | when(sender.is_usable(), path_flags::USABLE)
        | when(view.flags & subflow_flags::BACKUP != 0, path_flags::BACKUP)
        | when(sender.has_room(connection) && in_flight + queued < view.cwnd, path_flags::ROOM)
        | when(view.ca_state == ca_state::LOSS, path_flags::LOSS)
        | when(view.ca_state == ca_state::OPEN, path_flags::OPEN)
        | when(flags & Scheduler::QUEUES == 0, path_flags::MEMORY);
    path.mss = view.mss;
    path.srtt_us = view.srtt_us;
    path.cwnd = view.cwnd;
    path.ssthresh = view.ssthresh;
    path.in_flight = in_flight;
    path.queued = queued;
}

impl Connection {
    /// A subflow is established.
    pub(crate) fn joined(&mut self, senders: &[Sender], index: usize, network: &Network) {
        self.data.carriers.remove(index);
        if let Some(timer) = &mut self.retransmission {
            timer.forget(index);
        }
        self.tell(Event::Join, senders, index, network);
    }

    /// A subflow has got an acknowledgement, and its srtt may have changed.
    #[inline]
    pub(crate) fn note_rtt(&mut self, senders: &[Sender], index: usize, network: &Network) {
        let wants = self.scheduling.as_ref().is_some_and(|scheduling| scheduling.chooser.wants(Event::Rtt));
        if wants {
            self.tell(Event::Rtt, senders, index, network);
        }
    }

    fn tell(&mut self, event: Event, senders: &[Sender], index: usize, network: &Network) {
        if let Some(mut scheduling) = self.scheduling.take() {
            scheduling.tell(event, index, self, senders, network);
            self.scheduling = Some(scheduling);
        }
    }
}
