//! The contract's memory, as laid out by `schedulers/scheduler.h`.

use bytemuck::{Pod, Zeroable};

/// Maximum of paths per connection.
pub const MAX_PATHS: usize = 8;
/// `ssthresh` before the first loss.
pub const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// [`Path::flags`]
pub mod path_flags {
    /// Established at both levels, and has not failed.
    pub const USABLE: u32 = 1;
    /// Used only if no other is usable.
    pub const BACKUP: u32 = 2;
    /// It can send another packet now.
    pub const ROOM: u32 = 4;
    /// Its send buffer has room.
    pub const MEMORY: u32 = 8;
    /// Recovering from a retransmission timeout.
    pub const LOSS: u32 = 16;
    /// Neither reducing its window nor recovering.
    pub const OPEN: u32 = 32;
    /// Repeatedly timed out.
    pub const STALE: u32 = 64;
    /// Established at both levels, failed or not.
    pub const ESTABLISHED: u32 = 128;
}

/// [`Paths::flags`]
pub mod flags {
    /// The segment is new, and fits the receive window.
    pub const NEW_DATA: u32 = 1;
    /// The segment was sent before, on a path that has failed or gone.
    pub const REINJECTION: u32 = 2;
    /// Blocked: new data does not fit the receive window.
    pub const WINDOW_BLOCKED: u32 = 4;
    /// Blocked: the application waits for room in the send buffer.
    pub const MEMORY_BLOCKED: u32 = 8;
    /// Blocked: the send buffer has some room.
    pub const MEMORY_LEFT: u32 = 16;
}

/// [`Choice::flags`]
pub mod choice_flags {
    /// Instead of the segment, send the oldest segment that the path has not sent.
    pub const COPY: u32 = 1;
    /// The paths may get more than they can send now.
    pub const QUEUE: u32 = 2;
    /// Mark the segment as sent by no path.
    pub const FORGET: u32 = 4;
    /// Take back queued segments, and call again.
    pub const RECALL: u32 = 8;
    /// Blocked: send the oldest unacknowledged segment on path self.
    pub const RESEND_HEAD: u32 = 16;
    /// Blocked: the decision is valid until a certain event.
    pub const ONCE_PER_RTT: u32 = 64;
    /// Blocked: no remedy at any time.
    pub const NO_REMEDY: u32 = 32;
}

/// `struct braid_path`: a subflow's state for schedulers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct Path {
    pub flags: u32,
    pub mss: u32,
    pub srtt_us: u32,
    pub rttvar_us: u32,
    pub mdev_max_us: u32,
    pub last_rtt_us: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub in_flight: u32,
    pub queued: u32,
    pub behind: u32,
    pub reserved: u32,
    pub memory: u64,
    pub pacing_rate: u64,
}

/// `struct braid_paths`: a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct Paths {
    pub now_us: u64,
    pub flags: u32,
    pub n: u32,
    pub self_index: u32,
    pub segment: u32,
    pub carriers: u32,
    pub head_carriers: u32,
    pub window: u64,
    pub window_left: u64,
    pub unassigned: u64,
    pub path: [Path; MAX_PATHS],
}

/// `struct braid_choice`: a decision.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[allow(missing_docs, reason = "the header explains them")]
pub struct Choice {
    pub paths: u32,
    pub packets: u32,
    pub flags: u32,
    pub wake_us: u32,
    pub srtt_us: u32,
    pub cwnd: [u32; MAX_PATHS],
    pub ssthresh: [u32; MAX_PATHS],
}

impl Choice {
    /// The single path, if there is exactly one.
    pub fn path(&self) -> Option<usize> {
        self.paths.is_power_of_two().then(|| self.paths.trailing_zeros() as usize)
    }
}
