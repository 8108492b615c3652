//! N flows over one bottleneck, for profiling: `flows CC N RATE_MBIT RTT_MS QUEUE SECONDS [LOSS]`.

use braid_algorithms::Spec;
use braid_scenario::model::*;
use indexmap::IndexMap;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize| args[at].parse::<f64>().expect("a number");
    let loss = if args.len() > 7 { number(7) } else { 0.0 };
    let direction = Direction {
        rate_bps: (number(3) * 1e6) as u64,
        delay_ns: (number(4) * 1e6 / 2.0) as u64,
        jitter_ns: 0,
        queue: QueueLimit::Packets(number(5) as u32),
        loss: if loss > 1.0 {
            Loss::Periodic(loss as u32)
        } else if loss > 0.0 {
            Loss::Bernoulli(loss)
        } else {
            Loss::None
        },
        ecn_threshold: None,
        outages: vec![],
    };
    let scenario = Scenario {
        name: "flows".into(),
        title: String::new(),
        parameters: IndexMap::new(),
        duration_ns: (number(6) * 1e9) as u64,
        warmup_ns: 0,
        cooldown_ns: 0,
        links: vec![Link {
            name: "b1".into(),
            private: false,
            reverse: Direction { loss: Loss::None, queue: QueueLimit::Packets(100_000), ..direction.clone() },
            forward: direction,
        }],
        connections: (0..number(2) as usize)
            .map(|n| Connection {
                name: format!("tcp{n}"),
                kind: Kind::Tcp,
                cc: None,
                start_ns: n as u64 * 1_000_000,
                stop_ns: None,
                mss: 1448,
                data_header: 52,
                ack_size: 52,
                receive_buffer: 1 << 30,
                initial_window: 10,
                ecn: false,
                delayed_ack: true,
                subflows: vec![Subflow { name: "sf1".into(), route: vec![0], join_delay_ns: None, backup: false }],
            })
            .collect(),
    };
    let spec = Spec::parse(&args[1]).ok().expect("a congestion control");
    let start = std::time::Instant::now();
    let result = braid_sim::run(&scenario, &spec, 1).expect("a scenario");
    let seconds = start.elapsed().as_secs_f64();
    for connection in result.connections.iter().take(3) {
        let s = &connection.subflows[0];
        eprintln!(
            "goodput {:.3} Mbit/s cwnd {:.2} rtt {:.2} ms retrans {} fr {} rto {} undo {}",
            connection.goodput_bytes as f64 * 8e3 / result.measured_ns as f64,
            s.cwnd_integral as f64 / s.active_ns as f64,
            s.rtt_sum_us as f64 / s.rtt_samples.max(1) as f64 / 1e3,
            s.retransmissions, s.fast_retransmits, s.timeouts, s.undos,
        );
    }
    let l = &result.links[0].forward;
    eprintln!(
        "packets {} events {} ({:.2}/packet) drops {} wire {} mean queue {:.1}",
        result.packets_delivered,
        result.events,
        result.events as f64 / result.packets_delivered as f64,
        l.drops_queue, l.drops_wire,
        l.queue_integral as f64 / result.measured_ns as f64
    );
    eprintln!("{seconds:.3} s, {:.2} M packets/s, {:.0} ns/packet", result.packets_delivered as f64 / seconds / 1e6, seconds * 1e9 / result.packets_delivered as f64);
}
