//! Commands for the running kernel: `load`, `unload`, `enable`, `disable`, `default`, `hint`, `doctor`.

use braid_algorithms::Spec;
use braid_kernel::{Error, Host, Namespace, PREFIX};
use clap::Subcommand;
use clap_complete::{ArgValueCandidates, ArgValueCompleter};

use crate::Failure;
use crate::failure::{BAD_INPUT, FAILED};
use crate::names::short;
use crate::terminal;
use crate::{complete, enable, journal, own, status};

#[derive(Debug, Subcommand)]
#[allow(clippy::doc_markdown, reason = "these comments are the help, where backticks are in the way")]
pub(crate) enum Kernel {
    /// Load algorithms into the running kernel, each as the congestion control braid_NAME.
    #[command(after_help = "Examples:\n  \
        braid load olia\n  \
        braid load lia olia balia\n  \
        braid load cubic:beta=0.8 --as gentle\n  \
        braid load ./mine.c\n\n\
        It stays loaded until `braid unload` or the next boot. Loading a name again replaces it: existing connections \
        keep the old version, new ones get the new one. Select it with `braid default`, with the socket option \
        TCP_CONGESTION, \
        or per route (`ip route ... congctl braid_NAME`).")]
    Load {
        /// Algorithms with their parameters, NAME[:key=value]... (`braid algorithms` lists them); or your own,
        /// FILE.c[:key=value]..., compiled with clang.
        #[arg(required = true, value_name = "SPEC", add = ArgValueCompleter::new(complete::specs))]
        specs: Vec<String>,
        /// Its name (for one algorithm only), at most 9 characters; the kernel's name is braid_NAME. Default: the
        /// algorithm's name.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// What runs it: eBPF programs (Linux 6.4 or newer), or the kernel module tcp_braid (5.15 or newer, package
        /// tcp-braid-dkms). Default: eBPF where possible, else the module.
        #[arg(long, value_name = "HOST")]
        host: Option<HostName>,
    },
    /// Remove an algorithm from the kernel.
    Unload {
        /// Its loaded name, with or without braid_.
        #[arg(add = ArgValueCandidates::new(complete::loaded))]
        name: String,
        /// Even while it is in use, or another user loaded it. Existing connections keep it until they close; their later subflows get the
        /// namespace's default. Namespaces with it as default get the kernel's default.
        #[arg(long)]
        force: bool,
    },
    /// Load an algorithm and make it the default of new sockets, now and after every boot.
    #[command(after_help = "Examples:\n  \
        braid enable olia\n  \
        braid enable lia:rounding=usec --as home --peer server.example\n  \
        braid enable split:sbd=hint --hint eth0,eth1\n\n\
        This is what `systemctl enable --now braid-default@NAME` does, with the parameters written into \
        /etc/braid/NAME.conf. It replaces an algorithm enabled before. `braid disable` undoes all of it.")]
    Enable {
        /// The algorithm and its parameters, NAME[:key=value]... (`braid algorithms` lists them).
        #[arg(add = ArgValueCompleter::new(complete::specs))]
        spec: String,
        /// Its name, at most 9 characters; the kernel's name is braid_NAME. Default: the algorithm's name.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// The other end of the connections, an ssh destination: enable it there first, then here. Congestion control
        /// applies at the sender, so data from there needs it there.
        #[arg(long, value_name = "HOST")]
        peer: Option<String>,
        /// Interfaces and local addresses that share a bottleneck, joined by commas, stated at every boot (`braid
        /// hint`); once for each bottleneck. Default: the configured hints.
        #[arg(long, value_name = "WHAT,WHAT")]
        hint: Vec<String>,
    },
    /// Undo enable and `try --apply`: unload, and restore the previous default, now and after every boot.
    Disable {
        /// The enabled name, with or without braid_. Default: all.
        #[arg(add = ArgValueCandidates::new(complete::loaded))]
        name: Option<String>,
        /// Also on this host, an ssh destination.
        #[arg(long, value_name = "HOST")]
        peer: Option<String>,
    },
    /// Show or set the congestion control of new sockets in a network namespace.
    Default {
        /// A loaded algorithm, or one of the kernel's own such as cubic.
        #[arg(conflicts_with = "reset", add = ArgValueCandidates::new(complete::available))]
        name: Option<String>,
        /// Restore the default before Braid's; if it is unknown, cubic or reno.
        #[arg(long)]
        reset: bool,
        /// The network namespace, as `ip netns` lists it or a path. Default: the one braid runs in.
        #[arg(long, value_name = "NAME")]
        netns: Option<String>,
    },
    /// State which interfaces and local addresses share a bottleneck, for split:sbd=hint; or show the hints.
    #[command(after_help = crate::hint::MORE)]
    Hint(crate::hint::HintArgs),
    /// Show loaded algorithms with parameters, their sockets and whether they couple; and print warnings.
    #[command(after_help = "For each loaded algorithm:\n\n  \
        parameters  those that differ from their defaults; all with -v\n  \
        lines       of its subflows, with their number, and suspect or dead\n  \
        sockets     those that use it, in all versions; then how many still use a replaced version\n  \
        default in  network namespaces whose new sockets get it\n  \
        ACKs        handled since it was loaded, and those where the connection had several usable subflows: it couples\n  \
        reductions  of the window, by cause\n\n\
        Then the hints (`braid hint`). Warnings are on standard error, each with a remedy.")]
    Status(status::StatusArgs),
    /// Watch connections and their subflows live: path, rate, RTT, window, loss, limit; and warnings.
    #[command(after_help = crate::top::KEYS)]
    Top(crate::top::TopArgs),
    /// Print the values of `top` and `status` as OpenMetrics, or serve them for Prometheus.
    #[command(after_help = "Examples:\n  \
        braid metrics >/var/lib/prometheus/node-exporter/braid.prom\n  \
        braid metrics --listen 127.0.0.1:9724\n\n\
        A single print has gauges and the kernel's counters; bytes are counted only with --listen.")]
    Metrics(crate::metrics::MetricsArgs),
    /// Try algorithms on this machine's own traffic, and say which carries the most.
    #[command(after_help = crate::trial::MORE)]
    Try(crate::trial::TryArgs),
    /// Print who changed what in the kernel, and why.
    #[command(
        after_help = "Each line: time (UTC), command, result, user with the calling program, command line. The file is \
        /var/lib/braid/journal; syslog gets the same."
    )]
    Log(journal::LogArgs),
    /// Say why connections do not bond or couple or cannot be watched, each with the command that mends it.
    Doctor(crate::doctor::DoctorArgs),
}

/// A host, as the option names it.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum HostName {
    Bpf,
    Module,
}

impl From<HostName> for Host {
    fn from(name: HostName) -> Self {
        match name {
            HostName::Bpf => Self::Bpf,
            HostName::Module => Self::Module,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::BadName { .. }
            | Error::NotLoaded { .. }
            | Error::NotAvailable { .. }
            | Error::OtherVersion { .. }
            | Error::TooManyHints { .. }
            | Error::OtherHost { .. }
            | Error::NoNamespace { .. } => BAD_INPUT,
            _ => FAILED,
        };
        Self::new(code, error.to_string())
    }
}

pub(crate) fn run(command: &Kernel) -> Result<(), Failure> {
    match command {
        Kernel::Load { specs, name, host } => load(specs, name.as_deref(), host.map(Host::from)),
        Kernel::Enable { spec, name, peer, hint } => {
            enable::enable(spec, name.as_deref(), peer.as_deref(), hint)
        }
        Kernel::Disable { name, peer } => enable::disable(name.as_deref(), peer.as_deref()),
        Kernel::Unload { name, force } => unload(name, *force),
        Kernel::Default { name, reset, netns } => default(name.as_deref(), *reset, netns.as_deref()),
        Kernel::Hint(args) => crate::hint::run(args),
        Kernel::Status(args) => status::run(args),
        Kernel::Top(args) => crate::top::run(args),
        Kernel::Metrics(args) => crate::metrics::run(args),
        Kernel::Try(args) => crate::trial::run(args),
        Kernel::Log(args) => journal::run(args),
        Kernel::Doctor(args) => crate::doctor::run(args),
    }
}

/// All are checked before the first is loaded.
fn load(texts: &[String], name: Option<&str>, host: Option<Host>) -> Result<(), Failure> {
    let specs: Vec<Spec> = texts.iter().map(|text| own::parse(text)).collect::<Result<_, _>>()?;
    if name.is_some() && specs.len() > 1 {
        return Err(Failure::bad_input(
            "--as takes one algorithm, several were given",
            "load them one by one, each with its --as",
        ));
    }
    let names: Vec<&str> = specs.iter().map(|spec| short(name.unwrap_or(spec.algorithm().name()))).collect();
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        return Err(Failure::bad_input(
            format!("{PREFIX}{} twice: the second would replace the first", twice.1),
            "give one of them another name: load it on its own with --as NAME",
        ));
    }
    for (spec, name) in specs.iter().zip(names) {
        let (before, host) = braid_kernel::load_into(host, spec, name)?;
        let by = if host == Host::Module { format!(" {host}") } else { String::new() };
        let instead = before.as_ref().map_or_else(String::new, |before| format!(" instead of {before}"));
        journal::write("load", &format!("{PREFIX}{name}: {spec}{by}{instead}"));
        match before {
            Some(before) => eprintln!(
                "Replaced {PREFIX}{name} ({before}) by {spec}{by}; connections that exist keep {before}, see `braid status`."
            ),
            None => eprintln!("Loaded {spec} as {PREFIX}{name}{by}."),
        }
    }
    if braid_kernel::module_layout().is_some_and(|layout| layout.starts_with("none")) {
        eprintln!(
            "warning: this kernel has no MPTCP, so algorithms run on single paths: boot one with CONFIG_MPTCP to couple."
        );
    }
    Ok(())
}

fn unload(name: &str, force: bool) -> Result<(), Failure> {
    let name = short(name);
    let kernel_name = format!("{PREFIX}{name}");
    let mut force = force;
    if !force && braid_kernel::available()?.contains(&kernel_name) {
        // Another user may not know more than that.
        if let Err(error @ Error::NotYours { .. }) = braid_kernel::loaded() {
            return Err(error.into());
        }
        let mut reasons: Vec<String> =
            braid_kernel::uses(&kernel_name).iter().map(ToString::to_string).collect();
        let loader = journal::foreign_loader(&kernel_name);
        reasons.extend(loader.iter().map(|loader| format!("loaded by {loader}")));
        if !reasons.is_empty() && terminal::can_ask() {
            eprintln!("{kernel_name} is\n  {}", reasons.join("\n  "));
            force = terminal::confirm("Unload it all the same?")?;
        }
        if let (false, Some(loader)) = (force, loader) {
            return Err(Failure::bad_input(
                format!("{kernel_name} was loaded by {loader}: nothing was changed"),
                "--force unloads it all the same",
            ));
        }
    }
    let users = braid_kernel::unload(name, force)?;
    let sockets: usize = users.iter().map(|user| user.sockets.len()).sum();
    let kept =
        if sockets == 0 { String::new() } else { format!("; {sockets} sockets keep it until they close") };
    journal::write("unload", &format!("{kernel_name}{kept}"));
    eprintln!("Unloaded {kernel_name}.");
    for user in users {
        eprintln!(
            "warning: in use until it closes, {user}; subflows that join later fall back to the namespace's default."
        );
    }
    Ok(())
}

fn default(name: Option<&str>, reset: bool, netns: Option<&str>) -> Result<(), Failure> {
    let namespace = netns.map_or_else(|| Ok(Namespace::own()), Namespace::named)?;
    let before = braid_kernel::default(&namespace)?;
    let now = match name {
        None if !reset => before.clone(),
        None => reset_default(&namespace)?,
        Some(name) => {
            let ours = format!("{PREFIX}{}", short(name));
            let is_ours = braid_kernel::available()?.contains(&ours);
            braid_kernel::set_default(&namespace, Some(if is_ours { &ours } else { name }))?
        }
    };
    if name.is_some() || reset {
        let place = netns.map_or_else(String::new, |name| format!(" in {name}"));
        journal::write("default", &format!("{now} instead of {before}{place}"));
    }
    terminal::print(format!("{now}\n").as_bytes())
}

/// Reports an unknown previous default.
fn reset_default(namespace: &Namespace) -> Result<String, Failure> {
    let before = braid_kernel::default(namespace)?;
    let noted = braid_kernel::noted_default(namespace);
    let now = braid_kernel::set_default(namespace, None)?;
    if before.starts_with(PREFIX) && noted.as_ref() != Some(&now) {
        let reason = noted.map_or_else(
            || "the former default is unknown, because only root's `braid default` records it".to_owned(),
            |noted| format!("the former default, {noted}, no longer exists"),
        );
        eprintln!("warning: {reason}: it is {now} now; `braid default NAME` sets another.");
    }
    Ok(now)
}
