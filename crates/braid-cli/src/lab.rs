//! Kernels whose packets are taken: `--pcap` with `--backend lab` and `--backend host`.

use std::sync::Arc;

use braid_lab::Kernel;
use braid_study::{Backend, Error, Group, Outcome, Request, Stop};

use crate::capture::Captures;

/// A kernel, whose runs are recorded.
pub(crate) struct Captured {
    pub(crate) kernel: Kernel,
    pub(crate) captures: Arc<Captures>,
}

impl Backend for Captured {
    fn base(&self) -> &dyn Backend {
        &self.kernel
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        // Taking packets takes some of a kernel's time.
        Ok(self.kernel.identity(group)? + " with packets taken")
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.captures.record(&request, |capture| self.kernel.run_captured(&request, Some(capture)))
    }
}
