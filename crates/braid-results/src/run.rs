//! From what a backend has counted to the figures of the [catalogue](crate::catalogue).

use braid_scenario::model::{self, Kind, Scenario, Traffic};
use braid_scenario::units::{Duration, Window};

use crate::catalogue::{
    Application, Connection, CwndQuantiles, DataLevel, Deadline, Delay, Link, LinkDirection, Metrics, OK,
    Period, Run, Subflow, Times, seconds,
};
use crate::detection;
use crate::measure::{
    ConnectionCounts, DataLevelCounts, DirectionCounts, LinkCounts, Measurements, SubflowCounts, Transfer,
};
use crate::metrics::{crosses, fair_shares_within, jain, measured, path_capacity, payload_fraction};
use crate::statistics::nearest_rank;

/// Everything that determines a run's result, except the program.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// `sim`, `lab`, `host` or `quic`.
    pub backend: &'a str,
    /// The spec of the run's congestion control, as written.
    pub cc: &'a str,
    /// The MPTCP packet scheduler.
    pub scheduler: &'a str,
    /// The seed.
    pub seed: u64,
}

impl DataLevel {
    fn of(counts: &DataLevelCounts, active_ns: u64) -> Self {
        let delay = || {
            let quantile = |percent| counts.delay_quantile_ms(percent);
            Some(Delay { mean: counts.mean_delay_ms()?, p95: quantile(95)?, p99: quantile(99)? })
        };
        Self {
            repeated_bytes: counts.repeated_bytes,
            copies: counts.copies,
            opportunistic_retransmissions: counts.opportunistic,
            penalties: counts.penalties,
            window_limited: counts.window_limited_ns as f64 / active_ns.max(1) as f64,
            out_of_order_delay_ms: delay(),
        }
    }
}

impl Deadline {
    fn of(transfers: &[Transfer], deadline_ns: u64, end_ns: u64) -> Self {
        // `None`: unknown, as the run ended first.
        let is_late = |transfer: &Transfer| match transfer.end_ns {
            Some(end) => Some(end - transfer.start_ns > deadline_ns),
            None => (transfer.start_ns + deadline_ns <= end_ns).then_some(true),
        };
        let judged = transfers.iter().filter_map(is_late);
        let (judged, missed) = judged.fold((0, 0), |(n, late), is_late| (n + 1, late + usize::from(is_late)));
        let missed_percent = (judged > 0).then(|| 100.0 * missed as f64 / judged as f64);
        Self { transfers: judged, missed, missed_percent }
    }
}

impl Application {
    /// Transfers that began in that interval; the run or the connection ended at `end_ns`.
    fn of(
        model: &model::Connection,
        transfers: &[Transfer],
        (from, to): (u64, u64),
        end_ns: u64,
    ) -> Option<Self> {
        if model.traffic == Traffic::Bulk {
            return None;
        }
        let first = transfers.partition_point(|transfer| transfer.start_ns < from);
        let end = transfers.partition_point(|transfer| transfer.start_ns < to);
        let transfers = &transfers[first..end.max(first)];
        let took = transfers.iter().filter_map(|transfer| Some(transfer.end_ns? - transfer.start_ns));
        let mut took: Vec<u64> = took.collect();
        took.sort_unstable();
        Some(Self {
            traffic: model.traffic.name().to_owned(),
            transfers: transfers.len(),
            unfinished: transfers.len() - took.len(),
            time_ms: Times::of(&took),
            deadline: model.deadline_ns.map(|deadline| Deadline::of(transfers, deadline, end_ns)),
        })
    }
}

impl Times {
    /// From ascending times in nanoseconds.
    fn of(sorted: &[u64]) -> Option<Self> {
        let milliseconds = |ns: u64| ns as f64 / 1e6;
        let rank = |percent| nearest_rank(sorted, percent).map(milliseconds);
        let sum: u128 = sorted.iter().map(|&ns| u128::from(ns)).sum();
        Some(Self {
            p50: rank(50)?,
            p95: rank(95)?,
            p99: rank(99)?,
            max: rank(100)?,
            mean: sum as f64 / sorted.len() as f64 / 1e6,
        })
    }
}

impl CwndQuantiles {
    fn of(samples: &[u32]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let rank = |percent| nearest_rank(&sorted, percent);
        Some(Self { p5: rank(5)?, p25: rank(25)?, p50: rank(50)?, p75: rank(75)?, p95: rank(95)? })
    }
}

impl Setup<'_> {
    /// The result of a measured run.
    ///
    /// # Panics
    /// If the measurements are not of this scenario.
    pub fn measured(&self, counts: &Measurements) -> Run {
        let scenario = self.scenario;
        assert_eq!(scenario.connections.len(), counts.connections.len(), "one count per connection");
        assert_eq!(scenario.links.len(), counts.links.len(), "one count per link");
        assert_eq!(scenario.periods.len(), counts.periods.len(), "one count per period");

        let (connections, links, mut metrics) = self.stretch(counts, counts, measured(scenario));
        let end = scenario.duration_ns - scenario.cooldown_ns;
        let detections = detection::detections(scenario, &counts.connections, &counts.links, end);
        metrics.detection_accuracy_percent = detection::accuracy_percent(detections.iter());
        let periods = scenario.periods.iter().zip(&counts.periods);
        Run {
            measured_s: seconds(counts.measured_ns),
            status: OK.to_owned(),
            connections,
            links,
            metrics,
            detections,
            periods: periods.map(|(&stretch, own)| self.period(own, counts, stretch)).collect(),
            ..self.empty()
        }
    }

    fn period(&self, counts: &Measurements, run: &Measurements, (from, to): (u64, u64)) -> Period {
        let (connections, links, metrics) = self.stretch(counts, run, (from, to));
        Period {
            id: Window { from: Duration(from), to: Duration(to) }.to_string(),
            from_s: seconds(from),
            to_s: seconds(to),
            connections,
            links,
            metrics,
        }
    }

    /// What was measured in a interval of the run: `counts`, and what began there of the transfers of the whole `run`.
    fn stretch(
        &self,
        counts: &Measurements,
        run: &Measurements,
        stretch: (u64, u64),
    ) -> (Vec<Connection>, Vec<Link>, Metrics) {
        let scenario = self.scenario;
        let connections = scenario.connections.iter().zip(&counts.connections).zip(&run.connections);
        let connections: Vec<Connection> = connections
            .map(|((model, counts), run)| Connection {
                application: Application::of(
                    model,
                    &run.transfers,
                    stretch,
                    model.stop_ns.unwrap_or(scenario.duration_ns),
                ),
                ..self.connection(model, counts)
            })
            .collect();
        let links = scenario.links.iter().zip(&counts.links);
        let links = links.map(|(model, link)| self::link(model, link, counts.measured_ns)).collect();
        let metrics = derive(scenario, &connections, stretch);
        (connections, links, metrics)
    }

    /// The result of a run that failed for `reason`.
    pub fn failed(&self, reason: impl Into<String>) -> Run {
        Run { status: reason.into(), ..self.empty() }
    }

    fn empty(&self) -> Run {
        let scenario = self.scenario;
        Run {
            scenario: scenario.name.clone(),
            backend: self.backend.to_owned(),
            cc: self.cc.to_owned(),
            params: scenario.parameters.clone(),
            scheduler: self.scheduler.to_owned(),
            seed: self.seed,
            duration_s: seconds(scenario.duration_ns),
            ..Run::default()
        }
    }

    fn connection(&self, model: &model::Connection, counts: &ConnectionCounts) -> Connection {
        assert_eq!(model.subflows.len(), counts.subflows.len(), "one count per subflow");
        let bytes: u64 = counts.subflows.iter().map(|subflow| subflow.received_bytes).sum();
        let sum = |field: fn(&SubflowCounts) -> u64| counts.subflows.iter().map(field).sum();
        Connection {
            id: model.name.clone(),
            kind: match model.kind {
                Kind::Tcp => "tcp".to_owned(),
                Kind::Mptcp => "mptcp".to_owned(),
            },
            cc: model.cc.as_ref().map_or(self.cc, |own| own.text()).to_owned(),
            goodput_bps: bits_per_second(counts.goodput_bytes, counts.active_ns),
            throughput_bps: bits_per_second(bytes, counts.active_ns),
            retransmissions: sum(|subflow| subflow.retransmissions),
            reinjections: counts.reinjections,
            data_level: counts.data_level.as_ref().map(|data| DataLevel::of(data, counts.active_ns)),
            timeouts: sum(|subflow| subflow.timeouts),
            application: None,
            programs: counts.programs.clone(),
            subflows: model
                .subflows
                .iter()
                .zip(&counts.subflows)
                .map(|(model, counts)| self::subflow(self.scenario, model, counts))
                .collect(),
        }
    }
}

fn subflow(scenario: &Scenario, model: &model::Subflow, counts: &SubflowCounts) -> Subflow {
    let known = |count: u64| (!counts.causes_unknown).then_some(count);
    Subflow {
        id: model.name.clone(),
        links: model.route.iter().map(|&link| scenario.links[link].name.clone()).collect(),
        throughput_bps: bits_per_second(counts.received_bytes, counts.active_ns),
        mean_rtt_ms: (counts.rtt_samples > 0)
            .then(|| counts.rtt_sum_us as f64 / counts.rtt_samples as f64 / 1e3),
        mean_cwnd: (counts.active_ns > 0).then(|| counts.cwnd_integral as f64 / counts.active_ns as f64),
        cwnd_quantiles: CwndQuantiles::of(&counts.cwnd_samples),
        packets_sent: counts.packets_sent,
        retransmissions: counts.retransmissions,
        loss_episodes: known(counts.fast_retransmits + counts.timeouts + counts.ecn_reductions),
        fast_retransmits: known(counts.fast_retransmits),
        timeouts: counts.timeouts,
        ecn_reductions: known(counts.ecn_reductions),
        undos: known(counts.undos),
    }
}

fn link(model: &model::Link, counts: &LinkCounts, measured_ns: u64) -> Link {
    let direction = |model: &model::Direction, counts: &DirectionCounts| LinkDirection {
        rate_bps: model.rate_bps,
        utilization: counts.busy_ns as f64 / measured_ns.max(1) as f64,
        packets: counts.packets,
        drops_packets: counts.drops_queue,
        lost_packets: counts.drops_wire,
        marked_packets: counts.marks,
        mean_queue_packets: counts.queue_integral as f64 / measured_ns.max(1) as f64,
    };
    Link {
        id: model.name.clone(),
        private: model.private,
        forward: direction(&model.forward, &counts.forward),
        reverse: direction(&model.reverse, &counts.reverse),
    }
}

fn derive(scenario: &Scenario, connections: &[Connection], stretch: (u64, u64)) -> Metrics {
    let mut metrics = Metrics {
        total_goodput_bps: connections.iter().map(|connection| connection.goodput_bps).sum(),
        total_retransmissions: connections.iter().map(|connection| connection.retransmissions).sum(),
        ..Metrics::default()
    };

    let fair_shares = fair_shares_within(scenario, stretch);
    for (index, (model, connection)) in scenario.connections.iter().zip(connections).enumerate() {
        let fair = &fair_shares[index];
        let payload = payload_fraction(model.mss, model.data_header);
        let percent =
            |throughput: f64, share: f64| (share > 0.0).then(|| 100.0 * throughput * payload / share);
        let expected = &mut metrics.share_of_expected_percent;
        expected.insert(connection.id.clone(), percent(connection.throughput_bps, fair.total));
        if model.kind == Kind::Mptcp {
            for (subflow, &share) in connection.subflows.iter().zip(&fair.subflows) {
                let key = format!("{}.{}", connection.id, subflow.id);
                expected.insert(key, percent(subflow.throughput_bps, share));
            }
            let benefit = fair.benefit(connection.goodput_bps);
            if metrics.aggregate_benefits.is_empty() {
                metrics.aggregate_benefit = benefit;
                metrics.aggregate_benefit_raw =
                    path_capacity(scenario, index).benefit(connection.goodput_bps);
            }
            metrics.aggregate_benefits.insert(connection.id.clone(), benefit);
        }
    }

    for (index, link) in scenario.links.iter().enumerate().filter(|(_, link)| !link.private) {
        let bulk = || scenario.connections.iter().filter(|model| model.traffic == Traffic::Bulk);
        // Rates over the whole interval say nothing about a link that a subflow crosses for a part of it.
        if bulk().flat_map(|model| &model.subflows).any(|model| crosses(model, index, stretch).is_none()) {
            continue;
        }
        // One list of rates for each bulk transfer that crosses the link.
        let rates: Vec<(Kind, Vec<f64>)> = scenario
            .connections
            .iter()
            .zip(connections)
            .filter(|(model, _)| model.traffic == Traffic::Bulk)
            .map(|(model, connection)| {
                let crossing = model.subflows.iter().zip(&connection.subflows);
                let crossing = crossing.filter(|(model, _)| crosses(model, index, stretch) == Some(true));
                let rates = crossing.map(|(_, subflow)| subflow.throughput_bps);
                (model.kind, rates.collect())
            })
            .filter(|(_, rates): &(Kind, Vec<f64>)| !rates.is_empty())
            .collect();
        let all: Vec<f64> = rates.iter().flat_map(|(_, rates)| rates.iter().copied()).collect();
        let multipath = rates.iter().filter(|(kind, _)| *kind == Kind::Mptcp);
        let multipath: Vec<f64> = multipath.flat_map(|(_, rates)| rates.iter().copied()).collect();
        if all.len() > 1 {
            let sums: Vec<f64> = rates.iter().map(|(_, rates)| rates.iter().sum()).collect();
            metrics.jain_connections.extend(jain(&sums).map(|index| (link.name.clone(), index)));
            metrics.jain_subflows.extend(jain(&all).map(|index| (link.name.clone(), index)));
        }
        if multipath.len() > 1 {
            metrics.jain_mptcp_subflows.extend(jain(&multipath).map(|index| (link.name.clone(), index)));
        }
    }
    metrics
}

/// 0 for something that was never active.
fn bits_per_second(bytes: u64, active_ns: u64) -> f64 {
    if active_ns == 0 { 0.0 } else { bytes as f64 * 8e9 / active_ns as f64 }
}
