//! What one acknowledgement has told so far.

/// Passed by value to what is not always needed, so that it stays in registers where that is not.
#[derive(Clone, Copy, Default)]
pub(super) struct AckInformation {
    pub(super) una_advanced: bool,
    /// It carried a block that was not known yet.
    pub(super) sacked: bool,
    /// A packet never retransmitted, sent before the episode began, has arrived.
    pub(super) original_arrived: bool,
    pub(super) ece: bool,
    pub(super) duplicate: bool,
    pub(super) probe_duplicate: bool,
    /// A retransmission was found lost.
    pub(super) retransmission_lost: bool,
    pub(super) delivered: u32,
    pub(super) lost: u32,
    /// The RTO restarts.
    pub(super) restart_timer: bool,
    /// The echoed timestamp.
    pub(super) echo: u32,
    /// One-way delay, microseconds, where it is reported.
    pub(super) one_way_us: Option<u32>,
}
