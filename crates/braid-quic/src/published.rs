//! Values that a path's controller may read without the lock.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use braid_algorithms::layout::Subflow;

/// Smallest window, packets (RFC 9002 sect. 7.2).
pub(crate) const LEAST_WINDOW: u32 = 2;

/// Written at the path's own events only, which the stack delivers in sequence; another path's event changes only the
/// index.
#[derive(Debug)]
pub(crate) struct Published {
    /// The path's index in its group.
    pub(crate) index: AtomicU32,
    /// Bytes in flight. The controller adds sent bytes without the lock.
    in_flight: AtomicU64,
    /// Bytes.
    window: AtomicU64,
    /// Bytes.
    ssthresh: AtomicU64,
    /// Bytes per second; 0: none.
    pacing_rate: AtomicU64,
}

impl Published {
    pub(crate) fn at(index: usize) -> Self {
        Self {
            index: AtomicU32::new(index as u32),
            in_flight: AtomicU64::new(0),
            window: AtomicU64::new(1),
            ssthresh: AtomicU64::new(0),
            pacing_rate: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn show(&self, subflow: &Subflow) {
        let mss = u64::from(subflow.mss);
        self.window.store((u64::from(subflow.cwnd.max(LEAST_WINDOW)) * mss).max(1), Relaxed);
        self.ssthresh.store(u64::from(subflow.ssthresh) * mss, Relaxed);
        self.pacing_rate.store(subflow.pacing_rate, Relaxed);
    }

    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.window.load(Relaxed)
    }

    #[inline]
    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh.load(Relaxed)
    }

    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate.load(Relaxed)).filter(|&rate| rate > 0)
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set_in_flight(&self, bytes: u64) {
        self.in_flight.store(bytes, Relaxed);
    }
}
