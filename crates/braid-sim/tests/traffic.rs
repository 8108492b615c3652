//! Applications that do not send all the time.

mod common;

use braid_results::measure::{Measurements, Transfer};
use braid_scenario::model::{Connection, ConstantRate, Loss, QueueLimit, Scenario, Spread, Traffic};
use common::{connection, goodput, link, run, scenario};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn tcp(traffic: Traffic) -> Connection {
    Connection { traffic, ..connection("tcp0", None, &[&[0]]) }
}

fn alone(seconds: f64, rate_mbit: f64, delay_ms: f64, traffic: Traffic) -> Scenario {
    scenario(seconds, vec![link("b1", rate_mbit, delay_ms)], vec![tcp(traffic)])
}

fn poisson(every_ms: u64, size: Spread, at_once: u32) -> Traffic {
    Traffic::Poisson { every_ns: every_ms * MS, size, at_once }
}

fn transfers(result: &Measurements) -> &[Transfer] {
    &result.connections[0].transfers
}

/// Nanoseconds to send `bytes` at 10 Mbit/s.
fn sending(bytes: u64) -> u64 {
    bytes * 800
}

#[test]
fn an_object_takes_a_handshake_its_transmission_and_half_a_round_trip() {
    // An initial window; the last packet has half the payload.
    let bytes = 9 * 1448 + 724;
    let result = run(&alone(10.0, 10.0, 10.0, Traffic::Object { size: Spread::Fixed(bytes) }), "reno", 1);
    let handshake = 2 * (10 * MS + sending(72));
    let took = handshake + sending(bytes + 10 * 52) + 10 * MS;
    assert_eq!(transfers(&result), [Transfer { start_ns: 0, end_ns: Some(took), bytes }]);
    let counts = &result.connections[0];
    assert_eq!((counts.active_ns, counts.goodput_bytes), (took, bytes));
    assert_eq!(counts.subflows[0].received_bytes, bytes + 10 * 52);
    assert_eq!(counts.subflows[0].active_ns, took - handshake);
}

#[test]
fn a_larger_object_takes_slow_start_too() {
    // Windows of 10, 20 and 40 packets; at 1 Gbit/s only round trips count.
    let took = |packets: u64| {
        let size = Spread::Fixed(packets * 1448);
        let result = run(&alone(10.0, 1000.0, 50.0, Traffic::Object { size }), "reno", 1);
        transfers(&result)[0].end_ns.unwrap() as f64 / 1e9
    };
    for (packets, round_trips) in [(10, 1.5), (30, 2.5), (70, 3.5)] {
        assert!((took(packets) - 0.1 * round_trips).abs() < 0.003, "{packets}: {} s", took(packets));
    }
}

#[test]
fn short_flows_arrive_as_often_and_are_as_large_as_the_distributions_say() {
    let size = Spread::Exponential { mean: 20_000.0 };
    let result = run(&alone(400.0, 100.0, 5.0, poisson(100, size, 100)), "cubic", 1);
    let all = transfers(&result);
    // Four standard deviations of a Poisson count, and of a mean of exponential sizes.
    let n = all.len() as f64;
    assert!((n - 4000.0).abs() < 4.0 * 4000.0_f64.sqrt(), "{n}");
    let mean = all.iter().map(|transfer| transfer.bytes as f64).sum::<f64>() / n;
    assert!((mean / 20_000.0 - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
    // The intervals are exponential as well: their deviation equals their mean.
    let gaps: Vec<f64> =
        all.windows(2).map(|pair| (pair[1].start_ns - pair[0].start_ns) as f64 / 1e9).collect();
    let variance = gaps.iter().map(|gap| (gap - 0.1).powi(2)).sum::<f64>() / n;
    assert!((variance.sqrt() / 0.1 - 1.0).abs() < 0.1, "{variance}");
    // Every transfer was delivered to the byte, except perhaps the last few.
    let complete = |transfer: &&Transfer| transfer.end_ns.is_some();
    let bytes: u64 = all.iter().filter(complete).map(|transfer| transfer.bytes).sum();
    let open: u64 = all.iter().filter(|transfer| !complete(transfer)).map(|transfer| transfer.bytes).sum();
    assert!((bytes..=bytes + open).contains(&result.connections[0].goodput_bytes));
    assert!(all.iter().filter(complete).count() + 20 > all.len());
}

#[test]
fn what_an_application_does_does_not_depend_on_who_else_is_there() {
    let size = Spread::Pareto { shape: 1.2, least: 3e3, most: 1e6 };
    let mice = alone(60.0, 10.0, 10.0, poisson(200, size, 100));
    let mut crowded = mice.clone();
    crowded.connections.insert(0, connection("bg0", Some("cubic"), &[&[0]]));
    let mut other = tcp(poisson(300, size, 100));
    other.name = "tcp1".into();
    crowded.connections.push(other);
    let plan = |transfers: &[Transfer]| -> Vec<(u64, u64)> {
        transfers.iter().map(|transfer| (transfer.start_ns, transfer.bytes)).collect()
    };
    let [quiet, crowded] = [mice, crowded].map(|scenario| run(&scenario, "reno", 1));
    assert_eq!(plan(&quiet.connections[0].transfers), plan(&crowded.connections[1].transfers));
    assert_ne!(plan(&crowded.connections[1].transfers), plan(&crowded.connections[2].transfers));
    let mean = |transfers: &[Transfer]| {
        let took: Vec<u64> = transfers.iter().filter_map(|t| Some(t.end_ns? - t.start_ns)).collect();
        took.iter().sum::<u64>() / took.len() as u64
    };
    assert!(mean(&crowded.connections[1].transfers) > 2 * mean(&quiet.connections[0].transfers));
}

#[test]
fn a_flow_beyond_the_bound_waits_and_its_waiting_counts() {
    // Each takes 42 ms alone, so a server of one at a time manages 24 per second; there are 50.
    let size = Spread::Fixed(10 * 1448);
    let result = run(&alone(20.0, 10.0, 10.0, poisson(20, size, 1)), "reno", 1);
    let all = transfers(&result);
    let ends: Vec<u64> = all.iter().map_while(|transfer| transfer.end_ns).collect();
    assert!((400..500).contains(&ends.len()) && all.len() > 900, "{} of {}", ends.len(), all.len());
    assert!(all[ends.len()..].iter().all(|transfer| transfer.end_ns.is_none()), "first come, first served");
    let least = 2 * (10 * MS + sending(72)) + sending(15_000) + 10 * MS;
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= least), "one at a time");
    assert!(ends[399] - all[399].start_ns > 5 * S);
}

#[test]
fn short_flows_over_two_paths_are_connections_of_two_subflows() {
    let mice = Connection {
        traffic: poisson(500, Spread::Fixed(1_000_000), 100),
        ..connection("mp0", None, &[&[0], &[1]])
    };
    let result =
        run(&scenario(60.0, vec![link("b1", 20.0, 10.0), link("b2", 20.0, 12.0)], vec![mice]), "lia", 1);
    let counts = &result.connections[0];
    let complete: Vec<&Transfer> = counts.transfers.iter().filter(|t| t.end_ns.is_some()).collect();
    assert!(complete.len() > 80 && complete.len() + 5 > counts.transfers.len());
    assert!(counts.goodput_bytes >= complete.len() as u64 * 1_000_000);
    assert!(counts.subflows.iter().all(|subflow| subflow.received_bytes > 10_000_000));
}

#[test]
fn a_response_takes_its_request_and_itself_and_the_next_request_a_thought() {
    let traffic = Traffic::RequestResponse {
        request: 500,
        response: Spread::Fixed(10 * 1448),
        think: Spread::Fixed(S),
    };
    let result = run(&alone(30.0, 10.0, 10.0, traffic), "reno", 1);
    let took = 10 * MS + sending(552) + 10 * MS + sending(15_000);
    let established = 2 * (10 * MS + sending(72));
    let all = transfers(&result);
    assert_eq!(all.len(), 30);
    for (n, transfer) in (0..).zip(all) {
        assert_eq!(transfer.start_ns, established + n * (took + S));
        assert_eq!(transfer.end_ns, Some(transfer.start_ns + took).filter(|&end| end < 30 * S));
    }
}

#[test]
fn requests_that_are_lost_are_made_again() {
    let traffic = Traffic::RequestResponse {
        request: 5 * 1448,
        response: Spread::Fixed(1000),
        think: Spread::Fixed(0),
    };
    let mut lossy = alone(60.0, 10.0, 10.0, traffic);
    lossy.links[0].reverse.loss = Loss::Bernoulli(0.1);
    let result = run(&lossy, "reno", 1);
    let all = transfers(&result);
    let took: Vec<u64> =
        all.iter().filter_map(|transfer| Some(transfer.end_ns? - transfer.start_ns)).collect();
    assert!(took.len() + 1 >= all.len() && all.len() > 150, "{} of {}", took.len(), all.len());
    // Five packets, each lost with probability 0.1: 41 % need a timeout of 200 ms and a round trip at least.
    let late = took.iter().filter(|&&took| took > 220 * MS).count() as f64 / took.len() as f64;
    assert!((0.3..0.55).contains(&late), "{late}");
}

#[test]
fn a_constant_rate_arrives_as_it_was_written() {
    let rate = ConstantRate { rate_bps: 2_000_000, write: 5_000 };
    let result = run(&alone(30.0, 10.0, 10.0, Traffic::Cbr(rate)), "cubic", 1);
    let took = sending(5_000 + 4 * 52) + 10 * MS;
    let first = 2 * (10 * MS + sending(72));
    for (n, transfer) in (0..).zip(transfers(&result)) {
        assert_eq!(transfer.start_ns, first + n * 20 * MS);
        assert_eq!(transfer.end_ns, Some(transfer.start_ns + took).filter(|&end| end < 30 * S));
    }
    assert_eq!(transfers(&result).len(), 1499);
}

#[test]
fn a_rate_that_the_path_cannot_carry_waits_ever_longer() {
    let rate = ConstantRate { rate_bps: 12_000_000, write: 1448 };
    let result = run(&alone(30.0, 10.0, 10.0, Traffic::Cbr(rate)), "cubic", 1);
    assert!((9.3..9.66).contains(&goodput(&result, 0)), "{}", goodput(&result, 0));
    let last = transfers(&result).iter().rev().find_map(|t| Some((t.start_ns, t.end_ns?))).unwrap();
    // In 30 s the application writes a fifth more than is sent; data written at 24 s is sent at 30 s.
    let waited = (last.1 - last.0) as f64 / 1e9;
    assert!((4.5..7.5).contains(&waited), "{waited}");
}

#[test]
fn a_window_that_the_application_does_not_use_does_not_grow() {
    let rate = ConstantRate { rate_bps: 1_000_000, write: 1448 };
    let mean_cwnd = |traffic| {
        let mut fast = alone(60.0, 100.0, 50.0, traffic);
        fast.links[0].forward.queue = QueueLimit::Packets(2_000);
        let result = run(&fast, "reno", 1);
        let subflow = &result.connections[0].subflows[0];
        subflow.cwnd_integral as f64 / subflow.active_ns as f64
    };
    // 1 Mbit/s and 100 ms are 8.6 packets, 12 with delayed acknowledgements; slow start reaches twice that.
    assert!(mean_cwnd(Traffic::Cbr(rate)) < 25.0, "{}", mean_cwnd(Traffic::Cbr(rate)));
    assert!(mean_cwnd(Traffic::Bulk) > 500.0, "{}", mean_cwnd(Traffic::Bulk));
}

#[test]
fn a_window_that_the_receiver_keeps_unused_does_not_shrink_while_the_application_has_more() {
    // Slow start reaches twice the receive window. Linux decays a window only if no application waits for send buffer
    // space.
    let mut small = alone(30.0, 100.0, 50.0, Traffic::Bulk);
    small.links[0].forward.queue = QueueLimit::Packets(1_000);
    small.connections[0].receive_buffer = 100 * 1448;
    let result = run(&small, "reno", 1);
    let windows = &result.connections[0].subflows[0].cwnd_samples;
    let (first, last) = (windows[20], windows[windows.len() - 1]);
    assert!(first >= 190 && last >= first, "{first} {last}");
}

#[test]
fn an_on_off_source_is_silent_while_it_is_off() {
    for rate in [None, Some(ConstantRate { rate_bps: 5_000_000, write: 1448 })] {
        let traffic = Traffic::OnOff { on: Spread::Fixed(S), off: Spread::Fixed(3 * S), rate };
        let result = run(&alone(40.0, 10.0, 10.0, traffic), "cubic", 1);
        let all = transfers(&result);
        assert_eq!(all.len(), 10);
        for burst in all {
            let lasted = burst.end_ns.unwrap() - burst.start_ns;
            // The queue of 100 packets takes 120 ms to drain, the send buffer of two windows as long again.
            assert!((S..S + 300 * MS).contains(&lasted), "{lasted}");
        }
        assert_eq!(all.iter().map(|burst| burst.bytes).sum::<u64>(), result.connections[0].goodput_bytes);
        // A quarter of the time, and the queue and the send buffer at the end of each burst.
        let expected = rate.map_or(9.65, |rate| rate.rate_bps as f64 / 1e6) / 4.0;
        let ratio = goodput(&result, 0) / expected;
        assert!((0.85..1.25).contains(&ratio), "{ratio}");
    }
}

fn any_spread(least: f64, most: f64) -> impl Strategy<Value = Spread> {
    prop_oneof![
        (least..most).prop_map(|amount| Spread::Fixed(amount as u64)),
        (least..most).prop_map(|mean| Spread::Exponential { mean }),
        ((least..most), 0.0..1.0_f64).prop_map(|(median, sigma)| Spread::Lognormal { median, sigma }),
        (0.5..3.0_f64).prop_map(move |shape| Spread::Pareto { shape, least, most }),
    ]
}

fn any_traffic() -> impl Strategy<Value = Traffic> {
    let rate = (1_000..20_000_000_u64, 500..100_000_u32)
        .prop_map(|(rate_bps, write)| ConstantRate { rate_bps, write });
    let time = || any_spread(1e7, 1e9);
    prop_oneof![
        any_spread(1.0, 3e6).prop_map(|size| Traffic::Object { size }),
        (5..500_u64, any_spread(1.0, 1e6), 1..4_u32)
            .prop_map(|(every, size, most)| poisson(every, size, most)),
        (time(), time(), prop::option::of(rate.clone())).prop_map(|(on, off, rate)| Traffic::OnOff {
            on,
            off,
            rate
        }),
        (1..8_000_u32, any_spread(1.0, 1e6), time())
            .prop_map(|(request, response, think)| { Traffic::RequestResponse { request, response, think } }),
        rate.prop_map(Traffic::Cbr),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any application on any network, every byte is counted once and in its time.
    #[test]
    fn any_application_keeps_its_books(
        traffic in any_traffic(),
        multipath in any::<bool>(),
        rate in 0.5..100.0_f64,
        delay in 0.0..100.0_f64,
        queue in 2..200_u32,
        loss in prop_oneof![Just(0.0), 0.001..0.2_f64],
        up in prop::collection::vec((1..30_u64, 1..30_u64), 0..4),
        outage in 0..3_u64,
        start in 0..2_u64,
        stop in prop::option::of(3..6_u64),
        cc in prop_oneof![Just("reno"), Just("cubic"), Just("lia"), Just("olia"), Just("balia"), Just("dolia")],
        seed in any::<u64>(),
    ) {
        let mut first = link("b1", rate, delay);
        first.forward.queue = QueueLimit::Packets(queue);
        if loss > 0.0 {
            first.forward.loss = Loss::Bernoulli(loss);
            first.reverse.loss = Loss::Bernoulli(loss);
        }
        if outage > 0 {
            first.forward.outages = vec![(2 * S, (2 + outage) * S)];
            first.reverse.outages = first.forward.outages.clone();
        }
        let routes: &[&[usize]] = if multipath { &[&[0], &[1]] } else { &[&[0]] };
        // A burst counts once it is complete.
        let bursts = matches!(traffic, Traffic::OnOff { .. });
        let mut flow = Connection { traffic, ..connection("c0", None, routes) };
        (flow.start_ns, flow.stop_ns) = (start * S, stop.map(|stop| stop * S));
        if multipath {
            let mut time = 0;
            for (pause, length) in up {
                flow.subflows[1].up.push(((time + pause) * 100 * MS, (time + pause + length) * 100 * MS));
                time += pause + length;
            }
        }
        let scenario = scenario(8.0, vec![first, link("b2", 7.0, 15.0)], vec![flow]);
        let result = run(&scenario, cc, seed);
        let counts = &result.connections[0];
        let complete: u64 = counts.transfers.iter().filter(|t| t.end_ns.is_some()).map(|t| t.bytes).sum();
        prop_assert!(complete <= counts.goodput_bytes);
        let asked: u64 = counts.transfers.iter().map(|t| t.bytes).sum();
        prop_assert!(counts.goodput_bytes <= asked || bursts);
        prop_assert!(counts.transfers.is_sorted_by_key(|transfer| transfer.start_ns));
        let until = stop.map_or(8 * S, |stop| stop * S);
        for transfer in &counts.transfers {
            prop_assert!(transfer.start_ns >= start * S && transfer.start_ns <= until);
            prop_assert!(transfer.end_ns.is_none_or(|end| end >= transfer.start_ns && end <= until));
        }
        let received: u64 = counts.subflows.iter().map(|subflow| subflow.received_bytes).sum();
        prop_assert!(counts.goodput_bytes <= received);
        prop_assert_eq!(&result, &run(&scenario, cc, seed));
    }
}
