//! The algorithms in the kernel of this machine: `load`, `unload`, `default`, `status`, `doctor`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use braid_algorithms::Spec;
use braid_kernel::{Error, Loaded, Namespace, PREFIX, Socket};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::Failure;
use crate::failure::{BAD_INPUT, FAILED};
use crate::terminal;

#[derive(Debug, Subcommand)]
#[allow(clippy::doc_markdown, reason = "these comments are the help, where backticks are in the way")]
pub(crate) enum Kernel {
    /// Load an algorithm into the running kernel, as the congestion control braid_NAME.
    #[command(after_help = "Examples:\n  \
        braid load olia\n  \
        braid load cubic:beta=0.8 --as gentle\n\n\
        It stays loaded until `braid unload` or the next boot. Loading a name again replaces it: connections keep what \
        they have, new ones get the new one. Select it with `braid default`, with the socket option TCP_CONGESTION, \
        or per route (`ip route ... congctl braid_NAME`).")]
    Load {
        /// The algorithm and its parameters, NAME[:key=value]... (`braid algorithms` lists them).
        spec: String,
        /// What to call it, at most 9 characters; the kernel's name is braid_NAME. Default: the algorithm's name.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
    },
    /// Remove an algorithm from the kernel.
    Unload {
        /// What it was loaded as, with or without braid_.
        name: String,
        /// Even while somebody uses it: connections keep it until they close, subflows that they join later get the
        /// namespace's default, and a namespace whose default it is gets the kernel's.
        #[arg(long)]
        force: bool,
    },
    /// Show or set the congestion control of new sockets in a network namespace.
    Default {
        /// A loaded algorithm, or one of the kernel's own such as cubic.
        #[arg(conflicts_with = "reset")]
        name: Option<String>,
        /// Go back to what was set before the first of Braid's; where that is not known, to cubic or reno.
        #[arg(long)]
        reset: bool,
        /// The network namespace, as `ip netns` lists it or a path. Default: the one braid runs in.
        #[arg(long, value_name = "NAME")]
        netns: Option<String>,
    },
    /// Show what is loaded, with its parameters, who uses it and whether it couples.
    Status {
        /// One JSON document instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Watch connections and their subflows live: window, RTT, rate, loss, state.
    #[command(
        after_help = "Keys: s sorts by another column, / filters, a shows all TCP or Braid's only, q ends.\n\n\
        Sockets of other network namespaces are seen by root only. The rate is that of acknowledged payload since the \
        last refresh; in the first, the kernel's own estimate. The loss is the share of bytes sent again since the \
        subflow began."
    )]
    Top(crate::top::TopArgs),
    /// Check what this machine has of what the kernel side needs, and say how to get the rest.
    Doctor,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::BadName { .. }
            | Error::NotLoaded { .. }
            | Error::NotAvailable { .. }
            | Error::OtherVersion { .. }
            | Error::NoNamespace { .. } => BAD_INPUT,
            _ => FAILED,
        };
        Self::new(code, error.to_string())
    }
}

pub(crate) fn run(command: &Kernel) -> Result<(), Failure> {
    match command {
        Kernel::Load { spec, name } => load(spec, name.as_deref()),
        Kernel::Unload { name, force } => unload(name, *force),
        Kernel::Default { name, reset, netns } => default(name.as_deref(), *reset, netns.as_deref()),
        Kernel::Status { json } => status(*json),
        Kernel::Top(args) => crate::top::run(args),
        Kernel::Doctor => doctor(),
    }
}

pub(crate) fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

fn load(text: &str, name: Option<&str>) -> Result<(), Failure> {
    let spec = Spec::parse(text).map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
    let name = short(name.unwrap_or(spec.algorithm().name()));
    match braid_kernel::load(&spec, name)? {
        Some(before) => eprintln!("Replaced {PREFIX}{name} ({before}) by {spec}."),
        None => eprintln!("Loaded {spec} as {PREFIX}{name}."),
    }
    Ok(())
}

fn unload(name: &str, force: bool) -> Result<(), Failure> {
    let name = short(name);
    let users = braid_kernel::unload(name, force)?;
    eprintln!("Unloaded {PREFIX}{name}.");
    for user in users {
        eprintln!(
            "Still has it until it closes, {user}; subflows joined from now on get the namespace's default."
        );
    }
    Ok(())
}

fn default(name: Option<&str>, reset: bool, netns: Option<&str>) -> Result<(), Failure> {
    let namespace = netns.map_or_else(|| Ok(Namespace::own()), Namespace::named)?;
    let now = match name {
        None if !reset => braid_kernel::default(&namespace)?,
        None => reset_default(&namespace)?,
        Some(name) => {
            let ours = format!("{PREFIX}{}", short(name));
            let is_ours = braid_kernel::available()?.contains(&ours);
            braid_kernel::set_default(&namespace, Some(if is_ours { &ours } else { name }))?
        }
    };
    terminal::print(format!("{now}\n").as_bytes())
}

/// Says so where the default of before is not known.
fn reset_default(namespace: &Namespace) -> Result<String, Failure> {
    let before = braid_kernel::default(namespace)?;
    let noted = braid_kernel::noted_default(namespace);
    let now = braid_kernel::set_default(namespace, None)?;
    if before.starts_with(PREFIX) && noted.as_ref() != Some(&now) {
        let reason = noted.map_or_else(
            || "what was the default before is not known, as only root's `braid default` notes it".to_owned(),
            |noted| format!("the default of before, {noted}, is gone"),
        );
        eprintln!("warning: {reason}: it is {now} now; `braid default NAME` sets another.");
    }
    Ok(now)
}

/// What is true of one moment, in every network namespace in sight.
struct Status {
    loaded: Vec<Loaded>,
    namespaces: Vec<(Namespace, String, Vec<Socket>)>,
}

/// An MPTCP connection whose subflows run different congestion controls.
struct Mixed<'a> {
    namespace: &'a Namespace,
    token: u32,
    subflows: Vec<&'a Socket>,
}

impl Status {
    fn now() -> Result<Self, Failure> {
        let loaded = braid_kernel::loaded()?;
        let look = |namespace: Namespace| {
            let default = braid_kernel::default(&namespace).ok()?;
            let sockets = braid_kernel::sockets(&namespace).ok()?;
            Some((namespace, default, sockets))
        };
        Ok(Self { loaded, namespaces: Namespace::all().into_iter().filter_map(look).collect() })
    }

    fn sockets_of<'a>(&'a self, kernel_name: &'a str) -> impl Iterator<Item = &'a Socket> {
        let sockets = self.namespaces.iter().flat_map(|(_, _, sockets)| sockets);
        sockets.filter(move |socket| socket.algorithm == kernel_name && !socket.listens)
    }

    /// Where it is the default, as people call the namespaces.
    fn defaults_of(&self, kernel_name: &str) -> Vec<&str> {
        let is_default = self.namespaces.iter().filter(|(_, default, _)| default == kernel_name);
        is_default.map(|(namespace, _, _)| shown(namespace)).collect()
    }

    fn mixed(&self) -> Vec<Mixed<'_>> {
        let mut mixed = Vec::new();
        for (namespace, _, sockets) in &self.namespaces {
            let mut connections: BTreeMap<u32, Vec<&Socket>> = BTreeMap::new();
            for socket in sockets {
                if let Some(token) = socket.token {
                    connections.entry(token).or_default().push(socket);
                }
            }
            for (token, subflows) in connections {
                let first = &subflows[0].algorithm;
                if subflows.iter().any(|subflow| subflow.algorithm != *first) {
                    mixed.push(Mixed { namespace, token, subflows });
                }
            }
        }
        mixed
    }
}

fn shown(namespace: &Namespace) -> &str {
    if namespace.name.is_empty() { "this namespace" } else { &namespace.name }
}

fn status(as_json: bool) -> Result<(), Failure> {
    let status = Status::now()?;
    let text = if as_json {
        format!("{:#}\n", status_json(&status))
    } else {
        for mixed in status.mixed() {
            eprintln!("{}", warning(&mixed));
        }
        status_text(&status)
    };
    terminal::print(text.as_bytes())
}

fn warning(mixed: &Mixed<'_>) -> String {
    let subflows: Vec<String> = mixed
        .subflows
        .iter()
        .map(|subflow| format!("{} to {} runs {}", subflow.local, subflow.remote, subflow.algorithm))
        .collect();
    format!(
        "warning: the subflows of MPTCP connection {:08x} in {} run different congestion controls: {}. A route's \
         congctl or a name that was not loaded at the join does that; coupling needs the same one on each.",
        mixed.token,
        shown(mixed.namespace),
        subflows.join("; ")
    )
}

fn status_text(status: &Status) -> String {
    if status.loaded.is_empty() {
        return "Nothing is loaded. `braid load NAME` loads an algorithm, `braid algorithms` lists them.\n"
            .into();
    }
    let mut text = String::new();
    for Loaded { name, spec, acks, losses } in &status.loaded {
        let kernel_name = format!("{PREFIX}{name}");
        let _ = writeln!(text, "{kernel_name}  {spec}");
        if let Some(params) = params(spec) {
            let params: Vec<String> = params.iter().map(|(key, value)| format!("{key}={value}")).collect();
            if !params.is_empty() {
                let _ = writeln!(text, "  parameters  {}", params.join(" "));
            }
        }
        let (sockets, subflows) = status.sockets_of(&kernel_name).fold((0, 0), |(all, subflows), socket| {
            (all + 1, subflows + usize::from(socket.token.is_some()))
        });
        let _ = writeln!(text, "  sockets     {sockets}, {subflows} of them subflows of MPTCP");
        let defaults = status.defaults_of(&kernel_name);
        if !defaults.is_empty() {
            let _ = writeln!(text, "  default in  {}", defaults.join(", "));
        }
        let coupled: u64 = acks[2..].iter().sum();
        let all: u64 = acks.iter().sum();
        let _ = writeln!(text, "  ACKs        {all}, {coupled} of them with several usable subflows");
        let [_, fast, timeouts, ecn] = losses;
        let _ = writeln!(text, "  reductions  {fast} for loss, {timeouts} for timeouts, {ecn} for ECN");
    }
    text
}

/// Every parameter with its value, if this build knows the algorithm that is loaded.
fn params(spec: &str) -> Option<Vec<(&'static str, String)>> {
    let spec = Spec::parse(spec).ok()?;
    let params = spec.algorithm().params().zip(spec.values());
    Some(params.map(|(param, &value)| (param.name, param.show(value))).collect())
}

fn status_json(status: &Status) -> Value {
    let loaded: Vec<Value> = status
        .loaded
        .iter()
        .map(|Loaded { name, spec, acks, losses }| {
            let kernel_name = format!("{PREFIX}{name}");
            let params: BTreeMap<&str, String> = params(spec).unwrap_or_default().into_iter().collect();
            let sockets: Vec<Value> = status.sockets_of(&kernel_name).map(socket_json).collect();
            json!({
                "name": name,
                "kernel_name": kernel_name,
                "spec": spec,
                "params": params,
                "default_in": status.defaults_of(&kernel_name),
                "acks_by_usable_subflows": acks,
                "reductions": {"loss": losses[1], "timeout": losses[2], "ecn": losses[3]},
                "sockets": sockets,
            })
        })
        .collect();
    let mixed: Vec<Value> = status
        .mixed()
        .iter()
        .map(|mixed| {
            let subflows: Vec<Value> = mixed.subflows.iter().map(|socket| socket_json(socket)).collect();
            json!({"namespace": mixed.namespace.name, "token": mixed.token, "subflows": subflows})
        })
        .collect();
    json!({"schema_version": 1, "loaded": loaded, "mixed_connections": mixed})
}

fn socket_json(socket: &Socket) -> Value {
    json!({
        "algorithm": socket.algorithm,
        "local": socket.local.to_string(),
        "remote": socket.remote.to_string(),
        "token": socket.token,
    })
}

fn doctor() -> Result<(), Failure> {
    let requirements = braid_kernel::doctor();
    let mut text = String::new();
    for requirement in &requirements {
        let mark = if requirement.is_met { "yes" } else { "no" };
        let _ = writeln!(text, "{mark:<4}{} ({})", requirement.what, requirement.found);
        let _ = writeln!(text, "      why: {}", requirement.why);
        if !requirement.is_met {
            let _ = writeln!(text, "      how: {}", requirement.remedy);
        }
    }
    let missing = requirements.iter().filter(|requirement| requirement.is_essential && !requirement.is_met);
    match missing.count() {
        0 => text.push_str("\nAlgorithms can be loaded into this kernel.\n"),
        n => {
            let _ = writeln!(text, "\nAlgorithms cannot be loaded yet: {n} of the above missing.");
        }
    }
    terminal::print(text.as_bytes())?;
    if text.ends_with("missing.\n") {
        Err(Failure::new(FAILED, "this machine cannot load algorithms"))
    } else {
        Ok(())
    }
}
