//! TCP sockets and their congestion controls, as the kernel lists them (`sock_diag`).

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::{
    SockDiagMessage,
    constants::{AF_INET, AF_INET6, IPPROTO_TCP},
    inet::{
        ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags, Timer,
        nlas::{Nla, TcpInfo},
    },
};
use netlink_packet_utils::nla::{Nla as _, NlasIterator};
use netlink_sys::{Socket as Netlink, protocols::NETLINK_SOCK_DIAG};

use crate::{Error, Namespace};

/// A TCP socket or a subflow of MPTCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its congestion control, by its name in the kernel.
    pub algorithm: String,
    /// Local address and port, IPv4 as such.
    pub local: SocketAddr,
    /// Remote address and port, IPv4 as such.
    pub remote: SocketAddr,
    /// The kernel's unique number of it since boot.
    pub cookie: u64,
    /// Whether it is a listening socket.
    pub listens: bool,
    /// MPTCP subflow: the token of its connection.
    pub token: Option<u32>,
    /// MPTCP subflow: identifiers of its local and remote address.
    pub ids: (u8, u8),
    /// MPTCP subflow: a backup.
    pub is_backup: bool,
    /// The peer answered an MPTCP connection without MPTCP.
    pub fell_back: bool,
    /// Its state; `None` for listening sockets.
    pub flow: Option<Flow>,
}

/// State of a TCP socket, from the kernel's `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Congestion state, see [`ca_state`](braid_algorithms::layout::ca_state).
    pub ca_state: u8,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; [`SSTHRESH_INFINITE`](braid_algorithms::layout::SSTHRESH_INFINITE) before the
    /// first loss.
    pub ssthresh: u32,
    /// Smoothed RTT, 0 before the first sample.
    pub srtt_us: u32,
    /// Smallest RTT of the last 300 s, 0 before the first sample.
    pub min_rtt_us: u32,
    /// Packets believed to be in the network.
    pub in_flight: u32,
    /// Payload bytes per packet.
    pub mss: u32,
    /// The kernel's latest estimate of the delivery rate, bytes per second.
    pub delivery_rate: u64,
    /// Payload bytes acknowledged so far.
    pub bytes_acked: u64,
    /// Payload bytes sent so far, including retransmissions.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted so far.
    pub bytes_retransmitted: u64,
    /// Packets delivered so far with a congestion mark.
    pub delivered_ce: u32,
    /// Payload bytes received so far.
    pub bytes_received: u64,
    /// Payload bytes written by the application and not sent yet.
    pub bytes_not_sent: u32,
    /// The latest delivery was limited by the application, not by the network.
    pub is_app_limited: bool,
    /// Total time with data to send or to be acknowledged.
    pub busy_us: u64,
    /// Part of it limited by the receive window.
    pub rwnd_limited_us: u64,
    /// Part of it limited by the send buffer.
    pub sndbuf_limited_us: u64,
    /// Time since payload was last sent.
    pub last_sent_ms: u32,
    /// Time since payload was last received.
    pub last_received_ms: u32,
    /// Time since the last ACK.
    pub last_ack_ms: u32,
    /// Retransmission timeouts in a row.
    pub timeouts: u8,
    /// Time since its first SYN, while none is answered.
    pub opening_ms: Option<u32>,
}

/// The sockets of a network namespace that have a congestion control, including listening ones.
pub fn sockets(namespace: &Namespace) -> Result<Vec<Socket>, Error> {
    namespace.within(|| {
        let mut sockets = Vec::new();
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            dump(family, socket_id, &mut sockets).map_err(Error::at("listing sockets (sock_diag)"))?;
        }
        Ok(sockets)
    })
}

/// Whether the kernel lists sockets at all, and its error if not.
pub(crate) fn can_be_listed() -> Result<(), String> {
    dump(AF_INET, SocketId::new_v4(), &mut Vec::new())
}

/// The network interfaces of a namespace, by address.
pub fn interfaces(namespace: &Namespace) -> Result<BTreeMap<IpAddr, String>, Error> {
    namespace.within(|| {
        let all = nix::ifaddrs::getifaddrs().map_err(Error::at("listing network interfaces"))?;
        let named = all.filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|found| IpAddr::from(found.ip()));
            let v6 = || address.as_sockaddr_in6().map(|found| IpAddr::from(found.ip()));
            Some((v4.or_else(v6)?, interface.interface_name))
        });
        Ok(named.collect())
    })
}

/// The names of all network interfaces of a namespace, sorted.
pub fn interface_names(namespace: &Namespace) -> Result<Vec<String>, Error> {
    namespace.within(|| {
        let all = nix::net::if_::if_nameindex().map_err(Error::at("listing network interfaces"))?;
        let mut names: Vec<String> =
            all.iter().map(|interface| interface.name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    })
}

/// `TCP_LISTEN`
const LISTEN: u8 = 10;
/// `TCP_SYN_SENT`
const SYN_SENT: u8 = 2;

fn dump(family: u8, socket_id: SocketId, sockets: &mut Vec<Socket>) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut netlink = Netlink::new(NETLINK_SOCK_DIAG).map_err(text)?;
    netlink.bind_auto().map_err(text)?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        // INFO includes the MPTCP part.
        extensions: ExtensionFlags::CONG | ExtensionFlags::INFO,
        states: StateFlags::all().difference(StateFlags::TIME_WAIT),
        socket_id,
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    netlink.send(&bytes, 0).map_err(text)?;
    loop {
        let (datagram, _) = netlink.recv_from_full().map_err(text)?;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(|e| e.to_string())?;
            let length = (message.header.length as usize).next_multiple_of(4);
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    sockets.extend(socket(&response));
                }
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => return Err(error.to_string()),
                _ => {}
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

fn socket(response: &InetResponse) -> Option<Socket> {
    let id = &response.header.socket_id;
    let mptcp = response.nlas.iter().find_map(mptcp).unwrap_or_default();
    Some(Socket {
        algorithm: response.nlas.iter().find_map(|nla| match nla {
            Nla::Congestion(name) => Some(name.clone()),
            _ => None,
        })?,
        local: SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        remote: SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
        cookie: cookie(id.cookie),
        listens: response.header.state == LISTEN,
        token: mptcp.token,
        ids: mptcp.ids,
        is_backup: mptcp.flags & BACKUP != 0,
        fell_back: mptcp.flags & (CAPABLE_REMOTE | CAPABLE_LOCAL | CONNECTED) == CAPABLE_LOCAL | CONNECTED,
        flow: response
            .nlas
            .iter()
            .find_map(|nla| flow(nla, response))
            .filter(|_| response.header.state != LISTEN),
    })
}

/// Two words of 32 bits, the low one first.
fn cookie(bytes: [u8; 8]) -> u64 {
    let word = |at: usize| u64::from(u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes")));
    word(0) | (word(4) << 32)
}

/// Time since the first SYN: after some equal timeouts each is twice the one before.
fn opening_ms(info: &TcpInfo, timer: Option<&Timer>) -> u32 {
    let now_ms = info.rto / 1000;
    let doubled = info.backoff.min(20);
    let passed = u32::from(info.retransmits.saturating_sub(doubled)) + (1 << doubled) - 1;
    let since_last = match timer {
        Some(Timer::Retransmit(left, _)) => now_ms.saturating_sub(left.as_millis() as u32),
        _ => 0,
    };
    passed * (now_ms >> doubled) + since_last
}

fn flow(nla: &Nla, response: &InetResponse) -> Option<Flow> {
    let Nla::TcpInfo(info) = nla else { return None };
    Some(Flow {
        ca_state: info.ca_state,
        cwnd: info.snd_cwnd,
        ssthresh: info.snd_ssthresh,
        srtt_us: info.rtt,
        min_rtt_us: if info.min_rtt == u32::MAX { 0 } else { info.min_rtt },
        in_flight: (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost),
        mss: info.snd_mss,
        delivery_rate: info.delivery_rate,
        bytes_acked: info.bytes_acked,
        bytes_sent: info.bytes_sent,
        bytes_retransmitted: info.bytes_retrans,
        delivered_ce: info.delivered_ce,
        bytes_received: info.bytes_received,
        bytes_not_sent: info.notsent_bytes,
        is_app_limited: info.delivery_rate_app_limited & 1 != 0,
        busy_us: info.busy_time,
        rwnd_limited_us: info.rwnd_limited,
        sndbuf_limited_us: info.sndbuf_limited,
        last_sent_ms: info.last_data_sent,
        last_received_ms: info.last_data_recv,
        last_ack_ms: info.last_ack_recv,
        timeouts: info.retransmits,
        opening_ms: (response.header.state == SYN_SENT)
            .then(|| opening_ms(info, response.header.timer.as_ref())),
    })
}

// `MPTCP_SUBFLOW_ATTR_*`
const TOKEN_LOCAL: u16 = 2;
const FLAGS: u16 = 8;
const ID_REMOTE: u16 = 9;
const ID_LOCAL: u16 = 10;
/// `MPTCP_SUBFLOW_FLAG_MCAP_REM`, `MPTCP_SUBFLOW_FLAG_MCAP_LOC`, `MPTCP_SUBFLOW_FLAG_CONNECTED`
const CAPABLE_REMOTE: u32 = 1;
const CAPABLE_LOCAL: u32 = 1 << 1;
const CONNECTED: u32 = 1 << 7;
/// `MPTCP_SUBFLOW_FLAG_BKUP_REM` and `MPTCP_SUBFLOW_FLAG_BKUP_LOC`
const BACKUP: u32 = (1 << 4) | (1 << 5);

/// The kernel's information about an MPTCP subflow.
#[derive(Default)]
struct Mptcp {
    token: Option<u32>,
    ids: (u8, u8),
    flags: u32,
}

/// `INET_DIAG_ULP_INFO` contains `INET_ULP_INFO_MPTCP`, which contains the values.
fn mptcp(nla: &Nla) -> Option<Mptcp> {
    const ULP_INFO: u16 = 19;
    const ULP_MPTCP: u16 = 3;
    let Nla::Other(ulp) = nla else { return None };
    if ulp.kind() != ULP_INFO {
        return None;
    }
    let mut bytes = vec![0; ulp.value_len()];
    ulp.emit_value(&mut bytes);
    let values = NlasIterator::new(&bytes[..]).flatten().find(|nla| nla.kind() == ULP_MPTCP)?;
    let mut mptcp = Mptcp::default();
    for value in NlasIterator::new(values.value()).flatten() {
        let word = || value.value().try_into().ok().map(u32::from_ne_bytes);
        match value.kind() {
            TOKEN_LOCAL => mptcp.token = word(),
            FLAGS => mptcp.flags = word().unwrap_or_default(),
            ID_LOCAL => mptcp.ids.0 = value.value().first().copied().unwrap_or_default(),
            ID_REMOTE => mptcp.ids.1 = value.value().first().copied().unwrap_or_default(),
            _ => {}
        }
    }
    Some(mptcp)
}
