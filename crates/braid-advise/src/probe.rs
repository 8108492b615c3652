//! A test of a network: each path sends alone, then a single flow of one path beside a crowd on another, for each two of them.
//!
//! Where two paths have one bottleneck, the crowd leaves the single flow little, also where others send; both carry as much when
//! they are alone; and packets wait equally long on both, at the same time. None of these is certain, so they are weighed.

use std::ops::Range;

use crate::estimate::{
    Look, MOST_LOSS, Packets, Series, TooLittle, correlation, deviation, mean, quantile, rate_bps, rates_bps,
};
use crate::measured::{Discipline, Had, Measured, PACKET, Pair, Path, Sharing};
use crate::moving::{self, Meeting};
use crate::others::Shows;
use crate::queue::{self, Crowd};

/// Seconds of a phase.
pub const PHASE_S: f64 = 15.0;
/// Of them, these do not count: flows begin.
pub const BEGINNING_S: f64 = 3.0;
/// Seconds between two phases, in which queues empty: else the first packet of a path waits for those of the one before, and its lowest
/// RTT is too high.
pub const PAUSE_S: f64 = 0.7;

/// Flows of a crowd. Two flows leave each two thirds of what it had beside one of somebody else's, which chance does, too; nine
/// leave it a fifth.
pub const CROWD: usize = 8;
/// In so many losses each path is like all of its bottleneck: of what one loses at random in a test there are few, so how many is chance, and
/// mostly it is the bottleneck that loses them.
const LIKE_ALL: f64 = 5.0;
/// Looks by which one path may see the queue later than the other.
const LAG: usize = 5;
/// Waits that differ by less are alike, seconds: jitter.
const JITTER_S: f64 = 0.001;

/// Some flows send for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The place of each flow's path.
    pub flows: Vec<usize>,
    /// Looks at their sockets in the same order, without the [beginning](BEGINNING_S).
    pub looks: Vec<Look>,
    /// Looks in the beginning, when flows fill the queue whatever it drops later.
    pub beginning: Vec<Look>,
}

impl Phase {
    /// What its crowd has, or its single flow, and how long its packets wait.
    #[must_use]
    pub fn had(&self) -> Had {
        self.had_within(PHASE_S - BEGINNING_S)
    }

    /// The same, within so many seconds.
    pub(crate) fn had_within(&self, most_s: f64) -> Had {
        let since_s = |look: &Look| look.at_s - self.looks[0].at_s;
        // Times of looks are not exact.
        let within = self.looks.partition_point(|look| since_s(look) < most_s + 0.01);
        let looks = &self.looks[..within];
        let seen = || looks.iter().flat_map(|look| &look.subflows[self.ours()]);
        let rtts_s: Vec<f64> = seen().map(|seen| seen.srtt_s).collect();
        let known = seen().flat_map(|seen| [seen.min_rtt_s, seen.srtt_s]);
        let least_s = known.filter(|&rtt_s| rtt_s > 0.0).fold(f64::INFINITY, f64::min);
        Had {
            bps: mean_bps(looks, self.ours()),
            time_s: looks.last().map_or(0.0, since_s),
            wait_s: (mean(&rtts_s) - least_s).max(0.0),
        }
    }

    /// The places of a crowd's flows, or that of the single flow.
    fn ours(&self) -> Range<usize> {
        0..if self.flows.len() > 1 { CROWD } else { 1 }
    }
}

/// The flows that send at the same time, each by the place of its path: one on each path alone, then a crowd on one and a single flow on
/// another, for each two both ways round.
pub fn phases(paths: usize) -> Vec<Vec<usize>> {
    let alone = (0..paths).map(|path| vec![path]);
    alone.chain(crowds(paths).map(|(one, other)| crowd(one, other))).collect()
}

fn pairs(paths: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..paths).flat_map(move |one| (one + 1..paths).map(move |other| (one, other)))
}

/// The path of each crowd, and that of the single flow beside it.
fn crowds(paths: usize) -> impl Iterator<Item = (usize, usize)> {
    pairs(paths).flat_map(|(one, other)| [(one, other), (other, one)])
}

fn crowd(one: usize, other: usize) -> Vec<usize> {
    [vec![one; CROWD], vec![other]].concat()
}

/// What the paths are like, from a test.
///
/// # Errors
/// If a path carried next to nothing when it was alone.
///
/// # Panics
/// If a phase of [`phases`] is missing.
pub fn estimate(names: &[String], phases: &[Phase]) -> Result<Measured, TooLittle> {
    let bases = bases(names.len(), phases);
    let mut paths = Vec::new();
    for (place, name) in names.iter().enumerate() {
        paths.push(alone(place, name, phases, bases[place]).ok_or(TooLittle::Sent(place))?);
    }
    let evidence = evidence(names.len(), phases);
    let meetings = meetings(phases, &bases);
    let moving = moving::which(names.len(), &meetings);
    let carries: Vec<Carries> = (0..names.len()).map(|place| Carries::of(phases, place)).collect();
    let pairs_told = told(&carries, &evidence, moving);
    for (path, _) in paths.iter_mut().zip(&carries).filter(|(_, carries)| carries.starves) {
        path.single = None;
    }
    let mut measured = Measured { paths, pairs: pairs_told, together_bps: Vec::new(), crowds: Vec::new() };
    if let Some(path) = moving {
        let odds = |other: usize| {
            let pair = evidence.iter().find(|pair| pair.has(path) && pair.has(other));
            pair.expect("all pairs").odds()
        };
        let groups = measured.groups(false);
        measured.paths[path].moves = Some(moving::between(path, &groups, odds, &meetings));
    }
    measured.together_bps = see_bottlenecks(&mut measured, phases, &bases);
    let groups = measured.groups(false);
    measured.crowds =
        (0..groups.len()).filter_map(|first| crowd_at(phases, |path| groups[path] == first)).collect();
    // What more than two carry is what the best two of them do.
    for unknown_share in [false, true] {
        let groups = measured.groups(unknown_share);
        for first in 0..groups.len() {
            let members: Vec<usize> = (0..groups.len()).filter(|&place| groups[place] == first).collect();
            if members.len() < 2 {
                continue;
            }
            let within =
                |(places, _): &&(Vec<usize>, f64)| places.iter().all(|place| members.contains(place));
            let pairs = measured.together_bps.iter().filter(within).map(|(_, bps)| *bps);
            let most =
                pairs.chain(members.iter().map(|&place| measured.paths[place].rate_bps)).fold(0.0, f64::max);
            measured.together_bps.retain(|(places, _)| *places != members);
            measured.together_bps.push((members, most));
        }
    }
    Ok(measured)
}

/// What a path is like where a flow has it alone; if that carried next to nothing, by chance, where one meets a crowd on another path.
fn alone(place: usize, name: &str, phases: &[Phase], base_s: f64) -> Option<Path> {
    let has_one = |phase: &&Phase| phase.flows.iter().filter(|&&path| path == place).count() == 1;
    phases.iter().filter(has_one).find_map(|phase| {
        let Phase { flows, looks, .. } = phase;
        let flow = flows.iter().position(|&path| path == place)?;
        let path = (looks.len() > 1).then(|| Series::over(looks, flow, base_s).path(name, looks))??;
        Some(Path { single: (flows.len() == 1).then(|| phase.had()), ..path })
    })
}

/// What a path carries by itself.
#[derive(Clone, Copy)]
struct Carries {
    /// Whether a single flow [starves] there.
    starves: bool,
    /// What a crowd has, on average, bits per second.
    crowd_bps: f64,
}

impl Carries {
    fn of(phases: &[Phase], place: usize) -> Self {
        let crowds = crowds_of(phases, |path| path == place).map(|phase| mean_bps(&phase.looks, 0..CROWD));
        Self { starves: starves(&of(phases, &[place]).looks), crowd_bps: mean(&crowds.collect::<Vec<_>>()) }
    }

    /// Whether both may have one bottleneck, by what crowds carry there.
    fn is_like(self, other: &Self) -> bool {
        ratio(self.crowd_bps, other.crowd_bps).abs() < CROWDS_DIFFER
    }
}

/// Whether a single flow got next to nothing while it was alone: it waited for timeouts, and how long is chance.
fn starves(alone: &[Look]) -> bool {
    let rtts_s: Vec<f64> = alone.iter().map(|look| look.subflows[0].srtt_s).collect();
    mean_bps(alone, 0..1) * mean(&rtts_s) / 8.0 / PACKET < STARVES
}

/// Finds what each bottleneck is like: its queue, the flows of others, and with them how much it carries. Returns that of each two paths.
///
/// The most that a crowd ever carries is nearly all that there is. A single flow beside k of others has 1 / (1 + k) of that. It may have
/// less for another reason: losses at random hold it down, and nobody is there. Where the queue drops before it is full nothing is lost at
/// random, as far as that can be told.
fn see_bottlenecks(measured: &mut Measured, phases: &[Phase], bases: &[f64]) -> Vec<(Vec<usize>, f64)> {
    let groups = measured.groups(false);
    let mut carry = vec![0.0; groups.len()];
    for first in 0..groups.len() {
        if groups[first] != first {
            continue;
        }
        let has = |path: usize| groups[path] == first;
        let crowds: Vec<Crowd> = crowds_of(phases, has).map(|phase| meets(phase, bases)).collect();
        let mut shows = shows(phases, bases, has);
        let discipline = queue::discipline(&crowds, shows.single_bps);
        if discipline != Discipline::DropTail {
            shows.at_random = 0.0;
        }
        let others = shows.others(discipline);
        carry[first] = shows.crowd_bps * others[0].middle();
        for place in (0..groups.len()).filter(|&place| has(place)) {
            let path = &mut measured.paths[place];
            path.others = others[0].others;
            path.may_be.clone_from(&others);
            path.discipline = discipline;
            path.loss = match discipline {
                Discipline::DropTail => random_loss(phases, bases, has, place),
                _ => 0.0,
            };
        }
    }
    for (place, path) in measured.paths.iter_mut().enumerate() {
        let crowds: Vec<Crowd> =
            crowds_of(phases, |path| path == place).map(|phase| meets(phase, bases)).collect();
        path.early_queue_s = path.queue_s.max(queue::full_s(Discipline::Red, &crowds));
        path.queue_s = path.queue_s.max(queue::full_s(path.discipline, &crowds));
        if groups.iter().filter(|&&group| group == groups[place]).count() == 1 {
            path.rate_bps = path.rate_bps.max(carry[place]);
        }
    }
    let all: Vec<usize> = (0..=CROWD).collect();
    let together = |(one, other)| {
        let bps = if groups[one] == groups[other] {
            carry[groups[one]]
        } else {
            rate_bps(&of(phases, &crowd(one, other)).looks, &all)
        };
        (vec![one, other], bps)
    };
    pairs(groups.len()).map(together).collect()
}

/// The share of the packets of a path that are lost at random: by what it loses itself, and as if it had lost [a few](LIKE_ALL) more as all paths of
/// its bottleneck do.
fn random_loss(phases: &[Phase], bases: &[f64], has: impl Fn(usize) -> bool + Copy, place: usize) -> f64 {
    let own = sent_at_random(phases, bases, has, |path| path == place);
    let all = sent_at_random(phases, bases, has, has);
    if all.lost == 0.0 {
        return 0.0;
    }
    let like_all_sent = LIKE_ALL * all.sent / all.lost;
    ((own.lost + LIKE_ALL) / (own.sent + like_all_sent)).min(MOST_LOSS)
}

/// What single flows of these paths send, and lose at random, where no other of ours is at their bottleneck.
fn sent_at_random(
    phases: &[Phase],
    bases: &[f64],
    has: impl Fn(usize) -> bool,
    of: impl Fn(usize) -> bool,
) -> Packets {
    let mut packets = Packets::default();
    for Phase { flows, looks, .. } in phases {
        let there: Vec<usize> = (0..flows.len()).filter(|&flow| has(flows[flow])).collect();
        match there[..] {
            [flow] if of(flows[flow]) => {
                packets += Series::over(looks, flow, bases[flows[flow]]).sent_at_random(looks);
            }
            _ => {}
        }
    }
    packets
}

/// Where a crowd is on one of these paths.
fn crowds_of(phases: &[Phase], has: impl Fn(usize) -> bool) -> impl Iterator<Item = &Phase> {
    phases.iter().filter(move |phase| phase.flows.len() > 1 && has(phase.flows[0]))
}

fn meets(phase: &Phase, bases: &[f64]) -> Crowd {
    let base_s = bases[phase.flows[0]];
    let of = |looks: &[Look]| (0..CROWD).map(|flow| Series::over(looks, flow, base_s).waits).collect();
    let carry_bps = (0..CROWD).map(|flow| mean_bps(&phase.looks, flow..flow + 1)).collect();
    Crowd { beginning: of(&phase.beginning), later: of(&phase.looks), carry_bps }
}

/// What the phases show of the bottleneck of those paths that have it.
fn shows(phases: &[Phase], bases: &[f64], has: impl Fn(usize) -> bool) -> Shows {
    let (mut singles, mut at_random, mut most, mut varies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Phase { flows, looks, .. } in phases {
        match (0..flows.len()).filter(|&flow| has(flows[flow])).collect::<Vec<_>>()[..] {
            [] => {}
            [flow] => {
                singles.push(mean_bps(looks, flow..flow + 1));
                at_random.push(Series::over(looks, flow, bases[flows[flow]]).at_random(looks));
            }
            ref ours => {
                let rates = rates_bps(looks, ours);
                most.push(quantile(&rates, 0.95));
                varies.push(deviation(&rates) / mean(&rates).max(1.0));
            }
        }
    }
    Shows {
        crowd: CROWD,
        single_bps: mean(&singles),
        at_random: mean(&at_random),
        crowd_bps: most.into_iter().fold(0.0, f64::max),
        varies: mean(&varies),
    }
}

fn of<'a>(phases: &'a [Phase], flows: &[usize]) -> &'a Phase {
    phases.iter().find(|phase| phase.flows == flows).expect("all phases")
}

/// The lowest RTT of each path, in any phase: it shows where nobody else of us sends.
fn bases(paths: usize, phases: &[Phase]) -> Vec<f64> {
    let mut bases = vec![f64::INFINITY; paths];
    for phase in phases {
        for look in &phase.looks {
            for (seen, &path) in look.subflows.iter().zip(&phase.flows) {
                let known = [seen.min_rtt_s, seen.srtt_s].into_iter().find(|&rtt_s| rtt_s > 0.0);
                bases[path] = bases[path].min(known.unwrap_or(f64::INFINITY));
            }
        }
    }
    bases
}

/// What a crowd of the first of these paths has, if a single flow of ours is elsewhere; else beside it. On average over all such phases.
fn crowd_at(phases: &[Phase], has: impl Fn(usize) -> bool + Copy) -> Option<(Vec<usize>, Had)> {
    let there = |phase: &Phase| phase.flows.iter().copied().filter(|&path| has(path)).collect::<Vec<usize>>();
    let flows = crowds_of(phases, has).map(there).min_by_key(Vec::len)?;
    let had: Vec<Had> =
        crowds_of(phases, has).filter(|phase| there(phase) == flows).map(Phase::had).collect();
    let of = |value: fn(&Had) -> f64| mean(&had.iter().map(value).collect::<Vec<_>>());
    let all = Had { bps: of(|had| had.bps), time_s: of(|had| had.time_s), wait_s: of(|had| had.wait_s) };
    Some((flows, all))
}

fn mean_bps(looks: &[Look], places: Range<usize>) -> f64 {
    let [first, .., last] = looks else { return 0.0 };
    let bytes = |look: &Look| look.subflows[places.clone()].iter().map(|seen| seen.bytes).sum::<u64>();
    (bytes(last) - bytes(first)) as f64 * 8.0 / (last.at_s - first.at_s)
}

/// What speaks for one bottleneck of two paths, and against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Place of one.
    pub one: usize,
    /// Place of the other.
    pub other: usize,
    /// Ratios by their logarithm: what the single flow has beside the crowd, of what it had alone; what the crowd has, of what a
    /// single flow had there; how unequal the rates of both paths are alone; how unequal the waits on both are at the same time; and
    /// the correlation of these waits.
    pub shows: [f64; 5],
    /// Where all flows of a crowd carry the same: how much more or less the single flow on the other path does, by its logarithm, whichever
    /// it is.
    pub equal: Option<f64>,
}

/// Weights of [what a pair shows](Evidence::shows), and what there is to be overcome: by logistic regression over the pairs of 380
/// random networks (examples/fit.py).
const WEIGHTS: [f64; 5] = [-5.74, 4.28, -0.69, -4.24, 2.27];
const BIAS: f64 = -6.12;
/// Where each flow of a bottleneck has a queue of its own, a single flow differs by less than this from those of the crowd if it has the
/// same bottleneck, and by more if not: by 0.4 at most and 1.2 at least, of 248 pairs of `case/5000` to 5799 and 9000 to 9199.
const EQUAL: f64 = 0.8;
/// Chance makes outliers: no pair says more than this.
const MOST: f64 = 6.0;
/// Packets in an RTT, with what they wait. Where a single flow has less, a pair shows little: of nine such pairs that had one bottleneck six
/// were told apart (`case/9200` to 9399).
const STARVES: f64 = 0.5;
/// By its logarithm: a path where one starves has no bottleneck of those where crowds carry three times as much, or a third. Of such paths
/// alone at a bottleneck others carry 4 to 400 times as much, but for two; of those that share one 1.3 to 4.5 times, and less than three times some other
/// of the same (`case/5000` to 5399).
const CROWDS_DIFFER: f64 = 1.1;
/// Where the odds are nearer to even than this, it is not known: 2.7 to 1.
const SURE: f64 = 1.0;

impl Evidence {
    fn has(&self, path: usize) -> bool {
        self.one == path || self.other == path
    }

    /// The logarithm of the odds that they have one bottleneck.
    fn odds(&self) -> f64 {
        if let Some(differs) = self.equal {
            return if differs < EQUAL { MOST } else { -MOST };
        }
        let weighed = self.shows.iter().zip(WEIGHTS).map(|(shows, weight)| shows * weight);
        (BIAS + weighed.sum::<f64>()).clamp(-MOST, MOST)
    }
}

/// What each pair of paths shows.
///
/// # Panics
/// If a phase of [`phases`] is missing.
pub fn evidence(paths: usize, phases: &[Phase]) -> Vec<Evidence> {
    let bases = bases(paths, phases);
    let of_crowd = |one: usize, other: usize| {
        let [alone_one, alone_other] = [one, other].map(|place| mean_bps(&of(phases, &[place]).looks, 0..1));
        let looks = &of(phases, &crowd(one, other)).looks;
        let waits = |at: usize, place: usize| Series::over(looks, at, bases[place]).waits;
        let (waits_one, waits_other) = (waits(0, one), waits(CROWD, other));
        let wait_s = |waits: &[f64]| mean(waits) + JITTER_S;
        [
            ratio(mean_bps(looks, CROWD..CROWD + 1), alone_other).clamp(-3.0, 2.3),
            ratio(mean_bps(looks, 0..CROWD), alone_one).clamp(-3.0, 2.3),
            ratio(alone_one, alone_other).abs().min(4.6),
            ratio(wait_s(&waits_one), wait_s(&waits_other)).abs().min(3.0),
            together(&waits_one, &waits_other),
        ]
    };
    let equal = |one: usize, other: usize| {
        let looks = &of(phases, &crowd(one, other)).looks;
        let carry_bps: Vec<f64> = (0..CROWD).map(|flow| mean_bps(looks, flow..flow + 1)).collect();
        let single_bps = mean_bps(looks, CROWD..CROWD + 1);
        queue::gives_all_the_same(&carry_bps).then(|| ratio(single_bps, mean(&carry_bps)).abs())
    };
    let of_pair = |(one, other)| {
        let (this, that) = (of_crowd(one, other), of_crowd(other, one));
        let shows = std::array::from_fn(|which| f64::midpoint(this[which], that[which]));
        let equal = equal(one, other).zip(equal(other, one)).map(|(this, that)| f64::midpoint(this, that));
        Evidence { one, other, shows, equal }
    };
    pairs(paths).map(of_pair).collect()
}

fn ratio(one: f64, other: f64) -> f64 {
    (one.max(1e-9) / other.max(1e-9)).ln()
}

/// The path that looks most as if it changed its bottleneck, and four numbers that speak for it: how much more a crowd changes there than
/// on any other path, how much a single flow beside it does at that time, and how well one change explains how long a single flow
/// waits there, more than on other paths, and what it carries. `None` without a path.
pub fn may_move(paths: usize, phases: &[Phase]) -> Option<(usize, [f64; 4])> {
    moving::most_like_it(paths, &meetings(phases, &bases(paths, phases)))
}

/// What the phases show of paths that may change their bottleneck.
fn meetings(phases: &[Phase], bases: &[f64]) -> Vec<Meeting> {
    let meeting = |Phase { flows, looks, .. }: &Phase| {
        let last = flows.len() - 1;
        let crowd: Vec<usize> = (0..last).collect();
        Meeting {
            crowd: (last > 0).then(|| (flows[0], rates_bps(looks, &crowd))),
            single: flows[last],
            rates_bps: rates_bps(looks, &[last]),
            waits: Series::over(looks, last, bases[flows[last]]).waits,
        }
    };
    phases.iter().map(meeting).collect()
}

/// The most likely groups of paths by all that is known of all pairs: who shares with one shares with all of its group. A pair is unknown
/// where its groups are hardly apart, or a path hardly belongs to its group. One that is moving is apart from all. One that [starves] has the
/// bottleneck of those with which it is most likely, however little that is, if crowds carry alike there: if it has its own, nothing is lost by
/// leaving it alone.
fn told(carries: &[Carries], evidence: &[Evidence], moving: Option<usize>) -> Vec<Pair> {
    let paths = carries.len();
    let mut odds = vec![vec![0.0; paths]; paths];
    for pair in evidence {
        let apart = moving.is_some_and(|path| pair.has(path));
        let of_pair = if apart { -MOST } else { pair.odds() };
        odds[pair.one][pair.other] = of_pair;
        odds[pair.other][pair.one] = of_pair;
    }
    let between = |some: &[usize], others: &[usize]| -> f64 {
        some.iter()
            .flat_map(|&one| others.iter().map(move |&other| (one, other)))
            .map(|(one, other)| odds[one][other])
            .sum()
    };
    let mut groups: Vec<Vec<usize>> = (0..paths).map(|path| vec![path]).collect();
    loop {
        let strength = |&(one, other): &(usize, usize)| between(&groups[one], &groups[other]);
        let nearest = pairs(groups.len()).max_by(|one, other| strength(one).total_cmp(&strength(other)));
        let Some((one, other)) = nearest.filter(|pair| strength(pair) > 0.0) else { break };
        let joins = groups.remove(other);
        groups[one].extend(joins);
    }
    let moves = |group: &[usize]| moving.is_some_and(|path| group == [path]);
    let joins = |group: &[usize]| matches!(group, [path] if carries[*path].starves) && !moves(group);
    let is_like =
        |path: usize, group: &[usize]| group.iter().any(|&other| carries[path].is_like(&carries[other]));
    // Where all of them starve, the first of them.
    let host = |path: usize| {
        let alike = || groups.iter().filter(move |group| !moves(group) && is_like(path, group));
        let hosts = alike().filter(|group| !joins(group));
        let likeliest = hosts.max_by(|one, other| between(&[path], one).total_cmp(&between(&[path], other)));
        likeliest.or_else(|| alike().next())
    };
    let group = |path: usize| groups.iter().find(|group| group.contains(&path)).expect("each path has one");
    let home = |path: usize| if joins(group(path)) { host(path).unwrap_or(group(path)) } else { group(path) };
    let belongs = |path: usize| {
        let rest: Vec<usize> = group(path).iter().copied().filter(|&other| other != path).collect();
        between(&[path], &rest) >= SURE
    };
    let sharing = |&Evidence { one, other, .. }: &Evidence| {
        if joins(group(one)) || joins(group(other)) {
            if home(one) == home(other) { Sharing::Shared } else { Sharing::Own }
        } else if group(one) == group(other) {
            if belongs(one) && belongs(other) { Sharing::Shared } else { Sharing::Unknown }
        } else if between(group(one), group(other)) <= -SURE {
            Sharing::Own
        } else {
            Sharing::Unknown
        }
    };
    evidence.iter().map(|pair| Pair { one: pair.one, other: pair.other, sharing: sharing(pair) }).collect()
}

/// The greatest correlation at any lag.
fn together(one: &[f64], other: &[f64]) -> f64 {
    let lags = -(LAG as isize)..=LAG as isize;
    lags.fold(-1.0, |most, lag| {
        let (skip_one, skip_other) = ((-lag).max(0) as usize, lag.max(0) as usize);
        let one = one.get(skip_one..).unwrap_or_default();
        let other = other.get(skip_other..).unwrap_or_default();
        let count = one.len().min(other.len());
        f64::max(most, correlation(&one[..count], &other[..count]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Seen;
    use crate::measured::Others;

    /// What one path does: Mbit/s, and how long packets wait, seconds.
    type Flow = (f64, fn(f64) -> f64);

    fn phase(places: &[usize], flows: &[Flow]) -> Phase {
        let seen = |at_s: f64, (mbit, wait): &Flow| Seen {
            bytes: (mbit * 1e6 / 8.0 * at_s) as u64,
            srtt_s: 0.03 + wait(at_s),
            min_rtt_s: 0.03,
            ..Seen::default()
        };
        let look = |n: u32| {
            let at_s = f64::from(n) / 10.0;
            Look { at_s, subflows: flows.iter().map(|flow| seen(at_s, flow)).collect() }
        };
        Phase {
            flows: places.to_vec(),
            looks: (0..120).map(look).collect(),
            beginning: (0..30).map(look).collect(),
        }
    }

    fn saw(at_s: f64, period_s: f64) -> f64 {
        0.02 + 0.03 * (at_s / period_s).fract()
    }

    /// A crowd that carries so much; some flows have more of it and some less.
    fn flows_of((mbit, wait): Flow) -> Vec<Flow> {
        (0..CROWD).map(|flow| (mbit / CROWD as f64 * if flow % 2 == 0 { 0.8 } else { 1.2 }, wait)).collect()
    }

    /// Two paths that carry 10 Mbit/s each where they are alone, and a crowd and a single flow on them that carry these.
    fn measured([crowd_of, single]: [Flow; 2]) -> Measured {
        let alone: Flow = (10.0, |at_s| saw(at_s, 1.7));
        let flows = [flows_of(crowd_of), vec![single]].concat();
        let crowds = [phase(&crowd(0, 1), &flows), phase(&crowd(1, 0), &flows)];
        let phases = [vec![phase(&[0], &[alone]), phase(&[1], &[alone])], crowds.to_vec()].concat();
        estimate(&["wifi".into(), "lte".into()], &phases).unwrap()
    }

    #[test]
    fn each_path_is_alone_once_and_meets_a_crowd_on_each_other_once() {
        let [crowd_one, crowd_other] = [0, 1].map(|path| vec![path; CROWD]);
        let beside = |crowd: &Vec<usize>, single| [crowd.clone(), vec![single]].concat();
        let pairs = [beside(&crowd_one, 1), beside(&crowd_other, 0)];
        assert_eq!(phases(2), [vec![vec![0], vec![1]], pairs.to_vec()].concat());
        assert_eq!(phases(3).len(), 9);
    }

    #[test]
    fn where_a_crowd_leaves_little_there_is_one_bottleneck() {
        let shared = measured([(9.0, |at_s| saw(at_s, 1.3)), (1.0, |at_s| 1.05 * saw(at_s, 1.3))]);
        assert_eq!(shared.pairs[0].sharing, Sharing::Shared);
        assert!((shared.together_bps[0].1 / 10e6 - 1.0).abs() < 0.02, "{shared:?}");
        let without_a_queue = measured([(9.0, |_| 0.001), (1.0, |_| 0.0012)]);
        assert_eq!(without_a_queue.pairs[0].sharing, Sharing::Shared);
    }

    #[test]
    fn packets_that_wait_equally_long_at_the_same_time_wait_in_one_queue() {
        // With so many others there that the crowd leaves most of what there was.
        let crowded = measured([(60.0, |at_s| saw(at_s, 1.3)), (9.0, |at_s| saw(at_s, 1.3))]);
        assert_eq!(crowded.pairs[0].sharing, Sharing::Shared);
    }

    #[test]
    fn paths_that_carry_as_much_beside_a_crowd_as_alone_have_their_own() {
        let own = measured([(10.0, |at_s| saw(at_s, 1.3)), (10.0, |at_s| saw(at_s, 0.9))]);
        assert_eq!(own.pairs[0].sharing, Sharing::Own);
        assert!((own.paths[0].rate_bps / 10e6 - 1.0).abs() < 0.02, "{own:?}");
        let without_a_queue = measured([(10.0, |_| 0.001), (10.0, |_| 0.0012)]);
        assert_eq!(without_a_queue.pairs[0].sharing, Sharing::Own);
    }

    #[test]
    fn a_crowd_that_carries_more_than_one_flow_shows_who_else_is_there_and_what_there_is() {
        // Of 20 Mbit/s one of two flows has 10, and eight of nine have 17.8, now and then 19.
        let own = measured([(19.0, |at_s| saw(at_s, 1.3)), (10.0, |at_s| saw(at_s, 0.9))]);
        assert_eq!(own.pairs[0].sharing, Sharing::Own);
        for path in &own.paths {
            assert!(path.others == Others::cubic(1) && (path.rate_bps / 20e6 - 1.0).abs() < 0.02, "{own:?}");
        }
        // At one bottleneck, nine of ten.
        let shared = measured([(17.2, |at_s| saw(at_s, 1.3)), (1.8, |at_s| saw(at_s, 1.3))]);
        assert_eq!((shared.pairs[0].sharing, shared.paths[0].others), (Sharing::Shared, Others::cubic(1)));
        assert!((shared.together_bps[0].1 / 20e6 - 1.0).abs() < 0.02, "{shared:?}");
    }

    #[test]
    fn what_a_crowd_has_is_seen_without_a_single_flow_beside_it_where_that_was_elsewhere() {
        let own = measured([(19.0, |at_s| saw(at_s, 1.3)), (10.0, |at_s| saw(at_s, 0.9))]);
        assert_eq!(own.crowds.iter().map(|(flows, _)| flows.clone()).collect::<Vec<_>>(), [[0; 8], [1; 8]]);
        let had = own.crowds[0].1;
        assert!((had.bps / 19e6 - 1.0).abs() < 0.01 && (had.wait_s - 0.034).abs() < 0.002, "{had:?}");
        let shared = measured([(17.2, |at_s| saw(at_s, 1.3)), (1.8, |at_s| saw(at_s, 1.3))]);
        assert_eq!(shared.crowds.len(), 1);
        assert_eq!(shared.crowds[0].0, crowd(0, 1));
        assert!((shared.crowds[0].1.bps / 17.2e6 - 1.0).abs() < 0.01, "{shared:?}");
    }

    #[test]
    fn a_queue_is_as_long_as_a_crowd_makes_it() {
        let long: fn(f64) -> f64 = |at_s| 2.0 * saw(at_s, 1.3);
        let own = measured([(10.0, long), (10.0, |at_s| saw(at_s, 0.9))]);
        assert!((own.paths[0].queue_s / 0.1 - 1.0).abs() < 0.06, "{own:?}");
    }

    #[test]
    fn where_losses_at_random_hold_a_single_flow_down_nobody_else_is_there() {
        // Twice a second, where packets hardly wait but now and then.
        let losing = |mut phase: Phase, every: usize| {
            let lone = phase.flows.len() - 1;
            for (number, look) in phase.looks.iter_mut().enumerate() {
                look.subflows[lone].retransmissions = (number / every) as u64;
            }
            phase
        };
        let others = |every: usize| {
            let alone: Flow = (10.0, |at_s| 0.05 * (at_s / 1.7).fract().powi(4));
            let both = [flows_of((19.0, alone.1)), vec![alone]].concat();
            let phases = [phase(&[0], &[alone]), phase(&[1], &[alone])]
                .into_iter()
                .chain([crowd(0, 1), crowd(1, 0)].map(|places| phase(&places, &both)));
            let phases: Vec<Phase> = phases.map(|phase| losing(phase, every)).collect();
            let measured = estimate(&["wifi".into(), "lte".into()], &phases).unwrap();
            (measured.paths[0].others.flows, measured.paths[0].rate_bps)
        };
        let (none, rate_bps) = others(5);
        assert!(none == 0 && (rate_bps / 19e6 - 1.0).abs() < 0.02, "{none}, {rate_bps}");
        assert_eq!(others(200).0, 1, "it loses nothing");
    }

    #[test]
    fn what_is_lost_at_random_is_nearly_that_of_all_paths_of_a_bottleneck() {
        // Where packets hardly wait, but now and then; only on the first path.
        let alone: Flow = (10.0, |at_s| 0.05 * (at_s / 1.7).fract().powi(4));
        let both = [flows_of((19.0, alone.1)), vec![alone]].concat();
        let mut phases = vec![phase(&[0], &[alone]), phase(&[1], &[alone])];
        phases.extend([crowd(0, 1), crowd(1, 0)].map(|places| phase(&places, &both)));
        for (number, look) in phases[0].looks.iter_mut().enumerate() {
            look.subflows[0].retransmissions = (number / 12) as u64;
        }
        let loss = |one: fn(usize) -> bool, place| {
            let bases = bases(2, &phases);
            random_loss(&phases, &bases, one, place)
        };
        let (first, second) = (loss(|_| true, 0), loss(|_| true, 1));
        assert!(first > second && first < 3.0 * second, "{first} and {second}");
        assert!(loss(|path| path == 1, 1) < 1e-9, "by itself it loses nothing");
    }

    #[test]
    fn packets_wait_longer_than_that_which_waits_least() {
        let single = phase(&[0], &[(10.0, |at_s| saw(at_s, 1.7))]).had();
        assert!((single.bps / 10e6 - 1.0).abs() < 0.01, "{single:?}");
        assert!((single.wait_s - 0.035).abs() < 0.002, "0.02 s at least, and half of 0.03 more: {single:?}");
    }

    #[test]
    fn a_path_that_carried_nothing_where_it_was_alone_is_known_from_where_it_met_a_crowd() {
        let (none, works): (Flow, Flow) = ((0.0, |_| 0.0), (10.0, |at_s| saw(at_s, 1.7)));
        let both = [vec![works; CROWD], vec![works]].concat();
        let phases = [phase(&[0], &[works]), phase(&[1], &[none])]
            .into_iter()
            .chain([crowd(0, 1), crowd(1, 0)].map(|places| phase(&places, &both)));
        let measured = estimate(&["wifi".into(), "lte".into()], &phases.collect::<Vec<_>>()).unwrap();
        assert!(measured.paths[1].rate_bps > 9e6, "{measured:?}");
    }

    #[test]
    fn where_each_flow_has_a_queue_of_its_own_a_single_one_carries_as_much_as_one_of_the_crowd() {
        let sharing = |single_mbit: f64| {
            let alone: Flow = (10.0, |at_s| saw(at_s, 1.7));
            let short: Flow = (1.0, |at_s| 0.3 * saw(at_s, 1.7));
            let flows = [vec![short; CROWD], vec![(single_mbit, |_| 0.001)]].concat();
            let phases = [phase(&[0], &[alone]), phase(&[1], &[alone])]
                .into_iter()
                .chain([crowd(0, 1), crowd(1, 0)].map(|places| phase(&places, &flows)));
            let measured = estimate(&["wifi".into(), "lte".into()], &phases.collect::<Vec<_>>()).unwrap();
            (measured.pairs[0].sharing, measured.paths[0].discipline)
        };
        assert_eq!(sharing(1.2), (Sharing::Shared, Discipline::FqCoDel));
        assert_eq!(sharing(10.0), (Sharing::Own, Discipline::FqCoDel));
    }

    #[test]
    fn what_does_not_show_is_unknown() {
        let unclear = measured([(10.0, |_| 0.001), (3.3, |_| 0.001)]);
        assert_eq!(unclear.pairs[0].sharing, Sharing::Unknown);
        assert_eq!(unclear.scenarios("unclear").len(), 2);
    }

    fn pairs_with(odds: &[f64]) -> Vec<Evidence> {
        let of = |((one, other), odds): ((usize, usize), &f64)| Evidence {
            one,
            other,
            shows: [(odds - BIAS) / WEIGHTS[0], 0.0, 0.0, 0.0, 0.0],
            equal: None,
        };
        pairs(3).zip(odds).map(of).collect()
    }

    fn carries(starves: bool, crowd_mbit: f64) -> Carries {
        Carries { starves, crowd_bps: crowd_mbit * 1e6 }
    }

    fn sharing_of(odds: &[f64]) -> Vec<Sharing> {
        told(&[carries(false, 10.0); 3], &pairs_with(odds), None).iter().map(|pair| pair.sharing).collect()
    }

    #[test]
    fn a_pair_that_contradicts_two_others_is_overruled() {
        assert_eq!(sharing_of(&[5.0, 4.0, -2.0]), [Sharing::Shared; 3]);
        assert_eq!(sharing_of(&[5.0, 2.0, -4.0]), [Sharing::Shared, Sharing::Own, Sharing::Own]);
    }

    #[test]
    fn a_path_that_hardly_belongs_to_a_group_may_have_its_own_bottleneck() {
        assert_eq!(sharing_of(&[5.0, 2.0, -1.5]), [Sharing::Shared, Sharing::Unknown, Sharing::Unknown]);
        assert_eq!(sharing_of(&[5.0, 1.5, -2.0]), [Sharing::Shared, Sharing::Unknown, Sharing::Unknown]);
    }

    #[test]
    fn a_path_that_starves_has_the_bottleneck_of_those_with_which_it_is_most_likely() {
        let sharing_of = |starves: [bool; 3], odds: &[f64]| -> Vec<Sharing> {
            let carries = starves.map(|starves| carries(starves, 10.0));
            told(&carries, &pairs_with(odds), None).iter().map(|pair| pair.sharing).collect()
        };
        let apart = [-5.0, -4.0, -2.0];
        assert_eq!(sharing_of([false, false, true], &apart), [Sharing::Own, Sharing::Own, Sharing::Shared]);
        assert_eq!(sharing_of([true, false, false], &apart), [Sharing::Own, Sharing::Shared, Sharing::Own]);
        // All three are one where two of them starve.
        assert_eq!(sharing_of([true, false, true], &apart), [Sharing::Shared; 3]);
        assert_eq!(sharing_of([true; 3], &apart), [Sharing::Shared; 3]);
    }

    #[test]
    fn a_path_that_starves_has_no_bottleneck_where_crowds_carry_many_times_as_much() {
        let apart = pairs_with(&[-5.0, -4.0, -2.0]);
        let sharing_of = |crowds_mbit: [f64; 3], starves: [bool; 3]| -> Vec<Sharing> {
            let carries: Vec<Carries> =
                starves.into_iter().zip(crowds_mbit).map(|(starves, mbit)| carries(starves, mbit)).collect();
            told(&carries, &apart, None).iter().map(|pair| pair.sharing).collect()
        };
        let last = [false, false, true];
        assert_eq!(sharing_of([1.0, 10.0, 0.5], last), [Sharing::Own, Sharing::Shared, Sharing::Own]);
        assert_eq!(sharing_of([10.0, 10.0, 0.5], last), [Sharing::Own; 3]);
        assert_eq!(sharing_of([0.5, 10.0, 0.5], [true; 3]), [Sharing::Own, Sharing::Shared, Sharing::Own]);
    }

    #[test]
    fn a_path_that_moves_has_no_bottleneck_of_its_own_but_those_of_others() {
        let three = ["wifi", "lte", "eth"].map(str::to_owned);
        let works: Flow = (10.0, |at_s| saw(at_s, 1.7));
        let all: Vec<Phase> = phases(3).iter().map(|on| phase(on, &vec![works; on.len()])).collect();
        let mut measured = estimate(&three, &all).unwrap();
        measured.pairs = told(&[carries(false, 10.0); 3], &pairs_with(&[-5.0, 1.0, -0.5]), Some(2));
        assert_eq!(measured.pairs.iter().filter(|pair| pair.sharing == Sharing::Own).count(), 3);
        measured.paths[2].moves = Some([1, 0]);
        let source = &measured.scenarios("moves")[0];
        let file = braid_scenario::load(source, &[]).unwrap();
        assert_eq!(file.cells[0].connections[0].subflows[2].reroutes.len(), 3);
        assert!(!source.text.contains("bottleneck-3"), "{}", source.text);
    }

    #[test]
    fn a_path_that_carries_nothing_is_refused() {
        let none: Flow = (0.0, |_| 0.0);
        let works: Flow = (10.0, |_| 0.0);
        let both = [crowd(0, 1), crowd(1, 0)];
        let all = both.map(|places| phase(&places, &[vec![works; CROWD], vec![none]].concat()));
        let phases = [vec![phase(&[0], &[works]), phase(&[1], &[none])], all.to_vec()].concat();
        assert_eq!(estimate(&["wifi".into(), "lte".into()], &phases), Err(TooLittle::Sent(1)));
    }
}
