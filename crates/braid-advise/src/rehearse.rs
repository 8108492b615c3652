//! The test once more, simulated in all that a network may be: what is like the test is more likely.
//!
//! Of all that is drawn about what was measured, a test shows least of what matters most: how a flow of ours does beside those of others,
//! whose number, algorithm and RTT are hardly known. But it shows what a single flow had, and a crowd. A network in which one has twice as much is not
//! the one that was tested (approximate Bayesian computation).

use std::ops::Range;

use braid_algorithms::Spec;
use braid_results::measure::{Measurements, SubflowCounts, SubflowSample};
use braid_scenario::load;
use braid_scenario::model::{Connection, Kind as Of, Reroute, Scenario, Traffic};
use braid_study::{Cancel, Error, Event, Kind, Planned, Study};

use crate::draw::{DRAWS, Network};
use crate::estimate::{Look, Seen};
use crate::measured::{Had, Measured, PACKET};
use crate::probe::{BEGINNING_S, PAUSE_S, PHASE_S, Phase};

/// So many are drawn at a time, until enough are like the test, or so many in all.
const BATCH: u64 = 96;
const MOST: u64 = 1536;
/// And as long as so many packets are.
const PACKETS: f64 = 2e8;
/// What a single flow has in a phase is by chance more or less: the standard deviation of its logarithm between runs of one network, 0.10
/// beside one CUBIC flow, 0.15 and 0.17 beside two CUBIC or Reno flows, 0.17 beside BBR.
const CHANCE: f64 = 0.15;
/// The same of how long its packets wait: below this of four fifths of all flows beside CUBIC, Reno or BBR, and 0.3 beside nobody or web pages
/// (`trials -- 5100..5139 only=scatter`).
const CHANCE_WAIT: f64 = 0.2;
/// So many have to be like the test, by the effective size of a weighted sample (Kish). Where fewer are, chance is taken for greater.
const FEWEST: f64 = 40.0;
const GREATER: f64 = 1.2;
/// Draws that are chosen more than once come so far apart; it has no divisor in common with how many there are.
const STRIDE: usize = 7;
/// Others are there so long before, seconds.
const BEFORE_S: f64 = 10.0;
const NS: f64 = 1e9;

impl Measured {
    /// What it may be, as [`Measured::networks`] has it, and what is like the test more often. `tell` hears how many are simulated, and of how
    /// many at most.
    ///
    /// # Errors
    /// If a run fails or is cancelled.
    pub fn rehearsed(
        &self,
        name: &str,
        cancel: &Cancel,
        mut tell: impl FnMut(usize, usize),
    ) -> Result<Vec<Network>, Error> {
        let bottlenecks: Vec<Vec<usize>> =
            self.bottlenecks().into_iter().filter(|it| !it.is_empty()).collect();
        let total = bottlenecks.len() * MOST as usize;
        let mut draws: Vec<Self> = (0..DRAWS).map(|number| self.draw(number)).collect();
        for (turn, members) in bottlenecks.iter().enumerate() {
            let (mut drawn, mut far): (Vec<Self>, Vec<f64>) = (Vec::new(), Vec::new());
            while (drawn.len() as u64) < self.most(members, bottlenecks.len())
                && effective(&weights(&far, CHANCE)) < FEWEST
            {
                let first = drawn.len() as u64;
                let batch: Vec<Self> = (first..first + BATCH).map(|number| self.draw(number)).collect();
                let before = turn * MOST as usize + drawn.len();
                let done = |done| tell(before + done, total);
                far.extend(self.far(&batch, members, name, cancel, done)?);
                drawn.extend(batch);
            }
            tell((turn + 1) * MOST as usize, total);
            for (draw, which) in draws.iter_mut().zip(choose(&far, DRAWS as usize)) {
                draw.take(&drawn[which], members[0]);
            }
        }
        Ok(Self::as_networks(&draws, name))
    }

    /// So many draws of this bottleneck are simulated at most, of so many bottlenecks.
    fn most(&self, members: &[usize], bottlenecks: usize) -> u64 {
        let packets = self.together(members) / 8.0 / PACKET * begin_s(self.phases(members).len());
        let most = (PACKETS / bottlenecks as f64 / packets) as u64;
        most.clamp(BATCH, MOST).next_multiple_of(BATCH)
    }

    /// Of each bottleneck where others may be, the paths that have it and stay there, and of which it is known what a single flow has.
    fn bottlenecks(&self) -> Vec<Vec<usize>> {
        let groups = self.groups(false);
        let tells = |place: usize| self.paths[place].single.is_some() && self.paths[place].moves.is_none();
        let members = |first: usize| {
            let may_be_others = self.paths[first].may_be.iter().any(|one| one.others.flows > 0);
            (0..groups.len())
                .filter(|&place| may_be_others && groups[place] == first && tells(place))
                .collect()
        };
        (0..groups.len()).map(members).collect()
    }

    /// What is simulated of the test at the bottleneck of these paths: each path alone, and a crowd.
    fn phases(&self, members: &[usize]) -> Vec<Vec<usize>> {
        let alone = members.iter().map(|&place| vec![place]);
        alone.chain(self.crowd(members).map(|(flows, _)| flows.clone())).collect()
    }

    /// The crowd at the bottleneck of these paths.
    fn crowd(&self, members: &[usize]) -> Option<&(Vec<usize>, Had)> {
        let groups = self.groups(false);
        self.crowds.iter().find(|(flows, _)| groups[flows[0]] == groups[members[0]])
    }

    /// How far each of these is from the test at the bottleneck of these paths: the sum over the single flows and the crowd.
    fn far(
        &self,
        drawn: &[Self],
        members: &[usize],
        name: &str,
        cancel: &Cancel,
        mut done: impl FnMut(usize),
    ) -> Result<Vec<f64>, Error> {
        let phases = self.phases(members);
        let had: Vec<Had> = members
            .iter()
            .map(|&place| self.paths[place].single.expect("all members tell"))
            .chain(self.crowd(members).map(|(_, had)| *had))
            .collect();
        let cubic = Spec::parse("cubic").expect("it comes with Braid");
        let mut study = Study::new(Vec::<String>::new()).seeds(1);
        for one in drawn {
            let mut file = load(&one.scenarios(name)[0], &[])?;
            file.cells = vec![play(&alone(&file.cells[0], members[0]), &phases)];
            study = study.planned(Planned { file, specs: vec![cubic.clone()] });
        }
        let mut count = 0;
        let results = study.check()?.execution().samples().cancel(cancel).collect_with(|event| {
            if let Event::Finished(_) = event {
                count += 1;
                done(count);
            }
        })?;
        let far = |(measured, run): (&Option<Measurements>, &braid_results::Run)| {
            let message = || Error::new(Kind::Failed, format!("a run failed: {}", run.status));
            let seen = seen(measured.as_ref().ok_or_else(message)?, &phases);
            Ok(seen.iter().zip(&had).map(|(phase, had)| apart(phase.had_within(had.time_s), *had)).sum())
        };
        results.measurements().iter().zip(results.runs()).map(far).collect()
    }
}

/// How far a single flow or a crowd is from another: the sum of the squares of how much what they have differs, and how long their packets wait, by
/// logarithms. What chance makes of either counts the same: the square of `CHANCE`.
fn apart(one: Had, other: Had) -> f64 {
    let has = (one.bps.max(1.0) / other.bps.max(1.0)).ln();
    let waits = (one.waits_s() / other.waits_s()).ln();
    has.powi(2) + (CHANCE / CHANCE_WAIT * waits).powi(2)
}

/// How much each counts that is so far from the test, where the nearest counts 1.
fn weights(far: &[f64], chance: f64) -> Vec<f64> {
    let nearest = far.iter().copied().fold(f64::INFINITY, f64::min);
    far.iter().map(|far| (-0.5 * (far - nearest) / (chance * chance)).exp()).collect()
}

/// Of how many that count the same a mean would be as certain.
fn effective(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    sum * sum / weights.iter().map(|weight| weight * weight).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// The places of so many, each as often as it is likely (systematic resampling), in an order in which the first of them are of all kinds.
fn choose(far: &[f64], count: usize) -> Vec<usize> {
    let mut chance = CHANCE;
    while effective(&weights(far, chance)) < FEWEST.min(far.len() as f64 / 2.0) {
        chance *= GREATER;
    }
    let weights = weights(far, chance);
    let each = weights.iter().sum::<f64>() / count as f64;
    let mut chosen = Vec::new();
    let mut sum = 0.0;
    for (place, weight) in weights.iter().enumerate() {
        sum += weight;
        while chosen.len() < count && (chosen.len() as f64 + 0.5) * each <= sum {
            chosen.push(place);
        }
    }
    (0..count).map(|turn| chosen[turn * STRIDE % count]).collect()
}

/// Of the others those alone that have the bottleneck of the path at this place.
fn alone(cell: &Scenario, place: usize) -> Scenario {
    let bottleneck = |connection: usize, subflow: usize| {
        cell.bottleneck(&cell.connections[connection].subflows[subflow].route)
    };
    let there = |&connection: &usize| connection == 0 || bottleneck(connection, 0) == bottleneck(0, place);
    let connections = (0..cell.connections.len()).filter(there).map(|place| cell.connections[place].clone());
    Scenario { connections: connections.collect(), ..cell.clone() }
}

fn begin_s(phase: usize) -> f64 {
    BEFORE_S + phase as f64 * (PHASE_S + PAUSE_S)
}

/// The network with the TCP flows of each phase in place of its first connection, after all others. Others are there before.
pub fn play(cell: &Scenario, phases: &[Vec<usize>]) -> Scenario {
    let ns = |s: f64| (s * NS) as u64;
    let mut cell = cell.clone();
    let asked = cell.connections.remove(0);
    cell.duration_ns = ns(begin_s(phases.len()));
    cell.warmup_ns = 0;
    for (number, phase) in phases.iter().enumerate() {
        for (flow, &place) in phase.iter().enumerate() {
            let mut subflow = asked.subflows[place].clone();
            subflow.join_delay_ns = None;
            go_on(&mut subflow.reroutes, cell.duration_ns);
            cell.connections.push(Connection {
                name: format!("test-{}-{}", number + 1, flow + 1),
                kind: Of::Tcp,
                cc: Some("cubic".to_owned()),
                scheduler: None,
                traffic: Traffic::Bulk,
                start_ns: ns(begin_s(number)),
                stop_ns: Some(ns(begin_s(number) + PHASE_S)),
                subflows: vec![subflow],
                ..asked.clone()
            });
        }
    }
    cell
}

/// A path that changes its bottleneck goes on with it as long as the test lasts.
fn go_on(changes: &mut Vec<Reroute>, until_ns: u64) {
    while let [.., other, last] = &changes[..] {
        let at_ns = 2 * last.at_ns - other.at_ns;
        if at_ns >= until_ns {
            break;
        }
        let next = Reroute { at_ns, ..other.clone() };
        changes.push(next);
    }
}

/// What a test shows that was [played](play).
pub fn seen(measured: &Measurements, phases: &[Vec<usize>]) -> Vec<Phase> {
    let flows: usize = phases.iter().map(Vec::len).sum();
    let mut first = measured.connections.len() - flows;
    let mut seen = Vec::new();
    for (number, flows) in phases.iter().enumerate() {
        let connections = &measured.connections[first..first + flows.len()];
        let subflows: Vec<&SubflowCounts> = connections.iter().map(|one| &one.subflows[0]).collect();
        let begin_s = begin_s(number);
        let end_s = begin_s + PHASE_S - 0.05;
        let within = |range: Range<f64>, all: &[Look]| -> Vec<Look> {
            all.iter().filter(|look| range.contains(&look.at_s)).cloned().collect()
        };
        let all = looks(&subflows);
        seen.push(Phase {
            flows: flows.clone(),
            beginning: within(begin_s..begin_s + BEGINNING_S, &all),
            looks: within(begin_s + BEGINNING_S..end_s, &all),
        });
        first += flows.len();
    }
    seen
}

/// Samples of subflows, as their sockets would tell them.
pub fn looks(subflows: &[&SubflowCounts]) -> Vec<Look> {
    let times = subflows.iter().map(|subflow| subflow.samples.len()).max().unwrap_or_default();
    let mut looks = Vec::new();
    // Samples of all subflows end at the same time.
    for back in (0..times).rev() {
        // None before it is established.
        let samples: Vec<Option<&SubflowSample>> = subflows
            .iter()
            .map(|one| one.samples.len().checked_sub(1 + back).map(|place| &one.samples[place]))
            .collect();
        let seconds = |us: Option<u32>| f64::from(us.unwrap_or_default()) / 1e6;
        let seen = |sample: Option<&SubflowSample>| {
            sample.map_or_else(Seen::default, |sample| Seen {
                bytes: sample.received_bytes,
                retransmissions: sample.retransmissions,
                srtt_s: seconds(sample.srtt_us),
                min_rtt_s: seconds(sample.min_rtt_us),
                group: sample.group,
            })
        };
        let Some(first) = samples.iter().flatten().next() else { continue };
        let at_s = first.time_ns as f64 / 1e9;
        looks.push(Look { at_s, subflows: samples.into_iter().map(seen).collect() });
    }
    looks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::measured::{Discipline, Had, JITTER_US, MayBe, Others, Path};

    /// One path of 20 Mbit/s, beside one CUBIC flow or five, of which a single flow had so much.
    fn beside_one_or_five(single_mbit: f64) -> Measured {
        let may_be = [1, 5].map(|flows| MayBe {
            others: Others::cubic(flows),
            weight: 1.0,
            room: [1.05; 2],
            early: 0.0,
        });
        let path = Path {
            name: "p1".into(),
            rate_bps: 20e6,
            rtt_s: 0.03,
            queue_s: 0.03,
            early_queue_s: 0.03,
            loss: 0.0,
            discipline: Discipline::DropTail,
            others: Others::cubic(1),
            others_rtt: 1.0,
            jitter_us: JITTER_US,
            moves: None,
            single: Some(Had { bps: single_mbit * 1e6, time_s: 11.9, wait_s: 0.02 }),
            may_be: may_be.into(),
        };
        Measured { paths: vec![path], pairs: Vec::new(), together_bps: Vec::new(), crowds: Vec::new() }
    }

    /// In how many of its networks one other flow is, and in how many there are five.
    fn others(networks: &[Network]) -> [usize; 2] {
        [1, 5].map(|flows| {
            let has =
                |source: &&braid_scenario::Source| source.text.matches("[connection.other-").count() == flows;
            networks[0].may_be.iter().filter(has).count()
        })
    }

    #[test]
    fn what_a_single_flow_had_says_who_else_is_there() {
        let rehearsed = |single_mbit| {
            beside_one_or_five(single_mbit).rehearsed("here", &Cancel::new(), |_, _| ()).unwrap()
        };
        let [one, five] = others(&rehearsed(9.0));
        assert!(one > 4 * five, "{one} and {five}");
        let [one, five] = others(&rehearsed(3.0));
        assert!(five > 4 * one, "{one} and {five}");
        let [one, five] = others(&beside_one_or_five(3.0).networks("here"));
        assert!(one > 10 && five > 10, "without it both are as likely: {one} and {five}");
    }

    #[test]
    fn what_a_crowd_had_says_how_much_there_is_beside_bbr() {
        // What a crowd leaves to BBR may be much or little.
        let mut measured = beside_one_or_five(3.0);
        measured.paths[0].rate_bps = 4e6;
        measured.paths[0].single = Some(Had { bps: 0.5e6, time_s: 11.9, wait_s: 0.02 });
        measured.paths[0].may_be =
            vec![MayBe { others: Others::bbr(), weight: 1.0, room: [1.1, 7.0], early: 0.0 }];
        let mean_bps = |crowd_mbit: f64| {
            let mut measured = measured.clone();
            measured.crowds = vec![(vec![0; 8], Had { bps: crowd_mbit * 1e6, time_s: 11.9, wait_s: 0.02 })];
            let networks = measured.rehearsed("here", &Cancel::new(), |_, _| ()).unwrap();
            let rate_bps = |source: &braid_scenario::Source| {
                let cell = load(source, &[]).unwrap().cells.remove(0);
                let bottleneck = cell.bottleneck(&cell.connections[0].subflows[0].route);
                cell.links[bottleneck].forward.rate_bps as f64
            };
            let rates: Vec<f64> = networks[0].may_be.iter().map(rate_bps).collect();
            crate::estimate::mean(&rates)
        };
        let [less, more] = [1.0, 4.0].map(mean_bps);
        assert!(more > 1.05 * less, "{less} {more}");
    }

    #[test]
    fn flows_are_apart_by_what_they_have_and_by_how_long_they_wait() {
        let single = |mbit: f64, wait_ms: f64| Had { bps: mbit * 1e6, time_s: 12.0, wait_s: wait_ms / 1e3 };
        let is_apart = |one: Had| apart(one, single(9.0, 20.0)) / (CHANCE * CHANCE);
        assert!(is_apart(single(9.0, 20.0)) < 1e-9);
        // What chance makes of each: one standard deviation.
        let [more, longer] = [9.0 * CHANCE.exp(), 20.5 * CHANCE_WAIT.exp() - 0.5];
        assert!((is_apart(single(more, 20.0)) - 1.0).abs() < 1e-9);
        assert!((is_apart(single(9.0, longer)) - 1.0).abs() < 1e-9);
        assert!((is_apart(single(more, longer)) - 2.0).abs() < 1e-9);
        let nothing = |wait_ms| apart(single(9.0, wait_ms), single(9.0, 0.0)) / (CHANCE * CHANCE);
        assert!(nothing(0.1) < 1.0, "a tenth of a millisecond is nothing");
    }

    #[test]
    fn it_is_told_how_far_it_is() {
        let mut told = Vec::new();
        let rehearsed =
            beside_one_or_five(9.0).rehearsed("here", &Cancel::new(), |done, total| told.push((done, total)));
        assert!(rehearsed.is_ok() && told.is_sorted(), "{told:?}");
        assert_eq!((told[0].0, told.last()), (1, Some(&(MOST as usize, MOST as usize))));
    }

    #[test]
    fn it_ends_where_it_is_cancelled() {
        let cancel = Cancel::new();
        cancel.cancel();
        let error = beside_one_or_five(9.0).rehearsed("here", &cancel, |_, _| ()).unwrap_err();
        assert!(matches!(error.kind, Kind::Cancelled), "{error}");
    }

    #[test]
    fn without_a_test_and_without_others_nothing_is_simulated() {
        let is_as_drawn = |measured: &Measured| {
            let rehearsed =
                measured.rehearsed("here", &Cancel::new(), |_, _| panic!("nothing to do")).unwrap();
            assert_eq!(rehearsed[0].may_be, measured.networks("here")[0].may_be);
        };
        let mut watched = beside_one_or_five(9.0);
        watched.paths[0].single = None;
        is_as_drawn(&watched);
        let mut alone = beside_one_or_five(9.0);
        alone.paths[0].may_be.truncate(1);
        alone.paths[0].may_be[0].others = Others::cubic(0);
        is_as_drawn(&alone);
    }

    #[test]
    fn those_that_are_like_the_test_are_chosen_more_often() {
        let far: Vec<f64> =
            (0..400).map(|place| if place < 200 { 0.0 } else { 4.0 * CHANCE * CHANCE }).collect();
        let chosen = choose(&far, 40);
        let near = chosen.iter().filter(|&&place| place < 200).count();
        // 1 against exp(-2).
        assert_eq!((chosen.len(), near), (40, 35));
        assert!(chosen[..8].iter().any(|&place| place >= 200), "the first ones are of all kinds: {chosen:?}");
    }

    #[test]
    fn where_few_are_like_the_test_others_are_chosen_too() {
        let far: Vec<f64> = (0..400).map(|place| 0.01 * f64::from(place)).collect();
        let chosen: BTreeSet<usize> = choose(&far, 40).into_iter().collect();
        assert!((20..=40).contains(&chosen.len()), "{chosen:?}");
        assert!(chosen.last() < Some(&150), "{chosen:?}");
    }
}
