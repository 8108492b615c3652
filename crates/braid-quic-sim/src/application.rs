//! An application of a connection of the scenario: its flows, and what it has got.

use std::ops::Range;

use braid_results::measure::{ConnectionCounts, SubflowCounts};
use braid_scenario::model::{Connection as Model, Traffic};
use braid_sim::application::{Action, Application, ENDLESS};

use crate::flow::Flow;

/// Packets that an application with pauses writes beyond the windows, so that the network never waits for it.
const AHEAD: u64 = 16;

/// Of one connection of the scenario.
pub(crate) struct Driven<'a> {
    pub(crate) application: Application,
    /// Which of the scenario's.
    pub(crate) number: usize,
    pub(crate) model: &'a Model,
    /// Its flows among those of the run: one, or as many short flows as there may be at a time.
    pub(crate) places: Range<usize>,
    /// On-off without a rate: the bytes written before this turn.
    pub(crate) written: Option<u64>,
    /// Of flows that are over and gone.
    retired_bytes: u64,
    pub(crate) retired_packets: u64,
    retired: Vec<SubflowCounts>,
}

impl<'a> Driven<'a> {
    pub(crate) fn new(number: usize, model: &'a Model, first: usize, seed: u64) -> Self {
        Self {
            application: Application::new(&model.traffic, &model.name, seed),
            number,
            model,
            places: first..first + Application::connections(&model.traffic),
            written: None,
            retired_bytes: 0,
            retired_packets: 0,
            retired: vec![SubflowCounts::default(); model.subflows.len()],
        }
    }

    /// Writes, pauses or requests.
    pub(crate) fn act(&mut self, action: Action, flow: &mut Flow) {
        match action {
            Action::Write(bytes, transfer) => {
                flow.streams.add(bytes);
                if let Some(transfer) = transfer {
                    self.application.ends_at(transfer, flow.streams.total());
                }
            }
            Action::WriteEndlessly => {
                self.written = Some(flow.streams.total());
                flow.streams.add(ENDLESS);
            }
            Action::Pause(turn) => {
                flow.streams.pause();
                let total = flow.streams.total();
                if let Some(before) = self.written.take() {
                    self.application.transfers[turn].bytes = total - before;
                }
                self.application.ends_at(turn, total);
            }
            Action::Request { bytes, transfer } => {
                flow.request(bytes, self.application.transfers[transfer].bytes);
            }
            Action::Wait(..) | Action::Open(_) | Action::Stop => {}
        }
    }

    /// Maximum of bytes written and not yet read by the receiver.
    pub(crate) fn most_unread(&self, flow: &Flow) -> u64 {
        match self.model.traffic {
            // Data written before a pause is still sent.
            Traffic::OnOff { rate: None, .. } => {
                flow.paths.window_bytes() + AHEAD * u64::from(self.model.mss)
            }
            _ => u64::MAX,
        }
    }

    /// A flow is over and gives its place to another.
    pub(crate) fn retire(&mut self, flow: &Flow, now_ns: u64) {
        self.retired_bytes += flow.streams.read;
        self.retired_packets += flow.paths.packets_delivered;
        for (sum, counts) in self.retired.iter_mut().zip(flow.paths.totals(now_ns)) {
            sum.add(&counts);
        }
    }

    /// Counters until now.
    pub(crate) fn totals<'f>(
        &self,
        flows: impl Iterator<Item = &'f Flow<'f>>,
        now_ns: u64,
    ) -> ConnectionCounts {
        let until = self.application.ended_ns().unwrap_or(now_ns).min(now_ns);
        let mut counts = ConnectionCounts {
            active_ns: self.application.started_ns().map_or(0, |from| until.saturating_sub(from)),
            goodput_bytes: self.retired_bytes,
            subflows: self.retired.clone(),
            ..ConnectionCounts::default()
        };
        for flow in flows {
            counts.goodput_bytes += flow.streams.read;
            for (sum, own) in counts.subflows.iter_mut().zip(flow.paths.totals(now_ns)) {
                sum.add(&own);
            }
        }
        counts
    }
}
