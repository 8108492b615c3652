//! Samples every 100 ms.

use braid_algorithms::layout::SSTHRESH_INFINITE;
use braid_results::measure::{LinkLook, LinkSample, SubflowSample};

use super::state::{NOBODY, Path, Run};
use crate::link::Link;
use crate::place::Place;

impl Run<'_> {
    pub(super) fn sample(&mut self) {
        for path in self.paths.iter().filter(|path| path.live != NOBODY) {
            self.cwnd_samples[path.scenario_subflow]
                .push(self.connections[path.connection].subflow(path.index).cwnd);
        }
    }

    /// Samples queues for detector accuracy; no event depends on it.
    pub(super) fn look(&mut self) {
        let time_ns = self.network.now;
        for (&link, looks) in &mut self.link_looks {
            looks.push(LinkLook { time_ns, counts: self.network.links[2 * link].counts(time_ns) });
        }
    }

    pub(super) fn observe(&mut self) {
        let time_ns = self.network.now;
        let look =
            |(subflow, path): (usize, &Path)| (path.scenario_subflow, self.look_at(subflow, path, time_ns));
        let samples: Vec<(usize, SubflowSample)> = self.established_paths().map(look).collect();
        for (subflow, sample) in samples {
            self.subflow_samples[subflow].push(sample);
        }
        let forward = self.network.links.iter().step_by(2);
        let shared = self.scenario.links.iter().zip(forward).zip(&mut self.link_samples);
        for ((_, link), samples) in shared.filter(|((model, _), _)| !model.private) {
            samples.push(look_at_link(link, time_ns));
        }
    }

    /// Each established subflow, after all events of this time.
    pub(crate) fn present(&self, time_ns: u64) -> Vec<(Place, SubflowSample)> {
        let place = |path: &Path| {
            let connection = self.connections[path.connection].number;
            Place { connection, subflow: path.index }
        };
        let each = self.established_paths();
        each.map(|(subflow, path)| (place(path), self.look_at(subflow, path, time_ns))).collect()
    }

    /// The forward direction of every link.
    pub(crate) fn queues(&self, time_ns: u64) -> Vec<LinkSample> {
        self.network.links.iter().step_by(2).map(|link| look_at_link(link, time_ns)).collect()
    }

    /// Leaves out short flows, which may be many.
    fn established_paths(&self) -> impl Iterator<Item = (usize, &Path)> {
        let is_single = |path: &Path| self.applications[self.connections[path.connection].number].n == 1;
        let all = self.paths.iter().enumerate();
        all.filter(move |(_, path)| path.live != NOBODY && is_single(path))
    }

    fn look_at(&self, subflow: usize, path: &Path, time_ns: u64) -> SubflowSample {
        let sender = &self.senders[subflow];
        let view = self.connections[path.connection].subflow(path.index);
        let earlier = &self.retired[path.scenario_subflow].counts;
        SubflowSample {
            time_ns,
            cwnd: view.cwnd,
            ssthresh: (view.ssthresh != SSTHRESH_INFINITE).then_some(view.ssthresh),
            srtt_us: (view.srtt_us > 0).then_some(view.srtt_us),
            min_rtt_us: (view.srtt_us > 0).then_some(view.min_rtt_us),
            in_flight: sender.in_flight(),
            received_bytes: earlier.received_bytes + self.receivers[subflow].received_bytes,
            retransmissions: earlier.retransmissions + sender.counts.retransmissions,
            rtt_samples: sender.counts.rtt_samples,
            rtt_steps_us: sender.counts.rtt_steps_us,
            group: sender.verdicts.last().map(|verdict| verdict.group),
        }
    }
}

fn look_at_link(link: &Link, time_ns: u64) -> LinkSample {
    let drops_queue = link.counts(time_ns).drops_queue;
    LinkSample { time_ns, queue_packets: link.queue_length(time_ns), drops_queue }
}
