//! The question: networks and candidates, and what is simulated to answer it.

use std::collections::BTreeMap;

use braid_algorithms::Spec;
use braid_results::{OK, Run, Statistics};
use braid_scenario::model::{Connection, Kind as Of, Scenario, Subflow, Traffic};
use braid_scenario::{File, Source};
use braid_study::{Cancel, Error, Event, Kind, Planned, Seeds, Study, load};

use crate::choice::{Advice, Row, Seed, least};

/// Who is asked when nobody is named. What is first wins where the difference is small: CUBIC is in every kernel.
pub const CANDIDATES: [&str; 5] = ["cubic", "lia", "olia", "balia", "weave"];
/// What others use.
const USUAL: &str = "cubic";

/// Networks, candidates, and how carefully to look.
#[derive(Clone, Debug)]
pub struct Question {
    networks: Vec<Source>,
    candidates: Vec<String>,
    schedulers: Vec<String>,
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

    /// Packet schedulers; the usual one unless any is named.
    #[must_use]
    pub fn schedulers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.schedulers.extend(names.into_iter().map(Into::into));
        self
    }

    /// How long each run is, instead of what the network's file says: `20s`.
    #[must_use]
    pub fn duration(mut self, duration: &str) -> Self {
        self.set.push(format!("duration={duration}"));
        self
    }

    /// Repeats every run with these seeds; 10. Flows differ much from run to run: with fewer, harm does not show.
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
        let names =
            if self.candidates.is_empty() { CANDIDATES.map(str::to_owned).to_vec() } else { self.candidates };
        let parse =
            |text: &str| Spec::parse(text).map_err(|error| Error::new(Kind::Algorithm, error.to_string()));
        let mut specs: Vec<Spec> = Vec::new();
        for name in &names {
            let spec = parse(name)?;
            if !specs.iter().any(|other| other.text() == spec.text()) {
                specs.push(spec);
            }
        }
        let usual = vec![parse(USUAL)?];
        let mut study = Study::new(Vec::<String>::new()).seeds(self.seeds).schedulers(self.schedulers);
        let mut worlds = Vec::new();
        for network in &self.networks {
            let file = load(network, &self.set)?;
            let world = World::of(&file)?;
            let planned = |cell: Scenario, specs: &Vec<Spec>| {
                let mut file = file.clone();
                file.cells = vec![cell];
                Planned { file, specs: specs.clone() }
            };
            study = study
                .planned(planned(world.alone(), &specs))
                .planned(planned(world.beside(), &specs))
                .planned(planned(world.instead(), &usual));
            worlds.push(world);
        }
        let plan = study.check()?;
        let total = plan.len();
        let mut done = 0;
        let results = plan.execution().cancel(&self.cancel).collect_with(|event| {
            if let Event::Finished(_) = event {
                done += 1;
                tell(done, total);
            }
        })?;
        if let Some(failed) = results.runs().iter().find(|run| run.status != OK) {
            let message = format!("a run with {} failed: {}", failed.cc, failed.status);
            return Err(Error::new(Kind::Failed, message));
        }
        let schedulers = plan.schedulers().to_vec();
        let groups: Vec<&[Run]> = results.runs().chunks(plan.seeds_of_each()).collect();
        let candidates = specs.len() * schedulers.len();
        let of_world = groups.chunks(2 * candidates + schedulers.len());
        let mut rows: Vec<Row> =
            specs.iter().flat_map(|spec| schedulers.iter().map(|name| Row::new(spec, name))).collect();
        for (world, groups) in worlds.iter().zip(of_world) {
            for (place, row) in rows.iter_mut().enumerate() {
                let (alone, beside) = (groups[place], groups[candidates + place]);
                // The schedulers of others do not matter: they have one path.
                let instead = groups[2 * candidates];
                row.add(world.seeds(alone, beside), world.harm(beside, instead));
            }
        }
        Ok(Advice::of(rows))
    }
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

    fn alone(&self) -> Scenario {
        self.cell.clone()
    }

    /// With a TCP flow of somebody else at each bottleneck.
    fn beside(&self) -> Scenario {
        let mut cell = self.cell.clone();
        cell.connections.extend(self.tcp("beside"));
        cell
    }

    /// As [`World::beside`], with a TCP flow at each bottleneck in place of the connection.
    fn instead(&self) -> Scenario {
        let mut cell = self.beside();
        let traffic = cell.connections.remove(self.asked).traffic;
        cell.connections.extend(
            self.tcp("instead").map(|connection| Connection { traffic: traffic.clone(), ..connection }),
        );
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

    /// What a flow that takes what it gets loses against what TCP in the place of the connection leaves it, as a share; of the flow
    /// that most certainly loses most.
    fn harm(&self, beside: &[Run], instead: &[Run]) -> Option<Statistics> {
        let asked = &self.cell.connections[self.asked].name;
        let cell = self.beside();
        let takes_all = |one: &&Connection| matches!(one.traffic, Traffic::Bulk) && one.name != *asked;
        let loses = |flow: &Connection| {
            let goodput =
                |run: &Run| run.connections.iter().find(|one| one.id == flow.name).map(|one| one.goodput_bps);
            let kept: Vec<f64> = instead.iter().filter_map(goodput).collect();
            let mean = kept.iter().sum::<f64>() / kept.len().max(1) as f64;
            let lost =
                kept.iter().zip(beside.iter().filter_map(goodput)).map(|(kept, left)| (kept - left) / mean);
            Statistics::of(&lost.collect::<Vec<f64>>())
        };
        let flows = cell.connections.iter().filter(takes_all).filter_map(loses);
        flows.max_by(|one, other| least(one).total_cmp(&least(other)))
    }
}
