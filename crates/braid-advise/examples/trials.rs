//! How good advice is: random networks whose truth is known, seen only as a router would see them.
//!
//! ```text
//! cargo run --release -p braid-advise --example trials -- [FIRST..LAST] [RUNNING]
//! ```
//!
//! In each network `case/N` a connection runs for 40 s with the algorithm RUNNING (cubic); what its sockets say is all that the
//! advice is made from. All candidates are then simulated in the network itself. The choice is right if its utility there is
//! within 5 % of that of the best candidate that does no harm there; it does harm if it does there.
//! Networks of which every candidate does harm are counted apart: there the mildest is asked for.

#![allow(clippy::print_stdout, reason = "its results")]

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;

use braid_advise::{Advice, Look, Question, Seen, estimate};
use braid_results::measure::{Measurements, SubflowSample};
use braid_scenario::{Source, case};
use braid_study::Study;

/// Of the best candidate's utility.
const NEAR: f64 = 0.95;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let range = arguments.first().map_or("10000..10199", String::as_str);
    let running = arguments.get(1).map_or("cubic", String::as_str);
    let bounds: Vec<u64> = range.split("..").filter_map(|bound| bound.parse().ok()).collect();
    let [first, last] = bounds[..] else {
        eprintln!("`{range}`: expected FIRST..LAST, such as 10000..10199");
        return ExitCode::from(2);
    };
    let mut kinds: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    println!("case,kind,sharing,chosen,best,utility,harm");
    for number in first..=last {
        let name = format!("case/{number}");
        let counts = kinds.entry(case::kind(number)).or_default();
        counts[0] += 1;
        let (advice, sharing) = match seen(&name, running) {
            Ok(seen) => seen,
            Err(reason) => {
                counts[3] += 1;
                println!("{number},{},{reason},,,,", case::kind(number));
                continue;
            }
        };
        let truth = ask(Question::new(Source::find(&name).expect("every number is a case")));
        let chosen =
            truth.rows.iter().find(|row| row.spec == advice.choice().spec).expect("the same candidates");
        let best =
            truth.rows.iter().filter(|row| row.is_fair()).map(braid_advise::Row::utility).fold(0.0, f64::max);
        let least = truth.rows.iter().map(braid_advise::Row::least_harm).fold(f64::INFINITY, f64::min);
        let harms = !chosen.is_fair() && chosen.least_harm() > least + 0.02;
        let right = if best > 0.0 { !harms && chosen.utility() >= NEAR * best } else { !harms };
        counts[1] += usize::from(right);
        counts[2] += usize::from(harms);
        println!(
            "{number},{},{sharing},{},{},{:.3},{:.3}",
            case::kind(number),
            chosen.spec,
            truth.choice().spec,
            chosen.utility() / best.max(1.0),
            chosen.least_harm()
        );
    }
    println!("\nkind: cases, right, harmful, not measured");
    let mut all = [0; 4];
    for (kind, counts) in &kinds {
        println!("{kind}: {}, {}, {}, {}", counts[0], counts[1], counts[2], counts[3]);
        all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
    }
    println!("all: {}, {}, {}, {}", all[0], all[1], all[2], all[3]);
    ExitCode::SUCCESS
}

fn ask(question: Question) -> Advice {
    question.duration("40s").seeds(8).ask().expect("a case and its candidates are right")
}

/// The advice from what the sockets say, and whether it knew who shares a bottleneck.
fn seen(name: &str, running: &str) -> Result<(Advice, &'static str), String> {
    let study = Study::new([name]).algorithms([running]).seeds(99..=99);
    let plan = study.check().map_err(|error| error.to_string())?;
    let results = plan.execution().samples().collect().map_err(|error| error.to_string())?;
    let measurements = results.measurements()[0].as_ref().ok_or_else(|| results.runs()[0].status.clone())?;
    let looks = looks(measurements);
    let count = looks.first().map_or(0, |look| look.subflows.len());
    let names: Vec<String> = (1..=count).map(|path| format!("path-{path}")).collect();
    let measured = estimate(&names, &looks).map_err(|reason| reason.to_string())?;
    let sharing = if measured.is_certain() { "known" } else { "unknown" };
    Ok((ask(Question::either(measured.scenarios("measured"))), sharing))
}

/// As sockets tell it, from 5 s on.
fn looks(measurements: &Measurements) -> Vec<Look> {
    let subflows = &measurements.connections[0].subflows;
    let times = subflows.iter().map(|subflow| subflow.samples.len()).min().unwrap_or_default();
    let mut least: Vec<u32> = vec![u32::MAX; subflows.len()];
    let mut looks = Vec::new();
    // Samples of all subflows end at the same time.
    for back in (0..times).rev() {
        let samples: Vec<&SubflowSample> =
            subflows.iter().map(|one| &one.samples[one.samples.len() - 1 - back]).collect();
        for (least, sample) in least.iter_mut().zip(&samples) {
            *least = sample.srtt_us.map_or(*least, |srtt_us| srtt_us.min(*least));
        }
        let seen = |(sample, least): (&&SubflowSample, &u32)| Seen {
            bytes: sample.received_bytes,
            retransmissions: sample.retransmissions,
            srtt_s: f64::from(sample.srtt_us.unwrap_or_default()) / 1e6,
            min_rtt_s: if *least == u32::MAX { 0.0 } else { f64::from(*least) / 1e6 },
            group: sample.group,
        };
        if samples[0].time_ns >= 5_000_000_000 {
            let at_s = samples[0].time_ns as f64 / 1e9;
            looks.push(Look { at_s, subflows: samples.iter().zip(&least).map(seen).collect() });
        }
    }
    looks
}
