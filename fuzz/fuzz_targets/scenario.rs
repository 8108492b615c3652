//! Any input as a scenario: it loads into something that a backend can run, or gets an error message. The parser never
//! panics, hangs or exhausts memory.
//!
//! A line `#--set KEY=VALUE` of the input acts as an assignment on the command line.

#![no_main]

use braid_scenario::model::{Kind, Loss, QueueLimit, Scenario};
use braid_scenario::trace::Trace;
use braid_scenario::{Source, load, topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(trace) = Trace::parse("x.trace", &text) {
        assert!(trace.mean_bps() > 0 && trace.peak_bps() >= trace.mean_bps());
    }
    let set: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("#--set ")).map(str::to_owned).collect();
    match load(&Source { name: "x.toml".to_owned(), text: text.clone().into_owned() }, &set) {
        Ok(file) => {
            assert!(!file.cells.is_empty());
            file.cells.iter().for_each(check);
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!error.problems().is_empty());
            assert!(message.contains("x.toml") || message.contains("--set"), "no place: {message}");
            assert!(message.len() < 100_000, "{} bytes of message", message.len());
            let harmless = |c: char| !c.is_control() || c == '\n';
            assert!(message.chars().all(harmless), "control characters reach the terminal: {message:?}");
        }
    }
});

/// Assumptions of the backends.
fn check(scenario: &Scenario) {
    assert!(scenario.warmup_ns + scenario.cooldown_ns < scenario.duration_ns);
    for direction in scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]) {
        assert!((1..=1_000_000_000_000).contains(&direction.rate_bps));
        assert!(matches!(direction.queue, QueueLimit::Packets(1..) | QueueLimit::Bytes(1500..)));
        assert!(direction.outages.iter().all(|(from, to)| from < to));
        assert!(direction.outages.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        assert!(direction.changes.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
        match direction.loss {
            Loss::None => {}
            Loss::Bernoulli(p) => assert!(p > 0.0 && p < 1.0),
            Loss::Periodic(n) => assert!(n >= 2),
            Loss::GilbertElliott(chain) => assert!(chain.mean() >= 0.0 && chain.mean() <= 1.0),
        }
    }
    assert!(!scenario.connections.is_empty());
    for connection in &scenario.connections {
        assert!(connection.start_ns < scenario.duration_ns);
        assert!(connection.stop_ns.is_none_or(|stop| stop > connection.start_ns));
        assert!(connection.initial_window >= 1 && connection.receive_buffer >= 2 * u64::from(connection.mss));
        assert!((1..=8).contains(&connection.subflows.len()));
        assert!(connection.kind == Kind::Mptcp || connection.subflows.len() == 1);
        for subflow in &connection.subflows {
            assert!((1..=32).contains(&subflow.route.len()));
            assert!(subflow.route.iter().all(|&link| link < scenario.links.len()));
        }
    }
    for path in topology::paths(scenario).iter().flatten() {
        assert!(path.available_bps.is_finite() && path.available_bps > 0.0);
    }
}
