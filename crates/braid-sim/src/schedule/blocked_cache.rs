//! A cached decision about a full receive window or send buffer: the scheduler is not called again while it is valid.

use braid_algorithms::layout::{MAX_SUBFLOWS, View};
use braid_schedulers::layout::{Choice, choice_flags};

/// What the answer was for, and what `BRAID_ONCE_PER_RTT` says of it.
pub(super) struct BlockedCache {
    /// The subflow that had room.
    index: usize,
    since_us: u64,
    /// Subflows that had sent the oldest segment.
    carriers: u32,
    /// srtt of the asking subflow, if it had not sent that segment. The decision is valid while its srtt is at least
    /// this. 0: never valid.
    srtt_us: u32,
    /// Values of each subflow.
    cwnd_and_srtt_us: [(u32, u32); MAX_SUBFLOWS],
}

impl BlockedCache {
    /// `None`: the scheduler may do something else the next time.
    pub(super) fn new(
        choice: &Choice,
        view: &View,
        index: usize,
        carriers: u32,
        now_us: u64,
    ) -> Option<Self> {
        (choice.flags & choice_flags::ONCE_PER_RTT != 0).then(|| Self {
            index,
            since_us: now_us.saturating_sub(u64::from(choice.wake_us)),
            carriers,
            srtt_us: choice.srtt_us,
            cwnd_and_srtt_us: view.subflow.each_ref().map(|own| (own.cwnd, own.srtt_us)),
        })
    }

    /// Whether the decision is still to do nothing.
    #[inline]
    pub(super) fn holds(&self, view: &View, index: usize, carriers: u32, now_us: u64) -> bool {
        if self.index != index {
            return false;
        }
        let srtt_us = view.subflow[index % MAX_SUBFLOWS].srtt_us;
        let is_early = now_us - self.since_us < u64::from(srtt_us);
        let is_itself = (carriers >> index) & 1 == 1;
        if is_itself && is_early {
            return true;
        }
        let is_as_before = srtt_us >= self.srtt_us && self.srtt_us > 0 && carriers == self.carriers;
        if !is_itself && !is_as_before {
            return false;
        }
        (0..view.n as usize).filter(|other| (carriers >> other) & 1 == 1).all(|other| {
            let own = &view.subflow[other % MAX_SUBFLOWS];
            let (cwnd, before_us) = self.cwnd_and_srtt_us[other % MAX_SUBFLOWS];
            (is_early || own.srtt_us <= srtt_us)
                && (is_itself || (own.cwnd >= cwnd && own.srtt_us <= before_us.max(srtt_us)))
        })
    }
}
