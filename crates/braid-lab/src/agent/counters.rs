//! Counters of a namespace apart from its queues (`/proc/net`).

use std::{fs::File, os::unix::fs::FileExt as _};

/// Counters of discarded packets; they stay 0 in a network where only queues and links lose packets.
const DROPS: [&str; 13] = [
    "InHdrErrors",
    "InAddrErrors",
    "InDiscards",
    "OutDiscards",
    "OutNoRoutes",
    "IPReversePathFilter",
    "PFMemallocDrop",
    "RcvPruned",
    "OfoPruned",
    "TCPBacklogDrop",
    "TCPRcvQDrop",
    "TCPOFODrop",
    "TCPZeroWindowDrop",
];
/// Also packets that the stack sends by itself, for neighbour discovery.
const DROPS_OF_IPV6: [&str; 9] = [
    "Ip6InHdrErrors",
    "Ip6InAddrErrors",
    "Ip6InDiscards",
    "Ip6OutDiscards",
    "Ip6InNoRoutes",
    "Ip6OutNoRoutes",
    "Icmp6OutMLDv2Reports",
    "Icmp6OutNeighborSolicits",
    "Icmp6OutRouterSolicits",
];
/// Window reductions because of losses detected by later arrivals.
const RECOVERIES: [&str; 2] = ["TCPRenoRecovery", "TCPSackRecovery"];
/// Reductions that were undone.
const UNDOS: [&str; 4] = ["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"];

/// The counters of the namespace in which it was opened.
pub(super) struct Counters {
    netstat: File,
    snmp: File,
    /// `None` if the kernel has no IPv6.
    snmp6: Option<File>,
    devices: File,
}

/// Congestion episodes of all TCP connections of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Episodes {
    pub(super) recoveries: u64,
    pub(super) undos: u64,
}

impl Counters {
    pub(super) fn open() -> Result<Self, String> {
        let open = |name: &str| {
            let path = format!("/proc/thread-self/net/{name}");
            File::open(&path).map_err(|error| format!("{path}: {error}"))
        };
        let snmp6 = open("snmp6").ok();
        Ok(Self { netstat: open("netstat")?, snmp: open("snmp")?, snmp6, devices: open("dev")? })
    }

    pub(super) fn episodes(&self) -> Result<Episodes, String> {
        let text = read(&self.netstat)?;
        let sum =
            |names: &[&str]| counters(&text).filter(|(name, _)| names.contains(name)).map(|own| own.1).sum();
        Ok(Episodes { recoveries: sum(&RECOVERIES), undos: sum(&UNDOS) })
    }

    /// Packets dropped by the stack or an interface, or sent without traffic, by counter.
    pub(super) fn drops(&self) -> Result<Vec<(String, u64)>, String> {
        let (netstat, snmp, devices) = (read(&self.netstat)?, read(&self.snmp)?, read(&self.devices)?);
        let snmp6 = self.snmp6.as_ref().map(read).transpose()?.unwrap_or_default();
        let of_stack = counters(&netstat).chain(counters(&snmp)).filter(|(name, _)| DROPS.contains(name));
        let of_ipv6 = counters_of_ipv6(&snmp6).filter(|(name, _)| DROPS_OF_IPV6.contains(name));
        let of_stack = of_stack.chain(of_ipv6).map(|(name, count)| (name.to_owned(), count));
        let all = of_stack.chain(of_devices(&devices));
        Ok(all.filter(|(_, count)| *count > 0).collect())
    }
}

/// Reads from the start: the kernel then updates the text.
fn read(file: &File) -> Result<String, String> {
    let mut text = Vec::new();
    let mut piece = [0; 8192];
    loop {
        match file.read_at(&mut piece, text.len() as u64) {
            Ok(0) => break,
            Ok(count) => text.extend(&piece[..count]),
            Err(error) => return Err(format!("counters of a namespace: {error}")),
        }
    }
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// Parses pairs of lines, names and values, both after the group's name.
fn counters(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let names = text.lines().step_by(2).flat_map(|line| line.split_whitespace().skip(1));
    let values = text.lines().skip(1).step_by(2).flat_map(|line| line.split_whitespace().skip(1));
    names.zip(values).filter_map(|(name, value)| Some((name, value.parse().ok()?)))
}

/// Parses lines with a name and a value.
fn counters_of_ipv6(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?.parse().ok()?))
    })
}

/// Errors and drops of each interface.
fn of_devices(text: &str) -> impl Iterator<Item = (String, u64)> + '_ {
    text.lines().skip(2).flat_map(|line| {
        let (name, rest) = line.split_once(':').unwrap_or_default();
        let values: Vec<u64> = rest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let at = |index: usize| values.get(index).copied().unwrap_or(0);
        let name = name.trim();
        [
            (format!("rx errors of {name}"), at(2)),
            (format!("rx drops of {name}"), at(3)),
            (format!("tx errors of {name}"), at(10)),
            (format!("tx drops of {name}"), at(11)),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_own_values() {
        let text = "TcpExt: SyncookiesSent TCPSackRecovery TCPFullUndo\nTcpExt: 1 22 3\nIpExt: InNoRoutes\nIpExt: 4\n";
        let all: Vec<(&str, u64)> = counters(text).collect();
        assert_eq!(
            all,
            [("SyncookiesSent", 1), ("TCPSackRecovery", 22), ("TCPFullUndo", 3), ("InNoRoutes", 4)]
        );
    }

    #[test]
    fn drops_of_interfaces_are_found_in_their_columns() {
        let text = "Inter-|   Receive\n face |bytes\n  w0a: 10 1 2 3 0 0 0 0 20 2 5 6 0 0 0 0\n";
        let found: Vec<u64> = of_devices(text).map(|(_, count)| count).collect();
        assert_eq!(found, [2, 3, 5, 6]);
    }

    #[test]
    fn the_counters_of_this_machine_can_be_read() {
        let counters = Counters::open().expect("there is /proc");
        counters.episodes().expect("text");
        counters.drops().expect("text");
    }
}
