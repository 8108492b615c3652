//! Checks by the guest's counters whether its network was the scenario's.

use braid_scenario::{
    model::{self, EcnThreshold, Scenario, Traffic},
    topology::serialisation_ns,
};

use super::{
    discipline::is_managed,
    measure::{headers, on_the_wire},
    routes::queues_of,
    translate::Translated,
};
use crate::job::{Moment, QueueAt, Report, SubflowAt};

/// Load above which a guest's timing is not that of a network.
const BUSIEST: f64 = 0.6;
/// Half of the interval between samples.
const LATEST_NS: u64 = 10_000_000;
/// Time after its planned start by which a subflow has sent, even if its handshake was lost once.
const SLOW_TO_JOIN_NS: u64 = 1_500_000_000;
/// Tolerance of rates, delays and limits.
const TOLERANCE: f64 = 0.01;
/// Minimum of packets for a check of a rate.
const ENOUGH_PACKETS: u64 = 1000;
/// The kernel's own share of a round trip: some ten thousand instructions per hop.
const KERNEL_NS: f64 = 150_000.0;
/// Size of handshake segments with their options.
const HANDSHAKE_BYTES: u32 = 80;
/// Tolerance of random losses, standard deviations.
const SIGMAS: f64 = 5.0;
/// Minimum of drops after which a sample must have seen the queue full, if the queue takes longer than two samples to
/// empty.
const ENOUGH_DROPS: u64 = 20;
const LASTING_NS: f64 = 40e6;

/// Warnings about a run, as text.
pub(crate) fn doubts(scenario: &Scenario, translated: &Translated, report: &Report) -> Vec<String> {
    let (Some(first), Some(last)) = (report.moments.first(), report.moments.last()) else {
        return vec!["the guest counted nothing".to_owned()];
    };
    let mut doubts = Vec::new();
    // The kernel counts idle time in ticks, so a small excess is possible.
    let busy =
        last.busy_ns.saturating_sub(first.busy_ns) as f64 / (last.time_ns - first.time_ns).max(1) as f64;
    if busy > BUSIEST {
        doubts.push(format!(
            "the processor was busy for {:.0} % of the time, more than {:.0} %: its own slowness may show",
            100.0 * busy,
            100.0 * BUSIEST
        ));
    }
    if report.latest_ns > LATEST_NS {
        let (late, due) = (report.latest_ns as f64 / 1e6, report.latest_at_ns as f64 / 1e9);
        doubts.push(format!("an action was {late:.0} ms late, at {due:.2} s: the machine was busy"));
    }
    if report.missed_packets > 0 {
        doubts.push(format!("{} packets are missing in the captures", report.missed_packets));
    }
    absent(scenario, last, &mut doubts);
    packets(scenario, translated, last, &mut doubts);
    for (number, link) in scenario.links.iter().enumerate() {
        let Some(queues) = translated.queues[number] else { continue };
        for (direction, queue, name) in
            [(&link.forward, queues[0], "forward"), (&link.reverse, queues[1], "reverse")]
        {
            let counted = &last.queues[queue];
            let mut own = of_queue(direction, counted, all_send_on(scenario, number));
            own.extend(marks(direction, counted, name == "forward", all_understand(scenario, number)));
            doubts.extend(own.into_iter().map(|doubt| format!("link {}, {name}: {doubt}", link.name)));
        }
    }
    arrivals(scenario, translated, last, &mut doubts);
    delays(scenario, last, &mut doubts);
    for (node, counter, count) in &report.elsewhere {
        doubts.push(format!("{count} packets where none should be: {node} counts them as {counter}"));
    }
    doubts
}

/// Subflows that should have joined and did not.
fn absent(scenario: &Scenario, last: &Moment, doubts: &mut Vec<String>) {
    for (model, own) in scenario.connections.iter().zip(&last.connections) {
        for (path, subflow) in model.subflows.iter().zip(&own.subflows) {
            let begins = model.start_ns + model.start_noise_ns + path.join_delay_ns.unwrap_or(0);
            let has_much = own.subflows.iter().map(|subflow| subflow.sent).sum::<u64>() >= ENOUGH_PACKETS;
            let needs_all = match model.traffic {
                Traffic::Bulk => true,
                // It may have been complete by then.
                Traffic::Object { .. } | Traffic::Program(_) => has_much,
                // One subflow may carry all the data.
                Traffic::Poisson { .. }
                | Traffic::OnOff { .. }
                | Traffic::RequestResponse { .. }
                | Traffic::Cbr(_) => false,
            };
            let in_time = begins + SLOW_TO_JOIN_NS < last.time_ns && needs_all;
            let is_due = path.up.is_empty() && !path.backup && in_time;
            if is_due && subflow.sent == 0 {
                doubts.push(format!("{} {}: it sent no packet", model.name, path.name));
            }
        }
    }
}

/// Packets have the scenario's size, without offload.
fn packets(scenario: &Scenario, translated: &Translated, last: &Moment, doubts: &mut Vec<String>) {
    for (model, own) in scenario.connections.iter().zip(&last.connections) {
        for (path, subflow) in model.subflows.iter().zip(&own.subflows) {
            // The kernel's MSS includes no room for MPTCP's options.
            let whole = subflow.mss + headers(model);
            if subflow.sent > 0 && whole != model.mss + model.data_header {
                doubts.push(format!(
                    "{} {}: packets of {whole} bytes, not of {}",
                    model.name,
                    path.name,
                    model.mss + model.data_header
                ));
            }
        }
    }
    // A packet larger than the link's MTU is several unsegmented ones.
    let most = translated.job.wires.iter().map(|wire| wire.mtu).max().unwrap_or(0);
    let is_larger = |queue: &usize| {
        let QueueAt { packets, bytes, .. } = last.queues[*queue];
        bytes > packets * u64::from(most)
    };
    if translated.queues.iter().flatten().flatten().any(is_larger) {
        doubts.push("a link carried packets larger than it allows: segmentation offload was on".to_owned());
    }
}

/// Bytes received by connections equal those carried by the last links of their routes.
fn arrivals(scenario: &Scenario, translated: &Translated, last: &Moment, doubts: &mut Vec<String>) {
    for (number, link) in scenario.links.iter().enumerate() {
        let Some([forward, _]) = translated.queues[number] else { continue };
        let QueueAt { packets, bytes, .. } = last.queues[forward];
        let mut arrived = 0;
        let mut is_comparable = packets >= ENOUGH_PACKETS;
        for (model, own) in scenario.connections.iter().zip(&last.connections) {
            for (path, subflow) in model.subflows.iter().zip(&own.subflows) {
                let queues = queues_of(scenario, path, &path.route);
                let later = path.reroutes.iter().flat_map(|change| [&change.forward, &change.reverse]);
                let comes_later = later.flatten().any(|route| route.contains(&number));
                if queues.contains(&number) || comes_later {
                    // Data in flight when a subflow ends or moves is counted elsewhere, or not at all, and so are
                    // handshakes and acknowledgements of requests.
                    let is_one_way =
                        !matches!(model.traffic, Traffic::Poisson { .. } | Traffic::RequestResponse { .. });
                    let is_whole = model.stop_ns.is_none()
                        && path.up.is_empty()
                        && path.reroutes.is_empty()
                        && is_one_way;
                    is_comparable &= is_whole && queues.last() == Some(&number);
                    arrived += on_the_wire(model, subflow.received, &SubflowAt::default(), subflow);
                }
            }
        }
        let ratio = arrived as f64 / bytes.max(1) as f64;
        if is_comparable && (ratio - 1.0).abs() > TOLERANCE {
            doubts.push(format!(
                "link {}: it carried {bytes} bytes; {arrived}, {:.1} % of them, are counted at their destination",
                link.name,
                100.0 * ratio
            ));
        }
    }
}

/// Whether all senders over a link always have data.
fn all_send_on(scenario: &Scenario, link: usize) -> bool {
    scenario.connections.iter().filter(|own| sends_over(own, link)).all(|own| match own.traffic {
        Traffic::Bulk | Traffic::Object { .. } | Traffic::Program(_) => true,
        Traffic::Poisson { .. }
        | Traffic::OnOff { .. }
        | Traffic::RequestResponse { .. }
        | Traffic::Cbr(_) => false,
    })
}

/// Whether all senders over a link negotiate ECN.
fn all_understand(scenario: &Scenario, link: usize) -> bool {
    scenario.connections.iter().filter(|own| sends_over(own, link)).all(|own| own.ecn)
}

/// Whether data of a connection ever uses a link.
fn sends_over(connection: &model::Connection, link: usize) -> bool {
    connection.subflows.iter().any(|path| {
        let later = path.reroutes.iter().filter_map(|change| change.forward.as_ref());
        later.chain([&path.route]).any(|route| route.contains(&link))
    })
}

/// Checks that links mark packets if and only if they should.
fn marks(model: &model::Direction, counted: &QueueAt, forward: bool, all_understand: bool) -> Option<String> {
    let QueueAt { marked, most_queued, .. } = *counted;
    if marked > 0 && !is_managed(model, forward) {
        return Some(format!("it marked {marked} packets, and should mark none"));
    }
    // A packet that arrives after the longest sampled queue has found at least the threshold.
    let from = model.ecn_threshold.filter(|_| forward && all_understand && model.changes.is_empty());
    match from {
        Some(EcnThreshold::Packets(from)) if most_queued > from + 1 && marked == 0 => {
            Some(format!("it marked nothing, though {most_queued} packets waited; it marks from {from}"))
        }
        _ => None,
    }
}

/// Whether a direction never changes.
fn is_constant(model: &model::Direction) -> bool {
    model.changes.is_empty() && model.outages.is_empty() && model.trace.is_none()
}

/// Checks rate, limit and loss of one direction of a link. Rate and limit only `if_all_send_on`: samples miss the peak
/// of bursts, whose packets have various sizes.
fn of_queue(model: &model::Direction, counted: &QueueAt, if_all_send_on: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    let is_constant = is_constant(model);
    let size = counted.bytes as f64 / counted.packets.max(1) as f64;
    if if_all_send_on && counted.backlogged_packets >= ENOUGH_PACKETS {
        let ratio = counted.backlogged_packets as f64 * size * 8.0 / counted.backlogged_bits.max(1) as f64;
        if (ratio - 1.0).abs() > TOLERANCE {
            doubts.push(format!("it sends at {:.1} % of its rate while packets wait", 100.0 * ratio));
        }
    }
    let (limit, most) = match model.queue {
        model::QueueLimit::Packets(limit) => (f64::from(limit), f64::from(limit)),
        // The waiting packets may be smaller than the mean.
        model::QueueLimit::Bytes(bytes) => {
            let packets = bytes as f64 / size.max(1.0);
            (packets, packets * (1.0 + TOLERANCE) + 2.0)
        }
    };
    if is_constant {
        if f64::from(counted.most_queued) > most {
            doubts.push(format!("{} packets waited, more than the limit of {limit:.0}", counted.most_queued));
        }
        let lasting = limit * size * 8e9 / model.rate_bps as f64;
        let least = (limit * (1.0 - TOLERANCE)).min(limit - 2.0);
        let is_full = model.discipline == model::Discipline::DropTail && counted.dropped >= ENOUGH_DROPS;
        if is_full && if_all_send_on && lasting >= LASTING_NS && f64::from(counted.most_queued) < least {
            doubts.push(format!(
                "it dropped {} packets, but never more than {} waited, of {limit:.0}",
                counted.dropped, counted.most_queued
            ));
        }
        let served = (counted.packets + counted.lost) as f64;
        let expected = match model.loss {
            model::Loss::None => Some((0.0, 0.0)),
            model::Loss::Periodic(n) => Some((served / f64::from(n), 2.0)),
            model::Loss::Bernoulli(p) => Some((served * p, SIGMAS * (served * p * (1.0 - p)).sqrt() + 1.0)),
            model::Loss::GilbertElliott(_) => None,
        };
        if let Some((mean, most)) = expected
            && (counted.lost as f64 - mean).abs() > most
        {
            doubts.push(format!(
                "it lost {} of {served} packets; {mean:.0} give or take {most:.0} were to be expected",
                counted.lost
            ));
        }
    }
    doubts
}

/// The lowest RTT of TCP is that of the empty path: never less, and not more on a path that was empty when the
/// connection opened.
fn delays(scenario: &Scenario, last: &Moment, doubts: &mut Vec<String>) {
    // With random starts the earliest connection is unknown.
    let earliest = scenario.connections.iter().map(|connection| connection.start_ns).min();
    let is_earliest = |connection: &model::Connection| {
        Some(connection.start_ns) == earliest
            && (connection.start_noise_ns == 0 || scenario.connections.len() == 1)
    };
    for (model, own) in scenario.connections.iter().zip(&last.connections) {
        for (index, (path, subflow)) in model.subflows.iter().zip(&own.subflows).enumerate() {
            let directions = || {
                let links = path.route.iter().map(|&link| &scenario.links[link]);
                links.flat_map(|link| [&link.forward, &link.reverse])
            };
            let is_constant = directions().all(is_constant);
            if subflow.min_rtt_us == 0 || !is_constant || !path.reroutes.is_empty() {
                continue;
            }
            // For links that are only a delay and those that mark, it includes the transmission time of a full packet.
            let queues = queues_of(scenario, path, &path.route);
            let fixed: u64 = path
                .route
                .iter()
                .map(|&link| {
                    let (there, back) = (&scenario.links[link].forward, &scenario.links[link].reverse);
                    let is_whole = !queues.contains(&link);
                    let data = if is_whole || is_managed(there, true) {
                        model.mss + model.data_header
                    } else {
                        HANDSHAKE_BYTES / 2
                    };
                    let ack = if is_whole || is_managed(back, false) {
                        model.ack_size
                    } else {
                        HANDSHAKE_BYTES / 2
                    };
                    there.delay_ns
                        + back.delay_ns
                        + serialisation_ns(data, there.rate_bps)
                        + serialisation_ns(ack, back.rate_bps)
                })
                .sum();
            let jitter: u64 = directions().map(model::Direction::random_delay_ns).sum();
            let measured = f64::from(subflow.min_rtt_us) * 1e3;
            let slack = TOLERANCE * fixed as f64;
            let handshake: u64 = queues
                .iter()
                .map(|&link| {
                    let link = &scenario.links[link];
                    serialisation_ns(HANDSHAKE_BYTES, link.forward.rate_bps)
                        + serialisation_ns(HANDSHAKE_BYTES, link.reverse.rate_bps)
                })
                .sum();
            let most = (fixed + jitter + handshake) as f64 + slack + KERNEL_NS;
            let was_empty = index == 0 && is_earliest(model) && subflow.timeouts == 0;
            // For a packet sent twice only timestamps show it, which count milliseconds.
            let ticks = if subflow.min_rtt_us % 1000 == 0 { 1e6 } else { 0.0 };
            if measured < fixed as f64 - slack - ticks || (was_empty && measured > most) {
                doubts.push(format!(
                    "{} {}: the lowest RTT is {:.3} ms; the path has {:.3} ms",
                    model.name,
                    path.name,
                    measured / 1e6,
                    fixed as f64 / 1e6
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use braid_algorithms::Spec;
    use braid_scenario::Source;

    use super::*;
    use crate::{driver::translate::translate, job::ConnectionAt};

    fn scenario() -> Scenario {
        let text = "title = \"t\"\nduration = \"10s\"\nnoise = \"none\"\n\
            [link.b]\nrate = \"10mbit\"\ndelay = \"10ms\"\nqueue = \"100p\"\nloss = \"1%\"\n\
            [connection.t]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"b\"]\n";
        let source = Source { name: "t".into(), text: text.into() };
        braid_scenario::load(&source, &[]).expect("valid").cells.remove(0)
    }

    /// A correct run: 8000 packets of 1500 bytes, 80 lost, 30 dropped.
    fn report() -> Report {
        let forward = QueueAt {
            packets: 7920,
            bytes: 7920 * 1500,
            lost: 80,
            dropped: 30,
            most_queued: 100,
            backlogged_packets: 4000,
            backlogged_bits: 4000 * 1500 * 8,
            ..QueueAt::default()
        };
        let reverse = QueueAt { packets: 4000, bytes: 4000 * 52, lost: 40, ..QueueAt::default() };
        let subflow = SubflowAt {
            mss: 1448,
            sent: 8030,
            sent_bytes: 8030 * 1448,
            received: 7920,
            min_rtt_us: 20_150,
            ..SubflowAt::default()
        };
        let connection = ConnectionAt { subflows: vec![subflow], ..ConnectionAt::default() };
        let last = Moment {
            time_ns: 10_000_000_000,
            busy_ns: 1_000_000_000,
            connections: vec![connection],
            queues: vec![forward, reverse],
            ..Moment::default()
        };
        Report { moments: vec![Moment::default(), last], ..Report::default() }
    }

    fn doubts_of(change: impl FnOnce(&mut Report)) -> Vec<String> {
        let scenario = scenario();
        let translated =
            translate(&scenario, &Spec::parse("reno").expect("known"), "linux", 1, &BTreeMap::new())
                .expect("the lab can");
        let mut report = report();
        change(&mut report);
        doubts(&scenario, &translated, &report)
    }

    fn last(report: &mut Report) -> &mut Moment {
        report.moments.last_mut().expect("there are two")
    }

    fn queue(report: &mut Report) -> &mut QueueAt {
        &mut last(report).queues[0]
    }

    fn subflow(report: &mut Report) -> &mut SubflowAt {
        &mut last(report).connections[0].subflows[0]
    }

    #[test]
    fn a_network_as_it_should_be_is_not_doubted() {
        assert_eq!(doubts_of(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn each_fault_of_a_network_is_doubted() {
        type Spoil = fn(&mut Report);
        let faults: [(&str, Spoil); 19] = [
            ("counted nothing", |report| report.moments.clear()),
            ("busy for 61 %", |report| last(report).busy_ns = 6_100_000_000),
            ("11 ms late, at 2.50 s", |report| {
                (report.latest_ns, report.latest_at_ns) = (11_000_000, 2_500_000_000);
            }),
            ("3 packets are missing", |report| report.missed_packets = 3),
            ("t sf1: it sent no packet", |report| subflow(report).sent = 0),
            ("98.5 % of its rate", |report| queue(report).backlogged_packets = 3940),
            ("101.5 % of its rate", |report| queue(report).backlogged_packets = 4060),
            // Claims packets of 1500 bytes where some were smaller.
            ("link b: it carried 11721600 bytes; 11880000, 101.4 % of them", |report| {
                let sizes = (7920 * 1480, 4000 * 1480 * 8);
                (queue(report).bytes, queue(report).backlogged_bits) = sizes;
            }),
            ("98.5 % of them", |report| subflow(report).received = 7801),
            ("lowest RTT is 19.700 ms", |report| subflow(report).min_rtt_us = 19_700),
            ("lowest RTT is 18.000 ms", |report| subflow(report).min_rtt_us = 18_000),
            ("lowest RTT is 20.600 ms", |report| subflow(report).min_rtt_us = 20_600),
            // 1 % of 8000, sigma 8.9.
            ("it lost 140 of", |report| {
                let own = queue(report);
                (own.lost, own.packets, own.bytes) = (140, 7860, 7860 * 1500);
            }),
            ("101 packets waited", |report| queue(report).most_queued = 101),
            ("never more than 90 waited", |report| queue(report).most_queued = 90),
            ("marked 3 packets, and should mark none", |report| queue(report).marked = 3),
            ("segmentation offload", |report| {
                (queue(report).bytes, queue(report).backlogged_bits) = (7920 * 2900, 4000 * 2900 * 8);
                subflow(report).sent_bytes = 8030 * 2848;
            }),
            ("packets of 1400 bytes", |report| subflow(report).mss = 1348),
            ("t counts them as tx_dropped", |report| {
                report.elsewhere.push(("t".into(), "tx_dropped".into(), 3));
            }),
        ];
        for (what, change) in faults {
            let doubts = doubts_of(change);
            assert!(doubts.len() == 1 && doubts[0].contains(what), "{what}: {doubts:?}");
        }
    }

    #[test]
    fn what_chance_and_the_kernels_clock_allow_is_not_doubted() {
        let allowed: [fn(&mut Report); 4] = [
            |report| last(report).busy_ns = 5_900_000_000,
            |report| queue(report).backlogged_packets = 3970,
            // Timestamps count milliseconds.
            |report| subflow(report).min_rtt_us = 19_000,
            |report| queue(report).lost = 110,
        ];
        for change in allowed {
            assert_eq!(doubts_of(change), Vec::<String>::new());
        }
    }

    #[test]
    fn marks_are_missed_where_there_should_be_some() {
        let mut model = scenario().links.remove(0).forward;
        model.ecn_threshold = Some(EcnThreshold::Packets(20));
        let counted = |most_queued, marked| QueueAt { marked, most_queued, ..QueueAt::default() };
        let doubt = marks(&model, &counted(22, 0), true, true).expect("22 are more than 20");
        assert!(doubt.contains("marked nothing, though 22"), "{doubt}");
        for (counted, understand) in [(counted(22, 1), true), (counted(21, 0), true), (counted(99, 0), false)]
        {
            assert_eq!(marks(&model, &counted, true, understand), None, "{counted:?}");
        }
        assert!(marks(&model, &counted(0, 1), false, true).is_some(), "of acknowledgements");
    }
}
