//! Features of a scenario that the lab lacks.

use braid_scenario::model::{self, Direction, Loss, Scenario, Traffic};

use super::{
    discipline::{is_managed, refusal},
    error::Unsupported,
    programs,
    routes::is_ipv6,
};

/// Checks a scenario for features that the lab lacks.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Unsupported> {
    let refuse =
        |key: String, reason: &str| Err(Unsupported { key, reason: reason.to_owned(), remedy: None });
    for link in &scenario.links {
        let base = link.name.split('@').next().unwrap_or_default();
        for (direction, forward) in [(&link.forward, true), (&link.reverse, false)] {
            let key = |name: &str| format!("link.{base}.{name}");
            if let Some((own, reason)) = refusal(direction) {
                return refuse(key(own), reason);
            }
            if let Some(reason) = cannot_count(direction, forward) {
                return refuse(key("drop-every"), reason);
            }
        }
    }
    for connection in &scenario.connections {
        let key = |name: &str| format!("connection.{}.{name}", connection.name);
        let is_program = matches!(connection.traffic, Traffic::Program(_));
        programs::check(connection)?;
        if is_ipv6(connection) && connection.initial_ssthresh.is_some() {
            return refuse(key("initial-ssthresh"), "the lab supports an initial ssthresh for IPv4 only");
        }
        if connection.accurate_ecn {
            return refuse(
                key("accurate-ecn"),
                "the kernel's receivers repeat ECE until the sender answers with CWR",
            );
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
                    "a program's first address cannot leave; set this on another subflow",
                );
            }
            if index == 0 && subflow.backup {
                return refuse(sub("backup"), "the kernel cannot open a connection on a backup path");
            }
            if index == 0 && subflow.up.first().is_some_and(|&(from, _)| from > connection.start_ns) {
                return refuse(
                    sub("up"),
                    "the first subflow opens the connection, so it exists from its start",
                );
            }
        }
    }
    Ok(())
}

/// Why the lab cannot do this direction's periodic loss.
fn cannot_count(direction: &Direction, forward: bool) -> Option<&'static str> {
    let all = direction.changes.iter().filter_map(|change| change.loss).chain([direction.loss]);
    let n = all.into_iter().find_map(|loss| if let Loss::Periodic(n) = loss { Some(n) } else { None })?;
    let changes = |change: &model::Change| change.loss.is_some() || change.up.is_some();
    if direction.changes.iter().any(changes) || !direction.outages.is_empty() {
        Some(
            "the lab counts packets from the start of the run, so losses cannot change and the link stays up",
        )
    } else if is_managed(direction, forward) {
        Some("the lab counts packets behind drop-tail queues in packets only")
    } else if counters(n).is_none() {
        Some("the kernel's counters end at 65535; use a product of two smaller numbers")
    } else {
        None
    }
}

/// Two counters of the kernel that together count to `n`.
pub(super) fn counters(n: u32) -> Option<[u16; 2]> {
    let pair = |second: u16| {
        let first = u16::try_from(n / u32::from(second)).ok()?;
        n.is_multiple_of(u32::from(second)).then_some([first, second])
    };
    (1..=u16::MAX).find_map(pair)
}

#[cfg(test)]
mod tests {
    use braid_scenario::{Source, embedded};

    use super::{check, counters};

    #[test]
    fn every_scenario_that_comes_with_braid_runs_on_a_real_kernel() {
        assert!(embedded().count() > 30);
        for summary in embedded() {
            let source = Source::embedded(summary.name).expect("it is there");
            for cell in braid_scenario::load(&source, &[]).expect("valid").cells {
                if let Err(error) = check(&cell) {
                    panic!("{}: {error:?}", summary.name);
                }
            }
        }
    }

    #[test]
    fn two_counters_of_sixteen_bits_count_to_their_product() {
        assert_eq!(counters(2), Some([2, 1]));
        assert_eq!(counters(65_535), Some([65_535, 1]));
        assert_eq!(counters(65_536), Some([32_768, 2]));
        assert_eq!(counters(1_000_000), Some([62_500, 16]));
        assert_eq!(counters(65_537), None);
        assert_eq!(counters(u32::MAX), None, "65537 divides it");
    }
}
