//! The question: networks and candidates, and what is simulated to answer it.

use std::collections::{BTreeMap, BTreeSet};

use braid_algorithms::Spec;
use braid_results::{OK, Run};
use braid_scenario::model::{Connection, Kind as Of, Scenario, Subflow, Traffic};
use braid_scenario::{File, Source};
use braid_study::{Cancel, Error, Event, Kind, Plan, Planned, Seeds, Study, load};

use crate::choice::{Advice, Figures, Row, Seed};

/// Who is asked when nobody is named. What is first wins where the difference is small: CUBIC is in every kernel.
pub const CANDIDATES: [&str; 5] = ["cubic", "lia", "olia", "balia", "weave"];
/// What others use.
const USUAL: &str = "cubic";
/// What unmodified Linux sends by; it costs coupled algorithms more than `minrtt` does, so advice for a router is made with it.
const USUAL_SCHEDULER: &str = "linux";

/// Where it is in doubt whether a better candidate harms others there are up to so many times as many seeds.
const MOST_TIMES: u64 = 4;

/// Networks, candidates, and how carefully to look.
#[derive(Clone, Debug)]
pub struct Question {
    networks: Vec<Source>,
    candidates: Vec<String>,
    schedulers: Vec<String>,
    using: Vec<Vec<String>>,
    set: Vec<String>,
    seeds: Seeds,
    cancel: Cancel,
}

impl Question {
    /// About the first MPTCP connection of this network.
    pub fn new(network: Source) -> Self {
        Self::either([network])
    }

    /// About a network that may be any of these.
    pub fn either(networks: impl IntoIterator<Item = Source>) -> Self {
        Self {
            networks: networks.into_iter().collect(),
            candidates: Vec::new(),
            schedulers: Vec::new(),
            using: Vec::new(),
            set: Vec::new(),
            seeds: Seeds::from(10),
            cancel: Cancel::new(),
        }
    }

    /// Congestion controls, each `NAME[:key=value]...`; [`CANDIDATES`] unless any is named. The first one wins where they
    /// hardly differ.
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

    /// CUBIC on these subflows alone, by name, is a candidate, too; on one of each bottleneck it always is.
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

    /// Repeats every run with these seeds; 10. Flows differ much from run to run: with fewer, harm does not show. Where it is in doubt whether
    /// a candidate harms others that would be better than the choice, as many follow again, up to three times.
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
    pub fn ask_with(self, mut tell: impl FnMut(usize, usize)) -> Result<Advice, Error> {
        let prepared = Prepared::of(&self)?;
        let mut progress = Progress { done: 0, total: 0, tell: &mut tell };
        let mut advice = Advice::of(prepared.rows(self.seeds, &self.cancel, &mut progress)?);
        let mut seeds = self.seeds;
        for _ in 1..MOST_TIMES {
            let next = following(seeds).filter(|_| advice.is_open());
            let Some(next) = next else { break };
            seeds = next;
            advice = advice.with(prepared.rows(seeds, &self.cancel, &mut progress)?);
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
    worlds: Vec<(World, File)>,
    specs: Vec<Spec>,
    usual: Vec<Spec>,
    schedulers: Vec<String>,
    /// The sets of subflows that CUBIC is tried on alone.
    fewer: Vec<Vec<String>>,
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
            let file = load(network, &question.set)?;
            worlds.push((World::of(&file)?, file));
        }
        // One path of each bottleneck in any of the networks.
        let mut fewer: BTreeSet<Vec<String>> = worlds.iter().filter_map(|(world, _)| world.fewer()).collect();
        fewer.extend(question.using.iter().cloned());
        let schedulers = match &question.schedulers[..] {
            [] => vec![USUAL_SCHEDULER.to_owned()],
            named => named.to_vec(),
        };
        let fewer = fewer.into_iter().collect();
        Ok(Self { worlds, specs, usual: vec![parse(USUAL)?], schedulers, fewer })
    }

    /// What is simulated with these seeds, each with flows in this order.
    fn plan(&self, seeds: Seeds, order: Order) -> Result<Plan, Error> {
        let schedulers = self.schedulers.iter().map(String::as_str);
        let mut study = Study::new(Vec::<String>::new()).seeds(seeds).schedulers(schedulers);
        for (world, file) in &self.worlds {
            let planned = |cell: Scenario, specs: &Vec<Spec>| {
                let mut file = file.clone();
                file.cells = vec![order.of(cell)];
                Planned { file, specs: specs.clone() }
            };
            study = study
                .planned(planned(world.alone(&[]), &self.specs))
                .planned(planned(world.beside(&[]), &self.specs))
                .planned(planned(world.instead(), &self.usual));
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
            halves(seeds).map(|(seeds, order)| self.plan(seeds, order)).collect::<Result<_, _>>()?;
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
        let of_world = groups.chunks((2 * specs.len() + 1 + 2 * fewer.len()) * each);
        let mut rows: Vec<Row> =
            specs.iter().flat_map(|spec| schedulers.iter().map(|name| Row::new(spec, name, &[]))).collect();
        for only in fewer {
            rows.extend(schedulers.iter().map(|name| Row::new(&self.usual[0], name, only)));
        }
        for ((world, _), groups) in self.worlds.iter().zip(of_world) {
            // The schedulers of others do not matter: they have one path.
            let instead = groups[2 * candidates];
            for (place, row) in rows.iter_mut().enumerate() {
                let (alone, beside) = if place < candidates {
                    (groups[place], groups[candidates + place])
                } else {
                    let (set, scheduler) = ((place - candidates) / each, (place - candidates) % each);
                    let first = 2 * candidates + each + 2 * set * each;
                    (groups[first + scheduler], groups[first + each + scheduler])
                };
                let seeds = world.seeds(alone, beside);
                let one_each = world.has_one_path_each(&row.only);
                let (usual, several_shares) = (row.spec == USUAL && one_each, !row.is_coupled && !one_each);
                row.add(Figures { seeds, losses: world.losses(beside, instead), usual, several_shares });
            }
        }
        Ok(rows)
    }
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

/// How many of so many seeds go first, in the order listed.
fn as_listed(count: usize) -> usize {
    count.div_ceil(2)
}

/// One half of the seeds in one order, one in the other.
fn halves(seeds: Seeds) -> impl Iterator<Item = (Seeds, Order)> {
    let (first, last) = (seeds.first(), seeds.last());
    let middle = first + (last - first) / 2;
    let other = Seeds::new(middle + 1, last).map(|seeds| (seeds, Order::Reversed));
    Seeds::new(first, middle).map(|seeds| (seeds, Order::AsListed)).into_iter().chain(other)
}

/// The same mean, and the scatter that there is within each order: what the order does is no chance.
fn within_orders(mut losses: Vec<f64>) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let count = losses.len() as f64;
    if losses.len() < 4 {
        return losses;
    }
    let all = mean(&losses);
    let (one, other) = losses.split_at_mut(as_listed(count as usize));
    // Two means were taken from them, and who reads them expects one.
    let wider = ((count - 1.0) / (count - 2.0)).sqrt();
    for half in [one, other] {
        let own = mean(half);
        for loss in half.iter_mut() {
            *loss = all + (*loss - own) * wider;
        }
    }
    losses
}

/// A network, and which connection the question is about.
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
        let delay_ns = |route: &[usize]| {
            route
                .iter()
                .map(|&link| cell.links[link].forward.delay_ns + cell.links[link].reverse.delay_ns)
                .sum::<u64>()
        };
        let mut bottlenecks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for subflow in &cell.connections[asked].subflows {
            let best =
                bottlenecks.entry(cell.bottleneck(&subflow.route)).or_insert_with(|| subflow.route.clone());
            if delay_ns(&subflow.route) < delay_ns(best) {
                best.clone_from(&subflow.route);
            }
        }
        Ok(Self { cell, asked, bottlenecks })
    }

    /// The subflows of least delay at each bottleneck, if there are others.
    fn fewer(&self) -> Option<Vec<String>> {
        let subflows = &self.cell.connections[self.asked].subflows;
        if self.bottlenecks.len() == subflows.len() {
            return None;
        }
        let of = |route: &Vec<usize>| subflows.iter().find(|subflow| subflow.route == *route);
        let mut names: Vec<String> =
            self.bottlenecks.values().filter_map(of).map(|subflow| subflow.name.clone()).collect();
        names.sort();
        Some(names)
    }

    /// Whether no two of these subflows ever have the same bottleneck.
    fn has_one_path_each(&self, only: &[String]) -> bool {
        let mut seen = BTreeSet::new();
        let cell = self.alone(only);
        // A path that moves may come to where another one is.
        let stays = |subflow: &Subflow| subflow.reroutes.is_empty();
        let subflows = &cell.connections[self.asked].subflows;
        subflows.iter().all(|subflow| stays(subflow) && seen.insert(cell.bottleneck(&subflow.route)))
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
        cell.connections.extend(self.tcp("beside"));
        cell
    }

    /// As [`World::beside`], with a TCP flow at each bottleneck in place of the connection; in its place among the connections, too
    /// ([`Order`]).
    fn instead(&self) -> Scenario {
        let mut cell = self.beside(&[]);
        let traffic = &cell.connections[self.asked].traffic;
        let tcp = self.tcp("instead").map(|connection| Connection { traffic: traffic.clone(), ..connection });
        let tcp: Vec<Connection> = tcp.collect();
        cell.connections.splice(self.asked..=self.asked, tcp);
        cell
    }

    fn tcp(&self, name: &str) -> impl Iterator<Item = Connection> {
        self.bottlenecks.iter().map(move |(bottleneck, route)| Connection {
            name: format!("{name}-{bottleneck}"),
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
        })
    }

    /// What the connection has, seed by seed.
    fn seeds(&self, alone: &[Run], beside: &[Run]) -> Vec<Seed> {
        let name = &self.cell.connections[self.asked].name;
        let goodput =
            |run: &Run| run.connections.iter().find(|one| one.id == *name).map_or(0.0, |one| one.goodput_bps);
        let seed =
            |(alone, beside): (&Run, &Run)| Seed { alone_bps: goodput(alone), beside_bps: goodput(beside) };
        alone.iter().zip(beside).map(seed).collect()
    }

    /// What each flow that takes what it gets loses against what TCP in the place of the connection leaves it, as a share, seed by
    /// seed.
    fn losses(&self, beside: &[Run], instead: &[Run]) -> Vec<Vec<f64>> {
        let asked = &self.cell.connections[self.asked].name;
        let cell = self.beside(&[]);
        let takes_all = |one: &&Connection| matches!(one.traffic, Traffic::Bulk) && one.name != *asked;
        let loses = |flow: &Connection| -> Vec<f64> {
            let goodput =
                |run: &Run| run.connections.iter().find(|one| one.id == flow.name).map(|one| one.goodput_bps);
            let kept: Vec<f64> = instead.iter().filter_map(goodput).collect();
            let mean = kept.iter().sum::<f64>() / kept.len().max(1) as f64;
            let losses = kept.iter().zip(beside.iter().filter_map(goodput));
            within_orders(losses.map(|(kept, left)| (kept - left) / mean).collect())
        };
        cell.connections.iter().filter(takes_all).map(loses).collect()
    }
}

#[cfg(test)]
mod tests {
    use braid_results::Statistics;

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
    fn what_the_order_of_flows_does_is_in_the_mean_of_a_loss_and_not_in_its_scatter() {
        let losses = within_orders(vec![0.29, 0.3, 0.31, -0.11, -0.1, -0.09]);
        let statistics = Statistics::of(&losses).unwrap();
        assert!((statistics.mean - 0.1).abs() < 1e-9);
        // Squares of 0.01 four times, and two means for six values.
        assert!((statistics.sd.unwrap() - (4e-4_f64 / 4.0).sqrt()).abs() < 1e-9, "{statistics:?}");
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
}
