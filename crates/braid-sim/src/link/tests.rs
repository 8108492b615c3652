//! A link by itself, with arrivals that heed nothing.

use braid_scenario::model::{CoDel, Direction, Discipline, FqCoDel, Loss, QueueLimit};

use super::Link;
use crate::packet::Packet;
use crate::random::Stream;

fn direction(discipline: Discipline, limit: u32) -> Direction {
    Direction {
        rate_bps: 10_000_000,
        delay_ns: 0,
        jitter_ns: 0,
        queue: QueueLimit::Packets(limit),
        loss: Loss::None,
        ecn_threshold: None,
        outages: vec![],
        discipline,
        changes: vec![],
    }
}

/// The packets of `bench/ns3/aqm.cc --mode=open` at 10 Mbit/s with the time each comes, without end.
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

/// Numbers of the packets that the link drops, in that order.
fn dropped(model: &Direction, packets: impl Iterator<Item = (u64, Packet)>, end: u64) -> Vec<u32> {
    let mut link = Link::new(model, Stream::new(1, "test"));
    let mut numbers = Vec::new();
    for (came, packet) in packets.take_while(|&(came, _)| came < end) {
        while let Some(now) = link.planned.filter(|&planned| planned < came) {
            link.arrive(now);
            link.go_on(now, |packet| numbers.push(packet.seq));
        }
        link.offer(came, packet, |packet| numbers.push(packet.seq));
    }
    numbers
}

/// Recorded by `bench/ns3/aqm.py --record` from a model in floating point, which with Linux's control law drops the very
/// packets that ns-3 drops.
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
        // The packet being sent counts here, and not there.
        let model = direction(discipline, limit as u32 + 1);
        let found = dropped(&model, arrivals(load, flows), seconds * 1_000_000_000);
        assert!(expected.len() > 50, "{keys}: {} drops", expected.len());
        assert_eq!(found, expected, "{keys}");
    }
}
