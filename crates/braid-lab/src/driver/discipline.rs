//! Maps queues beyond netem to the kernel's disciplines: early marks or drops, limits in bytes, and queues that persist
//! while their link is down.

use braid_scenario::model::{self, Direction, Discipline, EcnThreshold, QueueLimit};

use crate::job::{Aqm, CoDel, Red};

/// Whether a queue needs more than netem: drop-tail with a limit in packets, at a rate known at arrival. RED and
/// thresholds matter for data only: a queue of acknowledgements is short, and they cannot be marked.
pub(crate) fn is_managed(direction: &Direction, forward: bool) -> bool {
    let by_time = matches!(direction.discipline, Discipline::CoDel(_) | Discipline::FqCoDel(_));
    let by_length = matches!(direction.discipline, Discipline::Red(_)) || direction.ecn_threshold.is_some();
    let varies = direction.trace.is_some() || pauses(direction);
    by_time || (forward && by_length) || in_bytes(direction).next().is_some() || varies
}

/// Whether it pauses while its link is down.
fn pauses(direction: &Direction) -> bool {
    direction.keeps_queue && direction.changes.iter().any(|change| change.up.is_some())
}

/// The queue limit in bytes at each time.
fn in_bytes(direction: &Direction) -> impl Iterator<Item = u64> + '_ {
    let limits = direction.changes.iter().filter_map(|change| change.queue).chain([direction.queue]);
    limits.filter_map(|limit| match limit {
        QueueLimit::Bytes(bytes) => Some(bytes),
        QueueLimit::Packets(_) => None,
    })
}

/// Features that the lab lacks: the key within the link, and the reason.
pub(crate) fn refusal(direction: &Direction) -> Option<(&'static str, &'static str)> {
    let mut disciplines =
        direction.changes.iter().filter_map(|change| change.discipline).chain([direction.discipline]);
    let mut thresholds =
        direction.changes.iter().filter_map(|change| change.ecn_threshold).chain(direction.ecn_threshold);
    let is_too_gentle = |discipline: Discipline| {
        // The kernel's RED marks or drops all packets from `max` on.
        let Discipline::Red(red) = discipline else { return false };
        let reaches_twice = match direction.queue {
            QueueLimit::Packets(limit) => 2 * red.max <= limit,
            QueueLimit::Bytes(_) => true,
        };
        red.gentle && (red.probability < 1.0 || reaches_twice)
    };
    if disciplines.any(is_too_gentle) {
        return Some(("discipline", "the kernel's RED is not gentle; give gentle = false"));
    }
    let kind = |threshold: &EcnThreshold| std::mem::discriminant(threshold);
    let first = direction.ecn_threshold.as_ref().map(kind);
    if thresholds.clone().any(|threshold| Some(kind(&threshold)) != first) {
        return Some(("ecn-threshold", "in the lab a threshold cannot be added later or change its unit"));
    }
    if thresholds.any(|threshold| matches!(threshold, EcnThreshold::Packets(..=1))) {
        return Some(("ecn-threshold", "the kernel does not count the packet being sent: at least \"2p\""));
    }
    let limits = 1 + direction.changes.iter().filter(|change| change.queue.is_some()).count();
    match in_bytes(direction).count() {
        0 => {}
        _ if direction.discipline != Discipline::DropTail || direction.ecn_threshold.is_some() => {
            return Some(("queue", "queues of the lab that mark, or drop early, are limited in packets"));
        }
        own if own < limits => return Some(("queue", "in the lab a limit cannot change its unit")),
        _ => {}
    }
    None
}

/// The kernel's discipline for its present settings; `None` for drop-tail. `sent`: packet size in bytes.
pub(crate) fn aqm(direction: &Direction, forward: bool, packet_bytes: u32, sent: u32) -> Option<Aqm> {
    if !is_managed(direction, forward) {
        return None;
    }
    if let QueueLimit::Bytes(bytes) = direction.queue {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        return Some(Aqm::Bytes(bytes.saturating_sub(sent).max(sent)));
    }
    let us = |ns: u64| (ns / 1000) as u32;
    let threshold_us = match direction.ecn_threshold {
        Some(EcnThreshold::Wait(ns)) => Some(us(ns)),
        _ => None,
    };
    let codel = |own: model::CoDel| CoDel {
        target_us: us(own.target_ns),
        interval_us: us(own.interval_ns),
        ecn: own.ecn,
        threshold_us,
    };
    Some(match direction.discipline {
        Discipline::CoDel(own) => Aqm::CoDel(codel(own)),
        Discipline::FqCoDel(own) => {
            Aqm::FqCoDel { codel: codel(own.codel), flows: own.flows, quantum: own.quantum }
        }
        Discipline::Red(own) if forward => Aqm::Red(red(&own, packet_bytes)),
        Discipline::Red(_) | Discipline::DropTail => match direction.ecn_threshold.filter(|_| forward) {
            None => Aqm::Packets,
            Some(EcnThreshold::Packets(from)) => Aqm::Red(threshold((from - 1) * packet_bytes)),
            Some(EcnThreshold::Bytes(from)) => {
                Aqm::Red(threshold((from as u32).saturating_sub(packet_bytes)))
            }
            Some(EcnThreshold::Wait(_)) => {
                // Long enough that CoDel never acts.
                const FOREVER_NS: u64 = 1_000_000_000_000;
                let never = model::CoDel { target_ns: FOREVER_NS, interval_ns: FOREVER_NS, ecn: false };
                Aqm::CoDel(codel(never))
            }
        },
    })
}

/// Marks by the present length, not its mean, and passes packets that cannot be marked.
fn threshold(bytes: u32) -> Red {
    Red {
        min_bytes: bytes,
        max_bytes: bytes,
        weight_log: 0,
        probability: u32::MAX,
        ecn: true,
        drops: false,
        drops_above: false,
    }
}

/// The scenario counts the packet being sent, the kernel's queue does not.
fn red(own: &model::Red, packet_bytes: u32) -> Red {
    Red {
        min_bytes: (own.min - 1) * packet_bytes,
        max_bytes: (own.max - 1) * packet_bytes,
        weight_log: (-own.weight.log2()).round() as u8,
        probability: (own.probability * f64::from(u32::MAX)) as u32,
        ecn: own.ecn,
        drops: true,
        drops_above: !own.gentle,
    }
}

#[cfg(test)]
mod tests {
    use braid_scenario::Source;

    use super::*;

    const PACKET: u32 = 1500;
    const ACK: u32 = 64;

    /// A link of 40 packets with these keys.
    fn direction(keys: &str) -> Direction {
        let text = format!(
            "title = \"t\"\nduration = \"10s\"\n[link.b]\nrate = \"10mbit\"\ndelay = \"10ms\"\nqueue = \"40p\"\n{keys}\n\
             [connection.t]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"b\"]\n"
        );
        let source = Source { name: "t".into(), text };
        braid_scenario::load(&source, &[]).expect("valid").cells.remove(0).links.remove(0).forward
    }

    #[test]
    fn a_threshold_is_red_that_marks_by_what_waits_besides_the_packet_being_sent() {
        let own = aqm(&direction("ecn-threshold = \"20p\""), true, PACKET, PACKET);
        assert_eq!(own, Some(Aqm::Red(threshold(19 * PACKET))));
        assert_eq!(aqm(&direction("ecn-threshold = \"20p\""), false, PACKET, ACK), None, "acknowledgements");
        assert_eq!(aqm(&direction(""), true, PACKET, PACKET), None);
    }

    #[test]
    fn a_limit_in_bytes_is_that_of_what_waits_besides_the_packet_being_sent() {
        let own = direction("reverse.queue = \"64kB\"");
        assert_eq!(aqm(&own, true, PACKET, PACKET), None, "the limit of this way is in packets");
        let own = Direction { queue: QueueLimit::Bytes(64_000), ..own };
        assert_eq!(aqm(&own, true, PACKET, PACKET), Some(Aqm::Bytes(62_500)));
        assert_eq!(aqm(&own, false, PACKET, ACK), Some(Aqm::Bytes(63_936)));
        let smallest = Direction { queue: QueueLimit::Bytes(1500), ..own };
        assert_eq!(aqm(&smallest, true, PACKET, PACKET), Some(Aqm::Bytes(PACKET)), "one has to get in");
    }

    #[test]
    fn a_queue_that_outlives_that_its_link_is_down_is_one_that_can_pause() {
        let keys = "when-down = \"keep\"\nchange = [{ at = \"1s\", state = \"down\" }]";
        for forward in [true, false] {
            assert_eq!(aqm(&direction(keys), forward, PACKET, PACKET), Some(Aqm::Packets));
        }
        let drops = direction("change = [{ at = \"1s\", state = \"down\" }]");
        assert_eq!(aqm(&drops, true, PACKET, PACKET), None);
        let marks = direction(&format!("ecn-threshold = \"20p\"\n{keys}"));
        assert_eq!(aqm(&marks, true, PACKET, PACKET), Some(Aqm::Red(threshold(19 * PACKET))));
        assert_eq!(aqm(&marks, false, PACKET, ACK), Some(Aqm::Packets), "acknowledgements");
    }

    #[test]
    fn red_has_the_next_power_of_one_half_as_its_weight() {
        let keys = "discipline = { kind = \"red\", min = \"5p\", max = \"15p\", probability = \"10%\", weight = 0.002, \
            gentle = false, ecn = true }";
        let Some(Aqm::Red(own)) = aqm(&direction(keys), true, PACKET, PACKET) else { panic!("no RED") };
        assert_eq!((own.min_bytes, own.max_bytes, own.weight_log), (4 * PACKET, 14 * PACKET, 9));
        assert_eq!(own.probability, u32::MAX / 10);
        assert!(own.ecn && own.drops && own.drops_above);
    }

    #[test]
    fn what_the_kernel_cannot_mark_or_drop_is_refused() {
        let red = |more: &str| format!("discipline = {{ kind = \"red\", min = \"5p\", {more} }}");
        let codel = "discipline = \"codel\"";
        for (keys, refused) in [
            (red("max = \"15p\", gentle = true"), Some("discipline")),
            (red("max = \"15p\", probability = \"100%\", gentle = true"), Some("discipline")),
            (red("max = \"21p\", probability = \"100%\", gentle = true"), None),
            (red("max = \"15p\", gentle = false"), None),
            ("ecn-threshold = \"1p\"".into(), Some("ecn-threshold")),
            ("ecn-threshold = \"2p\"".into(), None),
            (format!("{codel}\necn-threshold = \"2ms\""), None),
            ("change = [{ at = \"1s\", queue = \"64kB\" }]".into(), Some("queue")),
            (format!("{codel}\nchange = [{{ at = \"1s\", queue = \"64kB\" }}]"), Some("queue")),
            (format!("{codel}\noutages = [\"1s..2s\"]"), None),
        ] {
            assert_eq!(refusal(&direction(&keys)).map(|(key, _)| key), refused, "{keys}");
        }
    }
}
