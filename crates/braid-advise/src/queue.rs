//! What a queue does, by how long the flows of a crowd wait there.
//!
//! When flows begin they fill a queue, whatever it does. One that drops what does not fit is as long at any time later. RED and `CoDel` drop
//! earlier then, so it is shorter; and where each flow has a queue of its own, flows wait for different times.

use crate::estimate::{deviation, mean, quantile};
use crate::measured::Discipline;

/// It was longer in the beginning by this factor: it drops before it is full. Over the bottlenecks of 93 networks of `case/5301` to 5595
/// RED has at least 1.3, `CoDel` nearly always; what drops where it is full, 1.1.
const LONGER: f64 = 1.25;
/// `CoDel` lets it be so much longer, RED, that follows an average, hardly.
const LONGER_CODEL: f64 = 2.0;
/// Flows wait for times that differ by this share of their mean at the same time: each has a queue of its own...
const APART: f64 = 0.22;
/// ...or, by this, they hardly have one: losses at random hold them down.
const NO_QUEUE: f64 = 0.6;
/// Where packets wait for less, on average, seconds, flows do not fill it.
const FILLS_S: f64 = 0.003;

/// How long each flow of a crowd waits, seconds, look by look.
pub(crate) struct Waits {
    /// In the beginning.
    pub(crate) beginning: Vec<Vec<f64>>,
    /// Later.
    pub(crate) later: Vec<Vec<f64>>,
}

impl Waits {
    fn full_s(&self) -> f64 {
        quantile(&self.beginning.concat(), 0.99)
    }

    fn later_s(&self) -> f64 {
        quantile(&self.later.concat(), 0.95)
    }

    fn mean_s(&self) -> f64 {
        mean(&self.later.concat())
    }

    /// By how much the waits of flows differ at the same time, on average, of their mean.
    fn apart(&self) -> f64 {
        let looks = self.later.first().map_or(0, Vec::len);
        let at = |look: usize| deviation(&self.later.iter().map(|flow| flow[look]).collect::<Vec<_>>());
        mean(&(0..looks).map(at).collect::<Vec<_>>()) / self.mean_s().max(1e-6)
    }
}

/// What the queue does that these crowds meet.
pub(crate) fn discipline(crowds: &[Waits]) -> Discipline {
    let longer = median(crowds, |waits| waits.full_s() / waits.later_s().max(1e-6));
    let apart = median(crowds, Waits::apart);
    if longer < LONGER || apart > NO_QUEUE || median(crowds, Waits::mean_s) < FILLS_S {
        Discipline::DropTail
    } else if apart > APART {
        Discipline::FqCoDel
    } else if longer > LONGER_CODEL {
        Discipline::CoDel
    } else {
        Discipline::Red
    }
}

/// How long packets wait where it is full, seconds.
pub(crate) fn full_s(discipline: Discipline, crowds: &[Waits]) -> f64 {
    if discipline == Discipline::DropTail {
        median(crowds, Waits::later_s)
    } else {
        median(crowds, Waits::full_s)
    }
}

fn median(crowds: &[Waits], value: impl Fn(&Waits) -> f64) -> f64 {
    quantile(&crowds.iter().map(value).collect::<Vec<_>>(), 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crowd of four, by how long its flows wait in the beginning, later, and by how much they differ, milliseconds.
    fn crowd(beginning: f64, later: f64, apart: f64) -> Waits {
        let flow = |number: usize| -> Vec<f64> {
            let differs = if number % 2 == 0 { apart } else { -apart };
            (0..100).map(|look| (later * (0.8 + 0.002 * f64::from(look)) + differs) / 1e3).collect()
        };
        Waits { beginning: vec![vec![beginning / 1e3; 30]; 4], later: (0..4).map(flow).collect() }
    }

    /// What it does, and how long it is where it is full, milliseconds.
    fn of(crowd: Waits) -> (Discipline, u64) {
        let crowds = [crowd];
        let found = discipline(&crowds);
        (found, (1e3 * full_s(found, &crowds)).round() as u64)
    }

    #[test]
    fn a_queue_that_is_as_long_as_in_the_beginning_drops_what_does_not_fit() {
        assert_eq!(of(crowd(50.0, 50.0, 1.0)), (Discipline::DropTail, 50));
    }

    #[test]
    fn a_queue_that_becomes_shorter_drops_earlier() {
        assert_eq!(of(crowd(80.0, 50.0, 1.0)), (Discipline::Red, 80));
        assert_eq!(of(crowd(200.0, 20.0, 1.0)), (Discipline::CoDel, 200));
    }

    #[test]
    fn where_flows_wait_for_different_times_each_has_its_own_queue() {
        assert_eq!(of(crowd(200.0, 20.0, 8.0)).0, Discipline::FqCoDel);
    }

    #[test]
    fn where_they_differ_by_more_than_that_flows_hardly_have_a_queue() {
        assert_eq!(of(crowd(200.0, 20.0, 18.0)).0, Discipline::DropTail);
    }

    #[test]
    fn a_queue_that_hardly_stands_says_nothing() {
        assert_eq!(of(crowd(10.0, 1.0, 0.5)).0, Discipline::DropTail);
    }

    #[test]
    fn most_of_several_crowds_decide() {
        let crowds = [crowd(200.0, 20.0, 1.0), crowd(20.0, 20.0, 1.0), crowd(20.0, 20.0, 1.0)];
        assert_eq!(discipline(&crowds), Discipline::DropTail);
    }
}
