//! `braid metrics`: the values of `top` and `status` as `OpenMetrics`.
//!
//! Labels are names of the machine's configuration: namespace, algorithm, line. Connections are not labels, so the
//! number of series does not grow with traffic; [`MOST_GROUPS`] limits it for any configuration.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use braid_kernel::{Flow, Loaded, Namespace, PREFIX};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::failure::FAILED;
use crate::live::{CHECKS, Connection, Finding, Limit, Sampler, State, Subflow};
use crate::{Failure, terminal};

/// Maximum of label combinations; the rest is `other`.
const MOST_GROUPS: usize = 100;
const OTHER: &str = "other";

#[derive(Debug, clap::Args)]
pub(crate) struct MetricsArgs {
    /// Serve them over HTTP at ADDRESS, path /metrics, until interrupted, instead of printing them once. ADDRESS is
    /// IP:PORT, or a port of this machine's loopback interface.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Only this network namespace, as `ip netns` lists it or a path. Default: all that are visible.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "it is IP:PORT such as 127.0.0.1:9724 or [::]:9724, or a port".into())
}

pub(crate) fn run(args: &MetricsArgs) -> Result<(), Failure> {
    let mut exporter = Exporter::new(args.netns.as_deref())?;
    let Some(address) = args.listen else {
        // A single print has no previous counters.
        return terminal::print(for_files(&exporter.look(false)).as_bytes());
    };
    let server = Server::http(address).map_err(|error| {
        Failure::bad_input(
            format!("cannot listen on {address}: {error}"),
            "is it already running (`ss -ltnp` shows the port's owner)? --listen takes another address",
        )
    })?;
    exporter.look(true);
    for note in exporter.notes() {
        eprintln!("{note}");
    }
    eprintln!("Listening on http://{}/metrics.", server.server_addr());
    loop {
        let request = server
            .recv()
            .map_err(|error| Failure::new(FAILED, format!("waiting for requests on {address}: {error}")))?;
        answer(request, &mut exporter);
    }
}

/// As Prometheus's text format, which files of node-exporter have: a counter's name there has its suffix everywhere.
fn for_files(open_metrics: &str) -> String {
    let lines: Vec<&str> = open_metrics.lines().collect();
    let counters = lines.iter().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let counters: Vec<&str> = counters.collect();
    let renamed = |line: &&str| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", kind @ ("HELP" | "TYPE"), name, rest] if counters.contains(&name) => {
                format!("# {kind} {name}_total {rest}\n")
            }
            _ => format!("{line}\n"),
        }
    };
    lines.iter().map(renamed).collect()
}

fn answer(request: Request, exporter: &mut Exporter) {
    let typed = |body: String, kind: &str| {
        Response::from_string(body)
            .with_header(Header::from_bytes("Content-Type", kind).expect("a header of ASCII"))
    };
    let path = request.url().split('?').next().unwrap_or_default();
    let response = match (request.method(), path) {
        (Method::Get | Method::Head, "/metrics") => {
            typed(exporter.look(true), "application/openmetrics-text; version=1.0.0; charset=utf-8")
        }
        (Method::Get | Method::Head, "/") => {
            typed("<a href=\"/metrics\">Braid's metrics</a>\n".into(), "text/html; charset=utf-8")
        }
        (Method::Get | Method::Head, _) => {
            typed("There is only /metrics.\n".into(), "text/plain; charset=utf-8").with_status_code(404)
        }
        _ => typed("Only GET.\n".into(), "text/plain; charset=utf-8").with_status_code(405),
    };
    // A client that went away asks again.
    let _ = request.respond(response);
}

/// Labels of subflows.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Group {
    namespace: String,
    algorithm: String,
    line: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Acks {
    algorithm: String,
    usable_subflows: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reductions {
    algorithm: String,
    cause: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Spec {
    algorithm: String,
    spec: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DefaultOf {
    namespace: String,
    algorithm: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByKind {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByLimit {
    limit: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct What {
    what: &'static str,
}

/// Bytes of all subflows of a group since the exporter began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes {
    acked: u64,
    received: u64,
    sent: u64,
    retransmitted: u64,
}

/// Sums over the subflows of a group at one sample.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    subflows: i64,
    cwnd: i64,
    /// Subflows that sent within the last ten seconds.
    active: u32,
    srtt_us: f64,
    min_rtt_us: f64,
    longest_queue_us: u32,
    line_state: State,
}

/// A byte counter: name, description, and value.
type Total = (&'static str, &'static str, fn(&Bytes) -> u64);

struct Exporter {
    sampler: Sampler,
    is_first: bool,
    /// The last counters, by the socket's cookie.
    last: HashMap<u64, Flow>,
    totals: BTreeMap<Group, Bytes>,
    sees_loaded: bool,
}

impl Exporter {
    fn new(netns: Option<&str>) -> Result<Self, Failure> {
        Ok(Self {
            sampler: Sampler::new(netns)?,
            is_first: true,
            last: HashMap::new(),
            totals: BTreeMap::new(),
            sees_loaded: true,
        })
    }

    /// Missing privileges, as text.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.sees_loaded {
            notes
                .push("note: loaded algorithms are not visible: that needs CAP_DAC_OVERRIDE, or root".into());
        }
        if self.sampler.may_not_ask() {
            notes.push("note: groups of subflows are not visible: that needs CAP_BPF and CAP_PERFMON".into());
        }
        if self.sampler.unseen > 0 {
            notes.push(format!(
                "note: {} network namespaces are not visible: that needs CAP_SYS_ADMIN",
                self.sampler.unseen
            ));
        }
        notes
    }

    /// Takes a sample and formats it. Byte counters only if they are `counted` between samples.
    fn look(&mut self, counted: bool) -> String {
        let (_, connections) = self.sampler.take();
        let mut now: BTreeMap<Group, Now> = BTreeMap::new();
        let mut last = HashMap::new();
        for connection in &connections {
            for subflow in &connection.subflows {
                let group = self.group(connection, subflow);
                now.entry(group.clone()).or_default().add(subflow);
                self.count(&group, subflow);
                last.insert(subflow.cookie, subflow.flow);
            }
        }
        self.last = last;
        self.is_first = false;
        let mut registry = Registry::with_prefix("braid");
        self.register_subflows(&mut registry, &now, counted);
        let found = self.sampler.findings(&connections);
        register_connections(&mut registry, &connections, &found);
        self.register_loaded(&mut registry);
        let mut out = String::new();
        text::encode(&mut out, &registry).expect("a string takes all");
        out
    }

    fn group(&self, connection: &Connection, subflow: &Subflow) -> Group {
        let group = Group {
            namespace: bounded(&connection.namespace).to_owned(),
            algorithm: subflow.algorithm.clone(),
            line: subflow.line.clone(),
        };
        if self.totals.len() < MOST_GROUPS || self.totals.contains_key(&group) {
            return group;
        }
        Group { namespace: OTHER.into(), algorithm: OTHER.into(), line: OTHER.into() }
    }

    fn count(&mut self, group: &Group, subflow: &Subflow) {
        let before = match self.last.get(&subflow.cookie) {
            Some(flow) => *flow,
            // Bytes before the exporter's start do not count; those of later sockets do.
            None if self.is_first => subflow.flow,
            None => Flow::default(),
        };
        let since = |bytes: fn(&Flow) -> u64| bytes(&subflow.flow).saturating_sub(bytes(&before));
        let totals = self.totals.entry(group.clone()).or_default();
        totals.acked += since(|flow| flow.bytes_acked);
        totals.received += since(|flow| flow.bytes_received);
        totals.sent += since(|flow| flow.bytes_sent);
        totals.retransmitted += since(|flow| flow.bytes_retransmitted);
    }

    fn register_subflows(&self, registry: &mut Registry, now: &BTreeMap<Group, Now>, counted: bool) {
        let gauge = |value: fn(&Now) -> i64| {
            let family = Family::<Group, Gauge>::default();
            for (group, now) in now {
                family.get_or_create(group).set(value(now));
            }
            family
        };
        // Seconds, for lines with a sending subflow. The rest is several lines, which have no common RTT.
        let seconds = |value: fn(&Now) -> f64| {
            let family = Family::<Group, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
            for (group, now) in now.iter().filter(|(group, now)| now.active > 0 && group.line != OTHER) {
                family.get_or_create(group).set(value(now) / 1e6);
            }
            family
        };
        registry.register("subflows", "TCP connections and subflows of MPTCP", gauge(|now| now.subflows));
        registry.register("cwnd_packets", "Sum of their congestion windows", gauge(|now| now.cwnd));
        registry.register("line_state", "0 healthy, 1 suspect, 2 dead", gauge(|now| now.line_state as i64));
        registry.register_with_unit(
            "srtt",
            "Mean smoothed RTT of those that sent within ten seconds",
            Unit::Seconds,
            seconds(|now| now.srtt_us / f64::from(now.active)),
        );
        registry.register_with_unit(
            "base_rtt",
            "Mean of their minimum RTT: the difference is queueing delay",
            Unit::Seconds,
            seconds(|now| now.min_rtt_us / f64::from(now.active)),
        );
        registry.register_with_unit(
            "longest_queue",
            "Largest difference of the two in one of them",
            Unit::Seconds,
            seconds(|now| f64::from(now.longest_queue_us)),
        );
        if !counted {
            return;
        }
        let bytes: [Total; 4] = [
            ("acked", "Payload acknowledged since the exporter began", |bytes| bytes.acked),
            ("received", "Payload received since the exporter began", |bytes| bytes.received),
            ("sent", "Payload sent, again or not, since the exporter began", |bytes| bytes.sent),
            ("retransmitted", "Payload sent again since the exporter began", |bytes| bytes.retransmitted),
        ];
        for (name, help, value) in bytes {
            let family = Family::<Group, Counter>::default();
            for (group, totals) in &self.totals {
                family.get_or_create(group).inc_by(value(totals));
            }
            registry.register_with_unit(name, help, Unit::Bytes, family);
        }
    }

    /// Loaded and default algorithms, and missing privileges.
    fn register_loaded(&mut self, registry: &mut Registry) {
        let loaded = braid_kernel::loaded();
        self.sees_loaded = loaded.is_ok();
        let info = Family::<Spec, Gauge>::default();
        let acks = Family::<Acks, Counter>::default();
        let reductions = Family::<Reductions, Counter>::default();
        for Loaded { name, spec, acks: by_subflows, losses, .. } in loaded.unwrap_or_default() {
            let algorithm = format!("{PREFIX}{name}");
            info.get_or_create(&Spec { algorithm: algorithm.clone(), spec }).set(1);
            for (usable_subflows, count) in (0..).zip(by_subflows) {
                acks.get_or_create(&Acks { algorithm: algorithm.clone(), usable_subflows }).inc_by(count);
            }
            for (cause, count) in ["loss", "timeout", "ecn"].into_iter().zip(&losses[1..]) {
                reductions.get_or_create(&Reductions { algorithm: algorithm.clone(), cause }).inc_by(*count);
            }
        }
        let defaults = Family::<DefaultOf, Gauge>::default();
        for namespace in Namespace::all() {
            let is_named = bounded(&namespace.name) == namespace.name;
            if let Some(algorithm) = is_named.then(|| braid_kernel::default(&namespace).ok()).flatten() {
                defaults.get_or_create(&DefaultOf { namespace: namespace.name, algorithm }).set(1);
            }
        }
        let sees = Family::<What, Gauge>::default();
        let seen = [
            ("loaded", self.sees_loaded),
            ("detectors", self.sampler.may_ask()),
            ("namespaces", self.sampler.unseen == 0),
        ];
        for (what, is_seen) in seen {
            sees.get_or_create(&What { what }).set(i64::from(is_seen));
        }
        registry.register("loaded_algorithm", "1 for each algorithm that is loaded", info);
        registry.register(
            "default_algorithm",
            "1 for the default of new sockets in each namespace",
            defaults,
        );
        registry.register("acks", "ACKs handled, by the usable subflows that the connection had then", acks);
        registry.register("reductions", "Reductions of the window, by cause", reductions);
        registry.register("sees", "1 if the exporter has the privileges to see it, else 0", sees);
    }
}

impl Now {
    fn add(&mut self, subflow: &Subflow) {
        self.subflows += 1;
        self.line_state = self.line_state.max(subflow.line_state);
        self.cwnd += i64::from(subflow.flow.cwnd);
        if subflow.flow.last_sent_ms < 10_000 && subflow.flow.srtt_us > 0 {
            self.active += 1;
            self.srtt_us += f64::from(subflow.flow.srtt_us);
            self.min_rtt_us += f64::from(subflow.flow.min_rtt_us);
            self.longest_queue_us = self.longest_queue_us.max(subflow.queue_us());
        }
    }
}

/// Unnamed namespaces come and go with their processes: they count as one.
fn bounded(namespace: &str) -> &str {
    if namespace.starts_with("of process ") { "unnamed" } else { namespace }
}

fn register_connections(registry: &mut Registry, connections: &[Connection], found: &[Finding]) {
    let mptcp = Gauge::<i64>::default();
    mptcp.set(connections.iter().filter(|connection| connection.token.is_some()).count() as i64);
    registry.register("mptcp_connections", "MPTCP connections", mptcp);

    let limits = Family::<ByLimit, Gauge>::default();
    for limit in Limit::ALL {
        let subflows = connections.iter().flat_map(|connection| &connection.subflows);
        let count = subflows.filter(|subflow| subflow.limit == limit).count();
        limits.get_or_create(&ByLimit { limit: limit.name() }).set(count as i64);
    }
    registry.register("limited_subflows", "Connections and subflows, by what they wait for", limits);

    let by_kind = Family::<ByKind, Gauge>::default();
    for check in CHECKS.iter().filter(|check| !check.is_for_doctor) {
        let count = found.iter().filter(|finding| finding.kind == check.kind).count();
        by_kind.get_or_create(&ByKind { kind: check.kind }).set(count as i64);
    }
    registry.register("warnings", "Warnings of `braid status`, by kind", by_kind);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_files_a_counters_help_has_the_counters_name() {
        let text = "# HELP a_b x counter.\n# TYPE a_b counter\na_b_total 1\n# HELP c y.\n# TYPE c gauge\nc 2\n# EOF\n";
        let expected = text.replace("HELP a_b ", "HELP a_b_total ").replace("TYPE a_b ", "TYPE a_b_total ");
        assert_eq!(for_files(text), expected);
    }
}
