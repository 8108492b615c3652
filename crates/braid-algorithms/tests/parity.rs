//! Algorithms whose source is public do what that source does, step for step.
//!
//! The expected values come from the modules of the out-of-tree MPTCP kernel (v0.96: LIA, OLIA, BALIA, wVegas) and from Linux
//! (Reno, Vegas, CUBIC), compiled outside this tree and driven with the same events: ACKs of one to three packets, some of
//! them of an application-limited window, losses, ECN echoes, timeouts, idle restarts and changes of RTT. After each step
//! cwnd and ssthresh of all subflows enter a digest. Not among the events, as a host delivers none for it: a change to Disorder and
//! back without an ACK that may grow the window, after which the modules compute their increase once more.
//!
//! CUBIC with an exact cube root. The kernel takes it from a table of 64 entries, which is not copied here: of 1,000,000
//! steps with one to four flows it differs in up to 6.1 %, by two packets at most, and the mean window by up to 0.02 %.
//!
//! C-MPBBR is the published module (for v0.93), with random phases and payload sizes as here. Not among the events: the end
//! of a subflow, which an algorithm cannot close. After an undo or a start under a policer, which do not occur in these
//! steps, the module keeps a pacing gain of 1 until the next phase: 1,520 of 1,000,000 steps of one subflow.

mod common;

use braid_algorithms::layout::{Event, SSTHRESH_INFINITE, View, ca_state, cause, event_flags, event_type};
use common::Host;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn digest(digest: &mut u64, value: u32) {
    for byte in value.to_le_bytes() {
        *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

fn windows(view: &View) -> String {
    let subflows = &view.subflow[..view.n as usize];
    subflows.iter().map(|s| format!("{}/{}", s.cwnd, s.ssthresh)).collect::<Vec<_>>().join(" ")
}

/// The digest after 100,000 events, and the windows after the thousandth, the ten-thousandth and the last.
fn run(spec: &str, n: usize) -> (u64, String) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 + 1);
    let rtts: Vec<_> = (0..n).map(|_| (10, 5_000 + (random.next() % 200_000) as u32)).collect();
    let mut host = Host::in_slow_start(spec, &rtts);
    for subflow in &mut host.view.subflow[..n] {
        subflow.cwnd_clamp = 3000;
    }
    let (mut sum, mut shown) = (0xcbf2_9ce4_8422_2325, Vec::new());
    for step in 1..=100_000 {
        host.now_us += 1000;
        step_once(&mut host, &mut random, n as u64);
        for subflow in &host.view.subflow[..n] {
            digest(&mut sum, subflow.cwnd);
            digest(&mut sum, subflow.ssthresh);
        }
        if [1000, 10_000, 100_000].contains(&step) {
            shown.push(windows(&host.view));
        }
    }
    (sum, shown.join(", "))
}

fn step_once(host: &mut Host, random: &mut Random, n: u64) {
    let draw = random.next();
    let i = (draw % n) as usize;
    let kind = (draw >> 8) % 2000;
    let rest = draw >> 24;
    let state = host.view.subflow[i].ca_state;
    let open = state == ca_state::OPEN;
    match kind {
        0..=4 if open => {
            let (cause, state) = match kind {
                0..=2 => (cause::FAST_RETRANSMIT, ca_state::RECOVERY),
                3 => (cause::ECN, ca_state::CWR),
                _ => (cause::RTO, ca_state::LOSS),
            };
            host.deliver(i, Event { kind: event_type::ON_LOSS, cause, ..Event::default() });
            let subflow = &mut host.view.subflow[i];
            subflow.prior_cwnd = subflow.cwnd;
            subflow.ca_state = state;
            if state == ca_state::LOSS {
                subflow.cwnd = 1;
            }
        }
        0..=11 => {
            let rtt_us = 5_000 + (rest % 200_000) as u32;
            host.view.subflow[i].srtt_us = rtt_us;
            host.view.subflow[i].last_rtt_us = rtt_us;
        }
        12..=13 if open => {
            let (flags, idle_us) = (event_flags::IDLE_DECAYED, 1_000_000);
            host.deliver(i, Event { kind: event_type::ON_IDLE_RESTART, flags, idle_us, ..Event::default() });
        }
        12..=13 => {}
        _ => acknowledge(host, i, kind, rest),
    }
}

fn acknowledge(host: &mut Host, i: usize, kind: u64, rest: u64) {
    let subflow = &mut host.view.subflow[i];
    let packets = 1 + (rest % 3) as u32;
    let limited = !(rest >> 4).is_multiple_of(16);
    let rtt_us = subflow.srtt_us + ((rest >> 8) % u64::from(subflow.srtt_us / 2 + 1)) as u32;
    let reducing = [ca_state::RECOVERY, ca_state::CWR].contains(&subflow.ca_state);
    let leaves = reducing && kind < 500 || subflow.ca_state == ca_state::LOSS && kind < 250;
    let acked_bytes = packets * subflow.mss;
    subflow.snd_una += u64::from(acked_bytes);
    subflow.delivered += packets;
    subflow.last_rtt_us = rtt_us;
    if leaves {
        subflow.ca_state = ca_state::OPEN;
        if reducing {
            subflow.cwnd = subflow.ssthresh;
        }
    }
    subflow.snd_nxt = subflow.snd_una + u64::from(subflow.cwnd) * u64::from(subflow.mss);
    if leaves {
        host.deliver(i, Event { kind: event_type::ON_RECOVERED, cause: cause::EXIT, ..Event::default() });
    }
    let grow = if reducing && !leaves { 0 } else { packets };
    let flags = if limited { event_flags::CWND_LIMITED } else { 0 };
    host.deliver(
        i,
        Event {
            kind: event_type::ON_ACK,
            flags,
            acked: packets,
            grow,
            acked_bytes,
            rtt_us,
            ..Event::default()
        },
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn windows_are_those_of_the_public_source_in_every_step() {
    assert_eq!(SSTHRESH_INFINITE, 0x7fff_ffff);
    for (spec, n, expected, shown) in [
        ("reno:rounding=linux", 1, 0xf322_d612_331b_eb53, "109/107, 19/19, 37/21"),
        ("reno:rounding=linux", 2, 0xad18_d362_80a0_8c59, "60/58 911/2147483647, 14/14 53/15, 45/26 27/18"),
        (
            "reno:rounding=linux",
            3,
            0x6f8c_97e1_a851_bfb6,
            "243/243 85/79 619/2147483647, 27/13 35/23 49/23, 31/13 53/12 26/20",
        ),
        (
            "reno:rounding=linux",
            4,
            0x3981_bd83_8ca9_5e54,
            "198/198 468/2147483647 73/68 450/2147483647, 27/27 37/13 19/12 57/44, 48/9 20/14 36/25 53/15",
        ),
        ("vegas:rounding=linux", 1, 0x0ba8_d054_a916_1729, "118/116, 17/17, 28/21"),
        ("vegas:rounding=linux", 2, 0x3719_8714_4fd4_e679, "64/62 963/2147483647, 2/2 43/31, 4/1 22/16"),
        (
            "vegas:rounding=linux",
            3,
            0xe15b_f4e1_e41c_6cc3,
            "265/265 37/27 644/2147483647, 6/3 30/22 41/33, 29/21 4/3 20/15",
        ),
        (
            "vegas:rounding=linux",
            4,
            0x6425_a465_d942_1935,
            "169/169 171/170 77/73 90/90, 23/23 37/27 3/3 34/25, 31/22 18/13 4/3 3/2",
        ),
        ("cubic:rounding=linux", 1, 0xd3d7_1789_500c_767f, "81/79, 32/32, 48/26"),
        ("cubic:rounding=linux", 2, 0x3bf5_fd3a_2f82_16ab, "122/120 642/628, 30/30 44/23, 40/31 33/23"),
        (
            "cubic:rounding=linux",
            3,
            0x2ad9_ec12_3d5d_edb7,
            "341/340 123/111 353/339, 38/26 47/30 85/73, 51/45 42/18 33/26",
        ),
        (
            "cubic:rounding=linux",
            4,
            0x8473_8227_d589_bbcc,
            "278/277 468/2147483647 53/42 184/171, 38/38 49/41 42/38 95/83, 70/14 36/32 44/39 45/25",
        ),
        ("lia:rounding=usec", 1, 0x9751_8998_9e03_0e9b, "107/106, 13/13, 25/14"),
        ("lia:rounding=usec", 2, 0x8e01_7faf_be73_a30b, "55/55 911/2147483647, 3/3 17/8, 12/10 6/5"),
        (
            "lia:rounding=usec",
            3,
            0xc5c0_3aa7_25c0_e563,
            "243/243 79/79 619/2147483647, 6/3 9/7 32/21, 18/3 24/2 12/9",
        ),
        (
            "lia:rounding=usec",
            4,
            0xaaea_bb03_6905_db5e,
            "198/198 468/2147483647 68/68 450/2147483647, 5/5 7/2 4/3 46/40, 18/2 8/6 16/8 17/3",
        ),
        ("olia:rounding=fork", 1, 0xd4e8_2fdb_0c33_6651, "107/106, 13/13, 26/15"),
        ("olia:rounding=fork", 2, 0xfde9_66f8_8d40_4888, "55/55 911/2147483647, 3/3 23/10, 9/9 16/10"),
        (
            "olia:rounding=fork",
            3,
            0xc852_a1ae_df14_d04b,
            "243/243 79/79 619/2147483647, 2/2 2/2 36/21, 19/4 9/6 4/4",
        ),
        (
            "olia:rounding=fork",
            4,
            0xb692_343e_5ce6_95f6,
            "198/198 468/2147483647 68/68 450/2147483647, 3/3 2/2 2/2 45/39, 19/2 2/2 7/7 14/2",
        ),
        ("balia:rounding=fork", 1, 0x9751_8998_9e03_0e9b, "107/106, 13/13, 25/14"),
        ("balia:rounding=fork", 2, 0x493e_436d_247a_586c, "56/56 911/2147483647, 2/2 29/10, 13/6 14/9"),
        (
            "balia:rounding=fork",
            3,
            0x0aa5_95c8_351e_47a9,
            "243/243 80/80 619/2147483647, 4/1 6/3 35/22, 19/5 16/6 5/3",
        ),
        (
            "balia:rounding=fork",
            4,
            0xb840_ad0f_d6cc_174c,
            "198/198 468/2147483647 34/34 450/2147483647, 3/3 7/1 3/1 46/40, 18/2 4/2 6/4 14/1",
        ),
        ("wvegas:rounding=fork", 1, 0x6e63_8951_d5b8_fc50, "34/25, 16/16, 20/17"),
        ("wvegas:rounding=fork", 2, 0xe3f0_7f3d_1786_93f0, "13/12 34/25, 6/6 45/33, 6/3 17/15"),
        (
            "wvegas:rounding=fork",
            3,
            0x5417_39e4_02c6_444d,
            "20/19 12/12 23/18, 5/2 29/21 24/24, 24/18 4/3 10/9",
        ),
        (
            "wvegas:rounding=fork",
            4,
            0x1d00_f8a9_2753_e82a,
            "17/14 22/16 13/12 3/3, 13/13 12/10 5/3 30/22, 30/22 10/9 5/3 7/7",
        ),
    ] {
        let (measured, windows) = run(spec, n);
        assert_eq!(windows, shown, "{spec} with {n} subflows after 1,000, 10,000, 100,000 steps");
        assert_eq!(measured, expected, "{spec} with {n} subflows: windows in between");
    }
}

/// A path of C-MPBBR: its RTT and the time between packets at its bottleneck, microseconds, and the number of packets
/// that had been delivered when the latest acknowledged one was sent.
#[derive(Clone, Copy, Default)]
struct Path {
    rtt_us: u64,
    gap_us: u64,
    prior_delivered: u32,
    is_lossy: bool,
}

/// As [`run`], with windows and pacing rates (kB/s).
fn run_rates(spec: &str, n: usize) -> (u64, String) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 + 1);
    let mut paths = [Path::default(); 8];
    for path in &mut paths[..n] {
        path.rtt_us = 5000 + random.next() % 100_000;
        path.gap_us = 100 + random.next() % 2000;
    }
    let subflows: Vec<_> = paths[..n].iter().map(|path| (10, path.rtt_us as u32)).collect();
    let mut host = Host::in_slow_start(spec, &subflows);
    for subflow in &mut host.view.subflow[..n] {
        subflow.cwnd_clamp = 100_000;
    }
    let (mut sum, mut shown) = (0xcbf2_9ce4_8422_2325, Vec::new());
    for step in 1..=100_000 {
        host.now_us += 1000;
        rate_step(&mut host, &mut random, &mut paths[..n]);
        for subflow in &host.view.subflow[..n] {
            digest(&mut sum, subflow.cwnd);
            digest(&mut sum, subflow.pacing_rate as u32);
        }
        if [1000, 10_000, 100_000].contains(&step) {
            let values =
                host.view.subflow[..n].iter().map(|s| format!("{}/{}", s.cwnd, s.pacing_rate / 1000));
            shown.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    (sum, shown.join(", "))
}

fn rate_step(host: &mut Host, random: &mut Random, paths: &mut [Path]) {
    let draw = random.next();
    let i = (draw % paths.len() as u64) as usize;
    let (kind, rest) = ((draw >> 8) % 4000, draw >> 24);
    let state = host.view.subflow[i].ca_state;
    let open = state == ca_state::OPEN;
    match kind {
        0..=4 if open => {
            let (cause, state) = match kind {
                0..=3 => (cause::FAST_RETRANSMIT, ca_state::RECOVERY),
                _ => (cause::RTO, ca_state::LOSS),
            };
            host.deliver(i, Event { kind: event_type::ON_LOSS, cause, ..Event::default() });
            host.view.subflow[i].ca_state = state;
        }
        5 if state == ca_state::RECOVERY => {
            host.deliver(i, Event { kind: event_type::ON_RECOVERED, cause: cause::UNDO, ..Event::default() });
        }
        6 => paths[i].gap_us = 100 + rest % 2000,
        7 => {
            // About that of another path.
            let other_us = paths[(rest % paths.len() as u64) as usize].gap_us;
            paths[i].gap_us = other_us + rest / 8 % (other_us / 8 + 1);
        }
        8 => paths[i].rtt_us = 5000 + rest % 100_000,
        9 => paths[i].is_lossy ^= true,
        10 | 11 if open => {
            let (flags, idle_us) = (event_flags::IDLE_DECAYED | event_flags::APP_LIMITED, 1_000_000);
            host.deliver(i, Event { kind: event_type::ON_IDLE_RESTART, flags, idle_us, ..Event::default() });
        }
        // An event of another state.
        0..=5 | 10 | 11 => {}
        _ => sample(host, random, &mut paths[i], (i, kind, rest)),
    }
}

/// An ACK with a sample of the delivery rate.
fn sample(host: &mut Host, random: &mut Random, path: &mut Path, (i, kind, rest): (usize, u64, u64)) {
    let (packets, rest) = (1 + (rest % 3) as u32, rest >> 4);
    let (is_limited, rest) = (rest.is_multiple_of(64), rest >> 6);
    let queue_us = if rest.is_multiple_of(4) { 0 } else { rest % (path.rtt_us / 2 + 1) };
    let rest = rest >> 20;
    let now_us = host.now_us;
    let subflow = &mut host.view.subflow[i];
    let is_recovering = subflow.ca_state == ca_state::RECOVERY;
    let leaves = is_recovering && kind < 200 || subflow.ca_state == ca_state::LOSS && kind < 400;
    let losses = match rest {
        _ if path.is_lossy && rest.is_multiple_of(4) => 1 + (rest / 4 % 3) as u32,
        _ if path.is_lossy => 0,
        _ => u32::from(is_recovering && rest.is_multiple_of(16)),
    };
    let rtt_us = (path.rtt_us + queue_us) as u32;
    let prior_in_flight = subflow.in_flight;
    let acked_bytes = packets * subflow.mss;
    subflow.delivered += packets;
    subflow.lost += losses;
    subflow.last_ack_us = now_us;
    (subflow.last_rtt_us, subflow.srtt_us) = (rtt_us, rtt_us);
    subflow.min_rtt_us = subflow.min_rtt_us.min(rtt_us);
    subflow.snd_una += u64::from(acked_bytes);
    subflow.snd_nxt = subflow.snd_una + u64::from(subflow.cwnd) * u64::from(subflow.mss);
    let draw = random.next();
    let missing = if draw.is_multiple_of(4) { draw / 4 % u64::from(subflow.cwnd) } else { 0 };
    subflow.in_flight = subflow.cwnd - missing as u32;
    let (ago, draw) = (subflow.in_flight + (draw >> 24) as u32 % 8, draw >> 27);
    path.prior_delivered = path.prior_delivered.max(subflow.delivered.saturating_sub(ago));
    let rate_delivered = subflow.delivered - path.prior_delivered;
    let interval_us = u64::from(rate_delivered) * path.gap_us;
    let rate_interval_us = (interval_us + draw % (interval_us / 8 + 1)) as u32;
    if leaves {
        subflow.ca_state = ca_state::OPEN;
        host.deliver(i, Event { kind: event_type::ON_RECOVERED, cause: cause::EXIT, ..Event::default() });
    }
    let limited = if is_limited { event_flags::APP_LIMITED } else { 0 };
    let event = Event {
        kind: event_type::ON_ACK,
        flags: event_flags::CWND_LIMITED | limited,
        acked: packets,
        grow: packets,
        acked_bytes,
        rtt_us,
        rate_delivered,
        rate_interval_us,
        rate_prior_delivered: path.prior_delivered,
        rate_losses: losses,
        prior_in_flight,
        ..Event::default()
    };
    host.deliver(i, event);
}

#[test]
fn windows_and_rates_of_cmpbbr_are_those_of_the_published_module_in_every_step() {
    for (n, expected, shown) in [
        (1, 0x7467_3872_a69a_a56e, "136/1501, 36/896, 58/785"),
        (2, 0x4a32_bfb0_bdca_6620, "110/1875 103/1968, 36/717 124/1399, 72/1002 84/944"),
        (3, 0x5f0e_34dc_a5f3_b63c, "72/750 74/787 36/2670, 70/717 38/787 16/697, 38/911 32/287 84/1137"),
        (
            4,
            0x6988_b194_b83a_27bd,
            "72/750 74/787 36/3338 90/2461, 100/1087 214/3106 16/702 88/1965, 84/1196 66/721 206/1473 94/901",
        ),
    ] {
        let (measured, values) = run_rates("cmpbbr:patience=0", n);
        assert_eq!(values, shown, "{n} subflows after 1,000, 10,000, 100,000 steps");
        assert_eq!(measured, expected, "{n} subflows: values in between");
    }
}
