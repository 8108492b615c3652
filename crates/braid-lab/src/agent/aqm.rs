//! Queues beyond netem: the kernel's own disciplines behind cbs, which dequeues the next packet when the previous one
//! has been sent. So `CoDel` judges a packet when its sending begins; tbf would dequeue it one packet earlier. And cbs
//! polls an empty discipline, so that RED notices an idle link, which htb would not.

use super::readback::Told;
use crate::job::{Aqm, Bottleneck, CoDel, Red};
use braid_kernel::netlink::{Message, find};

/// The kernel's name of the discipline.
pub(super) fn kind(aqm: &Aqm) -> &'static str {
    match aqm {
        Aqm::Packets => "pfifo",
        Aqm::Bytes(_) => "bfifo",
        Aqm::Red(_) => "red",
        Aqm::CoDel(_) => "codel",
        Aqm::FqCoDel { .. } => "fq_codel",
    }
}

/// Credit per byte: the kernel rounds credit down to whole numbers several times per packet.
const PER_BYTE: i32 = 100;

/// Credit of cbs: a packet costs its bytes, and the rate restores them; never enough to send while the link pauses.
pub(super) fn server(message: &mut Message, bottleneck: &Bottleneck) {
    // Rate reported by a veth interface: credit sinks in proportion to it.
    const VETH_KBPS: i32 = 10_000_000;
    const NO_LIMIT: i32 = i32::MIN / 2;
    // A dequeue that is late by up to this time costs no rate; after an idle time the second packet may be early by up
    // to this time.
    const LATE_NS: u64 = 100_000;
    let Bottleneck { packet_bytes, paused, .. } = *bottleneck;
    let rate_bps = server_bps(bottleneck);
    let late = (rate_bps / 8 * LATE_NS / 1_000_000_000).min(u64::from(packet_bytes / 2)) as i32;
    let most = if paused { -PER_BYTE * PAUSE_BYTES } else { PER_BYTE * late };
    let gain_kbps = (rate_bps * PER_BYTE as u64 / 1000) as i32;
    message.nested(2, |options| {
        // `struct tc_cbs_qopt`; the first word disables hardware offload.
        let words = [0, most, NO_LIMIT, gain_kbps, -PER_BYTE * VETH_KBPS].map(i32::to_ne_bytes);
        options.attribute(1, words.as_flattened());
    });
}

/// While paused, cbs polls after the time of these bytes at this rate: within a millisecond.
const PAUSE_BYTES: i32 = 10;
const PAUSE_BPS: u64 = 80_000;

fn server_bps(bottleneck: &Bottleneck) -> u64 {
    if bottleneck.paused { PAUSE_BPS } else { bottleneck.rate_bps }
}

/// Expected settings of cbs, as it reports them.
pub(super) fn server_told(bottleneck: &Bottleneck) -> Told {
    Told { rate_bps: server_bps(bottleneck), ..Told::default() }
}

/// The discipline that marks or drops, and the limit, which RED leaves to its inner queue.
pub(super) fn discipline(message: &mut Message, aqm: &Aqm, bottleneck: &Bottleneck, changes: bool) {
    let limit_packets = bottleneck.limit_packets;
    // The attribute numbers of CoDel and FQ-CoDel differ only from the fourth on.
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
    match aqm {
        Aqm::Packets => message.attribute(2, &limit_packets.to_ne_bytes()),
        Aqm::Bytes(limit) => message.attribute(2, &limit.to_ne_bytes()),
        Aqm::Red(own) => message.nested(2, |options| red(options, own, bottleneck)),
        Aqm::CoDel(own) => message.nested(2, |options| codel(options, own, 5)),
        Aqm::FqCoDel { codel: own, flows, quantum } => message.nested(2, |options| {
            codel(options, own, 7);
            options.attribute(6, &quantum.to_ne_bytes());
            if !changes {
                options.attribute(5, &flows.to_ne_bytes());
            }
        }),
    };
}

fn red(options: &mut Message, own: &Red, bottleneck: &Bottleneck) {
    const ECN: u32 = 1;
    const HARD_DROP: u32 = 2;
    const NO_DROP: u32 = 8;
    // `struct tc_red_qopt`; without a limit it keeps its inner queue.
    let mut parameters = [0; 16];
    parameters[4..8].copy_from_slice(&own.min_bytes.to_ne_bytes());
    parameters[8..12].copy_from_slice(&own.max_bytes.to_ne_bytes());
    parameters[12] = own.weight_log;
    let packet_us = f64::from(bottleneck.packet_bytes) * 8e6 / bottleneck.rate_bps as f64;
    let (cell_log, halvings) = idle(own.weight_log, packet_us);
    parameters[14] = cell_log;
    let flags = [(own.ecn, ECN), (own.drops_above, HARD_DROP), (!own.drops, NO_DROP)];
    let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
    options
        .attribute(1, &parameters)
        .attribute(2, &halvings)
        .attribute(3, &own.probability.to_ne_bytes())
        .attribute(4, [flags, ECN | HARD_DROP | NO_DROP].map(u32::to_ne_bytes).as_flattened());
}

/// Decay of the mean during an idle time, as if that many packets had found an empty queue: the kernel counts idle time
/// in cells of two to the power of the first value, microseconds, and the table has the number of halvings per cell.
/// Within the first cell the kernel lowers the mean in proportion, at most to a half; so a cell is the time of two
/// halvings.
fn idle(weight_log: u8, packet_us: f64) -> (u8, [u8; 256]) {
    const MOST: f64 = 31.0;
    if weight_log == 0 {
        return (0, [31; 256]);
    }
    let halving_us = packet_us / -(1.0 - 0.5_f64.powi(weight_log.into())).log2();
    let cell_log = (2.0 * halving_us).log2().round().clamp(0.0, MOST);
    let in_cell = cell_log.exp2() / halving_us;
    let mut halvings = [0; 256];
    for (cells, own) in halvings.iter_mut().enumerate() {
        *own = (cells as f64 * in_cell).round().min(MOST) as u8;
    }
    (cell_log as u8, halvings)
}

/// The reported rate of cbs, or the reported limit of a discipline or plain queue.
pub(super) fn told(kind: &[u8], options: &[u8]) -> Option<Told> {
    match kind {
        b"cbs\0" => {
            let gain_kbps = u64::from(word(find(options, 1)?, 12)?);
            Some(Told { rate_bps: gain_kbps * 1000 / PER_BYTE as u64, ..Told::default() })
        }
        b"pfifo\0" | b"bfifo\0" => Some(Told { limit: word(options, 0)?, ..Told::default() }),
        _ => Some(Told { limit: word(find(options, 2)?, 0)?, ..Told::default() }),
    }
}

/// Packets marked by a discipline, from its statistics (`tc_red_xstats`, `tc_codel_xstats`, `tc_fq_codel_xstats`).
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

#[cfg(test)]
mod tests {
    use super::idle;

    #[test]
    fn an_idle_time_lowers_the_mean_as_empty_arrivals_would() {
        for (weight_log, packet_us) in [(9, 1200.0), (9, 120.0), (2, 1200.0), (5, 10_000.0)] {
            let (cell_log, halvings) = idle(weight_log, packet_us);
            let cell_us = f64::from(cell_log).exp2();
            let weight = 0.5_f64.powi(weight_log.into());
            for (cells, &own) in halvings.iter().enumerate().take(10) {
                let arrivals = cells as f64 * cell_us / packet_us;
                let expected = (1.0 - weight).powf(arrivals);
                let ratio = 0.5_f64.powi(own.into()) / expected;
                assert!((0.7..1.42).contains(&ratio), "{weight_log} {packet_us} {cells}: {ratio}");
            }
        }
        assert_eq!(idle(0, 1200.0).1, [31; 256], "nothing is left of a mean that is no mean");
    }
}
