//! What MPTCP has to bond in a network namespace: endpoints, limits, addresses, routes and counters.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::IpAddr,
};

use nix::net::if_::{InterfaceFlags, if_indextoname};

use crate::{
    Error, Namespace,
    genetlink::{Family, Message},
    netlink::{Message as Request, Netlink, bits, family, find, octets, word},
};

/// An endpoint of the kernel's path manager (`ip mptcp endpoint`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its number.
    pub id: u8,
    /// Its address.
    pub address: IpAddr,
    /// Connections that this machine opens get a subflow from it.
    pub is_subflow: bool,
    /// Its subflows are backups.
    pub is_backup: bool,
    /// The interface by which packets from it reach the destination; `None` without a route.
    pub leaves_by: Option<String>,
}

/// What MPTCP has to bond in a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// `net.mptcp.enabled`; `None` for a kernel without MPTCP.
    pub is_enabled: Option<bool>,
    /// A program manages the subflows, not the kernel.
    pub is_by_program: bool,
    /// The endpoints; `None` if this process may not read them.
    pub endpoints: Option<Vec<Endpoint>>,
    /// The most subflows of a connection besides the first.
    pub subflow_limit: Option<u32>,
    /// Interfaces by address, those that are up and no loopback.
    pub addresses: BTreeMap<IpAddr, String>,
    /// The interface by which packets without a source address reach the destination.
    pub leaves_by: Option<String>,
    /// MPTCP's counters since the namespace began, those that are not 0.
    pub counters: BTreeMap<String, u64>,
}

/// Reads it; routes are those to `destination`.
///
/// # Errors
/// If the namespace cannot be entered.
pub fn paths(namespace: &Namespace, destination: IpAddr) -> Result<Paths, Error> {
    namespace.within(|| {
        let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/mptcp/{name}")).ok();
        let manager = Family::open("mptcp_pm").ok().flatten();
        let limits = manager.as_ref().and_then(|manager| manager.ask(GET_LIMITS).ok());
        let endpoints = manager.as_ref().and_then(|manager| manager.dump(GET_ADDRESSES).ok());
        Ok(Paths {
            is_enabled: read("enabled").map(|text| text.trim() == "1"),
            is_by_program: read("pm_type").is_some_and(|text| text.trim() == "1"),
            endpoints: endpoints
                .map(|all| all.iter().filter_map(|message| endpoint(message, destination)).collect()),
            subflow_limit: limits.and_then(|message| message.u32(SUBFLOWS)),
            addresses: addresses(),
            leaves_by: leaves_by(None, 0, destination),
            counters: counters(&fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default()),
        })
    })
}

const GET_ADDRESSES: u8 = 3;
const GET_LIMITS: u8 = 6;
const ADDRESS: u16 = 1;
const SUBFLOWS: u16 = 3;

fn endpoint(message: &Message, destination: IpAddr) -> Option<Endpoint> {
    let inside = message.nested(ADDRESS)?;
    let v4 = inside.bytes(3).and_then(|bytes| Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?)));
    let v6 = || inside.bytes(4).and_then(|bytes| Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)));
    let address = v4.or_else(v6)?;
    let flags = inside.u32(6).unwrap_or_default();
    Some(Endpoint {
        id: inside.bytes(2)?.first().copied()?,
        address,
        // SUBFLOW, FULLMESH
        is_subflow: flags & (2 | 8) != 0,
        is_backup: flags & 4 != 0,
        leaves_by: leaves_by(Some(address), inside.u32(7).unwrap_or_default(), destination),
    })
}

fn addresses() -> BTreeMap<IpAddr, String> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return BTreeMap::new() };
    let usable = |flags: InterfaceFlags| {
        flags.contains(InterfaceFlags::IFF_UP) && !flags.contains(InterfaceFlags::IFF_LOOPBACK)
    };
    let named = all.filter(|interface| usable(interface.flags)).filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|found| IpAddr::from(found.ip()));
        let v6 = || {
            let found = address.as_sockaddr_in6()?.ip();
            (!found.is_unicast_link_local()).then(|| IpAddr::from(found))
        };
        Some((v4.or_else(v6)?, interface.interface_name))
    });
    named.collect()
}

/// Asks for the route of packets from this address, bound to the interface unless it is 0.
fn leaves_by(source: Option<IpAddr>, bound: u32, destination: IpAddr) -> Option<String> {
    const GET_ROUTE: u16 = 26;
    const FIB_MATCH: u32 = 0x2000;
    const TO: u16 = 1;
    const FROM: u16 = 2;
    const INTERFACE: u16 = 4;
    if source.is_some_and(|source| source.is_ipv4() != destination.is_ipv4()) {
        return None;
    }
    let ask = |flags: u32| {
        let bits = bits(destination);
        let from_bits = if source.is_some() { bits } else { 0 };
        let mut fixed = vec![family(destination.is_ipv6()), bits, from_bits, 0, 0, 0, 0, 0];
        fixed.extend(flags.to_ne_bytes());
        let mut request = Request::new(GET_ROUTE, 0, &fixed);
        request.attribute(TO, &octets(destination));
        if let Some(source) = source {
            request.attribute(FROM, &octets(source));
        }
        if bound != 0 {
            request.attribute(INTERFACE, &bound.to_ne_bytes());
        }
        let mut interface = None;
        let each = |body: &[u8]| {
            interface =
                body.get(fixed.len()..).and_then(|body| find(body, INTERFACE)).map(|index| word(index, 0));
        };
        Netlink::route().ok()?.ask(request, each).ok()?;
        Some(interface)
    };
    // Without a matching route the kernel takes every destination to be on the link of a bound interface.
    ask(FIB_MATCH)?;
    let name = if_indextoname(ask(0)??).ok()?;
    Some(name.to_string_lossy().into_owned())
}

fn counters(text: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("MPTcpExt:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return BTreeMap::new() };
    let values = values.split_whitespace().map(|value| value.parse().unwrap_or_default());
    let pairs = names.split_whitespace().map(str::to_owned).zip(values);
    pairs.filter(|&(_, value)| value != 0).collect()
}

/// Running programs of the namespace among `names`; all of them if they are about the whole machine.
pub fn programs(namespace: &Namespace, names: &[&'static str]) -> BTreeSet<&'static str> {
    let identity = namespace.identity();
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let of = |entry: fs::DirEntry| {
        let comm = fs::read_to_string(entry.path().join("comm")).ok()?;
        let name = names.iter().copied().find(|name| comm.trim() == *name)?;
        let theirs = Namespace::at(entry.path().join("ns/net")).identity();
        (theirs.is_some() && theirs == identity).then_some(name)
    };
    entries.flatten().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_mptcp() {
        let text = "TcpExt: A B\nTcpExt: 1 2\nMPTcpExt: X Y Z\nMPTcpExt: 0 3 4\n";
        assert_eq!(counters(text), [("Y".to_owned(), 3), ("Z".to_owned(), 4)].into());
        assert_eq!(counters("TcpExt: A\nTcpExt: 1\n"), BTreeMap::new());
    }
}
