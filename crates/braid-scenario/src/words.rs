//! Links as text: rates, delays, queues and losses for people.

use crate::model::{Direction, Discipline, Link, Loss, QueueLimit};

/// Text of both directions of a link, once if they are equal.
pub fn both(link: &Link, show: &dyn Fn(&Direction) -> String) -> String {
    let (forward, reverse) = (show(&link.forward), show(&link.reverse));
    if forward == reverse { forward } else { format!("{forward} / {reverse}") }
}

/// Capacity of a queue.
pub fn limit(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(n) => format!("{n} packets"),
        QueueLimit::Bytes(n) => format!("{n} bytes"),
    }
}

/// Capacity of a queue, and its discipline unless that is drop-tail.
pub fn queue(direction: &Direction) -> String {
    let limit = limit(direction.queue);
    match direction.discipline {
        Discipline::DropTail => limit,
        Discipline::Red(_) => format!("{limit}, RED"),
        Discipline::CoDel(_) => format!("{limit}, CoDel"),
        Discipline::FqCoDel(_) => format!("{limit}, FQ-CoDel"),
    }
}

/// Loss on the wire.
pub fn loss(loss: &Loss) -> String {
    let percent = |p: f64| format!("{} %", (p * 1e8).round() / 1e6);
    match loss {
        Loss::None => "none".to_owned(),
        Loss::Bernoulli(p) => percent(*p),
        Loss::Periodic(n) => format!("every {n}th packet"),
        Loss::GilbertElliott(chain) => format!("{} in bursts", percent(chain.mean())),
    }
}

/// Bits per second in the most readable unit.
pub fn rate(bps: f64) -> String {
    let (scaled, unit) = match bps {
        1e9.. => (bps / 1e9, "Gbit/s"),
        1e6.. => (bps / 1e6, "Mbit/s"),
        1e3.. => (bps / 1e3, "kbit/s"),
        _ => (bps, "bit/s"),
    };
    format!("{} {unit}", (scaled * 1e3).round() / 1e3)
}

/// Milliseconds, to the microsecond.
pub fn milliseconds(ns: u64) -> String {
    format!("{} ms", (ns as f64 / 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_read_well() {
        assert_eq!(rate(12e6), "12 Mbit/s");
        assert_eq!(rate(2.5e9), "2.5 Gbit/s");
        assert_eq!(rate(1_333_333.3), "1.333 Mbit/s");
        assert_eq!(milliseconds(24_112_000), "24.112 ms");
    }
}
