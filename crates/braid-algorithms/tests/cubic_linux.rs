//! `cubic:rounding=linux` gives the results of Linux's arithmetic in whole packets and jiffies.

mod common;

use braid_algorithms::layout::{Event, event_type};
use common::Host;

fn number(fields: &[&str], i: usize) -> u64 {
    fields[i].parse().unwrap_or_else(|_| panic!("{fields:?}: field {i} is not a number"))
}

#[test]
fn cubic_in_whole_packets_follows_the_model_ack_by_ack() {
    let mut cases = 0;
    let mut host = Host::new("cubic", &[(10, 50_000)]);
    for (line, text) in include_str!("cubic_linux_vectors.tsv").lines().enumerate() {
        if text.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = text.split('\t').collect();
        let what = fields[0];
        match what {
            "case" => {
                host = Host::new(fields[1], &[(number(&fields, 2) as u32, number(&fields, 3) as u32)]);
                cases += 1;
                continue;
            }
            "ack" => {
                host.view.subflow[0].last_rtt_us = number(&fields, 4) as u32;
                let mut sum = 0;
                for _ in 0..number(&fields, 1) {
                    host.now_us += number(&fields, 2);
                    host.ack(0, number(&fields, 3) as u32);
                    sum += u64::from(host.cwnd(0));
                }
                assert_eq!(sum, number(&fields, 7), "sum of cwnd, line {}", line + 1);
            }
            "lose" => {
                host.lose(0);
            }
            "time_out" => host.time_out(0),
            "idle" => {
                let idle_us = number(&fields, 2);
                host.now_us += idle_us;
                let idle_us = idle_us as u32;
                host.deliver(0, Event { kind: event_type::ON_IDLE_RESTART, idle_us, ..Event::default() });
            }
            other => panic!("line {}: {other}", line + 1),
        }
        let windows = [host.cwnd(0), host.view.subflow[0].ssthresh].map(u64::from);
        assert_eq!(windows, [number(&fields, 5), number(&fields, 6)], "cwnd and ssthresh, line {}", line + 1);
        assert!(host.carry(0).abs() < f64::EPSILON, "line {}: a fraction of a packet", line + 1);
    }
    assert!(cases > 1, "the vectors are there");
}

/// Seconds from a loss at `cwnd` until the window has recovered, with one ACK per packet and a constant round trip.
fn seconds_to_come_back(spec: &str, cwnd: u32, rtt_us: u32) -> f64 {
    let mut host = Host::new(spec, &[(cwnd, rtt_us)]);
    host.lose(0);
    let start = host.now_us;
    while host.cwnd(0) < cwnd {
        host.now_us += u64::from(rtt_us / host.cwnd(0));
        host.ack(0, 1);
    }
    (host.now_us - start) as f64 / 1e6
}

#[test]
fn cubic_in_whole_packets_skips_the_last_packet_before_the_old_window() {
    let [exact, linux] = ["exact", "linux"].map(|rounding| {
        seconds_to_come_back(&format!("cubic:friendly=off:hystart=off:rounding={rounding}"), 300, 20_000)
    });
    let k = (300.0 * 307.0 / 1024.0 / 0.4_f64).cbrt();
    let last_packet = (1.0 / 0.4_f64).cbrt();
    assert!(
        (exact - k).abs() < 0.25 && (linux - (k - last_packet)).abs() < 0.25,
        "{exact} and {linux}, K = {k}"
    );
}

#[test]
fn cubic_takes_fractions_of_a_packet_unless_told_otherwise() {
    let fraction = |spec: &str| {
        let mut host = Host::new(spec, &[(15, 50_000)]);
        host.lose(0);
        host.carry(0)
    };
    assert!(fraction("cubic") > 0.5);
    assert_eq!(fraction("cubic:rounding=exact").to_bits(), fraction("cubic").to_bits());
    assert_eq!(fraction("cubic:rounding=linux").to_bits(), 0);
}
