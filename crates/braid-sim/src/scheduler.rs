//! Packet schedulers of MPTCP connections, by name.

/// Who decides which subflow carries a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// The subflow with the smallest srtt that has room in its congestion window, packet by packet: the default of the
    /// multipath-tcp.org kernels, with which the papers were made.
    #[default]
    MinRtt,
    /// The subflow that will have sent first what it already has, up to 64 KB at a time, whether its congestion window has
    /// room or not: that of unmodified kernels.
    Linux,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::MinRtt, Self::Linux];

    /// As it is called on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinRtt => "minrtt",
            Self::Linux => "linux",
        }
    }
}
