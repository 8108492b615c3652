//! The list of findings: what keeps connections from bonding, coupling or being watched. `doctor`, `status`, `top`
//! and `metrics` share it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use braid_algorithms::{Algorithm, Spec};
use braid_kernel::{Aim, Endpoint, Loaded, Namespace, PREFIX, Paths};
use serde_json::{Value, json};

use super::model::{Connection, Limit, State, Subflow};

/// A check: its name, its purpose, and the finding.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    pub(crate) kind: &'static str,
    aim: Aim,
    /// It may be intended.
    is_note: bool,
    /// It is about a namespace, not about connections: only `doctor` asks.
    pub(crate) is_for_doctor: bool,
    find: fn(&Place<'_>) -> Vec<Found>,
}

const fn check(kind: &'static str, aim: Aim, find: fn(&Place<'_>) -> Vec<Found>) -> Check {
    Check { kind, aim, is_note: false, is_for_doctor: false, find }
}

const fn note(check: Check) -> Check {
    Check { is_note: true, ..check }
}

const fn for_doctor(check: Check) -> Check {
    Check { is_for_doctor: true, ..check }
}

/// All checks, in the order in which their findings are printed.
pub(crate) const CHECKS: [Check; 24] = [
    check("mptcp_off", Aim::Bond, mptcp_off),
    check("other_manager", Aim::Bond, other_manager),
    check("one_line", Aim::Bond, one_line),
    check("no_endpoint", Aim::Bond, no_endpoint),
    check("limits", Aim::Bond, limits),
    check("no_route", Aim::Bond, no_route),
    check("stripped", Aim::Bond, |place| fell_back(place, true)),
    note(check("fallback", Aim::Bond, |place| fell_back(place, false))),
    check("dead_line", Aim::Bond, |place| place.each_subflow(dead_line)),
    check("never_up", Aim::Bond, |place| place.each_subflow(never_up)),
    note(check("backup", Aim::Bond, backup)),
    for_doctor(note(check("joins_failed", Aim::Bond, joins_failed))),
    check("carries_nothing", Aim::Bond, |place| place.each_subflow(carries_nothing)),
    for_doctor(check("cannot_load", Aim::Couple, |place| unmet(place, Aim::Couple))),
    check("private_mount", Aim::Couple, private_mount),
    check("overridden", Aim::Couple, overridden),
    check("not_default", Aim::Couple, not_default),
    for_doctor(check("other_namespace", Aim::Couple, other_namespace)),
    check("uncoupled", Aim::Couple, |place| place.each(uncoupled)),
    check("mixed", Aim::Couple, |place| place.each(mixed)),
    note(check("peer_decides", Aim::Couple, |place| place.each(peer_decides))),
    check("only_queue", Aim::Couple, |place| place.each_subflow(only_queue)),
    check("disagreement", Aim::Couple, |place| place.each(disagreement)),
    for_doctor(check("cannot_watch", Aim::Watch, |place| unmet(place, Aim::Watch))),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: &'static str,
    pub(crate) aim: Aim,
    pub(crate) is_note: bool,
    pub(crate) namespace: String,
    pub(crate) token: Option<u32>,
    /// The problem.
    pub(crate) what: String,
    /// The remedy, with the command.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn json(&self) -> Value {
        json!({
            "kind": self.kind,
            "namespace": self.namespace,
            "token": self.token.map(|token| format!("{token:08x}")),
            "what": self.what,
            "remedy": self.remedy,
        })
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = if self.is_note { "note" } else { "warning" };
        write!(f, "{level}: {}\n  remedy: {}", self.what, self.remedy)
    }
}

/// As text: the first of each kind, and the number of further ones.
pub(crate) fn told(findings: &[Finding]) -> Vec<String> {
    const SHOWN: usize = 3;
    let mut told = Vec::new();
    for Check { kind, .. } in &CHECKS {
        let of_kind: Vec<&Finding> = findings.iter().filter(|finding| finding.kind == *kind).collect();
        told.extend(of_kind.iter().take(SHOWN).map(ToString::to_string));
        if of_kind.len() > SHOWN {
            told.push(format!(
                "warning: {} more of this kind ({kind}); --json names all",
                of_kind.len() - SHOWN
            ));
        }
    }
    told
}

/// Sentence and remedy.
type Said = (String, String);

struct Found {
    token: Option<u32>,
    said: Said,
}

fn found(what: impl Into<String>, remedy: impl Into<String>) -> Vec<Found> {
    vec![Found { token: None, said: (what.into(), remedy.into()) }]
}

/// What is asked less often than sockets: the machine, and its network namespaces.
#[derive(Default)]
pub(crate) struct Machine {
    loaded: Vec<Loaded>,
    /// Requirements of Braid that are not met; for `doctor` only.
    unmet: Vec<braid_kernel::Requirement>,
    /// Files of sysctl settings, with the default that they set.
    settings: Vec<(String, String)>,
    /// By name of the namespace: those with MPTCP connections or an algorithm of Braid's as default, and the asked one.
    places: BTreeMap<String, Surroundings>,
    is_private: bool,
    is_for_doctor: bool,
}

struct Surroundings {
    default: String,
    /// Of routes.
    destination: IpAddr,
    paths: Paths,
    programs: BTreeSet<&'static str>,
}

const MPTCPD: &str = "mptcpd";
const NETWORK_MANAGER: &str = "NetworkManager";
const BPFTUNE: &str = "bpftune";

impl Machine {
    /// Asks the machine. `doctor` asks more, and about the first namespace whether it is in use or not.
    pub(crate) fn ask(namespaces: &[Namespace], connections: &[Connection], is_for_doctor: bool) -> Self {
        let loaded = braid_kernel::loaded().unwrap_or_default();
        let mut places = BTreeMap::new();
        for (at, namespace) in namespaces.iter().enumerate() {
            let mine =
                connections.iter().filter(|one| one.namespace == namespace.name && one.token.is_some());
            let opened = mine.clone().find(|one| !one.is_accepted).map(|one| one.subflows[0].remote.ip());
            let Ok(default) = braid_kernel::default(namespace) else { continue };
            let is_first = at == 0 && (is_for_doctor || !loaded.is_empty());
            if !is_first && mine.count() == 0 && !default.starts_with(PREFIX) {
                continue;
            }
            let destination = opened.unwrap_or(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
            let Ok(paths) = braid_kernel::paths(namespace, destination) else { continue };
            let programs = braid_kernel::programs(namespace, &[MPTCPD, NETWORK_MANAGER, BPFTUNE]);
            places.insert(namespace.name.clone(), Surroundings { default, destination, paths, programs });
        }
        let unmet = if is_for_doctor { braid_kernel::doctor() } else { Vec::new() };
        let can_load = is_for_doctor && !braid_kernel::hosts().is_empty();
        let is_fault = |own: &braid_kernel::Requirement| !(own.is_met || own.aim == Aim::Couple && can_load);
        Self {
            loaded,
            unmet: unmet.into_iter().filter(is_fault).collect(),
            settings: settings(),
            places,
            is_private: braid_kernel::is_private(),
            is_for_doctor,
        }
    }

    /// All findings about these connections and their namespaces.
    pub(crate) fn findings(&self, connections: &[Connection]) -> Vec<Finding> {
        let names: BTreeSet<&String> =
            self.places.keys().chain(connections.iter().map(|connection| &connection.namespace)).collect();
        let mut findings = Vec::new();
        for name in names {
            let place = Place {
                machine: self,
                name,
                around: self.places.get(name),
                connections: connections.iter().filter(|one| one.namespace == *name).collect(),
            };
            for check in CHECKS.iter().filter(|check| self.is_for_doctor || !check.is_for_doctor) {
                let &Check { kind, aim, is_note, .. } = check;
                findings.extend((check.find)(&place).into_iter().map(
                    |Found { token, said: (what, remedy) }| Finding {
                        kind,
                        aim,
                        is_note,
                        namespace: name.clone(),
                        token,
                        what,
                        remedy,
                    },
                ));
            }
        }
        findings
    }
}

/// Settings of `net.ipv4.tcp_congestion_control` that are applied at boot.
fn settings() -> Vec<(String, String)> {
    let folders = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"];
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.push("/etc/sysctl.conf".into());
    let set = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).ok()?;
        let value = text.lines().rev().find_map(|line| {
            let (key, value) = line.trim().trim_start_matches('-').split_once('=')?;
            (key.trim().replace('/', ".") == "net.ipv4.tcp_congestion_control")
                .then(|| value.trim().to_owned())
        })?;
        Some((path.display().to_string(), value))
    };
    paths.iter().filter_map(set).collect()
}

/// A namespace's name within a sentence.
fn shown(name: &str) -> &str {
    if name.is_empty() { "this namespace" } else { name.strip_prefix("of ").unwrap_or(name) }
}

/// A network namespace with its connections.
struct Place<'a> {
    machine: &'a Machine,
    name: &'a str,
    around: Option<&'a Surroundings>,
    connections: Vec<&'a Connection>,
}

impl Place<'_> {
    fn each(&self, find: fn(&Self, &Connection) -> Option<Said>) -> Vec<Found> {
        let of =
            |connection: &&Connection| Some(Found { token: connection.token, said: find(self, connection)? });
        self.connections.iter().filter_map(of).collect()
    }

    fn each_subflow(&self, find: fn(&Self, &Connection, &Subflow) -> Option<Said>) -> Vec<Found> {
        let of = |connection: &Connection| {
            let said = connection.subflows.iter().filter_map(|subflow| find(self, connection, subflow));
            said.map(|said| Found { token: connection.token, said }).collect::<Vec<_>>()
        };
        self.connections.iter().flat_map(|connection| of(connection)).collect()
    }

    fn shown(&self) -> &str {
        shown(self.name)
    }

    /// Whether a connection that this end opened has several subflows.
    fn bonds(&self) -> bool {
        self.opened().any(|subflow| subflow.number > 1)
    }

    /// Subflows of MPTCP connections that this end opened.
    fn opened(&self) -> impl Iterator<Item = &Subflow> {
        let opened = self.connections.iter().filter(|one| one.token.is_some() && !one.is_accepted);
        opened.flat_map(|connection| &connection.subflows)
    }

    /// `ip` in the namespace.
    fn ip(&self) -> String {
        match self.name.strip_prefix("of process ") {
            Some(_) => format!("{}ip", self.inside()),
            None if self.name.is_empty() => "ip".into(),
            None => format!("ip -n {}", self.name),
        }
    }

    /// Runs the command that follows in the namespace.
    fn inside(&self) -> String {
        match self.name.strip_prefix("of process ") {
            Some(process) => format!("nsenter -t {process} -n "),
            None if self.name.is_empty() => String::new(),
            None => format!("ip netns exec {} ", self.name),
        }
    }

    /// Makes a coupled algorithm the default here: one that is loaded, else `weave`.
    fn couple(&self) -> String {
        let couples = |loaded: &&Loaded| {
            let spec = Spec::parse(&loaded.spec);
            spec.is_ok_and(|spec| spec.algorithm().flags() & Algorithm::UNCOUPLED == 0)
        };
        let netns = match self.name.strip_prefix("of process ") {
            Some(process) => format!(" --netns /proc/{process}/ns/net"),
            None if self.name.is_empty() => String::new(),
            None => format!(" --netns {}", self.name),
        };
        match self.machine.loaded.iter().find(couples) {
            Some(Loaded { name, .. }) => format!("`braid default {name}{netns}`"),
            None => format!("`braid load weave && braid default weave{netns}`"),
        }
    }

    /// The surroundings, if this end opens MPTCP connections: the server's end needs no endpoint.
    fn opens(&self) -> Option<&Surroundings> {
        let mut mptcp = self.connections.iter().filter(|one| one.token.is_some()).peekable();
        let has_some = mptcp.peek().is_some();
        let opens = mptcp.any(|one| !one.is_accepted);
        self.around.filter(|_| opens || (!has_some && self.machine.is_for_doctor))
    }
}

fn mptcp_off(place: &Place<'_>) -> Vec<Found> {
    match place.around.map(|around| around.paths.is_enabled) {
        Some(None) => found("this kernel has no MPTCP, so nothing bonds", "boot one with CONFIG_MPTCP"),
        Some(Some(false)) => found(
            format!("MPTCP is off in {}", place.shown()),
            format!("`{}sysctl -w net.mptcp.enabled=1`", place.inside()),
        ),
        _ => Vec::new(),
    }
}

fn other_manager(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.around else { return Vec::new() };
    if around.programs.contains(MPTCPD) {
        return found(
            "mptcpd manages subflows beside the kernel's endpoints: they contradict each other",
            "`systemctl disable --now mptcp`, and set endpoints with `ip mptcp endpoint`",
        );
    }
    if around.paths.is_by_program {
        return found(
            "net.mptcp.pm_type = 1 leaves subflows to a program, and endpoints have no effect",
            format!("`{}sysctl -w net.mptcp.pm_type=0`", place.inside()),
        );
    }
    if place.machine.is_for_doctor && around.programs.contains(NETWORK_MANAGER) {
        return found(
            "NetworkManager sets MPTCP endpoints, too, and may undo yours",
            "leave them to it, or `nmcli connection modify NAME connection.mptcp-flags disabled`",
        );
    }
    Vec::new()
}

fn one_line(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.opens() else { return Vec::new() };
    let interfaces: BTreeSet<&String> = around.paths.addresses.values().collect();
    if place.bonds() || interfaces.len() > 1 {
        return Vec::new();
    }
    let which = interfaces.first().map_or("no interface", |name| name.as_str());
    found(
        format!("one line only: {which} has an address in {}", place.shown()),
        format!(
            "`{0} -br address` shows the others; `{0} link set DEV up`, and give it an address",
            place.ip()
        ),
    )
}

/// Endpoints that add a subflow, unless the first subflow uses their interface.
fn additional(around: &Surroundings) -> Option<Vec<&Endpoint>> {
    let on = |endpoint: &Endpoint| around.paths.addresses.get(&endpoint.address);
    let adds = |own: &&Endpoint| own.is_subflow && on(own) != around.paths.leaves_by.as_ref();
    Some(around.paths.endpoints.as_ref()?.iter().filter(adds).collect())
}

fn no_endpoint(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.opens() else { return Vec::new() };
    if place.bonds()
        || around.paths.is_by_program
        || additional(around).is_none_or(|endpoints| !endpoints.is_empty())
    {
        return Vec::new();
    }
    let other =
        around.paths.addresses.iter().find(|(_, name)| Some(*name) != around.paths.leaves_by.as_ref());
    let Some((address, interface)) = other else { return Vec::new() };
    found(
        format!("no MPTCP endpoint for a second line in {}: connections stay on one", place.shown()),
        format!("`{} mptcp endpoint add {address} dev {interface} subflow`", place.ip()),
    )
}

fn limits(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.around else { return Vec::new() };
    let Some(limit) = around.paths.subflow_limit else { return Vec::new() };
    let wanted = place.opens().and_then(additional).map_or(0, |endpoints| endpoints.len()).max(1);
    if limit as usize >= wanted {
        return Vec::new();
    }
    found(
        format!("MPTCP limits in {} allow {limit} subflows besides the first", place.shown()),
        format!("`{} mptcp limits set subflows 8 add_addr_accepted 8`", place.ip()),
    )
}

fn no_route(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.opens() else { return Vec::new() };
    let is_up = |own: &Endpoint| {
        place.opened().any(|one| one.local.ip() == own.address && one.flow.opening_ms.is_none())
    };
    let endpoints = around.paths.endpoints.iter().flatten().filter(|own| own.is_subflow && !is_up(own));
    let of = |endpoint: &Endpoint| {
        let Endpoint { id, address, leaves_by, .. } = endpoint;
        let interface = around.paths.addresses.get(address)?;
        let family = if address.is_ipv4() { "" } else { " -6" };
        let is_asked = address.is_ipv4() == around.destination.is_ipv4();
        let what = match leaves_by {
            Some(other) if other != interface => {
                format!("packets from {address} leave by {other}, not by {interface}")
            }
            None if is_asked => format!("there is no route by {interface} for packets from {address}"),
            _ => return None,
        };
        let (ip, table) = (place.ip() + family, 100 + u32::from(*id));
        Some(Found {
            token: None,
            said: (
                what,
                format!(
                    "`{ip} route add default via GATEWAY dev {interface} table {table} && {ip} rule add from {address} table {table}`"
                ),
            ),
        })
    };
    endpoints.filter_map(of).collect()
}

/// Connections whose peer answered without MPTCP: it has MPTCP with other connections (`stripped`), or none.
fn fell_back(place: &Place<'_>, stripped: bool) -> Vec<Found> {
    let bonds = |ip: IpAddr| {
        let has_it = |one: &&&Connection| one.token.is_some() && !one.subflows[0].fell_back;
        place.connections.iter().filter(has_it).any(|one| one.subflows[0].remote.ip() == ip)
    };
    let count = place
        .around
        .and_then(|around| around.paths.counters.get("MPCapableFallbackSYNACK"))
        .map_or(String::new(), |count| format!(" (MPCapableFallbackSYNACK {count})"));
    let of = |connection: &&Connection| {
        let first = &connection.subflows[0];
        let ip = first.remote.ip();
        if !first.fell_back || bonds(ip) != stripped {
            return None;
        }
        let said = if stripped {
            (
                format!(
                    "line {} removes MPTCP: {} fell back to TCP{count}, others to {ip} did not",
                    first.line,
                    named(connection)
                ),
                format!(
                    "open connections by another line (`{} route`), or pass a tunnel through this one",
                    place.ip()
                ),
            )
        } else {
            (
                format!("{ip} answered without MPTCP: {} fell back to TCP{count}", named(connection)),
                "there: `sysctl net.mptcp.enabled=1` and `mptcpize run SERVER`; if it has both, a box on the way \
                 removes MPTCP: compare `tcpdump 'tcp[13] & 2 != 0'` at both ends"
                    .into(),
            )
        };
        Some(Found { token: connection.token, said })
    };
    place.connections.iter().filter_map(of).collect()
}

fn backup(place: &Place<'_>) -> Vec<Found> {
    let endpoints = place.around.iter().flat_map(|around| around.paths.endpoints.iter().flatten());
    let of = |own: &Endpoint| Found {
        token: None,
        said: (
            format!("endpoint {} is a backup: it carries data only while the other lines fail", own.address),
            format!("`{} mptcp endpoint change id {} nobackup`", place.ip(), own.id),
        ),
    };
    endpoints.filter(|own| own.is_backup).map(of).collect()
}

/// Counters of failed joins, with sentence and remedy.
const JOINS: [(&str, &str, &str); 4] = [
    (
        "MPJoinRejected",
        "subflows were refused by the limits of this end",
        "`ip mptcp limits set subflows 8 add_addr_accepted 8`",
    ),
    (
        "MPJoinNoTokenFound",
        "subflows came for a connection that this host does not have",
        "a load balancer must send all subflows of a client to one host",
    ),
    (
        "MPJoinSynAckHMacFailure",
        "subflows failed the peer's authentication",
        "a proxy on the way answers: compare `tcpdump` at both ends",
    ),
    (
        "MPJoinAckHMacFailure",
        "subflows failed authentication",
        "a proxy on the way answers: compare `tcpdump` at both ends",
    ),
];

fn joins_failed(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.around else { return Vec::new() };
    let count = |name: &str| around.paths.counters.get(name).copied().unwrap_or_default();
    let counted = JOINS.iter().filter(|(name, ..)| count(name) > 0);
    let mut all: Vec<Found> = counted
        .flat_map(|(name, what, remedy)| {
            found(format!("{} {what} since boot ({name})", count(name)), *remedy)
        })
        .collect();
    let subflows = place.connections.iter().flat_map(|connection| &connection.subflows);
    let opening = subflows.filter(|subflow| subflow.flow.opening_ms.is_some()).count() as u64;
    let (sent, answered) = (count("MPJoinSynTx"), count("MPJoinSynAckRx"));
    let failed = sent.saturating_sub(answered + opening);
    if failed > 0 {
        all.extend(found(
            format!("{failed} of {sent} subflows got no answer with MPTCP since boot (MPJoinSynTx, MPJoinSynAckRx)"),
            "a firewall drops them, or a box removes MPTCP: compare `tcpdump 'tcp[13] & 2 != 0'` at both ends",
        ));
    }
    all
}

/// Requirements that are not met.
fn unmet(place: &Place<'_>, aim: Aim) -> Vec<Found> {
    let of_aim = place.machine.unmet.iter().filter(|own| own.aim == aim);
    of_aim.flat_map(|own| found(format!("{}: {}; {}", own.what, own.found, own.why), own.remedy)).collect()
}

fn private_mount(place: &Place<'_>) -> Vec<Found> {
    if !place.machine.is_private || place.around.is_none() {
        return Vec::new();
    }
    found(
        "this command has mounts of its own (`ip netns exec`): what is loaded is not visible here",
        "run `braid` outside, with --netns NAME",
    )
}

fn overridden(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.around.filter(|around| around.default.starts_with(PREFIX)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if around.programs.contains(BPFTUNE) {
        all.extend(found(
            format!("bpftune chooses congestion controls, too, and overrides {}", around.default),
            "`systemctl disable --now bpftune`",
        ));
    }
    let others = place.machine.settings.iter().filter(|(_, value)| *value != around.default);
    all.extend(others.flat_map(|(path, value)| {
        found(
            format!(
                "{path} makes {value} the default at boot and by `sysctl --system`, not {}",
                around.default
            ),
            format!("`sed -i /tcp_congestion_control/d {path}`"),
        )
    }));
    all
}

fn not_default(place: &Place<'_>) -> Vec<Found> {
    let Some(around) = place.around.filter(|around| !around.default.starts_with(PREFIX)) else {
        return Vec::new();
    };
    let [first, ..] = &place.machine.loaded[..] else { return Vec::new() };
    let subflows = || place.connections.iter().flat_map(|connection| &connection.subflows);
    let is_default_elsewhere = place.machine.places.values().any(|around| around.default.starts_with(PREFIX))
        && subflows().count() == 0;
    if is_default_elsewhere || subflows().any(|subflow| subflow.algorithm.starts_with(PREFIX)) {
        return Vec::new();
    }
    found(
        format!(
            "{PREFIX}{} is loaded, but new sockets in {} get {}",
            first.name,
            place.shown(),
            around.default
        ),
        place.couple(),
    )
}

/// Of the asked namespace: MPTCP connections of another one do not have its default.
fn other_namespace(place: &Place<'_>) -> Vec<Found> {
    let default = |around: &Surroundings| around.default.clone();
    let Some(here) = place.around.map(default).filter(|here| here.starts_with(PREFIX)) else {
        return Vec::new();
    };
    let others = place.machine.places.iter().filter(|(name, _)| *name != place.name);
    let of = |(name, around): (&String, &Surroundings)| {
        let there = Place { name, around: Some(around), connections: Vec::new(), ..*place };
        found(
            format!(
                "{here} is the default in {}, but connections in {name} get {}",
                place.shown(),
                around.default
            ),
            there.couple(),
        )
    };
    others.filter(|(_, around)| !around.default.starts_with(PREFIX)).flat_map(of).collect()
}

/// A connection's name in warnings.
fn named(connection: &Connection) -> String {
    let place = shown(&connection.namespace);
    if let Some(token) = connection.token {
        return format!("MPTCP connection {token:08x} in {place}");
    }
    let subflow = &connection.subflows[0];
    format!("the connection from {} to {} in {place}", subflow.local, subflow.remote)
}

fn way(subflow: &Subflow) -> String {
    format!("subflow {} ({} on {})", subflow.number, subflow.local.ip(), subflow.line)
}

fn mixed(place: &Place<'_>, connection: &Connection) -> Option<Said> {
    let subflows = &connection.subflows;
    if subflows.iter().all(|subflow| subflow.algorithm == subflows[0].algorithm) {
        return None;
    }
    let each: Vec<String> = subflows
        .iter()
        .map(|subflow| format!("{} to {} runs {}", subflow.local, subflow.remote, subflow.algorithm))
        .collect();
    Some((
        format!(
            "the subflows of {} run different congestion controls: {}",
            named(connection),
            each.join("; ")
        ),
        format!(
            "coupling needs the same one on each. A route's congctl (`{} route show table all`), or a name that was not \
             loaded at the join? New connections use one after {}",
            place.ip(),
            place.couple()
        ),
    ))
}

fn uncoupled(place: &Place<'_>, connection: &Connection) -> Option<Said> {
    let active = connection.subflows.iter().filter(|subflow| !subflow.is_backup);
    let all: Vec<&Subflow> = active.collect();
    let is_same = all.iter().all(|subflow| subflow.algorithm == all[0].algorithm);
    let is_uncoupled = is_same && all.iter().all(|subflow| subflow.couples == Some(false));
    if all.len() < 2 || !connection.sends() || !is_uncoupled {
        return None;
    }
    Some((
        format!(
            "{} runs {} on each of its {} subflows: where they share a bottleneck it takes {} shares",
            named(connection),
            all[0].algorithm,
            all.len(),
            all.len()
        ),
        format!("{}; connections get it when they begin", place.couple()),
    ))
}

fn peer_decides(place: &Place<'_>, connection: &Connection) -> Option<Said> {
    let first = &connection.subflows[0];
    let is_ours = first.algorithm.starts_with(PREFIX) || !place.machine.loaded.is_empty();
    if connection.token.is_none() || connection.subflows.len() < 2 || !connection.receives() || !is_ours {
        return None;
    }
    Some((
        format!(
            "{} downloads: the congestion control of {} decides, not {} here",
            named(connection),
            first.remote.ip(),
            first.algorithm
        ),
        "`braid status --peer HOST` shows what it runs there, `braid enable weave --peer HOST` sets it"
            .into(),
    ))
}

/// RTT over base RTT above which a path is mostly queue, and the minimum of that queue.
const ONLY_QUEUE: (u32, u32) = (4, 100_000);

fn only_queue(_: &Place<'_>, connection: &Connection, subflow: &Subflow) -> Option<Said> {
    let flow = &subflow.flow;
    let (times, least_us) = ONLY_QUEUE;
    let is_sending = flow.last_sent_ms < 2000 && flow.bytes_acked > 0;
    if !is_sending
        || flow.min_rtt_us == 0
        || subflow.queue_us() < least_us
        || flow.srtt_us / times < flow.min_rtt_us
    {
        return None;
    }
    let interface = subflow.interface.as_deref().unwrap_or("DEVICE");
    Some((
        format!(
            "{} of {}: {} of its RTT of {} ms are a queue",
            way(subflow),
            named(connection),
            format_args!("{} ms", subflow.queue_us() / 1000),
            flow.srtt_us / 1000
        ),
        format!(
            "shape it a little below its rate with a managed queue (`tc qdisc replace dev {interface} root cake \
             bandwidth RATE`), or load a delay-based algorithm (`braid algorithms` names the signal of each)"
        ),
    ))
}

/// Silent for the first time while another was not silent for the second.
const SILENT_MS: (u32, u32) = (10_000, 1_000);

/// Time since the peer was last heard. A retransmission is no sign of it.
fn silence(subflow: &Subflow) -> u32 {
    subflow.flow.last_ack_ms.min(subflow.flow.last_received_ms)
}

fn ping(place: &Place<'_>, subflow: &Subflow) -> String {
    format!("check the path (`{}ping -I {} {}`)", place.inside(), subflow.local.ip(), subflow.remote.ip())
}

fn carries_nothing(place: &Place<'_>, connection: &Connection, subflow: &Subflow) -> Option<Said> {
    let others = connection.subflows.iter().filter(|other| other.number != subflow.number);
    let busy = others.filter(|other| other.flow.opening_ms.is_none()).min_by_key(|other| silence(other))?;
    let (silent, active) = SILENT_MS;
    let is_waiting = subflow.flow.opening_ms.is_some() || subflow.flow.timeouts > 0;
    if subflow.is_backup || is_waiting || silence(subflow) < silent || silence(busy) > active {
        return None;
    }
    Some((
        format!(
            "{} of {} has carried nothing for {} s, while {} does",
            way(subflow),
            named(connection),
            silence(subflow) / 1000,
            way(busy)
        ),
        format!(
            "{}; the packet scheduler leaves a much slower path idle while the others suffice; `ip mptcp endpoint` \
             shows and removes the endpoint",
            ping(place, subflow)
        ),
    ))
}

fn dead_line(place: &Place<'_>, connection: &Connection, subflow: &Subflow) -> Option<Said> {
    (subflow.limit == Limit::Dead && subflow.line_state == State::Dead).then(|| {
        (
            format!(
                "line {} is dead: {} timeouts in a row and no answer for {} s on {} of {}",
                subflow.line,
                subflow.flow.timeouts,
                silence(subflow) / 1000,
                way(subflow),
                named(connection)
            ),
            ping(place, subflow),
        )
    })
}

/// A SYN unanswered for that time was sent at least twice.
const OPENING_MS: u32 = 2000;

fn never_up(place: &Place<'_>, connection: &Connection, subflow: &Subflow) -> Option<Said> {
    let age = subflow.flow.opening_ms.filter(|&age| age >= OPENING_MS && connection.token.is_some())?;
    Some((
        format!(
            "{} of {} never came up: SYN-SENT for {} s, {} SYNs without an answer",
            way(subflow),
            named(connection),
            age / 1000,
            subflow.flow.timeouts + 1
        ),
        format!("{}; a firewall may drop it", ping(place, subflow)),
    ))
}

fn disagreement(_: &Place<'_>, connection: &Connection) -> Option<Said> {
    let mut groups: BTreeMap<u16, Vec<&Subflow>> = BTreeMap::new();
    for subflow in &connection.subflows {
        // A detector has no data about a subflow that sends nothing.
        let Some(verdict) = subflow.verdict.filter(|_| subflow.flow.last_sent_ms < 2000) else { continue };
        groups.entry(verdict.group).or_default().push(subflow);
    }
    let apart = groups.remove(&0).unwrap_or_default();
    for (at, one) in apart.iter().enumerate() {
        let same = |other: &&&Subflow| {
            one.interface.is_some()
                && other.interface == one.interface
                && other.remote.ip() == one.remote.ip()
        };
        if let Some(other) = apart[at + 1..].iter().find(same) {
            return Some((
                format!(
                    "the detector reports separate bottlenecks for {} and {} of {}, but both leave by the same \
                     interface for the same address",
                    way(one),
                    way(other),
                    named(connection)
                ),
                "if nothing behind that interface separates them (policy routes, several lines at one router), load \
                 an algorithm without a detector, such as olia"
                    .into(),
            ));
        }
    }
    for together in groups.values() {
        let differ = |other: &&&Subflow| {
            let (a, b) = (&together[0].interface, &other.interface);
            a.is_some() && b.is_some() && a != b && other.remote.ip() != together[0].remote.ip()
        };
        if let Some(other) = together.iter().find(differ) {
            return Some((
                format!(
                    "the detector reports a shared bottleneck for {} and {} of {}, but they leave by different \
                     interfaces for different addresses",
                    way(together[0]),
                    way(other),
                    named(connection)
                ),
                "this is right for two lines of one provider, or a server's only line. If the lines have nothing in \
                 common, load an algorithm without a detector"
                    .into(),
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::subflow;
    use super::*;
    use braid_algorithms::layout::Verdict;

    const NONE: [&str; 0] = [];

    fn kinds(change: impl FnOnce(&mut [Subflow])) -> Vec<&'static str> {
        let mut subflows = vec![subflow(1), subflow(2)];
        change(&mut subflows);
        let connection =
            Connection { namespace: String::new(), token: Some(7), is_accepted: false, subflows };
        Machine::default().findings(&[connection]).into_iter().map(|own| own.kind).collect()
    }

    #[test]
    fn two_coupled_subflows_that_carry_data_are_no_reason_to_warn() {
        assert_eq!(kinds(|_| ()), NONE);
    }

    #[test]
    fn each_thing_that_is_wrong_is_warned_of_and_what_only_looks_like_it_is_not() {
        let uncoupled = |all: &mut [Subflow]| all.iter_mut().for_each(|one| one.couples = Some(false));
        assert_eq!(kinds(uncoupled), ["uncoupled"]);
        let backup = |all: &mut [Subflow]| {
            uncoupled(all);
            all[1].is_backup = true;
        };
        assert_eq!(kinds(backup), NONE, "a backup is not used beside others");
        let receives = |all: &mut [Subflow]| {
            uncoupled(all);
            all[0].flow.bytes_received = 1 << 30;
        };
        assert_eq!(kinds(receives), ["peer_decides"], "the peer's congestion control counts");

        let other = |all: &mut [Subflow]| {
            uncoupled(all);
            all[1].algorithm = "reno".into();
        };
        assert_eq!(kinds(other), ["mixed"]);

        assert_eq!(kinds(|all| all[0].flow.srtt_us = 400_000), ["only_queue"]);
        assert_eq!(kinds(|all| all[0].flow.srtt_us = 90_000), NONE, "a queue of 70 ms is usual");
        let quiet = |all: &mut [Subflow]| (all[0].flow.srtt_us, all[0].flow.last_sent_ms) = (400_000, 5000);
        assert_eq!(kinds(quiet), NONE, "an RTT of long ago");

        assert_eq!(kinds(|all| all[1].flow.last_ack_ms = 12_000), ["carries_nothing"]);
        let both = |all: &mut [Subflow]| all.iter_mut().for_each(|one| one.flow.last_ack_ms = 12_000);
        assert_eq!(kinds(both), NONE, "an idle connection");
        let dead = |all: &mut [Subflow]| {
            (all[1].flow.timeouts, all[1].flow.last_ack_ms) = (5, 12_000);
            (all[1].limit, all[1].line_state) = (Limit::Dead, State::Dead);
        };
        assert_eq!(kinds(dead), ["dead_line"]);
        let opening = |all: &mut [Subflow]| {
            (all[1].flow.opening_ms, all[1].flow.last_ack_ms) = (Some(3000), 9_000_000);
        };
        assert_eq!(kinds(opening), ["never_up"]);

        let says = |group, all: &mut [Subflow]| {
            for one in all.iter_mut() {
                one.verdict = Some(Verdict { group, since_us: 1 });
            }
        };
        let one_line = |all: &mut [Subflow]| {
            says(0, all);
            all[1].interface = all[0].interface.clone();
        };
        assert_eq!(kinds(one_line), ["disagreement"]);
        assert_eq!(kinds(|all| says(0, all)), NONE, "two interfaces, two bottlenecks");
        assert_eq!(kinds(|all| says(1, all)), NONE, "one server: perhaps its line");
        let far = |all: &mut [Subflow]| {
            says(1, all);
            all[1].remote = "198.51.100.1:443".parse().expect("one");
        };
        assert_eq!(kinds(far), ["disagreement"]);
    }

    #[test]
    fn a_warning_names_connection_and_path_and_what_to_do() {
        let mut subflows = vec![subflow(1), subflow(2)];
        subflows[1].flow.last_ack_ms = 12_000;
        let connection =
            Connection { namespace: "lan".into(), token: Some(0xabc), is_accepted: false, subflows };
        let found = Machine::default().findings(&[connection]);
        let told = told(&vec![found[0].clone(); 5]);
        assert_eq!(told[3], "warning: 2 more of this kind (carries_nothing); --json names all");
        let text = &told[0];
        for part in [
            "00000abc in lan",
            "10.0.2.2 on wan2",
            "nothing for 12 s",
            "remedy: ",
            "ip netns exec lan ping -I 10.0.2.2 192.0.2.1",
        ] {
            assert!(text.contains(part), "`{part}` in: {text}");
        }
    }
}
