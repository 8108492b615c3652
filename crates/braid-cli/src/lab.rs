//! Kernels with captured packets: `--pcap` with `--backend lab` and `--backend host`.

use std::sync::Arc;

use braid_lab::Kernel;
use braid_scenario::File;
use braid_scenario::model::Scenario;
use braid_study::{Backend, Cancel, Error, Group, Outcome, Request, Stop};

use crate::capture::Captures;

/// A kernel whose runs are captured.
pub(crate) struct Captured {
    pub(crate) kernel: Kernel,
    pub(crate) captures: Arc<Captures>,
}

impl Backend for Captured {
    fn name(&self) -> &'static str {
        self.kernel.name()
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        self.kernel.scheduler(name)
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        self.kernel.check(file, cell)
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        self.kernel.identity(group)
    }

    fn machine(&self) -> Option<String> {
        // A capture takes some of a kernel's time.
        Some(self.kernel.machine()? + ", with packets taken (--pcap)")
    }

    fn prepare(
        &self,
        scenarios: &[&Scenario],
        cancel: &Cancel,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        self.kernel.prepare(scenarios, cancel, say)
    }

    fn jobs(&self) -> Option<usize> {
        self.kernel.jobs()
    }

    fn computes(&self) -> bool {
        false
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.captures.record(&request, |capture| self.kernel.run_captured(&request, Some(capture)))
    }
}
