//! Counters of a run.

use braid_results::measure::{ConnectionCounts, LinkCounts, Measurements, SubflowCounts};
use braid_scenario::model::Kind;

use super::state::{NOBODY, Run};
use crate::connection::Connection;

impl Run<'_> {
    /// Everything counted from the start of the run until now.
    pub(super) fn totals(&mut self) -> Measurements {
        let now = self.network.now;
        for (sender, path) in self.senders.iter_mut().zip(&self.paths) {
            if path.live != NOBODY {
                let cwnd = self.connections[path.connection].subflow(path.index).cwnd;
                sender.integrate(cwnd, now);
            }
        }
        let mut sums = self.retired.clone();
        for (subflow, path) in self.paths.iter().enumerate() {
            let scenario_subflow = &mut sums[path.scenario_subflow];
            scenario_subflow.packets += self.receivers[subflow].received_packets;
            scenario_subflow.counts.add(&self.counts(subflow));
        }
        let packets_delivered = sums.iter().map(|scenario_subflow| scenario_subflow.packets).sum();
        let mut sums = sums.into_iter().map(|scenario_subflow| scenario_subflow.counts);
        let lasted = |from: Option<u64>, to: Option<u64>| {
            from.map_or(0, |from| to.unwrap_or(now).min(now).saturating_sub(from))
        };
        let delivered = self.delivered_bytes();
        let mut connections = Vec::with_capacity(self.applications.len());
        for (number, (model, driven)) in self.scenario.connections.iter().zip(&self.applications).enumerate()
        {
            let own = &self.connections[driven.first..driven.first + driven.n];
            let mut data = driven.retired_data.clone();
            for own in own {
                data.add(&own.data.counts(now));
            }
            connections.push(ConnectionCounts {
                active_ns: lasted(driven.application.started_ns(), driven.application.ended_ns()),
                goodput_bytes: delivered[number],
                reinjections: data.reinjections,
                data_level: (model.kind == Kind::Mptcp).then_some(data.of),
                subflows: sums.by_ref().take(model.subflows.len()).collect(),
                transfers: Vec::new(),
                programs: Vec::new(),
            });
        }
        let links = self
            .network
            .links
            .chunks_exact(2)
            .map(|pair| LinkCounts {
                forward: pair[0].counts(now),
                reverse: pair[1].counts(now),
                samples: Vec::new(),
                looks: Vec::new(),
            })
            .collect();
        Measurements { connections, links, packets_delivered, ..Measurements::default() }
    }

    /// Payload bytes delivered to the receiving application of each connection of the scenario.
    pub(crate) fn delivered_bytes(&self) -> Vec<u64> {
        let each = self.scenario.connections.iter().zip(&self.applications);
        each.map(|(model, driven)| {
            let own = &self.connections[driven.first..driven.first + driven.n];
            let bytes = |own: &Connection| own.data.delivered_bytes(model.mss);
            driven.retired_bytes + own.iter().map(bytes).sum::<u64>()
        })
        .collect()
    }

    /// Counters of a subflow's present incarnation; integrals up to the latest change.
    pub(super) fn counts(&self, subflow: usize) -> SubflowCounts {
        let now = self.network.now;
        let (path, receiver) = (&self.paths[subflow], &self.receivers[subflow]);
        let counts = &self.senders[subflow].counts;
        SubflowCounts {
            active_ns: path.established.map_or(0, |from| path.closed.unwrap_or(now) - from),
            received_bytes: receiver.received_bytes,
            packets_sent: counts.packets_sent,
            retransmissions: counts.retransmissions,
            causes_unknown: false,
            fast_retransmits: counts.fast_retransmits,
            timeouts: counts.timeouts,
            ecn_reductions: counts.ecn_reductions,
            undos: counts.undos,
            rtt_sum_us: counts.rtt_sum_us,
            rtt_samples: counts.rtt_samples,
            cwnd_integral: u128::from(counts.cwnd_integral),
            cwnd_samples: Vec::new(),
            samples: Vec::new(),
            verdicts: Vec::new(),
        }
    }
}
