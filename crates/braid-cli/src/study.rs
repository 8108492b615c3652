//! From arguments to a plan.

use std::fmt::Write as _;
use std::sync::Arc;

use braid_algorithms::Spec;
use braid_algorithms::guard;
#[cfg(target_os = "linux")]
use braid_lab::{Kernel, Start};
use braid_study::{Group, Plan, Sim, Study};

use crate::args::{Backend, RunArgs};
use crate::capture::Captures;
use crate::{Failure, own};

/// Reads and checks everything that `args` name.
pub(crate) fn plan(args: &RunArgs, captures: Option<&Arc<Captures>>) -> Result<Plan, Failure> {
    args.backend.iter().try_for_each(|backend| check_backend(args, *backend))?;
    let in_kernel = args.backend.iter().any(|backend| matches!(backend, Backend::Lab | Backend::Host));
    if args.unchecked {
        guard::switch_off();
    }
    for file in &args.algorithm {
        own::add(file, in_kernel)?;
    }
    let study = args.set.iter().fold(Study::new(args.scenarios.iter().cloned()), Study::set);
    let mut study = study.algorithms(&args.cc).schedulers(&args.scheduler).seeds(args.seeds);
    let is_first = |&(index, backend): &(usize, &Backend)| !args.backend[..index].contains(backend);
    for (_, backend) in args.backend.iter().enumerate().filter(is_first) {
        let backend: Box<dyn braid_study::Backend> = match (backend, captures) {
            (Backend::Sim, None) => Box::new(Sim),
            (Backend::Sim, Some(captures)) => Box::new(crate::capture::Captured(Arc::clone(captures))),
            #[cfg(target_os = "linux")]
            (Backend::Lab, _) => {
                let start = if args.boot { Start::Booted } else { Start::Restored };
                kernel(Kernel::in_guest(args.kernel.as_deref(), start), captures)
            }
            #[cfg(target_os = "linux")]
            (Backend::Host, _) => kernel(Kernel::here(), captures),
            (Backend::Quic, _) => Box::new(braid_quic_sim::Quic { qlog: args.qlog.clone() }),
            #[cfg(not(target_os = "linux"))]
            (Backend::Lab | Backend::Host, _) => unreachable!("refused above"),
        };
        study = study.on(backend, None);
    }
    Ok(study.check()?)
}

#[cfg(target_os = "linux")]
fn kernel(kernel: Kernel, captures: Option<&Arc<Captures>>) -> Box<dyn braid_study::Backend> {
    match captures {
        None => Box::new(kernel),
        Some(captures) => Box::new(crate::lab::Captured { kernel, captures: Arc::clone(captures) }),
    }
}

/// Whether the backend is there and can do what else is asked for.
fn check_backend(args: &RunArgs, backend: Backend) -> Result<(), Failure> {
    let wrong = |message: &str, hint: &str| Err(Failure::bad_input(message, hint));
    let records = args.events || args.pcap.is_some() || args.qlog.is_some();
    match backend {
        _ if records && args.backend.len() > 1 => {
            wrong("--events, --pcap and --qlog take one backend", "give a command for each backend")
        }
        Backend::Quic if args.events || args.pcap.is_some() => wrong(
            "the backend quic writes neither --events nor --pcap",
            "use --qlog DIR, which has each connection's events as qlog",
        ),
        Backend::Sim | Backend::Lab | Backend::Host if args.qlog.is_some() => {
            wrong("--qlog needs the backend quic", "add --backend quic, or use --events")
        }
        Backend::Lab | Backend::Host if cfg!(not(target_os = "linux")) => {
            wrong("the backends lab and host need Linux", "use --backend sim, the simulator")
        }
        Backend::Lab | Backend::Host if args.events => wrong(
            "the backends lab and host write no events: a kernel does not report them",
            "leave --events out, or use --backend sim; --pcap has the packets",
        ),
        _ if (args.kernel.is_some() || args.boot) && !args.backend.contains(&Backend::Lab) => {
            wrong("--kernel and --boot need the lab", "add --backend lab")
        }
        Backend::Sim | Backend::Lab | Backend::Host | Backend::Quic => Ok(()),
    }
}

/// What `--dry-run` prints.
pub(crate) fn intention(plan: &Plan) -> String {
    let mut text = String::new();
    let several = plan.backends().len() > 1;
    for backend in plan.backends().map(braid_study::Backend::name) {
        let groups: Vec<Group> = plan.groups().filter(|group| group.backend == backend).collect();
        if several {
            let _ = writeln!(text, "{backend}:");
        }
        for cell in groups.chunk_by(|a, b| (a.file, a.cell) == (b.file, b.cell)) {
            let Group { scenario, seeds, .. } = cell[0];
            let mut specs: Vec<&str> = cell.iter().map(|group| Spec::text(group.spec)).collect();
            specs.dedup();
            let params = scenario.parameters.iter();
            let params: Vec<String> = params.map(|(name, value)| format!("{name}={value}")).collect();
            let _ = writeln!(
                text,
                "{}{}{}  {} s  cc {}  seeds {}..{}",
                scenario.name,
                if params.is_empty() { "" } else { "  " },
                params.join(" "),
                scenario.duration_ns as f64 / 1e9,
                specs.join(","),
                seeds.first(),
                seeds.last()
            );
        }
        let runs: usize = groups.iter().filter_map(|group| group.seeds.count()).sum();
        let _ = writeln!(text, "{runs} {}", if runs == 1 { "run" } else { "runs" });
    }
    text
}
