//! A run with losses, a path that fails and returns, and a flow with congestion marks.

#![allow(dead_code, reason = "not every test needs all of it")]

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;
use braid_sim::observe::Observer;
use braid_testing::model::load;

const RUN: &str = r#"
title = "Two paths, one of which fails for a while"
duration = "10s"

link.b1 = { rate = "10mbit", delay = "5ms", queue = "50p", loss = "0.5%" }
link.b2 = { rate = "5mbit", delay = "20ms", queue = "50p", outages = ["3s..6s"] }
link.b3 = { rate = "10mbit", delay = "10ms", queue = "100p", ecn-threshold = "20p" }
[connection.mp0]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
[connection.tcp0]
kind = "tcp"
cc = "reno"
route = ["b1"]
start = "1s"
[connection.ecn0]
kind = "tcp"
cc = "reno"
ecn = true
route = ["b3"]
"#;

/// Every kind of application, subflows that join and leave, requests of several packets with occasional losses.
const APPLICATIONS: &str = r#"
title = "Applications"
duration = "20s"

link.b1 = { rate = "10mbit", delay = "5ms", queue = "50p", loss = "1%" }
link.b2 = { rate = "5mbit", delay = "20ms", queue = "50p" }
[connection.object]
kind = "tcp"
cc = "reno"
route = ["b1"]
traffic = { kind = "object", size = "1000003B" }
[connection.mice]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
[connection.mice.traffic]
kind = "poisson"
every = "200ms"
at-once = 3
size = { kind = "pareto", shape = 1.2, least = "1kB", most = "500kB" }
[connection.web]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
traffic = { kind = "request-response", request = "3000B", response = "30kB", think = "100ms" }
[connection.video]
kind = "tcp"
cc = "cubic"
route = ["b2"]
traffic = { kind = "cbr", rate = "500kbit", every = "40ms" }
[connection.backup]
kind = "tcp"
cc = "cubic"
route = ["b2"]
traffic = { kind = "on-off", on = "2s", off = "1s" }
[connection.walk]
kind = "mptcp"
subflow.sf1 = { route = ["b1"], up = ["0s..6s", "9s..14s"] }
subflow.sf2 = { route = ["b2"], up = ["3s..20s"] }
"#;

pub(crate) const SEED: u64 = 7;

pub(crate) fn scenario(set: &[&str]) -> Scenario {
    parsed(RUN, set)
}

pub(crate) fn applications() -> Scenario {
    parsed(APPLICATIONS, &[])
}

fn parsed(text: &str, set: &[&str]) -> Scenario {
    load("run.toml", text, set).cells.remove(0)
}

pub(crate) fn run(scenario: &Scenario) -> Measurements {
    braid_sim::run(scenario, &Spec::parse("olia").unwrap(), SEED).unwrap()
}

pub(crate) fn observe(scenario: &Scenario, observer: &mut dyn Observer) -> Measurements {
    let options = braid_sim::Options::default();
    braid_sim::run_observed(scenario, &Spec::parse("olia").unwrap(), SEED, options, observer).unwrap()
}
