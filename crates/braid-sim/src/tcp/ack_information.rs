//! Information from one acknowledgement.

/// Passed by value to cold functions, so that it stays in registers elsewhere.
#[derive(Clone, Copy, Default)]
pub(super) struct AckInformation {
    pub(super) una_advanced: bool,
    /// It has a SACK block with new information.
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
