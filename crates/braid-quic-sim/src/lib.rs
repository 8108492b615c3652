//! `--backend quic`: the multipath QUIC stack `noq-proto` over the simulator's links in virtual time.
//!
//! MPTCP connections of a scenario become multipath QUIC connections with Braid's congestion control; plain TCP
//! connections stay the simulator's. A connection's receiver is the QUIC client, which opens the paths; its sender is
//! the server. `docs/quic.md` lists the differences from the simulator's MPTCP.

mod application;
mod endpoint;
mod flow;
mod paths;
mod qlog;
mod run;
mod session;
mod streams;

use std::path::PathBuf;

use braid_scenario::File;
use braid_scenario::model::{Kind, Scenario, Traffic};
use braid_study::{Backend, Case, Error, Group, Outcome, Request, Sim, Stop};

use crate::endpoint::datagram;

/// The scheduler of the stack: data goes to the open path with the lowest id that has room.
const SCHEDULER: &str = "lowest";
/// Smallest datagram of QUIC (RFC 9000 sect. 14).
const LEAST_DATAGRAM: u32 = 1_200;

/// Multipath QUIC over simulated links.
#[derive(Clone, Debug, Default)]
pub struct Quic {
    /// Folder for qlog files: one per connection, written by the sender.
    pub qlog: Option<PathBuf>,
}

impl Backend for Quic {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn name(&self) -> &'static str {
        "quic"
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        match name {
            None | Some(SCHEDULER) => Ok(SCHEDULER.to_owned()),
            Some(name) => Err(Error::new(
                braid_study::Kind::Input,
                format!("the backend quic has no scheduler \"{name}\""),
            )
            .hint(format!("leave --scheduler out: the stack has its own, {SCHEDULER}"))),
        }
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        Sim.check_duration(file, cell)?;
        for connection in &cell.connections {
            let wrong = |key: &str, message: &str, hint: &str| {
                let key = format!("connection.{}.{key}", connection.name);
                Err(file.error(&key, message, Some(hint.to_owned())).into())
            };
            let is_quic = connection.kind == Kind::Mptcp;
            if let Traffic::Program(_) = connection.traffic {
                return wrong("traffic", "the backend quic cannot run programs", "use --backend lab");
            }
            if is_quic && datagram(connection) < LEAST_DATAGRAM {
                return wrong(
                    "mss",
                    "QUIC sends datagrams of at least 1200 bytes, and this makes them smaller",
                    "make mss larger, or use --backend sim",
                );
            }
        }
        Ok(())
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        Ok(format!("quic {} {}", Sim.identity(group)?, stack()))
    }

    fn computes(&self) -> bool {
        true
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        let Case { scenario, spec, seed, .. } = request.case;
        let mut run = run::Run::new(scenario, spec, seed, request.samples, self.qlog.as_deref())?;
        while let Some(now_ns) = run.advance() {
            if request.cancel.flag().load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Stop::Cancelled);
            }
            request.progress(now_ns);
        }
        let (measurements, doubts) = run.finish();
        Ok(Outcome { measurements, doubts, ..Outcome::default() })
    }
}

/// The stack and its version in this build.
pub fn stack() -> String {
    let lock = include_str!("../../../Cargo.lock");
    let version = lock.split("name = \"noq-proto\"\nversion = \"").nth(1);
    format!("noq-proto {}", version.and_then(|rest| rest.split('"').next()).unwrap_or("unknown"))
}
