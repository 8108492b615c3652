//! The receiving end of a subflow: time and content of acknowledgements (RFC 5681, 2018, 2883, 3168, 7323).

use std::collections::VecDeque;

use super::wheel::expiry;
use crate::data::DataLevel;
use crate::event_queue::NEVER;
use crate::network::Network;
use crate::packet::{MAX_BLOCKS, Packet, Sack, Sacks, flags, is_outdated};
use crate::ranges::Ranges;

/// Delay of the acknowledgement of a lone packet, nanoseconds.
const DELAYED_ACK_NS: u64 = 40_000_000;
/// Immediate acknowledgements at the start and after a pause.
const QUICK_ACKS: u32 = 16;
/// Linux opens the window by two packets per packet, from the payload share of the receive buffer assumed before the
/// first packet to that assumed afterwards (64 and 79 of 128, `tcp_scaling_ratio`, packets of 1500 bytes), and
/// acknowledges each packet until then. This is the number of packets per packet of buffer.
const OPENING: (u64, u64) = (79 - 64, 128);
/// Within this time timestamps have not wrapped.
const TIMESTAMPS_HOLD_NS: u64 = 2_000_000_000_000;
/// Blocks remembered; what no longer fits an acknowledgement is reported in later ones.
const RECENT: usize = 4;

/// Constants of the receiving end.
pub(crate) struct Setup {
    /// Number of the subflow.
    pub(crate) subflow: u32,
    /// First hop of the reverse route.
    pub(crate) hop: u32,
    /// Bytes of an acknowledgement without blocks.
    pub(crate) ack_size: u16,
    /// Maximum of blocks: 3, or 1 with MPTCP's options.
    pub(crate) max_blocks: u8,
    /// Whether the data level has separate sequence numbers (MPTCP).
    pub(crate) multipath: bool,
    /// Whether acknowledgements may be delayed.
    pub(crate) delayed_ack: bool,
    /// Receive buffer, packets; `None`: it is autotuned.
    pub(crate) buffer: Option<u64>,
    /// Whether each mark is echoed (RFC 8257).
    pub(crate) accurate_ecn: bool,
    /// Whether one-way delays are reported.
    pub(crate) reports_delay: bool,
}

/// MPTCP: a packet that waits for those before it on its subflow.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its number at the data level.
    dsn: u32,
    arrived: u64,
}

pub(crate) struct Receiver {
    setup: Setup,
    rcv_nxt: u32,
    /// Right edge of its window in the latest acknowledgement, which never moves left, in this subflow's numbers.
    window_end: u32,
    /// `rcv_nxt` in the latest acknowledgement.
    acknowledged: u32,
    out_of_order: Ranges,
    held: u32,
    /// MPTCP: packets beyond the first gap, from the one after it; `None`: not arrived.
    waiting: VecDeque<Option<Waiting>>,
    /// One packet number inside each recently reported block, latest first.
    recent: [u32; RECENT],
    n_recent: usize,
    /// The timestamp to echo: of the packet that last advanced the cumulative acknowledgement.
    timestamp: u32,
    quick_acks: u32,
    /// Packets until the window is fully open; unlimited with autotuning.
    opening: u32,
    /// A pause longer than this makes the next packets be acknowledged at once.
    pause_ns: u64,
    last_data: u64,
    /// A congestion mark arrived and the sender has not answered with CWR yet; with accurate ECN: the latest packet was
    /// marked.
    echo: bool,
    /// One-way delay of the latest packet, microseconds.
    one_way_us: u32,
    /// Time of the delayed acknowledgement; [`NEVER`]: none.
    pub(crate) due: u64,
    /// Entry in the event queue; [`NEVER`]: none.
    pub(crate) planned: u64,
    pub(crate) received_bytes: u64,
    pub(crate) received_packets: u64,
}

impl Receiver {
    /// Packets sent from now on take the route that begins at this hop.
    pub(crate) fn set_route(&mut self, hop: u32) {
        self.setup.hop = hop;
    }

    pub(crate) fn new(setup: Setup) -> Self {
        let opening = match setup.buffer {
            Some(buffer) => u32::try_from(buffer * OPENING.0 / OPENING.1).unwrap_or(u32::MAX),
            None => u32::MAX,
        };
        Self {
            setup,
            rcv_nxt: 0,
            window_end: 0,
            acknowledged: 0,
            out_of_order: Ranges::default(),
            held: 0,
            waiting: VecDeque::new(),
            recent: [0; RECENT],
            n_recent: 0,
            timestamp: 0,
            quick_acks: QUICK_ACKS,
            opening,
            pause_ns: 1_000_000_000,
            last_data: 0,
            echo: false,
            one_way_us: 0,
            due: NEVER,
            planned: NEVER,
            received_bytes: 0,
            received_packets: 0,
        }
    }

    /// Its end of the handshake is done: its own retransmission timeout is known, which defines a pause.
    pub(crate) fn established(&mut self, now: u64, rto_ns: u64) {
        self.pause_ns = rto_ns;
        self.timestamp = (now / 1_000) as u32;
        self.last_data = now;
    }

    /// Number of different packets that arrived.
    #[cfg(test)]
    pub(crate) fn distinct(&self) -> u32 {
        self.rcv_nxt + self.held
    }

    /// A data packet arrives.
    #[inline]
    pub(crate) fn receive(&mut self, packet: &Packet, data: &mut DataLevel, network: &mut Network) {
        let now = network.now;
        self.received_bytes += u64::from(packet.size);
        self.received_packets += 1;
        let seq = packet.seq;
        // Timestamps wrap: an old one no longer tells the age.
        let expired = now - self.last_data >= TIMESTAMPS_HOLD_NS;
        if !expired && is_outdated(packet.timestamp, self.timestamp) {
            // Linux `tcp_validate_incoming`: dropped, even if it would fill a gap.
            let duplicate = (seq < self.rcv_nxt).then_some(seq);
            if duplicate.is_some() {
                self.quick_acks = QUICK_ACKS;
            }
            self.acknowledge_now(duplicate, data, network);
            return;
        }
        let mut at_once = !self.setup.delayed_ack;
        if self.setup.reports_delay {
            self.one_way_us = network.timestamp().wrapping_sub(packet.timestamp);
        }
        if self.setup.accurate_ecn {
            let marked = packet.flags & flags::CE != 0;
            if marked != self.echo {
                // Packets not yet acknowledged have the other mark: acknowledges them first (RFC 8257).
                if self.rcv_nxt > self.acknowledged {
                    self.acknowledge(None, data, network);
                }
                self.echo = marked;
            }
        } else if packet.flags & (flags::CE | flags::CWR) != 0 {
            if packet.flags & flags::CWR != 0 {
                self.echo = false;
                at_once = true;
            }
            if packet.flags & flags::CE != 0 && !self.echo {
                self.echo = true;
                self.quick_acks = self.quick_acks.max(2);
            }
        }
        if now - self.last_data > self.pause_ns {
            self.quick_acks = QUICK_ACKS;
        }
        self.last_data = now;

        let mut duplicate = None;
        let is_later = self.timestamp.wrapping_sub(packet.timestamp) as i32 <= 0;
        if seq <= self.acknowledged && (expired || is_later) {
            self.timestamp = packet.timestamp;
        }
        if seq == self.rcv_nxt {
            self.rcv_nxt += 1;
            if self.setup.multipath {
                data.receive(packet.dsn, now, now);
            }
            if !self.out_of_order.is_empty() {
                self.pass_up(data, now);
                let next = self.out_of_order.take_prefix(self.rcv_nxt);
                self.held -= next - self.rcv_nxt;
                self.rcv_nxt = next;
                at_once |= self.out_of_order.is_empty();
            }
        } else if seq < self.rcv_nxt {
            duplicate = Some(seq);
            self.quick_acks = QUICK_ACKS;
        } else if self.out_of_order.containing(seq).is_some() {
            duplicate = Some(seq);
        } else {
            self.out_of_order.insert(seq, seq + 1, |_, _| {});
            self.keep(seq, packet.dsn, now);
            self.held += 1;
            self.remember(seq);
        }
        if !self.setup.multipath {
            data.follow(self.rcv_nxt, self.held);
        }
        if self.opening > 0 && duplicate.is_none() {
            self.open(data);
        }
        at_once |= !self.out_of_order.is_empty() || self.rcv_nxt - self.acknowledged >= 2;
        if self.quick_acks > 0 {
            self.quick_acks -= 1;
            at_once = true;
        }
        if at_once {
            self.acknowledge_now(duplicate, data, network);
        } else {
            self.due = self.due.min(expiry(now, now + DELAYED_ACK_NS));
        }
    }

    /// The window opens.
    #[cold]
    fn open(&mut self, data: &mut DataLevel) {
        if !data.is_tuned() {
            self.opening -= 1;
            self.quick_acks |= 1;
        } else if data.open() {
            self.quick_acks |= 1;
        }
    }

    /// MPTCP: stores a packet until it is in order on its subflow (Linux `mptcp_subflow_data_available`).
    #[cold]
    fn keep(&mut self, seq: u32, dsn: u32, arrived: u64) {
        if self.setup.multipath {
            let place = (seq - self.rcv_nxt - 1) as usize;
            if place >= self.waiting.len() {
                self.waiting.resize(place + 1, None);
            }
            self.waiting[place] = Some(Waiting { dsn, arrived });
        }
    }

    /// MPTCP: a gap was filled.
    #[cold]
    fn pass_up(&mut self, data: &mut DataLevel, now: u64) {
        // Also removes the entry of the next gap.
        while let Some(Some(Waiting { dsn, arrived })) = self.waiting.pop_front() {
            data.receive(dsn, arrived, now);
        }
    }

    /// Sends an acknowledgement of all that has arrived.
    pub(crate) fn acknowledge(
        &mut self,
        duplicate: Option<u32>,
        data: &mut DataLevel,
        network: &mut Network,
    ) {
        self.acknowledge_now(duplicate, data, network);
    }

    /// As [`Self::acknowledge`], part of the loop of events.
    #[allow(clippy::inline_always, reason = "once per acknowledgement")]
    #[inline(always)]
    fn acknowledge_now(&mut self, duplicate: Option<u32>, data: &mut DataLevel, network: &mut Network) {
        let mut size = self.setup.ack_size;
        let mut slot = Sacks::NONE;
        if duplicate.is_some() || !self.out_of_order.is_empty() {
            let sack = self.blocks(duplicate);
            if sack.n > 0 {
                size += 4 + 8 * u16::from(sack.n);
                slot = network.sacks.put(self.reported(sack, network));
            }
        }
        if slot == Sacks::NONE && self.setup.reports_delay {
            slot = network.sacks.put(self.reported(Sack::default(), network));
        }
        let window_end = data.advertise(self.window_end.saturating_sub(self.rcv_nxt));
        self.window_end = self.rcv_nxt + (window_end - data.rcv_nxt);
        let packet = Packet {
            arrival: 0,
            subflow: self.setup.subflow,
            hop: self.setup.hop,
            size,
            flags: if self.echo { flags::ECE } else { 0 },
            seq: self.rcv_nxt,
            dsn: data.rcv_nxt,
            timestamp: self.timestamp,
            window_end,
            sack: slot,
        };
        self.acknowledged = self.rcv_nxt;
        self.due = NEVER;
        network.send(packet);
    }

    fn reported(&self, sack: Sack, network: &Network) -> Sack {
        let one_way_us = self.setup.reports_delay.then_some(self.one_way_us);
        Sack { sent: network.timestamp(), one_way_us, ..sack }
    }

    /// The block that holds `seq` becomes the most recent one.
    fn remember(&mut self, seq: u32) {
        let Some((start, end)) = self.out_of_order.containing(seq) else { return };
        let mut recent = [seq; RECENT];
        let mut n = 1;
        for &other in &self.recent[..self.n_recent] {
            if n < RECENT && !(start..end).contains(&other) {
                recent[n] = other;
                n += 1;
            }
        }
        self.recent = recent;
        self.n_recent = n;
    }

    fn blocks(&mut self, duplicate: Option<u32>) -> Sack {
        let mut sack = Sack::default();
        let max = usize::from(self.setup.max_blocks).min(MAX_BLOCKS);
        let mut n = 0;
        if let Some(seq) = duplicate {
            sack.blocks[0] = (seq, seq + 1);
            sack.duplicate = true;
            n = 1;
        }
        let mut kept = 0;
        for at in 0..self.n_recent {
            let seq = self.recent[at];
            // Cumulatively acknowledged packets are no longer in the set.
            if let Some(block) = self.out_of_order.containing(seq) {
                self.recent[kept] = seq;
                kept += 1;
                if n < max {
                    sack.blocks[n] = block;
                    n += 1;
                }
            }
        }
        self.n_recent = kept;
        sack.n = n as u8;
        sack
    }
}
