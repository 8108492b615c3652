//! From a scenario to namespaces, cables and queues.
//!
//! A link is a cable whose ends hold the queues of its directions. Where a route continues on another link, their ends
//! meet in a router. Every sender has a namespace, with a plain cable per subflow to the first router of its route, so
//! that the sending host has no queue; all receivers share one namespace.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use braid_algorithms::Spec;
use braid_scenario::{
    model::{self, Kind, QueueLimit, Scenario},
    topology::serialisation_ns,
    trace::Trace,
};
use braid_sim::start_ns;
use sha2::{Digest as _, Sha256};

use super::{
    check::{check, counters},
    discipline::aqm,
    error::Unsupported,
    programs::Runs,
    routes::{Leg, is_ipv6, legs, queues_of},
    schedulers::Schedulers,
};
use crate::job::{
    Added, Bottleneck, Change, Connection, End, Job, Loss, Match, Node, Path, Queue, Reroute, Route, Subflow,
    Wire,
};

/// A job, and the mapping of its counters to the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Translated {
    pub(crate) job: Job,
    /// For each link of the scenario, the indices of its forward and reverse queue in [`crate::job::Moment::queues`];
    /// `None` for a link that is only a delay, or unused.
    pub(crate) queues: Vec<Option<[usize; 2]>>,
}

const SERVER: &str = "server";
const ETHERNET_MTU: u32 = 1500;

/// Plain TCP on reno or cubic is the kernel's own in the lab. Returns the equal of that among ours: whole packets, and for
/// Linux 6.12's CUBIC another slope than that of RFC 9438.
#[expect(clippy::missing_panics_doc, reason = "the names are built in")]
pub fn own_of_the_kernel(connection: &model::Connection) -> Option<Spec> {
    let same = match connection.cc.as_ref().filter(|_| connection.kind == Kind::Tcp)?.text() {
        "reno" => "reno:rounding=linux",
        "cubic" => "cubic:alpha=constant:rounding=linux",
        _ => return None,
    };
    Some(Spec::parse(same).expect("it is built in"))
}

/// The kernel's charge of a receive buffer for a packet in addition to its payload: a socket buffer and its headroom,
/// in kernels without wireless drivers, such as Debian's cloud kernel.
const CHARGED_PER_PACKET: u64 = 896;

/// Receive buffer memory for the scenario's payload. The kernel offers a window by the charges of packets so far. When it
/// acknowledges a packet, the application has not read it yet: hence room for one more.
fn receive_memory(model: &model::Connection) -> u64 {
    let payload = u64::from(model.mss).max(1);
    (model.receive_buffer.min(1 << 30) + payload) * (payload + CHARGED_PER_PACKET) / payload
}

/// The job of a run; `programs` are the scenario's by connection.
pub(crate) fn translate(
    scenario: &Scenario,
    spec: &Spec,
    scheduler: &str,
    seed: u64,
    programs: &Runs,
) -> Result<Translated, Unsupported> {
    check(scenario)?;
    let schedulers = Schedulers::of(scenario, scheduler)?;
    let mut builder = Builder::new(scenario, seed, programs);
    for (number, connection) in scenario.connections.iter().enumerate() {
        builder.connection(number, connection, spec)?;
    }
    let Builder { mut job, queues, .. } = builder;
    job.schedulers = schedulers.parameters();
    for (connection, name) in job.connections.iter_mut().zip(schedulers.names) {
        connection.scheduler = name;
    }
    (job.seed, job.duration_ns) = (seed, scenario.duration_ns);
    job.rtt_samples = scenario.rtt_samples;
    let periods = scenario.periods.iter().flat_map(|&(from, to)| [from, to]);
    job.moments =
        [scenario.warmup_ns, scenario.duration_ns - scenario.cooldown_ns, scenario.duration_ns].into();
    job.moments.extend(periods);
    // The subflow's routes show what private links carry.
    let subflows = scenario.connections.iter().flat_map(|connection| &connection.subflows);
    let times = subflows.flat_map(|subflow| &subflow.reroutes).map(|reroute| reroute.at_ns);
    job.moments.extend(times.filter(|&time| time < scenario.duration_ns));
    job.moments.sort_unstable();
    job.moments.dedup();
    job.changes.sort_by_key(|change| change.at_ns);
    job.reroutes.sort_by_key(|change| change.at_ns);
    // Queues are counted in the order of their wires.
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (number, wire) in job.wires.iter().enumerate() {
        order.extend((0..2).filter(|&end| wire.ends[end].queue.is_some()).map(|end| (number, end)));
    }
    let place = |end| order.iter().position(|&queued| queued == end).expect("links have queues");
    let queues = queues.into_iter().map(|wire| wire.map(|wire| [place((wire, 0)), place((wire, 1))]));
    Ok(Translated { queues: queues.collect(), job })
}

struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    programs: &'a Runs,
    job: Job,
    /// Wire of each link.
    queues: Vec<Option<usize>>,
    /// Node of each end of each link, 2 x link + end.
    ends: Vec<usize>,
    addresses: u32,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario, seed: u64, programs: &'a Runs) -> Self {
        let links = scenario.links.len();
        // Ends that meet, by the smallest of them.
        let mut meets: Vec<usize> = (0..2 * links).collect();
        let mut used = vec![false; links];
        let mut meet = |a: usize, b: usize| {
            let (least, most) = (meets[a].min(meets[b]), meets[a].max(meets[b]));
            meets.iter_mut().filter(|end| **end == most).for_each(|end| *end = least);
        };
        for subflow in scenario.connections.iter().flat_map(|connection| &connection.subflows) {
            let routes = || legs(subflow).into_iter().flat_map(|leg| [leg.forward, leg.reverse]);
            let mut first = None;
            for route in routes().map(|route| queues_of(scenario, subflow, route)) {
                // The sender's cable leads to the start of all its routes.
                meet(2 * *first.get_or_insert(route[0]), 2 * route[0]);
                for pair in route.windows(2) {
                    meet(2 * pair[0] + 1, 2 * pair[1]);
                }
                for link in route {
                    used[link] = true;
                }
            }
        }
        // If only receivers follow, the end is on their node.
        let begins: Vec<usize> = (0..links).filter(|&link| used[link]).map(|link| meets[2 * link]).collect();
        let mut job = Job { nodes: vec![Node { name: SERVER.into(), ..Node::default() }], ..Job::default() };
        let mut nodes = vec![None; 2 * links];
        let mut ends = vec![0; 2 * links];
        for end in 0..2 * links {
            let group = meets[end];
            if used[end / 2] && begins.contains(&group) {
                ends[end] = *nodes[group].get_or_insert_with(|| {
                    job.nodes.push(Node { name: format!("router{}", job.nodes.len()), ..Node::default() });
                    job.nodes.len() - 1
                });
            }
        }
        let mut builder =
            Self { scenario, seed, programs, job, queues: vec![None; links], ends, addresses: 0 };
        for link in (0..links).filter(|&link| used[link]) {
            builder.link(link);
        }
        builder
    }

    fn mtu(&self) -> u32 {
        let packets = self.scenario.connections.iter().map(|own| own.mss + own.data_header);
        packets.max().unwrap_or(0).max(ETHERNET_MTU)
    }

    fn link(&mut self, number: usize) {
        let link = &self.scenario.links[number];
        let wire = self.job.wires.len();
        let directions = [("forward", &link.forward), ("reverse", &link.reverse)];
        let ends = [0, 1].map(|end| {
            let (name, direction) = directions[end];
            let states = self.states(&format!("{}.{name}", link.name), direction, end == 0);
            let mut states = states.into_iter();
            let (_, first) = states.next().expect("there is a first state");
            let later = states.map(|(at_ns, queue)| Change { at_ns, end: (wire, end), queue });
            self.job.changes.extend(later);
            End { node: self.ends[2 * number + end], address: None, queue: Some(first) }
        });
        self.job.wires.push(Wire { mtu: self.mtu(), ends });
        self.queues[number] = Some(wire);
    }

    /// Settings of a direction, each with its start time; the first starts at 0.
    fn states(&self, name: &str, direction: &model::Direction, forward: bool) -> Vec<(u64, Queue)> {
        let largest =
            |of: fn(&model::Connection) -> u32| self.scenario.connections.iter().map(of).max().unwrap_or(0);
        let packet_bytes = largest(|own| own.mss + own.data_header);
        let sent = if forward { packet_bytes } else { largest(|own| own.ack_size) };
        let mut times: Vec<u64> = direction.changes.iter().map(|change| change.at_ns).collect();
        times.extend(direction.outages.iter().flat_map(|&(from, to)| [from, to]));
        times.push(0);
        let given = times.clone();
        times.extend(direction.trace.iter().flat_map(|trace| steps(trace, self.scenario.duration_ns)));
        times.sort_unstable();
        times.dedup();
        let state = |time: u64| {
            // A trace's change does not restart random decisions.
            let since = given.iter().copied().filter(|&own| own <= time).max().unwrap_or(0);
            let mut now = direction.clone();
            let mut up = true;
            for change in direction.changes.iter().filter(|change| change.at_ns <= time) {
                now.rate_bps = change.rate_bps.unwrap_or(now.rate_bps);
                now.delay_ns = change.delay_ns.unwrap_or(now.delay_ns);
                now.loss = change.loss.unwrap_or(now.loss);
                now.queue = change.queue.unwrap_or(now.queue);
                now.discipline = change.discipline.unwrap_or(now.discipline);
                now.ecn_threshold = change.ecn_threshold.or(now.ecn_threshold);
                up = change.up.unwrap_or(up);
            }
            let mut paused = !up && direction.keeps_queue;
            let down =
                (!up && !paused) || direction.outages.iter().any(|&(from, to)| (from..to).contains(&time));
            let limit_packets = match now.queue {
                QueueLimit::Packets(packets) => packets,
                // The discipline counts bytes.
                QueueLimit::Bytes(_) => u32::MAX,
            };
            let seeds = ["queue", "path"].map(|stage| self.seed_of(&format!("{name}.{stage}.{since}")));
            let aqm = aqm(&now, forward, packet_bytes, sent);
            let (limit_packets, sending_ns) = match aqm {
                // At a trace's opportunity a packet is sent at once.
                Some(_) if direction.trace.is_some() => (limit_packets.max(2) - 1, 0),
                // A packet leaves such a queue when its sending begins: its transmission time is part of the delay.
                Some(_) => (limit_packets.max(2) - 1, serialisation_ns(sent, now.rate_bps)),
                None => (limit_packets, 0),
            };
            let (mut rate_bps, seed) = (now.rate_bps, seeds[0]);
            if let Some(trace) = &direction.trace {
                match step_bps(trace, time / STEP_NS) {
                    0 => paused = true,
                    own => rate_bps = own,
                }
            }
            let bottleneck = Bottleneck { rate_bps, limit_packets, down, paused, aqm, packet_bytes, seed };
            let path = Path {
                delay_ns: now.delay_ns + sending_ns,
                jitter_ns: now.random_delay_ns(),
                reordering: now.reordering,
                loss: if down { Loss::All } else { loss(now.loss) },
                seed: seeds[1],
            };
            (time, Queue { bottleneck: Some(bottleneck), path })
        };
        times.into_iter().map(state).collect()
    }

    /// Seed of one of the network's random decisions.
    fn seed_of(&self, what: &str) -> u64 {
        let hash = Sha256::digest(format!("{}/{what}", self.seed));
        u64::from_le_bytes(hash[..8].try_into().expect("eight bytes"))
    }

    fn node(&mut self, name: String) -> usize {
        self.job.nodes.push(Node { name, ..Node::default() });
        self.job.nodes.len() - 1
    }

    fn connection(
        &mut self,
        number: usize,
        model: &model::Connection,
        spec: &Spec,
    ) -> Result<(), Unsupported> {
        let client = self.node(model.name.clone());
        if model.ecn {
            self.job.nodes[client].settings.push(("ipv4/tcp_ecn".into(), "1".into()));
        }
        let server = address(model, 0x80_0000 + number as u32 + 1);
        // Programs have a namespace of their own: their ports and settings affect no others.
        let programs = self.programs.get(&model.name);
        let receiver = programs.map_or(0, |_| self.node(format!("{}.receiver", model.name)));
        self.job.nodes[receiver].addresses.push(server);
        if programs.is_some() {
            let most = receive_memory(model);
            let buffer = ("ipv4/tcp_rmem".into(), format!("4096 131072 {}", most.max(131_072)));
            let ecn = model.ecn.then(|| ("ipv4/tcp_ecn".into(), "1".into()));
            self.job.nodes[receiver].settings.extend([buffer].into_iter().chain(ecn));
        }
        let cc = self.congestion_control(model, spec);
        let mut subflows = Vec::new();
        for (index, subflow) in model.subflows.iter().enumerate() {
            self.addresses += 1;
            let address = address(model, self.addresses);
            let wire = self.subflow(model, subflow, [client, receiver], address, index == 0)?;
            subflows.push(Subflow {
                address,
                wire,
                join_delay_ns: subflow.join_delay_ns,
                up: subflow.up.clone(),
                backup: subflow.backup,
            });
        }
        let programs = programs.map(|programs| {
            let (first, other) = (subflows[0].address.to_string(), server.to_string());
            let [server, client] = if programs.server_sends { [first, other] } else { [other, first] };
            let mut programs = programs.clone();
            for word in programs.commands.iter_mut().flat_map(|command| &mut command.words) {
                *word = word.replace("{server}", &server).replace("{client}", &client);
            }
            programs
        });
        self.job.connections.push(Connection {
            name: model.name.clone(),
            multipath: model.kind == Kind::Mptcp,
            cc,
            scheduler: None,
            nodes: [client, receiver],
            server,
            start_ns: start_ns(model, self.seed),
            stop_ns: model.stop_ns,
            receive_memory: receive_memory(model),
            hold_ns: self.hold_ns(model),
            initial_ssthresh: model.initial_ssthresh,
            subflows,
            traffic: if programs.is_some() { model::Traffic::Bulk } else { model.traffic.clone() },
            programs,
        });
        Ok(())
    }

    /// If data could overtake the end of the handshake, the kernel would fall back to TCP: data wait until they cannot.
    fn hold_ns(&self, model: &model::Connection) -> u64 {
        let route = if model.kind == Kind::Mptcp { &model.subflows[0].route[..] } else { &[] };
        let directions = route.iter().map(|&link| &self.scenario.links[link].forward);
        directions.filter(|direction| direction.reordering).map(|direction| direction.jitter_ns).sum()
    }

    /// The kernel's name of a connection's congestion control; loads it if it is ours.
    fn congestion_control(&mut self, model: &model::Connection, spec: &Spec) -> String {
        let text = model.cc.as_ref().unwrap_or(spec).text();
        if own_of_the_kernel(model).is_some() {
            return text.to_owned();
        }
        let loaded = self.job.algorithms.iter().position(|(_, other)| other == text);
        let number = loaded.unwrap_or_else(|| {
            let base = text.split(':').next().unwrap_or_default();
            let taken = self.job.algorithms.iter().any(|(name, _)| name == base);
            let name =
                if taken { format!("{base:.7}{}", self.job.algorithms.len()) } else { base.to_owned() };
            self.job.algorithms.push((name, text.to_owned()));
            let algorithm = braid_algorithms::find(base);
            if let Some(added) = algorithm.and_then(Added::of).filter(|added| !self.job.added.contains(added))
            {
                self.job.added.push(added);
            }
            self.job.algorithms.len() - 1
        });
        format!("{}{}", braid_kernel::PREFIX, self.job.algorithms[number].0)
    }

    /// Cable and routes of a subflow; returns the cable at the sender.
    fn subflow(
        &mut self,
        model: &model::Connection,
        subflow: &model::Subflow,
        [client, receiver]: [usize; 2],
        address: IpAddr,
        first: bool,
    ) -> Result<usize, Unsupported> {
        let wire = self.job.wires.len();
        let legs = legs(subflow);
        let paths =
            legs.iter().map(|leg| Path { delay_ns: self.delay_ns(model, subflow, leg), ..Path::default() });
        let paths: Vec<Path> = paths.collect();
        // The end of the acknowledgements' route: a queue on the sending host would be a signal to the sender.
        let queue = |path: &Path| Queue { bottleneck: None, path: *path };
        let has_delay = paths.iter().any(|path| !path.is_nothing());
        let entry = self.ends[2 * queues_of(self.scenario, subflow, &subflow.route)[0]];
        self.job.wires.push(Wire {
            mtu: model.mss + model.data_header,
            ends: [
                End { node: client, address: Some(address), queue: None },
                End { node: entry, address: None, queue: has_delay.then(|| queue(&paths[0])) },
            ],
        });
        for (pair, leg) in paths.windows(2).zip(&legs[1..]).filter(|(pair, _)| pair[0] != pair[1]) {
            let change = Change { at_ns: leg.at_ns, end: (wire, 1), queue: queue(&pair[1]) };
            self.job.changes.push(change);
        }
        for (number, leg) in legs.iter().enumerate() {
            let hops =
                |builder: &mut Self, route| builder.hops(model, subflow, ([client, receiver], wire), route);
            for [(near, out), (far, back)] in hops(self, leg.forward)? {
                let plain = |of, by| Route { of, by, initial_window: None, quick_ack: false };
                let initial_window = (near == client).then_some(model.initial_window);
                let own = Route { initial_window, ..plain(Match::From(address), out) };
                if number == 0 && near == client && first {
                    self.job.nodes[near]
                        .routes
                        .push(Route { of: Match::All { ipv6: address.is_ipv6() }, ..own.clone() });
                }
                self.route(near, leg.at_ns, own);
                if leg.reverse == leg.forward {
                    self.route(far, leg.at_ns, acknowledgements(model, address, (far, back), receiver));
                }
            }
            if leg.reverse != leg.forward {
                for [_, (far, back)] in hops(self, leg.reverse)? {
                    self.route(far, leg.at_ns, acknowledgements(model, address, (far, back), receiver));
                }
            }
        }
        Ok(wire)
    }

    /// Round-trip time of links that are only a delay.
    fn delay_ns(&self, model: &model::Connection, subflow: &model::Subflow, leg: &Leg) -> u64 {
        let delay = |route: &[usize], packet: u32, direction: fn(&model::Link) -> &model::Direction| {
            let queues = queues_of(self.scenario, subflow, route);
            let links = route.iter().filter(|link| !queues.contains(link));
            let own = links.map(|&link| direction(&self.scenario.links[link]));
            own.map(|own| own.delay_ns + serialisation_ns(packet, own.rate_bps)).sum::<u64>()
        };
        delay(leg.forward, model.mss + model.data_header, |link| &link.forward)
            + delay(leg.reverse, model.ack_size, |link| &link.reverse)
    }

    /// From each node on the way to the next one: the nodes, and the wire and end that join them. The first hop is the
    /// sender's cable.
    fn hops(
        &mut self,
        model: &model::Connection,
        subflow: &model::Subflow,
        ([client, receiver], cable): ([usize; 2], usize),
        route: &[usize],
    ) -> Result<Vec<[Place; 2]>, Unsupported> {
        let links = queues_of(self.scenario, subflow, route);
        let entry = self.ends[2 * links[0]];
        let mut hops = vec![[(client, (cable, 0)), (entry, (cable, 1))]];
        let mut last = entry;
        for &link in &links {
            let own = self.queues[link].expect("links of routes have wires");
            let nodes = [self.ends[2 * link], self.ends[2 * link + 1]];
            if last != nodes[0] {
                return Err(crossing(model, subflow));
            }
            hops.push([(nodes[0], (own, 0)), (nodes[1], (own, 1))]);
            last = nodes[1];
        }
        if last != receiver {
            let known = self.job.wires.iter().position(|wire| {
                wire.ends[0].node == last && wire.ends[1].node == receiver && wire.ends[0].queue.is_none()
            });
            let exit = known.unwrap_or_else(|| {
                let end = |node| End { node, address: None, queue: None };
                self.job.wires.push(Wire { mtu: self.mtu(), ends: [end(last), end(receiver)] });
                self.job.wires.len() - 1
            });
            hops.push([(last, (exit, 0)), (receiver, (exit, 1))]);
        }
        let mut seen: Vec<usize> = hops.iter().map(|[(node, _), _]| *node).collect();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() != hops.len() {
            return Err(crossing(model, subflow));
        }
        Ok(hops)
    }

    /// From `at_ns` on a node uses this route. A route for new packets can be set from the start.
    fn route(&mut self, node: usize, at_ns: u64, route: Route) {
        let Job { nodes, reroutes, .. } = &mut self.job;
        let routes = &mut nodes[node].routes;
        let Some(index) = routes.iter().position(|known| known.of == route.of) else {
            routes.push(route);
            return;
        };
        let latest = reroutes.iter().rev().find(|change| (change.node, change.index) == (node, index));
        if latest.map_or(&routes[index], |change| &change.route) != &route {
            reroutes.push(Reroute { at_ns, node, index, route });
        }
    }
}

/// Step in which a trace counts as a constant rate.
const STEP_NS: u64 = 10_000_000;

/// Rate of a trace in a step, bits per second of packets of 1500 bytes.
fn step_bps(trace: &Trace, step: u64) -> u64 {
    let until = |time: u64| time.checked_sub(1).map_or(0, |last| trace.until(last));
    let opportunities = until((step + 1) * STEP_NS) - until(step * STEP_NS);
    opportunities * u64::from(8 * (Trace::OPPORTUNITY - Trace::OVERHEAD)) * 1_000_000_000 / STEP_NS
}

/// Start of each step whose rate differs from the previous one.
fn steps(trace: &Trace, duration_ns: u64) -> impl Iterator<Item = u64> + '_ {
    let changes = |step: &u64| step_bps(trace, *step) != step_bps(trace, step - 1);
    (1..duration_ns.div_ceil(STEP_NS)).filter(changes).map(|step| step * STEP_NS)
}

/// A node, and an end of a wire on it.
type Place = (usize, (usize, usize));

/// The match of acknowledgements to a sender.
fn acknowledgements(model: &model::Connection, sender: IpAddr, (node, by): Place, receiver: usize) -> Route {
    let quick_ack = node == receiver && !model.delayed_ack;
    Route { of: Match::To(sender), by, initial_window: None, quick_ack }
}

/// `10.0.0.0` or `fd00::`, plus this number.
fn address(connection: &model::Connection, number: u32) -> IpAddr {
    if is_ipv6(connection) {
        Ipv6Addr::from(u128::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0)) + u128::from(number)).into()
    } else {
        Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + number).into()
    }
}

fn crossing(model: &model::Connection, subflow: &model::Subflow) -> Unsupported {
    let key = match model.kind {
        Kind::Tcp => format!("connection.{}.route", model.name),
        Kind::Mptcp => format!("connection.{}.subflow.{}.route", model.name, subflow.name),
    };
    let reason = "the routes of this scenario would lead this one through a router twice, which the lab does not \
        support";
    Unsupported { key, reason: reason.into(), remedy: None }
}

fn loss(loss: model::Loss) -> Loss {
    match loss {
        model::Loss::None => Loss::None,
        model::Loss::Periodic(n) => Loss::Every(counters(n).expect("it has been checked")),
        model::Loss::Bernoulli(p) => Loss::Bernoulli(p),
        model::Loss::GilbertElliott(chain) => {
            Loss::GilbertElliott([chain.to_bad, chain.to_good, chain.loss_good, chain.loss_bad])
        }
    }
}
