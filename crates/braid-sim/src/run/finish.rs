//! The end of a run, and its measurements.

use braid_results::measure::Measurements;

use super::state::Run;
use crate::event_queue::{CALENDAR, moment};

impl Run<'_> {
    /// Runs to the end and returns the measurements.
    pub(crate) fn finish(mut self) -> Measurements {
        self.advance(moment(self.end, CALENDAR));
        self.conclude()
    }

    pub(super) fn conclude(mut self) -> Measurements {
        self.network.now = self.end;
        let start = self.at_start.take().unwrap_or_default();
        let end = self.totals();
        let mut measured = end.since(&start);
        measured.measured_ns = self.end - self.scenario.warmup_ns;
        measured.events = self.events;
        self.marks.insert(self.end, end);
        for &(from, to) in &self.scenario.periods {
            let mut period = self.marks[&to].since(&self.marks[&from]);
            period.measured_ns = to - from;
            measured.periods.push(period);
        }
        let subflows = measured.connections.iter_mut().flat_map(|connection| &mut connection.subflows);
        for ((counts, windows), samples) in subflows.zip(self.cwnd_samples).zip(self.subflow_samples) {
            (counts.cwnd_samples, counts.samples) = (windows, samples);
        }
        // Detectors are not judged on short flows, which end too soon.
        for (sender, path) in self.senders.iter_mut().zip(&self.paths) {
            let number = self.connections[path.connection].number;
            if self.applications[number].n == 1 {
                let verdicts = &mut self.retired[path.scenario_subflow].verdicts;
                verdicts.append(&mut sender.verdicts);
                measured.connections[number].subflows[path.index].verdicts = std::mem::take(verdicts);
            }
        }
        for (counts, driven) in measured.connections.iter_mut().zip(self.applications) {
            counts.transfers = driven.application.transfers;
        }
        for (link, samples) in measured.links.iter_mut().zip(self.link_samples) {
            link.samples = samples;
        }
        for (link, looks) in self.link_looks {
            measured.links[link].looks = looks;
        }
        measured
    }
}
