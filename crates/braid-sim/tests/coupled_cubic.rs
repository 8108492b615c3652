//! Coupled CUBIC on the paths of its paper: 500 Mbit/s with a round trip of 100 ms, and 100 Mbit/s with 20 ms, each
//! with a queue of one bandwidth-delay product. Connections start without slow start, as in the paper: slow start would
//! fill the large path at once with any algorithm.

mod common;

use braid_scenario::model::QueueLimit;
use common::{connection, goodput, link, run, scenario};

/// Shares of both paths used by a connection within 240 s.
fn utilization(cc: &str) -> [f64; 2] {
    let paths = [(500.0, 50.0, 4166), (100.0, 10.0, 166)];
    let links = ["b1", "b2"].iter().zip(paths).map(|(name, (rate, delay, queue))| {
        let mut path = link(name, rate, delay);
        path.forward.queue = QueueLimit::Packets(queue);
        path
    });
    let mut flow = connection("mp0", None, &[&[0], &[1]]);
    flow.initial_ssthresh = Some(10);
    let result = run(&scenario(240.0, links.collect(), vec![flow]), cc, 1);
    assert!(goodput(&result, 0) > 50.0);
    [0, 1].map(|i| result.links[i].forward.busy_ns as f64 / result.measured_ns as f64)
}

#[test]
fn coupled_cubic_uses_the_large_path_that_lia_leaves_empty() {
    let [lia, _] = utilization("lia");
    let [ccubic, small] = utilization("ccubic");
    assert!(lia < 0.2, "LIA uses {lia}");
    assert!(ccubic > 0.8, "Coupled CUBIC uses {ccubic}");
    assert!(small > 0.8, "and of the small path {small}");
}
