//! What a queue does, by how long the flows of a crowd wait there, and by what each of them carries.
//!
//! When flows begin they fill a queue, whatever it does. One that drops what does not fit is as long at any time later. RED and `CoDel` drop
//! earlier then, so it is shorter. Where each flow has a queue of its own (`fq_codel`), all carry the same.

use crate::estimate::{deviation, mean, quantile};
use crate::measured::Discipline;

/// What the flows of a crowd carry differs by less than this, of its mean: each has a queue of its own. Of 2,729 bottlenecks of
/// `case/5000` to 5799, 9200 to 9437 and 9600 to 9811 that is so, with the next three, at 127 of 132 that have such a queue, and at 6
/// others.
const EVEN: f64 = 0.04;
/// Where all together carry little, bits per second, a packet more or less of each flow counts: so much of it is added to `EVEN`.
const EVEN_BPS: f64 = 20e3;
/// `CoDel` keeps the queue of each flow short: packets wait for less than this on average, seconds, three times its target. What one
/// packet of each flow takes is added; without it they wait for 12 ms at most where there is such a queue.
const SHORT_S: f64 = 0.015;
const PACKET_BITS: f64 = 12_000.0;
/// It was longer in the beginning by this factor: it drops before it is full. RED has at least 1.2, `CoDel` nearly always; what drops where
/// it is full, 1.1.
const LONGER: f64 = 1.25;
/// `CoDel` lets it be so much longer, RED, that follows an average, hardly.
const LONGER_CODEL: f64 = 2.0;
/// A single flow has less than this of what the crowd has: losses at random hold flows down, and they hardly have a queue.
const HELD_DOWN: f64 = 0.2;
/// Where packets wait for less, on average, seconds, flows do not fill it.
const FILLS_S: f64 = 0.003;

/// What a crowd meets.
pub(crate) struct Crowd {
    /// How long each flow waits in the beginning, seconds, look by look.
    pub(crate) beginning: Vec<Vec<f64>>,
    /// The same, later.
    pub(crate) later: Vec<Vec<f64>>,
    /// What each flow carries, bits per second.
    pub(crate) carry_bps: Vec<f64>,
}

impl Crowd {
    fn full_s(&self) -> f64 {
        quantile(&self.beginning.concat(), 0.99)
    }

    fn later_s(&self) -> f64 {
        quantile(&self.later.concat(), 0.95)
    }

    fn mean_s(&self) -> f64 {
        mean(&self.later.concat())
    }

    /// Whether each flow has a queue of its own, which `CoDel` keeps short.
    fn is_fair(&self) -> bool {
        let packets_s = PACKET_BITS * self.carry_bps.len() as f64 / self.carry_bps.iter().sum::<f64>();
        gives_all_the_same(&self.carry_bps) && self.mean_s() < SHORT_S + packets_s
    }
}

/// Whether a crowd whose flows carry so much meets a queue that gives all the same.
pub(crate) fn gives_all_the_same(carry_bps: &[f64]) -> bool {
    let even = EVEN + EVEN_BPS / carry_bps.iter().sum::<f64>();
    deviation(carry_bps) < even * mean(carry_bps)
}

/// What the queue does that these crowds meet, and where a single flow carries so much.
pub(crate) fn discipline(crowds: &[Crowd], single_bps: f64) -> Discipline {
    let longer = median(crowds, |crowd| crowd.full_s() / crowd.later_s().max(1e-6));
    let crowd_bps = median(crowds, |crowd| crowd.carry_bps.iter().sum());
    let fair = crowds.iter().filter(|crowd| crowd.is_fair()).count();
    if 2 * fair > crowds.len() {
        Discipline::FqCoDel
    } else if longer < LONGER || median(crowds, Crowd::mean_s) < FILLS_S || single_bps < HELD_DOWN * crowd_bps
    {
        Discipline::DropTail
    } else if longer > LONGER_CODEL {
        Discipline::CoDel
    } else {
        Discipline::Red
    }
}

/// How long packets wait where it is full, seconds.
pub(crate) fn full_s(discipline: Discipline, crowds: &[Crowd]) -> f64 {
    if discipline == Discipline::DropTail {
        median(crowds, Crowd::later_s)
    } else {
        median(crowds, Crowd::full_s)
    }
}

fn median(crowds: &[Crowd], value: impl Fn(&Crowd) -> f64) -> f64 {
    quantile(&crowds.iter().map(value).collect::<Vec<_>>(), 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crowd of four, by how long its flows wait in the beginning and later, milliseconds, and by how much what they carry differs.
    fn crowd(beginning: f64, later: f64, uneven: f64) -> Crowd {
        let flow =
            || -> Vec<f64> { (0..100).map(|look| later * (0.8 + 0.002 * f64::from(look)) / 1e3).collect() };
        Crowd {
            beginning: vec![vec![beginning / 1e3; 30]; 4],
            later: (0..4).map(|_| flow()).collect(),
            carry_bps: [1.0 - uneven, 1.0 + uneven].map(|mbit| mbit * 1e6).repeat(2),
        }
    }

    /// What it does, and how long it is where it is full, milliseconds.
    fn of(crowd: Crowd) -> (Discipline, u64) {
        let crowds = [crowd];
        let found = discipline(&crowds, 2e6);
        (found, (1e3 * full_s(found, &crowds)).round() as u64)
    }

    #[test]
    fn a_queue_that_is_as_long_as_in_the_beginning_drops_what_does_not_fit() {
        assert_eq!(of(crowd(50.0, 50.0, 0.2)), (Discipline::DropTail, 49));
    }

    #[test]
    fn a_queue_that_becomes_shorter_drops_earlier() {
        assert_eq!(of(crowd(80.0, 50.0, 0.2)), (Discipline::Red, 80));
        assert_eq!(of(crowd(200.0, 20.0, 0.2)), (Discipline::CoDel, 200));
    }

    #[test]
    fn where_all_flows_carry_the_same_each_has_its_own_queue() {
        assert_eq!(of(crowd(200.0, 20.0, 0.02)).0, Discipline::FqCoDel);
        assert_eq!(of(crowd(20.0, 20.0, 0.02)).0, Discipline::FqCoDel);
    }

    #[test]
    fn where_they_carry_the_same_by_chance_in_a_long_queue_they_share_it() {
        assert_eq!(of(crowd(100.0, 100.0, 0.02)).0, Discipline::DropTail);
    }

    #[test]
    fn where_losses_at_random_hold_a_single_flow_down_its_queue_says_nothing() {
        assert_eq!(discipline(&[crowd(200.0, 20.0, 0.2)], 2e6), Discipline::CoDel);
        assert_eq!(discipline(&[crowd(200.0, 20.0, 0.2)], 0.5e6), Discipline::DropTail);
    }

    #[test]
    fn a_queue_that_hardly_stands_says_nothing() {
        assert_eq!(of(crowd(10.0, 1.0, 0.2)).0, Discipline::DropTail);
    }

    #[test]
    fn most_of_several_crowds_decide() {
        let crowds = [crowd(200.0, 20.0, 0.2), crowd(20.0, 20.0, 0.2), crowd(20.0, 20.0, 0.2)];
        assert_eq!(discipline(&crowds, 2e6), Discipline::DropTail);
    }
}
