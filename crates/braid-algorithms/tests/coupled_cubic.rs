//! The coupled algorithms built on CUBIC follow their formulas.

mod common;

use common::{Host, assert_near};

/// Windows 20 and 10 packets, RTTs 50 and 100 ms: rates 400 and 100 packets/s.
const PAIR: [(u32, u32); 2] = [(20, 50_000), (10, 100_000)];

/// C of each subflow, relative to CUBIC's.
fn deltas(spec: &str, subflows: &[(u32, u32)]) -> Vec<f64> {
    (0..subflows.len())
        .map(|i| {
            let mut host = Host::new(spec, subflows);
            host.ack(i, 1);
            host.controllers[i].private()[13] as f64 / 2_f64.powi(40) / 0.4
        })
        .collect()
}

fn assert_deltas(spec: &str, subflows: &[(u32, u32)], expected: &[f64]) {
    for (measured, expected) in deltas(spec, subflows).into_iter().zip(expected) {
        assert_near(measured, *expected, 1e-4);
    }
}

/// Seconds from the beginning of the curve to its origin.
fn k(host: &Host, i: usize) -> f64 {
    host.controllers[i].private()[6] as i64 as f64 / f64::from(1 << 14)
}

#[test]
fn mpcubic_scales_c_by_delta() {
    assert_deltas("mpcubic", &PAIR, &[0.4096, 0.4096]);
    assert_deltas("mpcubic:delta=balanced", &PAIR, &[0.4096, 0.2048]);
    assert_deltas("mpcubic:delta=squared", &PAIR, &[0.4096, 0.1024]);
    for n in 1..=8_usize {
        let expected = (n as f64).powi(-4);
        for spec in ["mpcubic", "mpcubic:delta=balanced", "mpcubic:delta=squared"] {
            assert_deltas(spec, &vec![(100, 30_000); n], &vec![expected; n]);
        }
    }
}

#[test]
fn deltas_of_a_subflow_are_what_floating_point_gives_and_at_most_one() {
    for subflows in [
        [(1000, 10_000), (2, 200_000), (300, 35_000)],
        [(7, 500), (9000, 900_000), (40, 20_000)],
        [(5, 10_000), (5000, 400_000), (5, 10_000)],
    ] {
        let w = subflows.map(|(w, rtt)| (f64::from(w), f64::from(rtt)));
        let total: f64 = w.iter().map(|(w, rtt)| w / rtt).sum();
        for (delta, own) in [("balanced", 1), ("squared", 2)] {
            let best = w.iter().map(|(w, rtt)| w.powi(4 - own) / rtt.powi(4)).fold(0.0, f64::max);
            let expected = w.map(|(w, _)| (w.powi(own) * best / total.powi(4)).min(1.0));
            let spec = format!("mpcubic:delta={delta}");
            for (measured, expected) in deltas(&spec, &subflows).into_iter().zip(expected) {
                assert!(
                    (measured - expected).abs() < 1e-3 * expected + 1e-8,
                    "{spec} {subflows:?}: {measured} {expected}"
                );
            }
        }
    }
}

#[test]
fn mpcubic_needs_longer_to_come_back_the_smaller_delta_is() {
    // W_max = 100: cbrt(30 / 0.4) and cbrt(30 / (0.4 * 0.4096)) s
    let mut host = Host::new("mpcubic", &[(100, 50_000)]);
    host.lose(0);
    host.ack(0, 1);
    assert_near(k(&host, 0), 4.217, 1e-3);
    // Rates 4 : 1 after the loss.
    let mut host = Host::new("mpcubic", &[(100, 50_000), (35, 100_000)]);
    host.lose(0);
    host.ack(0, 1);
    assert_near(k(&host, 0), 5.679, 2e-3);
}

/// Acknowledges a window per RTT on each subflow for `seconds`.
fn run(host: &mut Host, seconds: f64) {
    let end = host.now_us + (seconds * 1e6) as u64;
    let rtts: Vec<u64> = (0..host.view.n as usize).map(|i| u64::from(host.view.subflow[i].srtt_us)).collect();
    let mut next = vec![host.now_us; rtts.len()];
    while let Some((i, &at)) = next.iter().enumerate().min_by_key(|(_, at)| **at).filter(|(_, at)| **at < end)
    {
        host.now_us = at;
        host.ack(i, 1);
        next[i] = at + (rtts[i] / u64::from(host.cwnd(i))).max(1);
    }
}

#[test]
fn mpcubic_follows_its_curve_and_keeps_its_height_when_delta_changes() {
    let mut host = Host::new("mpcubic:hystart=off:friendly=off", &[(1000, 50_000), (1000, 50_000)]);
    host.lose(0);
    host.lose(1);
    run(&mut host, 4.0);
    let height = f64::from(host.cwnd(0)) + host.carry(0);
    assert_near(height, 1000.0 - 0.025 * ((300.0_f64 / 0.025).cbrt() - 4.0).powi(3), 0.01);
    // The sibling shrinks to one packet, and delta grows from 1/16 to 1: no jump, but from here the curve of plain
    // CUBIC.
    host.view.subflow[1].cwnd = 1;
    host.view.subflow[1].srtt_us = 10_000_000;
    run(&mut host, 0.15);
    let after = f64::from(host.cwnd(0)) + host.carry(0);
    assert!(after - height < 60.0, "{height} to {after}");
    let left = ((1000.0 - height) / 0.4).cbrt();
    run(&mut host, left - 0.15);
    assert_near(f64::from(host.cwnd(0)), 1000.0, 0.01);
    // Beyond the origin the curve goes on.
    run(&mut host, 3.0);
    assert_near(f64::from(host.cwnd(0)), 1000.0 + 0.4 * 27.0, 0.01);
}

#[test]
fn mpcubic_in_its_reno_friendly_region_grows_as_lia_does() {
    // Short RTT and few packets: the curve is flat for a long time. Two equal subflows grow by a quarter of a packet
    // per RTT each.
    let spec = "mpcubic:hystart=off:alpha=constant:beta=0.5";
    let mut host = Host::new(spec, &[(40, 10_000), (40, 10_000)]);
    host.lose(0);
    host.lose(1);
    assert_eq!(host.cwnd(0), 20);
    let rounds = 20;
    for _ in 0..rounds {
        for i in [0, 1] {
            host.view.subflow[i].ssthresh = 1;
        }
        run(&mut host, 0.01);
    }
    // beta = 1/2: LIA's slope.
    assert_near(f64::from(host.cwnd(0)) + host.carry(0), 20.0 + 0.25 * f64::from(rounds), 0.05);
}

#[test]
fn the_literal_law_stands_still_before_it_climbs() {
    let grown = |law: &str| {
        let spec = format!("mpcubic:hystart=off:friendly=off:law={law}");
        let mut host = Host::new(&spec, &[(1000, 50_000), (1000, 50_000)]);
        host.lose(0);
        host.lose(1);
        let start = f64::from(host.cwnd(0));
        run(&mut host, 6.0);
        f64::from(host.cwnd(0)) - start
    };
    // K = cbrt(300 / (0.4/16)) = 22.9 s; in the literal form the window is constant for (1 - 16^(-1/3)) K = 13.8 s.
    assert!(grown("consistent") > 150.0);
    assert!(grown("literal") < 2.0);
}

#[test]
fn multipath_fast_recovery_comes_back_to_the_window_before_the_path_failed() {
    let after_failure = |spec: &str, subflows: usize, silence_us: u64| {
        let mut host = Host::new(spec, &vec![(100, 50_000); subflows]);
        host.time_out(0);
        host.now_us += silence_us;
        host.ack(0, 1);
        let w_max = host.controllers[0].private()[1] >> 32;
        (host.cwnd(0), host.view.subflow[0].ssthresh, w_max)
    };
    let on = "mpcubic:multipath_fast_recovery=on";
    assert_eq!(after_failure(on, 2, 3_000_000), (2, 70, 100));
    // One timeout is no failure. With one subflow, or switched off, it is CUBIC.
    assert_eq!(after_failure(on, 2, 60_000), (2, 70, 0));
    assert_eq!(after_failure(on, 1, 3_000_000), (2, 70, 0));
    assert_eq!(after_failure("mpcubic", 2, 3_000_000), (2, 70, 0));
}

#[test]
fn multipath_fast_recovery_leaves_a_failed_sibling_out() {
    let delta = |spec: &str| {
        let mut host = Host::new(spec, &[(100, 50_000), (100, 50_000)]);
        host.view.subflow[1].last_ack_us = host.now_us;
        host.time_out(1);
        host.view.subflow[1].cwnd = 50; // large enough to count
        host.now_us += 10_000_000;
        host.ack(0, 1);
        host.controllers[0].private()[13] as f64 / 2_f64.powi(40) / 0.4
    };
    assert_near(delta("mpcubic:multipath_fast_recovery=on"), 1.0, 1e-5);
    assert_near(delta("mpcubic"), (100.0_f64 / 150.0).powi(4), 1e-4);
}

/// Subflow 0 on a large path beside another; returns the window that it publishes, and its cwnd.
fn published(spec: &str, own: (u32, u32), other: (u32, u32)) -> (f64, f64) {
    let mut host = Host::new(spec, &[own, other]);
    host.ack(0, 1);
    host.now_us += 2 * u64::from(own.1);
    host.ack(0, 1);
    (host.view.subflow[0].public_words[0] as u32 as f64, f64::from(host.cwnd(0)))
}

#[test]
fn ccubic_counts_a_window_as_renos_at_the_same_loss_rate() {
    for (window, rtt_us, reno) in [(1000, 100_000, 366.4), (300, 50_000, 232.2), (5926, 100_000, 1200.0)] {
        let (v, w) = published("ccubic:norm=none", (window, rtt_us), (10, 20_000));
        assert!((w - f64::from(window)).abs() <= 1.0);
        assert!((v - reno).abs() < 0.5 + 1e-3 * reno, "{v}, expected {reno}");
    }
}

#[test]
fn ccubic_counts_as_much_of_it_as_lia_would_have() {
    let (own, other) = ((1000_u32, 100_000_u32), (150_u32, 20_000_u32));
    // Before a subflow publishes a window, its cwnd counts.
    let alpha = |u: f64, v: f64| {
        let (ru, rv) = (0.1, 0.02);
        (u + v) * (u / (ru * ru)).max(v / (rv * rv)) / (u / ru + v / rv).powi(2)
    };
    let reno = 366.4;
    let first = alpha(1000.0, 150.0);
    let (v, _) = published("ccubic", own, other);
    assert_near(v, reno * first.min(1.0).sqrt(), 0.01);
    let (v, _) = published("ccubic:norm=self_consistent", own, other);
    assert_near(v, reno * (first * 1000.0 / 1150.0).min(1.0).sqrt(), 0.01);
}

#[test]
fn lia_beside_a_large_path_grows_as_if_that_had_its_virtual_window() {
    let mut host = Host::new("ccubic:norm=none", &[(1000, 100_000), (150, 20_000)]);
    host.ack(0, 1);
    host.now_us += 200_000;
    host.ack(0, 1);
    let slope = |u: f64| {
        let v = 150.0;
        (u / 0.01_f64).max(v / 0.0004) / (u / 0.1 + v / 0.02).powi(2)
    };
    assert_near(host.increase("ccubic", 1), slope(366.0), 0.01);
    assert!(slope(366.0) > 1.3 * slope(1000.0));
}

#[test]
fn ccubic_takes_a_path_for_large_where_cubic_exceeds_reno() {
    // The crossing at 100 ms: w = (1.2 / 1.0538^(2/3))^3 / 0.1^1.5 = 49.2 packets; at 20 ms 550.
    for (rtt_us, crossing) in [(100_000, 49.2), (20_000, 550.0)] {
        for (window, expected) in [((crossing * 0.95) as u32, false), ((crossing * 1.05) as u32, true)] {
            let (v, _) = published("ccubic", (window, rtt_us), (20, 20_000));
            assert_eq!(v > 0.0, expected, "{window} packets at {rtt_us} us");
        }
    }
}

#[test]
fn ccubic_cuts_as_cubic_on_large_paths_and_halves_on_others() {
    for (window, rtt_us, left) in [(1000, 100_000, 700), (40, 100_000, 20)] {
        let mut host = Host::new("ccubic", &[(window, rtt_us), (20, 20_000)]);
        host.ack(0, 1);
        host.now_us += 2 * u64::from(rtt_us);
        host.ack(0, 1);
        host.view.subflow[0].cwnd = window;
        assert_eq!(host.lose(0), left);
    }
}

#[test]
fn scaled_large_paths_at_one_bottleneck_are_coupled() {
    let c = |spec: &str| {
        let mut host = Host::new(spec, &[(1000, 100_000), (1000, 100_000)]);
        for _ in 0..40 {
            host.now_us += 110_000;
            host.view.subflow[0].cwnd = 1000;
            host.view.subflow[1].cwnd = 1000;
            host.ack(0, 1);
            host.ack(1, 1);
        }
        host.controllers[0].private()[13] as f64 / 2_f64.powi(40) / 0.4
    };
    // Equal windows and RTTs: alpha = 1/2, so V = W_R sqrt(1/2), and C is quartered.
    assert_near(c("ccubic:scale_c=on"), 0.25, 1e-3);
    assert_near(c("ccubic"), 1.0, 1e-6);
}

#[test]
fn katocubic_uses_two_subflows_and_keeps_the_others_at_one_packet() {
    let three = [(100, 50_000), (100, 50_000), (100, 50_000)];
    let mut host = Host::new("katocubic", &three);
    for i in 0..3 {
        host.ack(i, 1);
    }
    assert_eq!((host.cwnd(0), host.cwnd(1), host.cwnd(2)), (100, 100, 1));
    let delta = |host: &Host, i: usize| host.controllers[i].private()[13] as f64 / 2_f64.powi(40) / 0.4;
    assert_near(delta(&host, 0), 1.0 / 16.0, 1e-4);
    // The first subflow has left.
    host.view.subflow[0].flags = 0;
    host.now_us += 1_000_000;
    host.ack(2, 1);
    host.ack(1, 1);
    assert_eq!(host.cwnd(2), 2, "slow start");
    assert_near(delta(&host, 1), (100.0_f64 / 102.0).powi(4), 1e-2);
}
