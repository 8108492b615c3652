//! A link by itself, with arrivals that do not react to it.

use std::sync::Arc;

use braid_scenario::model::{
    Change, CoDel, Direction, Discipline, EcnThreshold, FqCoDel, GilbertElliott, Loss, QueueLimit, Red,
};
use braid_scenario::trace::Trace;
use braid_testing::model::link;

use super::Link;
use crate::packet::{Packet, flags};

const MS: u64 = 1_000_000;
/// 1500 bytes at 10 Mbit/s.
const PACKET_NS: u64 = 1_200_000;

fn direction(discipline: Discipline, limit: u32) -> Direction {
    Direction { queue: QueueLimit::Packets(limit), discipline, ..link("b1", 10.0, 0.0).forward }
}

/// The packets of `bench/ns3/aqm.cc --mode=open` at 10 Mbit/s with arrival times, endless.
fn arrivals(load: u64, flows: u64) -> impl Iterator<Item = (u64, Packet)> {
    let mut state = 1_u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 32
    };
    let mean = 80_000_000 / load;
    let mut now = 0;
    (0..).map(move |seq| {
        let mut share = draw() % (flows * (flows + 1) / 2);
        let mut flow = 0;
        while share > flow {
            share -= flow + 1;
            flow += 1;
        }
        let size = if draw() % 2 == 1 { 1469 } else { 531 };
        let came = now;
        now += (draw() * 2 * mean) >> 32;
        (came, Packet { subflow: flow as u32, seq, size, ..Packet::default() })
    })
}

/// Result of offering packets to a link.
#[derive(Default)]
struct Outcome {
    /// Number and time, in order of arrival.
    arrived: Vec<(u32, u64)>,
    /// Numbers, in order of drops.
    dropped: Vec<u32>,
    /// Numbers of packets that arrived with a mark.
    marked: Vec<u32>,
}

fn offer(model: &Direction, packets: impl Iterator<Item = (u64, Packet)>, end: u64) -> Outcome {
    let mut link = Link::new(model, 1, "test", false);
    let Outcome { mut arrived, mut dropped, mut marked } = Outcome::default();
    let mut changes = model.changes.iter().peekable();
    let mut packets = packets.chain([(u64::MAX, Packet::default())]).peekable();
    while let Some(&(came, packet)) = packets.peek() {
        let changes_at = changes.peek().map_or(u64::MAX, |change| change.at_ns);
        let now = came.min(changes_at).min(end);
        while link.planned < now {
            let time = link.planned;
            if let Some(packet) = link.arrive(time, |packet| dropped.push(packet.seq)) {
                arrived.push((packet.seq, time));
                if packet.flags & flags::CE != 0 {
                    marked.push(packet.seq);
                }
            }
        }
        if now == end {
            break;
        }
        if now == changes_at {
            link.change(now, changes.next().unwrap(), |packet| dropped.push(packet.seq));
        } else {
            offer_to(&mut link, came, packet, |packet| dropped.push(packet.seq));
            packets.next();
        }
    }
    Outcome { arrived, dropped, marked }
}

/// A packet arrives at the link.
fn offer_to(link: &mut Link, came: u64, packet: Packet, mut dropped: impl FnMut(&Packet)) {
    let mut flags = packet.flags;
    if link.is_managed() {
        link.offer_managed(came, packet, dropped);
    } else if let Some(arrival) = link.offer(came, came, packet.size, &mut flags) {
        link.carry(Packet { arrival, flags, ..packet });
    } else {
        dropped(&packet);
    }
}

/// `n` packets of 1500 bytes at a fixed interval.
fn regular(n: u32, every: u64) -> impl Iterator<Item = (u64, Packet)> {
    (0..n).map(move |seq| {
        (u64::from(seq) * every, Packet { seq, size: 1500, flags: flags::ECT, ..Packet::default() })
    })
}

/// Recorded by `bench/ns3/aqm.py --record` from a floating-point model, which with Linux's control law drops the same
/// packets as ns-3.
#[test]
fn codel_and_fq_codel_drop_the_packets_that_the_model_drops() {
    let codel = CoDel { target_ns: 5_000_000, interval_ns: 100_000_000, ecn: false };
    for line in include_str!("../../tests/golden/codel-drops.tsv").lines().skip(1) {
        let (keys, expected) = line.rsplit_once('\t').unwrap();
        let expected: Vec<u32> = expected.split(' ').map(|number| number.parse().unwrap()).collect();
        let (discipline, numbers) = keys.split_once('\t').unwrap();
        let discipline = match discipline {
            "CoDel" => Discipline::CoDel(codel),
            _ => Discipline::FqCoDel(FqCoDel { codel, flows: 1024, quantum: 1514 }),
        };
        let numbers: Vec<u64> = numbers.split('\t').map(|number| number.parse().unwrap()).collect();
        let [load, limit, flows, seconds] = numbers.try_into().unwrap();
        // The packet being sent counts here, but not in ns-3.
        let model = direction(discipline, limit as u32 + 1);
        let found = offer(&model, arrivals(load, flows), seconds * 1_000_000_000).dropped;
        assert!(expected.len() > 50, "{keys}: {} drops", expected.len());
        assert_eq!(found, expected, "{keys}");
    }
}

const LTE: &str = include_str!("../../../../scenarios/traces/lte-drive.trace");

fn traced(text: &str, limit: u32) -> Direction {
    let trace = Trace::parse("test", text).unwrap_or_else(|problem| panic!("{problem}"));
    Direction { trace: Some(Arc::new(trace)), ..direction(Discipline::DropTail, limit) }
}

/// Times of the opportunities after the start, read from the file alone.
fn opportunities(text: &str) -> impl Iterator<Item = u64> {
    let times: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let period = *times.last().unwrap();
    (0..)
        .flat_map(move |cycle| times.clone().into_iter().map(move |ms| (cycle * period + ms) * MS))
        .filter(|&time| time > 0)
}

#[test]
fn a_full_queue_leaves_by_a_trace_to_the_packet() {
    // Each packet takes 4 bytes more than its size of an opportunity's 1504 bytes.
    for (size, cost) in [(1500_u16, 1504), (1000, 1004), (52, 56), (9000, 9004)] {
        let packets = (0..100_000).map(|seq| (0, Packet { size, seq, ..Packet::default() }));
        let end = 40_000 * MS;
        let found = offer(&traced(LTE, u32::MAX), packets, end).arrived;
        let mut expected = Vec::new();
        for (nth, time) in opportunities(LTE).take_while(|&time| time < end).enumerate() {
            let delivered = ((nth as u64 + 1) * 1504 / cost).min(100_000);
            expected.resize(delivered as usize, time);
        }
        let times: Vec<u64> = found.iter().map(|&(_, time)| time).collect();
        assert!(expected.len() > 3_000, "{size}: {}", expected.len());
        assert!(times == expected, "{size}: {} packets, expected {}", times.len(), expected.len());
        assert!(found.iter().enumerate().all(|(nth, &(seq, _))| nth == seq as usize));
    }
}

/// mahimahi's rule: the rest of an opportunity goes to the next waiting packet, and is lost if none waits. A packet
/// cannot use an opportunity at its own arrival time.
#[test]
fn a_queue_that_runs_empty_leaves_by_a_trace_as_in_mahimahi() {
    let text = "1\n1\n3\n4\n4\n4\n9\n";
    // 7 opportunities in 9 ms are 9.4 Mbit/s; packets of 1000 bytes arrive at about the same rate.
    let packets: Vec<_> = arrivals(90, 1).take(20_000).collect();
    let found = offer(&traced(text, u32::MAX), packets.iter().copied(), u64::MAX - 1).arrived;
    let mut expected = Vec::new();
    let mut waiting = packets.iter().peekable();
    let mut left = 0;
    let mut unused = 0;
    for time in opportunities(text) {
        let mut bytes = 1504;
        while bytes > 0 {
            if left == 0 {
                let Some((_, packet)) = waiting.next_if(|(came, _)| *came < time) else { break };
                left = u32::from(packet.size) + 4;
            }
            let part = bytes.min(left);
            (bytes, left) = (bytes - part, left - part);
            if left == 0 {
                expected.push((expected.len() as u32, time));
            }
        }
        unused += u32::from(bytes == 1504);
        if expected.len() == packets.len() {
            break;
        }
    }
    assert!(unused > 100, "the queue ran empty {unused} times");
    assert!(found == expected);
}

#[test]
fn the_time_that_a_trace_was_busy_is_the_time_its_used_opportunities_stand_for() {
    let busy = |n| {
        let mut link = Link::new(&traced("2\n2\n10\n", 1000), 1, "test", false);
        for (came, packet) in regular(n, 0) {
            offer_to(&mut link, came, packet, |_| {});
        }
        while link.planned != super::NEVER {
            link.arrive(link.planned, |_| {});
        }
        link.counts(super::NEVER).busy_ns
    };
    assert_eq!([1, 2, 3, 4, 6].map(busy), [MS, 2 * MS, 10 * MS, 11 * MS, 20 * MS]);
}

#[test]
fn a_link_that_goes_down_drops_its_queue_or_keeps_it() {
    let switch = |at_ns, up| Change { at_ns, up: Some(up), ..Change::default() };
    let mut model = direction(Discipline::DropTail, 100);
    model.changes = vec![switch(6_100_000, false), switch(20 * MS, true)];
    // Twice as many packets as the link can send; at 6.1 ms packet 5 is being sent, and 6 to 10 wait.
    let packets = || regular(40, PACKET_NS / 2);
    let dropping = offer(&model, packets(), u64::MAX - 1);
    // Packet 33 arrives at 19.8 ms, 34 at 20.4 ms.
    assert_eq!(dropping.dropped, (6..34).collect::<Vec<u32>>());
    assert_eq!(dropping.arrived[5], (5, 6 * PACKET_NS), "what was being sent is finished");
    assert_eq!(dropping.arrived[6], (34, 34 * PACKET_NS / 2 + PACKET_NS));
    let keeping = offer(&Direction { keeps_queue: true, ..model.clone() }, packets(), u64::MAX - 1);
    assert!(keeping.dropped.is_empty());
    assert_eq!(keeping.arrived.len(), 40);
    assert_eq!(keeping.arrived[5], (5, 6 * PACKET_NS));
    assert_eq!(keeping.arrived[6], (6, 20 * MS + PACKET_NS), "it goes on where it stopped");
    let short = Direction { queue: QueueLimit::Packets(10), keeps_queue: true, ..model };
    let short = offer(&short, packets(), u64::MAX - 1);
    assert!(short.dropped.len() > 10 && short.dropped[0] == 16, "ten wait from 6 on: {:?}", short.dropped);
}

#[test]
fn a_trace_goes_on_after_the_time_it_was_down() {
    let switch = |at: u64, up| Change { at_ns: at * MS + 1, up: Some(up), ..Change::default() };
    let mut model = traced("1\n", 100);
    model.changes = vec![switch(3, false), switch(7, true)];
    model.keeps_queue = true;
    let times: Vec<u64> =
        offer(&model, regular(6, 0), u64::MAX - 1).arrived.iter().map(|at| at.1 / MS).collect();
    assert_eq!(times, [1, 2, 3, 8, 9, 10]);
}

#[test]
fn a_shorter_queue_keeps_what_waits_and_takes_nobody_until_there_is_room() {
    for discipline in [
        Discipline::DropTail,
        Discipline::CoDel(CoDel { target_ns: 1 << 40, interval_ns: 1 << 41, ecn: false }),
    ] {
        let mut model = direction(discipline, 20);
        let shorter = Change { at_ns: 12_100_000, queue: Some(QueueLimit::Packets(5)), ..Change::default() };
        model.changes = vec![shorter];
        let found = offer(&model, regular(40, PACKET_NS / 2), u64::MAX - 1);
        // At 12.1 ms packets 10 to 20 wait; packet 17 is sent from 20.4 ms on, when packet 34 arrives.
        let expected: Vec<_> = (0..21).map(|n| (n, u64::from(n + 1) * PACKET_NS)).collect();
        assert_eq!(found.arrived[..21], expected);
        assert_eq!(found.dropped[0], 21);
        assert_eq!(found.arrived[21].0, 34, "with it there are four, so there is room");
    }
}

#[test]
fn packets_are_marked_from_a_length_in_packets_or_bytes_or_from_a_waiting_time() {
    let marked = |threshold| {
        let mut model = direction(Discipline::DropTail, 1000);
        model.ecn_threshold = Some(threshold);
        offer(&model, regular(40, PACKET_NS / 2), u64::MAX - 1).marked
    };
    // Packet n finds the queue (n + 1) / 2 long, the one being sent included, and waits n / 2 times 1.2 ms.
    assert_eq!(marked(EcnThreshold::Packets(10))[0], 19);
    assert_eq!(marked(EcnThreshold::Bytes(15_000))[0], 19);
    assert_eq!(marked(EcnThreshold::Wait(6 * MS))[0], 10);
    assert_eq!(marked(EcnThreshold::Packets(10)).len(), 21);
    assert_eq!(marked(EcnThreshold::Wait(6 * MS)).len(), 30);
}

#[test]
fn codel_marks_what_waited_longer_than_a_threshold_of_its_own() {
    let codel = CoDel { target_ns: 1 << 40, interval_ns: 1 << 41, ecn: true };
    let mut model = direction(Discipline::CoDel(codel), 1000);
    model.ecn_threshold = Some(EcnThreshold::Wait(6 * MS));
    assert_eq!(
        offer(&model, regular(40, PACKET_NS / 2), u64::MAX - 1).marked,
        (10..40).collect::<Vec<u32>>()
    );
}

#[test]
fn red_marks_instead_of_dropping_while_it_is_early() {
    let red = Red { min: 5, max: 15, probability: 0.1, weight: 0.02, gentle: true, ecn: false };
    let outcome = |ecn, n| {
        let model = direction(Discipline::Red(Red { ecn, ..red }), 1000);
        offer(&model, regular(n, PACKET_NS * 95 / 100), u64::MAX - 1)
    };
    let dropping = outcome(false, 5_000);
    assert!(dropping.marked.is_empty());
    // The load is 5 % too high, so about one packet in 20 is dropped.
    assert!((180..300).contains(&dropping.dropped.len()), "{}", dropping.dropped.len());
    let marking = outcome(true, 400);
    assert!(marking.marked.len() > 3 && marking.dropped.is_empty(), "{:?}", marking.marked);
}

/// `bench/ns2/red.tcl load=1.05 rate=10e6 duration=320` has Poisson arrivals at 105.14 % of the rate for 300 s. With
/// seeds 1 to 3 its mean queue is 30.2 packets, without the packet being sent, and it drops 5.2 % of the packets.
#[test]
fn red_holds_the_queue_where_that_of_ns_2_does() {
    // Here the packet being sent counts.
    let red = Red { min: 21, max: 61, probability: 0.1, weight: 0.002, gentle: true, ecn: false };
    let mut link = Link::new(&direction(Discipline::Red(red), 1000), 1, "test", false);
    let mut random = crate::random::Stream::new(1, "arrivals");
    let end = 320_000 * MS;
    let (mut came, mut counted) = (0.0, None);
    let mut n = 0;
    while (came as u64) < end {
        let now = came as u64;
        while link.planned < now {
            link.arrive(link.planned, |_| {});
        }
        if now > 20_000 * MS && counted.is_none() {
            counted = Some((link.counts(now), n));
        }
        offer_to(&mut link, now, Packet { size: 1500, ..Packet::default() }, |_| {});
        n += 1;
        let uniform = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        came += -(1.0 - uniform).ln() * PACKET_NS as f64 / 1.0514;
    }
    let (before, earlier) = counted.unwrap();
    let counts = link.counts(end);
    let seconds = 300e9;
    let waiting = (counts.queue_integral - before.queue_integral) as f64 / seconds
        - (counts.busy_ns - before.busy_ns) as f64 / seconds;
    assert!((waiting / 30.2 - 1.0).abs() < 0.03, "{waiting} packets on average");
    let dropped = (counts.drops_queue - before.drops_queue) as f64 / f64::from(n - earlier);
    assert!((dropped - 0.052).abs() < 0.003, "{dropped} dropped");
}

#[test]
fn jitter_reorders_packets_only_if_it_may() {
    let mut model =
        Direction { jitter_ns: 5 * MS, delay_ns: 10 * MS, ..direction(Discipline::DropTail, 1000) };
    let packets = || regular(1000, PACKET_NS);
    let late = |outcome: &Outcome| outcome.arrived.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
    let in_order = offer(&model, packets(), u64::MAX - 1);
    assert_eq!((in_order.arrived.len(), late(&in_order)), (1000, 0));
    model.reordering = true;
    let found = offer(&model, packets(), u64::MAX - 1);
    assert_eq!(found.arrived.len(), 1000);
    assert!((200..500).contains(&late(&found)), "{}", late(&found));
    // Each packet's delay is independent and uniform between 10 and 15 ms.
    let extra = |&(seq, time): &(u32, u64)| time - u64::from(seq + 1) * PACKET_NS - 10 * MS;
    let mean = found.arrived.iter().map(extra).sum::<u64>() / 1000;
    assert!(
        found.arrived.iter().all(|at| extra(at) < 5 * MS) && mean.abs_diff(5 * MS / 2) < MS / 5,
        "{mean}"
    );
    assert!(found.arrived.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert_eq!(found.arrived, offer(&model, packets(), u64::MAX - 1).arrived, "the same each time");
}

/// Run lengths of lost packets on a whole link, against a geometric distribution: chi-square with 9 degrees of freedom,
/// whose 99.9 % quantile is 27.9. The same test rejects lengths that are 10 % off.
#[test]
fn a_link_loses_packets_in_bursts_as_long_as_configured() {
    let chain = GilbertElliott { to_bad: 0.02, to_good: 0.4, loss_good: 0.0, loss_bad: 1.0 };
    let model = Direction { loss: Loss::GilbertElliott(chain), ..direction(Discipline::DropTail, 10) };
    let mut link = Link::new(&model, 1, "test", false);
    let mut lengths = [0_u32; 10];
    let mut run = 0;
    for (came, packet) in regular(400_000, PACKET_NS) {
        offer_to(&mut link, came, packet, |_| panic!("the queue never fills"));
        while link.planned != super::NEVER {
            let packet = link.arrive(link.planned, |_| {}).expect("a link without AQM plans arrivals only");
            if packet.flags & flags::LOST != 0 {
                run += 1;
            } else if run > 0 {
                lengths[run.min(lengths.len()) - 1] += 1;
                run = 0;
            }
        }
    }
    let bursts = f64::from(lengths.iter().sum::<u32>());
    let statistic = |to_good: f64| {
        let share = |at: usize| (1.0 - to_good).powi(at as i32) * if at < 9 { to_good } else { 1.0 };
        let term =
            |(at, &n): (usize, &u32)| (f64::from(n) - bursts * share(at)).powi(2) / (bursts * share(at));
        lengths.iter().enumerate().map(term).sum::<f64>()
    };
    assert!((bursts / (400_000.0 / (1.0 / 0.02 + 1.0 / 0.4)) - 1.0).abs() < 0.03, "{bursts} bursts");
    assert!(statistic(0.4) < 27.9, "chi-square {}: {lengths:?}", statistic(0.4));
    assert!(statistic(0.36) > 27.9 && statistic(0.44) > 27.9, "{} {}", statistic(0.36), statistic(0.44));
}
