//! Linked slow start: a subflow that joins takes part of a sibling's window, through published words only.

mod common;

use braid_algorithms::layout::{Event, SSTHRESH_INFINITE, Subflow, event_type, subflow_flags};
use braid_algorithms::{Controller, Spec};
use common::Host;

/// Another subflow joins with ten packets. Returns its window.
fn join(host: &mut Host, spec: &str) -> u32 {
    let i = host.view.n as usize;
    host.view.subflow[i] = Subflow {
        cwnd: 10,
        ssthresh: SSTHRESH_INFINITE,
        flags: subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM,
        srtt_us: 50_000,
        mss: 1448,
        cwnd_clamp: u32::MAX,
        id: i as u32 + 1,
        ..Subflow::default()
    };
    host.view.n += 1;
    host.controllers.push(Controller::new(&Spec::parse(spec).unwrap()));
    host.now_us += 10_000;
    host.deliver(i, Event { kind: event_type::INIT, ..Event::default() });
    host.cwnd(i)
}

#[test]
fn what_a_joining_subflow_gets_depends_on_what_the_fastest_sibling_has() {
    for (donor, given, left) in [(40, 10, 30), (20, 10, 10), (19, 9, 10), (6, 3, 3), (5, 3, 5)] {
        let mut host = Host::in_slow_start("lisa", &[(donor, 50_000)]);
        assert_eq!(join(&mut host, "lisa"), given, "of {donor}");
        assert_eq!(host.cwnd(0), donor, "nothing is written to a sibling");
        host.ack(0, 0);
        assert_eq!(host.cwnd(0), left, "the donor gives at its own next event");
        host.ack(0, 0);
        assert_eq!(host.cwnd(0), left, "and only once");
    }
}

#[test]
fn the_donor_is_the_sibling_that_sends_fastest() {
    let mut host = Host::in_slow_start("lisa", &[(40, 200_000), (30, 50_000), (50, 100_000)]);
    assert_eq!(join(&mut host, "lisa"), 10);
    for i in 0..3 {
        host.ack(i, 0);
    }
    assert_eq!((host.cwnd(0), host.cwnd(1), host.cwnd(2)), (40, 20, 50));
}

#[test]
fn two_that_join_at_once_do_not_take_the_same_packets() {
    let mut host = Host::in_slow_start("lisa", &[(26, 10_000)]);
    assert_eq!(join(&mut host, "lisa"), 10);
    assert_eq!(join(&mut host, "lisa"), 8, "half of the 16 that are left");
    host.ack(0, 0);
    assert_eq!(host.cwnd(0), 8);
}

#[test]
fn the_donor_does_not_grow_until_its_flight_fits_its_window() {
    let mut host = Host::in_slow_start("lisa", &[(40, 50_000)]);
    host.view.subflow[0].in_flight = 40;
    join(&mut host, "lisa");
    host.ack(0, 4);
    assert_eq!(host.cwnd(0), 30);
    host.ack(0, 8);
    assert_eq!(host.cwnd(0), 32, "ten packets of flight too many, twelve acknowledged");
}

#[test]
fn nobody_gives_once_its_initial_slow_start_is_over() {
    let mut host = Host::new("lisa", &[(40, 50_000)]);
    assert_eq!(join(&mut host, "lisa"), 10, "the initial window of any new connection");
    // The sibling was in slow start at the request, but lost a packet before it could give.
    let mut host = Host::in_slow_start("lisa", &[(40, 50_000)]);
    join(&mut host, "lisa");
    host.lose(0);
    host.ack(0, 0);
    assert_eq!(host.cwnd(0), 20);
}

#[test]
fn after_slow_start_it_is_the_algorithm_that_was_chosen() {
    let pair = [(20, 50_000), (10, 100_000)];
    for cc in ["lia", "olia", "balia", "mpcubic", "cubic", "reno"] {
        let spec = format!("lisa:cc={cc}");
        let (mut linked, mut plain) = (Host::new(&spec, &pair), Host::new(cc, &pair));
        for step in 0..400 {
            for host in [&mut linked, &mut plain] {
                host.now_us += 20_000;
                host.ack(step % 2, 3);
                if step % 90 == 50 {
                    host.lose(step / 90 % 2);
                }
            }
            assert_eq!(
                (linked.cwnd(0), linked.cwnd(1)),
                (plain.cwnd(0), plain.cwnd(1)),
                "{spec}, step {step}"
            );
        }
    }
}
