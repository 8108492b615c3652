//! The network of a job: namespaces, cables, routes and queues.

use std::{
    fs::{self, File},
    io,
    net::IpAddr,
    os::fd::{AsFd as _, AsRawFd as _},
};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use braid_kernel::netlink::{CREATE, EXCL, Message, Netlink, REPLACE, bits, family, octets, word};

use super::{
    counters::{Counters, Episodes},
    interfaces::{gateway, hardware, interface, interface_header},
    queue::{BOTTLENECK, DISCIPLINE, LOSS, PATH, Stage, Stages, rate, set_queue, verify},
};
use crate::job::{Job, Match, Node, Queue, QueueAt, Reroute, Route, Wire};

/// For all namespaces; a job's settings come after these.
const SETTINGS: [(&str, &str); 8] = [
    ("ipv4/ip_forward", "1"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
    // Neighbour discovery would send packets.
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    // A connection must not profit from an earlier one.
    ("ipv4/tcp_no_metrics_save", "1"),
    // Connections never wait for memory.
    ("ipv4/tcp_wmem", "4096 16384 67108864"),
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
];

/// For namespaces with IPv6; only the job's addresses and routes.
const IPV6_SETTINGS: [(&str, &str); 6] = [
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
    // No link-local addresses either.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

const LOOPBACK: u32 = 1;
/// Flags of an interface.
const UP: u32 = 1;
const NO_ARP: u32 = 0x80;
const MULTICAST: u32 = 0x1000;

/// A namespace and its sockets.
struct Place {
    file: File,
    route: Netlink,
    counters: Counters,
}

/// A network that has been built.
pub(super) struct Network {
    places: Vec<Place>,
    /// Wire and end of every queue.
    queued: Vec<(usize, usize)>,
    /// The present settings of the queues.
    queues: Vec<Queue>,
    /// Drops before the run.
    drops_before: Vec<(String, String, u64)>,
}

impl Network {
    pub(super) fn build(job: &Job) -> Result<Self, String> {
        let mut network =
            Self { places: Vec::new(), queued: Vec::new(), queues: Vec::new(), drops_before: Vec::new() };
        let ipv6 = job.connections.iter().any(|connection| connection.server.is_ipv6());
        for node in &job.nodes {
            network.places.push(place(node, ipv6)?);
        }
        for (number, wire) in job.wires.iter().enumerate() {
            network.add_wire(number, wire, ipv6).map_err(|error| format!("wire {number}: {error}"))?;
        }
        if ipv6 {
            // A router joins the group of all routers on every multicast interface at its creation, and announces it.
            // So multicast is switched off before forwarding starts.
            for number in 0..network.places.len() {
                network.enter(number)?;
                write_setting("ipv6/conf/all/forwarding", "1")?;
            }
        }
        for (number, wire) in job.wires.iter().enumerate() {
            for (end, own) in wire.ends.iter().enumerate() {
                if let Some(queue) = &own.queue {
                    let place = &mut network.places[own.node];
                    set_queue(&mut place.route, number, end, queue, None)
                        .map_err(|error| format!("queue at end {end} of wire {number}: {error}"))?;
                    verify(&mut place.route, number, end, queue)
                        .map_err(|error| format!("queue at end {end} of wire {number}: {error}"))?;
                    network.queued.push((number, end));
                    network.queues.push(queue.clone());
                }
            }
        }
        for (number, node) in job.nodes.iter().enumerate() {
            let place = &mut network.places[number];
            for (index, route) in node.routes.iter().enumerate() {
                set_route(place, index, route)
                    .and_then(|()| add_rule(place, index, route))
                    .map_err(|error| format!("route {index} of {}: {error}", node.name))?;
            }
        }
        network.drops_before = network.drops(job)?;
        Ok(network)
    }

    /// Rate of a queue, bits per second; 0: unlimited or down.
    pub(super) fn rate(&self, queue: usize) -> u64 {
        rate(&self.queues[queue])
    }

    /// Congestion episodes of the TCP connections of a node.
    pub(super) fn episodes(&self, node: usize) -> Result<Episodes, String> {
        self.places[node].counters.episodes()
    }

    /// Drops outside of queues since the network was built: node, counter, packets.
    pub(super) fn drops(&self, job: &Job) -> Result<Vec<(String, String, u64)>, String> {
        let mut drops = Vec::new();
        for (place, node) in self.places.iter().zip(&job.nodes) {
            for (counter, count) in place.counters.drops()? {
                let is_it = |own: &&(String, String, u64)| (&own.0, &own.1) == (&node.name, &counter);
                let before = self.drops_before.iter().find(is_it).map_or(0, |own| own.2);
                if count > before {
                    drops.push((node.name.clone(), counter, count - before));
                }
            }
        }
        Ok(drops)
    }

    /// Moves this thread into a namespace.
    pub(super) fn enter(&self, node: usize) -> Result<(), String> {
        enter(&self.places[node].file)
    }

    /// Replaces a queue's settings.
    pub(super) fn change(
        &mut self,
        job: &Job,
        (wire, end): (usize, usize),
        queue: &Queue,
    ) -> Result<(), String> {
        let place = &mut self.places[job.wires[wire].ends[end].node];
        let at = self.queued.iter().position(|&queued| queued == (wire, end)).ok_or("there is no queue")?;
        set_queue(&mut place.route, wire, end, queue, Some(&self.queues[at]))
            .map_err(|error| format!("changing a queue: {error}"))?;
        self.queues[at] = queue.clone();
        Ok(())
    }

    /// Sets another route from now on.
    pub(super) fn reroute(&mut self, change: &Reroute) -> Result<(), String> {
        set_route(&mut self.places[change.node], change.index, &change.route)
            .map_err(|error| format!("changing a route: {error}"))
    }

    /// Counters of every queue, in the order of [`Job::wires`] and their ends, without integrals.
    pub(super) fn queues(&mut self, job: &Job) -> Result<Vec<QueueAt>, String> {
        let mut counts = vec![Stages::default(); self.queued.len()];
        for (number, place) in self.places.iter_mut().enumerate() {
            let here = |&(wire, end): &(usize, usize)| job.wires[wire].ends[end].node == number;
            if !self.queued.iter().any(here) {
                continue;
            }
            let dump = Message::new(38, 0, &[0; 20]);
            let each = |body: &[u8]| {
                let (index, handle) = (word(body, 4), word(body, 8));
                let queue = self.queued.iter().position(|&(wire, end)| interface(wire, end) == index);
                if let Some(queue) = queue {
                    match handle {
                        PATH => counts[queue].path = Stage::of(&body[20..]),
                        BOTTLENECK => counts[queue].bottleneck = Stage::of(&body[20..]),
                        LOSS => counts[queue].loss = Stage::of(&body[20..]),
                        DISCIPLINE => counts[queue].discipline = Stage::of(&body[20..]),
                        _ => {}
                    }
                }
            };
            place.route.dump(dump, each).map_err(|error| format!("reading queues: {error}"))?;
        }
        Ok(counts.iter().map(Stages::queue).collect())
    }

    fn add_wire(&mut self, number: usize, wire: &Wire, ipv6: bool) -> io::Result<()> {
        let [near, far] = &wire.ends;
        let mut link = Message::new(16, CREATE | EXCL, &interface_header(interface(number, 0)));
        let describe = |message: &mut Message, end: usize| {
            message
                .text(3, &format!("w{number}{}", ["a", "b"][end]))
                .attribute(1, &hardware(number, end))
                .attribute(4, &wire.mtu.to_ne_bytes())
                // One packet is one packet: no segmentation offload.
                .attribute(40, &1_u32.to_ne_bytes());
        };
        describe(&mut link, 0);
        let peer = self.places[far.node].file.as_fd().as_raw_fd();
        link.nested(18, |info| {
            info.text(1, "veth").nested(2, |data| {
                data.nested(1, |other| {
                    other.raw(&interface_header(interface(number, 1)));
                    describe(other, 1);
                    other.attribute(28, &peer.to_ne_bytes());
                });
            });
        });
        self.places[near.node].route.request(link)?;
        for (end, own) in wire.ends.iter().enumerate() {
            let place = &mut self.places[own.node];
            let index = interface(number, end);
            // IPv6 without neighbour discovery and multicast groups, which would send packets.
            let (flags, changes) = if ipv6 { (UP | NO_ARP, UP | NO_ARP | MULTICAST) } else { (UP, UP) };
            place.route.request(flagged(index, flags, changes))?;
            if let Some(address) = own.address {
                add_address(place, index, address)?;
            }
            // Neighbours are static, so that no resolution is needed.
            for ipv6 in [false, true].into_iter().take(1 + usize::from(ipv6)) {
                let mut neighbour = [0; 12];
                neighbour[0] = family(ipv6);
                neighbour[4..8].copy_from_slice(&index.to_ne_bytes());
                neighbour[8..10].copy_from_slice(&0x80_u16.to_ne_bytes());
                let mut message = Message::new(28, CREATE | REPLACE, &neighbour);
                let address = octets(gateway(number, 1 - end, ipv6));
                message.attribute(1, &address).attribute(2, &hardware(number, 1 - end));
                place.route.request(message)?;
            }
        }
        Ok(())
    }
}

fn enter(file: &File) -> Result<(), String> {
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| format!("entering a namespace: {error}"))
}

/// Writes a setting in the thread's namespace.
fn write_setting(key: &str, value: &str) -> Result<(), String> {
    fs::write(format!("/proc/sys/net/{key}"), value)
        .map_err(|error| format!("setting net/{key} to {value}: {error}"))
}

/// Creates a namespace with a node's settings and addresses, and moves this thread into it.
fn place(node: &Node, ipv6: bool) -> Result<Place, String> {
    let failed = |error: &dyn std::fmt::Display| format!("namespace of {}: {error}", node.name);
    // SAFETY: changes the network namespace only, which does not affect memory.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| failed(&error))?;
    let file = File::open("/proc/thread-self/ns/net").map_err(|error| failed(&error))?;
    let own = node.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    // A kernel may lack IPv6.
    let is_there = |key: &str| !key.starts_with("ipv6/") || fs::exists("/proc/sys/net/ipv6").unwrap_or(true);
    let of_ipv6 = IPV6_SETTINGS.into_iter().filter(|_| ipv6);
    for (key, value) in SETTINGS.into_iter().filter(|(key, _)| is_there(key)).chain(of_ipv6).chain(own) {
        write_setting(key, value).map_err(|error| failed(&error))?;
    }
    let route = Netlink::route().map_err(|error| failed(&error))?;
    let mut place = Place { file, route, counters: Counters::open()? };
    place.route.request(flagged(LOOPBACK, UP, UP)).map_err(|error| failed(&error))?;
    for &address in &node.addresses {
        add_address(&mut place, LOOPBACK, address).map_err(|error| failed(&error))?;
    }
    Ok(place)
}

/// A request to set those flags of an interface that are to change.
fn flagged(index: u32, flags: u32, changes: u32) -> Message {
    let mut header = interface_header(index);
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&changes.to_ne_bytes());
    Message::new(16, 0, &header)
}

fn add_address(place: &mut Place, index: u32, address: IpAddr) -> io::Result<()> {
    // The address is unique: no duplicate detection.
    const NO_DETECTION: u8 = 2;
    let flags = if address.is_ipv6() { NO_DETECTION } else { 0 };
    let mut header = [family(address.is_ipv6()), bits(address), flags, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut message = Message::new(20, CREATE | EXCL, &header);
    message.attribute(1, &octets(address)).attribute(2, &octets(address));
    place.route.request(message)
}

/// Sets a route, replacing one for the same packets.
fn set_route(place: &mut Place, index: usize, route: &Route) -> io::Result<()> {
    const MAIN: u32 = 254;
    let (wire, end) = route.by;
    let table = match route.of {
        // A separate table, selected by a rule.
        Match::From(_) => own_table(index),
        Match::To(_) | Match::All { .. } => MAIN,
    };
    let ipv6 = match route.of {
        Match::All { ipv6 } => ipv6,
        Match::From(address) | Match::To(address) => address.is_ipv6(),
    };
    let prefix = if let Match::To(address) = route.of { bits(address) } else { 0 };
    // Unicast, static, universe; the gateway is on-link whatever its address.
    let mut header = [family(ipv6), prefix, 0, 0, 0, 4, 0, 1, 0, 0, 0, 0];
    header[8..12].copy_from_slice(&4_u32.to_ne_bytes());
    let mut message = Message::new(24, CREATE | REPLACE, &header);
    if let Match::To(address) = route.of {
        message.attribute(1, &octets(address));
    }
    message
        .attribute(15, &table.to_ne_bytes())
        .attribute(4, &interface(wire, end).to_ne_bytes())
        .attribute(5, &octets(gateway(wire, 1 - end, ipv6)))
        .nested(8, |metrics| {
            if let Some(packets) = route.initial_window {
                metrics.attribute(11, &packets.to_ne_bytes());
            }
            if route.quick_ack {
                metrics.attribute(15, &1_u32.to_ne_bytes());
            }
        });
    place.route.request(message)
}

/// Adds a rule that selects the route's table.
fn add_rule(place: &mut Place, index: usize, route: &Route) -> io::Result<()> {
    let Match::From(address) = route.of else { return Ok(()) };
    let table = own_table(index);
    let header = [family(address.is_ipv6()), 0, bits(address), 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let mut rule = Message::new(32, CREATE | EXCL, &header);
    rule.attribute(2, &octets(address))
        .attribute(6, &table.to_ne_bytes())
        .attribute(15, &table.to_ne_bytes());
    place.route.request(rule)
}

/// Table of a route by source address.
fn own_table(index: usize) -> u32 {
    1000 + index as u32
}
