//! Initial slow start thresholds. The kernel has no setting for one: it remembers them per pair of addresses, from the
//! route at the end of a connection. So a connection within the sender's namespace sets it.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
};

use socket2::{Domain, Socket, Type};

use braid_kernel::netlink::{CREATE, EXCL, Message, Netlink};

const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;
/// The local routing table, and type of its routes.
const LOCAL: u32 = 255;
const LOOPBACK: u32 = 1;
const SSTHRESH: u16 = 6;

/// From now on TCP connections and subflows of this namespace from `senders` to `server` begin with `packets`.
pub(super) fn remember(
    senders: impl Iterator<Item = Ipv4Addr>,
    server: Ipv4Addr,
    packets: u32,
) -> io::Result<()> {
    set("tcp_no_ssthresh_metrics_save", "0")?;
    set("tcp_no_metrics_save", "0")?;
    let mut netlink = Netlink::route()?;
    let mut here = to_loopback(NEW_ROUTE, CREATE | EXCL, server);
    here.nested(8, |metrics| {
        // Locked, so that a connection's own value does not replace it.
        metrics.attribute(1, &(1_u32 << SSTHRESH).to_ne_bytes()).attribute(SSTHRESH, &packets.to_ne_bytes());
    });
    netlink.request(here)?;
    let listener = TcpListener::bind((server, 0))?;
    for sender in senders {
        visit(sender, &listener)?;
    }
    netlink.request(to_loopback(DELETE_ROUTE, 0, server))?;
    set("tcp_no_metrics_save", "1")
}

fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
}

/// A request about a route that keeps packets to an address local.
fn to_loopback(kind: u16, flags: u16, address: Ipv4Addr) -> Message {
    // IPv4, a host, no type of service, table below, static, for this host only, local.
    let mut message = Message::new(kind, flags, &[2, 32, 0, 0, 0, 4, 254, 2, 0, 0, 0, 0]);
    message
        .attribute(1, &address.octets())
        .attribute(15, &LOCAL.to_ne_bytes())
        .attribute(4, &LOOPBACK.to_ne_bytes());
    message
}

/// Opens and closes a connection.
fn visit(sender: Ipv4Addr, listener: &TcpListener) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddrV4::new(sender, 0).into())?;
    socket.connect(&listener.local_addr()?.into())?;
    let (receiver, _) = listener.accept()?;
    // In this order: the end that closes first remembers it.
    drop(socket);
    drop(receiver);
    Ok(())
}
