//! Counts every RTT sample, if the scenario asks for it.

use braid_kernel::{RttCounts, Rtts};

use super::outcome::failed;
use crate::job::{Job, RttSamples};

/// Counter of RTT samples.
pub(super) struct Counter {
    rtts: Rtts,
    /// At the last sample.
    counts: Vec<RttCounts>,
}

impl Counter {
    /// `None` if the job does not ask for it.
    pub(super) fn begin(job: &Job) -> Result<Option<Self>, String> {
        let begin = || Rtts::open().map(|rtts| Self { rtts, counts: Vec::new() });
        job.rtt_samples.then(begin).transpose().map_err(failed("RTT samples"))
    }

    /// Reads the counters.
    pub(super) fn look(&mut self) -> Result<(), String> {
        self.counts = self.rtts.counts().map_err(failed("RTT samples"))?;
        Ok(())
    }

    /// Counters of a plain TCP socket.
    pub(super) fn of_socket(&self, cookie: u64) -> RttSamples {
        self.find(|counts| counts.cookie == cookie)
    }

    /// Counters of a subflow.
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
