//! All TCP sockets of a namespace, as listed by the kernel (`sock_diag`), and the final counters of closed ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use braid_kernel::netlink::{Message, Netlink, find, long, messages};

use super::tcp_info::{self, TcpInfo};

const BY_FAMILY: u16 = 20;
const FAMILIES: [u8; 2] = [libc::AF_INET as u8, libc::AF_INET6 as u8];
/// Multicast groups of both families for closed sockets.
const GONE: [u32; 2] = [1, 3];
const LISTEN: u32 = 10;
const TIME_WAIT: u32 = 6;
/// A request socket (`TCP_NEW_SYN_RECV`).
const REQUESTED: u32 = 12;
/// `INET_DIAG_INFO`
const INFO: u16 = 2;
/// `INET_DIAG_REQ_PROTOCOL`
const PROTOCOL: u16 = 3;
const MPTCP: u32 = 262;
/// Size of `struct inet_diag_msg`.
const HEADER: usize = 72;

/// Access to the sockets of the namespace in which it was opened.
pub(super) struct Sockets {
    netlink: Netlink,
    gone: netlink_sys::Socket,
    /// By cookie: counters at the last sample.
    known: BTreeMap<u64, Seen>,
    /// MPTCP sockets: payload reinjected on another subflow.
    again: BTreeMap<u64, u64>,
}

/// A socket in a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
    /// Its counters at the previous sample.
    pub(super) before: TcpInfo,
    pub(super) now: TcpInfo,
}

impl Sockets {
    pub(super) fn open() -> io::Result<Self> {
        let mut gone = netlink_sys::Socket::new(netlink_sys::protocols::NETLINK_SOCK_DIAG)?;
        gone.bind_auto()?;
        gone.set_rx_buf_sz(1 << 22)?;
        for group in GONE {
            gone.add_membership(group)?;
        }
        gone.set_non_blocking(true)?;
        let netlink = Netlink::sockets()?;
        Ok(Self { netlink, gone, known: BTreeMap::new(), again: BTreeMap::new() })
    }

    /// Whether a TCP socket listens.
    pub(super) fn is_there_a_listener(&mut self) -> io::Result<bool> {
        let mut found = false;
        for family in FAMILIES {
            self.netlink.dump(request(family, 1 << LISTEN), |_| found = true)?;
        }
        Ok(found)
    }

    /// Every connected socket that exists or was closed since the last sample.
    pub(super) fn look(&mut self) -> io::Result<Vec<Seen>> {
        // A socket that closes in between is reported in the next sample.
        let mut seen = BTreeMap::new();
        let mut finished = BTreeSet::new();
        while let Some(datagram) = self.next_gone()? {
            for body in messages(&datagram).filter_map(|(_, body)| body) {
                if let Some((cookie, own)) = socket(body) {
                    seen.insert(cookie, own);
                    finished.insert(cookie);
                }
            }
        }
        let states = !((1 << LISTEN) | (1 << TIME_WAIT) | (1 << REQUESTED));
        for family in FAMILIES {
            self.netlink.dump(request(family, states), |body| {
                if let Some((cookie, own)) = socket(body) {
                    seen.insert(cookie, own);
                }
            })?;
        }
        for (cookie, own) in &mut seen {
            if let Some(known) = self.known.get(cookie) {
                (own.local, own.remote, own.before) = (known.local, known.remote, known.now);
            }
            // Closed sockets must not look open.
            own.now.sends &= !finished.contains(cookie);
            self.known.insert(*cookie, *own);
        }
        self.known.retain(|cookie, _| !finished.contains(cookie));
        Ok(seen.into_values().collect())
    }

    fn next_gone(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.gone.recv_from_full() {
                Ok((datagram, _)) => return Ok(Some(datagram)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // The kernel dropped some reports: the counters of these sockets since the last sample are missing.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Payload that MPTCP connections have reinjected since the last sample.
    pub(super) fn sent_again(&mut self) -> io::Result<u64> {
        let mut sum = 0;
        for family in FAMILIES {
            let mut request = request(family, !(1 << LISTEN));
            request.attribute(PROTOCOL, &MPTCP.to_ne_bytes());
            self.netlink.dump(request, |body| {
                let Some(bytes) = find(&body[HEADER..], INFO).and_then(tcp_info::sent_again) else { return };
                let before = self.again.insert(cookie(body), bytes).unwrap_or(0);
                sum += bytes.saturating_sub(before);
            })?;
        }
        Ok(sum)
    }
}

/// Requests all sockets in these states, with counters.
fn request(family: u8, states: u32) -> Message {
    let mut body = [0; 56];
    body[..3].copy_from_slice(&[family, libc::IPPROTO_TCP as u8, 1 << (INFO - 1)]);
    body[4..8].copy_from_slice(&states.to_ne_bytes());
    Message::new(BY_FAMILY, 0, &body)
}

/// `struct inet_diag_msg` and its attributes.
fn socket(body: &[u8]) -> Option<(u64, Seen)> {
    let info = find(body.get(HEADER..)?, INFO)?;
    let address = |at: usize| match u32::from(body[0]) {
        // IPv4 addresses in a dual-stack socket count as IPv4.
        family if family == libc::AF_INET6 as u32 => {
            let octets: [u8; 16] = body[at..at + 16].try_into().expect("sixteen bytes");
            IpAddr::from(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => IpAddr::from(Ipv4Addr::new(body[at], body[at + 1], body[at + 2], body[at + 3])),
    };
    let (local, remote) = (address(8), address(24));
    Some((cookie(body), Seen { local, remote, before: TcpInfo::default(), now: TcpInfo::of(info)? }))
}

fn cookie(body: &[u8]) -> u64 {
    long(body, 44)
}
