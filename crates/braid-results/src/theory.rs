//! Predictions of a fluid model, displayed beside measurements.
//!
//! In equilibrium each window's increase, weighted by delivered packets, balances its decrease, weighted by lost ones
//! (`increase (1 - p) = decrease p`). Each link has a price: its queue grows until arrivals match its capacity, and a
//! full queue loses the same share of every flow. The model assumes:
//!
//! - flows last forever, windows do not fluctuate, losses are independent and cost one reduction each: no slow start,
//!   no recovery, no timeout;
//! - an overflowing queue is always full, and loses the same share of every flow;
//! - CUBIC is its response function (RFC 8312), whatever its competitors.
//!
//! So it is a rough guide, not a bound: under random loss rates are up to a fifth lower than predicted, and drop-tail
//! queues that empty after each loss are further off. The windows for given losses equal those of
//! `bench/oracle/formulas.py`.

use braid_scenario::model::{Connection, Direction, Discipline, Link, Loss, QueueLimit, Scenario, Traffic};
use indexmap::IndexMap;
use serde::Serialize;

/// Prediction for a scenario with one congestion control.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Theory {
    /// No prediction, and why.
    None(String),
    /// The equilibrium.
    Fluid(Fluid),
}

/// An equilibrium.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fluid {
    /// By connection.
    pub connections: IndexMap<String, FluidConnection>,
    /// Shared links with a growing queue; other queues are empty.
    pub links: IndexMap<String, FluidLink>,
}

/// A connection in equilibrium.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FluidConnection {
    /// IP bits per second that arrive, all subflows.
    pub throughput_bps: f64,
    /// By subflow.
    pub subflows: IndexMap<String, FluidSubflow>,
}

/// A subflow in equilibrium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FluidSubflow {
    /// IP bits per second that arrive.
    pub throughput_bps: f64,
    /// Packets.
    pub cwnd: f64,
    /// Including the queues on its path.
    pub rtt_ms: f64,
}

/// A link in equilibrium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FluidLink {
    /// Fill level of its queue, 0 to 1.
    pub queue: f64,
    /// Share of packets lost by its full queue.
    pub loss: f64,
}

/// Congestion controls with an equilibrium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Reno,
    Cubic,
    Lia,
    Olia,
    Balia,
}

impl Law {
    /// From a spec. Parameters change the equilibrium, except those of slow start.
    fn of(spec: &str) -> Result<Self, String> {
        match spec {
            "reno" => Ok(Self::Reno),
            "cubic" | "cubic:hystart=off" => Ok(Self::Cubic),
            "lia" => Ok(Self::Lia),
            "olia" => Ok(Self::Olia),
            "balia" => Ok(Self::Balia),
            "dlia" => Err("in a steady sawtooth D-LIA repeats any share kept from 0.5 to 0.9".to_owned()),
            "dolia" => {
                Err("D-OLIA's decrease depends on changes of the RTT, so it has no steady state".to_owned())
            }
            _ => Err(format!("no equilibrium is known of {spec}")),
        }
    }
}

/// A subflow of the model.
struct FluidFlow {
    connection: usize,
    law: Law,
    /// Indices of links with their forward direction.
    route: Vec<usize>,
    /// Round trip with empty queues, seconds.
    base_rtt: f64,
    /// Probability that a packet arrives if no queue overflows.
    survives: f64,
    /// Bits per packet on the wire.
    bits: f64,
    window: f64,
}

/// A link of the model.
struct Pipe {
    /// Bits per second.
    rate: f64,
    /// Bits in a full queue.
    queue: f64,
    /// 0 to 1: fill level of the queue; above: loss.
    price: f64,
}

/// Loss at a price of 2.
const LOSS: f64 = 0.01;
/// Smallest window, packets.
const FLOOR: f64 = 1.0;
/// A connection that opens later is not open all the time; random delays alone are shorter.
const LATEST_START_NS: u64 = 100_000_000;
/// More would take longer than the runs.
const MOST_FLOWS: usize = 32;

/// The equilibrium of a scenario whose open connections use `cc`.
pub fn predict(scenario: &Scenario, cc: &str) -> Theory {
    match model(scenario, cc).and_then(|(flows, pipes)| settle(scenario, flows, pipes)) {
        Ok(fluid) => Theory::Fluid(fluid),
        Err(why) => Theory::None(why),
    }
}

fn model(scenario: &Scenario, cc: &str) -> Result<(Vec<FluidFlow>, Vec<Pipe>), String> {
    let mut flows = Vec::new();
    for (index, connection) in scenario.connections.iter().enumerate() {
        if connection.start_ns > 0
            || connection.start_noise_ns > LATEST_START_NS
            || connection.stop_ns.is_some_and(|stop| stop < scenario.duration_ns)
        {
            return Err(format!("{} is not open all the time", connection.name));
        }
        if connection.traffic != Traffic::Bulk {
            return Err(format!("{} does not always have something to send", connection.name));
        }
        let law = Law::of(connection.cc.as_ref().map_or(cc, |own| own.text()))?;
        // With a single path all coupled algorithms are Reno.
        let law = if connection.subflows.len() == 1 && law != Law::Cubic { Law::Reno } else { law };
        for subflow in &connection.subflows {
            if subflow.backup {
                return Err(format!("{} is a backup", subflow.name));
            }
            if !subflow.up.is_empty() {
                return Err(format!("{} comes and goes", subflow.name));
            }
            if !subflow.reroutes.is_empty() {
                return Err(format!("{} changes its route", subflow.name));
            }
            flows.push(flow(scenario, index, connection, law, &subflow.route)?);
        }
    }
    if flows.len() > MOST_FLOWS {
        return Err(format!("more than {MOST_FLOWS} flows"));
    }
    let pipes = scenario.links.iter().map(|link| {
        let queue = match link.forward.queue {
            QueueLimit::Packets(packets) => f64::from(packets) * 1500.0 * 8.0,
            QueueLimit::Bytes(bytes) => bytes as f64 * 8.0,
        };
        Pipe { rate: link.forward.rate_bps as f64, queue, price: 0.0 }
    });
    Ok((flows, pipes.collect()))
}

fn flow(
    scenario: &Scenario,
    index: usize,
    connection: &Connection,
    law: Law,
    route: &[usize],
) -> Result<FluidFlow, String> {
    let bytes = connection.mss + connection.data_header;
    let (mut base_rtt, mut survives) = (0.0, 1.0);
    for link in route.iter().map(|&link| &scenario.links[link]) {
        for direction in [&link.forward, &link.reverse] {
            steady(direction).map_err(|what| format!("{} {what}", link.name))?;
        }
        let (data, ack) = (f64::from(bytes) * 8.0, f64::from(connection.ack_size) * 8.0);
        let (forward, reverse) = (&link.forward, &link.reverse);
        base_rtt += (forward.delay_ns + reverse.delay_ns) as f64 / 1e9
            + (forward.jitter_ns + reverse.jitter_ns) as f64 / 2e9
            + data / forward.rate_bps as f64
            + ack / reverse.rate_bps as f64;
        survives *= 1.0
            - match forward.loss {
                Loss::None => 0.0,
                Loss::Bernoulli(p) => p,
                Loss::Periodic(n) => 1.0 / f64::from(n),
                Loss::GilbertElliott(_) => return Err(format!("{} loses in bursts", link.name)),
            };
    }
    let (route, bits) = (route.to_vec(), f64::from(bytes) * 8.0);
    Ok(FluidFlow { connection: index, law, route, base_rtt, survives, bits, window: 10.0 })
}

fn steady(direction: &Direction) -> Result<(), &'static str> {
    if direction.discipline != Discipline::DropTail || direction.ecn_threshold.is_some() {
        return Err("drops or marks before its queue is full");
    }
    if !direction.changes.is_empty() || !direction.outages.is_empty() || direction.trace.is_some() {
        return Err("changes during the run");
    }
    Ok(())
}

/// Moves windows and prices until they converge.
fn settle(scenario: &Scenario, mut flows: Vec<FluidFlow>, mut pipes: Vec<Pipe>) -> Result<Fluid, String> {
    const STEPS: usize = 400_000;
    for step in 0..STEPS {
        // Large steps first for speed, then small ones for convergence.
        let pace = 1.0 / (1.0 + step as f64 / 4000.0);
        let paths: Vec<(f64, f64)> = flows.iter().map(|flow| path(flow, &pipes)).collect();
        let mut moved: f64 = 0.0;
        let windows: Vec<f64> = (0..flows.len()).map(|index| balance(&flows, &paths, index)).collect();
        for (flow, ratio) in flows.iter_mut().zip(windows) {
            let next = (flow.window * ratio.clamp(1e-3, 1e3).powf(0.1 * pace)).max(FLOOR);
            moved = moved.max((next / flow.window - 1.0).abs() / pace);
            flow.window = next;
        }
        let mut loads = vec![0.0; pipes.len()];
        for (flow, (_, rtt)) in flows.iter().zip(&paths) {
            for &link in &flow.route {
                loads[link] += flow.window / rtt * flow.bits / pipes[link].rate;
            }
        }
        for (pipe, load) in pipes.iter_mut().zip(loads) {
            let next = (pipe.price + 0.05 * pace * (load - 1.0).clamp(-1.0, 1.0)).max(0.0);
            moved = moved.max((next - pipe.price).abs() / pace);
            pipe.price = next;
        }
        if moved < 1e-7 {
            let fluid = fluid(scenario, &flows, &pipes);
            return within_limits(scenario, &fluid).map(|()| fluid);
        }
    }
    Err("the model does not converge".to_owned())
}

/// The model knows neither buffers nor what acknowledgements need: refuses what these limit.
fn within_limits(scenario: &Scenario, fluid: &Fluid) -> Result<(), String> {
    let mut acknowledged_bps = vec![0.0; scenario.links.len()];
    for (connection, own) in scenario.connections.iter().zip(fluid.connections.values()) {
        let packet = f64::from(connection.mss + connection.data_header);
        let rtt = own.subflows.values().map(|subflow| subflow.rtt_ms / 1e3).fold(0.0, f64::max);
        let under_way = own.throughput_bps / 8.0 / packet * f64::from(connection.mss) * rtt;
        let buffer = connection.send_buffer.unwrap_or(u64::MAX).min(connection.receive_buffer);
        if under_way > buffer as f64 {
            return Err(format!("a buffer limits {}", connection.name));
        }
        let packets_each = if connection.delayed_ack { 2.0 } else { 1.0 };
        for (subflow, own) in connection.subflows.iter().zip(own.subflows.values()) {
            for &link in &subflow.route {
                acknowledged_bps[link] +=
                    own.throughput_bps / packet / packets_each * f64::from(connection.ack_size);
            }
        }
    }
    let slow = |&(link, bps): &(&Link, f64)| bps > link.reverse.rate_bps as f64;
    match scenario.links.iter().zip(acknowledged_bps).find(slow) {
        Some((link, _)) => Err(format!("the way back of {} is too slow for all acknowledgements", link.name)),
        None => Ok(()),
    }
}

/// Loss and round trip of a flow at the links' prices.
fn path(flow: &FluidFlow, pipes: &[Pipe]) -> (f64, f64) {
    let (mut survives, mut rtt) = (flow.survives, flow.base_rtt);
    for pipe in flow.route.iter().map(|&link| &pipes[link]) {
        rtt += pipe.price.min(1.0) * pipe.queue / pipe.rate;
        survives *= 1.0 - (LOSS * (pipe.price - 1.0).max(0.0)).min(0.5);
    }
    (1.0 - survives, rtt)
}

/// Increase over decrease of a flow's window: 1 in equilibrium.
fn balance(flows: &[FluidFlow], paths: &[(f64, f64)], index: usize) -> f64 {
    let (p, rtt) = paths[index];
    let window = flows[index].window;
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let rate = |index: usize| flows[index].window / paths[index].1;
    let siblings = || (0..flows.len()).filter(|&other| flows[other].connection == flows[index].connection);
    let total: f64 = siblings().map(rate).sum();
    let (increase, decrease) = match flows[index].law {
        Law::Reno => (1.0 / window, window / 2.0),
        // At the window of the response function a cut of 0.3 balances this increase.
        Law::Cubic => {
            let target = (0.4 * 3.7 / 1.2_f64).powf(0.25) * (rtt / p).powf(0.75);
            let target = target.max(1.2 / p.sqrt());
            return (target / window).powi(2);
        }
        Law::Lia => {
            let best = siblings().map(|other| rate(other) / paths[other].1).fold(0.0, f64::max);
            ((best / (total * total)).min(1.0 / window), window / 2.0)
        }
        Law::Olia => (window / (rtt * rtt) / (total * total), window / 2.0),
        Law::Balia => {
            let alpha = siblings().map(rate).fold(0.0, f64::max) / rate(index);
            let increase = rate(index) / (rtt * total * total) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0;
            (increase, window / 2.0 * alpha.min(1.5))
        }
    };
    increase * (1.0 - p) / (p * decrease)
}

fn fluid(scenario: &Scenario, flows: &[FluidFlow], pipes: &[Pipe]) -> Fluid {
    let mut of_flow = flows.iter().map(|flow| {
        let (p, rtt) = path(flow, pipes);
        let throughput_bps = flow.window / rtt * flow.bits * (1.0 - p);
        FluidSubflow { throughput_bps, cwnd: flow.window, rtt_ms: rtt * 1e3 }
    });
    let connections = scenario.connections.iter().map(|connection| {
        let subflows: IndexMap<String, FluidSubflow> =
            connection.subflows.iter().map(|subflow| subflow.name.clone()).zip(of_flow.by_ref()).collect();
        let throughput_bps = subflows.values().map(|flow| flow.throughput_bps).sum();
        (connection.name.clone(), FluidConnection { throughput_bps, subflows })
    });
    let connections = connections.collect();
    let busy = scenario.links.iter().zip(pipes).filter(|(link, pipe)| !link.private && pipe.price > 0.0);
    let links = busy.map(|(link, pipe)| {
        let loss = LOSS * (pipe.price - 1.0).max(0.0);
        (link.name.clone(), FluidLink { queue: pipe.price.min(1.0), loss })
    });
    Fluid { connections, links: links.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_scenario::{Source, load};

    /// Separate paths that never fill: loss and round trip in milliseconds.
    fn paths(paths: &[(&str, u32)]) -> Scenario {
        let links = paths.iter().enumerate().map(|(index, (loss, rtt))| {
            format!(
                "[link.b{index}]\nrate = \"100gbit\"\nrtt = \"{rtt}ms\"\nqueue = \"1000p\"\nloss = {loss}\n"
            )
        });
        let links: String = links.collect();
        let subflow = |index| format!("[connection.mp0.subflow.sf{index}]\nroute = [\"b{index}\"]\n");
        let subflows: String = (0..paths.len()).map(subflow).collect();
        scenario(&format!(
            "title = \"t\"\nduration = \"10s\"\n{links}[connection.mp0]\nkind = \"mptcp\"\n{subflows}"
        ))
    }

    fn scenario(text: &str) -> Scenario {
        load(&Source { name: "t".to_owned(), text: text.to_owned() }, &[]).unwrap().cells.remove(0)
    }

    fn windows(cc: &str, scenario: &Scenario) -> Vec<f64> {
        match predict(scenario, cc) {
            Theory::Fluid(fluid) => {
                fluid.connections["mp0"].subflows.values().map(|subflow| subflow.cwnd).collect()
            }
            Theory::None(why) => panic!("{why}"),
        }
    }

    fn close(found: &[f64], expected: &[f64], tolerance: f64) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
        }
        assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn a_lone_reno_window_balances_at_the_square_root_of_two_over_p() {
        for (loss, p) in [("0.01", 1e-2_f64), ("0.001", 1e-3), ("0.0001", 1e-4)] {
            let expected = (2.0 * (1.0 - p) / p).sqrt();
            close(&windows("reno", &paths(&[(loss, 100)])), &[expected], 1e-5);
            close(&windows("lia", &paths(&[(loss, 100)])), &[expected], 1e-5);
        }
    }

    #[test]
    fn cubic_has_the_windows_of_rfc_8312() {
        // Tables 1 and 2, C = 0.4.
        for (loss, rtt, window) in [
            ("0.01", 100, 12.0),
            ("0.001", 100, 38.0),
            ("0.0001", 100, 187.0),
            ("0.00001", 100, 1054.0),
            ("0.0001", 10, 120.0),
        ] {
            let found = windows("cubic", &paths(&[(loss, rtt)]))[0];
            assert!((found - window).abs() <= 1.0, "{loss} {rtt} ms: {found} is not {window}");
        }
    }

    /// Congestion control; loss and round trip in milliseconds of both paths; windows.
    type Case = (&'static str, (&'static str, u32), (&'static str, u32), [f64; 2]);

    const ORACLE: [Case; 15] = [
        ("lia", ("0.001", 100), ("0.001", 100), [22.349, 22.349]),
        ("lia", ("0.001", 100), ("0.004", 100), [35.781, 8.918]),
        ("lia", ("0.001", 50), ("0.001", 100), [29.799, 29.799]),
        ("lia", ("0.004", 40), ("0.001", 160), [11.141, 44.699]),
        ("lia", ("0.001", 40), ("0.002", 80), [35.766, 17.865]),
        ("olia", ("0.001", 100), ("0.001", 100), [22.361, 22.361]),
        ("olia", ("0.001", 100), ("0.004", 100), [44.721, 1.000]),
        ("olia", ("0.001", 50), ("0.001", 100), [44.721, 1.000]),
        ("olia", ("0.004", 40), ("0.001", 160), [22.361, 1.000]),
        ("olia", ("0.001", 40), ("0.002", 80), [44.721, 1.000]),
        ("balia", ("0.001", 100), ("0.001", 100), [22.349, 22.349]),
        ("balia", ("0.001", 100), ("0.004", 100), [37.716, 6.983]),
        ("balia", ("0.001", 50), ("0.001", 100), [37.704, 13.991]),
        ("balia", ("0.004", 40), ("0.001", 160), [18.817, 13.995]),
        ("balia", ("0.001", 40), ("0.002", 80), [40.024, 9.349]),
    ];

    #[test]
    fn two_paths_have_the_windows_of_the_oracle() {
        // bench/oracle/formulas.py, equilibrium(), for the paths of compare.py.
        for (cc, first, second, expected) in ORACLE {
            // The oracle's OLIA does not count the one packet on its unused path.
            let tolerance = if cc == "olia" { 0.03 } else { 1e-3 };
            close(&windows(cc, &paths(&[first, second])), &expected, tolerance);
        }
    }

    #[test]
    fn a_link_that_is_full_shares_its_rate_by_round_trips() {
        let text = r#"
title = "t"
duration = "10s"
[link.near1]
rate = "1gbit"
rtt = "20ms"
queue = "1000p"
private = true
[link.near2]
rate = "1gbit"
rtt = "100ms"
queue = "1000p"
private = true
[link.b1]
rate = "12mbit"
delay = "0s"
queue = "40p"
[connection.a]
kind = "tcp"
cc = "reno"
route = ["near1", "b1"]
[connection.b]
kind = "tcp"
cc = "reno"
route = ["near2", "b1"]
"#;
        let Theory::Fluid(fluid) = predict(&scenario(text), "reno") else {
            panic!("there is an equilibrium")
        };
        let [a, b] = [&fluid.connections["a"], &fluid.connections["b"]];
        let total = a.throughput_bps + b.throughput_bps;
        let link = fluid.links["b1"];
        close(&[link.queue, total], &[1.0, 12e6 * (1.0 - link.loss)], 1e-4);
        // Equal windows; 40 packets of 1500 bytes wait 40 ms.
        let (short, long) = (a.subflows["sf1"], b.subflows["sf1"]);
        close(
            &[short.cwnd, a.throughput_bps],
            &[long.cwnd, b.throughput_bps * long.rtt_ms / short.rtt_ms],
            1e-3,
        );
        close(&[long.rtt_ms - short.rtt_ms, short.rtt_ms], &[80.0, 61.0], 0.02);
    }

    #[test]
    fn a_lossy_link_that_is_never_full_has_a_queue_for_what_its_rate_cannot_carry() {
        let scenario =
            braid_scenario::load(&Source::embedded("d-olia/1").unwrap(), &[]).unwrap().cells.remove(0);
        let Theory::Fluid(fluid) = predict(&scenario, "lia") else { panic!("there is an equilibrium") };
        for link in ["b1", "b2"] {
            let FluidLink { queue, loss } = fluid.links[link];
            assert!((0.01..0.5).contains(&queue) && loss == 0.0, "{link}: {queue} {loss}");
        }
        close(&[fluid.connections["mp0"].throughput_bps], &[15e6], 2e-3);
    }

    #[test]
    fn what_the_way_back_or_a_buffer_limits_has_no_prediction() {
        let predicted = |reverse: &str, keys: &str| {
            let text = format!(
                "title = \"t\"\nduration = \"10s\"\n[link.l]\nrate = \"10mbit\"\nrtt = \"20ms\"\nqueue = \"100p\"\n\
                 reverse.rate = \"{reverse}\"\n[connection.c]\nkind = \"tcp\"\nroute = [\"l\"]\n{keys}"
            );
            match predict(&scenario(&text), "reno") {
                Theory::Fluid(fluid) => format!("{:.1}", fluid.connections["c"].throughput_bps / 1e6),
                Theory::None(why) => why,
            }
        };
        // 833 packets/s, an acknowledgement of 52 bytes for each second one: 173 kbit/s. 100 packets wait 120 ms.
        let slow = "the way back of l is too slow for all acknowledgements";
        assert_eq!(predicted("180kbit", ""), "10.0");
        assert_eq!(predicted("170kbit", ""), slow);
        assert_eq!(predicted("180kbit", "delayed-ack = false\n"), slow);
        assert_eq!(predicted("1gbit", "receive-buffer = \"180kB\"\n"), "10.0");
        assert_eq!(predicted("1gbit", "receive-buffer = \"160kB\"\n"), "a buffer limits c");
        assert_eq!(predicted("1gbit", "send-buffer = \"160kB\"\n"), "a buffer limits c");
        assert_eq!(predicted("1gbit", "start = \"0s..1s\"\n"), "c is not open all the time");
    }

    #[test]
    fn what_has_no_equilibrium_says_why() {
        let with = |name: &str, cc: &str, set: &[String]| {
            let scenario =
                braid_scenario::load(&Source::embedded(name).unwrap(), set).unwrap().cells.remove(0);
            match predict(&scenario, cc) {
                Theory::None(why) => why,
                Theory::Fluid(fluid) => panic!("{fluid:?}"),
            }
        };
        let why = |name: &str, cc: &str| with(name, cc, &[]);
        let change = r#"connection.mp0.subflow.sf1.change=[{at="9s",route=["b2"]}]"#.to_owned();
        assert!(with("d-olia/1", "lia", &[change]).contains("sf1 changes its route"));
        assert!(why("d-olia/1", "dlia").contains("any share kept"));
        assert!(why("d-olia/1", "dolia").contains("changes of the RTT"));
        assert!(why("d-olia/1", "vegas").contains("no equilibrium is known of vegas"));
        assert!(why("d-olia/scalable", "lia").contains("tcp2 is not open all the time"));
        assert!(why("everyday/wifi-lte", "lia").len() > 5);
    }
}
