//! What a network may be within what was measured of it: drawn at random, for each seed another.
//!
//! A simulation without noise finds what holds for one network and not for the next that is like it: two flows in phase, a queue that is
//! a packet longer. And what a test cannot tell, such as the RTT of others, has to be anything that it may be.

use braid_scenario::Source;
use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, LogNormal, StandardUniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::measured::{Discipline, Measured, Path};

/// How many are drawn: as many as there are seeds at most.
pub(crate) const DRAWS: u64 = 40;
/// Standard deviations of what was measured, as a share of it.
const RATE: f64 = 0.03;
const RTT: f64 = 0.02;
const QUEUE: f64 = 0.1;
const LOSS: f64 = 0.3;
/// Web pages that come within a test load more or less than they do on average; so do those in the simulation, which are others.
const PAGES: f64 = 0.25;
/// The RTT of others: that of any of our paths there, half to twice of it, most of them.
const OTHERS_RTT: f64 = 0.5;
/// On so many of all networks packets come late, by one to five milliseconds, which is not measured: mobile networks do that.
const LATE: f64 = 0.1;
const LATE_US: [f64; 2] = [1000.0, 5000.0];

/// Of the queues that are told to drop early as RED does so many do it as `CoDel`, and the other way round
/// (`trials -- 20000..20399 running=test only=paths`).
const TAKEN_FOR_THE_OTHER: f64 = 0.33;

/// A network that is known, or all that it may be, for each seed another.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) may_be: Vec<Source>,
    pub(crate) begins_by_chance: bool,
}

impl Network {
    /// The connection begins by chance up to 20 s later than the file says, with each seed at another time, and ends as much later.
    /// How much it gets of what others have depends on what they are just doing, which is nothing that the network decides.
    #[must_use]
    pub fn beginning_by_chance(mut self) -> Self {
        self.begins_by_chance = true;
        self
    }
}

impl From<Source> for Network {
    fn from(known: Source) -> Self {
        vec![known].into()
    }
}

/// As many as it may be.
impl From<Vec<Source>> for Network {
    fn from(may_be: Vec<Source>) -> Self {
        Self { may_be, begins_by_chance: false }
    }
}

impl Measured {
    /// What it may be: of each of its [scenarios](Measured::scenarios) many that are like it. `name` is what messages call them.
    pub fn networks(&self, name: &str) -> Vec<Network> {
        Self::as_networks(&(0..DRAWS).map(|number| self.draw(number)).collect::<Vec<_>>(), name)
    }

    /// Draws of the same, as networks.
    pub(crate) fn as_networks(draws: &[Self], name: &str) -> Vec<Network> {
        let draws: Vec<Vec<Source>> = draws.iter().map(|draw| draw.scenarios(name)).collect();
        (0..draws[0].len())
            .map(|world| draws.iter().map(|draw| draw[world].clone()).collect::<Vec<_>>())
            .map(|may_be| Network::from(may_be).beginning_by_chance())
            .collect()
    }

    /// Becomes as that other draw of the same, at the bottleneck of the path at this place.
    pub(crate) fn take(&mut self, from: &Self, place: usize) {
        let groups = self.groups(false);
        for other in (0..groups.len()).filter(|&other| groups[other] == groups[place]) {
            self.paths[other].clone_from(&from.paths[other]);
        }
        for (ours, theirs) in self.together_bps.iter_mut().zip(&from.together_bps) {
            if groups[ours.0[0]] == groups[place] {
                ours.clone_from(theirs);
            }
        }
    }

    pub(crate) fn draw(&self, number: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(number);
        let mut drawn = self.clone();
        let groups = self.groups(false);
        let mut early = vec![0.0; groups.len()];
        for (place, path) in drawn.paths.iter_mut().enumerate() {
            if groups[place] != place {
                continue;
            }
            let rate = about(RATE, &mut random);
            let (carries, drops_early) = draw_others(path, &mut random);
            let rate = rate * carries;
            early[place] = drops_early;
            path.rate_bps *= rate;
            for (places, bps) in &mut drawn.together_bps {
                if groups[places[0]] == place {
                    *bps *= rate;
                }
            }
        }
        for (place, path) in drawn.paths.iter_mut().enumerate() {
            path.others_rtt *= self.any_rtt(&groups, place, &mut random);
        }
        // All by the same: which path is shorter is known.
        let rtt = about(RTT, &mut random);
        let jitter_us = draw_jitter(&mut random);
        for place in (0..groups.len()).filter(|&place| groups[place] == place) {
            let discipline = draw_discipline(self.paths[place].discipline, early[place], &mut random);
            let there = drawn.paths.iter_mut().zip(&groups).filter(|(_, group)| **group == place);
            there.for_each(|(path, _)| path.take_discipline(discipline));
        }
        for path in &mut drawn.paths {
            path.rtt_s *= rtt;
            path.jitter_us = jitter_us.unwrap_or(path.jitter_us);
            path.queue_s *= about(QUEUE, &mut random);
            path.loss *= about(LOSS, &mut random);
            path.others_rtt *= about(OTHERS_RTT, &mut random);
        }
        drawn
    }

    /// The RTT of any path that has the bottleneck of this one, against the shortest there: others come through the same bottleneck from as
    /// near and far as we do.
    fn any_rtt(&self, groups: &[usize], place: usize, random: &mut Xoshiro256PlusPlus) -> f64 {
        let there = self.paths.iter().zip(groups).filter(|(_, group)| **group == groups[place]);
        let rtts: Vec<f64> = there.map(|(path, _)| path.rtt_s).collect();
        let shortest = rtts.iter().copied().fold(f64::INFINITY, f64::min);
        let which: f64 = StandardUniform.sample(random);
        rtts[(which * rtts.len() as f64) as usize] / shortest
    }
}

impl Path {
    /// Its queue does this. If it drops early though it was told not to, it is longer than it was thought, and what it drops was taken for
    /// losses at random.
    fn take_discipline(&mut self, discipline: Discipline) {
        if self.discipline == Discipline::DropTail && discipline != Discipline::DropTail {
            self.queue_s = self.early_queue_s;
            self.loss = 0.0;
        }
        self.discipline = discipline;
    }
}

/// Who is there. What the bottleneck carries then, of what it is thought to, and how likely its queue drops early though it is told not to.
fn draw_others(path: &mut Path, random: &mut Xoshiro256PlusPlus) -> (f64, f64) {
    let Ok(which) = WeightedIndex::new(path.may_be.iter().map(|one| one.weight)) else { return (1.0, 0.0) };
    let one = path.may_be[which.sample(random)];
    path.others = one.others;
    path.others.pages_bps = path.others.pages_bps.map(|bps| (bps as f64 * about(PAGES, random)) as u64);
    let [least, most] = one.room.map(f64::ln);
    let between: f64 = StandardUniform.sample(random);
    ((least + (most - least) * between).exp() / path.may_be[0].middle(), one.early)
}

/// How late packets come, where they do.
fn draw_jitter(random: &mut Xoshiro256PlusPlus) -> Option<u32> {
    let (is, much): (f64, f64) = (StandardUniform.sample(random), StandardUniform.sample(random));
    let [least, most] = LATE_US;
    (is < LATE).then(|| (least * (most / least).powf(much)) as u32)
}

/// What a queue does that is told to do this, or so likely drops early.
fn draw_discipline(told: Discipline, early: f64, random: &mut Xoshiro256PlusPlus) -> Discipline {
    let is: f64 = StandardUniform.sample(random);
    match told {
        Discipline::Red if is < TAKEN_FOR_THE_OTHER => Discipline::CoDel,
        Discipline::CoDel if is < TAKEN_FOR_THE_OTHER => Discipline::Red,
        Discipline::DropTail if is < 0.5 * early => Discipline::Red,
        Discipline::DropTail if is < early => Discipline::CoDel,
        told => told,
    }
}

/// A factor about 1.
fn about(deviation: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    LogNormal::new(0.0, deviation).expect("a deviation is positive").sample(random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{JITTER_US, MayBe, Others, Pair, Sharing};

    fn two(sharing: Sharing) -> Measured {
        let may_be = vec![
            MayBe { others: Others::cubic(1), weight: 3.0, room: [1.05; 2], early: 0.0 },
            MayBe { others: Others::bbr(), weight: 1.0, room: [1.1, 7.0], early: 0.0 },
        ];
        let path = |name: &str| Path {
            name: name.into(),
            rate_bps: 20e6,
            rtt_s: 0.02,
            queue_s: 0.05,
            early_queue_s: 0.05,
            loss: 0.0,
            discipline: Discipline::DropTail,
            others: Others::cubic(1),
            others_rtt: 1.0,
            moves: None,
            jitter_us: JITTER_US,
            single: None,
            may_be: may_be.clone(),
        };
        let pairs = vec![Pair { one: 0, other: 1, sharing }];
        Measured {
            paths: vec![path("wifi"), path("lte")],
            pairs,
            together_bps: vec![(vec![0, 1], 20e6)],
            crowds: Vec::new(),
        }
    }

    #[test]
    fn the_same_number_is_the_same_network_and_another_one_another() {
        let measured = two(Sharing::Own);
        assert_eq!(measured.draw(7), measured.draw(7));
        assert_ne!(measured.draw(7), measured.draw(8));
    }

    #[test]
    fn each_is_near_what_was_measured() {
        for number in 0..DRAWS {
            let path = &two(Sharing::Own).draw(number).paths[0];
            assert!((path.rtt_s / 0.02 - 1.0).abs() < 0.1, "{path:?}");
            assert!((path.queue_s / 0.05 - 1.0).abs() < 0.5, "{path:?}");
            let most = if path.others.is_bbr() { 7.0 } else { 1.05 };
            assert!((0.85..1.15 * most).contains(&(path.rate_bps / 20e6)), "{path:?}");
            assert!((0.1..10.0).contains(&path.others_rtt), "{path:?}");
        }
    }

    #[test]
    fn others_come_from_as_far_as_any_of_our_paths_there() {
        let others_rtt_s = |sharing| {
            let mut measured = two(sharing);
            measured.paths[1].rtt_s = 0.2;
            let mut drawn: Vec<f64> =
                (0..400).map(|number| measured.draw(number).paths[0].others_rtt).collect();
            drawn.sort_by(f64::total_cmp);
            [drawn[100] * 0.02, drawn[300] * 0.02]
        };
        let [near, far] = others_rtt_s(Sharing::Shared);
        assert!((0.01..0.04).contains(&near) && (0.1..0.4).contains(&far), "{near} and {far} s");
        let [least, most] = others_rtt_s(Sharing::Own);
        assert!((0.01..0.02).contains(&least) && (0.02..0.04).contains(&most), "{least} to {most} s");
    }

    #[test]
    fn who_is_likely_is_there_often() {
        let with_bbr =
            (0..400).filter(|&number| two(Sharing::Own).draw(number).paths[0].others.is_bbr()).count();
        assert!((70..130).contains(&with_bbr), "{with_bbr} of 400, a quarter expected");
    }

    #[test]
    fn a_queue_that_drops_early_is_drawn_as_red_or_as_codel_for_all_paths_there() {
        let with_codel = |told: Discipline| {
            let mut measured = two(Sharing::Shared);
            measured.paths.iter_mut().for_each(|path| path.discipline = told);
            let drawn = (0..400).map(|number| measured.draw(number).paths);
            drawn
                .filter(|paths| {
                    assert_eq!(paths[0].discipline, paths[1].discipline);
                    paths[0].discipline == Discipline::CoDel
                })
                .count()
        };
        assert!((100..165).contains(&with_codel(Discipline::Red)), "a third of 400 expected");
        assert!((235..300).contains(&with_codel(Discipline::CoDel)), "two thirds of 400 expected");
        assert_eq!(with_codel(Discipline::DropTail), 0);
    }

    #[test]
    fn what_drops_early_though_it_is_told_not_to_has_a_longer_queue_and_no_losses_at_random() {
        let mut measured = two(Sharing::Own);
        for path in &mut measured.paths {
            (path.loss, path.early_queue_s) = (0.01, 0.2);
            path.may_be.iter_mut().filter(|one| one.others.is_bbr()).for_each(|one| one.early = 1.0);
        }
        for number in 0..DRAWS {
            let path = &measured.draw(number).paths[0];
            let early = path.discipline != Discipline::DropTail;
            assert_eq!(early, path.others.is_bbr());
            assert_eq!([early; 2], [path.loss == 0.0, path.queue_s > 0.1], "{path:?}");
        }
    }

    #[test]
    fn a_bottleneck_that_two_paths_share_is_drawn_once() {
        let drawn = two(Sharing::Shared).draw(3);
        assert!((drawn.together_bps[0].1 / drawn.paths[0].rate_bps - 1.0).abs() < 1e-9, "{drawn:?}");
    }

    #[test]
    fn what_may_be_one_network_or_another_is_two_of_as_many() {
        let counts = |sharing| {
            two(sharing).networks("here").iter().map(|network| network.may_be.len()).collect::<Vec<_>>()
        };
        assert_eq!(counts(Sharing::Shared), [40]);
        assert_eq!(counts(Sharing::Unknown), [40, 40]);
    }
}
