//! The algorithms built on CUBIC couple as their formulas say.

mod common;

use common::{Host, assert_near};

/// Windows 20 and 10 packets, RTTs 50 and 100 ms: rates 400 and 100 packets/s.
const PAIR: [(u32, u32); 2] = [(20, 50_000), (10, 100_000)];

/// C in force on each subflow, relative to CUBIC's.
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
    for n in 1..=8_usize {
        let expected = (n as f64).powi(-4);
        for spec in ["mpcubic", "mpcubic:delta=balanced"] {
            assert_deltas(spec, &vec![(100, 30_000); n], &vec![expected; n]);
        }
    }
}

#[test]
fn balanced_delta_is_what_floating_point_gives_and_at_most_one() {
    for subflows in [
        [(1000, 10_000), (2, 200_000), (300, 35_000)],
        [(7, 500), (9000, 900_000), (40, 20_000)],
        [(5, 10_000), (5000, 400_000), (5, 10_000)],
    ] {
        let w = subflows.map(|(w, rtt)| (f64::from(w), f64::from(rtt)));
        let total: f64 = w.iter().map(|(w, rtt)| w / rtt).sum();
        let best = w.iter().map(|(w, rtt)| w.powi(3) / rtt.powi(4)).fold(0.0, f64::max);
        let expected = w.map(|(w, _)| (w * best / total.powi(4)).min(1.0));
        for (measured, expected) in deltas("mpcubic:delta=balanced", &subflows).into_iter().zip(expected) {
            assert!(
                (measured - expected).abs() < 1e-3 * expected + 1e-8,
                "{subflows:?}: {measured} {expected}"
            );
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

/// Acknowledges a window per RTT on each subflow for so many seconds.
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
    // The sibling all but vanishes, delta goes from 1/16 to 1: no jump, but from there the curve of plain CUBIC.
    host.view.subflow[1].cwnd = 1;
    host.view.subflow[1].srtt_us = 10_000_000;
    run(&mut host, 0.15);
    let after = f64::from(host.cwnd(0)) + host.carry(0);
    assert!(after - height < 60.0, "{height} to {after}");
    let left = ((1000.0 - height) / 0.4).cbrt();
    run(&mut host, left - 0.15);
    assert_near(f64::from(host.cwnd(0)), 1000.0, 0.01);
    // And past it: the curve does not turn.
    run(&mut host, 3.0);
    assert_near(f64::from(host.cwnd(0)), 1000.0 + 0.4 * 27.0, 0.01);
}

#[test]
fn mpcubic_in_its_reno_friendly_region_grows_as_lia_does() {
    // Short RTT and few packets: the curve is flat for long. Two equal subflows gain a quarter of a packet per RTT each.
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
    // beta = 1/2: the slope is LIA's.
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
    // K = cbrt(300 / (0.4/16)) = 22.9 s; literally it stands still for (1 - 16^(-1/3)) K = 13.8 s.
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
    // One timeout is no failure, and with one subflow or when off it is CUBIC.
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
        host.view.subflow[1].cwnd = 50; // so that it would count
        host.now_us += 10_000_000;
        host.ack(0, 1);
        host.controllers[0].private()[13] as f64 / 2_f64.powi(40) / 0.4
    };
    assert_near(delta("mpcubic:multipath_fast_recovery=on"), 1.0, 1e-5);
    assert_near(delta("mpcubic"), (100.0_f64 / 150.0).powi(4), 1e-4);
}
