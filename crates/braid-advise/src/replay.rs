//! The question: networks and candidates, and what is simulated to answer it.

use std::collections::{BTreeMap, BTreeSet};

use braid_algorithms::Spec;
use braid_results::metrics::{Available, fair_shares};
use braid_results::{OK, Run};
use braid_scenario::model::{Connection, Discipline, Kind as Of, Scenario, Subflow, Traffic};
use braid_scenario::{File, Source};
use braid_study::{Cancel, Error, Event, Kind, Plan, Planned, Seeds, Study, load};

use crate::choice::{Advice, Figures, Row, Seed};
use crate::draw::Network;
use crate::estimate::mean;
use crate::losses::{Flow, OtherFlows, goodput_bps};

/// Who is asked when nobody is named.
pub const CANDIDATES: [&str; 5] = ["cubic", "lia", "olia", "balia", "weave"];
/// What others use.
const USUAL: &str = "cubic";
/// What unmodified Linux sends by; it costs coupled algorithms more than `minrtt` does, so advice for a router is made with it.
const USUAL_SCHEDULER: &str = "linux";

/// No algorithm makes a window smaller than so many packets but by a timeout (RFC 5681, section 3.1).
const LEAST_WINDOW: f64 = 2.0;
/// A connection that begins by chance does so up to so much later.
const LATEST_NS: f64 = 20e9;
/// The fractions of its multiples are spread over 0 to 1 as evenly as can be, however many they are.
const GOLDEN: f64 = 0.618_034;
/// Where chance may decide there are up to so many times as many seeds.
const MOST_TIMES: u64 = 4;

/// Networks, candidates, and how carefully to look.
#[derive(Clone, Debug)]
pub struct Question {
    networks: Vec<Network>,
    candidates: Vec<String>,
    schedulers: Vec<String>,
    using: Vec<Vec<String>>,
    set: Vec<String>,
    seeds: Seeds,
    cancel: Cancel,
}

impl Question {
    /// About the first MPTCP connection of this network.
    pub fn new(network: impl Into<Network>) -> Self {
        Self::either([network])
    }

    /// About a network that may be any of these.
    pub fn either<N: Into<Network>>(networks: impl IntoIterator<Item = N>) -> Self {
        Self {
            networks: networks.into_iter().map(Into::into).collect(),
            candidates: Vec::new(),
            schedulers: Vec::new(),
            using: Vec::new(),
            set: Vec::new(),
            seeds: Seeds::from(10),
            cancel: Cancel::new(),
        }
    }

    /// Congestion controls, each `NAME[:key=value]...`; [`CANDIDATES`] unless any is named.
    #[must_use]
    pub fn candidates<S: Into<String>>(mut self, specs: impl IntoIterator<Item = S>) -> Self {
        self.candidates.extend(specs.into_iter().map(Into::into));
        self
    }

    /// Packet schedulers; `linux`, that of the unmodified kernel, unless any is named.
    #[must_use]
    pub fn schedulers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.schedulers.extend(names.into_iter().map(Into::into));
        self
    }

    /// CUBIC on these subflows alone, by name, is a candidate, too; on one of each bottleneck it always is, for others are judged by it.
    #[must_use]
    pub fn using<S: Into<String>>(mut self, subflows: impl IntoIterator<Item = S>) -> Self {
        let mut names: Vec<String> = subflows.into_iter().map(Into::into).collect();
        names.sort();
        self.using.push(names);
        self
    }

    /// How long each run is, instead of what the network's file says: `20s`.
    #[must_use]
    pub fn duration(mut self, duration: &str) -> Self {
        self.set.push(format!("duration={duration}"));
        self
    }

    /// Repeats every run with these seeds; 10. Flows differ much from run to run: with fewer, harm does not show. As long as chance
    /// may decide between some candidates, as many follow again for these, up to three times. A network that may be any of several is another
    /// one with each seed.
    #[must_use]
    pub fn seeds(mut self, seeds: impl Into<Seeds>) -> Self {
        self.seeds = seeds.into();
        self
    }

    /// Can be ended early by this.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Simulates and chooses.
    ///
    /// # Errors
    /// If a network has no MPTCP connection, anything else is wrong with it or the candidates, or a run fails.
    pub fn ask(self) -> Result<Advice, Error> {
        self.ask_with(|_, _| ())
    }

    /// As [`Question::ask`], telling how many runs are done, of how many.
    ///
    /// # Errors
    /// As [`Question::ask`].
    pub fn ask_with(self, tell: impl FnMut(usize, usize)) -> Result<Advice, Error> {
        self.ask_until(MOST_TIMES, Advice::open, tell)
    }

    /// As [`Question::ask_with`], with up to so many times as many seeds, as long as some candidates are left between which it is open:
    /// their places. Only these are simulated further.
    ///
    /// # Errors
    /// As [`Question::ask`].
    pub fn ask_until(
        self,
        times: u64,
        open: impl Fn(&Advice) -> Vec<usize>,
        mut tell: impl FnMut(usize, usize),
    ) -> Result<Advice, Error> {
        let mut prepared = Prepared::of(&self)?;
        let mut progress = Progress { done: 0, total: 0, tell: &mut tell };
        let mut advice = Advice::of(prepared.rows(self.seeds, &self.cancel, &mut progress)?);
        let mut seeds = self.seeds;
        for _ in 1..times {
            let left: Vec<&Row> = open(&advice).into_iter().map(|place| &advice.rows[place]).collect();
            let next = following(seeds).filter(|_| !left.is_empty());
            let Some(next) = next else { break };
            seeds = next;
            prepared.only(&left);
            let more = prepared.rows(seeds, &self.cancel, &mut progress)?;
            advice = advice.with(more);
        }
        Ok(advice)
    }
}

/// As many seeds again.
fn following(seeds: Seeds) -> Option<Seeds> {
    let count = seeds.last() - seeds.first() + 1;
    Seeds::new(seeds.first().checked_add(count)?, seeds.last().checked_add(count)?)
}

/// How many runs are done, of how many.
struct Progress<'a> {
    done: usize,
    total: usize,
    tell: &'a mut dyn FnMut(usize, usize),
}

/// A question that has been read: what is simulated is only a matter of seeds now.
struct Prepared {
    /// Of each network all that it may be.
    worlds: Vec<Vec<(World, File)>>,
    /// Of each network whether the connection begins by chance.
    by_chance: Vec<bool>,
    specs: Vec<Spec>,
    usual: Vec<Spec>,
    schedulers: Vec<String>,
    /// The sets of subflows that CUBIC is tried on alone.
    fewer: Vec<Vec<String>>,
    /// Of each network the subflows on which CUBIC is what others are judged by; none: all of them.
    judges: Vec<Vec<String>>,
}

impl Prepared {
    fn of(question: &Question) -> Result<Self, Error> {
        let parse =
            |text: &str| Spec::parse(text).map_err(|error| Error::new(Kind::Algorithm, error.to_string()));
        let mut specs: Vec<Spec> = Vec::new();
        let usual_names = CANDIDATES.map(str::to_owned);
        let names = if question.candidates.is_empty() { &usual_names[..] } else { &question.candidates };
        for name in names {
            let spec = parse(name)?;
            if !specs.iter().any(|other| other.text() == spec.text()) {
                specs.push(spec);
            }
        }
        let mut worlds = Vec::new();
        for network in &question.networks {
            let world = |source: &Source| {
                let file = load(source, &question.set)?;
                Ok((World::of(&file)?, file))
            };
            worlds.push(network.may_be.iter().map(world).collect::<Result<Vec<_>, Error>>()?);
        }
        let judges: Vec<Vec<String>> = worlds.iter().map(|world| world[0].0.one_each()).collect();
        let usual = parse(USUAL)?;
        let all = judges.iter().any(Vec::is_empty);
        if all && !specs.iter().any(|spec| spec.text() == USUAL) {
            specs.push(usual.clone());
        }
        let some = judges.iter().filter(|names| !names.is_empty()).chain(&question.using);
        let fewer: BTreeSet<Vec<String>> = some.cloned().collect();
        let schedulers = match &question.schedulers[..] {
            [] => vec![USUAL_SCHEDULER.to_owned()],
            named => named.to_vec(),
        };
        let fewer = fewer.into_iter().collect();
        let by_chance = question.networks.iter().map(|network| network.begins_by_chance).collect();
        Ok(Self { worlds, by_chance, specs, usual: vec![usual], schedulers, fewer, judges })
    }

    /// Leaves out who is none of these, and nobody that others are judged by.
    fn only(&mut self, rows: &[&Row]) {
        let judges =
            |spec: &str, only: &[String]| spec == USUAL && self.judges.iter().any(|judge| judge == only);
        let stays = |spec: &str, only: &[String]| {
            judges(spec, only) || rows.iter().any(|row| row.spec == spec && row.only == only)
        };
        self.specs.retain(|spec| stays(spec.text(), &[]));
        self.fewer.retain(|fewer| stays(USUAL, fewer));
    }

    /// Those seeds that have the same flows in the same order are simulated together.
    fn parts(&self, seeds: Seeds) -> impl Iterator<Item = (Seeds, Order)> {
        let known = self.worlds.iter().all(|world| world.len() == 1)
            && self.by_chance.iter().all(|by_chance| !by_chance);
        let each = move |(seeds, order): (Seeds, Order)| {
            let apart = (seeds.first()..=seeds.last()).filter_map(|seed| Seeds::new(seed, seed));
            if known { vec![seeds] } else { apart.collect() }.into_iter().map(move |seeds| (seeds, order))
        };
        halves(seeds).flat_map(each)
    }

    /// What is simulated with these seeds, each with flows in this order.
    fn plan(&self, seeds: Seeds, order: Order) -> Result<Plan, Error> {
        let schedulers = self.schedulers.iter().map(String::as_str);
        let mut study = Study::new(Vec::<String>::new()).seeds(seeds).schedulers(schedulers);
        for (world, by_chance) in self.worlds.iter().zip(&self.by_chance) {
            let (world, file) = of_seed(world, seeds.first());
            let world = world.beginning_later(if *by_chance { later_ns(seeds.first()) } else { 0 });
            let planned = |cell: Scenario, specs: &Vec<Spec>| {
                let mut file = file.clone();
                file.cells = vec![order.of(cell)];
                Planned { file, specs: specs.clone() }
            };
            study = study
                .planned(planned(world.alone(&[]), &self.specs))
                .planned(planned(world.beside(&[]), &self.specs));
            for only in &self.fewer {
                study = study
                    .planned(planned(world.alone(only), &self.usual))
                    .planned(planned(world.beside(only), &self.usual));
            }
        }
        study.check()
    }

    /// Simulates all candidates with these seeds.
    fn rows(&self, seeds: Seeds, cancel: &Cancel, progress: &mut Progress<'_>) -> Result<Vec<Row>, Error> {
        let plans: Vec<Plan> =
            self.parts(seeds).map(|(seeds, order)| self.plan(seeds, order)).collect::<Result<_, _>>()?;
        progress.total += plans.iter().map(Plan::len).sum::<usize>();
        let (mut runs, mut schedulers) = (Vec::new(), Vec::new());
        for plan in plans {
            let results = plan.execution().cancel(cancel).collect_with(|event| {
                if let Event::Finished(_) = event {
                    progress.done += 1;
                    (progress.tell)(progress.done, progress.total);
                }
            })?;
            if let Some(failed) = results.runs().iter().find(|run| run.status != OK) {
                let message = format!("a run with {} failed: {}", failed.cc, failed.status);
                return Err(Error::new(Kind::Failed, message));
            }
            plan.schedulers().clone_into(&mut schedulers);
            let groups = results.runs().chunks(plan.seeds_of_each()).map(<[Run]>::to_vec);
            if runs.is_empty() {
                runs = groups.collect();
            } else {
                runs.iter_mut().zip(groups).for_each(|(runs, more): (&mut Vec<Run>, _)| runs.extend(more));
            }
        }
        let groups: Vec<&[Run]> = runs.iter().map(Vec::as_slice).collect();
        let (specs, fewer) = (&self.specs, &self.fewer);
        let each = schedulers.len();
        let candidates = specs.len() * each;
        let of_world = groups.chunks(2 * (specs.len() + fewer.len()) * each);
        let mut rows: Vec<Row> =
            specs.iter().flat_map(|spec| schedulers.iter().map(|name| Row::new(spec, name, &[]))).collect();
        for only in fewer {
            rows.extend(schedulers.iter().map(|name| Row::new(&self.usual[0], name, only)));
        }
        for ((world, judge), groups) in self.worlds.iter().zip(&self.judges).zip(of_world) {
            let runs_of = |place: usize| {
                if place < candidates {
                    (groups[place], groups[candidates + place])
                } else {
                    let (set, scheduler) = ((place - candidates) / each, (place - candidates) % each);
                    let first = 2 * candidates + 2 * set * each;
                    (groups[first + scheduler], groups[first + each + scheduler])
                }
            };
            // With the first scheduler: which one it is hardly matters to a subflow that has a bottleneck of its own.
            let judge = rows.iter().position(|row| row.spec == USUAL && row.only == *judge);
            let (_, usual) = runs_of(judge.expect("it is always a candidate"));
            let name = world[0].0.asked();
            let may_be: Vec<Vec<Flow>> = world.iter().map(|(world, _)| world.others()).collect();
            let with_seed: Vec<&Vec<Flow>> =
                (seeds.first()..=seeds.last()).map(|seed| of_seed(&may_be, seed)).collect();
            let others = OtherFlows::of(&may_be, &with_seed);
            let windows = world[0].0.windows(usual);
            for (place, row) in rows.iter_mut().enumerate() {
                let (alone, beside) = runs_of(place);
                let one_each = world.iter().all(|(world, _)| world.has_one_path_each(&row.only));
                let is_usual = row.spec == USUAL && one_each;
                let several_shares =
                    !one_each && (!row.is_coupled || world[0].0.has_too_many(&row.only, &windows));
                let losses = others.lose(beside, usual);
                row.add(Figures {
                    seeds: goodputs(name, alone, beside),
                    losses: losses.of_flows,
                    losses_at: losses.of_bottlenecks,
                    usual: is_usual,
                    several_shares,
                });
            }
        }
        Ok(rows)
    }
}

/// How much later a connection begins by chance: with each seed at another time.
fn later_ns(seed: u64) -> u64 {
    ((seed as f64 * GOLDEN).fract() * LATEST_NS) as u64
}

/// In which order flows begin that begin at the same time. The first one's packets are before the others' in every round of slow
/// start, so it leaves slow start last and has twice as much for a minute (docs/tcp-model.md): nothing that an algorithm deserves.
#[derive(Clone, Copy)]
enum Order {
    AsListed,
    Reversed,
}

impl Order {
    fn of(self, mut cell: Scenario) -> Scenario {
        if let Self::Reversed = self {
            cell.connections.reverse();
        }
        cell
    }
}

/// One half of the seeds in one order, one in the other.
fn halves(seeds: Seeds) -> impl Iterator<Item = (Seeds, Order)> {
    let (first, last) = (seeds.first(), seeds.last());
    let middle = first + (last - first) / 2;
    let other = Seeds::new(middle + 1, last).map(|seeds| (seeds, Order::Reversed));
    Seeds::new(first, middle).map(|seeds| (seeds, Order::AsListed)).into_iter().chain(other)
}

/// A network, and which connection the question is about.
#[derive(Clone)]
struct World {
    cell: Scenario,
    /// Place of the connection.
    asked: usize,
    /// Each bottleneck that it passes, and the route of least delay there.
    bottlenecks: BTreeMap<usize, Vec<usize>>,
}

impl World {
    fn of(file: &File) -> Result<Self, Error> {
        let [cell] = &file.cells[..] else {
            let message =
                format!("{}: parameters make {} networks of it", file.cells[0].name, file.cells.len());
            return Err(
                Error::new(Kind::Input, message).hint("give each parameter one value in a copy of the file")
            );
        };
        let Some(asked) = cell.connections.iter().position(|connection| connection.kind == Of::Mptcp) else {
            let message = format!("{} has no MPTCP connection, which advice could be about", cell.name);
            return Err(Error::new(Kind::Input, message)
                .hint("add one: kind = \"mptcp\" with a subflow for each path"));
        };
        let mut cell = cell.clone();
        // The candidates' turn.
        cell.connections[asked].cc = None;
        cell.connections[asked].scheduler = None;
        let mut bottlenecks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for subflow in &cell.connections[asked].subflows {
            let best =
                bottlenecks.entry(cell.bottleneck(&subflow.route)).or_insert_with(|| subflow.route.clone());
            if delay_ns(&cell, &subflow.route) < delay_ns(&cell, best) {
                best.clone_from(&subflow.route);
            }
        }
        Ok(Self { cell, asked, bottlenecks })
    }

    /// The same, where the connection begins so much later.
    fn beginning_later(&self, ns: u64) -> Self {
        let mut later = self.clone();
        later.cell.duration_ns += ns;
        later.cell.warmup_ns += ns;
        let connection = &mut later.cell.connections[self.asked];
        connection.start_ns += ns;
        connection.stop_ns = connection.stop_ns.map(|stop_ns| stop_ns + ns);
        for subflow in &mut connection.subflows {
            subflow
                .up
                .iter_mut()
                .for_each(|(from_ns, to_ns)| (*from_ns, *to_ns) = (*from_ns + ns, to_ns.saturating_add(ns)));
            subflow.reroutes.iter_mut().for_each(|change| change.at_ns += ns);
        }
        later
    }

    /// At each bottleneck the subflow of least delay of those that stay there; if none does anywhere, that of least delay. None: all of them.
    fn one_each(&self) -> Vec<String> {
        let subflows = &self.cell.connections[self.asked].subflows;
        let best = |bottleneck: &usize| {
            let there = subflows.iter().filter(|subflow| self.cell.bottleneck(&subflow.route) == *bottleneck);
            there.filter(|subflow| stays(subflow)).min_by_key(|subflow| delay_ns(&self.cell, &subflow.route))
        };
        let mut best: Vec<&Subflow> = self.bottlenecks.keys().filter_map(best).collect();
        if best.is_empty() {
            best.extend(subflows.iter().min_by_key(|subflow| delay_ns(&self.cell, &subflow.route)));
        }
        let mut names: Vec<String> = best.into_iter().map(|subflow| subflow.name.clone()).collect();
        names.sort();
        if names.len() < subflows.len() { names } else { Vec::new() }
    }

    /// Whether no two of these subflows ever have the same bottleneck.
    fn has_one_path_each(&self, only: &[String]) -> bool {
        let mut seen = BTreeSet::new();
        let cell = self.alone(only);
        let subflows = &cell.connections[self.asked].subflows;
        subflows.iter().all(|subflow| stays(subflow) && seen.insert(cell.bottleneck(&subflow.route)))
    }

    /// At each bottleneck how many packets the subflow there has on their way, on average.
    fn windows(&self, runs: &[Run]) -> BTreeMap<usize, f64> {
        let mut windows: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let connections = runs.iter().flat_map(|run| &run.connections).filter(|one| one.id == self.asked());
        for subflow in connections.flat_map(|ours| &ours.subflows) {
            let own = self.cell.connections[self.asked].subflows.iter().find(|own| own.name == subflow.id);
            let bottleneck = self.cell.bottleneck(&own.expect("it is in the network's file").route);
            windows.entry(bottleneck).or_default().extend(subflow.mean_cwnd);
        }
        windows.into_iter().map(|(bottleneck, each)| (bottleneck, mean(&each))).collect()
    }

    /// Whether several of these are at a bottleneck where they have several shares whatever their algorithm: each has a queue of its own, which
    /// is served in turn, or all of them have more packets there at least than a single flow.
    fn has_too_many(&self, only: &[String], windows: &BTreeMap<usize, f64>) -> bool {
        let cell = self.alone(only);
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for subflow in &cell.connections[self.asked].subflows {
            *counts.entry(cell.bottleneck(&subflow.route)).or_default() += 1;
        }
        let each_has_a_queue =
            |at: usize| matches!(cell.links[at].forward.discipline, Discipline::FqCoDel(_));
        let is_less = |window: &f64, count: u32| *window < LEAST_WINDOW * f64::from(count);
        let mut several = counts.into_iter().filter(|(_, count)| *count > 1);
        several.any(|(at, count)| {
            each_has_a_queue(at) || windows.get(&at).is_some_and(|window| is_less(window, count))
        })
    }

    /// With only these subflows, if any are named.
    fn alone(&self, only: &[String]) -> Scenario {
        let mut cell = self.cell.clone();
        if !only.is_empty() {
            let subflows = &mut cell.connections[self.asked].subflows;
            subflows.retain(|subflow| only.contains(&subflow.name));
            // It begins with what is there.
            subflows[0].join_delay_ns = None;
        }
        cell
    }

    /// With a TCP flow of somebody else at each bottleneck.
    fn beside(&self, only: &[String]) -> Scenario {
        let mut cell = self.alone(only);
        cell.connections.extend(self.bottlenecks.iter().map(|(bottleneck, route)| Connection {
            name: format!("beside-{}", self.cell.links[*bottleneck].name),
            kind: Of::Tcp,
            cc: Some(USUAL.to_owned()),
            scheduler: None,
            traffic: Traffic::Bulk,
            subflows: vec![Subflow {
                name: "sf1".to_owned(),
                route: route.clone(),
                join_delay_ns: None,
                up: Vec::new(),
                backup: false,
                reroutes: Vec::new(),
            }],
            ..self.cell.connections[self.asked].clone()
        }));
        cell
    }

    /// The connection's name.
    fn asked(&self) -> &str {
        &self.cell.connections[self.asked].name
    }

    /// Flows of others that take what they get, beside TCP.
    fn others(&self) -> Vec<Flow> {
        let cell = self.beside(&[]);
        let takes_all = |one: &Connection| matches!(one.traffic, Traffic::Bulk) && one.name != self.asked();
        let shares = fair_shares(&cell);
        let all = cell.connections.iter().zip(&shares).filter(|(one, _)| takes_all(one));
        let flow = |(one, share): (&Connection, &Available)| Flow {
            name: one.name.clone(),
            bottleneck: self.cell.links[self.cell.bottleneck(&one.subflows[0].route)].name.clone(),
            fair_bps: share.total,
        };
        all.map(flow).collect()
    }
}

/// A path that changes its bottleneck may come to where another one is.
fn stays(subflow: &Subflow) -> bool {
    subflow.reroutes.is_empty()
}

fn delay_ns(cell: &Scenario, route: &[usize]) -> u64 {
    let both = |&link: &usize| cell.links[link].forward.delay_ns + cell.links[link].reverse.delay_ns;
    route.iter().map(both).sum()
}

/// What a network is with a seed.
fn of_seed<T>(draws: &[T], seed: u64) -> &T {
    &draws[(seed % draws.len() as u64) as usize]
}

/// What the connection has, seed by seed.
fn goodputs(name: &str, alone: &[Run], beside: &[Run]) -> Vec<Seed> {
    let goodput = |run: &Run| goodput_bps(run, name).unwrap_or_default();
    let seed = |(alone, beside)| Seed { alone_bps: goodput(alone), beside_bps: goodput(beside) };
    alone.iter().zip(beside).map(seed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_seeds_have_one_order_of_flows_and_half_the_other() {
        let counts = |seeds: std::ops::RangeInclusive<u64>| -> Vec<(u64, u64, bool)> {
            halves(seeds.into())
                .map(|(seeds, order)| (seeds.first(), seeds.last(), matches!(order, Order::Reversed)))
                .collect()
        };
        assert_eq!(counts(1..=10), [(1, 5, false), (6, 10, true)]);
        assert_eq!(counts(101..=107), [(101, 104, false), (105, 107, true)]);
        assert_eq!(counts(3..=3), [(3, 3, false)]);
    }

    #[test]
    fn cubic_on_bottlenecks_of_its_own_takes_from_others_what_tcp_takes() {
        // A line fast enough that who begins first has more for long.
        let text = "title = \"Fast\"\nduration = \"20s\"\nwarmup = \"5s\"\ncc = [\"cubic\"]\n\
                    [link.one]\nrate = \"100mbit\"\nrtt = \"50ms\"\nqueue = \"400p\"\njitter = \"100us\"\n\
                    [link.other]\nrate = \"50mbit\"\nrtt = \"70ms\"\nqueue = \"300p\"\njitter = \"100us\"\n\
                    [connection.mp0]\nkind = \"mptcp\"\n\
                    [connection.mp0.subflow.sf1]\nroute = [\"one\"]\n\
                    [connection.mp0.subflow.sf2]\nroute = [\"other\"]\n";
        let network = Source { name: "fast".into(), text: text.into() };
        let advice = Question::new(network).candidates(["cubic"]).seeds(5).ask().unwrap();
        let cubic = &advice.rows[0];
        assert!(cubic.is_usual() && advice.rows.len() == 1);
        assert!(cubic.mean_harm().abs() < 0.1, "{:?}", cubic.harm());
    }

    /// One path of 20 Mbit/s, and so many flows of others.
    fn beside(others: usize) -> Source {
        let mut text = "title = \"One\"\nduration = \"10s\"\nwarmup = \"5s\"\ncc = [\"cubic\"]\n\
                        [link.one]\nrate = \"20mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"\njitter = \"100us\"\n\
                        [connection.mp0]\nkind = \"mptcp\"\n\
                        [connection.mp0.subflow.sf1]\nroute = [\"one\"]\n"
            .to_owned();
        let other = |other| {
            format!("[connection.other-{other}]\nkind = \"tcp\"\ncc = \"cubic\"\nroute = [\"one\"]\n")
        };
        text.extend((1..=others).map(other));
        Source { name: "one".into(), text }
    }

    #[test]
    fn each_seed_has_a_network_of_its_own_where_it_may_be_any_of_several() {
        let of = |network: Network| {
            let advice = Question::new(network).candidates(["cubic"]).seeds(4).ask().unwrap();
            advice.rows[0].alone_bps() / 1e6
        };
        let [alone, with_two] = [0, 2].map(|others| of(beside(others).into()));
        let either = of(vec![beside(0), beside(2)].into());
        assert!(alone > 1.5 * with_two, "{alone} {with_two}");
        assert!(
            (either / f64::midpoint(alone, with_two) - 1.0).abs() < 0.2,
            "{either} of {alone} and {with_two}"
        );
    }

    #[test]
    fn a_connection_begins_at_any_time_of_what_others_do_and_is_measured_for_as_long() {
        let network = Network::from(beside(1)).beginning_by_chance();
        let prepared = Prepared::of(&Question::new(network).candidates(["cubic"])).unwrap();
        let mut quarters = BTreeSet::new();
        for seed in 1..=8 {
            let plan = prepared.plan(Seeds::new(seed, seed).unwrap(), Order::AsListed).unwrap();
            let cell = |of: usize| &plan.files()[of].file.cells[0];
            let (alone, beside) = (cell(0), cell(1));
            let starts =
                |cell: &Scenario| cell.connections.iter().map(|one| one.start_ns).collect::<Vec<_>>();
            let own = starts(alone)[0];
            assert_eq!((starts(alone), starts(beside)), (vec![own, 0], vec![own, 0, own]));
            assert_eq!((alone.warmup_ns, alone.duration_ns), (5_000_000_000 + own, 10_000_000_000 + own));
            quarters.insert(own / 5_000_000_000);
        }
        assert_eq!(quarters.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_flow_loses_nothing_where_it_is_not_there() {
        let question = Question::new(vec![beside(1), beside(0)]).candidates(["cubic"]).seeds(4);
        let prepared = Prepared::of(&question).unwrap();
        let mut tell = |_, _| ();
        let mut progress = Progress { done: 0, total: 0, tell: &mut tell };
        let rows = prepared.rows(4.into(), &Cancel::new(), &mut progress).unwrap();
        assert_eq!(
            prepared.worlds[0].iter().map(|(world, _)| world.others().len()).collect::<Vec<_>>(),
            [2, 1]
        );
        assert!(rows[0].harm().unwrap().n == 4 && progress.done == 4 * 2, "{:?}", rows[0].harm());
    }

    #[test]
    fn only_those_between_whom_it_is_open_are_simulated_further_and_who_others_are_judged_by() {
        let question = Question::new(beside(1)).candidates(["cubic", "lia", "olia"]).seeds(3);
        let advice = question.ask_until(2, |_| vec![1], |_, _| ()).unwrap();
        assert_eq!(advice.rows.iter().map(Row::seeds).collect::<Vec<_>>(), [6, 6, 3]);
        assert_ne!(advice.choice().spec, "olia", "who is out of the race is not chosen");
    }

    #[test]
    fn others_are_judged_by_cubic_though_nobody_asks_for_it() {
        let advice = Question::new(beside(1)).candidates(["lia"]).seeds(2).ask().unwrap();
        assert_eq!(advice.rows.iter().map(|row| row.spec.as_str()).collect::<Vec<_>>(), ["lia", "cubic"]);
        let usual = &advice.rows[1];
        assert!(usual.is_usual() && usual.harm().unwrap().mean.abs() < 1e-12, "{usual:?}");
    }

    #[test]
    fn subflows_with_a_queue_each_or_more_packets_at_least_than_a_tcp_flow_are_several_shares() {
        let several = |one: &str| {
            let mut text = beside(3).text.replace("rate = \"20mbit\"", one);
            text.push_str("[link.near]\nrate = \"1gbit\"\nrtt = \"2ms\"\nqueue = \"1000p\"\n");
            text = text.replace("queue = \"50p\"", "queue = \"5p\"").replace(
                "route = [\"one\"]\n[connection.other-1]",
                "route = [\"one\"]\n[connection.mp0.subflow.sf2]\nroute = [\"near\", \"one\"]\n[connection.other-1]",
            );
            let network = Source { name: "two".into(), text };
            let advice = Question::new(network).candidates(["lia"]).seeds(2).ask().unwrap();
            assert_eq!((advice.rows[0].spec.as_str(), advice.rows[0].is_usual()), ("lia", false));
            advice.rows[0].has_several_shares()
        };
        assert_eq!([several("rate = \"300kbit\""), several("rate = \"20mbit\"")], [true, false]);
        assert!(several("rate = \"20mbit\"\ndiscipline = \"fq-codel\""), "each has a queue of its own");
    }

    #[test]
    fn who_is_left_may_be_cubic_on_some_paths_alone() {
        let network = Source::find("everyday/shared").unwrap();
        let question = Question::new(network).candidates(["lia"]).duration("15s").seeds(2);
        let advice = question.ask_until(2, |_| vec![1], |_, _| ()).unwrap();
        assert_eq!(advice.rows.iter().map(Row::seeds).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(advice.choice().only.len(), 1);
    }
}
