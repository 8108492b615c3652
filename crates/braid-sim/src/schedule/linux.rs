//! The scheduler of unmodified kernels: to the subflow that will have sent first what it already has, up to 64 KB at a
//! time, whether its congestion window has room or not.

use braid_algorithms::layout::{SSTHRESH_INFINITE, Subflow, subflow_flags};

use crate::connection::Connection;
use crate::data::Reinjection;
use crate::network::Network;
use crate::tcp::sender::{Phase, Sender};

/// Most that a subflow is given at a time, bytes: 64 KiB less the largest headers (`MPTCP_SEND_BURST_SIZE`).
const BURST: u64 = 65_428;
/// Memory is handed over in pieces of so many bytes: after each the send buffer is looked at, and one is sent once more when nothing
/// arrives any more.
const PIECE: u32 = 32_768;
/// What the application writes at a time, bytes.
const WRITE: u64 = 65_536;
/// Memory that a packet takes besides its payload, bytes (`SKB_TRUESIZE` of a segment without data).
const OVERHEAD: u64 = 896;
/// Memory that the send buffer reckons with for a packet of up to 1512 bytes (`tcp_sndbuf_expand`) in kernels without drivers for
/// wireless networks, such as Debian's for clouds. Those with them reserve some more for headers, which makes it 4352.
const RECKONED: u64 = 2_304;
/// It is for two windows, of so many packets at least.
const LEAST_WINDOW: u32 = 10;
/// `tcp_wmem[0]`: what the connection has beyond the buffers of its subflows.
const LEAST_BUFFER: u64 = 4_096;
/// Timeouts in a row after which a subflow is given nothing more.
const STALE: u32 = 5;

/// Linux's `tcp_update_pacing_rate`, bytes per second; algorithms that pace have their own.
fn pacing_rate(view: &Subflow, packets_out: u32) -> u64 {
    if view.pacing_rate > 0 {
        return view.pacing_rate;
    }
    let is_starting = view.ssthresh == SSTHRESH_INFINITE || view.cwnd < view.ssthresh / 2;
    let percent = if is_starting { 200 } else { 120 };
    let window = u64::from(view.cwnd.max(packets_out)) * u64::from(view.mss);
    window * percent * 10_000 / u64::from(view.srtt_us).max(1)
}

/// Whether a subflow is given anything (`mptcp_subflow_active`).
fn is_usable(sender: &Sender) -> bool {
    sender.phase == Phase::Established && sender.rto_backoffs < STALE
}

impl Connection {
    /// Linux's scheduler (`mptcp_subflow_get_send`). What the application has written and the receive window takes goes to the
    /// subflows, as far as their send buffers have room; each sends what its congestion window lets it. Packets stay with the
    /// subflow that was given them.
    pub(crate) fn hand_out(&mut self, senders: &mut [Sender], network: &mut Network) {
        self.grow_buffers(senders);
        self.reinject_on_idle(senders);
        while let Some(index) = self.first_to_finish(senders) {
            let mss = self.subflow(index).mss;
            let sendable = self.data.sendable(self.written_ahead());
            let packets = sendable.min(BURST.div_ceil(u64::from(mss)) as u32);
            if packets == 0 || !self.has_memory(senders, index) {
                break;
            }
            let (waiting, burst) = (self.memory(senders, index), u64::from(packets) * u64::from(mss));
            let rate = pacing_rate(self.subflow(index), senders[index].packets_out());
            let backlog = &mut self.backlogs[index];
            backlog.pace = (backlog.pace * waiting + rate * burst) / (waiting + burst);
            let end = self.data.snd_nxt + packets;
            while self.data.snd_nxt < end && self.has_memory(senders, index) {
                let to = end.min(self.data.snd_nxt + PIECE.div_ceil(mss));
                self.backlogs[index].push(self.data.snd_nxt, to);
                self.data.snd_nxt = to;
            }
        }
        for (index, sender) in senders.iter_mut().enumerate() {
            let before = self.backlogs[index].packets;
            while sender.has_room(self) {
                let Some(dsn) = self.backlogs[index].pop() else { break };
                sender.send_new(self, network, dsn);
            }
            if self.backlogs[index].packets != before {
                sender.restart_probe(self, network.now);
                sender.note_usage(self, network);
            }
        }
    }

    /// Memory of what a subflow has and was not acknowledged, sent or not, bytes.
    fn memory(&self, senders: &[Sender], index: usize) -> u64 {
        let packets = senders[index].packets_out() + self.backlogs[index].packets;
        u64::from(packets) * (u64::from(self.subflow(index).mss) + OVERHEAD)
    }

    fn has_memory(&self, senders: &[Sender], index: usize) -> bool {
        self.memory(senders, index) < self.backlogs[index].buffer
    }

    /// A send buffer is for two windows; it grows when it kept its subflow from filling one (`tcp_should_expand_sndbuf`).
    fn grow_buffers(&mut self, senders: &[Sender]) {
        for (index, sender) in senders.iter().enumerate() {
            let cwnd = self.subflow(index).cwnd;
            let buffer = &mut self.backlogs[index].buffer;
            if sender.phase == Phase::Established && (*buffer == 0 || sender.in_flight() < cwnd) {
                *buffer = (*buffer).max(2 * RECKONED * u64::from(cwnd.max(LEAST_WINDOW)));
            }
        }
    }

    /// How far the application has written beyond what has arrived, packets. The connection has as much memory as its subflows
    /// together, and the application goes on when a third of it is free.
    fn written_ahead(&self) -> u32 {
        let memory = LEAST_BUFFER + self.backlogs.iter().map(|backlog| backlog.buffer).sum::<u64>();
        ((memory * 2 / 3 + WRITE) / u64::from(self.subflow(0).mss)) as u32
    }

    /// The subflow that will have sent first what it has, a backup subflow only if no other is usable.
    fn first_to_finish(&mut self, senders: &[Sender]) -> Option<usize> {
        let mut chosen = [None; 2];
        for (index, sender) in senders.iter().enumerate().filter(|(_, sender)| is_usable(sender)) {
            let view = self.subflow(index);
            let is_backup = view.flags & subflow_flags::BACKUP != 0;
            if self.backlogs[index].pace == 0 {
                self.backlogs[index].pace = pacing_rate(view, sender.packets_out());
            }
            let linger = (self.memory(senders, index) << 32) / self.backlogs[index].pace.max(1);
            let best = &mut chosen[usize::from(is_backup)];
            if best.is_none_or(|(least, _)| linger < least) {
                *best = Some((linger, index));
            }
        }
        let [regular, backup] = chosen;
        regular.or(backup).map(|(_, index)| index)
    }

    /// Gives what a failed subflow had to one that has nothing else to do.
    fn reinject_on_idle(&mut self, senders: &[Sender]) {
        let Some(&Reinjection { from, .. }) = self.data.reinject.front() else { return };
        let is_idle = |&index: &usize| {
            index != from
                && is_usable(&senders[index])
                && senders[index].packets_out() == 0
                && self.backlogs[index].is_empty()
        };
        let Some(index) = (0..senders.len()).find(is_idle) else { return };
        while let Some(Reinjection { dsn, .. }) = self.data.reinject.pop_front() {
            if dsn >= self.data.snd_una {
                self.backlogs[index].push(dsn, dsn + 1);
                self.data.reinjections += 1;
            }
        }
    }

    /// Offers the others what subflow `index` was given: the first piece of what the receiver waits for, or, if the subflow is
    /// gone, all of it.
    pub(crate) fn offer(&mut self, senders: &mut [Sender], index: usize) {
        let is_gone = !is_usable(&senders[index]);
        let piece = PIECE.div_ceil(self.subflow(index).mss);
        let Self { data, backlogs, .. } = self;
        let acknowledged = data.snd_una;
        let end = if is_gone { u32::MAX } else { acknowledged + piece };
        let queue = &mut data.reinject;
        let mut offer = |dsn| queue.push_back(Reinjection { dsn, from: index });
        senders[index].give_away(acknowledged..end, &mut offer);
        if is_gone {
            let mut backlog = std::mem::take(&mut backlogs[index]);
            std::iter::from_fn(|| backlog.pop()).for_each(offer);
        }
    }
}
