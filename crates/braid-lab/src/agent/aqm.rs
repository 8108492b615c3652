//! Queues that mark or drop packets before they are full: the kernel's own disciplines, behind a server that takes the next
//! packet out when the one before it has been sent. That is htb with one class: it dequeues at the very time and owes what
//! it has sent, where tbf would take each packet out, and let `CoDel` judge it, when the one before it has only begun.

use super::netlink::{Message, find};
use crate::honesty::Told;
use crate::job::{Aqm, Bottleneck, CoDel, Red};

/// htb's only class.
pub(super) const CLASS: u32 = 0x0002_0001;

/// What the kernel calls it.
pub(super) fn kind(aqm: &Aqm) -> &'static str {
    match aqm {
        Aqm::Red(_) => "red",
        Aqm::CoDel(_) => "codel",
        Aqm::FqCoDel { .. } => "fq_codel",
    }
}

/// All packets are of that class.
pub(super) fn server(message: &mut Message) {
    const VERSION: u32 = 3;
    message.nested(2, |options| {
        // `struct tc_htb_glob`
        let words = [VERSION, 1, CLASS & 0xffff, 0, 0].map(u32::to_ne_bytes);
        options.attribute(2, words.as_flattened());
    });
}

/// Its rate.
pub(super) fn class(message: &mut Message, bottleneck: &Bottleneck) {
    const ETHERNET: u8 = 1;
    const TICK_NS: u64 = 64;
    // By so much it may be late without losing time; after an idle time the second packet may go so much too early.
    const LATE_NS: u64 = 100_000;
    let rate = bottleneck.rate_bps / 8;
    let packet_ns = u64::from(bottleneck.packet_bytes) * 1_000_000_000 / rate.max(1);
    let late = (LATE_NS.min(packet_ns / 2) / TICK_NS) as u32;
    message.nested(2, |options| {
        // `struct tc_htb_opt`: twice a `struct tc_ratespec`, then words.
        let mut parameters = [0; 44];
        for at in [0, 12] {
            parameters[at + 1] = ETHERNET;
            let small = u32::try_from(rate).unwrap_or(u32::MAX);
            parameters[at + 8..at + 12].copy_from_slice(&small.to_ne_bytes());
        }
        for (at, word) in [(24, late), (28, late), (32, bottleneck.packet_bytes)] {
            parameters[at..at + 4].copy_from_slice(&u32::to_ne_bytes(word));
        }
        options.attribute(1, &parameters);
        if rate > u64::from(u32::MAX) {
            options.attribute(6, &rate.to_ne_bytes()).attribute(7, &rate.to_ne_bytes());
        }
    });
}

/// Who marks or drops, and the limit, which RED leaves to the queue within it.
pub(super) fn discipline(message: &mut Message, aqm: &Aqm, limit_packets: u32, changes: bool) {
    // The numbers of their attributes differ only from the fourth on.
    let codel = |options: &mut Message, own: &CoDel, threshold: u16| {
        for (number, value) in
            [(1, own.target_us), (2, limit_packets), (3, own.interval_us), (4, own.ecn.into())]
        {
            options.attribute(number, &u32::to_ne_bytes(value));
        }
        if let Some(us) = own.threshold_us {
            options.attribute(threshold, &us.to_ne_bytes());
        }
    };
    message.nested(2, |options| match aqm {
        Aqm::Red(own) => red(options, own),
        Aqm::CoDel(own) => codel(options, own, 5),
        Aqm::FqCoDel { codel: own, flows, quantum } => {
            codel(options, own, 7);
            options.attribute(6, &quantum.to_ne_bytes());
            if !changes {
                options.attribute(5, &flows.to_ne_bytes());
            }
        }
    });
}

fn red(options: &mut Message, own: &Red) {
    const ECN: u32 = 1;
    const HARD_DROP: u32 = 2;
    const NO_DROP: u32 = 8;
    // `struct tc_red_qopt`; without a limit it does not replace the queue within it.
    let mut parameters = [0; 16];
    parameters[4..8].copy_from_slice(&own.min_bytes.to_ne_bytes());
    parameters[8..12].copy_from_slice(&own.max_bytes.to_ne_bytes());
    parameters[12] = own.weight_log;
    // How an idle time lowers the mean. htb never asks an empty queue, so there is none.
    let halvings = [31; 256];
    let flags = [(own.ecn, ECN), (own.drops_above, HARD_DROP), (!own.drops, NO_DROP)];
    let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
    options
        .attribute(1, &parameters)
        .attribute(2, &halvings)
        .attribute(3, &own.probability.to_ne_bytes())
        .attribute(4, [flags, ECN | HARD_DROP | NO_DROP].map(u32::to_ne_bytes).as_flattened());
}

/// What the kernel says of a class (its rate), a discipline or a plain queue (its limit).
pub(super) fn told(kind: &[u8], options: &[u8]) -> Option<Told> {
    let long = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?));
    match kind {
        b"htb\0" => {
            let large = find(options, 6).and_then(long);
            let rate = large.or_else(|| word(find(options, 1)?, 8).map(u64::from))?;
            Some(Told { rate_bps: 8 * rate, ..Told::default() })
        }
        b"pfifo\0" => Some(Told { limit: word(options, 0)?, ..Told::default() }),
        _ => Some(Told { limit: word(find(options, 2)?, 0)?, ..Told::default() }),
    }
}

/// Packets that a discipline has marked, by its own statistics (`tc_red_xstats`, `tc_codel_xstats`, `tc_fq_codel_xstats`).
pub(super) fn marks(kind: &[u8], statistics: &[u8]) -> u64 {
    let places: &[usize] = match kind {
        b"red\0" => &[12],
        b"codel\0" => &[24, 32],
        b"fq_codel\0" => &[12, 28],
        _ => &[],
    };
    places.iter().filter_map(|&at| word(statistics, at)).map(u64::from).sum()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
