//! The data level of a connection (RFC 8684): one sequence of packets over all subflows, and one receive buffer.
//!
//! With plain TCP both levels have the same numbers; only the window is used here.

use std::collections::VecDeque;

use braid_results::measure::DataLevelCounts;
use braid_schedulers::layout::flags;

use crate::autotuning::Autotuning;
use crate::packet::MEMORY_OVERHEAD;
use crate::ring::Ring;
use crate::schedule::carriers::Carriers;

/// Counters of the data level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Packets taken from a failed or removed subflow.
    pub(crate) reinjections: u64,
    pub(crate) of: DataLevelCounts,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.reinjections += other.reinjections;
        self.of.add(&other.of);
    }
}

/// Writes of an application that is not a bulk sender. The last packet of a write may be short.
#[derive(Default)]
pub(crate) struct Writes {
    /// Writes that are incomplete at the receiver, in order.
    pending: VecDeque<Write>,
    /// Short packets, ascending: number and payload.
    short: VecDeque<(u32, u16)>,
    /// Bytes missing from short packets compared with full ones, over all complete writes.
    pub(crate) lacked: u64,
}

impl Writes {
    #[inline(never)]
    fn short(&self, dsn: u32) -> Option<u16> {
        let at = self.short.binary_search_by_key(&dsn, |&(dsn, _)| dsn).ok()?;
        Some(self.short[at].1)
    }
}

/// A write or transfer that ends with this packet.
#[derive(Clone, Copy, Debug)]
struct Write {
    end: u32,
    /// Bytes missing from its last packet compared with a full one.
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
    /// Sender: end of the data that the application has written; [`ENDLESS`]: a bulk sender.
    written: u32,
    /// Sender: end of the data in the send buffer; equals `written` if the buffer is unlimited.
    available: u32,
    /// Sender: the smaller of `available` and `window_end`.
    limit: u32,
    /// Sender: size of the send buffer, packets; [`ENDLESS`]: unlimited.
    send_buffer: u32,
    /// Sender: end of the send buffer at the application's last write; [`ENDLESS`]: unlimited.
    filled: u32,
    /// Sender: the send buffer grows as the kernel's.
    grows: bool,
    /// MPTCP sender: subflows that have sent each unacknowledged packet.
    pub(crate) carriers: Carriers,
    is_multipath: bool,
    /// Sender: packets of failed subflows, to be sent on others.
    pub(crate) reinject: VecDeque<u32>,
    /// Sender: unsent packets that subflows returned, ascending.
    recalled: VecDeque<u32>,
    /// Sender: since when the receive window blocks data although a subflow has room.
    pub(crate) limited_since: Option<u64>,
    mss: u32,
    pub(crate) counts: Counts,

    /// Receiver: everything below has been delivered to the application.
    pub(crate) rcv_nxt: u32,
    /// Receiver: packets buffered out of order.
    held: u32,
    /// MPTCP receiver: pieces of memory that the buffered packets occupy.
    pieces: u32,
    /// MPTCP receiver: arrival time + 1 ns of each packet after the one behind the first gap; 0: not arrived. The
    /// lowest bits ([`PLACE`]) are its position in its piece of memory. The last packet has arrived.
    arrivals: Ring<u64>,
    /// Receiver: the window's right edge, which never moves left.
    advertised_end: u32,
    /// Receive buffer, packets; with autotuning, the offered part.
    buffer: u32,
    /// MPTCP receiver: maximum of packets in a piece of memory for this buffer.
    piece: u64,
    /// Autotuning state.
    autotuning: Option<Box<Autotuning>>,
    /// Receiver: at this `rcv_nxt` a transfer is complete; [`ENDLESS`]: none.
    pub(crate) boundary: u32,
    /// `None`: a bulk transfer.
    writes: Option<Box<Writes>>,
    /// Receiver: packets that subflows have passed up, to check deliveries.
    #[cfg(test)]
    seen: std::collections::BTreeSet<u32>,
}

/// No packet has this number.
const ENDLESS: u32 = u32::MAX;

/// Memory that the send buffer charges for a packet of up to 1512 bytes (`tcp_sndbuf_expand`) in kernels without
/// wireless drivers, such as Debian's cloud kernel. With them it is 4352.
const RECKONED: u64 = 2_304;
/// A send buffer is for two windows of at least this many packets.
const LEAST_WINDOW: u32 = 10;

/// Memory for two windows of `cwnd` packets.
pub(crate) fn send_buffer(cwnd: u32) -> u64 {
    2 * RECKONED * u64::from(cwnd.max(LEAST_WINDOW))
}

/// Bits for a packet's index within a memory block.
const PLACE: u32 = 5;
/// Maximum of packets in a piece (`MAX_SKB_FRAGS`).
const PIECE: u64 = 17;

/// Packets of `mss` bytes in a piece of memory: at most an eighth of the buffer.
fn piece(buffer: u32, mss: u32) -> u64 {
    let memory = u64::from(buffer) * u64::from(mss + MEMORY_OVERHEAD);
    (memory / 8 / u64::from(mss)).clamp(1, PIECE)
}

impl DataLevel {
    /// Creates a data level with a receive buffer of `buffer` packets of `mss` bytes.
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
            grows: false,
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

    /// Sender: limits the packets that are written and not acknowledged.
    pub(crate) fn limit_written(&mut self, packets: u32) {
        (self.send_buffer, self.filled) = (packets, packets);
        self.update_limit();
    }

    /// Sender: gives it the kernel's own send buffer.
    pub(crate) fn tune_send_buffer(&mut self) {
        self.grows = true;
        self.limit_written(self.send_packets(1));
    }

    /// Packets in the kernel's send buffer for a window of `cwnd` packets.
    fn send_packets(&self, cwnd: u32) -> u32 {
        send_buffer(cwnd).div_ceil(u64::from(self.mss + MEMORY_OVERHEAD)) as u32
    }

    /// Sender: after an acknowledgement, with a window of `cwnd` packets: the send buffer grows if what it holds does not fill
    /// the window (`tcp_should_expand_sndbuf`).
    #[inline]
    pub(crate) fn note_window(&mut self, cwnd: u32) {
        if self.grows && self.written == ENDLESS && self.filled - self.snd_una < cwnd {
            self.send_buffer = self.send_buffer.max(self.send_packets(cwnd));
            self.fill();
            self.update_limit();
        }
    }

    /// Receiver: lets the buffer grow as Linux's, up to `most` bytes.
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

    /// Sender: the application writes these bytes in packets of `mss`; they complete a transfer.
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

    /// Sender: the application becomes a bulk sender.
    pub(crate) fn write_endlessly(&mut self) {
        self.written = ENDLESS;
        self.update_limit();
    }

    /// Sender: completes a transfer with the data written so far. A bulk sender has filled its send buffer, or written
    /// `ahead` packets beyond the delivered data.
    pub(crate) fn pause(&mut self, transfer: u32, ahead: u32) {
        if self.written == ENDLESS {
            let kept = if self.filled == ENDLESS { self.snd_una.saturating_add(ahead) } else { self.filled };
            self.written = self.snd_nxt.max(kept);
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

    /// Receiver: takes the next complete write. `None`: no more; `Some(None)`: a write without a transfer.
    #[allow(clippy::option_option, reason = "a queue of optional numbers")]
    pub(crate) fn take_complete(&mut self) -> Option<Option<u32>> {
        let writes = self.writes.as_mut()?;
        let write = *writes.pending.front().filter(|write| write.end <= self.rcv_nxt)?;
        writes.pending.pop_front();
        writes.lacked += u64::from(write.lacks);
        self.boundary = writes.pending.front().map_or(ENDLESS, |next| next.end);
        Some(write.transfer)
    }

    /// Payload of a short packet.
    #[inline]
    pub(crate) fn short(&self, dsn: u32) -> Option<u16> {
        self.writes.as_ref()?.short(dsn)
    }

    /// Payload delivered to the application, in packets of `mss` bytes.
    pub(crate) fn delivered_bytes(&self, mss: u32) -> u64 {
        let lacked = self.writes.as_ref().map_or(0, |writes| writes.lacked);
        u64::from(self.rcv_nxt) * u64::from(mss) - lacked
    }

    /// Sender: end of the written data; for a bulk sender, of the sent data.
    pub(crate) fn written(&self) -> u32 {
        if self.written == ENDLESS { self.snd_nxt } else { self.written }
    }

    /// Sender: no new data waits.
    pub(crate) fn all_sent(&self) -> bool {
        self.snd_nxt >= self.written()
    }

    /// Sender: whether the application has written more than was sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.written
    }

    /// Receiver: a packet that arrived at `arrived` is now in order on its subflow. Ignores copies.
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

    /// Receiver: buffers an out-of-order packet.
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
        // Joins the piece of the previous packet, if that is buffered (`mptcp_ooo_try_coalesce`).
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
        // Also removes the entry of the next gap.
        while let Some(kept) = self.arrivals.pop().filter(|kept| *kept > 0) {
            self.rcv_nxt += 1;
            self.held -= 1;
            self.pieces -= u32::from(kept % (1 << PLACE) == 0);
            self.counts.of.delays.add(now + 1 - (kept >> PLACE));
        }
    }

    /// Receiver: the occupied part of the buffer, as the number of packets in separate memory.
    fn occupied(&self) -> u32 {
        if !self.is_multipath {
            return self.held;
        }
        let [held, pieces, mss, overhead] =
            [self.held, self.pieces, self.mss, MEMORY_OVERHEAD].map(u64::from);
        (held * mss + pieces * overhead).div_ceil(mss + overhead) as u32
    }

    /// Counters until now.
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

    /// Receiver: the window to advertise. The application reads at once, so only data behind a gap takes room.
    /// `promised`: packets that this subflow offered before; the window adds data delivered since (`tcp_select_window`,
    /// `mptcp_set_rwin`).
    #[inline]
    pub(crate) fn advertise(&mut self, promised: u32) -> u32 {
        let held = if self.held > 0 { self.occupied() } else { 0 };
        let window = self.buffer.saturating_sub(held).max(promised);
        self.advertised_end = self.advertised_end.max(self.rcv_nxt + window);
        self.advertised_end
    }

    /// Sender: handles a data-level acknowledgement. Returns whether it opened the window or freed data.
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

    /// Sender: the application writes again when a third of the send buffer is free (Linux `sk_stream_min_wspace`).
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

    /// Receiver: a new packet has arrived. Returns whether the offered window grows.
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

    /// Receiver: the application has read everything available; `rtt_us` is that of the slowest subflow.
    pub(crate) fn note_read(&mut self, now: u64, rtt_us: u32) {
        if let Some(tuning) = &mut self.autotuning {
            tuning.read(self.rcv_nxt, now, rtt_us);
        }
    }

    pub(crate) fn window_end(&self) -> u32 {
        self.window_end
    }

    /// Receiver: whether every delivered packet was received.
    #[cfg(test)]
    pub(crate) fn has_received_all(&self) -> bool {
        self.seen.range(..self.rcv_nxt).count() == self.rcv_nxt as usize && self.rcv_nxt <= self.snd_nxt
    }

    #[cfg(test)]
    pub(crate) fn set_window_end(&mut self, end: u32) {
        self.window_end = end;
        self.update_limit();
    }

    /// Sender: number of new packets that fit the receive window and end at most `ahead` packets beyond the delivered
    /// data.
    pub(crate) fn sendable(&self, ahead: u32) -> u32 {
        self.limit.min(self.snd_una.saturating_add(ahead)).saturating_sub(self.snd_nxt)
    }

    /// Sender: written packets not yet assigned to a subflow.
    pub(crate) fn unassigned(&self) -> u64 {
        u64::from(self.available - self.snd_nxt.min(self.available)) + self.recalled.len() as u64
    }

    /// Sender: whether the send buffer is limited.
    pub(crate) fn has_send_buffer(&self) -> bool {
        self.filled != ENDLESS
    }

    /// Sender: whether the receive window or the send buffer blocks data.
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        self.snd_nxt >= self.limit && self.snd_nxt < self.written
    }

    /// Sender: flags for the cause of blocking: the receive window, or the send buffer and whether it is not quite
    /// full.
    pub(crate) fn blocked_by(&self) -> u32 {
        if self.snd_nxt < self.available {
            flags::WINDOW_BLOCKED
        } else if self.filled - self.snd_una < self.send_buffer {
            flags::MEMORY_BLOCKED | flags::MEMORY_LEFT
        } else {
            flags::MEMORY_BLOCKED
        }
    }

    /// Sender: records whether data is blocked although a subflow has room.
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

    /// Sender: assigns the next packet of new data to a subflow.
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

    /// Sender: takes an assigned, unsent packet back from a subflow.
    pub(crate) fn recall(&mut self, dsn: u32, index: usize) {
        self.carriers.withdraw(dsn, index);
        self.recalled.push_back(dsn);
    }

    /// Sender: sorts the returned packets, once all are returned.
    pub(crate) fn sort_recalled(&mut self) {
        self.recalled.make_contiguous().sort_unstable();
    }

    /// Sender: the next returned packet.
    #[inline]
    pub(crate) fn next_recalled(&self) -> Option<u32> {
        self.recalled.front().copied()
    }

    /// Sender: the next packet to be reinjected.
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

    /// Sender: assigns that packet to a subflow.
    pub(crate) fn take_reinjection(&mut self, index: usize) {
        if let Some(dsn) = self.reinject.pop_front() {
            self.note_reinjected(dsn, index);
        }
    }

    /// Sender: this subflow sends a packet that failed elsewhere.
    pub(crate) fn note_reinjected(&mut self, dsn: u32, index: usize) {
        self.counts.reinjections += 1;
        self.note_repeated(dsn);
        self.carriers.add(dsn, index);
    }

    /// Sender: a further subflow sends a copy of this packet.
    pub(crate) fn note_repeated(&mut self, dsn: u32) {
        self.counts.of.repeated_bytes += self.short(dsn).map_or(u64::from(self.mss), u64::from);
    }

    /// Sender: whether a new packet exists and fits the receive window.
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
        data.pause(2, 0);
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
        data.pause(0, 0);
        assert!(!data.may_send_new());
        assert_eq!((data.written(), data.boundary), (7, 7));
    }

    #[test]
    fn what_a_send_buffer_holds_is_still_sent_when_the_application_pauses() {
        let paused = |buffer: Option<u32>, ahead: u32| {
            let mut data = DataLevel::new(1_000, 1_448, false, false);
            match buffer {
                Some(0) => data.tune_send_buffer(),
                Some(packets) => data.limit_written(packets),
                None => {}
            }
            data.write_endlessly();
            data.snd_nxt = 7;
            data.pause(0, ahead);
            (data.may_send_new(), data.written())
        };
        assert_eq!(paused(Some(12), 0), (true, 12));
        assert_eq!([paused(None, 9), paused(None, 5)], [(true, 9), (false, 7)]);
        // Two windows of ten packets, each reckoned as 2304 bytes and taking 2344.
        assert_eq!(paused(Some(0), 0), (true, 20));
    }

    #[test]
    fn the_kernels_send_buffer_grows_only_where_it_does_not_fill_the_window() {
        let mut data = DataLevel::new(1_000, 1_448, false, false);
        data.tune_send_buffer();
        data.write_endlessly();
        data.snd_nxt = 20;
        data.acknowledged(0, 1_000);
        data.note_window(20);
        assert!(!data.may_send_new(), "it holds a window of 20 packets");
        data.note_window(21);
        assert!(data.may_send_new());
        data.pause(0, 0);
        // 2 x 21 x 2304 bytes for packets of 2344.
        assert_eq!(data.written(), 42);
        data.acknowledged(10, 1_000);
        data.note_window(100);
        assert_eq!((data.written(), data.send_buffer), (42, 42), "nothing is written during a pause");
    }

    #[test]
    fn what_waits_in_a_row_shares_pieces_of_memory_and_leaves_more_of_the_window() {
        // Memory for 100 packets of 1000 bytes: 189,600 bytes; a piece has at most 17 packets.
        let mut data = DataLevel::new(100, 1_000, true, true);
        for dsn in 1..41 {
            data.receive(dsn, 0, 0);
        }
        assert_eq!((data.held, data.pieces), (40, 3));
        // 40 x 1000 + 3 x 896 bytes are 22.5 of 1896.
        assert_eq!(data.occupied(), 23);
        // Packets behind another gap begin a new piece; a packet that fills this gap does not join neighbouring pieces.
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
        // Six wait in pieces of two: 6 x 1000 + 3 x 896 bytes of 1896 each leave five packets.
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
