//! The memory of the contract, as `schedulers/scheduler.h` lays it out.

use bytemuck::{Pod, Zeroable};

/// Most paths of a connection.
pub const MAX_PATHS: usize = 8;
/// `ssthresh` before the first loss.
pub const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// [`Path::flags`]
pub mod path_flags {
    /// Established at both levels, and has not failed.
    pub const USABLE: u32 = 1;
    /// For use only when no other is usable.
    pub const BACKUP: u32 = 2;
    /// Another packet can be sent now.
    pub const ROOM: u32 = 4;
    /// Its send buffer takes more.
    pub const MEMORY: u32 = 8;
    /// Repairs what a retransmission timeout has shown.
    pub const LOSS: u32 = 16;
    /// Neither reduces its window nor repairs anything.
    pub const OPEN: u32 = 32;
    /// Timed out again and again.
    pub const STALE: u32 = 64;
    /// Established at both levels, whether it has failed or not.
    pub const ESTABLISHED: u32 = 128;
}

/// [`Paths::flags`]
pub mod flags {
    /// The segment in question is new, and the receive window takes it.
    pub const NEW_DATA: u32 = 1;
    /// It was sent before, on a path that has failed or gone.
    pub const REINJECTION: u32 = 2;
    /// Blocked: new data do not fit the receive window.
    pub const WINDOW_BLOCKED: u32 = 4;
    /// Blocked: the application waits for room in the send buffer.
    pub const MEMORY_BLOCKED: u32 = 8;
    /// Blocked: of which there is some.
    pub const MEMORY_LEFT: u32 = 16;
}

/// [`Choice::flags`]
pub mod choice_flags {
    /// Not the segment in question but the oldest that the path is behind with.
    pub const COPY: u32 = 1;
    /// The paths may be given more than they can send now.
    pub const QUEUE: u32 = 2;
    /// The segment counts as carried by none.
    pub const FORGET: u32 = 4;
    /// Take back what is queued and not sent, and ask again.
    pub const RECALL: u32 = 8;
    /// Blocked: send the oldest unacknowledged segment on path self.
    pub const RESEND_HEAD: u32 = 16;
    /// Blocked: it is not to be asked again before something in particular has happened.
    pub const ONCE_PER_RTT: u32 = 64;
    /// Blocked: nothing is ever done about it.
    pub const NO_REMEDY: u32 = 32;
}

/// `struct braid_path`: a subflow as its scheduler sees it.
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

/// `struct braid_choice`: what is to be done.
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
    /// The only path, if there is one and not several.
    pub fn path(&self) -> Option<usize> {
        self.paths.is_power_of_two().then(|| self.paths.trailing_zeros() as usize)
    }
}
