//! A run on this machine, in a separate process; the kernel removes everything that it created when it ends.

use std::{
    io::{self, Read as _},
    process,
};

use braid_algorithms::Spec;
use braid_kernel::PREFIX;

use super::{
    outcome::{Done, failed, send, whole},
    processors::Processors,
    programs,
    run::Run,
};
use crate::job::{Added, Job};

/// Runs the job from standard input on this machine's kernel, and writes the report to standard output. Everything it
/// creates is unnamed or has unique names, and is gone when it ends.
pub fn agent_here() -> ! {
    let outcome = work_here();
    let written = send(&mut io::stdout(), outcome);
    process::exit(i32::from(written.is_err()));
}

fn work_here() -> Result<Done, String> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(failed("the job"))?;
    let mut job = whole(&bytes)?;
    job.added.iter().try_for_each(Added::make_known)?;
    let mut held = Vec::new();
    let Job { algorithms, connections, .. } = &mut job;
    for (number, (name, spec)) in algorithms.iter_mut().enumerate() {
        // Unique names, distinct from loaded algorithms and other runs.
        let own = format!("h{:x}{number}", process::id());
        let spec = Spec::parse(spec).map_err(failed(spec))?;
        held.push(braid_kernel::hold(&spec, &own).map_err(failed(format!("loading {}", spec.text())))?);
        let in_kernel = format!("{PREFIX}{name}");
        for connection in connections.iter_mut().filter(|connection| connection.cc == in_kernel) {
            connection.cc = format!("{PREFIX}{own}");
        }
        *name = own;
    }
    if job.connections.iter().any(|connection| connection.programs.is_some()) {
        programs::end_with_this().map_err(failed("a namespace for the programs"))?;
    }
    Run::prepare(&job, Processors::shared()?)?.run(|| ())
}
