//! CPU time of an ACK for each algorithm, natively: `cargo run --release -p braid-algorithms --example costs >
//! algorithms/costs.tsv`.
#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::{hint::black_box, time::Instant};

use braid_algorithms::layout::{Event, Subflow, View, event_flags, event_type, subflow_flags};
use braid_algorithms::{Algorithm, Controller, Spec, all};

const ACKS: u32 = 20_000;
const ROUNDS: usize = 25;

/// Median nanoseconds per ACK in congestion avoidance, on a connection of `subflows` subflows.
fn cost(algorithm: &Algorithm, subflows: usize) -> f64 {
    let spec = Spec::parse(algorithm.name()).expect("a name");
    let mut view = View { connection: 1, n: subflows as u32, ..View::default() };
    for (i, subflow) in view.subflow.iter_mut().enumerate().take(subflows) {
        let rtt_us = 20_000 + 7_000 * i as u32;
        *subflow = Subflow {
            cwnd: 100 + 10 * i as u32,
            ssthresh: 50,
            flags: subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM,
            srtt_us: rtt_us,
            min_rtt_us: rtt_us,
            last_rtt_us: rtt_us,
            mss: 1448,
            cwnd_clamp: u32::MAX,
            id: i as u32 + 1,
            ..Subflow::default()
        };
    }
    let mut controllers: Vec<Controller> = (0..subflows).map(|_| Controller::new(&spec)).collect();
    for (i, controller) in controllers.iter_mut().enumerate() {
        view.self_index = i as u32;
        controller.deliver(&mut view, &Event { now_us: 1, kind: event_type::INIT, ..Event::default() });
    }
    let mut now_us = 1_000_000;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            for ack in 0..ACKS {
                let i = ack as usize % subflows;
                let subflow = &mut view.subflow[i];
                // Windows stay constant, as in equilibrium.
                subflow.cwnd = 100 + 10 * i as u32;
                subflow.ssthresh = 50;
                subflow.snd_una += 1448;
                subflow.snd_nxt = subflow.snd_una + 144_800;
                subflow.delivered = subflow.delivered.wrapping_add(1);
                let rtt_us = subflow.srtt_us + ack % 512;
                let event = Event {
                    now_us,
                    kind: event_type::ON_ACK,
                    flags: event_flags::CWND_LIMITED,
                    acked: 1,
                    grow: 1,
                    acked_bytes: 1448,
                    rtt_us,
                    rate_delivered: 100,
                    rate_interval_us: rtt_us,
                    rate_prior_delivered: subflow.delivered.wrapping_sub(100),
                    prior_in_flight: 100,
                    ..Event::default()
                };
                now_us += 200;
                view.self_index = i as u32;
                controllers[i].deliver(black_box(&mut view), black_box(&event));
            }
            began.elapsed().as_nanos() as f64 / f64::from(ACKS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() {
    println!(
        "# Native nanoseconds per ACK in congestion avoidance, by number of subflows; median of {ROUNDS} rounds."
    );
    println!("algorithm\t1\t2\t8");
    for algorithm in all() {
        let [one, two, eight] = [1, 2, 8].map(|n| cost(algorithm, n));
        println!("{}\t{one:.0}\t{two:.0}\t{eight:.0}", algorithm.name());
    }
}
