//! weave: a group is one CUBIC flow, and a loss in an empty queue costs less.

mod common;

use braid_algorithms::layout::{Event, SSTHRESH_INFINITE, cause, event_type};
use common::Host;

/// RTTs of a queue that fills and drains, so that its largest delay is known; `last_us` is the last RTT.
fn after_queue(spec: &str, subflows: usize, last_us: u32) -> Host {
    let mut host = Host::new(spec, &vec![(1000, 40_000); subflows]);
    for rtt_us in [40_000, 60_000, 80_000, 60_000, 40_000].into_iter().chain([last_us; 80]) {
        host.now_us += 2_000;
        for i in 0..subflows {
            host.view.subflow[i].last_rtt_us = rtt_us;
            host.ack(i, 2);
        }
    }
    host
}

/// Percent of the window that remains after a congestion event.
fn kept(host: &mut Host, cause: u32) -> u32 {
    let before = host.cwnd(0);
    host.deliver(0, Event { kind: event_type::ON_LOSS, cause, ..Event::default() });
    (100 * host.view.subflow[0].ssthresh + before / 2) / before
}

#[test]
fn a_loss_that_meets_an_empty_queue_costs_less_and_one_that_meets_a_full_one_what_it_costs_cubic() {
    assert_eq!(kept(&mut after_queue("weave", 2, 40_500), cause::FAST_RETRANSMIT), 80);
    assert_eq!(kept(&mut after_queue("weave", 2, 70_000), cause::FAST_RETRANSMIT), 70);
    assert_eq!(kept(&mut after_queue("weave:random=0.7", 2, 40_500), cause::FAST_RETRANSMIT), 70);
}

#[test]
fn marks_are_congestion_and_so_is_every_loss_of_a_single_subflow() {
    assert_eq!(kept(&mut after_queue("weave", 2, 40_500), cause::ECN), 70);
    assert_eq!(kept(&mut after_queue("weave", 1, 40_500), cause::FAST_RETRANSMIT), 70);
}

#[test]
fn before_a_queue_was_seen_no_loss_is_random() {
    let mut host = Host::new("weave", &[(1000, 40_000); 2]);
    for _ in 0..50 {
        host.now_us += 2_000;
        host.ack(0, 2);
        host.ack(1, 2);
    }
    assert_eq!(kept(&mut host, cause::FAST_RETRANSMIT), 70);
}

/// Subflows that know that they share a bottleneck.
fn group(subflows: &[(u32, u32)]) -> Host {
    let mut host = Host::new("weave:sbd=hint", subflows);
    host.view.subflow.iter_mut().for_each(|subflow| subflow.hint = 1);
    (0..subflows.len()).for_each(|i| host.ack(i, 0));
    (0..subflows.len()).for_each(|i| host.ack(i, 1));
    host.now_us += 1_000_000;
    host
}

/// W, the group's window at the RTT of its fastest subflow, with fractions of packets.
fn window(host: &Host) -> f64 {
    let subflows = &host.view.subflow[..host.controllers.len()];
    let fastest = subflows.iter().map(|subflow| subflow.srtt_us).min().unwrap();
    let part = |(i, subflow): (usize, &braid_algorithms::layout::Subflow)| {
        (f64::from(subflow.cwnd) + host.carry(i)) * f64::from(fastest) / f64::from(subflow.srtt_us)
    };
    subflows.iter().enumerate().map(part).sum()
}

/// ACKs of all subflows, evenly over `lasts_us`.
fn run(host: &mut Host, lasts_us: u64) {
    const STEP_US: u64 = 500;
    let n = host.controllers.len();
    let mut due = vec![0.0; n];
    for _ in 0..lasts_us / STEP_US {
        host.now_us += STEP_US;
        for (i, due) in due.iter_mut().enumerate() {
            *due += f64::from(host.cwnd(i)) * STEP_US as f64 / f64::from(host.view.subflow[i].srtt_us);
            while *due >= 1.0 {
                *due -= 1.0;
                host.ack(i, 1);
            }
        }
    }
}

#[test]
fn an_episode_reduces_the_group_once_to_seven_tenths_whoever_loses() {
    let groups: [&[(u32, u32)]; 4] = [
        &[(1000, 40_000); 2],
        &[(2000, 40_000), (500, 40_000), (900, 40_000)],
        &[(1000, 20_000), (3000, 80_000)],
        &[(1000, 40_000); 8],
    ];
    for subflows in groups {
        for loser in 0..subflows.len() {
            let mut host = group(subflows);
            let before = window(&host);
            host.lose(loser);
            for _ in 0..3 {
                (0..subflows.len()).for_each(|i| host.ack(i, 0));
            }
            let kept = window(&host) / before;
            assert!((kept - 717.0 / 1024.0).abs() < 0.002, "{subflows:?}, {loser} loses: {kept}");
        }
    }
}

#[test]
fn the_subflow_that_loses_gives_up_the_larger_part() {
    let mut host = group(&[(1000, 40_000); 2]);
    host.lose(0);
    host.ack(1, 0);
    // 1 - 0.3 (1 + 1/4) and 1 - 0.3 (1 - 1/4), with s = p = 1/2.
    assert_eq!([host.cwnd(0), host.cwnd(1)].map(|w| (w + 5) / 10), [63, 77]);
}

#[test]
fn losses_of_packets_sent_before_the_reduction_belong_to_it() {
    let mut host = group(&[(1000, 40_000); 2]);
    host.lose(0);
    host.ack(1, 0);
    let after = [host.cwnd(0), host.cwnd(1)];
    host.now_us += 39_000;
    host.lose(1);
    host.ack(0, 0);
    assert_eq!([host.cwnd(0), host.cwnd(1)], after);
    host.now_us += 2_000;
    host.lose(1);
    host.ack(0, 0);
    assert!(host.cwnd(0) < after[0] && host.cwnd(1) < after[1]);
}

#[test]
fn a_packet_sent_after_the_loser_reduced_is_a_new_episode_for_a_sibling_that_reduced_later() {
    let mut host = group(&[(1000, 40_000); 2]);
    host.lose(0);
    host.now_us += 10_000;
    host.ack(1, 0);
    let after = host.cwnd(1);
    // Sent 5 ms after the reduction of the first, 5 ms before that of the second.
    host.now_us += 35_000;
    host.lose(0);
    host.ack(1, 0);
    assert!(host.cwnd(1) < after);
}

#[test]
fn the_sum_grows_as_one_cubic_at_the_rtt_of_the_fastest() {
    // In the concave, the convex and the Reno-friendly region.
    #[expect(clippy::type_complexity, reason = "a table")]
    let groups: [(&[(u32, u32)], u32, u64, f64); 4] = [
        (&[(300, 40_000), (700, 40_000)], 1000, 14, 0.001),
        (&[(250, 40_000); 4], 1000, 14, 0.001),
        (&[(400, 40_000), (300, 80_000)], 550, 10, 0.001),
        (&[(20, 20_000), (30, 20_000), (10, 20_000)], 60, 8, 0.005),
    ];
    for (subflows, alone, seconds, tolerance) in groups {
        let mut hosts = [group(subflows), Host::new("cubic", &[(alone, subflows[0].1)])];
        hosts[1].now_us = hosts[0].now_us;
        for host in &mut hosts {
            let before = window(host);
            host.lose(0);
            (0..host.controllers.len()).for_each(|i| host.ack(i, 0));
            assert!(window(host) < 0.71 * before);
        }
        // The group does not grow for an RTT; nor does one CUBIC, which is in recovery then.
        run(&mut hosts[0], u64::from(subflows[0].1) + 500);
        hosts[1].now_us = hosts[0].now_us;
        for _ in 0..seconds {
            for host in &mut hosts {
                run(host, 1_000_000);
            }
            let [ours, theirs] = [window(&hosts[0]), window(&hosts[1])];
            assert!((ours / theirs - 1.0).abs() < tolerance, "{subflows:?}: {ours} and {theirs}");
        }
        assert!(window(&hosts[1]) > f64::from(alone), "it grew beyond its former window");
    }
}

#[test]
fn the_first_slow_start_ends_for_all_when_it_ends_for_one() {
    let mut host = group(&[(100, 40_000); 2]);
    host.view.subflow[1].ssthresh = SSTHRESH_INFINITE;
    host.ack(1, 1);
    assert_eq!(host.view.subflow[1].ssthresh, 100);
    assert_eq!(host.cwnd(1), 100);
}

#[test]
fn a_subflow_with_a_small_share_loses_for_itself() {
    for (small, is_joint) in [(1000, true), (100, false)] {
        let mut host = group(&[(1000, 40_000), (small, 40_000)]);
        host.lose(1);
        host.ack(0, 0);
        assert_eq!(host.cwnd(0) < 1000, is_joint, "{small}");
        assert!(host.cwnd(1) < 71 * small / 100);
    }
}

#[test]
fn a_timeout_of_packets_sent_before_a_reduction_is_no_episode_of_the_others() {
    let mut host = group(&[(1000, 40_000); 2]);
    host.lose(0);
    host.ack(1, 0);
    let after = host.cwnd(0);
    host.now_us += 200_000;
    host.time_out(1);
    host.ack(0, 0);
    assert_eq!(host.cwnd(0), after);
}

/// All ACKs, packet by packet, until nothing falls asleep any more.
fn settle(host: &mut Host) {
    (0..16).for_each(|_| (0..host.controllers.len()).for_each(|i| host.ack(i, 0)));
}

/// The subflows that may send more than a packet in two seconds.
fn awake(host: &Host) -> Vec<usize> {
    (0..host.controllers.len()).filter(|&i| host.view.subflow[i].pacing_rate == 0).collect()
}

#[test]
fn subflows_rest_while_the_group_has_less_than_four_packets_for_each() {
    let mut host = group(&[(3, 40_000), (3, 80_000), (3, 20_000), (3, 40_000)]);
    settle(&mut host);
    assert_eq!(awake(&host), [2], "that with the shortest RTT");
    assert_eq!([0, 1, 3].map(|i| (host.cwnd(i), host.view.subflow[i].pacing_rate)), [(1, 724); 3]);
    assert_eq!(host.cwnd(2), 3);
}

#[test]
fn a_path_that_loses_more_rests_even_with_the_shorter_rtt() {
    let mut host = group(&[(6, 40_000), (1, 30_000)]);
    settle(&mut host);
    assert_eq!(awake(&host), [0]);
}

#[test]
fn subflows_wake_when_the_group_has_four_packets_for_one_more_even_after_a_reduction() {
    let mut host = group(&[(3, 40_000), (3, 40_000), (3, 40_000)]);
    settle(&mut host);
    assert_eq!(awake(&host), [0]);
    for (window, expected) in [(11, 1), (12, 2), (17, 2), (18, 3)] {
        // The first subflow has what the others leave of the group's window.
        host.view.subflow[0].cwnd = window - (1..3).filter(|i| awake(&host).contains(i)).count() as u32 * 4;
        for i in awake(&host).into_iter().skip(1) {
            host.view.subflow[i].cwnd = 4;
        }
        settle(&mut host);
        assert_eq!(awake(&host).len(), expected, "{window}");
    }
}

#[test]
fn a_resting_subflow_wakes_when_the_others_cannot_send_or_the_group_dissolves() {
    for fails in [true, false] {
        let mut host = group(&[(3, 20_000), (3, 40_000)]);
        settle(&mut host);
        assert_eq!(awake(&host), [0]);
        if fails {
            host.view.subflow[0].last_ack_us = host.now_us;
            host.time_out(0);
            host.ack(1, 1);
            assert_eq!(awake(&host), [0], "it may go on soon");
            host.now_us += 2_000_001;
        } else {
            host.view.subflow[1].hint = 0;
        }
        host.ack(1, 1);
        assert_eq!(awake(&host), [0, 1]);
    }
}
