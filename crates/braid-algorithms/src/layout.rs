//! The contract's plain memory, field for field as `algorithms/braid.h` declares it.
//!
//! Windows are in packets, times in microseconds, rates in bytes per second. `tests/layout.rs` compares sizes and
//! offsets with the C compiler's.

use std::ffi::{CStr, c_char};

use bytemuck::{Pod, Zeroable};

use crate::hash::fnv1a;

/// `BRAID_LAYOUT_VERSION`: the layout that an algorithm must have been compiled for.
pub const VERSION: u32 = 1;
/// Maximum of subflows per connection.
pub const MAX_SUBFLOWS: usize = 8;
/// Words of state that siblings can read.
pub const PUBLIC_WORDS: usize = 12;
/// The word with the label of a shared-bottleneck detector.
pub const VERDICT_WORD: usize = 4;
/// `ssthresh` before the first loss.
pub const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// Congestion state, numbered as the kernel's `TCP_CA_*`.
pub mod ca_state {
    /// Nothing is lost or out of order.
    pub const OPEN: u32 = 0;
    /// Some packets were selectively acknowledged or retransmitted, none is marked lost.
    pub const DISORDER: u32 = 1;
    /// Reducing after an ECN echo.
    pub const CWR: u32 = 2;
    /// Fast retransmit and fast recovery.
    pub const RECOVERY: u32 = 3;
    /// After a retransmission timeout.
    pub const LOSS: u32 = 4;
}

/// Bits of [`Subflow::flags`].
pub mod subflow_flags {
    /// Established, may send, has an RTT sample: counts in sums and maxima.
    pub const ELIGIBLE: u32 = 1;
    /// Its public words have the layout of self's.
    pub const SAME_ALGORITHM: u32 = 2;
    /// Used only if no other subflow can be.
    pub const BACKUP: u32 = 4;
}

/// Values of [`Event::kind`].
pub mod event_type {
    /// The algorithm starts on a subflow.
    pub const INIT: u32 = 0;
    /// The subflow closes or changes its algorithm.
    pub const RELEASE: u32 = 1;
    /// A congestion episode begins.
    pub const ON_LOSS: u32 = 2;
    /// A congestion episode ended.
    pub const ON_RECOVERED: u32 = 3;
    /// An acknowledgement arrived.
    pub const ON_ACK: u32 = 4;
    /// About to send with nothing in flight.
    pub const ON_IDLE_RESTART: u32 = 5;
}

/// Values of [`Event::cause`].
pub mod cause {
    /// Loss detected by selective acknowledgements.
    pub const FAST_RETRANSMIT: u32 = 1;
    /// Retransmission timeout.
    pub const RTO: u32 = 2;
    /// ECN echo.
    pub const ECN: u32 = 3;
    /// The episode ended with all its data acknowledged.
    pub const EXIT: u32 = 1;
    /// The episode was undone.
    pub const UNDO: u32 = 2;
}

/// Bits of [`Event::flags`].
pub mod event_flags {
    /// The ACK echoes congestion.
    pub const ECE: u32 = 1;
    /// The window was full in the last round.
    pub const CWND_LIMITED: u32 = 2;
    /// `owd_us` is valid.
    pub const HAS_OWD: u32 = 4;
    /// The rate sample was limited by the application; at an idle restart: the data to send is.
    pub const APP_LIMITED: u32 = 8;
    /// Idle for longer than the RTO: the host has reduced cwnd.
    pub const IDLE_DECAYED: u32 = 16;
}

/// `struct braid_subflow`: one subflow as its host sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Subflow {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// See [`ca_state`].
    pub ca_state: u32,
    /// See [`subflow_flags`].
    pub flags: u32,
    /// Smoothed RTT, 0 before the first sample.
    pub srtt_us: u32,
    /// Smallest RTT of the last 300 s, 0 before the first sample.
    pub min_rtt_us: u32,
    /// Latest RTT sample, 0 before the first.
    pub last_rtt_us: u32,
    /// Payload bytes per packet.
    pub mss: u32,
    /// Packets believed to be in the network.
    pub in_flight: u32,
    /// cwnd at the start of the present or latest reduction.
    pub prior_cwnd: u32,
    /// Upper bound of cwnd.
    pub cwnd_clamp: u32,
    /// Packets delivered so far; wraps.
    pub delivered: u32,
    /// Delivered packets with a congestion mark; wraps.
    pub delivered_ce: u32,
    /// Packets marked lost so far; wraps.
    pub lost: u32,
    /// Stable within the connection, from 1.
    pub id: u32,
    /// Hint of the host: subflows with the same number, not 0, share a bottleneck; 0: no hint.
    pub hint: u32,
    /// Bytes acknowledged from the start of the subflow.
    pub snd_una: u64,
    /// Bytes sent from the start of the subflow.
    pub snd_nxt: u64,
    /// Time of the latest delivery.
    pub last_ack_us: u64,
    /// Payload bytes per second; 0: the host decides.
    pub pacing_rate: u64,
    /// State that siblings can read.
    pub public_words: [u64; PUBLIC_WORDS],
}

/// A detector's label of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Subflows of one connection with the same group share a bottleneck; 0: it shares none.
    pub group: u16,
    /// Time of the latest change; 0: never changed.
    pub since_us: u64,
}

impl Verdict {
    /// Decodes the word in which it is published.
    pub fn from_word(word: u64) -> Self {
        Self { group: word as u16, since_us: word >> u16::BITS }
    }
}

impl Subflow {
    /// The detector's label; only for algorithms with the flag [`DETECTS`](crate::Algorithm::DETECTS).
    pub fn verdict(&self) -> Verdict {
        Verdict::from_word(self.public_words[VERDICT_WORD])
    }
}

/// `struct braid_view`: a connection, and the subflow of the event.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Identifies the connection on its host.
    pub connection: u64,
    /// Number of subflows, 1 to [`MAX_SUBFLOWS`].
    pub n: u32,
    /// Index of the event's subflow.
    pub self_index: u32,
    /// In order of creation.
    pub subflow: [Subflow; MAX_SUBFLOWS],
}

/// `struct braid_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Event {
    /// Time.
    pub now_us: u64,
    /// See [`event_type`].
    pub kind: u32,
    /// See [`cause`].
    pub cause: u32,
    /// See [`event_flags`].
    pub flags: u32,
    /// Packets newly delivered by this ACK.
    pub acked: u32,
    /// Number of them that may grow the window.
    pub grow: u32,
    /// Bytes by which `snd_una` advanced.
    pub acked_bytes: u32,
    /// RTT of the latest segment delivered, 0: none.
    pub rtt_us: u32,
    /// Time since the last transmission, for an idle restart.
    pub idle_us: u32,
    /// One-way delay, differences only.
    pub owd_us: i32,
    /// Packets delivered during the rate sample's interval.
    pub rate_delivered: u32,
    /// Length of the interval, 0: no sample.
    pub rate_interval_us: u32,
    /// [`Subflow::delivered`] when the acknowledged packet was sent.
    pub rate_prior_delivered: u32,
    /// Packets marked lost by this ACK.
    pub rate_losses: u32,
    /// `in_flight` before this ACK.
    pub prior_in_flight: u32,
}

/// `struct braid_probe_field` of `native/probe.c`.
#[repr(C)]
pub(crate) struct Field {
    pub(crate) name: *const c_char,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

unsafe extern "C" {
    /// First of a table that ends with a nameless row.
    pub(crate) static braid_probe_fields: Field;
}

/// Hash of the name, offset and size of every field, as the C compiler laid them out: files with these structures can
/// be read only by builds with the same hash.
pub fn hash() -> u64 {
    let mut text = Vec::new();
    let mut field = &raw const braid_probe_fields;
    // SAFETY: native/probe.c ends the table with a nameless row.
    unsafe {
        while !(*field).name.is_null() {
            text.extend(CStr::from_ptr((*field).name).to_bytes());
            text.extend([(*field).offset, (*field).size].map(u64::to_le_bytes).concat());
            field = field.add(1);
        }
    }
    fnv1a(text)
}
