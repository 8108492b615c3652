//! `braid status`: loaded algorithms, the version of each socket, and warnings.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use braid_algorithms::Spec;
use braid_kernel::{Hint, Host, Loaded, Namespace, PREFIX, Socket};
use serde_json::{Value, json};

use crate::live::{Connection, Finding, Lines, Sampler, State, told};
use crate::{Failure, hint, journal, peer, terminal};

#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// One JSON document instead of text (docs/status.schema.json).
    #[arg(long)]
    json: bool,
    /// Every parameter, not only those that differ from their defaults.
    #[arg(long, short)]
    verbose: bool,
    /// Only this network namespace, as `ip netns` lists it or a path. Default: all that are visible.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Also for the other end of the connections, an ssh destination.
    #[arg(long, value_name = "HOST")]
    peer: Option<String>,
}

pub(crate) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let status = Status::now(args.netns.as_deref())?;
    if args.json {
        let mut document = status.json();
        if let Some(host) = &args.peer {
            let text = peer::braid(host, &["status", "--json"])?;
            document["peer"] = json!({"host": host, "status": peer::document(host, &text)?});
        }
        return terminal::print(format!("{document:#}\n").as_bytes());
    }
    for warning in told(&status.warnings) {
        eprintln!("{warning}");
    }
    let text = status.text(args.verbose);
    let Some(host) = &args.peer else {
        return terminal::print((text + &journal::recent()).as_bytes());
    };
    terminal::print(format!("Here:\n{text}").as_bytes())?;
    // Its warnings are on its standard error, which is ours.
    let text = peer::braid(host, &["status"])?;
    terminal::print(format!("\n{host}:\n{text}").as_bytes())
}

/// A snapshot of every visible network namespace.
struct Status {
    loaded: Vec<Loaded>,
    namespaces: Vec<(Namespace, String, Vec<Socket>)>,
    /// Version of each socket, by cookie.
    versions: HashMap<u64, u32>,
    hints: Vec<Hint>,
    lines: Lines,
    connections: Vec<Connection>,
    warnings: Vec<Finding>,
}

impl Status {
    fn now(netns: Option<&str>) -> Result<Self, Failure> {
        let loaded = braid_kernel::loaded()?;
        let mut sampler = Sampler::new(netns)?;
        let (_, connections) = sampler.take();
        let mut namespaces = Vec::new();
        let mut versions = HashMap::new();
        for namespace in sampler.namespaces() {
            let (Ok(default), Ok(mut sockets)) =
                (braid_kernel::default(&namespace), braid_kernel::sockets(&namespace))
            else {
                continue;
            };
            sockets.retain(|socket| !socket.listens);
            let said = sampler.said(&namespace, &sockets);
            versions.extend(said.iter().map(|said| (said.cookie, said.version)));
            namespaces.push((namespace, default, sockets));
        }
        Ok(Self {
            loaded,
            namespaces,
            versions,
            hints: braid_kernel::hints()?,
            lines: Lines::read()?,
            warnings: sampler.findings(&connections),
            connections,
        })
    }

    /// The lines of an algorithm's subflows, with their number and a state that is not healthy.
    fn lines_of(&self, kernel_name: &str) -> Vec<String> {
        let mut lines: BTreeMap<&str, (usize, State)> = BTreeMap::new();
        let subflows = self.connections.iter().flat_map(|connection| &connection.subflows);
        for subflow in subflows.filter(|subflow| subflow.algorithm == kernel_name) {
            let (count, state) = lines.entry(&subflow.line).or_default();
            *count += 1;
            *state = (*state).max(subflow.line_state);
        }
        let shown = |(line, (count, state)): (&str, (usize, State))| match state {
            State::Healthy => format!("{line} {count}"),
            sick => format!("{line} {count} ({})", sick.name()),
        };
        lines.into_iter().map(shown).collect()
    }

    fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.namespaces.iter().flat_map(|(_, _, sockets)| sockets)
    }

    fn sockets_of<'a>(&'a self, kernel_name: &'a str) -> impl Iterator<Item = &'a Socket> {
        self.sockets().filter(move |socket| socket.algorithm == kernel_name)
    }

    /// The spec of the socket, if known.
    fn spec_of<'a>(&self, socket: &Socket, loaded: &'a Loaded) -> Option<&'a str> {
        match (&loaded.versions[..], self.versions.get(&socket.cookie)) {
            ([only], _) => Some(&only.spec),
            (versions, Some(id)) => Some(&versions.iter().find(|version| version.id == *id)?.spec),
            _ => None,
        }
    }

    /// Replaced versions that still run, the newest first, with their sockets.
    fn replaced<'a>(&'a self, loaded: &'a Loaded) -> Vec<(&'a str, Vec<&'a Socket>)> {
        let kernel_name = format!("{PREFIX}{}", loaded.name);
        let old = loaded.versions.iter().skip(1).map(|version| {
            let runs = |socket: &&Socket| {
                socket.algorithm == kernel_name && self.versions.get(&socket.cookie) == Some(&version.id)
            };
            (version.spec.as_str(), self.sockets().filter(runs).collect::<Vec<_>>())
        });
        old.filter(|(_, sockets)| !sockets.is_empty()).collect()
    }

    /// Unloaded names that sockets still run.
    fn unloaded(&self) -> BTreeMap<&str, Vec<&Socket>> {
        let mut unloaded: BTreeMap<&str, Vec<&Socket>> = BTreeMap::new();
        for socket in self.sockets() {
            let Some(name) = socket.algorithm.strip_prefix(PREFIX) else { continue };
            if !self.loaded.iter().any(|loaded| loaded.name == name) {
                unloaded.entry(&socket.algorithm).or_default().push(socket);
            }
        }
        unloaded
    }

    /// Names of the namespaces that have it as default.
    fn defaults_of(&self, kernel_name: &str) -> Vec<&str> {
        let is_default = self.namespaces.iter().filter(|(_, default, _)| default == kernel_name);
        is_default.map(|(namespace, _, _)| shown(namespace)).collect()
    }

    fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        for loaded in &self.loaded {
            self.describe(loaded, verbose, &mut text);
        }
        if self.loaded.is_empty() {
            text.push_str(
                "Nothing is loaded. `braid load NAME` loads an algorithm, `braid algorithms` lists them.\n",
            );
        }
        for (kernel_name, sockets) in self.unloaded() {
            let _ = writeln!(text, "{kernel_name}  no longer loaded");
            let _ = writeln!(text, "  sockets     {}", counted(&sockets));
        }
        if !self.hints.is_empty() {
            let _ = writeln!(text, "hints: bottlenecks and what is stated to share each");
            for line in hint::text(&self.hints, &self.lines).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    fn describe(&self, loaded: &Loaded, verbose: bool, text: &mut String) {
        let Loaded { name, spec, host, versions, acks, losses } = loaded;
        let kernel_name = format!("{PREFIX}{name}");
        let _ = writeln!(text, "{kernel_name}  {spec}");
        if *host == Host::Module {
            let _ = writeln!(text, "  host        {host}");
        }
        if let Some(params) = params(spec) {
            let shown = params.iter().filter(|param| verbose || param.differs);
            let mut shown: Vec<String> =
                shown.map(|param| format!("{}={}", param.name, param.value)).collect();
            let hidden = params.len() - shown.len();
            if hidden > 0 {
                shown.push(format!("{hidden} with their defaults (-v)"));
            }
            if !shown.is_empty() {
                let _ = writeln!(
                    text,
                    "  parameters  {}",
                    shown.join(if verbose { "\n              " } else { " " })
                );
            }
        }
        let sockets: Vec<&Socket> = self.sockets_of(&kernel_name).collect();
        let _ = writeln!(text, "  sockets     {}", counted(&sockets));
        let lines = self.lines_of(&kernel_name);
        if !lines.is_empty() {
            let _ = writeln!(text, "  lines       {}", lines.join(", "));
        }
        for (old, sockets) in self.replaced(loaded) {
            let _ = writeln!(text, "    of them on {old}, which was replaced: {}", counted(&sockets));
        }
        let is_unknown = |socket: &&&Socket| self.spec_of(socket, loaded).is_none();
        let unknown = sockets.iter().filter(is_unknown).count();
        if unknown > 0 && versions.len() > 1 {
            let _ = writeln!(
                text,
                "    of them not known whether on a version that was replaced: {unknown}; root sees it"
            );
        }
        let defaults = self.defaults_of(&kernel_name);
        if !defaults.is_empty() {
            let _ = writeln!(text, "  default in  {}", defaults.join(", "));
        }
        let coupled: u64 = acks[2..].iter().sum();
        let all: u64 = acks.iter().sum();
        let _ = writeln!(text, "  ACKs        {all}, {coupled} of them with several usable subflows");
        let [_, fast, timeouts, ecn] = losses;
        let _ = writeln!(text, "  reductions  {fast} for loss, {timeouts} for timeouts, {ecn} for ECN");
    }

    fn json(&self) -> Value {
        let loaded: Vec<Value> = self.loaded.iter().map(|loaded| self.loaded_json(loaded)).collect();
        let unloaded: Vec<Value> = self
            .unloaded()
            .into_iter()
            .map(|(kernel_name, sockets)| {
                let sockets: Vec<Value> = sockets.iter().map(|socket| socket_json(socket, None)).collect();
                json!({"kernel_name": kernel_name, "sockets": sockets})
            })
            .collect();
        let warnings: Vec<Value> = self.warnings.iter().map(Finding::json).collect();
        json!({
            "schema_version": 1,
            "loaded": loaded,
            "no_longer_loaded": unloaded,
            "mixed_connections": self.mixed_json(),
            "hints": hint::json(&self.hints),
            "warnings": warnings,
        })
    }

    fn loaded_json(&self, loaded: &Loaded) -> Value {
        let Loaded { name, spec, host, versions: _, acks, losses } = loaded;
        let kernel_name = format!("{PREFIX}{name}");
        let params: BTreeMap<&str, String> =
            params(spec).unwrap_or_default().into_iter().map(|param| (param.name, param.value)).collect();
        let sockets: Vec<Value> = self
            .sockets_of(&kernel_name)
            .map(|socket| socket_json(socket, self.spec_of(socket, loaded)))
            .collect();
        let replaced: Vec<Value> = self
            .replaced(loaded)
            .into_iter()
            .map(|(spec, sockets)| json!({"spec": spec, "sockets": sockets.len()}))
            .collect();
        json!({
            "name": name,
            "kernel_name": kernel_name,
            "spec": spec,
            "host": match host {
                Host::Bpf => "bpf",
                Host::Module => "module",
            },
            "params": params,
            "replaced": replaced,
            "default_in": self.defaults_of(&kernel_name),
            "acks_by_usable_subflows": acks,
            "reductions": {"loss": losses[1], "timeout": losses[2], "ecn": losses[3]},
            "sockets": sockets,
        })
    }

    /// The connections of the warnings of that kind.
    fn mixed_json(&self) -> Vec<Value> {
        let of = |warning: &Finding| {
            let (namespace, _, sockets) =
                self.namespaces.iter().find(|(namespace, ..)| namespace.name == warning.namespace)?;
            let token = warning.token?;
            let subflows: Vec<Value> = sockets
                .iter()
                .filter(|socket| socket.token == Some(token))
                .map(|socket| socket_json(socket, None))
                .collect();
            Some(json!({"namespace": namespace.name, "token": token, "subflows": subflows}))
        };
        self.warnings.iter().filter(|warning| warning.kind == "mixed").filter_map(of).collect()
    }
}

fn counted(sockets: &[&Socket]) -> String {
    let subflows = sockets.iter().filter(|socket| socket.token.is_some()).count();
    format!("{}, {subflows} of them subflows of MPTCP", sockets.len())
}

fn shown(namespace: &Namespace) -> &str {
    if namespace.name.is_empty() { "this namespace" } else { &namespace.name }
}

/// Every parameter with its value, if this build knows the loaded algorithm.
fn params(spec: &str) -> Option<Vec<Param>> {
    let spec = Spec::parse(spec).ok()?;
    let params = spec.algorithm().params().zip(spec.values());
    let param = |(param, &value): (braid_algorithms::Param, &u32)| Param {
        name: param.name,
        value: param.show(value),
        differs: value != param.initial,
    };
    Some(params.map(param).collect())
}

struct Param {
    name: &'static str,
    value: String,
    /// From its default.
    differs: bool,
}

fn socket_json(socket: &Socket, spec: Option<&str>) -> Value {
    json!({
        "algorithm": socket.algorithm,
        "spec": spec,
        "local": socket.local.to_string(),
        "remote": socket.remote.to_string(),
        "token": socket.token,
    })
}
