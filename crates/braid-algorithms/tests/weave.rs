//! weave: each group takes one CUBIC flow's share, and a loss in an empty queue costs less.

mod common;

use braid_algorithms::layout::{Event, cause, event_type};
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
