//! The detector that compares queueing delays, on known queues; and an operator's hints.

mod common;

use braid_algorithms::layout::{Event, Subflow, event_type};
use common::{Host, equals as host, groups};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// An ACK for two packets.
fn ack(host: &mut Host, i: usize, rtt_us: u32) {
    host.deliver(i, Event { kind: event_type::ON_ACK, acked: 2, rtt_us, ..Event::default() });
}

/// A path through a queue: its RTT with an empty queue, and the part of the RTT before the queue.
#[derive(Clone, Copy)]
struct Path {
    queue: usize,
    base_us: u64,
    ahead_us: u64,
}

/// 0 to 24 ms, different for each queue.
fn waiting_us(queue: usize, at_us: u64) -> u64 {
    let t = at_us as f64 / 1e6;
    let phase = queue as f64;
    let wave = (t * (9.0 + 2.3 * phase) + phase).sin() + (t * (23.0 - 3.1 * phase) + 2.0 * phase).sin();
    (6_000.0 * (2.0 + wave)) as u64
}

/// An ACK for two packets of every subflow each 2 ms for `us`. `extra(i, k)` is added to the RTT of the k-th. If it is
/// not 0 the ACK is for a single packet, as when a delayed-ACK timer held it back.
fn through_queues(host: &mut Host, paths: &[Path], us: u64, extra: impl Fn(usize, u64) -> u64) {
    let start = host.now_us;
    let mut acks = Vec::new();
    for (i, path) in paths.iter().enumerate() {
        for k in 0..us / (2 * MS) {
            let sent = start + k * 2 * MS;
            let late = extra(i, k);
            let rtt = path.base_us + waiting_us(path.queue, sent + path.ahead_us) + late;
            acks.push((sent + rtt, i, rtt as u32, if late > 0 { 1 } else { 2 }));
        }
        host.view.subflow[i].min_rtt_us = path.base_us as u32;
    }
    acks.sort_unstable();
    for (at, i, rtt_us, acked) in acks {
        host.now_us = at.max(host.now_us);
        host.deliver(i, Event { kind: event_type::ON_ACK, acked, rtt_us, ..Event::default() });
    }
}

const IN_TIME: fn(usize, u64) -> u64 = |_, _| 0;

fn by_queue(paths: &[Path], us: u64, extra: impl Fn(usize, u64) -> u64) -> Vec<u16> {
    let mut host = host("split:sbd=queue", paths.len());
    through_queues(&mut host, paths, us, extra);
    groups(&host)
}

fn near(queue: usize) -> Path {
    Path { queue, base_us: 30 * MS, ahead_us: 5 * MS }
}

#[test]
fn who_waits_equally_long_at_the_same_time_waits_in_one_queue() {
    assert_eq!(by_queue(&[near(0), near(0)], 1_500 * MS, IN_TIME), [1, 1]);
    assert_eq!(by_queue(&[near(0), near(1)], 10 * SECOND, IN_TIME), [0, 0]);
    assert_eq!(by_queue(&[near(0)], SECOND, IN_TIME), [0]);
}

#[test]
fn eight_subflows_of_four_queues_are_four_groups() {
    let paths = [0, 1, 2, 3, 0, 1, 2, 3].map(near);
    assert_eq!(by_queue(&paths, 5 * SECOND, IN_TIME), [1, 2, 3, 4, 1, 2, 3, 4]);
}

#[test]
fn a_longer_way_to_the_queue_or_back_from_it_is_found() {
    for ahead_us in [5 * MS, 45 * MS, 85 * MS] {
        let far = Path { queue: 0, base_us: 110 * MS, ahead_us };
        assert_eq!(by_queue(&[near(0), far], 5 * SECOND, IN_TIME), [1, 1], "{ahead_us} us");
        assert_eq!(by_queue(&[far, near(0)], 5 * SECOND, IN_TIME), [1, 1], "{ahead_us} us");
        assert_eq!(by_queue(&[near(1), far], 5 * SECOND, IN_TIME), [0, 0], "{ahead_us} us");
    }
}

#[test]
fn what_a_receivers_timer_delays_does_not_count() {
    let late = |i: usize, k: u64| if k % 5 == i as u64 { 40 * MS } else { 0 };
    assert_eq!(by_queue(&[near(0), near(0)], 3 * SECOND, late), [1, 1]);
}

#[test]
fn quiet_queues_leave_everything_as_it_was() {
    let still = |host: &mut Host, us: u64| {
        for _ in 0..us / (2 * MS) {
            host.now_us += 2 * MS;
            for i in 0..2 {
                ack(host, i, 30_000);
            }
        }
    };
    let mut host = host("split:sbd=queue", 2);
    still(&mut host, 5 * SECOND);
    assert_eq!(groups(&host), [0, 0]);
    through_queues(&mut host, &[near(0), near(0)], 3 * SECOND, IN_TIME);
    still(&mut host, 60 * SECOND);
    assert_eq!(groups(&host), [1, 1]);
    // Until there is evidence: the second one has moved to another queue.
    through_queues(&mut host, &[near(0), near(1)], 3 * SECOND, IN_TIME);
    assert_eq!(groups(&host), [0, 0]);
}

/// Delay of a queue that fills and empties within seconds, with no faster component; different for each queue.
fn slowly_waiting_us(queue: usize, at_us: u64) -> u64 {
    let t = at_us as f64 / 1e6;
    let wave = if queue == 0 { (t * 1.3).sin() + (t * 2.9).sin() } else { (t * 1.9).cos() - (t * 3.7).sin() };
    (8_000.0 * (2.0 + wave)) as u64
}

/// As `through_queues`, on paths of 30 ms, with an ACK each `every[i]` and up to `jitter_us` of independent jitter.
fn through_slow_queues(host: &mut Host, queues: [usize; 2], every: [u64; 2], jitter_us: u64, us: u64) {
    let start = host.now_us;
    let mut acks = Vec::new();
    for i in 0..2 {
        for k in 0..us / every[i] {
            let sent = start + k * every[i] + i as u64 * MS;
            let jitter = (sent.wrapping_add(i as u64 * 77).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)
                % (jitter_us + 1);
            let rtt = 30 * MS + slowly_waiting_us(queues[i], sent + 5 * MS) + jitter;
            acks.push((sent + rtt, i, rtt as u32));
        }
        host.view.subflow[i].min_rtt_us = 30_000;
    }
    acks.sort_unstable();
    for (at, i, rtt_us) in acks {
        host.now_us = at.max(host.now_us);
        ack(host, i, rtt_us);
    }
}

#[test]
fn jitter_of_each_paths_own_hides_no_queue_that_fills_and_empties_in_seconds() {
    for (queues, expected) in [([0, 0], [1, 1]), ([0, 1], [0, 0])] {
        let mut host = host("split:sbd=queue", 2);
        through_slow_queues(&mut host, queues, [2 * MS, 3 * MS], 2 * MS, 20 * SECOND);
        assert_eq!(groups(&host), expected, "{queues:?}");
    }
}

#[test]
fn subflows_that_seldom_send_at_the_same_time_are_found_by_what_takes_seconds() {
    for (queues, expected) in [([0, 0], [1, 1]), ([0, 1], [0, 0])] {
        let mut host = host("split:sbd=queue", 2);
        through_slow_queues(&mut host, queues, [61 * MS, 73 * MS], 0, 30 * SECOND);
        assert_eq!(groups(&host), expected, "{queues:?}");
    }
}

#[test]
fn two_that_are_taken_for_one_are_found_out_when_their_levels_part() {
    let mut host = host("split:sbd=queue", 2);
    through_queues(&mut host, &[near(0), near(0)], 3 * SECOND, IN_TIME);
    assert_eq!(groups(&host), [1, 1]);
    through_slow_queues(&mut host, [0, 1], [2 * MS, 2 * MS], 0, 20 * SECOND);
    assert_eq!(groups(&host), [0, 0]);
}

#[test]
fn what_is_known_of_a_pair_outlives_a_third_subflow_that_leaves() {
    let mut host = host("split:sbd=queue", 3);
    through_queues(&mut host, &[near(1), near(0), near(0)], 3 * SECOND, IN_TIME);
    assert_eq!(groups(&host), [0, 2, 2]);
    // Subflow 0 leaves, and the others move up, as in a kernel's list.
    host.view.subflow.copy_within(1..3, 0);
    host.view.subflow[2] = Subflow::default();
    host.view.n = 2;
    host.controllers.remove(0);
    for _ in 0..20 {
        host.now_us += MS;
        for i in 0..2 {
            ack(&mut host, i, 30_000);
            assert_eq!(groups(&host), [2, 2]);
        }
    }
}

#[test]
fn a_hint_of_the_host_is_believed() {
    for spec in ["split:sbd=hint", "weave:sbd=hint"] {
        a_hint_is_believed_by(spec);
    }
}

fn a_hint_is_believed_by(spec: &str) {
    let mut host = host(spec, 4);
    let hinted = |host: &mut Host, hints: [u32; 4]| {
        for (subflow, hint) in host.view.subflow.iter_mut().zip(hints) {
            subflow.hint = hint;
        }
        for i in 0..4 {
            ack(host, i, 50_000);
        }
        groups(host)
    };
    assert_eq!(hinted(&mut host, [7, 0, 7, 0]), [7, 0, 7, 0]);
    assert_eq!(hinted(&mut host, [7, 9, 9, 8]), [0, 9, 9, 0]);
}
