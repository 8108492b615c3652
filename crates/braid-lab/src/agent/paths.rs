//! MPTCP's path manager in the kernel (generic netlink `mptcp_pm`).

use std::{io, net::IpAddr};

use braid_kernel::netlink::{Message, Netlink, family, octets};

const ADD: u8 = 1;
const DELETE: u8 = 2;
const SET_LIMITS: u8 = 5;
/// Flag of nested attributes.
const NESTED: u16 = 0x8000;
/// The kernel's maximum.
const MOST: u32 = 8;

/// The path manager of the namespace in which it was opened.
pub(super) struct Paths {
    netlink: Netlink,
    family: u16,
}

/// A path that the sender may use.
pub(super) struct Endpoint {
    pub(super) id: u8,
    pub(super) address: IpAddr,
    pub(super) interface: u32,
    pub(super) backup: bool,
    /// The peer opens connections, so the address is announced to it.
    pub(super) announced: bool,
}

impl Paths {
    /// Opens it, and allows the maximum number of subflows.
    pub(super) fn open() -> io::Result<Self> {
        let mut netlink = Netlink::generic()?;
        let family = netlink.family("mptcp_pm").map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other("the kernel has no MPTCP path manager"),
            _ => error,
        })?;
        let mut paths = Self { netlink, family };
        let mut limits = Message::new(family, 0, &[SET_LIMITS, 1, 0, 0]);
        limits.attribute(2, &MOST.to_ne_bytes()).attribute(3, &MOST.to_ne_bytes());
        paths.netlink.request(limits)?;
        Ok(paths)
    }

    /// From now on every connection of the namespace opens a subflow from this address.
    pub(super) fn add(&mut self, endpoint: &Endpoint) -> io::Result<()> {
        const SIGNAL: u32 = 1;
        const SUBFLOW: u32 = 2;
        const BACKUP: u32 = 4;
        let kind = if endpoint.announced { SIGNAL } else { SUBFLOW };
        let flags = if endpoint.backup { kind | BACKUP } else { kind };
        self.command(ADD, endpoint, |address| {
            address.attribute(6, &flags.to_ne_bytes()).attribute(7, &endpoint.interface.to_ne_bytes());
        })
    }

    /// Removes the address and its subflows.
    pub(super) fn remove(&mut self, endpoint: &Endpoint) -> io::Result<()> {
        self.command(DELETE, endpoint, |_| ())
    }

    fn command(
        &mut self,
        command: u8,
        endpoint: &Endpoint,
        more: impl FnOnce(&mut Message),
    ) -> io::Result<()> {
        let ipv6 = endpoint.address.is_ipv6();
        let mut message = Message::new(self.family, 0, &[command, 1, 0, 0]);
        message.nested(1 | NESTED, |address| {
            address
                .attribute(1, &u16::from(family(ipv6)).to_ne_bytes())
                .attribute(2, &[endpoint.id])
                .attribute(if ipv6 { 4 } else { 3 }, &octets(endpoint.address));
            more(address);
        });
        self.netlink.request(message)
    }
}
