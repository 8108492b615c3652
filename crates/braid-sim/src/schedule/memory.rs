//! Send buffers: packets assigned to subflows before they can send them.

use braid_algorithms::layout::{SSTHRESH_INFINITE, Subflow};

use crate::connection::Connection;
use crate::data::send_buffer;
use crate::network::Network;
use crate::packet::MEMORY_OVERHEAD;
use crate::tcp::sender::{Phase, Sender};

/// Unmodified Linux allocates memory in pieces of 32 KiB, which hold this many bytes of data (`struct mptcp_data_frag`
/// takes the rest). It checks the end of a decision and the send buffer after whole pieces, and reinjects whole pieces.
const PIECE: u32 = 32_704;
/// Bytes per write of the application.
const WRITE: u64 = 65_536;
/// `tcp_wmem[0]`: the connection's buffer in addition to those of its subflows.
const LEAST_BUFFER: u64 = 4_096;

/// Linux's `tcp_update_pacing_rate`, bytes per second; algorithms that pace set their own.
pub(super) fn pacing_rate(view: &Subflow, packets_out: u32) -> u64 {
    if view.pacing_rate > 0 {
        return view.pacing_rate;
    }
    let is_starting = view.ssthresh == SSTHRESH_INFINITE || view.cwnd < view.ssthresh / 2;
    let percent = if is_starting { 200 } else { 120 };
    let window = u64::from(view.cwnd.max(packets_out)) * u64::from(view.mss);
    window * percent * 10_000 / u64::from(view.srtt_us).max(1)
}

impl Connection {
    /// Packets in a piece of memory.
    pub(super) fn piece(&self) -> u32 {
        PIECE.div_ceil(self.subflow(0).mss)
    }

    /// Memory of a subflow's unacknowledged packets, sent or not, bytes.
    pub(super) fn memory(&self, senders: &[Sender], index: usize) -> u64 {
        let queued = self.backlogs.get(index).map_or(0, |backlog| backlog.packets);
        let packets = senders[index].packets_out() + queued;
        u64::from(packets) * (u64::from(self.subflow(index).mss) + u64::from(MEMORY_OVERHEAD))
    }

    /// Whether a subflow may get more packets than it can send.
    pub(super) fn has_memory(&self, senders: &[Sender], index: usize) -> bool {
        self.memory(senders, index) < self.backlogs[index].buffer
    }

    /// A send buffer is for two windows; it grows when it kept its subflow from filling one
    /// (`tcp_should_expand_sndbuf`).
    pub(super) fn grow_buffers(&mut self, senders: &[Sender]) {
        for (index, sender) in senders.iter().enumerate() {
            let cwnd = self.subflow(index).cwnd;
            let buffer = &mut self.backlogs[index].buffer;
            if sender.phase == Phase::Established && (*buffer == 0 || sender.in_flight() < cwnd) {
                *buffer = (*buffer).max(send_buffer(cwnd));
            }
        }
    }

    /// Packets that the application has written beyond the delivered data. The connection has as much memory as its
    /// subflows together, and the application continues when a third of it is free.
    pub(super) fn written_ahead(&self) -> u32 {
        let memory = LEAST_BUFFER + self.backlogs.iter().map(|backlog| backlog.buffer).sum::<u64>();
        ((memory * 2 / 3 + WRITE) / u64::from(self.subflow(0).mss)) as u32
    }

    /// As [`Self::written_ahead`]; 0 if the scheduler takes data only when it sends them.
    pub(crate) fn kept_ahead(&self) -> u32 {
        if self.backlogs.is_empty() { 0 } else { self.written_ahead() }
    }

    /// Each subflow sends assigned packets as its window allows.
    pub(super) fn send_given(&mut self, senders: &mut [Sender], network: &mut Network) {
        for (index, sender) in senders.iter_mut().enumerate() {
            let before = self.backlogs[index].packets;
            while sender.has_room(self) {
                // The window in this subflow's latest acknowledgement counts as well (`tcp_snd_wnd_test`).
                if sender.packets_out() >= sender.window.max(1) {
                    break;
                }
                let Some(dsn) = self.backlogs[index].pop() else { break };
                sender.send_new(self, network, dsn);
            }
            if self.backlogs[index].packets != before {
                sender.restart_probe(self, network.now);
                sender.note_usage(self, network);
            }
        }
    }
}
