//! The delay-based algorithms compute what their formulas say.

mod common;

use common::{Host, assert_near};

/// A round of ACKs with these RTTs, the first of which is the base RTT; then the ACK that ends the round.
fn round(host: &mut Host, i: usize, rtts_us: &[u32]) {
    for &rtt_us in rtts_us {
        host.view.subflow[i].last_rtt_us = rtt_us;
        host.view.subflow[i].snd_nxt = u64::MAX / 2;
        host.ack(i, 0);
    }
    end_round(host, i);
}

fn end_round(host: &mut Host, i: usize) {
    let mss = u64::from(host.view.subflow[i].mss);
    host.view.subflow[i].snd_una += 1 << 20;
    host.deliver(
        i,
        braid_algorithms::layout::Event {
            kind: braid_algorithms::layout::event_type::ON_ACK,
            flags: braid_algorithms::layout::event_flags::CWND_LIMITED,
            acked: 1,
            grow: 1,
            acked_bytes: mss as u32,
            ..Default::default()
        },
    );
}

fn alpha(host: &Host, i: usize) -> u32 {
    // carry, round_end, rtt_sum_us, (rtt_samples, base), (alpha, queue_delay)
    host.controllers[i].private()[4] as u32
}

#[test]
fn wvegas_counts_what_is_queued_by_the_mean_rtt() {
    // 20 packets, base 50 ms, mean 60 ms: 20 * 10 / 60 = 3 in integers.
    for (initial, change) in [(2, 1), (3, 1), (4, 1)] {
        let mut host = Host::new(&format!("wvegas:initial_alpha={initial}"), &[(20, 50_000)]);
        host.ack(0, 0);
        end_round(&mut host, 0);
        let before = host.cwnd(0);
        round(&mut host, 0, &[50_000, 60_000, 70_000]);
        // A single subflow has the whole target of ten, so the window may grow.
        assert_eq!(host.cwnd(0), before + change, "alpha {initial}");
        assert_eq!(alpha(&host, 0), if initial < 4 { 10 } else { 4 });
    }
}

#[test]
fn wvegas_divides_ten_packets_as_the_rates_are() {
    // Both rates known: 40/80 ms and 20/160 ms are 4 : 1, so 8 and 2 of 10 packets; the 16 bits of a weight make 7 of 8.
    let mut host = Host::new("wvegas", &[(40, 50_000), (20, 100_000)]);
    for i in [0, 1] {
        host.ack(i, 0);
        end_round(&mut host, i);
    }
    let rtts = [[50_000, 80_000, 110_000], [100_000, 160_000, 220_000]];
    for i in [0, 1, 0, 1] {
        host.view.subflow[i].cwnd = [40, 20][i];
        round(&mut host, i, &rtts[i]);
    }
    assert_eq!((alpha(&host, 0), alpha(&host, 1)), (8, 2));
}

#[test]
fn wvegas_steps_down_by_one_and_drains_when_the_delay_has_doubled() {
    let mut host = Host::new("wvegas:total_alpha=2", &[(40, 50_000)]);
    host.ack(0, 0);
    end_round(&mut host, 0);
    round(&mut host, 0, &[50_000, 56_000, 56_000]);
    let before = host.cwnd(0);
    // 4 ms was the smallest mean; 6 ms is less than twice that: one packet less.
    round(&mut host, 0, &[56_000, 56_000, 56_000]);
    assert_eq!(host.cwnd(0), before - 1);
    // 10 ms is more: the window is multiplied by base / (2 rtt).
    let before = host.cwnd(0) - 1;
    round(&mut host, 0, &[60_000, 60_000, 60_000]);
    assert_eq!(host.cwnd(0), (f64::from(before) * 50.0 / 120.0) as u32);
}

#[test]
fn wvegas_whose_rate_is_too_small_to_count_keeps_its_weight() {
    // 8 packets in 800 ms are less than 2^-16 packets per microsecond.
    let mut host = Host::new("wvegas", &[(8, 700_000)]);
    host.ack(0, 0);
    end_round(&mut host, 0);
    round(&mut host, 0, &[700_000, 1_400_000, 1_400_000]);
    assert_eq!(alpha(&host, 0), 10);
}

#[test]
fn wvegas_divides_as_the_rates_are_in_their_sixteen_bits() {
    // Rates of 12 and 8 units: 39321/65536 of ten packets, 5.99.
    let mut host = Host::new("wvegas", &[(16, 50_000), (11, 50_000)]);
    for i in [0, 1] {
        host.ack(i, 0);
        end_round(&mut host, i);
    }
    for i in [1, 0, 1, 0] {
        host.view.subflow[i].cwnd = [16, 11][i];
        round(&mut host, i, &[50_000, 105_000, 105_000]);
    }
    let rates = [0, 1].map(|i| host.view.subflow[i].public_words[0]);
    assert_eq!(rates, [12, 8]);
    assert_eq!(alpha(&host, 0), 6);
}

#[test]
fn wvegas_forgets_its_base_rtt_only_after_more_than_a_timeout_of_silence() {
    use braid_algorithms::layout::{Event, event_flags, event_type};
    for (flags, alpha_after) in [(0, 10), (event_flags::IDLE_DECAYED, 2)] {
        let mut host = Host::new("wvegas", &[(20, 50_000)]);
        host.ack(0, 0);
        end_round(&mut host, 0);
        round(&mut host, 0, &[50_000, 60_000, 70_000]);
        assert_eq!(alpha(&host, 0), 10);
        host.deliver(0, Event { kind: event_type::ON_IDLE_RESTART, flags, ..Event::default() });
        assert_eq!(alpha(&host, 0), alpha_after);
        let base_us = (host.controllers[0].private()[3] >> 32) as u32;
        assert_eq!(base_us, if flags == 0 { 50_001 } else { 0 });
    }
}

/// Twenty packets with base 50 ms and three RTT samples of this length.
fn veno(spec: &str, subflows: &[(u32, u32)], rtt_us: u32) -> Host {
    let mut host = Host::new(spec, subflows);
    for (i, &(window, base)) in subflows.iter().enumerate() {
        host.ack(i, 0);
        host.view.subflow[i].last_rtt_us = base + rtt_us - 50_000;
        host.ack(i, 0);
        host.ack(i, 1);
        host.view.subflow[i].last_rtt_us = base + rtt_us - 50_000;
        host.view.subflow[i].cwnd = window;
    }
    host
}

fn growth(host: &mut Host, i: usize) -> f64 {
    let before = f64::from(host.cwnd(i)) + host.carry(i);
    host.ack(i, 1);
    f64::from(host.cwnd(i)) + host.carry(i) - before
}

#[test]
fn veno_grows_half_as_fast_and_cuts_more_when_three_packets_are_queued() {
    // 20 (rtt - 50)/rtt: 2.3 at 56.5 ms, 3.2 at 59.5 ms.
    let mut free = veno("veno", &[(20, 50_000)], 56_500);
    assert_near(growth(&mut free, 0), 1.0 / 20.0, 1e-3);
    free.view.subflow[0].cwnd = 20;
    assert_eq!(free.lose(0), 16);
    let mut busy = veno("veno", &[(20, 50_000)], 59_500);
    assert_near(growth(&mut busy, 0), 1.0 / 40.0, 1e-3);
    busy.view.subflow[0].cwnd = 20;
    assert_eq!(busy.lose(0), 10);
}

#[test]
fn mveno_asks_for_each_subflows_share_of_three_packets() {
    // Two equal subflows: 1.5 packets each, and OLIA's growth of a quarter packet per RTT.
    let pair = [(20, 50_000), (20, 50_000)];
    let quarter = 1.0 / 80.0;
    let mut free = veno("mveno", &pair, 52_000); // 20 * 2/52 = 0.8
    assert_near(growth(&mut free, 0), quarter, 1e-2);
    assert_eq!(free.lose(0), 16);
    let mut busy = veno("mveno", &pair, 56_500); // 2.3: more than 1.5, less than 3
    assert_near(growth(&mut busy, 0), quarter / 2.0, 1e-2);
    assert_eq!(busy.lose(0), 10);
    // While a sibling is in slow start, each subflow counts for itself and grows as Reno.
    let mut early = veno("mveno", &pair, 56_500);
    early.view.subflow[1].ssthresh = 1 << 20;
    assert_near(growth(&mut early, 0), 1.0 / 20.0, 1e-2);
    assert_eq!(early.lose(0), 16);
    // A timeout halves the window at any queue length.
    let mut late = veno("mveno", &pair, 52_000);
    late.time_out(0);
    assert_eq!(late.view.subflow[0].ssthresh, 10);
}

/// One round of Compound with this window and this RTT over a base of 50 ms: growth of the whole window.
fn compound_round(spec: &str, window: u32, rtt_us: u32) -> f64 {
    let mut host = Host::new(spec, &[(window, rtt_us)]);
    host.view.subflow[0].min_rtt_us = 50_000;
    let before = f64::from(host.cwnd(0));
    end_round(&mut host, 0);
    f64::from(host.cwnd(0)) + host.carry(0) - before
}

#[test]
fn compound_adds_a_delay_window_while_the_path_is_idle() {
    for window in [38, 100, 1000, 20_000] {
        let w = f64::from(window);
        let expected = 1.0 / w + (w.powf(0.75) / 8.0 - 1.0).max(0.0);
        assert_near(compound_round("compound", window, 50_000), expected, 1e-3);
    }
    assert_near(compound_round("compound", 37, 50_000), 1.0 / 37.0, 1e-3);
}

#[test]
fn compound_takes_its_delay_window_back_when_thirty_packets_are_queued() {
    let mut host = Host::new("compound", &[(200, 50_000)]);
    for _ in 0..10 {
        end_round(&mut host, 0);
    }
    let (window, dwnd) = (f64::from(host.cwnd(0)), host.controllers[0].private()[1] as f64 / 2_f64.powi(32));
    assert_near(window, 200.0 + dwnd, 1e-2);
    assert!(dwnd > 50.0, "{dwnd}");
    // 60 ms over 50 ms: a sixth of the window is queued.
    host.view.subflow[0].srtt_us = 60_000;
    end_round(&mut host, 0);
    let less = host.controllers[0].private()[1] as f64 / 2_f64.powi(32);
    assert_near(less, dwnd - window / 6.0, 0.02);
    // A loss halves the whole window; the loss window keeps its half of it.
    let whole = f64::from(host.cwnd(0)) + host.carry(0);
    host.lose(0);
    assert_near(f64::from(host.cwnd(0)) + host.carry(0), whole / 2.0, 1e-6);
    let left = host.controllers[0].private()[1] as f64 / 2_f64.powi(32);
    assert_near(left, whole / 2.0 - (whole - less) / 2.0, 1e-6);
    host.time_out(0);
    assert_eq!(host.controllers[0].private()[1], 0);
}

#[test]
fn mcompound_couples_the_loss_windows_only() {
    let mut host = Host::new("mcompound", &[(20, 50_000), (10, 100_000)]);
    assert_near(growth(&mut host, 0), 0.032, 1e-3);
    assert_near(growth(&mut host, 1), 0.032, 1e-3);
    let mut host = Host::new("mcompound", &[(1000, 50_000), (1000, 50_000)]);
    end_round(&mut host, 0);
    let expected = 1000_f64.powf(0.75) / 8.0 - 1.0 + 0.25 / 1000.0;
    assert_near(f64::from(host.cwnd(0)) + host.carry(0) - 1000.0, expected, 1e-3);
}
