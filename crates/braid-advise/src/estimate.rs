//! From looks at a connection's sockets to what its paths are like.
//!
//! What counts is what the connection met: a path on which somebody else sends, too, carries what was left to us.

use std::fmt;
use std::ops::AddAssign;

use crate::measured::{Discipline, JITTER_US, Measured, Others, PACKET, Pair, Path, Sharing};

/// Looks are this far apart at most, seconds; the smoothed RTT has a memory of some eight packets, so that more of them say
/// nothing new.
const LONGEST_GAP_S: f64 = 0.5;
/// So many looks make an estimate.
const FEWEST: usize = 30;
/// Rates are over this time, seconds: several RTTs.
const WINDOW_S: f64 = 1.0;
/// A queue stands where packets wait this long, seconds: less is jitter and delayed acknowledgements.
const STANDS_S: f64 = 0.003;
/// What a quarter of all packets, and more, meets is not seldom.
const SELDOM: f64 = 0.25;
/// No more is taken to be lost at random, as a share.
pub(crate) const MOST_LOSS: f64 = 0.2;
/// Delays of one queue, seen from two paths, differ at most by this share of their mean...
const ALIKE: f64 = 0.3;
/// ...and go up and down together; by their correlation.
const TOGETHER: f64 = 0.6;
/// Delays of two queues differ by more than this, or hardly go together.
const UNLIKE: f64 = 0.6;
const APART: f64 = 0.3;

/// A connection's sockets at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Seconds, since any moment.
    pub at_s: f64,
    /// One for each subflow, always in the same order.
    pub subflows: Vec<Seen>,
}

/// What one socket says. Counts are since any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Bytes that arrived, with the headers of IP.
    pub bytes: u64,
    /// Packets that were sent again.
    pub retransmissions: u64,
    /// Smoothed RTT, seconds; 0 before the first sample.
    pub srtt_s: f64,
    /// The lowest RTT that it has seen, seconds.
    pub min_rtt_s: f64,
    /// Whether its detector says that it shares a bottleneck: a number that those with the same one have in common, 0 for its
    /// own; `None` without a detector.
    pub group: Option<u16>,
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq)]
pub enum TooLittle {
    /// Fewer looks than an estimate takes.
    Looks(usize),
    /// A subflow, by its place, that sent next to nothing.
    Sent(usize),
}

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Looks(count) => write!(f, "{count} looks at the connection, {FEWEST} are needed"),
            Self::Sent(place) => {
                write!(f, "subflow {} sends next to nothing, so its path cannot be known", place + 1)
            }
        }
    }
}

impl std::error::Error for TooLittle {}

/// What the paths are like, named by `names`, from looks in the order of time.
///
/// # Errors
/// If they say too little.
pub fn estimate(names: &[String], looks: &[Look]) -> Result<Measured, TooLittle> {
    if looks.len() < FEWEST {
        return Err(TooLittle::Looks(looks.len()));
    }
    let series: Vec<Series> = (0..names.len()).map(|place| Series::of(looks, place)).collect();
    let mut paths = Vec::new();
    for (place, name) in names.iter().enumerate() {
        paths.push(series[place].path(name, looks).ok_or(TooLittle::Sent(place))?);
    }
    let mut pairs = Vec::new();
    for one in 0..names.len() {
        for other in one + 1..names.len() {
            pairs.push(Pair { one, other, sharing: sharing(&series[one], &series[other]) });
        }
    }
    let mut measured = Measured { paths, pairs, together_bps: Vec::new(), crowds: Vec::new() };
    for unknown_share in [false, true] {
        let groups = measured.groups(unknown_share);
        for first in 0..groups.len() {
            let members: Vec<usize> = (0..groups.len()).filter(|&place| groups[place] == first).collect();
            if members.len() > 1 && !measured.together_bps.iter().any(|(places, _)| *places == members) {
                let bps = rate_bps(looks, &members);
                measured.together_bps.push((members, bps));
            }
        }
    }
    Ok(measured)
}

/// One subflow over time, a value for each look.
pub(crate) struct Series {
    /// How long packets wait, seconds.
    pub(crate) waits: Vec<f64>,
    place: usize,
    base_s: f64,
    /// What the detector said in the second half, where it always said the same.
    group: Option<u16>,
}

impl Series {
    fn of(looks: &[Look], place: usize) -> Self {
        let seen = || looks.iter().map(move |look| look.subflows[place]);
        let lowest = |low: f64, value: f64| if value > 0.0 { low.min(value) } else { low };
        let base_s = seen().flat_map(|seen| [seen.min_rtt_s, seen.srtt_s]).fold(f64::INFINITY, lowest);
        Self::over(looks, place, base_s)
    }

    /// With an RTT without queues that is known.
    pub(crate) fn over(looks: &[Look], place: usize, base_s: f64) -> Self {
        let waits = looks.iter().map(|look| (look.subflows[place].srtt_s - base_s).max(0.0)).collect();
        let last = looks.last().and_then(|look| look.subflows[place].group);
        let steady = looks[looks.len() / 2..].iter().all(|look| look.subflows[place].group == last);
        Self { waits, place, base_s, group: last.filter(|_| steady) }
    }

    pub(crate) fn path(&self, name: &str, looks: &[Look]) -> Option<Path> {
        let rate_bps = rate_bps(looks, &[self.place]);
        if !self.base_s.is_finite() || rate_bps < 1000.0 {
            return None;
        }
        Some(Path {
            name: name.to_owned(),
            rate_bps,
            rtt_s: self.base_s,
            queue_s: self.queue_s(),
            early_queue_s: self.queue_s(),
            loss: self.random_loss(looks),
            discipline: Discipline::DropTail,
            others: Others::cubic(0),
            others_rtt: 1.0,
            moves: None,
            jitter_us: JITTER_US,
            single: None,
            may_be: Vec::new(),
        })
    }

    /// How long packets wait when the queue is full.
    fn queue_s(&self) -> f64 {
        quantile(&self.waits, 0.95)
    }

    /// Of the packets that it sends, the share that the queue is not the cause of the loss of.
    fn random_loss(&self, looks: &[Look]) -> f64 {
        let Packets { sent, lost } = self.sent_at_random(looks);
        (lost / sent.max(1.0)).min(MOST_LOSS)
    }

    /// The packets that are sent, and lost, where the queue is not the cause: where packets wait less than half as long as they do when it is full.
    /// Where that is seldom, what is lost so is taken for what is lost at random of all.
    pub(crate) fn sent_at_random(&self, looks: &[Look]) -> Packets {
        let [low, all] = self.lost(looks);
        Packets { sent: if low.sent > SELDOM * all.sent { low.sent } else { all.sent }, ..low }
    }

    /// The same, of what is lost: 0 to 1.
    pub(crate) fn at_random(&self, looks: &[Look]) -> f64 {
        let [_, all] = self.lost(looks);
        (self.random_loss(looks) * all.sent / all.lost.max(1.0)).min(1.0)
    }

    /// Packets that are sent and lost where packets wait less than half as long as they do when the queue is full, and in all.
    fn lost(&self, looks: &[Look]) -> [Packets; 2] {
        let queue_s = self.queue_s();
        let mut counts = [Packets::default(); 2];
        let [low, all] = &mut counts;
        for at in 1..looks.len() {
            let [before, now] = [at - 1, at].map(|at| looks[at].subflows[self.place]);
            let packets = Packets {
                sent: now.bytes.saturating_sub(before.bytes) as f64 / PACKET,
                lost: now.retransmissions.saturating_sub(before.retransmissions) as f64,
            };
            *all += packets;
            // Where it waits at most just before and just after.
            if self.waits[at].max(self.waits[at - 1]) < (0.5 * queue_s).max(STANDS_S) {
                *low += packets;
            }
        }
        counts
    }
}

/// Packets that are sent, and those of them that are lost.
#[derive(Clone, Copy, Default)]
pub(crate) struct Packets {
    pub(crate) sent: f64,
    pub(crate) lost: f64,
}

impl AddAssign for Packets {
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.lost += more.lost;
    }
}

/// What these subflows carry together when they carry much: the 95th percentile over [`WINDOW_S`].
pub(crate) fn rate_bps(looks: &[Look], places: &[usize]) -> f64 {
    quantile(&rates_bps(looks, places), 0.95)
}

/// What these subflows carry together, over each [`WINDOW_S`].
pub(crate) fn rates_bps(looks: &[Look], places: &[usize]) -> Vec<f64> {
    let bytes = |look: &Look| places.iter().map(|&place| look.subflows[place].bytes).sum::<u64>();
    let mut rates = Vec::new();
    let mut from = 0;
    for to in 1..looks.len() {
        while looks[to].at_s - looks[from + 1].at_s >= WINDOW_S {
            from += 1;
        }
        let time_s = looks[to].at_s - looks[from].at_s;
        if (WINDOW_S..=WINDOW_S + LONGEST_GAP_S).contains(&time_s) {
            rates.push((bytes(&looks[to]) - bytes(&looks[from])) as f64 * 8.0 / time_s);
        }
    }
    rates
}

/// A detector's word counts, else how long packets wait on both at the same time.
fn sharing(one: &Series, other: &Series) -> Sharing {
    if let (Some(one), Some(other)) = (one.group, other.group) {
        return if one == other && one > 0 { Sharing::Shared } else { Sharing::Own };
    }
    let (mean_one, mean_other) = (mean(&one.waits), mean(&other.waits));
    let both_stand = mean_one.min(mean_other) > STANDS_S;
    if !both_stand {
        return Sharing::Unknown;
    }
    let differ = one.waits.iter().zip(&other.waits).map(|(one, other)| (one - other).abs()).sum::<f64>();
    let differ = differ / one.waits.len() as f64 / f64::midpoint(mean_one, mean_other);
    let together = correlation(&one.waits, &other.waits);
    if differ < ALIKE && together > TOGETHER {
        Sharing::Shared
    } else if differ > UNLIKE || together < APART {
        Sharing::Own
    } else {
        Sharing::Unknown
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Standard deviation.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    mean(&values.iter().map(|value| (value - middle).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// Pearson's; 0 where one does not vary.
pub(crate) fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let (mean_one, mean_other) = (mean(one), mean(other));
    let of = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    let both = of(one, mean_one, other, mean_other);
    let each = of(one, mean_one, one, mean_one) * of(other, mean_other, other, mean_other);
    if each > 0.0 { both / each.sqrt() } else { 0.0 }
}

/// Of values in any order; 0 without any.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(((sorted.len() as f64 - 1.0) * share).round() as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 s of looks, ten a second, at two paths of 10 and 5 Mbit/s whose packets wait as these say, seconds.
    fn looks(waits: [fn(f64) -> f64; 2]) -> Vec<Look> {
        let look = |n: u32| {
            let at_s = f64::from(n) / 10.0;
            let seen = |mbit: f64, base_s: f64, wait: fn(f64) -> f64| Seen {
                bytes: (mbit * 1e6 / 8.0 * at_s) as u64,
                srtt_s: base_s + wait(at_s),
                min_rtt_s: base_s,
                ..Seen::default()
            };
            Look { at_s, subflows: vec![seen(10.0, 0.02, waits[0]), seen(5.0, 0.05, waits[1])] }
        };
        (0..400).map(look).collect()
    }

    fn names() -> Vec<String> {
        vec!["wifi".into(), "lte".into()]
    }

    fn saw(at_s: f64, period_s: f64) -> f64 {
        0.02 + 0.03 * (at_s / period_s).fract()
    }

    #[test]
    fn rate_base_rtt_and_queue_are_those_of_the_path() {
        let measured = estimate(&names(), &looks([|at| saw(at, 4.0), |at| saw(at, 4.0)])).unwrap();
        let wifi = &measured.paths[0];
        assert!((wifi.rate_bps / 10e6 - 1.0).abs() < 0.01, "{wifi:?}");
        assert!((wifi.rtt_s - 0.02).abs() < 1e-9 && (wifi.queue_s - 0.05).abs() < 0.003, "{wifi:?}");
        assert!((measured.together_bps[0].1 / 15e6 - 1.0).abs() < 0.01, "{measured:?}");
    }

    #[test]
    fn one_queue_is_told_from_two_by_how_long_packets_wait_at_the_same_time() {
        let sharing = |waits| estimate(&names(), &looks(waits)).unwrap().pairs[0].sharing;
        assert_eq!(sharing([|at| saw(at, 4.0), |at| 1.1 * saw(at, 4.0)]), Sharing::Shared);
        assert_eq!(sharing([|at| saw(at, 4.0), |at| saw(at, 2.7)]), Sharing::Own);
        assert_eq!(sharing([|at| saw(at, 4.0), |at| 3.0 * saw(at, 4.0)]), Sharing::Own);
        assert_eq!(sharing([|at| saw(at, 4.0), |_| 0.0]), Sharing::Unknown);
    }

    #[test]
    fn what_a_detector_says_all_the_time_counts_more() {
        let mut looks = looks([|at| saw(at, 4.0), |at| saw(at, 4.0)]);
        for seen in looks.iter_mut().flat_map(|look| &mut look.subflows) {
            seen.group = Some(0);
        }
        assert_eq!(estimate(&names(), &looks).unwrap().pairs[0].sharing, Sharing::Own);
        looks[300].subflows[0].group = Some(2);
        assert_eq!(estimate(&names(), &looks).unwrap().pairs[0].sharing, Sharing::Shared);
    }

    #[test]
    fn losses_are_random_where_the_queue_is_not_full() {
        let mut looks = looks([|at| saw(at, 4.0), |at| saw(at, 4.0)]);
        // one loss whenever the queue is full, and ten on the other when it is not.
        for look in &mut looks {
            let at_s = look.at_s;
            look.subflows[0].retransmissions = ((at_s + 0.05) / 4.0) as u64;
            look.subflows[1].retransmissions = ((at_s + 3.7) / 4.0) as u64 * 10;
        }
        let measured = estimate(&names(), &looks).unwrap();
        assert!(measured.paths[0].loss.abs() < 1e-12, "{measured:?}");
        assert!(measured.paths[1].loss > 0.004, "{measured:?}");
    }

    #[test]
    fn too_few_looks_and_silent_paths_are_refused() {
        let all = looks([|at| saw(at, 4.0), |at| saw(at, 4.0)]);
        assert_eq!(estimate(&names(), &all[..20]), Err(TooLittle::Looks(20)));
        let mut silent = all;
        for look in &mut silent {
            look.subflows[1].bytes = 17;
        }
        assert_eq!(estimate(&names(), &silent), Err(TooLittle::Sent(1)));
    }
}
