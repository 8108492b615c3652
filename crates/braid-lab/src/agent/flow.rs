//! A connection of a run: its sockets or programs, and their counters.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
};

use braid_kernel::sockopt;
use braid_sim::application::Application;
use socket2::{Domain, Protocol, Socket, Type};

use super::{
    counted::Counted, flow_group::FlowGroup, network::Network, pair::Pair, paths::Paths, programs::Programs,
    sockets::Sockets, thresholds,
};
use crate::job::{self, Job, SubflowAt};

const FIRST_PORT: u16 = 5001;

type Result<T> = std::result::Result<T, String>;

/// The present state of a connection.
pub(super) struct Flow {
    /// Listener of a built-in application; `None` with programs.
    pub(super) listener: Option<Socket>,
    pub(super) programs: Option<Programs>,
    /// Connections of a built-in application: a single one, or the slots of short flows.
    pub(super) pairs: Vec<Option<Pair>>,
    pub(super) application: Application,
    /// Where it is many sockets.
    pub(super) group: Option<FlowGroup>,
    pub(super) paths: Option<Paths>,
    pub(super) delivered_bytes: u64,
    pub(super) reinjected_bytes: u64,
    pub(super) subflows: Vec<Counted>,
    /// Instead of these, where it is many sockets: their counts by subflow, and the payload that they got on all subflows.
    pub(super) of_group: Vec<SubflowAt>,
    pub(super) active_ns: u64,
    pub(super) received_bytes: u64,
}

impl Flow {
    /// The single connection, if it is open and established.
    pub(super) fn established(&self) -> Option<(&Pair, &Socket)> {
        let pair = self.pairs.first()?.as_ref().filter(|pair| pair.is_established)?;
        pair.sender.as_ref().map(|sender| (pair, sender))
    }
}

pub(super) fn port(flow: usize) -> u16 {
    FIRST_PORT + flow as u16
}

pub(super) fn socket(multipath: bool, of: IpAddr) -> io::Result<Socket> {
    let protocol = if multipath { Protocol::from(libc::IPPROTO_MPTCP) } else { Protocol::TCP };
    Socket::new(Domain::for_address(SocketAddr::new(of, 0)), Type::STREAM, Some(protocol))
}

/// The receiver listens, and the path managers of both sides are ready.
pub(super) fn prepare_flow(network: &Network, job: &Job, number: usize) -> Result<Flow> {
    let connection = &job.connections[number];
    let name = &connection.name;
    let failed = |what: &'static str| move |error: io::Error| format!("{name}: {what}: {error}");
    network.enter(connection.nodes[1])?;
    if connection.multipath {
        Paths::open().map_err(failed("path manager"))?;
    }
    let mut listener = None;
    if connection.programs.is_none() {
        let own = socket(connection.multipath, connection.server).map_err(failed("socket"))?;
        // The kernel doubles the value. This option disregards the system's limit.
        let bytes = i32::try_from(connection.receive_memory / 2).unwrap_or(i32::MAX / 2);
        sockopt::set(&own, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
            .map_err(failed("receive buffer"))?;
        let address = SocketAddr::new(connection.server, port(number));
        own.bind(&address.into()).map_err(failed("bind"))?;
        own.listen(128).map_err(failed("listen"))?;
        listener = Some(own);
    }
    network.enter(connection.nodes[0])?;
    if let Some(packets) = connection.initial_ssthresh {
        let IpAddr::V4(server) = connection.server else {
            return Err(format!("{name}: an initial ssthresh needs IPv4"));
        };
        let senders = connection.subflows.iter().filter_map(|subflow| match subflow.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        thresholds::remember(senders, server, packets).map_err(failed("initial ssthresh"))?;
    }
    let paths = connection.multipath.then(Paths::open).transpose().map_err(failed("path manager"))?;
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &connection.cc)
        .map_err(failed("setting the default congestion control"))?;
    if let Some(scheduler) = &connection.scheduler {
        fs::write("/proc/sys/net/mptcp/scheduler", scheduler)
            .map_err(failed("setting its packet scheduler"))?;
    }
    let application = Application::new(&connection.traffic, &connection.name, job.seed);
    let is_many = application.is_short_flows() || connection.programs.is_some();
    let mut group = is_many.then(|| group(network, connection)).transpose()?;
    let mut programs = None;
    if let (Some(model), Some(group)) = (&connection.programs, &mut group) {
        programs = Some(prepare_programs(network, connection, model, group)?);
    }
    Ok(Flow {
        listener,
        programs,
        pairs: Vec::new(),
        application,
        group,
        paths,
        delivered_bytes: 0,
        reinjected_bytes: 0,
        subflows: vec![Counted::default(); connection.subflows.len()],
        of_group: vec![SubflowAt::default(); connection.subflows.len()],
        active_ns: 0,
        received_bytes: 0,
    })
}

/// The sockets of both namespaces.
fn group(network: &Network, connection: &job::Connection) -> Result<FlowGroup> {
    let mut sockets = connection.nodes.iter().map(|&node| {
        network.enter(node)?;
        Sockets::open().map_err(|error| format!("{}: listing sockets: {error}", connection.name))
    });
    let mut next = || sockets.next().expect("a connection has two ends");
    Ok(FlowGroup { sender: next()?, receiver: next()? })
}

/// Starts the server.
fn prepare_programs(
    network: &Network,
    connection: &job::Connection,
    model: &job::Programs,
    group: &mut FlowGroup,
) -> Result<Programs> {
    let name = &connection.name;
    let failed = |error: String| format!("{name}: {error}");
    for node in connection.nodes {
        network.enter(node)?;
        fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &connection.cc)
            .map_err(|error| failed(format!("setting the default congestion control: {error}")))?;
    }
    let mut programs = Programs::new(model).map_err(|error| failed(error.to_string()))?;
    network.enter(connection.nodes[usize::from(!model.server_sends)])?;
    programs.start(0, 0).map_err(failed)?;
    let sockets = if model.server_sends { &mut group.sender } else { &mut group.receiver };
    programs.wait_for_listener(sockets).map_err(failed)?;
    Ok(programs)
}
