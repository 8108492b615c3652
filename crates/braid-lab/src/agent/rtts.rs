//! RTT samples, each of them, where the scenario asks for it.

use braid_kernel::{RttCounts, Rtts};

use super::outcome::failed;
use crate::job::{Job, RttSamples};

/// Counts them.
pub(super) struct Counter {
    rtts: Rtts,
    /// At the last look.
    counts: Vec<RttCounts>,
}

impl Counter {
    /// None where the job asks for none.
    pub(super) fn begin(job: &Job) -> Result<Option<Self>, String> {
        let begin = || Rtts::open().map(|rtts| Self { rtts, counts: Vec::new() });
        job.rtt_samples.then(begin).transpose().map_err(failed("RTT samples"))
    }

    /// Looks.
    pub(super) fn look(&mut self) -> Result<(), String> {
        self.counts = self.rtts.counts().map_err(failed("RTT samples"))?;
        Ok(())
    }

    /// Those of a socket of plain TCP.
    pub(super) fn of_socket(&self, cookie: u64) -> RttSamples {
        self.find(|counts| counts.cookie == cookie)
    }

    /// Those of a subflow.
    pub(super) fn of_subflow(&self, token: u32, id: u32) -> RttSamples {
        self.find(|counts| counts.token == Some(token) && counts.subflow_id == id)
    }

    fn find(&self, is_it: impl Fn(&&RttCounts) -> bool) -> RttSamples {
        let found = self.counts.iter().find(is_it);
        found.map_or_else(RttSamples::default, |counts| RttSamples {
            count: counts.samples,
            steps_us: counts.steps_us,
        })
    }
}
