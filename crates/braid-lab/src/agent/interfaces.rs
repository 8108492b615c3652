//! Numbers and addresses of interfaces at the ends of wires.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Index of a wire's interface. Namespaces number separately, but these are unique.
pub(super) fn interface(wire: usize, end: usize) -> u32 {
    (100 + 2 * wire + end) as u32
}

/// Gateway address of one end in routes of the other.
pub(super) fn gateway(wire: usize, end: usize, ipv6: bool) -> IpAddr {
    let number = interface(wire, end);
    if ipv6 {
        Ipv6Addr::from(u128::from(Ipv6Addr::new(0xfd64, 0, 0, 0, 0, 0, 0, 0)) + u128::from(number)).into()
    } else {
        Ipv4Addr::from(u32::from(Ipv4Addr::new(100, 64, 0, 0)) + number).into()
    }
}

pub(super) fn hardware(wire: usize, end: usize) -> [u8; 6] {
    let [a, b, c, d] = interface(wire, end).to_be_bytes();
    [2, 0, a, b, c, d]
}

pub(super) fn interface_header(index: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header
}
