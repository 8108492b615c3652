//! TCP sockets and their congestion controls, as the kernel lists them (`sock_diag`).

use std::net::SocketAddr;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload, Nla as _, NlasIterator,
};
use netlink_packet_sock_diag::{
    SockDiagMessage,
    constants::{AF_INET, AF_INET6, IPPROTO_TCP},
    inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags, nlas::Nla},
};
use netlink_sys::{Socket as Netlink, protocols::NETLINK_SOCK_DIAG};

use crate::{Error, Namespace};

/// A TCP socket or a subflow of MPTCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its congestion control, by the name it has in the kernel.
    pub algorithm: String,
    /// Its own address and port.
    pub local: SocketAddr,
    /// Its peer's.
    pub remote: SocketAddr,
    /// Whether it waits for connections.
    pub listens: bool,
    /// Of an MPTCP subflow: the token that it shares with its connection's other subflows.
    pub token: Option<u32>,
}

/// The sockets of a network namespace that have a congestion control, listening ones among them.
///
/// # Errors
/// If the namespace cannot be entered or the kernel does not answer.
pub fn sockets(namespace: &Namespace) -> Result<Vec<Socket>, Error> {
    let failed = |report: String| Error::Kernel { doing: "listing sockets (sock_diag)".into(), report };
    namespace.within(|| {
        let mut sockets = Vec::new();
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            dump(family, socket_id, &mut sockets).map_err(failed)?;
        }
        Ok(sockets)
    })
}

/// `TCP_LISTEN`
const LISTEN: u8 = 10;

fn dump(family: u8, socket_id: SocketId, sockets: &mut Vec<Socket>) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut netlink = Netlink::new(NETLINK_SOCK_DIAG).map_err(text)?;
    netlink.bind_auto().map_err(text)?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        // INFO brings the MPTCP part with it.
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
    Some(Socket {
        algorithm: response.nlas.iter().find_map(|nla| match nla {
            Nla::Congestion(name) => Some(name.clone()),
            _ => None,
        })?,
        local: SocketAddr::new(id.source_address, id.source_port),
        remote: SocketAddr::new(id.destination_address, id.destination_port),
        listens: response.header.state == LISTEN,
        token: response.nlas.iter().find_map(token),
    })
}

/// `INET_DIAG_ULP_INFO` holds `INET_ULP_INFO_MPTCP`, that holds `MPTCP_SUBFLOW_ATTR_TOKEN_LOC`.
fn token(nla: &Nla) -> Option<u32> {
    const ULP_INFO: u16 = 19;
    const ULP_MPTCP: u16 = 3;
    const TOKEN_LOCAL: u16 = 2;
    let Nla::Other(ulp) = nla else { return None };
    if ulp.kind() != ULP_INFO {
        return None;
    }
    let mut bytes = vec![0; ulp.value_len()];
    ulp.emit_value(&mut bytes);
    let mptcp = NlasIterator::new(&bytes[..]).flatten().find(|nla| nla.kind() == ULP_MPTCP)?;
    let token = NlasIterator::new(mptcp.value()).flatten().find(|nla| nla.kind() == TOKEN_LOCAL)?;
    Some(u32::from_ne_bytes(token.value().try_into().ok()?))
}
