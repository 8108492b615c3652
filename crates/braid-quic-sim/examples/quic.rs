//! Scenarios on the QUIC stack and in the simulator: `cargo run --release -p braid-quic-sim --example quic -- d-olia/1
//! lia,olia 8`. Arguments: scenarios, algorithms, number of seeds, and optionally KEY=VALUE as for `braid run --set`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use braid_quic_sim::Quic;
use braid_study::{Sim, Study};

fn main() -> Result<(), braid_study::Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let scenarios: Vec<String> = arguments[1].split(',').map(str::to_owned).collect();
    let algorithms: Vec<String> = arguments[2].split(',').map(str::to_owned).collect();
    let seeds: u64 = arguments[3].parse().unwrap_or(1);
    let study = || {
        let study = Study::new(scenarios.clone()).algorithms(algorithms.clone()).seeds(seeds);
        arguments[4..].iter().fold(study, Study::set)
    };
    for (name, study) in [("quic", study().backend(Quic::default())), ("sim", study().backend(Sim))] {
        let start = Instant::now();
        let results = study.check()?.execution().collect()?;
        println!("{name}: {:.2} s", start.elapsed().as_secs_f64());
        for run in results.runs() {
            for connection in &run.connections {
                let rates: Vec<String> = connection
                    .subflows
                    .iter()
                    .map(|subflow| {
                        format!(
                            "{:.3} (rtt {:.1} ms, cwnd {:.1}, lost {})",
                            subflow.throughput_bps / 1e6,
                            subflow.mean_rtt_ms.unwrap_or(0.0),
                            subflow.mean_cwnd.unwrap_or(0.0),
                            subflow.retransmissions
                        )
                    })
                    .collect();
                println!(
                    "{} {} {} {:.3} Mbit/s: {}",
                    run.scenario,
                    run.cc,
                    connection.id,
                    connection.goodput_bps / 1e6,
                    rates.join(", ")
                );
            }
        }
    }
    Ok(())
}
