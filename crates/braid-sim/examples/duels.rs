//! Every algorithm, on two subflows, against one TCP flow:
//! `cargo run --release -p braid-sim --example duels > docs/duels.md`.
#![expect(clippy::print_stdout, reason = "the page is the output")]

#[path = "../tests/common/mod.rs"]
mod common;

use braid_algorithms::Algorithm;
use braid_scenario::model::{Link, QueueLimit};
use common::{connection, goodput, link, run, scenario};

const SEEDS: u64 = 5;
const RATE_MBIT: f64 = 20.0;
const INTRODUCTION: &str = "\
# Duels: every algorithm against one TCP

Every algorithm, with its defaults, on two subflows against one TCP flow, which runs CUBIC or Reno.

**Intent.** The column *may take* is a fair share of the bottleneck. A coupled connection may take as much as one TCP, 50 %, whatever the
number of its subflows. An uncoupled algorithm runs one TCP per subflow, so it may take two thirds. On disjoint paths, with the TCP on the
first only, a coupled algorithm should take less than half of the first path, since it has the second to itself (resource pooling).
Algorithms that grow as Reno or react to delay take less from CUBIC than they may. Algorithms with a detector couple only detected subflows,
and run one TCP per subflow before. `sbcc` needs congestion marks, which these links lack. wVegas leaves half of a free path idle; its page
says why.

**Setting.** Each bottleneck has 20 Mbit/s, 40 ms round trip, a drop-tail queue of one bandwidth-delay product (67 packets) and
100 us of jitter. Mean of 5 seeds, from 30 to 180 s. Goodput as a share of both flows' goodput at a bottleneck, in percent. *second
path*: share of the other path's rate in use.

<!-- not run: it takes many minutes -->

    cargo run --release -p braid-sim --example duels > docs/duels.md

| algorithm | may take | shared, CUBIC | shared, Reno | disjoint, CUBIC | second path | disjoint, Reno | second path |
|---|---:|---:|---:|---:|---:|---:|---:|";

fn bottleneck(name: &str) -> Link {
    let mut path = link(name, RATE_MBIT, 20.0);
    path.forward.queue = QueueLimit::Packets(67);
    path.forward.jitter_ns = 100_000;
    path
}

/// Percent of the first bottleneck that the connection gets, and of the second one that it uses, if there is one.
fn duel(algorithm: &str, tcp: &str, links: &[Link]) -> [f64; 2] {
    let routes: &[&[usize]] = if links.len() == 1 { &[&[0], &[0]] } else { &[&[0], &[1]] };
    let flows = vec![connection("mp0", None, routes), connection("tcp0", Some(tcp), &[&[0]])];
    let mut sums = [0.0; 2];
    for seed in 1..=SEEDS {
        let mut scenario = scenario(180.0, links.to_vec(), flows.clone());
        scenario.warmup_ns = 30_000_000_000;
        let result = run(&scenario, algorithm, seed);
        let received = |i: usize| result.connections[0].subflows[i].received_bytes as f64;
        let opponent = result.connections[1].subflows[0].received_bytes as f64;
        let own = if links.len() == 1 { received(0) + received(1) } else { received(0) };
        sums[0] += 100.0 * own / (own + opponent);
        sums[1] += 100.0 * received(1) * 8e3 / result.measured_ns as f64 / RATE_MBIT;
        assert!(goodput(&result, 0) > 0.0 && goodput(&result, 1) > 0.0);
    }
    sums.map(|sum| sum / SEEDS as f64)
}

fn main() {
    println!("{INTRODUCTION}");
    let shared = [bottleneck("b1")];
    let disjoint = [bottleneck("b1"), bottleneck("b2")];
    for algorithm in braid_algorithms::all() {
        let name = algorithm.name();
        let uncoupled = algorithm.flags() & Algorithm::UNCOUPLED != 0;
        let [cubic, reno] = ["cubic", "reno"].map(|tcp| duel(name, tcp, &shared)[0]);
        let [[cubic1, cubic2], [reno1, reno2]] = ["cubic", "reno"].map(|tcp| duel(name, tcp, &disjoint));
        println!(
            "| {name} | {} | {cubic:.0} | {reno:.0} | {cubic1:.0} | {cubic2:.0} | {reno1:.0} | {reno2:.0} |",
            if uncoupled { "67" } else { "50" }
        );
    }
}
