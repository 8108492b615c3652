//! Queues: length, marking threshold and discipline.

use super::resolver::{LONGEST_DELAY, PACKET, Resolver};
use crate::document::Path;
use crate::format::{self, DisciplineKind};
use crate::model::{CoDel, Discipline, EcnThreshold, FqCoDel, QueueLimit, Red};
use crate::units::{Duration, Packets, Queue, Threshold};

impl Resolver<'_> {
    pub(super) fn queue(&mut self, place: &Path, queue: Queue) {
        if matches!(queue, Queue::Bytes(size) if size.0 < PACKET.into()) {
            let hint = Some(format!("make it at least \"{PACKET}B\""));
            self.fail(&place.key("queue"), format!("no room for a packet of {PACKET} bytes"), hint);
        }
    }

    /// Whether a queue of that length and discipline can mark from that threshold on.
    pub(super) fn marking(
        &mut self,
        place: &Path,
        threshold: Option<EcnThreshold>,
        queue: QueueLimit,
        discipline: &Discipline,
    ) {
        let Some(threshold) = threshold else { return };
        let is_wait = matches!(threshold, EcnThreshold::Wait(_));
        let message = match (threshold, queue) {
            (EcnThreshold::Wait(0), _) => "a packet waits at least 0s: it would mark everything".to_owned(),
            _ if matches!(discipline, Discipline::Red(_)) => {
                "red marks by the mean length of its queue".to_owned()
            }
            _ if *discipline != Discipline::DropTail && !is_wait => {
                "only a drop-tail queue marks by its length".to_owned()
            }
            (EcnThreshold::Packets(from), QueueLimit::Packets(limit)) if from >= limit => {
                format!("a queue of {limit} packets never holds {from} when one arrives")
            }
            (EcnThreshold::Bytes(from), QueueLimit::Bytes(limit)) if from >= limit => {
                format!("a queue of {limit} bytes never holds {from} when a packet arrives")
            }
            _ => return,
        };
        let hint = match (threshold, discipline) {
            (EcnThreshold::Wait(0), _) => "write the time from which packets are marked, such as \"1ms\"",
            (_, Discipline::DropTail) => "make ecn-threshold smaller than queue",
            (_, Discipline::Red(_)) => "remove it, and give the discipline ecn = true",
            _ => "write it as a time, or remove it: codel and fq-codel mark by themselves with ecn = true",
        };
        self.fail(place, message, Some(hint.to_owned()));
    }

    pub(super) fn discipline(&mut self, place: &Path, given: Option<format::Discipline>) -> Discipline {
        let Some(format::Discipline(keys)) = given else { return Discipline::DropTail };
        let red = keys.kind == DisciplineKind::Red;
        let fair = keys.kind == DisciplineKind::FqCoDel;
        let codel = fair || keys.kind == DisciplineKind::CoDel;
        for (key, given, meant, owners) in [
            ("target", keys.target.is_some(), codel, "codel and fq-codel"),
            ("interval", keys.interval.is_some(), codel, "codel and fq-codel"),
            ("ecn", keys.ecn.is_some(), codel || red, "red, codel and fq-codel"),
            ("flows", keys.flows.is_some(), fair, "fq-codel"),
            ("quantum", keys.quantum.is_some(), fair, "fq-codel"),
            ("min", keys.min.is_some(), red, "red"),
            ("max", keys.max.is_some(), red, "red"),
            ("probability", keys.probability.is_some(), red, "red"),
            ("weight", keys.weight.is_some(), red, "red"),
            ("gentle", keys.gentle.is_some(), red, "red"),
        ] {
            if given && !meant {
                let hint = Some("remove it, or change kind".to_owned());
                self.fail(&place.key(key), format!("only for {owners}"), hint);
            }
        }
        if red {
            return Discipline::Red(self.red(place, &keys));
        }
        if !codel {
            return Discipline::DropTail;
        }
        let interval = keys.interval.unwrap_or(Duration(100_000_000));
        let target = keys.target.unwrap_or(Duration(5_000_000));
        if interval > LONGEST_DELAY {
            self.delay(&place.key("interval"), interval, LONGEST_DELAY);
        } else if target == Duration(0) || target >= interval {
            let message = format!("expected a target above zero and below the interval of {interval}");
            let key = if keys.target.is_some() { "target" } else { "interval" };
            let hint = "RFC 8289 recommends target = \"5ms\" and interval = \"100ms\"".to_owned();
            self.fail(&place.key(key), format!("{message}, found {target}"), Some(hint));
        }
        let codel = CoDel { target_ns: target.0, interval_ns: interval.0, ecn: keys.ecn.unwrap_or(fair) };
        if !fair {
            return Discipline::CoDel(codel);
        }
        let flows = self.count(&place.key("flows"), keys.flows.unwrap_or(1024), 1, 65_536, "queues");
        let quantum = self.count(&place.key("quantum"), keys.quantum.unwrap_or(1514), 256, 1 << 20, "bytes");
        Discipline::FqCoDel(FqCoDel { codel, flows, quantum })
    }

    fn red(&mut self, place: &Path, keys: &format::DisciplineKeys) -> Red {
        if keys.min.is_none() {
            let hint = Some("write { kind = \"red\", min = \"20p\" }".to_owned());
            self.fail(place, "missing key \"min\", the mean queue length from which red drops", hint);
        }
        let min = keys.min.map_or(1, |packets| packets.0);
        let max = keys.max.map_or(min.saturating_mul(3), |packets| packets.0);
        if max <= min {
            let message = format!("expected a length above min, {min} packets, found {max}");
            self.fail(&place.key("max"), message, Some("max is usually 3 times min".to_owned()));
        }
        let probability = keys.probability.map_or(0.1, |chance| chance.0);
        let weight = keys.weight.map_or(0.002, |chance| chance.0);
        for (key, value) in [("probability", probability), ("weight", weight)] {
            // Smaller values are 0 in the simulator's fixed point.
            if value < 1e-9 {
                self.fail(&place.key(key), format!("expected a number above 0, found {value}"), None);
            }
        }
        let gentle = keys.gentle.unwrap_or(true);
        Red { min, max, probability, weight, gentle, ecn: keys.ecn.unwrap_or(false) }
    }

    /// Other parameters for the same discipline.
    pub(super) fn parameters(
        &mut self,
        place: &Path,
        given: format::Discipline,
        start: &Discipline,
    ) -> Discipline {
        let place = place.key("discipline");
        match (self.discipline(&place, Some(given)), start) {
            (Discipline::FqCoDel(new), Discipline::FqCoDel(old)) => {
                if given.0.flows.is_some() {
                    let message = "the number of queues cannot change";
                    self.fail(&place.key("flows"), message, Some("remove it".to_owned()));
                }
                Discipline::FqCoDel(FqCoDel { flows: old.flows, ..new })
            }
            (new @ Discipline::Red(_), Discipline::Red(_))
            | (new @ Discipline::CoDel(_), Discipline::CoDel(_)) => new,
            (new, _) => {
                let hint =
                    Some("only parameters can change, not the kind, and drop-tail has none".to_owned());
                self.fail(&place, "the link has another discipline", hint);
                new
            }
        }
    }
}

pub(super) fn queue_limit(queue: Queue) -> QueueLimit {
    match queue {
        Queue::Packets(Packets(packets)) => QueueLimit::Packets(packets),
        Queue::Bytes(size) => QueueLimit::Bytes(size.0),
    }
}

pub(super) fn ecn_threshold(threshold: Threshold) -> EcnThreshold {
    match threshold {
        Threshold::Length(Queue::Packets(Packets(packets))) => EcnThreshold::Packets(packets),
        Threshold::Length(Queue::Bytes(size)) => EcnThreshold::Bytes(size.0),
        Threshold::Wait(time) => EcnThreshold::Wait(time.0),
    }
}
