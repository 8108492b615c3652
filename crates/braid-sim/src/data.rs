//! The data level of a connection (RFC 8684): one sequence of packets over all subflows, one receive buffer.
//!
//! Plain TCP has the same numbers at both levels and uses only the window.

use std::collections::VecDeque;

use braid_results::measure::DataLevelCounts;
use braid_schedulers::layout::flags;

use crate::autotuning::Autotuning;
use crate::packet::MEMORY_OVERHEAD;
use crate::ring::Ring;
use crate::schedule::carriers::Carriers;

/// What is counted at the data level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Packets taken from a subflow that has failed or gone.
    pub(crate) reinjections: u64,
    pub(crate) of: DataLevelCounts,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.reinjections += other.reinjections;
        self.of.add(&other.of);
    }
}

/// What an application has written that does not always have more. The last packet of a write has what is left.
#[derive(Default)]
pub(crate) struct Writes {
    /// Not yet complete at the receiver, in order.
    pending: VecDeque<Write>,
    /// Packets shorter than the others, ascending: number and payload.
    short: VecDeque<(u32, u16)>,
    /// Bytes that short packets lacked of full ones, of all complete writes.
    pub(crate) lacked: u64,
}

impl Writes {
    #[inline(never)]
    fn short(&self, dsn: u32) -> Option<u16> {
        let at = self.short.binary_search_by_key(&dsn, |&(dsn, _)| dsn).ok()?;
        Some(self.short[at].1)
    }
}

/// Something that ends with a packet.
#[derive(Clone, Copy, Debug)]
struct Write {
    end: u32,
    /// Bytes that its last packet lacks of a full one.
    lacks: u32,
    transfer: Option<u32>,
}

/// Both ends of the data level.
pub(crate) struct DataLevel {
    /// Sender: next packet to be sent for the first time.
    pub(crate) snd_nxt: u32,
    /// Sender: everything below has arrived.
    pub(crate) snd_una: u32,
    /// Sender: first packet that would overrun the receive buffer.
    window_end: u32,
    /// Sender: end of what the application has written; [`ENDLESS`]: it always has more.
    written: u32,
    /// Sender: end of what the application has put into the send buffer or, not having to wait for it, has written; the latter
    /// where the buffer has no limit.
    available: u32,
    /// Sender: the smaller one of that and `window_end`.
    limit: u32,
    /// Sender: packets that fit the send buffer; [`ENDLESS`]: any number.
    send_buffer: u32,
    /// Sender: up to where the send buffer reaches as the application last found it; [`ENDLESS`] if it has no limit.
    filled: u32,
    /// MPTCP sender: which subflows have carried what is not acknowledged.
    pub(crate) carriers: Carriers,
    is_multipath: bool,
    /// Sender: what failed subflows had, to be sent on others.
    pub(crate) reinject: VecDeque<u32>,
    /// Sender: what subflows were given, had not sent, and had to give back; ascending.
    recalled: VecDeque<u32>,
    /// Sender: since when the receive window keeps data back though a subflow has room.
    pub(crate) limited_since: Option<u64>,
    mss: u32,
    pub(crate) counts: Counts,

    /// Receiver: everything below has been handed to the application.
    pub(crate) rcv_nxt: u32,
    /// Receiver: packets held out of order.
    held: u32,
    /// MPTCP receiver: pieces of memory that these are in.
    pieces: u32,
    /// MPTCP receiver: when each packet beyond the first gap arrived, from the one after that on, and 1 ns more, and in the last bits
    /// ([`PLACE`]) which it is of its piece of memory; 0: not yet. The last one has.
    arrivals: Ring<u64>,
    /// Receiver: the window's right edge, which never moves left.
    advertised_end: u32,
    /// Receive buffer, packets; of one that is autotuned, what is offered of it.
    buffer: u32,
    /// MPTCP receiver: packets that a piece of memory takes of a buffer like that.
    piece: u64,
    /// How it grows, if it does.
    autotuning: Option<Box<Autotuning>>,
    /// Receiver: when `rcv_nxt` reaches this, something that the application counts is complete; else [`ENDLESS`].
    pub(crate) boundary: u32,
    /// `None`: a bulk transfer.
    writes: Option<Box<Writes>>,
    /// Receiver: which packets its subflows have passed up, to check what is handed over.
    #[cfg(test)]
    seen: std::collections::BTreeSet<u32>,
}

/// No packet has this number.
const ENDLESS: u32 = u32::MAX;

/// Bits of a packet's place in its piece of memory.
const PLACE: u32 = 5;
/// Packets in a piece at most (`MAX_SKB_FRAGS`).
const PIECE: u64 = 17;

/// Packets of `mss` bytes that a piece of memory takes: an eighth of the buffer of so many packets at most.
fn piece(buffer: u32, mss: u32) -> u64 {
    let memory = u64::from(buffer) * u64::from(mss + MEMORY_OVERHEAD);
    (memory / 8 / u64::from(mss)).clamp(1, PIECE)
}

impl DataLevel {
    /// One with a receive buffer of so many packets of `mss` bytes.
    pub(crate) fn new(buffer: u32, mss: u32, bulk: bool, is_multipath: bool) -> Self {
        let written = if bulk { ENDLESS } else { 0 };
        Self {
            snd_nxt: 0,
            snd_una: 0,
            window_end: buffer,
            written,
            available: written,
            limit: written.min(buffer),
            send_buffer: ENDLESS,
            filled: ENDLESS,
            carriers: Carriers::new(),
            is_multipath,
            reinject: VecDeque::new(),
            recalled: VecDeque::new(),
            limited_since: None,
            mss,
            counts: Counts::default(),
            rcv_nxt: 0,
            held: 0,
            pieces: 0,
            arrivals: Ring::new(),
            advertised_end: buffer,
            buffer,
            piece: piece(buffer, mss),
            autotuning: None,
            boundary: ENDLESS,
            writes: (!bulk).then(Box::default),
            #[cfg(test)]
            seen: std::collections::BTreeSet::new(),
        }
    }

    /// Sender: no more than so many packets are written and not acknowledged.
    pub(crate) fn limit_written(&mut self, packets: u32) {
        (self.send_buffer, self.filled) = (packets, packets);
        self.update_limit();
    }

    /// Receiver: the buffer grows as Linux's does, up to so many bytes.
    pub(crate) fn tune(&mut self, most: u64) {
        let tuning = Autotuning::new(most, self.mss);
        self.set_buffer(tuning.first_offer());
        (self.window_end, self.advertised_end) = (self.buffer, self.buffer);
        self.autotuning = Some(Box::new(tuning));
        self.update_limit();
    }

    fn update_limit(&mut self) {
        self.available = self.written.min(self.filled);
        self.limit = self.available.min(self.window_end);
    }

    /// Sender: the application writes so many bytes, in packets of `mss`, which complete a transfer.
    pub(crate) fn write(&mut self, bytes: u64, mss: u32, transfer: Option<u32>) {
        let packets = u32::try_from(bytes.div_ceil(u64::from(mss))).unwrap_or(ENDLESS);
        let last = (bytes - u64::from(packets.saturating_sub(1)) * u64::from(mss)) as u32;
        self.written = self.written.saturating_add(packets);
        self.update_limit();
        let Some(writes) = &mut self.writes else { return };
        while writes.short.front().is_some_and(|&(dsn, _)| dsn < self.snd_una) {
            writes.short.pop_front();
        }
        if last < mss {
            writes.short.push_back((self.written - 1, last as u16));
        }
        self.await_end(Write { end: self.written, lacks: mss - last, transfer });
    }

    /// Sender: from now on the application has more than the network takes.
    pub(crate) fn write_endlessly(&mut self) {
        self.written = ENDLESS;
        self.update_limit();
    }

    /// Sender: what has been written by now completes a transfer; of an endless write, what has been sent.
    pub(crate) fn pause(&mut self, transfer: u32) {
        if self.written == ENDLESS {
            self.written = self.snd_nxt;
            self.update_limit();
        }
        self.await_end(Write { end: self.written, lacks: 0, transfer: Some(transfer) });
    }

    fn await_end(&mut self, write: Write) {
        if let Some(writes) = &mut self.writes {
            writes.pending.push_back(write);
            self.boundary = writes.pending[0].end;
        }
    }

    /// Receiver: takes what is complete, one after the other: `None`: nothing more; `Some(None)`: nothing that counts.
    #[allow(clippy::option_option, reason = "a queue of optional numbers")]
    pub(crate) fn take_complete(&mut self) -> Option<Option<u32>> {
        let writes = self.writes.as_mut()?;
        let write = *writes.pending.front().filter(|write| write.end <= self.rcv_nxt)?;
        writes.pending.pop_front();
        writes.lacked += u64::from(write.lacks);
        self.boundary = writes.pending.front().map_or(ENDLESS, |next| next.end);
        Some(write.transfer)
    }

    /// Payload of a packet that is shorter than the others.
    #[inline]
    pub(crate) fn short(&self, dsn: u32) -> Option<u16> {
        self.writes.as_ref()?.short(dsn)
    }

    /// Payload handed to the application, in packets of `mss` bytes.
    pub(crate) fn delivered_bytes(&self, mss: u32) -> u64 {
        let lacked = self.writes.as_ref().map_or(0, |writes| writes.lacked);
        u64::from(self.rcv_nxt) * u64::from(mss) - lacked
    }

    /// Sender: end of what the application has written, or of what was sent of an endless write.
    pub(crate) fn written(&self) -> u32 {
        if self.written == ENDLESS { self.snd_nxt } else { self.written }
    }

    /// Sender: nothing waits to be sent for the first time.
    pub(crate) fn all_sent(&self) -> bool {
        self.snd_nxt >= self.written()
    }

    /// Sender: whether the application has written more than was sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.written
    }

    /// Receiver: a packet that arrived some time ago is in order on its subflow now. A second copy is ignored.
    #[allow(clippy::inline_always, reason = "once per packet")]
    #[inline(always)]
    pub(crate) fn receive(&mut self, dsn: u32, arrived: u64, now: u64) {
        #[cfg(test)]
        self.seen.insert(dsn);
        if dsn == self.rcv_nxt {
            self.rcv_nxt += 1;
            if arrived < now {
                self.counts.of.delays.add(now - arrived);
            }
            if self.held > 0 {
                self.pass_up(now);
            }
        } else if dsn > self.rcv_nxt {
            self.keep(dsn, arrived);
        }
    }

    /// Receiver: what is out of order waits for the packets before it.
    #[inline(never)]
    fn keep(&mut self, dsn: u32, arrived: u64) {
        if self.held == 0 {
            self.arrivals.restart(self.rcv_nxt + 1);
        }
        while self.arrivals.end() <= dsn {
            self.arrivals.push(0);
        }
        if *self.arrivals.get(dsn) > 0 {
            return;
        }
        // It is put to the packet before it, if that is there (`mptcp_ooo_try_coalesce`).
        let before = if dsn > self.arrivals.start() { *self.arrivals.get(dsn - 1) } else { 0 };
        let mut place = if before > 0 { before % (1 << PLACE) + 1 } else { 0 };
        if place >= self.piece {
            place = 0;
        }
        self.pieces += u32::from(place == 0);
        *self.arrivals.get_mut(dsn) = ((arrived + 1) << PLACE) | place;
        self.held += 1;
    }

    /// Receiver: a gap was filled.
    #[inline(never)]
    fn pass_up(&mut self, now: u64) {
        // The place of the next gap goes, too.
        while let Some(kept) = self.arrivals.pop().filter(|kept| *kept > 0) {
            self.rcv_nxt += 1;
            self.held -= 1;
            self.pieces -= u32::from(kept % (1 << PLACE) == 0);
            self.counts.of.delays.add(now + 1 - (kept >> PLACE));
        }
    }

    /// Receiver: how much of the buffer is in use, packets. It is for as many packets each of which is in a piece of its own.
    fn occupied(&self) -> u32 {
        if !self.is_multipath {
            return self.held;
        }
        let [held, pieces, mss, overhead] =
            [self.held, self.pieces, self.mss, MEMORY_OVERHEAD].map(u64::from);
        (held * mss + pieces * overhead).div_ceil(mss + overhead) as u32
    }

    /// What has been counted so far.
    pub(crate) fn counts(&self, now: u64) -> Counts {
        let mut counts = self.counts.clone();
        counts.of.packets = u64::from(self.rcv_nxt);
        counts.of.window_limited_ns += self.limited_since.map_or(0, |since| now - since);
        counts
    }

    /// Receiver, plain TCP: the subflow's own numbers are the data level's.
    #[inline]
    pub(crate) fn follow(&mut self, rcv_nxt: u32, held: u32) {
        self.rcv_nxt = rcv_nxt;
        self.held = held;
    }

    /// Receiver: the window to advertise. The application reads at once, so only what waits for a gap takes room. The subflow
    /// that says so has promised so many packets before, which come on top of what has been handed over meanwhile
    /// (`tcp_select_window`, `mptcp_set_rwin`).
    #[inline]
    pub(crate) fn advertise(&mut self, promised: u32) -> u32 {
        let held = if self.held > 0 { self.occupied() } else { 0 };
        let window = self.buffer.saturating_sub(held).max(promised);
        self.advertised_end = self.advertised_end.max(self.rcv_nxt + window);
        self.advertised_end
    }

    /// Sender: an acknowledgement of the data level. Returns whether it opened the window or freed data.
    #[inline]
    pub(crate) fn acknowledged(&mut self, data_ack: u32, window_end: u32) {
        if self.is_multipath && data_ack > self.snd_una {
            self.carriers.acknowledged(data_ack);
        }
        self.snd_una = self.snd_una.max(data_ack);
        self.window_end = self.window_end.max(window_end);
        if self.filled != ENDLESS {
            self.fill();
        }
        self.limit = self.available.min(self.window_end);
    }

    /// Sender: the application goes on when a third of the send buffer is free (Linux `sk_stream_min_wspace`).
    #[cold]
    fn fill(&mut self) {
        if 3 * u64::from(self.filled - self.snd_una) <= 2 * u64::from(self.send_buffer) {
            self.filled = self.snd_una.saturating_add(self.send_buffer);
            self.available = self.written.min(self.filled);
        }
    }

    /// Receiver: whether the buffer grows.
    #[inline]
    pub(crate) fn is_tuned(&self) -> bool {
        self.autotuning.is_some()
    }

    /// Receiver: a packet has come that was not there. Whether more is offered now than before.
    pub(crate) fn open(&mut self) -> bool {
        let before = self.buffer;
        let offer = self.autotuning.as_ref().map_or(before, |tuning| tuning.step(before));
        self.set_buffer(offer);
        before < offer
    }

    fn set_buffer(&mut self, packets: u32) {
        if packets != self.buffer {
            (self.buffer, self.piece) = (packets, piece(packets, self.mss));
        }
    }

    /// Receiver: the application has read all that it could; the round-trip time of the slowest subflow.
    pub(crate) fn note_read(&mut self, now: u64, rtt_us: u32) {
        if let Some(tuning) = &mut self.autotuning {
            tuning.read(self.rcv_nxt, now, rtt_us);
        }
    }

    pub(crate) fn window_end(&self) -> u32 {
        self.window_end
    }

    /// Receiver: whether all that was handed to the application has been received.
    #[cfg(test)]
    pub(crate) fn has_received_all(&self) -> bool {
        self.seen.range(..self.rcv_nxt).count() == self.rcv_nxt as usize && self.rcv_nxt <= self.snd_nxt
    }

    #[cfg(test)]
    pub(crate) fn set_window_end(&mut self, end: u32) {
        self.window_end = end;
        self.update_limit();
    }

    /// Sender: how many new packets there are that fit the receive window, and are less than so many beyond what has arrived.
    pub(crate) fn sendable(&self, ahead: u32) -> u32 {
        self.limit.min(self.snd_una.saturating_add(ahead)).saturating_sub(self.snd_nxt)
    }

    /// Sender: packets that the application has written and no subflow was given.
    pub(crate) fn unassigned(&self) -> u64 {
        u64::from(self.available - self.snd_nxt.min(self.available)) + self.recalled.len() as u64
    }

    /// Sender: whether the send buffer has a limit of its own.
    pub(crate) fn has_send_buffer(&self) -> bool {
        self.filled != ENDLESS
    }

    /// Sender: whether the application has more, but the receive window or the send buffer keeps it back.
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        self.snd_nxt >= self.limit && self.snd_nxt < self.written
    }

    /// Sender: that it is the receive window, or else that it is the send buffer, and whether that is not quite full.
    pub(crate) fn blocked_by(&self) -> u32 {
        if self.snd_nxt < self.available {
            flags::WINDOW_BLOCKED
        } else if self.filled - self.snd_una < self.send_buffer {
            flags::MEMORY_BLOCKED | flags::MEMORY_LEFT
        } else {
            flags::MEMORY_BLOCKED
        }
    }

    /// Sender: from now on it does, and a subflow has room meanwhile, or not.
    #[inline]
    pub(crate) fn note_limited(&mut self, now: u64, is_limited: bool) {
        if self.limited_since.is_some() == is_limited {
            return;
        }
        if let Some(since) = self.limited_since.take() {
            self.counts.of.window_limited_ns += now - since;
        }
        self.limited_since = is_limited.then_some(now);
    }

    /// Sender: the next packet of new data goes to a subflow.
    #[inline]
    pub(crate) fn take_next(&mut self, index: usize) -> u32 {
        if let Some(dsn) = self.recalled.pop_front() {
            self.carriers.add(dsn, index);
            return dsn;
        }
        let dsn = self.snd_nxt;
        self.snd_nxt += 1;
        if self.is_multipath {
            self.carriers.push(index);
        }
        dsn
    }

    /// Sender: a subflow gives back what it was given and has not sent.
    pub(crate) fn recall(&mut self, dsn: u32, index: usize) {
        self.carriers.withdraw(dsn, index);
        self.recalled.push_back(dsn);
    }

    /// Sender: after all has been given back.
    pub(crate) fn sort_recalled(&mut self) {
        self.recalled.make_contiguous().sort_unstable();
    }

    /// Sender: the next packet that was given back.
    #[inline]
    pub(crate) fn next_recalled(&self) -> Option<u32> {
        self.recalled.front().copied()
    }

    /// Sender: the next packet to be sent once more.
    #[inline]
    pub(crate) fn next_reinjection(&mut self) -> Option<u32> {
        while let Some(&dsn) = self.reinject.front() {
            if dsn >= self.snd_una {
                return Some(dsn);
            }
            self.reinject.pop_front();
        }
        None
    }

    /// Sender: that packet goes to a subflow.
    pub(crate) fn take_reinjection(&mut self, index: usize) {
        if let Some(dsn) = self.reinject.pop_front() {
            self.note_reinjected(dsn, index);
        }
    }

    /// Sender: a packet that failed elsewhere is sent on this subflow.
    pub(crate) fn note_reinjected(&mut self, dsn: u32, index: usize) {
        self.counts.reinjections += 1;
        self.note_repeated(dsn);
        self.carriers.add(dsn, index);
    }

    /// Sender: a packet is sent on a further subflow.
    pub(crate) fn note_repeated(&mut self, dsn: u32) {
        self.counts.of.repeated_bytes += self.short(dsn).map_or(u64::from(self.mss), u64::from);
    }

    /// Sender: whether there is a new packet and it fits the receive window.
    #[inline]
    pub(crate) fn may_send_new(&self) -> bool {
        self.snd_nxt < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::DataLevel;

    #[test]
    fn the_right_edge_never_moves_left_while_packets_wait_for_a_gap() {
        let mut data = DataLevel::new(10, 1_000, true, false);
        for dsn in 0..4 {
            data.receive(dsn, 0, 0);
        }
        assert_eq!(data.advertise(0), 14);
        for dsn in 5..9 {
            data.receive(dsn, 0, 0);
        }
        assert_eq!((data.rcv_nxt, data.advertise(0)), (4, 14));
        data.receive(4, 0, 0);
        assert_eq!((data.rcv_nxt, data.advertise(0)), (9, 19));
    }

    #[test]
    fn what_is_written_is_sent_and_counted_to_the_byte() {
        let mut data = DataLevel::new(100, 1_000, false, false);
        assert!(!data.may_send_new());
        data.write(2_500, 1_000, Some(0));
        data.write(1_000, 1_000, Some(1));
        data.pause(2);
        assert_eq!([0, 1, 2, 3].map(|dsn| data.short(dsn)), [None, None, Some(500), None]);
        data.snd_nxt = 4;
        assert!(!data.may_send_new());
        data.receive(0, 0, 0);
        assert!(data.rcv_nxt < data.boundary);
        for dsn in 1..3 {
            data.receive(dsn, 0, 0);
        }
        assert!(data.rcv_nxt >= data.boundary);
        assert_eq!((data.take_complete(), data.take_complete()), (Some(Some(0)), None));
        assert_eq!(data.delivered_bytes(1_000), 2_500);
        data.receive(3, 0, 0);
        assert_eq!([0; 3].map(|_| data.take_complete()), [Some(Some(1)), Some(Some(2)), None]);
        assert_eq!(data.delivered_bytes(1_000), 3_500);
    }

    #[test]
    fn an_endless_write_ends_with_what_has_been_sent() {
        let mut data = DataLevel::new(100, 1_000, false, false);
        data.write_endlessly();
        assert!(data.may_send_new());
        data.snd_nxt = 7;
        data.pause(0);
        assert!(!data.may_send_new());
        assert_eq!((data.written(), data.boundary), (7, 7));
    }

    #[test]
    fn what_waits_in_a_row_shares_pieces_of_memory_and_leaves_more_of_the_window() {
        // Memory for 100 packets of 1000 bytes: 189,600 bytes, of which a piece has 17 packets at most.
        let mut data = DataLevel::new(100, 1_000, true, true);
        for dsn in 1..41 {
            data.receive(dsn, 0, 0);
        }
        assert_eq!((data.held, data.pieces), (40, 3));
        // 40 x 1000 + 3 x 896 bytes are 22.5 of 1896.
        assert_eq!(data.occupied(), 23);
        // One after another gap begins a piece of its own; what fills that does not join the pieces around it.
        data.receive(42, 0, 0);
        data.receive(41, 0, 0);
        assert_eq!((data.held, data.pieces), (42, 4));
        data.receive(0, 0, 0);
        assert_eq!((data.rcv_nxt, data.held, data.pieces, data.occupied()), (43, 0, 0, 0));
        assert_eq!(data.advertise(0), 143);
    }

    #[test]
    fn a_piece_of_memory_is_an_eighth_of_a_small_buffer_at_most() {
        let mut data = DataLevel::new(20, 1_000, true, true);
        for dsn in 1..9 {
            data.receive(dsn, 0, 0);
        }
        // 20 x 1896 / 8 = 4740 bytes.
        assert_eq!((data.held, data.pieces), (8, 2));
    }

    #[test]
    fn what_a_subflow_has_promised_comes_on_top_of_what_was_handed_over_meanwhile() {
        let mut data = DataLevel::new(10, 1_000, true, true);
        for dsn in (0..3).chain(4..10) {
            data.receive(dsn, 0, 0);
        }
        // Six wait, in pieces of two: 6 x 1000 + 3 x 896 bytes of 1896 each leave five packets.
        assert_eq!((data.rcv_nxt, data.occupied(), data.advertise(0)), (3, 5, 10));
        assert_eq!(data.advertise(9), 12);
        assert_eq!(data.advertise(0), 12, "and is said by all others, too");
    }

    #[test]
    fn a_second_copy_changes_nothing() {
        let mut data = DataLevel::new(10, 1_000, true, false);
        for dsn in [0, 0, 2, 2, 1, 1, 2] {
            data.receive(dsn, 0, 0);
        }
        assert_eq!((data.rcv_nxt, data.held), (3, 0));
    }
}
