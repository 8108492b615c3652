//! State and counters of a connection's paths, by the scenario's subflows.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_quic::{Coupling, PathController, PathState};
use braid_results::measure::{SubflowCounts, SubflowSample, VerdictChange};
use braid_scenario::model::Connection as Model;
use noq_proto::{Connection, PathId, PathStatus};

use crate::endpoint::subflow_of;

/// One path's latest state, and its subflow in the scenario.
struct Counted {
    subflow: usize,
    state: PathState,
    /// Time up to which its window is in `cwnd_integral`.
    since_ns: u64,
    cwnd_integral: u128,
    /// It exists.
    open: bool,
}

impl Counted {
    /// Its part of the subflow's counters, including the window until now.
    fn counts(&self, now_ns: u64) -> SubflowCounts {
        let state = &self.state;
        let since = if self.open { u128::from(now_ns - self.since_ns) } else { 0 };
        SubflowCounts {
            retransmissions: state.lost,
            fast_retransmits: state.loss_episodes,
            timeouts: state.persistent_episodes,
            ecn_reductions: state.ecn_episodes,
            undos: state.undos,
            rtt_sum_us: state.rtt_sum_us,
            rtt_samples: state.rtt_samples,
            cwnd_integral: self.cwnd_integral + u128::from(state.cwnd) * since,
            ..SubflowCounts::default()
        }
    }
}

/// The sender's paths.
pub(crate) struct Paths {
    pub(crate) coupling: Arc<Coupling>,
    /// By the coupling's id.
    counted: BTreeMap<u32, Counted>,
    /// Paths of the stack in `counted`; empty: to be refreshed.
    known: Vec<PathId>,
    /// By subflow.
    subflows: Vec<SubflowCounts>,
    active_since: Vec<Option<u64>>,
    pub(crate) verdicts: Vec<Vec<VerdictChange>>,
    pub(crate) packets_delivered: u64,
}

impl Paths {
    pub(crate) fn new(coupling: Arc<Coupling>, n: usize) -> Self {
        Self {
            coupling,
            counted: BTreeMap::new(),
            known: Vec::new(),
            subflows: vec![SubflowCounts::default(); n],
            active_since: vec![None; n],
            verdicts: vec![Vec::new(); n],
            packets_delivered: 0,
        }
    }

    /// The sender sent a datagram.
    pub(crate) fn sent(&mut self, subflow: usize) {
        self.subflows[subflow].packets_sent += 1;
    }

    /// The receiver got a datagram.
    pub(crate) fn received(&mut self, subflow: usize, ip_bytes: u64) {
        self.subflows[subflow].received_bytes += ip_bytes;
        self.packets_delivered += 1;
    }

    /// The set of paths has changed.
    pub(crate) fn have_changed(&mut self) {
        self.known.clear();
    }

    /// Sum of all windows, bytes.
    pub(crate) fn window_bytes(&self) -> u64 {
        let open = self.counted.values().filter(|counted| counted.open);
        open.map(|counted| u64::from(counted.state.cwnd) * u64::from(counted.state.mss)).sum()
    }

    /// Updates the paths' states.
    pub(crate) fn look(&mut self, connection: &mut Connection, model: &Model, now_ns: u64) {
        if self.known.is_empty() {
            self.known = connection.paths();
            for id in self.known.clone() {
                self.count(connection, model, id, now_ns);
            }
        }
        for (&id, counted) in self.counted.iter_mut().filter(|(_, counted)| counted.open) {
            counted.cwnd_integral += u128::from(counted.state.cwnd) * u128::from(now_ns - counted.since_ns);
            counted.since_ns = now_ns;
            match self.coupling.path(id) {
                Some(state) => {
                    let group = state.verdict.group;
                    if group != counted.state.verdict.group {
                        self.verdicts[counted.subflow].push(VerdictChange { time_ns: now_ns, group });
                    }
                    counted.state = state;
                }
                None => counted.open = false,
            }
        }
    }

    /// Adds a path of the stack.
    fn count(&mut self, connection: &mut Connection, model: &Model, id: PathId, now_ns: u64) {
        let Some(state) = connection.congestion_state(id) else { return };
        let Ok(controller) = state.clone_box().into_any().downcast::<PathController>() else { return };
        let Ok(path) = connection.network_path(id) else { return };
        let Some(subflow) = subflow_of(path.remote().ip()) else { return };
        if self.counted.contains_key(&controller.id()) {
            return;
        }
        let state = controller.state();
        let counted = Counted { subflow, state, since_ns: now_ns, cwnd_integral: 0, open: true };
        self.counted.insert(controller.id(), counted);
        self.active_since[subflow].get_or_insert(now_ns);
        if model.subflows[subflow].backup {
            controller.set_backup(true);
            let _ = connection.set_path_status(id, PathStatus::Backup);
        }
    }

    /// A subflow has been removed.
    pub(crate) fn deactivate(&mut self, subflow: usize, now_ns: u64) {
        if let Some(since) = self.active_since[subflow].take() {
            self.subflows[subflow].active_ns += now_ns - since;
        }
    }

    /// Counters until now, by subflow.
    pub(crate) fn totals(&self, now_ns: u64) -> Vec<SubflowCounts> {
        let mut subflows = self.subflows.clone();
        for (counts, since) in subflows.iter_mut().zip(&self.active_since) {
            counts.active_ns += since.map_or(0, |since| now_ns - since);
        }
        for counted in self.counted.values() {
            subflows[counted.subflow].add(&counted.counts(now_ns));
        }
        subflows
    }

    /// The newest open path of each subflow, if it is established.
    pub(crate) fn samples(&self, now_ns: u64) -> BTreeMap<usize, SubflowSample> {
        let detects = self.coupling.spec().algorithm().flags() & braid_quic::DETECTS != 0;
        let open = self.counted.values().filter(|counted| counted.open);
        let sample = |Counted { subflow, state, .. }: &Counted| {
            let sample = SubflowSample {
                time_ns: now_ns,
                cwnd: state.cwnd,
                ssthresh: state.ssthresh,
                srtt_us: (state.srtt_us > 0).then_some(state.srtt_us),
                min_rtt_us: (state.srtt_us > 0).then_some(state.min_rtt_us),
                in_flight: state.in_flight,
                received_bytes: self.subflows[*subflow].received_bytes,
                retransmissions: state.lost,
                rtt_samples: state.rtt_samples,
                rtt_steps_us: 0,
                group: detects.then_some(state.verdict.group),
            };
            (*subflow, sample)
        };
        open.map(sample).collect()
    }
}
