//! Whole runs: properties of any correct transport and network.

mod common;

use braid_results::measure::Measurements;
use braid_scenario::model::{
    Change, CoDel, Connection, Discipline, EcnThreshold, FqCoDel, GilbertElliott, Loss, QueueLimit,
};
use braid_schedulers::Scheduler;
use braid_sim::observe::{At, Event, Observer};
use braid_testing::within;
use common::{connection, goodput, link, run, run_scheduled, scenario, share};
use proptest::prelude::*;

#[test]
fn one_flow_fills_its_link_and_no_more() {
    for cc in ["reno", "cubic"] {
        let result = run(
            &scenario(60.0, vec![link("b1", 10.0, 10.0)], vec![connection("tcp0", None, &[&[0]])]),
            cc,
            1,
        );
        let payload = 10.0 * 1448.0 / 1500.0;
        within(goodput(&result, 0) / payload, 0.97..=1.0);
    }
}

/// The kernel delivers 4.12 Mbit/s of 20 through a queue of three packets. Without timing noise packets find room that
/// no real network has: 16 Mbit/s.
#[test]
fn noise_decides_ties_in_a_short_queue_by_the_seed() {
    let mut short = link("b1", 20.0, 15.0);
    short.forward.queue = QueueLimit::Packets(3);
    let bytes = |short: &braid_scenario::model::Link| {
        // Then the receiver soon acknowledges only every second packet.
        let flow = Connection { receive_buffer: 1 << 18, ..connection("tcp0", None, &[&[0]]) };
        let scenario = scenario(16.0, vec![short.clone()], vec![flow]);
        [1, 2, 3].map(|seed| run(&scenario, "cubic", seed).connections[0].goodput_bytes)
    };
    let exact = bytes(&short);
    let mbit = |bytes: u64| bytes as f64 * 8.0 / 16e6;
    assert!(mbit(exact[0]) > 10.0 && exact == [exact[0]; 3], "{exact:?}");
    short.forward.noise_ns = 600_000;
    let noisy = bytes(&short);
    assert!(
        noisy.iter().all(|&bytes| (3.0..5.0).contains(&mbit(bytes))) && noisy[0] != noisy[1],
        "{noisy:?}"
    );
}

#[test]
fn a_connection_starts_later_by_a_time_of_its_seed() {
    let mut flow = connection("tcp0", None, &[&[0]]);
    (flow.start_ns, flow.start_noise_ns) = (1_000, 100_000_000);
    let starts: Vec<u64> = (1..=1000).map(|seed| braid_sim::start_ns(&flow, seed)).collect();
    assert!(starts.iter().all(|start| (1_000..100_001_000).contains(start)));
    let mean = starts.iter().sum::<u64>() as f64 / 1000.0;
    assert!((45e6..55e6).contains(&mean), "{mean}: over five standard errors off");
}

#[test]
fn goodput_counts_from_the_drawn_start() {
    let mut flow = connection("tcp0", None, &[&[0]]);
    flow.start_noise_ns = 4_000_000_000;
    let scenario = scenario(8.0, vec![link("b1", 10.0, 10.0)], vec![flow.clone()]);
    for seed in [1, 2, 3] {
        let active_ns = run(&scenario, "reno", seed).connections[0].active_ns;
        assert_eq!(active_ns, 8_000_000_000 - braid_sim::start_ns(&flow, seed));
    }
}

#[test]
fn a_threshold_at_the_initial_window_leaves_no_slow_start() {
    let mut flow = connection("tcp0", None, &[&[0]]);
    flow.initial_ssthresh = Some(10);
    flow.delayed_ack = false;
    // Ten round trips of 100 ms on an empty link: the handshake, then windows that grow by one packet each.
    let result = run(&scenario(1.05, vec![link("b1", 1000.0, 50.0)], vec![flow]), "reno", 1);
    let last = *result.connections[0].subflows[0].cwnd_samples.last().unwrap();
    assert!((17..=19).contains(&last), "{last}");
}

/// Bytes newly acknowledged by each acknowledgement.
struct Advances(u64, Vec<u64>);

impl Observer for Advances {
    fn observe(&mut self, _: At, event: &Event) {
        if let Event::Acknowledgement(acknowledgement) = event {
            self.1.push(acknowledgement.next - self.0);
            self.0 = acknowledgement.next;
        }
    }
}

#[test]
fn each_packet_is_acknowledged_while_the_receivers_window_opens_and_every_second_from_then_on() {
    let mut flow = connection("tcp0", None, &[&[0]]);
    flow.receive_buffer = 1280 * 1448;
    let scenario = scenario(2.0, vec![link("b1", 20.0, 20.0)], vec![flow]);
    let mut advances = Advances(0, Vec::new());
    let spec = braid_algorithms::Spec::parse("reno").unwrap();
    braid_sim::run_observed(&scenario, &spec, 1, braid_sim::Options::default(), &mut advances).unwrap();
    // 15 of 128 packets of the buffer, and the first 16.
    let (opening, open) = advances.1[..150 + 16 + 50].split_at(150 + 16);
    assert!(opening.iter().all(|bytes| *bytes == 1448), "{opening:?}");
    assert!(open.iter().all(|bytes| *bytes == 2 * 1448), "{open:?}");
}

#[test]
fn two_equal_flows_share_a_link_fairly() {
    let flows = vec![connection("tcp0", None, &[&[0]]), connection("tcp1", None, &[&[0]])];
    let mut bottleneck = link("b1", 10.0, 10.0);
    bottleneck.forward.jitter_ns = 100_000;
    let result = run(&scenario(300.0, vec![bottleneck], flows), "reno", 1);
    let ratio = goodput(&result, 0) / goodput(&result, 1);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

#[test]
fn another_flow_elsewhere_does_not_disturb_a_flow() {
    let mut lossy = link("b1", 20.0, 10.0);
    lossy.forward.loss = Loss::Bernoulli(0.002);
    let one = vec![connection("tcp0", None, &[&[0]])];
    let two = vec![one[0].clone(), connection("tcp1", None, &[&[1]])];
    let alone = run(&scenario(30.0, vec![lossy.clone()], one), "reno", 1);
    let beside = run(&scenario(30.0, vec![lossy, link("b2", 5.0, 30.0)], two), "reno", 1);
    assert_eq!(alone.connections[0], beside.connections[0]);
}

#[test]
fn a_multipath_connection_uses_both_of_its_links() {
    let links = vec![link("b1", 10.0, 10.0), link("b2", 5.0, 20.0)];
    let scenario = scenario(60.0, links, vec![connection("mp0", None, &[&[0], &[1]])]);
    for cc in ["reno", "cubic", "lia", "olia", "balia", "dlia", "dolia"] {
        let result = run(&scenario, cc, 1);
        let payload = 15.0 * 1420.0 / 1500.0;
        assert!(goodput(&result, 0) / payload > 0.9, "{cc}: {} of {payload} Mbit/s", goodput(&result, 0));
        assert!(goodput(&result, 0) <= payload, "{cc}");
    }
}

#[test]
fn coupling_takes_one_share_of_a_bottleneck_where_uncoupled_takes_two() {
    let mut bottleneck = link("b1", 20.0, 20.0);
    bottleneck.forward.jitter_ns = 100_000;
    let flows = vec![connection("mp0", None, &[&[0], &[0]]), connection("tcp0", Some("reno"), &[&[0]])];
    let scenario = scenario(300.0, vec![bottleneck], flows);
    let ratio = |cc| {
        let result = run(&scenario, cc, 1);
        goodput(&result, 0) / goodput(&result, 1)
    };
    assert!((1.5..2.6).contains(&ratio("reno")), "uncoupled: {}", ratio("reno"));
    for cc in ["lia", "olia", "balia"] {
        assert!((0.6..1.5).contains(&ratio(cc)), "{cc}: {}", ratio(cc));
    }
}

#[test]
fn olia_moves_away_from_the_lossy_path() {
    let mut lossy = link("b2", 10.0, 10.0);
    lossy.forward.loss = Loss::Bernoulli(0.02);
    let mut clean = link("b1", 10.0, 10.0);
    clean.forward.loss = Loss::Bernoulli(0.001);
    let scenario = scenario(120.0, vec![clean, lossy], vec![connection("mp0", None, &[&[0], &[1]])]);
    let result = run(&scenario, "olia", 1);
    assert!(share(&result, 0, 0) > 0.85, "{}", share(&result, 0, 0));
}

#[test]
fn wvegas_fills_a_free_path_as_far_as_slow_start_went() {
    // 67 packets fill the path.
    let mut path = link("b1", 20.0, 20.0);
    path.forward.queue = QueueLimit::Packets(67);
    for threshold in [20, 30] {
        let mut flow = connection("tcp0", None, &[&[0]]);
        flow.initial_ssthresh = Some(threshold);
        // The first few packets are acknowledged one by one: such acknowledgements make no bursts.
        flow.receive_buffer = 128 * 1448;
        let result = run(&scenario(60.0, vec![path.clone()], vec![flow]), "wvegas", 1);
        let windows = &result.connections[0].subflows[0].cwnd_samples[20..];
        let (least, most) = (*windows.iter().min().unwrap(), *windows.iter().max().unwrap());
        assert!(least < threshold && (threshold..=threshold + 5).contains(&most), "{least} to {most}");
    }
}

#[test]
fn a_small_receive_buffer_limits_the_rate_to_a_buffer_per_rtt() {
    let mut limited = connection("tcp0", None, &[&[0]]);
    limited.receive_buffer = 20 * 1448;
    let result = run(&scenario(60.0, vec![link("b1", 100.0, 50.0)], vec![limited]), "cubic", 1);
    let expected = 20.0 * 1448.0 * 8.0 / 0.1e6;
    within(goodput(&result, 0) / expected, 0.97..1.01);
    assert_eq!(result.connections[0].subflows[0].retransmissions, 0);
}

#[test]
fn an_autotuned_receive_buffer_grows_until_it_no_longer_limits_but_no_further_than_it_may() {
    let rate = |autotuning, buffer| {
        let mut flow = connection("tcp0", None, &[&[0]]);
        (flow.autotuning, flow.receive_buffer) = (autotuning, buffer);
        let links = vec![link("b1", 20.0, 100.0)];
        goodput(&run(&scenario(30.0, links, vec![flow]), "cubic", 1), 0)
    };
    let (ample, grows, first) = (rate(false, 1 << 26), rate(true, 1 << 26), rate(false, 65_536));
    assert!(first < 3.0 && grows > 0.97 * ample, "{first} {grows} {ample}");
    let (most, no_more) = (rate(true, 262_144), 262_144.0 * 8.0 / 0.2e6);
    assert!((0.9..1.01).contains(&(most / no_more)), "{most} of {no_more}");
}

#[test]
fn the_slowest_subflow_says_how_much_an_autotuned_receive_buffer_has_to_hold() {
    let rate = |autotuning| {
        let mut flow = connection("mp0", None, &[&[0], &[1]]);
        flow.autotuning = autotuning;
        let links = vec![link("b1", 10.0, 5.0), link("b2", 10.0, 50.0)];
        goodput(&run(&scenario(60.0, links, vec![flow]), "cubic", 1), 0)
    };
    let (ample, grows) = (rate(false), rate(true));
    assert!(grows > 0.97 * ample, "{grows} {ample}");
}

#[test]
fn a_send_buffer_limits_the_rate_to_a_buffer_per_rtt() {
    let mut limited = connection("tcp0", None, &[&[0]]);
    limited.send_buffer = Some(20 * 1448);
    let result = run(&scenario(60.0, vec![link("b1", 100.0, 50.0)], vec![limited]), "cubic", 1);
    // The application refills it when a third of it is free.
    let expected = 20.0 * 1448.0 * 8.0 / 0.1e6;
    let used = goodput(&result, 0) / expected;
    assert!((0.66..1.01).contains(&used), "{used}");
}

#[test]
fn a_marking_queue_holds_the_rate_without_losing_anything() {
    let mut marking = link("b1", 10.0, 10.0);
    marking.forward.ecn_threshold = Some(EcnThreshold::Packets(20));
    let mut flow = connection("tcp0", None, &[&[0]]);
    flow.ecn = true;
    let result = run(&scenario(60.0, vec![marking], vec![flow]), "reno", 1);
    let subflow = &result.connections[0].subflows[0];
    assert!(subflow.ecn_reductions > 10, "{}", subflow.ecn_reductions);
    assert_eq!((subflow.retransmissions, subflow.timeouts), (0, 0));
    // Marking by the instantaneous queue also marks the packet with CWR, so some windows are reduced twice.
    assert!(goodput(&result, 0) > 8.5, "{}", goodput(&result, 0));
}

#[test]
fn lost_acknowledgements_cost_little() {
    let mut lossy = link("b1", 10.0, 10.0);
    lossy.reverse.loss = Loss::Bernoulli(0.1);
    let result = run(&scenario(60.0, vec![lossy], vec![connection("tcp0", None, &[&[0]])]), "cubic", 1);
    assert!(goodput(&result, 0) > 9.0, "{}", goodput(&result, 0));
    assert!(result.connections[0].subflows[0].retransmissions < 600);
}

#[test]
fn measuring_begins_after_the_warm_up() {
    let mut warm = scenario(60.0, vec![link("b1", 10.0, 10.0)], vec![connection("tcp0", None, &[&[0]])]);
    warm.warmup_ns = 20_000_000_000;
    warm.cooldown_ns = 10_000_000_000;
    let result = run(&warm, "cubic", 1);
    assert_eq!(result.measured_ns, 30_000_000_000);
    assert_eq!(result.connections[0].active_ns, 30_000_000_000);
    assert!((9.4..9.66).contains(&goodput(&result, 0)), "{}", goodput(&result, 0));
    assert!(result.links[0].forward.busy_ns <= 30_100_000_000);
}

#[test]
fn ipv6_costs_twenty_bytes_of_each_packet() {
    let goodput = |extra: u32| {
        let mut flow = connection("tcp0", None, &[&[0]]);
        (flow.ip_header, flow.mss) = (20 + extra, flow.mss - extra);
        (flow.data_header, flow.ack_size) = (flow.data_header + extra, flow.ack_size + extra);
        let result = run(&scenario(60.0, vec![link("b1", 10.0, 10.0)], vec![flow]), "cubic", 1);
        goodput(&result, 0)
    };
    let ratio = goodput(20) / goodput(0);
    assert!((ratio / (1428.0 / 1448.0) - 1.0).abs() < 0.002, "{ratio}");
}

fn codel() -> CoDel {
    CoDel { target_ns: 5_000_000, interval_ns: 100_000_000, ecn: false }
}

fn mean_rtt_ms(result: &Measurements, connection: usize) -> f64 {
    let subflow = &result.connections[connection].subflows[0];
    subflow.rtt_sum_us as f64 / subflow.rtt_samples as f64 / 1e3
}

#[test]
fn codel_keeps_the_queue_short_where_drop_tail_fills_it() {
    let mut managed = link("b1", 20.0, 20.0);
    managed.forward.queue = QueueLimit::Packets(1000);
    let flows = vec![connection("tcp0", None, &[&[0]]), connection("tcp1", None, &[&[0]])];
    let full = run(&scenario(60.0, vec![managed.clone()], flows.clone()), "cubic", 1);
    managed.forward.discipline = Discipline::CoDel(codel());
    let short = run(&scenario(60.0, vec![managed], flows), "cubic", 1);
    assert!(mean_rtt_ms(&full, 0) > 200.0, "the premise: {} ms", mean_rtt_ms(&full, 0));
    assert!((42.0..60.0).contains(&mean_rtt_ms(&short, 0)), "{} ms", mean_rtt_ms(&short, 0));
    assert!(goodput(&short, 0) + goodput(&short, 1) > 0.95 * 20.0 * 1448.0 / 1500.0);
}

#[test]
fn codel_with_ecn_marks_and_drops_nothing() {
    let mut managed = link("b1", 20.0, 20.0);
    managed.forward.queue = QueueLimit::Packets(1000);
    managed.forward.discipline = Discipline::CoDel(CoDel { ecn: true, ..codel() });
    let mut flow = connection("tcp0", None, &[&[0]]);
    flow.ecn = true;
    let result = run(&scenario(60.0, vec![managed], vec![flow]), "reno", 1);
    let counts = &result.links[0].forward;
    assert!(counts.marks > 5, "{}", counts.marks);
    assert_eq!((counts.drops_queue, result.connections[0].subflows[0].retransmissions), (0, 0));
}

#[test]
fn fq_codel_gives_each_flow_its_share_and_a_gentle_flow_a_short_queue() {
    let mut managed = link("b1", 20.0, 20.0);
    managed.forward.queue = QueueLimit::Packets(10_240);
    managed.forward.discipline = Discipline::FqCoDel(FqCoDel { codel: codel(), flows: 1024, quantum: 1514 });
    // One Reno, one CUBIC and an MPTCP connection, whose two subflows count as separate flows.
    let flows = vec![
        connection("tcp0", Some("reno"), &[&[0]]),
        connection("tcp1", Some("cubic"), &[&[0]]),
        connection("mp0", Some("reno"), &[&[0], &[0]]),
    ];
    let result = run(&scenario(120.0, vec![managed], flows), "reno", 1);
    let quarter = 20.0 / 4.0 * 1448.0 / 1500.0;
    for tcp in [0, 1] {
        assert!((0.9..1.1).contains(&(goodput(&result, tcp) / quarter)), "{tcp}: {}", goodput(&result, tcp));
    }
    assert!((1.8..2.2).contains(&(goodput(&result, 2) / quarter)), "{}", goodput(&result, 2));
}

#[test]
fn a_rate_that_changes_is_followed_to_the_packet() {
    let mut changing = link("b1", 20.0, 10.0);
    let change = |at_s: u64, rate: u64| Change {
        at_ns: at_s * 1_000_000_000,
        rate_bps: Some(rate),
        ..Change::default()
    };
    changing.forward.changes = vec![change(20, 2_000_000), change(40, 10_000_000)];
    let result = run(&scenario(60.0, vec![changing], vec![connection("tcp0", None, &[&[0]])]), "cubic", 1);
    let possible = (20.0 * 20.0 + 2.0 * 20.0 + 10.0 * 20.0) / 60.0 * 1448.0 / 1500.0;
    within(goodput(&result, 0) / possible, 0.95..=1.0);
    assert!(result.links[0].forward.busy_ns <= 60_010_000_000);
}

#[test]
fn a_shorter_path_never_overtakes_what_is_on_its_way() {
    let mut changing = link("b1", 10.0, 50.0);
    changing.forward.queue = QueueLimit::Packets(10_000);
    changing.forward.changes =
        vec![Change { at_ns: 5_000_000_000, delay_ns: Some(1_000_000), ..Change::default() }];
    let mut limited = connection("tcp0", None, &[&[0]]);
    limited.receive_buffer = 60 * 1448;
    let result = run(&scenario(20.0, vec![changing], vec![limited]), "reno", 1);
    assert_eq!(result.connections[0].subflows[0].retransmissions, 0);
    assert!(goodput(&result, 0) > 8.0, "{}", goodput(&result, 0));
}

#[test]
fn loss_in_bursts_costs_fewer_episodes_than_the_same_loss_spread_out() {
    let mut bursty = link("b1", 50.0, 20.0);
    bursty.forward.queue = QueueLimit::Packets(1000);
    let chain = GilbertElliott { to_bad: 0.0005, to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    bursty.forward.loss = Loss::GilbertElliott(chain);
    let mut spread = bursty.clone();
    spread.forward.loss = Loss::Bernoulli(chain.mean());
    let flow = vec![connection("tcp0", None, &[&[0]])];
    let [bursty, spread] =
        [bursty, spread].map(|link| run(&scenario(1000.0, vec![link], flow.clone()), "reno", 1));
    let rate = |result: &Measurements| {
        result.links[0].forward.drops_wire as f64 / result.links[0].forward.packets as f64
    };
    assert!((rate(&bursty) / chain.mean() - 1.0).abs() < 0.2, "{}", rate(&bursty));
    assert!(
        goodput(&bursty, 0) > 1.3 * goodput(&spread, 0),
        "{} {}",
        goodput(&bursty, 0),
        goodput(&spread, 0)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In any network the simulator does not panic, delivers only data that was sent, and no link exceeds its rate.
    #[test]
    fn any_network_keeps_its_books(
        rate in 0.1..200.0_f64,
        delay in 0.0..150.0_f64,
        queue in 1..300_u32,
        loss in 0.0..0.3_f64,
        ack_loss in 0.0..0.3_f64,
        outage in 0..6_u64,
        jitter in prop_oneof![Just(0_u64), 1..20_000_000_u64],
        buffer in prop_oneof![Just(1_u64 << 26), 1_448..200_000_u64],
        cc in prop::sample::select(
            braid_algorithms::all().iter().map(braid_algorithms::Algorithm::name).collect::<Vec<_>>()
        ),
        ecn in any::<bool>(),
        discipline in 0..3_u8,
        changes in prop::collection::vec((0.1..50.0_f64, 0..100_000_000_u64), 0..3),
        scheduler in prop::sample::select(
            braid_schedulers::all().iter().map(Scheduler::name).collect::<Vec<_>>()
        ),
        leaves in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut first = link("b1", rate, delay);
        first.forward.queue = QueueLimit::Packets(queue);
        first.forward.jitter_ns = jitter;
        if loss > 0.001 { first.forward.loss = Loss::Bernoulli(loss); }
        if ack_loss > 0.001 { first.reverse.loss = Loss::Bernoulli(ack_loss); }
        if outage > 0 { first.forward.outages = vec![(1_000_000_000, (1 + outage) * 1_000_000_000)]; }
        if ecn { first.forward.ecn_threshold = Some(EcnThreshold::Packets(queue / 2 + 1)); }
        let codel = CoDel { ecn, ..codel() };
        first.forward.discipline = match discipline {
            0 => Discipline::DropTail,
            1 => Discipline::CoDel(codel),
            _ => Discipline::FqCoDel(FqCoDel { codel, flows: 4, quantum: 1514 }),
        };
        for (step, &(rate, delay)) in changes.iter().enumerate() {
            first.forward.changes.push(Change {
                at_ns: (2 + 2 * step as u64) * 1_000_000_000,
                rate_bps: Some((rate * 1e6) as u64),
                delay_ns: Some(delay),
                ..Change::default()
            });
        }
        let rate = changes.iter().fold(rate, |most, change| most.max(change.0));
        let mut multipath = connection("mp0", None, &[&[0], &[1], &[0, 1]]);
        multipath.receive_buffer = buffer;
        multipath.ecn = ecn;
        if leaves { multipath.subflows[2].up = vec![(1_000_000_000, 3_000_000_000), (5_000_000_000, 8_000_000_000)]; }
        let mut plain = connection("tcp0", Some("cubic"), &[&[0]]);
        plain.start_ns = 500_000_000;
        plain.stop_ns = Some(6_000_000_000);
        let scenario = scenario(8.0, vec![first, link("b2", 7.0, 15.0)], vec![multipath, plain]);
        let result = run_scheduled(&scenario, cc, seed, scheduler);
        for link in &result.links {
            for direction in [&link.forward, &link.reverse] {
                prop_assert!(direction.drops_wire <= direction.packets);
            }
        }
        for (index, counts) in result.connections.iter().enumerate() {
            let received: u64 = counts.subflows.iter().map(|subflow| subflow.received_bytes).sum();
            prop_assert!(counts.goodput_bytes <= received);
            for subflow in &counts.subflows {
                prop_assert!(subflow.retransmissions <= subflow.packets_sent);
                prop_assert!(subflow.received_bytes <= subflow.packets_sent * 1500);
            }
            prop_assert!(goodput(&result, index) <= rate + 7.0);
        }
        prop_assert_eq!(&result, &run_scheduled(&scenario, cc, seed, scheduler));
    }
}
