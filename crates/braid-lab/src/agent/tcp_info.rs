//! The kernel's information about a TCP or MPTCP socket (`linux/tcp.h`, `linux/mptcp.h`).

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::AsRawFd,
};

use braid_kernel::{
    netlink::{long, word},
    sockopt,
};

/// The used fields of `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TcpInfo {
    /// Identifier of the subflow; 0 for TCP.
    pub(super) id: u32,
    pub(super) established: bool,
    /// It may still send or retransmit.
    pub(super) sends: bool,
    pub(super) mss: u32,
    pub(super) in_flight: u32,
    pub(super) srtt_us: u32,
    pub(super) min_rtt_us: u32,
    pub(super) ssthresh: u32,
    pub(super) cwnd: u32,
    pub(super) retransmissions: u32,
    pub(super) data_packets_in: u32,
    pub(super) data_packets_out: u32,
    pub(super) delivered: u32,
    /// Payload sent, including retransmissions.
    pub(super) bytes_sent: u64,
    /// Payload received, each byte once; the end of the connection counts as a byte.
    pub(super) bytes_received: u64,
    pub(super) timeouts: u16,
}

const TCP_INFO_BYTES: usize = 248;
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
/// `TCP_FIN_WAIT1`, `TCP_LAST_ACK`, `TCP_CLOSING`
const CLOSED_TO_MORE: [u8; 3] = [4, 9, 11];

impl TcpInfo {
    /// Parses a report of `sock_diag` about a TCP socket; `None` if it is too short.
    pub(super) fn of(info: &[u8]) -> Option<Self> {
        info.get(..TCP_INFO_BYTES).map(|bytes| Self::parse(0, bytes))
    }

    /// Packets; none before the first reduction.
    pub(super) fn known_ssthresh(&self) -> Option<u32> {
        (self.ssthresh < SSTHRESH_INFINITE && self.ssthresh > 0).then_some(self.ssthresh)
    }

    fn parse(id: u32, bytes: &[u8]) -> Self {
        let (word, long) = (|at| word(bytes, at), |at| long(bytes, at));
        let [unacked, sacked, lost, retrans] = [24, 28, 32, 36].map(word);
        Self {
            id,
            established: [ESTABLISHED, CLOSE_WAIT].contains(&bytes[0]),
            sends: [ESTABLISHED, CLOSE_WAIT].contains(&bytes[0]) || CLOSED_TO_MORE.contains(&bytes[0]),
            mss: word(16),
            in_flight: (unacked + retrans).saturating_sub(sacked + lost),
            srtt_us: word(68),
            ssthresh: word(76),
            cwnd: word(80),
            retransmissions: word(100),
            min_rtt_us: word(148),
            data_packets_in: word(152),
            data_packets_out: word(156),
            delivered: word(192),
            bytes_sent: long(200),
            bytes_received: long(128),
            timeouts: u16::from_ne_bytes([bytes[240], bytes[241]]),
        }
    }
}

/// Reads it for a TCP socket.
pub(super) fn tcp(socket: &impl AsRawFd) -> io::Result<TcpInfo> {
    let mut bytes = [0; TCP_INFO_BYTES];
    // SAFETY: it has no pointers.
    unsafe { sockopt::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes) }?;
    Ok(TcpInfo::parse(0, &bytes))
}

/// Payload that an MPTCP socket has reinjected, from its `struct mptcp_info`.
pub(super) fn sent_again(info: &[u8]) -> Option<u64> {
    info.get(..56).map(|info| long(info, 48))
}

/// Information about an MPTCP socket and its subflows.
#[derive(Clone, Debug, Default)]
pub(super) struct MptcpInfo {
    /// The kernel's token of the connection.
    pub(super) token: u32,
    /// Payload reinjected on another subflow.
    pub(super) bytes_retransmitted: u64,
    /// Payload acknowledged at the data level.
    pub(super) bytes_acknowledged: u64,
    /// With local and peer address.
    pub(super) subflows: Vec<(IpAddr, IpAddr, TcpInfo)>,
}

const SOL_MPTCP: i32 = 284;
const MPTCP_FULL_INFO: i32 = 4;
/// Size of the head of `struct mptcp_full_info`, before its `struct mptcp_info`.
const HEAD: usize = 40;
/// Size of `struct mptcp_info` up to and including `mptcpi_bytes_acked`.
const MPTCP_INFO_BYTES: usize = 80;
/// `struct mptcp_subflow_info`
const SUBFLOW_BYTES: usize = 264;
const MOST_SUBFLOWS: usize = 16;

/// Reads it for an MPTCP socket.
pub(super) fn mptcp(socket: &impl AsRawFd) -> io::Result<MptcpInfo> {
    let mut addresses = [0_u8; SUBFLOW_BYTES * MOST_SUBFLOWS];
    let mut infos = [0_u8; TCP_INFO_BYTES * MOST_SUBFLOWS];
    let mut full = [0_u8; HEAD + MPTCP_INFO_BYTES];
    let mut put = |at: usize, value: &[u8]| full[at..at + value.len()].copy_from_slice(value);
    put(4, &(TCP_INFO_BYTES as u32).to_ne_bytes());
    put(12, &(SUBFLOW_BYTES as u32).to_ne_bytes());
    put(20, &(MOST_SUBFLOWS as u32).to_ne_bytes());
    put(24, &(addresses.as_mut_ptr() as u64).to_ne_bytes());
    put(32, &(infos.as_mut_ptr() as u64).to_ne_bytes());
    // SAFETY: `addresses` and `infos` have the sizes that the head states.
    unsafe { sockopt::get(socket, SOL_MPTCP, MPTCP_FULL_INFO, &mut full) }?;
    let count = word(&full, 16) as usize;
    let subflows = addresses.chunks_exact(SUBFLOW_BYTES).zip(infos.chunks_exact(TCP_INFO_BYTES));
    let subflows = subflows.take(count).map(|(addresses, info)| {
        let id = word(addresses, 0);
        // The address within a `sockaddr_in` or `sockaddr_in6`.
        let address = |at: usize| {
            let family = u16::from_ne_bytes([addresses[at], addresses[at + 1]]);
            if i32::from(family) == libc::AF_INET6 {
                let octets: [u8; 16] = addresses[at + 8..at + 24].try_into().expect("sixteen bytes");
                IpAddr::from(Ipv6Addr::from(octets))
            } else {
                let octets: [u8; 4] = addresses[at + 4..at + 8].try_into().expect("four bytes");
                IpAddr::from(Ipv4Addr::from(octets))
            }
        };
        (address(8), address(136), TcpInfo::parse(id, info))
    });
    let token = word(&full, HEAD + 12);
    Ok(MptcpInfo {
        token,
        subflows: subflows.collect(),
        bytes_retransmitted: long(&full, HEAD + 48),
        bytes_acknowledged: long(&full, HEAD + 72),
    })
}
