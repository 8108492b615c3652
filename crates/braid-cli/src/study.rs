//! From arguments to a checked study.

use std::fmt::Write as _;
use std::sync::Arc;

use braid_algorithms::Spec;
#[cfg(target_os = "linux")]
use braid_lab::{Kernel, Start};
use braid_study::{Plan, Study};

use crate::Failure;
use crate::args::{Backend, RunArgs};
use crate::capture::{Captured, Captures};
#[cfg(target_os = "linux")]
use crate::lab;
use crate::own;

/// Reads and checks everything named in `args`.
pub(crate) fn plan(args: &RunArgs, captures: Option<&Arc<Captures>>) -> Result<Plan, Failure> {
    check_backend(args)?;
    let in_kernel = matches!(args.backend, Backend::Lab | Backend::Host);
    for file in &args.algorithm {
        own::add(file, in_kernel)?;
    }
    let study = args.set.iter().fold(Study::new(args.scenarios.iter().cloned()), Study::set);
    let study = study.algorithms(&args.cc).schedulers(&args.scheduler).seeds(args.seeds);
    let study = match (args.backend, captures) {
        (Backend::Sim, None) => study,
        (Backend::Sim, Some(captures)) => study.backend(Captured(Arc::clone(captures))),
        #[cfg(target_os = "linux")]
        (Backend::Lab, _) => {
            let start = if args.boot { Start::Booted } else { Start::Restored };
            on_kernel(study, Kernel::in_guest(args.kernel.as_deref(), start), captures)
        }
        #[cfg(target_os = "linux")]
        (Backend::Host, _) => on_kernel(study, Kernel::here(), captures),
        #[cfg(feature = "quic")]
        (Backend::Quic, _) => study.backend(braid_quic_sim::Quic { qlog: args.qlog.clone() }),
        #[cfg(not(feature = "quic"))]
        (Backend::Quic, _) => unreachable!("refused above"),
        #[cfg(not(target_os = "linux"))]
        (Backend::Lab | Backend::Host, _) => unreachable!("refused above"),
    };
    Ok(study.check()?)
}

#[cfg(target_os = "linux")]
fn on_kernel(study: Study, kernel: Kernel, captures: Option<&Arc<Captures>>) -> Study {
    match captures {
        None => study.backend(kernel),
        Some(captures) => study.backend(lab::Captured { kernel, captures: Arc::clone(captures) }),
    }
}

/// Whether the backend is available and supports the other options.
fn check_backend(args: &RunArgs) -> Result<(), Failure> {
    let wrong = |message: &str, hint: &str| Err(Failure::bad_input(message, hint));
    match args.backend {
        Backend::Quic if cfg!(not(feature = "quic")) => Err(without_quic()),
        Backend::Quic if args.events || args.pcap.is_some() => wrong(
            "the backend quic writes neither --events nor --pcap",
            "use --qlog DIR, which has each connection's events as qlog",
        ),
        Backend::Sim | Backend::Lab | Backend::Host if args.qlog.is_some() => {
            wrong("--qlog is of the backend quic", "add --backend quic, or use --events")
        }
        Backend::Lab | Backend::Host if cfg!(not(target_os = "linux")) => {
            wrong("the backends lab and host need Linux", "use --backend sim, the simulator")
        }
        Backend::Lab | Backend::Host if args.events => wrong(
            "the backends lab and host write no events: a kernel does not tell them",
            "leave --events out, or use --backend sim; --pcap has the packets",
        ),
        Backend::Sim | Backend::Host | Backend::Quic if args.kernel.is_some() || args.boot => {
            wrong("--kernel and --boot are of the lab", "add --backend lab")
        }
        Backend::Sim | Backend::Lab | Backend::Host | Backend::Quic => Ok(()),
    }
}

/// This program was built without QUIC.
pub(crate) fn without_quic() -> Failure {
    Failure::bad_input(
        "this braid was built without the backend quic, which needs Rust 1.88",
        "in a clone of Braid: scripts/quic --cargo build --release -p braid-cli --features quic",
    )
}

/// The output of `--dry-run`.
pub(crate) fn intention(plan: &Plan) -> String {
    let mut text = String::new();
    for planned in plan.files() {
        let specs: Vec<&str> = planned.specs.iter().map(Spec::text).collect();
        for cell in &planned.file.cells {
            let params: Vec<String> =
                cell.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let _ = writeln!(
                text,
                "{}{}{}  {} s  cc {}  seeds {}..{}",
                cell.name,
                if params.is_empty() { "" } else { "  " },
                params.join(" "),
                cell.duration_ns as f64 / 1e9,
                specs.join(","),
                plan.seeds().first(),
                plan.seeds().last()
            );
        }
    }
    let _ = writeln!(text, "{} {}", plan.len(), if plan.len() == 1 { "run" } else { "runs" });
    text
}
