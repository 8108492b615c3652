//! What of a scenario the lab cannot do.

use braid_scenario::model::{self, Scenario, Traffic};

use super::{discipline::refusal, error::Unsupported, programs, routes::is_ipv6};

/// What the lab cannot do of a scenario, the first such thing.
///
/// # Errors
/// That thing.
pub fn check(scenario: &Scenario) -> Result<(), Unsupported> {
    let refuse =
        |key: String, reason: &str| Err(Unsupported { key, reason: reason.to_owned(), remedy: None });
    for link in &scenario.links {
        let base = link.name.split('@').next().unwrap_or_default();
        for direction in [&link.forward, &link.reverse] {
            let key = |name: &str| format!("link.{base}.{name}");
            if let Some((own, reason)) = refusal(direction) {
                return refuse(key(own), reason);
            }
            let losses = direction.changes.iter().filter_map(|change| change.loss).chain([direction.loss]);
            if losses.into_iter().any(|loss| matches!(loss, model::Loss::Periodic(_))) {
                return refuse(key("drop-every"), "the lab loses packets at random only; give a loss");
            }
        }
    }
    for connection in &scenario.connections {
        let key = |name: &str| format!("connection.{}.{name}", connection.name);
        let is_program = matches!(connection.traffic, Traffic::Program(_));
        programs::check(connection)?;
        if is_ipv6(connection) && connection.initial_ssthresh.is_some() {
            return refuse(key("initial-ssthresh"), "the lab has thresholds to begin with for IPv4 only");
        }
        if connection.accurate_ecn {
            return refuse(key("accurate-ecn"), "the kernel's receivers repeat a mark until it is answered");
        }
        if connection.autotuning {
            return refuse(key("autotuning"), "the lab sets the kernel's receive buffer; give its size");
        }
        if connection.send_buffer.is_some() {
            return refuse(
                key("send-buffer"),
                "the lab leaves the send buffer to the kernel, or to the program",
            );
        }
        for (index, subflow) in connection.subflows.iter().enumerate() {
            let sub = |name: &str| key(&format!("subflow.{}.{name}", subflow.name));
            if is_program && subflow.join_delay_ns.is_some() {
                return refuse(
                    sub("join-delay"),
                    "the subflows of a program join as soon as the kernel lets them",
                );
            }
            if is_program && index == 0 && !subflow.up.is_empty() {
                return refuse(
                    sub("up"),
                    "a program's first address is always there; give this to another subflow",
                );
            }
            if index == 0 && subflow.backup {
                return refuse(sub("backup"), "the kernel opens a connection on a path that is no backup");
            }
            if index == 0 && subflow.up.first().is_some_and(|&(from, _)| from > connection.start_ns) {
                return refuse(
                    sub("up"),
                    "the first subflow opens the connection, and so is there from its start",
                );
            }
        }
    }
    Ok(())
}
