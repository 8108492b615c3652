//! Who else sends at a bottleneck, by what a test shows of it: all that it may be, each with how likely it is.
//!
//! Nobody, so many CUBIC or Reno flows, a BBR flow, or web pages. How much values scatter is from the bottlenecks of `case/5100` to 5299,
//! beside pages of `case/5000` to 5299.

use crate::measured::{Discipline, MayBe, Others};

/// A single flow loses more than this share of what it loses at random: that holds it down, and not others.
const HELD_DOWN: f64 = 0.7;
/// Others keep a little of a bottleneck even where a crowd carries most: the median over the bottlenecks of `case/5000` to 5099.
const ROOM: f64 = 1.05;
/// Instead of losses at random it may be a BBR flow that holds a single flow down, where a queue drops early: so seldom, for once that nobody
/// does (one of 19 bottlenecks of `case/5000` to 5299 but traces and those that change).
const SELDOM_BBR: f64 = 0.06;
/// So likely a queue beside BBR drops early though it is told not to, without losses at random and with (4 of 62 there, 3 of 8): with more of them
/// than this, of what a single flow loses.
const EARLY_BBR: [f64; 2] = [0.07, 0.4];
const AT_RANDOM: f64 = 0.1;
/// Beside one BBR a crowd may carry all but a tenth, or a seventh of it.
const ROOM_BBR: [f64; 2] = [1.1, 7.0];
/// How usual they are, for one CUBIC: BBR by the census of 2019 (on 22 % of web sites; CUBIC on 36 %), Reno and pages are assumed.
const USUAL_BBR: f64 = 0.6;
const USUAL_RENO: f64 = 0.35;
const USUAL_PAGES: f64 = 1.0;
/// Web pages load so many bits per second, any of these as likely, within these shares of a bottleneck. Those that load less are as good as
/// nobody.
const PAGES_BPS: [u64; 5] = [300_000, 600_000, 1_200_000, 2_400_000, 4_800_000];
const LOAD: [f64; 2] = [0.03, 1.0];
/// A crowd never finds a bottleneck quite without them, by so much of their load.
const ROOM_PAGES: f64 = 0.2;
/// Reno takes so much of the share of a CUBIC flow, in the median.
const SHARE_RENO: f64 = 0.8;
/// No more flows of others are looked for.
const MOST_OTHERS: usize = 16;
/// What is less likely, of all that may be, is not thought of.
const UNLIKELY: f64 = 0.02;

/// How much less a single flow has than a crowd carries, by its logarithm: where nobody else is, nothing, but by chance; beside CUBIC flows
/// its share, by a factor; beside BBR anything.
const LESS_NOBODY: [Scatter; 2] = [scatter(0.95, 0.05, 0.05), scatter(0.05, 0.05, 0.4)];
const LESS_CUBIC: f64 = 0.25;
const LESS_RENO: f64 = 0.35;
const LESS_EQUAL: f64 = 0.12;
const LESS_BBR: [Scatter; 1] = [scatter(1.0, 1.5, 0.65)];
/// Where losses at random hold it down a single flow has anything, too, and the rate of a crowd that they hold down as well varies by a tenth.
const LESS_HELD_DOWN: [Scatter; 1] = [scatter(1.0, 1.8, 0.9)];
const VARIES_HELD_DOWN: [Scatter; 2] = [scatter(0.3, -6.3, 0.5), scatter(0.7, -2.3, 0.4)];
/// How much the rate of a crowd varies, of its mean, by its logarithm: where nobody else is, hardly; beside others a thirtieth, or a tenth if
/// there are web pages, too, and now and then less; beside BBR, that probes, a sixth.
const VARIES_NOBODY: [Scatter; 2] = [scatter(0.6, -6.9, 0.8), scatter(0.4, -3.8, 1.0)];
const VARIES: [Scatter; 3] = [scatter(0.65, -3.4, 0.7), scatter(0.3, -2.3, 0.7), scatter(0.05, -5.5, 1.5)];
const VARIES_BBR: [Scatter; 1] = [scatter(1.0, -1.8, 0.75)];

/// Beside web pages of this load a single flow has what they leave, and less: they come in slow start, and it backs off.
fn less_beside_pages(load: f64) -> Scatter {
    let less = -1.4 * (1.0 - load.min(0.85)).ln();
    scatter(1.0, less, 0.05 + 0.25 * less)
}

/// The rate of a crowd varies by two thirds of their load, or a fifth if that is much.
fn varies_beside_pages(load: f64) -> Scatter {
    scatter(1.0, (load.ln() - 0.35).min(-1.6), 0.4)
}

/// What a test shows of a bottleneck.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shows {
    /// Flows of a crowd.
    pub(crate) crowd: usize,
    /// What a single flow carries there, where no other of ours is, on average; bits per second.
    pub(crate) single_bps: f64,
    /// Of what a single flow loses, the share that it loses at random.
    pub(crate) at_random: f64,
    /// The most that a crowd carries, bits per second.
    pub(crate) crowd_bps: f64,
    /// How much the rate of a crowd varies: its standard deviation, of its mean.
    pub(crate) varies: f64,
}

impl Shows {
    /// Who may be there, the most likely first.
    pub(crate) fn others(&self, discipline: Discipline) -> Vec<MayBe> {
        if discipline == Discipline::FqCoDel {
            return likeliest(self.of_equal_shares());
        }
        let nobody = |weight| may_be(Others::cubic(0), weight, 1.0);
        let less = (ROOM * self.crowd_bps / self.single_bps.max(1.0)).ln();
        let varies = self.varies.max(1e-3).ln();
        let bbr = |usual: f64, early| MayBe {
            others: Others::bbr(),
            weight: usual * likely(&VARIES_BBR, varies) * likely(&LESS_BBR, less),
            room: ROOM_BBR,
            early,
        };
        if self.at_random > HELD_DOWN {
            let held_down = likely(&VARIES_HELD_DOWN, varies) * likely(&LESS_HELD_DOWN, less);
            return likeliest(vec![nobody(held_down), bbr(SELDOM_BBR, 1.0)]);
        }
        let steady = likely(&VARIES, varies);
        let several = |of: fn(usize) -> Others, usual: f64, share: f64, deviation: f64| {
            (1..=MOST_OTHERS).map(move |flows| {
                let has = scatter(1.0, (1.0 + share * flows as f64).ln(), deviation);
                // The more, the rarer.
                let weight = usual * steady * likely(&[has], less) / (flows * flows) as f64;
                may_be(of(flows), weight, ROOM)
            })
        };
        let pages = |bps: u64| {
            let load = bps as f64 / self.crowd_bps.max(1.0);
            let shows =
                likely(&[less_beside_pages(load)], less) * likely(&[varies_beside_pages(load)], varies);
            let weight = USUAL_PAGES / PAGES_BPS.len() as f64 * shows;
            let is = (LOAD[0]..LOAD[1]).contains(&load);
            is.then(|| may_be(Others::pages(bps), weight, 1.0 + ROOM_PAGES * load))
        };
        let early = EARLY_BBR[usize::from(self.at_random > AT_RANDOM)];
        let mut all =
            vec![nobody(likely(&VARIES_NOBODY, varies) * likely(&LESS_NOBODY, less)), bbr(USUAL_BBR, early)];
        all.extend(PAGES_BPS.into_iter().filter_map(pages));
        all.extend(several(Others::cubic, 1.0, 1.0, LESS_CUBIC));
        all.extend(several(Others::reno, USUAL_RENO, SHARE_RENO, LESS_RENO));
        likeliest(all)
    }

    /// Where all flows have the same share, whatever their algorithm is: of a crowd and k others it has its part of all.
    fn of_equal_shares(&self) -> Vec<MayBe> {
        let less = (self.crowd_bps / self.single_bps.max(1.0)).ln();
        let crowd = self.crowd as f64;
        let with = |flows: usize| {
            let room = (crowd + flows as f64) / crowd;
            let has = scatter(1.0, ((1 + flows) as f64 / room).ln(), LESS_EQUAL);
            let weight = likely(&[has], less) / (flows.max(1) * flows.max(1)) as f64;
            may_be(Others::cubic(flows), weight, room)
        };
        (0..=MOST_OTHERS).map(with).collect()
    }
}

/// They, how likely they are, and what the bottleneck carries then, of what a crowd does.
fn may_be(others: Others, weight: f64, room: f64) -> MayBe {
    MayBe { others, weight, room: [room; 2], early: 0.0 }
}

/// Those that are not unlikely, the most likely first.
fn likeliest(mut all: Vec<MayBe>) -> Vec<MayBe> {
    let sum: f64 = all.iter().map(|one| one.weight).sum();
    all.retain(|one| one.weight >= UNLIKELY * sum);
    all.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    all
}

/// One of the ways in which a value scatters.
#[derive(Clone, Copy)]
struct Scatter {
    /// Of all of them.
    share: f64,
    mean: f64,
    deviation: f64,
}

const fn scatter(share: f64, mean: f64, deviation: f64) -> Scatter {
    Scatter { share, mean, deviation }
}

/// How likely a value is, against other values.
fn likely(scatters: &[Scatter], value: f64) -> f64 {
    let of = |one: &Scatter| {
        one.share * (-0.5 * ((value - one.mean) / one.deviation).powi(2)).exp() / one.deviation
    };
    scatters.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most_likely(single_mbit: f64, crowd_mbit: f64, varies: f64) -> Others {
        let shows = Shows {
            crowd: 8,
            single_bps: single_mbit * 1e6,
            at_random: 0.0,
            crowd_bps: crowd_mbit * 1e6,
            varies,
        };
        shows.others(Discipline::DropTail)[0].others
    }

    #[test]
    fn a_single_flow_that_has_as_much_as_a_crowd_is_alone() {
        assert_eq!(most_likely(20.0, 20.0, 0.03), Others::cubic(0));
    }

    #[test]
    fn a_single_flow_has_its_share_beside_cubic() {
        assert_eq!(most_likely(10.0, 19.0, 0.03), Others::cubic(1));
        assert_eq!(most_likely(3.5, 19.0, 0.03), Others::cubic(4));
    }

    #[test]
    fn a_rate_that_varies_is_that_beside_bbr() {
        assert_eq!(most_likely(2.0, 9.0, 0.2), Others::bbr());
    }

    #[test]
    fn a_rate_that_varies_by_a_part_of_what_a_single_flow_lacks_is_that_beside_web_pages() {
        assert_eq!(most_likely(8.4, 10.0, 0.08), Others::pages(1_200_000));
        assert_eq!(most_likely(97.0, 100.0, 0.001), Others::cubic(0), "so few pages are as nobody");
    }

    #[test]
    fn who_is_held_down_by_random_loss_is_alone_or_beside_bbr_where_a_queue_drops_early() {
        let shows = |varies| Shows { crowd: 8, single_bps: 2e6, at_random: 0.8, crowd_bps: 9e6, varies };
        let [alone] = shows(0.002).others(Discipline::DropTail)[..] else {
            panic!("who else holds it down?")
        };
        assert_eq!(alone.others, Others::cubic(0));
        let [alone, beside] = shows(0.2).others(Discipline::DropTail)[..] else { panic!("both may be") };
        assert_eq!((alone.others, beside.others), (Others::cubic(0), Others::bbr()));
        assert!((beside.early - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_between_one_and_two_may_be_either() {
        let shows = Shows { crowd: 8, single_bps: 8e6, at_random: 0.0, crowd_bps: 19e6, varies: 0.03 };
        let flows: Vec<usize> =
            shows.others(Discipline::DropTail).iter().map(|one| one.others.flows).collect();
        assert!(flows.contains(&1) && flows.contains(&2), "{flows:?}");
        assert!(!flows.contains(&0) && !flows.contains(&6), "{flows:?}");
    }

    #[test]
    fn where_all_have_the_same_share_what_others_have_is_known() {
        // Of 20 Mbit/s a crowd has 8 of 10 parts beside two others, and one flow a third.
        let shows = Shows { crowd: 8, single_bps: 20e6 / 3.0, at_random: 0.0, crowd_bps: 16e6, varies: 0.03 };
        let [first, ..] = shows.others(Discipline::FqCoDel)[..] else { panic!("at least one") };
        assert_eq!(first.others, Others::cubic(2));
        assert!((first.middle() * 16e6 / 20e6 - 1.0).abs() < 1e-9, "{first:?}");
    }
}
