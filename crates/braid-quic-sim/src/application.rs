//! The application of a connection of the scenario, and its progress.

use std::collections::VecDeque;
use std::ops::Range;

use braid_results::measure::{ConnectionCounts, SubflowCounts, Transfer};
use braid_scenario::model::{Connection as Model, ConstantRate, Traffic};

use crate::flow::Flow;

/// Packets that an application with pauses writes beyond the windows, so that the network never waits for it.
const AHEAD: u64 = 16;

/// Application of one connection of the scenario.
pub(crate) struct Application<'a> {
    /// Its index in the scenario.
    pub(crate) number: usize,
    pub(crate) model: &'a Model,
    /// Its flows among those of the run: one, or as many short flows as there may be at a time.
    pub(crate) places: Range<usize>,
    pub(crate) transfers: Vec<Transfer>,
    /// Transfers of short flows that have not begun.
    pub(crate) waiting: VecDeque<usize>,
    started: Option<u64>,
    ended: Option<u64>,
    /// Transfers that end at this number of bytes read by the receiver.
    marks: VecDeque<(u64, usize)>,
    /// On-off: whether it sends, since when, and bytes written before.
    sends: bool,
    since_ns: u64,
    written: u64,
    /// Number of writes at a constant rate since then.
    writes: u64,
    /// Bytes of finished flows.
    retired_bytes: u64,
    retired_packets: u64,
    retired: Vec<SubflowCounts>,
}

impl<'a> Application<'a> {
    pub(crate) fn new(number: usize, model: &'a Model, first: usize) -> Self {
        let flows = match model.traffic {
            Traffic::Poisson { at_once, .. } => at_once as usize,
            _ => 1,
        };
        Self {
            number,
            model,
            places: first..first + flows,
            transfers: Vec::new(),
            waiting: VecDeque::new(),
            started: None,
            ended: None,
            marks: VecDeque::new(),
            sends: false,
            since_ns: 0,
            written: 0,
            writes: 0,
            retired_bytes: 0,
            retired_packets: 0,
            retired: vec![SubflowCounts::default(); model.subflows.len()],
        }
    }

    /// Whether it has one flow from beginning to end.
    pub(crate) fn is_single(&self) -> bool {
        !matches!(self.model.traffic, Traffic::Poisson { .. })
    }

    pub(crate) fn start(&mut self, now_ns: u64) {
        self.started = Some(now_ns);
    }

    /// True the first time.
    pub(crate) fn end(&mut self, now_ns: u64) -> bool {
        let is_first = self.ended.is_none();
        self.ended.get_or_insert(now_ns);
        is_first
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// A transfer begins; returns its number.
    pub(crate) fn begin(&mut self, now_ns: u64, bytes: u64) -> usize {
        self.transfers.push(Transfer { start_ns: now_ns, end_ns: None, bytes });
        self.transfers.len() - 1
    }

    /// A transfer has arrived: the given one, or the first incomplete one.
    pub(crate) fn arrived(&mut self, now_ns: u64, transfer: Option<usize>) {
        let first = || self.transfers.iter().position(|transfer| transfer.end_ns.is_none());
        if let Some(number) = transfer.or_else(first) {
            self.transfers[number].end_ns = Some(now_ns);
        }
    }

    /// The receiver's total of bytes read.
    pub(crate) fn has_read(&mut self, now_ns: u64, bytes: u64) {
        while let Some(&(end, transfer)) = self.marks.front()
            && end <= bytes
        {
            self.marks.pop_front();
            self.transfers[transfer].end_ns = Some(now_ns);
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

    /// An on-off application begins to send or to pause; returns whether it sends.
    pub(crate) fn toggle(&mut self, now_ns: u64, flow: &mut Flow) -> bool {
        self.sends = !self.sends;
        if self.sends {
            self.begin(now_ns, 0);
            (self.since_ns, self.writes, self.written) = (now_ns, 0, flow.streams.total());
        } else {
            flow.streams.pause();
            let turn = self.transfers.len() - 1;
            let total = flow.streams.total();
            self.transfers[turn].bytes = total - self.written;
            self.marks.push_back((total, turn));
        }
        self.sends
    }

    /// Writes at a constant rate begin.
    pub(crate) fn start_writing(&mut self, now_ns: u64) {
        (self.since_ns, self.writes) = (now_ns, 0);
    }

    /// Number of the on-off application's present turn.
    pub(crate) fn turn(&self) -> usize {
        self.transfers.len()
    }

    /// Writes at a constant rate if the turn is still the same; returns the time of the next write.
    pub(crate) fn write(&mut self, now_ns: u64, turn: usize, flow: &mut Flow) -> Option<u64> {
        let (rate, is_steady) = match self.model.traffic {
            Traffic::Cbr(rate) => (rate, true),
            Traffic::OnOff { rate: Some(rate), .. } if self.sends && self.turn() == turn => (rate, false),
            _ => return None,
        };
        let bytes = u64::from(rate.write);
        flow.streams.add(bytes);
        if is_steady {
            let transfer = self.begin(now_ns, bytes);
            self.marks.push_back((flow.streams.total(), transfer));
        }
        self.writes += 1;
        Some(self.since_ns + time_of(rate, self.writes))
    }

    /// A flow ends and frees its slot.
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
        let until = self.ended.unwrap_or(now_ns).min(now_ns);
        let mut counts = ConnectionCounts {
            active_ns: self.started.map_or(0, |from| until.saturating_sub(from)),
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

    /// Datagrams received by finished flows.
    pub(crate) fn retired_packets(&self) -> u64 {
        self.retired_packets
    }
}

/// Time of this number of writes, nanoseconds since the first.
fn time_of(rate: ConstantRate, writes: u64) -> u64 {
    let bits = u128::from(writes) * u128::from(rate.write) * 8_000_000_000;
    (bits / u128::from(rate.rate_bps)) as u64
}
