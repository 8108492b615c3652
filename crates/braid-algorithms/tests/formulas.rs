//! The algorithms compute what their formulas say, on numbers worked out by hand.

mod common;

use braid_algorithms::layout::{Event, cause, event_flags, event_type};
use common::{Host, assert_near};

/// Windows 20 and 10 packets, RTTs 50 and 100 ms: rates 400 and 100 packets/s.
const PAIR: [(u32, u32); 2] = [(20, 50_000), (10, 100_000)];

fn increases(spec: &str, subflows: &[(u32, u32)]) -> Vec<f64> {
    let host = Host::new(spec, subflows);
    (0..subflows.len()).map(|i| host.increase(spec, i)).collect()
}

fn assert_increases(spec: &str, subflows: &[(u32, u32)], expected: &[f64]) {
    for (measured, expected) in increases(spec, subflows).into_iter().zip(expected) {
        assert_near(measured, *expected, 1e-3);
    }
}

#[test]
fn lia_grows_as_its_formula_says() {
    assert_increases("lia", &PAIR, &[0.032, 0.032]);
    assert_increases("dlia", &PAIR, &[0.032, 0.032]);
}

#[test]
fn lia_on_equal_subflows_grows_by_a_quarter_each() {
    for w in [1, 2, 17, 400, 60_000] {
        let expected = 1.0 / (4.0 * f64::from(w));
        assert_increases("lia", &[(w, 30_000), (w, 30_000)], &[expected, expected]);
    }
}

#[test]
fn lia_with_equal_rtts_grows_by_the_largest_share() {
    // alpha = max(w)/w_tot, increase = alpha/w_tot
    let w = [30, 20, 10];
    assert_increases("lia", &w.map(|w| (w, 80_000)), &[30.0 / 3600.0; 3]);
}

#[test]
fn lia_does_not_depend_on_the_unit_of_rtt() {
    let reference = increases("lia", &PAIR);
    for k in [1, 3, 60] {
        let scaled = PAIR.map(|(w, rtt)| (w, rtt * k / 30));
        assert_increases("lia", &scaled, &reference);
    }
}

#[test]
fn lia_with_windows_k_times_as_large_grows_by_one_kth() {
    let k = 100;
    let expected: Vec<f64> = increases("lia", &PAIR).iter().map(|increase| increase / f64::from(k)).collect();
    assert_increases("lia", &PAIR.map(|(w, rtt)| (w * k, rtt)), &expected);
}

#[test]
fn lia_never_grows_faster_than_reno() {
    // The slow subflow's window is so small that 1/w would be far larger than alpha/w_tot.
    let host = Host::new("lia", &[(1000, 10_000), (2, 10_000), (400, 10_000)]);
    for (i, w) in [(0, 1000.0), (1, 2.0), (2, 400.0)] {
        assert!(host.increase("lia", i) <= 1.0 / w + 1e-6);
    }
    // Here the cap is active: the best path has the small window.
    let host = Host::new("lia", &[(1, 1000), (500, 1_000_000)]);
    assert_near(host.increase("lia", 1), 1.0 / 500.0, 1e-3);
}

#[test]
fn lia_is_exact_at_the_ends_of_its_range() {
    // m = max(w/rtt^2) / (sum w/rtt)^2 in floating point
    for subflows in [
        [(1_000_000, 10), (1, 10_000_000)],
        [(1, 10), (1_000_000, 10_000_000)],
        [(1000, 10_000_000), (1000, 9_999_999)],
        [(3, 10), (7, 11)],
    ] {
        let [(w1, r1), (w2, r2)] = subflows.map(|(w, rtt)| (f64::from(w), f64::from(rtt)));
        let m = (w1 / (r1 * r1)).max(w2 / (r2 * r2)) / (w1 / r1 + w2 / r2).powi(2);
        let measured = increases("lia", &subflows);
        for (measured, w) in measured.into_iter().zip([w1, w2]) {
            // Increments have 32 fraction bits.
            assert!((measured - m.min(1.0 / w)).abs() < 1e-3 * m.min(1.0 / w) + 2e-9 + 1e-6, "{subflows:?}");
        }
    }
}

/// A host of the out-of-tree kernel's modules, all of which have just computed their increase: a recovery has ended.
fn module_host(spec: &str, subflows: &[(u32, u32)]) -> Host {
    let mut host = Host::new(spec, subflows);
    compute(&mut host);
    host
}

fn compute(host: &mut Host) {
    for i in 0..host.view.n as usize {
        host.deliver(i, Event { kind: event_type::ON_RECOVERED, cause: cause::EXIT, ..Event::default() });
    }
}

/// How many ACKs it takes until the window has grown.
fn acks_per_packet(host: &mut Host, i: usize) -> u32 {
    let before = host.cwnd(i);
    let grown = |_: &u32| {
        host.ack(i, 1);
        host.cwnd(i) > before
    };
    (1..10_000).find(grown).expect("the window grows")
}

#[test]
fn lia_with_kernel_rounding_counts_as_the_kernel_does() {
    // Both count to 31 and need one more ACK per packet.
    for i in 0..2 {
        assert_eq!(acks_per_packet(&mut module_host("lia:rounding=jiffies", &PAIR), i), 32);
    }
    // In microseconds the oldest subflow counts as the best: here the slow one.
    let reversed = [PAIR[1], PAIR[0]];
    for i in 0..2 {
        assert_eq!(acks_per_packet(&mut module_host("lia:rounding=usec", &reversed), i), 257);
    }
}

/// Byte counters that give subflow i the quality `bytes[i]`.
fn olia_host(spec: &str, subflows: &[(u32, u32)], bytes: &[u64]) -> Host {
    let mut host = Host::new(spec, subflows);
    for (subflow, &bytes) in host.view.subflow.iter_mut().zip(bytes) {
        subflow.snd_una = bytes;
    }
    host
}

#[test]
fn olia_grows_as_its_formula_says() {
    let host = olia_host("olia", &PAIR, &[300_000, 1_500_000]);
    assert_near(host.increase("olia", 0), 0.007, 1e-3);
    assert_near(host.increase("olia", 1), 0.054, 1e-3);
}

#[test]
fn olia_moves_nothing_while_the_largest_window_is_on_the_best_path() {
    // Both best and largest: the pure coupled term, (x_r/X)^2/w_r.
    let host = olia_host("olia", &PAIR, &[10_000_000, 10]);
    assert_near(host.increase("olia", 0), 0.64 / 20.0, 1e-3);
    assert_near(host.increase("olia", 1), 0.04 / 10.0, 1e-3);
}

#[test]
fn olia_shrinks_the_largest_window_if_another_path_is_better() {
    let subflows = [(100, 50_000), (10, 50_000), (10, 50_000)];
    let host = olia_host("olia", &subflows, &[1000, 5_000_000, 5_000_000]);
    // n = 3, |M| = 1, |B \ M| = 2
    let share = |w: f64| (w / 120.0) * (w / 120.0);
    let probe = |i| host.increase("olia", i);
    assert_near(probe(0), (share(100.0) - 1.0 / 3.0) / 100.0, 1e-2);
    assert_near(probe(1), (share(10.0) + 1.0 / 6.0) / 10.0, 1e-3);
    assert_near(probe(2), (share(10.0) + 1.0 / 6.0) / 10.0, 1e-3);

    // Where the first term is small, the window shrinks, down to one packet.
    let subflows = [(12, 500_000), (10, 5_000), (11, 5_000)];
    let mut host = olia_host("olia", &subflows, &[1000, 5_000_000, 5_000_000]);
    host.ack(0, 20);
    assert!(host.cwnd(0) < 12);
    host.ack(0, 1_000_000);
    assert_eq!(host.cwnd(0), 1);
}

#[test]
fn olia_measures_quality_by_the_larger_of_the_last_two_loss_intervals() {
    let subflows = [(20, 50_000), (20, 50_000), (10, 50_000)];
    let mut host = olia_host("olia", &subflows, &[0, 0, 0]);
    // Subflow 2 acknowledges 100 packets between losses, and then loses at once.
    host.ack(2, 100);
    host.lose(2);
    host.view.subflow[2].cwnd = 10;
    host.ack(2, 1);
    host.ack(0, 50);
    assert!(host.cwnd(0) < 20 || host.carry(0) > 0.5, "the largest windows give way to subflow 2");
    // Two early losses in a row clear that interval.
    host.lose(2);
    host.ack(2, 1);
    host.lose(2);
    let marks = host.view.subflow[2].public_words;
    assert_eq!((marks[0], marks[1]), (101 * 1448, 102 * 1448));
}

#[test]
fn olia_with_the_forks_rounding_works_in_1024ths_and_drops_the_rest() {
    // 1024 * 0.032 = 32.768 is 32 per ACK; 1023 is reached with the 32nd.
    let mut host = olia_host("olia:rounding=fork", &PAIR, &[10_000_000, 10]);
    host.view.subflow[0].snd_una = 100_000_000;
    assert_eq!(acks_per_packet(&mut host, 0), 32);
    // Below 1/1024 of a packet per ACK the window does not grow.
    let mut host = olia_host("olia:rounding=fork", &[(300, 50_000), (300, 50_000)], &[0, 0]);
    for _ in 0..10_000 {
        host.ack(0, 1);
    }
    assert_eq!(host.cwnd(0), 300);
}

#[test]
fn olia_leaves_out_slow_start_only_in_draft_mode_with_several_subflows() {
    for (spec, subflows, expected) in
        [("olia", 2, 20), ("olia:slow_start=draft", 2, 10), ("olia:slow_start=draft", 1, 20)]
    {
        let mut host = Host::in_slow_start(spec, &[(10, 50_000); 2][..subflows]);
        host.ack(0, 10);
        assert_eq!(host.cwnd(0), expected, "{spec} with {subflows}");
    }
    for (spec, floor) in [("olia", 2), ("olia:slow_start=min1", 1), ("dolia:slow_start=min1:floor=1", 1)] {
        let mut host = Host::new(spec, &[(2, 50_000), (10, 50_000)]);
        assert_eq!(host.lose(0), floor, "{spec}");
    }
}

#[test]
fn balia_grows_and_shrinks_as_its_formulas_say() {
    assert_increases("balia", &PAIR, &[0.032, 0.016]);
    let mut host = Host::new("balia", &PAIR);
    assert_eq!((host.lose(0), host.carry(0)), (10, 0.0));
    let mut host = Host::new("balia", &PAIR);
    assert_eq!((host.lose(1), host.carry(1)), (2, 0.5));
}

#[test]
fn balia_cuts_between_a_half_and_three_quarters() {
    // Rates 100 and 80: alpha = 1.25, so the reduction is 5/8 of the window: w (1 - 0.625) = 30 of 80.
    let mut host = Host::new("balia", &[(100, 100_000), (80, 100_000)]);
    assert_eq!(host.lose(1), 30);
    // The fork's alpha is a whole number: 1.
    let mut host = module_host("balia:rounding=fork", &[(100, 100_000), (80, 100_000)]);
    assert_eq!(host.lose(1), 40);
    // At least one packet.
    let mut host = Host::new("balia", &[(100, 100_000), (1, 100_000)]);
    assert_eq!(host.lose(1), 1);
}

#[test]
fn a_reduction_keeps_the_fraction_of_the_window() {
    for spec in ["reno", "lia", "olia", "balia", "ewtcp", "semicoup"] {
        for subflows in [1, 2] {
            let mut host = Host::new(spec, &[(7, 50_000); 2][..subflows]);
            host.ack(0, 1);
            let window = f64::from(host.cwnd(0)) + host.carry(0);
            assert!(window > 7.0, "{spec}");
            host.lose(0);
            assert_near(f64::from(host.cwnd(0)) + host.carry(0), window / 2.0, 1e-9);
        }
    }
    // The floor has no fraction, nor have whole packets.
    let mut host = Host::new("lia", &[(3, 50_000); 2]);
    assert_eq!((host.lose(0), host.carry(0)), (2, 0.0));
    for spec in ["reno:rounding=linux", "lia:rounding=usec", "olia:rounding=fork"] {
        let mut host = Host::new(spec, &[(7, 50_000); 2]);
        assert_eq!((host.lose(0), host.cwnd(0)), (3, 3), "{spec}");
        host.ack(0, 1);
        assert_eq!(host.cwnd(0), 3, "{spec}");
    }
}

#[test]
fn balia_with_the_forks_rounding_counts_acks() {
    // 10 w X^2 / ((x + m)(4x + m)) = 31.25 and 62.5
    for (i, acks) in [(0, 32), (1, 63)] {
        let measured = acks_per_packet(&mut module_host("balia:rounding=fork", &PAIR), i);
        assert!(measured.abs_diff(acks) <= 1, "subflow {i}: {measured}");
    }
}

#[test]
fn the_modules_alpha_is_of_the_latest_packet_gained_on_any_subflow() {
    let mut host = module_host("lia:rounding=usec", &[(20, 50_000), (10, 50_000)]);
    let alpha = |host: &Host, i: usize| {
        (host.view.subflow[i].public_words[0] as u32, host.view.subflow[i].public_words[0] >> 32)
    };
    host.ack(0, 1);
    let (first, serial) = alpha(&host, 0);
    // A larger window changes alpha only when a packet is gained.
    host.view.subflow[1].cwnd = 40;
    host.ack(0, 1);
    assert_eq!(alpha(&host, 0), (first, serial));
    while host.cwnd(1) == 40 {
        host.ack(1, 1);
    }
    let (second, later) = alpha(&host, 1);
    assert!(later > serial && second < first, "{first} at {serial}, {second} at {later}");
}

#[test]
fn balia_with_the_forks_rounding_needs_four_windows_of_acks_on_equal_large_subflows() {
    // 10 w X^2 / ((x + m)(4x + m)) = 4 w; the product of all factors exceeds 64 bits from w = 1304 on.
    for window in [1250, 1303, 1304, 1320, 60_000] {
        let mut host = module_host("balia:rounding=fork", &[(window, 100_000); 2]);
        host.view.subflow[0].cwnd_clamp = window + 1;
        let acks = (1..400_000_u32).find(|_| {
            host.ack(0, 1);
            host.cwnd(0) > window
        });
        let acks: u32 = acks.expect("the window grows");
        assert!(acks.abs_diff(4 * window) <= 1, "window {window}: {acks} ACKs");
    }
}

#[test]
fn balia_with_the_forks_rounding_takes_its_own_mss_for_all_subflows() {
    for i in 0..2 {
        let mut host = module_host("balia:rounding=fork", &[(20, 50_000); 2]);
        host.view.subflow[0].mss = 1428;
        host.view.subflow[1].mss = 1220;
        compute(&mut host);
        assert_eq!(acks_per_packet(&mut host, i), 81, "four windows and one ACK");
    }
}

#[test]
fn dlia_cuts_less_the_sooner_loss_follows_loss() {
    let mut host = Host::new("dlia", &[(40, 50_000), (40, 50_000)]);
    // The carried fraction counts: 22.25, 40.148.
    for (cwnd, left) in [(40, 20.0), (30, 16.25), (22, 13.148), (40, 21.092)] {
        host.view.subflow[0].cwnd = cwnd;
        host.lose(0);
        assert_near(f64::from(host.cwnd(0)) + host.carry(0), left, 1e-3);
    }
}

#[test]
fn dlia_without_regrowth_keeps_nine_tenths_in_the_end() {
    let mut host = Host::new("dlia", &[(1 << 20, 50_000)]);
    host.lose(0);
    for kept in [0.625, 0.71875, 0.789, 0.842, 0.881, 0.9, 0.9] {
        let before = f64::from(host.cwnd(0));
        host.lose(0);
        assert_near(f64::from(host.cwnd(0)) / before, kept, 1e-3);
    }
}

#[test]
fn dlia_that_remembers_the_window_before_the_cut_keeps_nine_tenths_of_a_steady_sawtooth() {
    let mut host = Host::new("dlia:remember=before", &[(1024, 50_000)]);
    for kept in [0.5, 0.625, 0.71875, 0.789, 0.842, 0.881, 0.9, 0.9] {
        host.view.subflow[0].cwnd = 1024;
        assert_near(f64::from(host.lose(0)) / 1024.0, kept, 1e-3);
    }
}

#[test]
fn dlia_halves_with_one_subflow_if_told_so() {
    let mut host = Host::new("dlia:disable_when_single=on", &[(1000, 50_000)]);
    for left in [500, 250, 125] {
        assert_eq!(host.lose(0), left);
    }
}

#[test]
fn dolia_halves_when_congested_and_cuts_less_when_not() {
    let mut host = Host::new("dolia", &[(40, 50_000), (40, 50_000)]);
    let rtt = |host: &mut Host, rtt_us| {
        host.view.subflow[0].last_rtt_us = rtt_us;
        host.ack(0, 0);
    };
    // Before the first sample every loss counts as congestion.
    assert_eq!(host.lose(0), 20);
    // Three samples, half a second: the middle of the range is 60 ms.
    for rtt_us in [40_000, 80_000, 70_000] {
        rtt(&mut host, rtt_us);
    }
    host.now_us += 600_000;
    rtt(&mut host, 70_000);
    // 50 ms is below the middle: beta = 0.25 * 20/30 + 0.75 * 0.5
    rtt(&mut host, 50_000);
    host.view.subflow[0].cwnd = 30;
    host.lose(0);
    assert_near(f64::from(host.cwnd(0)) + host.carry(0), 16.25, 1e-3);
    // 70 ms is above it and above the RTT at the last loss.
    rtt(&mut host, 70_000);
    host.view.subflow[0].cwnd = 30;
    assert_eq!(host.lose(0), 15);
    // 70 ms again is not above the RTT at the last loss: beta = 0.25 * 15/30 + 0.75 * 0.5, within bounds.
    host.view.subflow[0].cwnd = 30;
    assert_eq!(host.lose(0), 15);
    host.view.subflow[0].cwnd = 16;
    host.lose(0);
    assert!(f64::from(host.cwnd(0)) + host.carry(0) > 9.0);
    // A timeout halves the window at any RTT.
    host.view.subflow[0].cwnd = 16;
    host.time_out(0);
    assert_eq!(host.view.subflow[0].ssthresh, 8);
}

#[test]
fn vegas_holds_between_alpha_and_beta_queued_packets() {
    // 20 packets, 60 ms over a base of 50 ms: 4 queued.
    for (spec, change) in
        [("vegas", 0), ("vegas:beta=2", -1), ("vegas:alpha=5:beta=6", 1), ("vegas:alpha=3:beta=3", 0)]
    {
        let mut host = Host::new(spec, &[(20, 50_000)]);
        host.ack(0, 1);
        host.view.subflow[0].snd_una += 1 << 20; // starts a round with a known base RTT
        host.ack(0, 1);
        host.view.subflow[0].last_rtt_us = 60_000;
        let before = host.cwnd(0);
        for _ in 0..4 {
            host.ack(0, 1);
        }
        host.view.subflow[0].snd_una += 1 << 20;
        host.ack(0, 1);
        assert_eq!(i64::from(host.cwnd(0)) - i64::from(before), change, "{spec}");
    }
}

#[test]
fn vegas_leaves_slow_start_when_packets_queue() {
    let mut host = Host::in_slow_start("vegas", &[(20, 50_000)]);
    host.ack(0, 2);
    assert_eq!(host.cwnd(0), 22);
    host.view.subflow[0].last_rtt_us = 100_000;
    host.view.subflow[0].snd_una += 1 << 20;
    host.ack(0, 1); // ends the first round, which has too few samples: Reno's slow start
    assert_eq!(host.cwnd(0), 23);
    for _ in 0..3 {
        host.ack(0, 0);
    }
    host.view.subflow[0].snd_una += 1 << 20;
    host.ack(0, 1);
    assert_eq!(host.cwnd(0), 12, "half the rate's worth was queued");
    assert!(host.view.subflow[0].ssthresh <= 12);
}

/// Rounds of one RTT, one ACK per packet, one loss event every `interval` packets, immediate recovery. Returns the mean
/// window of the rounds in the second half of the episodes. `start` is the window of the first loss. It should be near
/// the equilibrium: the curve is flat there, so CUBIC converges slowly.
fn mean_window(spec: &str, rtt_us: u32, interval: u64, start: u32) -> f64 {
    let mut host = Host::new(spec, &[(start, rtt_us)]);
    host.lose(0);
    let episodes = 200;
    let (mut sum, mut rounds) = (0.0, 0.0);
    let mut left = interval;
    let mut lost = 0;
    while lost < episodes {
        let cwnd = host.cwnd(0);
        for k in 0..cwnd {
            host.now_us += u64::from(rtt_us) * u64::from(k + 1) / u64::from(cwnd)
                - u64::from(rtt_us) * u64::from(k) / u64::from(cwnd);
            host.ack(0, 1);
            left -= 1;
            if left == 0 {
                left = interval;
                lost += 1;
                host.lose(0);
                break;
            }
        }
        if lost > episodes / 2 {
            sum += f64::from(cwnd);
            rounds += 1.0;
        }
    }
    sum / rounds
}

#[test]
fn cubic_has_the_response_function_of_rfc_8312() {
    let cubic = "cubic:fast_convergence=off:hystart=off";
    for (rtt_us, p, expected) in [
        (100_000, 3e-3, 22.0),
        (100_000, 1e-3, 38.0),
        (100_000, 1e-4, 187.0),
        (100_000, 1e-5, 1054.0),
        (10_000, 1e-4, 120.0),
        (10_000, 1e-5, 379.0),
    ] {
        // The sawtooth's maximum is its mean / (1 - 0.3/4).
        let start = (expected / 0.925) as u32;
        assert_near(mean_window(cubic, rtt_us, (1.0 / p) as u64, start), expected, 0.05);
    }
}

#[test]
fn reno_has_its_response_function() {
    for p in [3e-3_f64, 1e-3, 1e-4] {
        let expected = (1.5 / p).sqrt();
        assert_near(mean_window("reno", 100_000, (1.0 / p) as u64, expected as u32), expected, 0.05);
    }
}

#[test]
fn cubic_returns_to_the_old_window_after_k_seconds() {
    // W_max = 1000, C = 0.4: K = cbrt(299.8/0.4) = 9.08 s
    let mut host = Host::new("cubic:hystart=off", &[(1000, 50_000)]);
    host.lose(0);
    let start = host.now_us;
    let reduced = f64::from(host.cwnd(0)) + host.carry(0);
    let k = ((1000.0 - reduced) / 0.4).cbrt();
    while host.now_us < start + 12_000_000 {
        let cwnd = host.cwnd(0);
        for _ in 0..cwnd {
            host.now_us += 50_000 / u64::from(cwnd);
            host.ack(0, 1);
        }
        // The curve is computed for one minimum RTT ahead and reached one RTT later.
        let t = (host.now_us - start) as f64 / 1e6;
        let expected = 1000.0 + 0.4 * (t - k).powi(3);
        assert_near(f64::from(host.cwnd(0)) + host.carry(0), expected, 0.01);
    }
}

#[test]
fn cubic_with_fast_convergence_aims_lower_when_the_window_had_not_come_back() {
    let mut host = Host::new("cubic", &[(1000, 50_000)]);
    host.lose(0);
    assert_eq!(host.controllers[0].private()[1] >> 32, 1000);
    host.lose(0); // at 700: (1 + 0.7)/2
    assert_eq!(host.controllers[0].private()[1] >> 32, 595);
    let mut host = Host::new("cubic:fast_convergence=off", &[(1000, 50_000)]);
    host.lose(0);
    host.lose(0);
    assert_eq!(host.controllers[0].private()[1] >> 32, 700);
}

#[test]
fn cubic_carries_the_fraction_that_a_reduction_leaves() {
    let mut host = Host::new("cubic", &[(15, 50_000)]);
    host.lose(0);
    assert_near(f64::from(host.cwnd(0)) + host.carry(0), 15.0 * 717.0 / 1024.0, 1e-9);
}

#[test]
fn cubic_forgets_everything_at_a_timeout() {
    let mut host = Host::new("cubic", &[(100, 50_000)]);
    host.lose(0);
    host.ack(0, 5);
    host.time_out(0);
    assert_eq!(host.view.subflow[0].ssthresh, 49);
    assert_eq!(host.controllers[0].private()[1], 0, "W_max");
    assert_eq!(host.controllers[0].private()[5], 0, "the epoch");
}

#[test]
fn cubic_forgets_everything_at_a_timeout_that_cuts_nothing() {
    let mut host = Host::new("cubic", &[(100, 50_000)]);
    host.lose(0);
    host.view.subflow[0].ca_state = braid_algorithms::layout::ca_state::LOSS;
    host.view.subflow[0].cwnd = 1;
    host.ack(0, 1);
    assert_eq!(host.controllers[0].private()[1], 0, "W_max");
}

#[test]
fn cubic_does_not_count_idle_time() {
    let grown_after = |idle_s: u64| {
        let mut host = Host::new("cubic", &[(1000, 50_000)]);
        host.lose(0);
        host.ack(0, 1);
        host.now_us += idle_s * 1_000_000;
        host.deliver(
            0,
            Event {
                kind: event_type::ON_IDLE_RESTART,
                idle_us: (idle_s * 1_000_000) as u32,
                ..Event::default()
            },
        );
        host.now_us += 50_000;
        host.ack(0, 700);
        f64::from(host.cwnd(0)) + host.carry(0)
    };
    assert_near(grown_after(20), grown_after(0), 1e-9);
}

#[test]
fn cubic_begins_a_new_epoch_after_an_undo() {
    let mut host = Host::new("cubic", &[(100, 50_000)]);
    host.lose(0);
    host.ack(0, 1);
    host.view.subflow[0].cwnd = 100;
    host.deliver(0, Event { kind: event_type::ON_RECOVERED, cause: cause::UNDO, ..Event::default() });
    host.now_us += 50_000;
    host.ack(0, 1);
    assert_eq!(host.cwnd(0), 100);
    assert_eq!(host.controllers[0].private()[6], 0, "K: the window is at the maximum");
}

#[test]
fn hystart_ends_slow_start_when_the_delay_rises() {
    let grow = |spec: &str, queue_us: u32| {
        let mut host = Host::in_slow_start(spec, &[(20, 100_000)]);
        for round in 0..6 {
            host.view.subflow[0].last_rtt_us = 100_000 + round * queue_us;
            for _ in 0..host.cwnd(0).min(1000) {
                // Too far apart for a train.
                host.now_us += 2100;
                host.ack(0, 1);
            }
            host.view.subflow[0].snd_una = host.view.subflow[0].snd_nxt;
        }
        host.cwnd(0)
    };
    assert_eq!(grow("cubic", 2_000), 20 << 6, "an increase below an eighth of the RTT");
    assert!(grow("cubic", 20_000) < 70, "the ninth sample of the second round shows it");
    assert_eq!(grow("cubic:hystart=off", 20_000), 20 << 6);
}

#[test]
fn hystart_ends_slow_start_when_the_ack_train_lasts_half_the_rtt() {
    let mut host = Host::in_slow_start("cubic", &[(100, 40_000)]);
    host.ack(0, 1);
    let start = host.now_us;
    while host.view.subflow[0].ssthresh > 1 << 20 {
        host.now_us += 500;
        let subflow = &mut host.view.subflow[0];
        subflow.snd_nxt = u64::MAX / 2;
        host.ack(0, 1);
        host.view.subflow[0].snd_una -= 1448; // the round goes on
        assert!(host.now_us < start + 100_000);
    }
    let train_us = host.now_us - start;
    // (min RTT + at most 1 ms) / 2
    assert!((20_000..=21_000).contains(&train_us), "{train_us}");
}

#[test]
fn nothing_grows_unless_the_window_was_the_limit() {
    for algorithm in ["reno", "cubic", "lia", "olia", "balia", "dlia", "dolia"] {
        let mut host = Host::in_slow_start(algorithm, &PAIR);
        host.deliver(
            0,
            Event {
                kind: event_type::ON_ACK,
                flags: event_flags::APP_LIMITED,
                acked: 10,
                grow: 10,
                acked_bytes: 14_480,
                rtt_us: 50_000,
                ..Event::default()
            },
        );
        assert_eq!(host.cwnd(0), 20, "{algorithm}");
    }
}

#[test]
fn weighted_increases_are_those_of_the_formulas() {
    assert_increases("ewtcp", &PAIR, &[0.0125, 0.025]);
    assert_increases("coupled", &PAIR, &[1.0 / 30.0; 2]);
    assert_increases("semicoup", &PAIR, &[0.016_667; 2]);
    assert_increases("semicoup:gain=unit", &PAIR, &[1.0 / 30.0; 2]);
}

#[test]
fn n_subflows_grow_as_one_flow_or_by_their_share_of_it() {
    for n in 2..=8_usize {
        let host = |spec: &str| Host::new(spec, &vec![(50, 30_000); n]);
        let n = n as f64;
        assert_near(host("ewtcp").increase("ewtcp", 0), 1.0 / (50.0 * n * n), 1e-3);
        assert_near(host("coupled").increase("coupled", 0), 1.0 / (50.0 * n), 1e-3);
        assert_near(host("semicoup").increase("semicoup", 0), 1.0 / (50.0 * n * n), 1e-3);
    }
}

#[test]
fn coupled_takes_half_of_all_windows_from_the_one_that_lost() {
    let mut host = Host::new("coupled", &[(20, 50_000), (11, 50_000)]);
    assert_eq!((host.lose(0), host.carry(0)), (4, 0.5), "20 - 31/2");
    // The smaller window is less than that reduction.
    let mut host = Host::new("coupled", &[(20, 50_000), (11, 50_000)]);
    assert_eq!(host.lose(1), 1);
}

#[test]
fn others_halve_and_keep_at_least_a_packet_to_probe_with() {
    for spec in ["ewtcp", "semicoup"] {
        let mut host = Host::new(spec, &[(21, 50_000), (11, 50_000)]);
        assert_eq!(host.lose(0), 10);
        let mut host = Host::new(spec, &[(2, 50_000), (11, 50_000)]);
        assert_eq!(host.lose(0), 1);
        let mut host = Host::new(spec, &[(2, 50_000)]);
        assert_eq!(host.lose(0), 2, "alone it is Reno");
    }
}
