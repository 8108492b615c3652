//! Messages to the kernel's networking (rtnetlink, generic netlink, socket diagnosis), for the module's interface and the lab.
//! Written as bytes: typed crates do not cover netem's and the path manager's attributes, which are most of them.

use std::{io, net::IpAddr};

use netlink_sys::{
    Socket,
    protocols::{NETLINK_GENERIC, NETLINK_ROUTE, NETLINK_SOCK_DIAG},
};

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
/// `NLM_F_CREATE`
pub const CREATE: u16 = 0x400;
/// `NLM_F_EXCL`
pub const EXCL: u16 = 0x200;
/// `NLM_F_REPLACE`
pub const REPLACE: u16 = 0x100;
const DUMP: u16 = 0x300;

/// A request under construction.
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A message of this type, beginning with this structure.
    pub fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | REQUEST).to_ne_bytes());
        bytes.extend(fixed);
        Self { bytes }
    }

    /// Appends an attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.nested(kind, |message| message.bytes.extend(value))
    }

    /// Appends a text attribute.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        self.nested(kind, |message| {
            message.bytes.extend(value.as_bytes());
            message.bytes.push(0);
        })
    }

    /// Appends an attribute with the attributes that `inside` appends.
    pub fn nested(&mut self, kind: u16, inside: impl FnOnce(&mut Self)) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        inside(self);
        let length = (self.bytes.len() - at) as u16;
        self.bytes[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes[at + 2..at + 4].copy_from_slice(&kind.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Appends raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }
}

/// `AF_INET6` or `AF_INET`
pub fn family(ipv6: bool) -> u8 {
    if ipv6 { libc::AF_INET6 as u8 } else { libc::AF_INET as u8 }
}

/// Bytes of an address in network order.
pub fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Bits of an address.
pub fn bits(address: IpAddr) -> u8 {
    if address.is_ipv6() { 128 } else { 32 }
}

/// 32 bits of a structure of the kernel.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    bytemuck::pod_read_unaligned(&bytes[at..at + 4])
}

/// 64 bits of a structure of the kernel.
pub fn long(bytes: &[u8], at: usize) -> u64 {
    bytemuck::pod_read_unaligned(&bytes[at..at + 8])
}

/// The attributes in a part of a message.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & 0x3fff, value))
    })
}

/// The value of the first attribute of that kind.
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

/// The messages of a datagram: type and body, if complete.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, Option<&[u8]>)> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let header = rest.get(..HEADER)?;
        let length = word(header, 0) as usize;
        let message = (u16::from_ne_bytes([header[4], header[5]]), rest.get(HEADER..length));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// A netlink socket of the namespace in which it was opened.
pub struct Netlink {
    socket: Socket,
    buffer: Vec<u8>,
}

impl Netlink {
    /// For interfaces, routes and queues.
    pub fn route() -> io::Result<Self> {
        Self::open(NETLINK_ROUTE)
    }

    /// For generic netlink.
    pub fn generic() -> io::Result<Self> {
        Self::open(NETLINK_GENERIC)
    }

    /// For socket diagnosis.
    pub fn sockets() -> io::Result<Self> {
        Self::open(NETLINK_SOCK_DIAG)
    }

    fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        Ok(Self { socket, buffer: vec![0; 1 << 16] })
    }

    /// Sends a request and waits for its acknowledgement.
    pub fn request(&mut self, message: Message) -> io::Result<()> {
        self.exchange(message, ACK, |_| ()).map(drop)
    }

    /// Sends a dump request and passes each answer, without its header, to `each`.
    pub fn dump(&mut self, message: Message, each: impl FnMut(&[u8])) -> io::Result<()> {
        self.exchange(message, DUMP, each)
    }

    /// The number of a generic family.
    pub fn family(&mut self, name: &str) -> io::Result<u16> {
        const CONTROLLER: u16 = 16;
        const GET_FAMILY: u8 = 3;
        const FAMILY_ID: u16 = 1;
        const FAMILY_NAME: u16 = 2;
        let mut ask = Message::new(CONTROLLER, 0, &[GET_FAMILY, 1, 0, 0]);
        ask.text(FAMILY_NAME, name);
        let mut family = None;
        self.ask(ask, |body| {
            family = find(&body[4..], FAMILY_ID).map(|id| u16::from_ne_bytes([id[0], id[1]]));
        })?;
        family.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Sends a request with a single answer.
    pub fn ask(&mut self, message: Message, each: impl FnMut(&[u8])) -> io::Result<()> {
        self.exchange(message, ACK, each)
    }

    fn exchange(&mut self, mut message: Message, flags: u16, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let bytes = &mut message.bytes;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        let all = u16::from_ne_bytes([bytes[6], bytes[7]]) | flags;
        bytes[6..8].copy_from_slice(&all.to_ne_bytes());
        self.socket.send(bytes, 0)?;
        loop {
            let length = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            for (kind, body) in messages(&self.buffer[..length]) {
                let Some(body) = body else {
                    return Err(io::Error::other("the kernel's answer is cut short"));
                };
                match kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let code = word(body, 0) as i32;
                        return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) };
                    }
                    _ => each(body),
                }
            }
        }
    }
}
