//! Turns the guest's counters into measurements of the scenario.

use braid_results::measure::{
    ConnectionCounts, DirectionCounts, LinkCounts, LinkSample, Measurements, Program, SubflowCounts,
    SubflowSample, Transfer, VerdictChange,
};
use braid_scenario::model::{self, Kind, Scenario, Traffic};

use super::translate::Translated;
use crate::job::{ConnectionAt, Moment, QueueAt, Report, SubflowAt};

/// The measurements of a run.
pub(crate) fn measure(
    scenario: &Scenario,
    translated: &Translated,
    report: &Report,
    samples: bool,
) -> Result<Measurements, String> {
    let counts = Counts { scenario, translated, report };
    let whole = (scenario.warmup_ns, scenario.duration_ns - scenario.cooldown_ns);
    let mut measurements = counts.stretch(whole)?;
    let periods = scenario.periods.iter().map(|&stretch| counts.stretch(stretch));
    measurements.periods = periods.collect::<Result<_, _>>()?;
    for said in &report.verdicts {
        let change = VerdictChange { time_ns: said.time_ns, group: said.group };
        measurements.connections[said.connection].subflows[said.subflow].verdicts.push(change);
    }
    if samples {
        counts.add_samples(&mut measurements);
    }
    for ended in &report.programs {
        let command = translated.job.connections[ended.connection].programs.as_ref();
        let command =
            command.ok_or("the guest reported an unknown program")?.commands[ended.which].words.clone();
        let own = &mut measurements.connections[ended.connection];
        own.programs.push(Program {
            role: ["server", "client"][ended.which].to_owned(),
            command,
            exit_code: ended.end.map(|(_, code)| code),
            stdout: ended.stdout.clone(),
            stderr: ended.stderr.clone(),
        });
        if ended.which == CLIENT {
            let last = report
                .moments
                .last()
                .map_or(0, |moment| moment.connections[ended.connection].delivered_bytes);
            let end_ns = ended.end.map(|(time, _)| time);
            own.transfers.push(Transfer { start_ns: ended.start_ns, end_ns, bytes: last });
        }
    }
    for &(connection, transfer) in &report.transfers {
        measurements.connections[connection].transfers.push(transfer);
    }
    let last = report.moments.last().ok_or("the guest counted nothing")?;
    let received = last.connections.iter().flat_map(|own| &own.subflows).map(|subflow| subflow.received);
    measurements.packets_delivered = received.sum();
    Ok(measurements)
}

/// Index of the client among a connection's programs.
const CLIENT: usize = 1;
/// TCP header with timestamps.
const TCP_HEADER: u32 = 32;
/// MPTCP option of a data packet: a mapping with a 64-bit sequence number, and a 32-bit acknowledgement.
const DATA_SEQUENCE_SIGNAL: u32 = 24;

/// Bytes of IP and TCP headers, with timestamps.
pub(crate) fn headers(model: &model::Connection) -> u32 {
    model.ip_header + TCP_HEADER
}

struct Counts<'a> {
    scenario: &'a Scenario,
    translated: &'a Translated,
    report: &'a Report,
}

impl Counts<'_> {
    fn at(&self, time_ns: u64) -> Result<usize, String> {
        let moments = &self.report.moments;
        moments
            .binary_search_by_key(&time_ns, |moment| moment.time_ns)
            .map_err(|_| format!("the guest did not count at {} s", time_ns as f64 / 1e9))
    }

    /// Arrival of a connection's only object, which ended the connection.
    fn arrived_ns(&self, connection: usize) -> Option<u64> {
        let is_object = matches!(self.scenario.connections[connection].traffic, Traffic::Object { .. });
        let mut transfers = self.report.transfers.iter().filter(|own| own.0 == connection);
        transfers.find_map(|own| own.1.end_ns).filter(|_| is_object)
    }

    fn stretch(&self, (from, to): (u64, u64)) -> Result<Measurements, String> {
        let moments = &self.report.moments[self.at(from)?..=self.at(to)?];
        let (start, end) = (&moments[0], &moments[moments.len() - 1]);
        let connections = self.scenario.connections.iter().enumerate().map(|(number, model)| {
            let start_ns = self.translated.job.connections[number].start_ns;
            let life = (start_ns.max(from), model.stop_ns.unwrap_or(to).min(to));
            let life = (life.0, self.arrived_ns(number).unwrap_or(to).min(life.1));
            let (before, after) = (&start.connections[number], &end.connections[number]);
            let reinjected = after.reinjected_bytes - before.reinjected_bytes;
            let subflows = (0..model.subflows.len()).map(|subflow| {
                let of = |moment: &Moment| moment.connections[number].subflows[subflow];
                let cwnd = moments.iter().filter(|moment| moment.regular && moment.time_ns < to).map(of);
                let cwnd_samples = cwnd.filter(|subflow| subflow.established).map(|subflow| subflow.cwnd);
                let counts = difference(model, &of(start), &of(end), cwnd_samples.collect());
                // Episode counters are per namespace and do not distinguish subflows or ECN reductions.
                if model.kind == Kind::Mptcp || model.ecn || matches!(model.traffic, Traffic::Program(_)) {
                    return SubflowCounts { causes_unknown: true, ..counts };
                }
                let fast_retransmits = after.recoveries - before.recoveries;
                SubflowCounts { fast_retransmits, undos: after.undos - before.undos, ..counts }
            });
            ConnectionCounts {
                active_ns: match model.traffic {
                    Traffic::Program(_) => after.active_ns - before.active_ns,
                    _ => life.1.saturating_sub(life.0),
                },
                goodput_bytes: after.delivered_bytes - before.delivered_bytes,
                reinjections: reinjected.div_ceil(u64::from(model.mss)),
                subflows: subflows.collect(),
                ..ConnectionCounts::default()
            }
        });
        let connections: Vec<ConnectionCounts> = connections.collect();
        let links = self.scenario.links.iter().zip(&self.translated.queues).enumerate().map(
            |(number, (link, queues))| match *queues {
                Some([forward, reverse]) => LinkCounts {
                    forward: direction(&link.forward, moments, forward),
                    reverse: direction(&link.reverse, moments, reverse),
                    ..LinkCounts::default()
                },
                None => self.passed(number, moments),
            },
        );
        let links = links.collect();
        Ok(Measurements { measured_ns: to - from, connections, links, ..Measurements::default() })
    }

    /// A link that is only a delay carries its subflow's packets while it is on the route.
    fn passed(&self, link: usize, moments: &[Moment]) -> LinkCounts {
        let mut passed = LinkCounts::default();
        for pair in moments.windows(2) {
            for (number, model) in self.scenario.connections.iter().enumerate() {
                let own =
                    pair[0].connections[number].subflows.iter().zip(&pair[1].connections[number].subflows);
                let takes_it = |path: &model::Subflow| path.route_at(pair[0].time_ns).contains(&link);
                for (_, (start, end)) in model.subflows.iter().zip(own).filter(|(path, _)| takes_it(path)) {
                    let packets = end.sent - start.sent;
                    let bytes = on_the_wire(model, packets, start, end);
                    passed.forward.packets += packets;
                    passed.forward.bytes += bytes;
                    passed.forward.busy_ns += busy_ns(bytes, self.scenario.links[link].forward.rate_bps);
                }
            }
        }
        passed
    }

    fn add_samples(&self, measurements: &mut Measurements) {
        let regular = || self.report.moments.iter().filter(|moment| moment.regular);
        for (number, counts) in measurements.connections.iter_mut().enumerate() {
            let model = &self.scenario.connections[number];
            for (index, subflow) in counts.subflows.iter_mut().enumerate() {
                let of = |own: &ConnectionAt| own.subflows[index];
                let last = self.report.moments.last().map(|moment| of(&moment.connections[number]));
                let last = last.unwrap_or_default();
                let verdicts = std::mem::take(&mut subflow.verdicts);
                let group = |time_ns| {
                    let heard = verdicts.partition_point(|verdict| verdict.time_ns <= time_ns);
                    heard.checked_sub(1).map(|last| verdicts[last].group)
                };
                let samples = regular().map(|moment| (moment.time_ns, of(&moment.connections[number])));
                let samples =
                    samples.filter(|(_, own)| own.established).map(|(time_ns, own)| SubflowSample {
                        time_ns,
                        cwnd: own.cwnd,
                        ssthresh: own.ssthresh,
                        srtt_us: (own.srtt_us > 0).then_some(own.srtt_us),
                        min_rtt_us: (own.srtt_us > 0).then_some(own.min_rtt_us),
                        in_flight: own.in_flight,
                        received_bytes: on_the_wire(model, own.received, &SubflowAt::default(), &last),
                        retransmissions: own.retransmissions,
                        rtt_samples: own.single.count,
                        rtt_steps_us: own.single.steps_us,
                        group: group(time_ns),
                    });
                subflow.samples = samples.collect();
                subflow.verdicts = verdicts;
            }
        }
        for (number, counts) in measurements.links.iter_mut().enumerate() {
            let Some([forward, _]) = self.translated.queues[number] else { continue };
            if self.scenario.links[number].private {
                continue;
            }
            let samples = regular().map(|moment| (moment.time_ns, moment.queues[forward]));
            let samples = samples.map(|(time_ns, queue)| LinkSample {
                time_ns,
                queue_packets: queue.queued,
                drops_queue: queue.dropped,
            });
            counts.samples = samples.collect();
        }
    }
}

/// A subflow's counters between two samples.
fn difference(
    model: &model::Connection,
    start: &SubflowAt,
    end: &SubflowAt,
    cwnd_samples: Vec<u32>,
) -> SubflowCounts {
    let received = end.received - start.received;
    SubflowCounts {
        active_ns: end.active_ns - start.active_ns,
        received_bytes: on_the_wire(model, received, start, end),
        packets_sent: end.sent - start.sent,
        retransmissions: end.retransmissions - start.retransmissions,
        timeouts: end.timeouts - start.timeouts,
        rtt_sum_us: end.rtt_sum_us - start.rtt_sum_us,
        rtt_samples: end.rtt_samples - start.rtt_samples,
        cwnd_integral: end.cwnd_integral - start.cwnd_integral,
        cwnd_samples,
        ..SubflowCounts::default()
    }
}

/// IP bytes of data packets sent between two samples. Some are short: MPTCP sends the rest of a piece of memory before
/// it begins the next.
pub(crate) fn on_the_wire(
    model: &model::Connection,
    packets: u64,
    start: &SubflowAt,
    end: &SubflowAt,
) -> u64 {
    let of_mptcp = if model.kind == Kind::Mptcp { DATA_SEQUENCE_SIGNAL } else { 0 };
    let headers = u64::from(headers(model) + of_mptcp);
    let (sent, payload) = (end.sent - start.sent, end.sent_bytes - start.sent_bytes);
    let payload = match sent {
        0 => packets * u64::from(model.mss),
        _ => (u128::from(packets) * u128::from(payload) / u128::from(sent)) as u64,
    };
    packets * headers + payload
}

fn busy_ns(bytes: u64, rate_bps: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000 / u128::from(rate_bps.max(1))) as u64
}

/// Counters of a queue, and losses after it.
fn direction(model: &model::Direction, moments: &[Moment], queue: usize) -> DirectionCounts {
    let (start, end) = (&moments[0].queues[queue], &moments[moments.len() - 1].queues[queue]);
    let entered = |at: &QueueAt| at.served + u64::from(at.queued);
    // A packet may have left while the queue was read.
    let packets = entered(end).saturating_sub(entered(start));
    // Lost packets are only counted; their size is taken to be the mean.
    let left = end.packets - start.packets;
    let bytes_left = end.bytes - start.bytes;
    let bytes =
        |packets: u64| (u128::from(bytes_left) * u128::from(packets) / u128::from(left.max(1))) as u64;
    let busy = moments.windows(2).map(|pair| {
        let served = pair[1].queues[queue].served - pair[0].queues[queue].served;
        let changes = model.changes.iter().filter(|change| change.at_ns <= pair[0].time_ns);
        let rate_bps = changes.filter_map(|change| change.rate_bps).next_back().unwrap_or(model.rate_bps);
        busy_ns(bytes(served), rate_bps)
    });
    DirectionCounts {
        packets,
        bytes: bytes(packets),
        busy_ns: busy.sum(),
        drops_queue: end.dropped - start.dropped,
        drops_wire: end.lost - start.lost,
        marks: end.marked - start.marked,
        queue_integral: end.queue_integral - start.queue_integral,
    }
}
