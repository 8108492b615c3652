//! Measurements.

use std::ops::Range;

use braid_results::measure::{ConnectionCounts, Measurements};

use super::state::Run;

impl Run<'_> {
    pub(super) fn sample(&mut self, now_ns: u64) {
        for (own, samples) in self.applications.iter().zip(&mut self.samples) {
            let flows = self.flows[own.places.clone()].iter().flatten();
            for flow in flows.filter(|flow| !flow.is_closed) {
                for (subflow, sample) in flow.paths.samples(now_ns) {
                    if !flow.is_up(subflow) {
                        continue;
                    }
                    if now_ns >= self.scenario.warmup_ns {
                        samples.cwnd[subflow].push(sample.cwnd);
                    }
                    // Of short flows there may be many at a time: they are left out.
                    if self.with_samples && !own.application.is_short_flows() {
                        samples.all[subflow].push(sample);
                    }
                }
            }
        }
    }

    /// Counters until now, by application.
    pub(super) fn totals(&self, now_ns: u64) -> Vec<ConnectionCounts> {
        let flows = |places: &Range<usize>| self.flows[places.clone()].iter().flatten();
        self.applications.iter().map(|own| own.totals(flows(&own.places), now_ns)).collect()
    }

    /// The measurements and warnings.
    pub(crate) fn finish(mut self) -> (Measurements, Vec<String>) {
        let totals = self.totals(self.end_ns);
        self.marks.insert(self.end_ns, totals);
        let Self { scenario, simulation, applications, flows, end_ns, marks, samples, mut doubts, .. } = self;
        let mut measured = simulation.finish();
        let between = |from: u64, to: u64, index: usize| marks[&to][index].since(&marks[&from][index]);
        for (index, (own, samples)) in applications.into_iter().zip(samples).enumerate() {
            let number = own.number;
            measured.packets_delivered += own.retired_packets;
            let mut counts = between(scenario.warmup_ns, end_ns, index);
            counts.transfers = own.application.transfers;
            let each = samples.cwnd.into_iter().zip(samples.all);
            for (subflow, (cwnd, all)) in counts.subflows.iter_mut().zip(each) {
                (subflow.cwnd_samples, subflow.samples) = (cwnd, all);
            }
            measured.connections[number] = counts;
            for (period, &(from, to)) in measured.periods.iter_mut().zip(&scenario.periods) {
                period.connections[number] = between(from, to, index);
            }
        }
        for flow in flows.into_iter().flatten() {
            measured.packets_delivered += flow.paths.packets_delivered;
            let of = &mut measured.connections[flow.number].subflows;
            for (subflow, verdicts) in of.iter_mut().zip(flow.paths.verdicts) {
                subflow.verdicts.extend(verdicts);
            }
            if let Some(why) = flow.lost {
                doubts.push(format!("connection {} was lost: {why}", scenario.connections[flow.number].name));
            }
        }
        (measured, doubts)
    }
}
