//! What is looked at every 100 ms.

use braid_algorithms::layout::SSTHRESH_INFINITE;
use braid_results::measure::{LinkSample, SubflowSample};

use super::state::{NOBODY, Run};

impl Run<'_> {
    pub(super) fn sample(&mut self) {
        for path in self.paths.iter().filter(|path| path.live != NOBODY) {
            self.cwnd_samples[path.scenario_subflow]
                .push(self.connections[path.connection].subflow(path.index).cwnd);
        }
    }

    pub(super) fn observe(&mut self) {
        let time_ns = self.network.now;
        for (subflow, path) in self.paths.iter().enumerate().filter(|(_, path)| path.live != NOBODY) {
            let connection = &self.connections[path.connection];
            // Of short flows there may be many at a time: no series.
            if self.applications[connection.number].n == 1 {
                let sender = &self.senders[subflow];
                let view = connection.subflow(path.index);
                let earlier = &self.retired[path.scenario_subflow].counts;
                self.subflow_samples[path.scenario_subflow].push(SubflowSample {
                    time_ns,
                    cwnd: view.cwnd,
                    ssthresh: (view.ssthresh != SSTHRESH_INFINITE).then_some(view.ssthresh),
                    srtt_us: (view.srtt_us > 0).then_some(view.srtt_us),
                    in_flight: sender.in_flight(),
                    received_bytes: earlier.received_bytes + self.receivers[subflow].received_bytes,
                    retransmissions: earlier.retransmissions + sender.counts.retransmissions,
                    rtt_samples: sender.counts.rtt_samples,
                    rtt_steps_us: sender.counts.rtt_steps_us,
                    group: sender.verdicts.last().map(|verdict| verdict.group),
                });
            }
        }
        let forward = self.network.links.iter_mut().step_by(2);
        let shared = self.scenario.links.iter().zip(forward).zip(&mut self.link_samples);
        for ((_, link), samples) in shared.filter(|((model, _), _)| !model.private) {
            samples.push(LinkSample {
                time_ns,
                queue_packets: link.queue_length(time_ns),
                drops_queue: link.counts().drops_queue,
            });
        }
    }
}
