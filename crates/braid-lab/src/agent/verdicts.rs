//! Records the labels of shared-bottleneck detectors as they change.

use braid_algorithms::{Algorithm, Spec};
use braid_kernel::{Namespace, Verdicts};

use super::{outcome::failed, tcp_info::MptcpInfo};
use crate::job::{Job, VerdictAt};

/// Reads the labels of connections that have a detector.
pub(super) struct Listener {
    verdicts: Verdicts,
    /// By connection, then by subflow; `None` for a connection without a detector.
    heard: Vec<Option<Vec<Heard>>>,
}

/// A subflow's number in the kernel, and its last group.
type Heard = Option<(u32, u16)>;

impl Listener {
    /// `None` if no connection of the job has a detector.
    pub(super) fn new(job: &Job) -> Result<Option<Self>, String> {
        let detecting: Vec<&str> = job
            .algorithms
            .iter()
            .filter(|(_, spec)| {
                Spec::parse(spec).is_ok_and(|spec| spec.algorithm().flags() & Algorithm::DETECTS != 0)
            })
            .map(|(name, _)| name.as_str())
            .collect();
        let heard: Vec<_> = job
            .connections
            .iter()
            .map(|connection| {
                let name = connection.cc.strip_prefix(braid_kernel::PREFIX).unwrap_or_default();
                let detects = connection.multipath && detecting.contains(&name);
                detects.then(|| vec![None; connection.subflows.len()])
            })
            .collect();
        if heard.iter().all(Option::is_none) {
            return Ok(None);
        }
        let verdicts = Verdicts::open().map_err(failed("verdicts"))?;
        Ok(Some(Self { verdicts, heard }))
    }

    pub(super) fn listens_to(&self, connection: usize) -> bool {
        self.heard[connection].is_some()
    }

    /// Records changes of a connection; this thread is in its namespace. `time` is since the start of the run, which
    /// was at `start` of the guest's clock, both in nanoseconds.
    pub(super) fn listen(
        &mut self,
        connection: usize,
        job: &Job,
        info: &MptcpInfo,
        (start, time): (u64, u64),
    ) -> Result<Vec<VerdictAt>, String> {
        let Some(heard) = &mut self.heard[connection] else { return Ok(Vec::new()) };
        let said = self.verdicts.of(&Namespace::own()).map_err(failed("verdicts"))?;
        let mut changes = Vec::new();
        for (subflow, (model, heard)) in job.connections[connection].subflows.iter().zip(heard).enumerate() {
            let here = info.subflows.iter().find(|(local, ..)| *local == model.address);
            let Some((.., socket)) = here.filter(|(.., socket)| socket.established) else { continue };
            let is_it =
                |said: &&braid_kernel::Said| said.token == Some(info.token) && said.subflow_id == socket.id;
            let Some(verdict) = said.iter().find(is_it).and_then(|said| said.verdict) else { continue };
            let group = verdict.group;
            let time_ns = match *heard {
                Some((id, last)) if id == socket.id && last == group => continue,
                // The kernel's timestamp of the change.
                Some((id, _)) if id == socket.id => (verdict.since_us * 1000).saturating_sub(start).min(time),
                _ => time,
            };
            *heard = Some((socket.id, group));
            changes.push(VerdictAt { connection, subflow, time_ns, group });
        }
        Ok(changes)
    }
}
