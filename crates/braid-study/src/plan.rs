//! A list of runs, all of which have been checked.

use std::sync::OnceLock;

use braid_algorithms::Spec;
use braid_results::{Run, Summary, summary, theory};
use braid_scenario::File;
use braid_scenario::model::Scenario;
use serde::{Deserialize, Serialize};

use crate::{Backend, Cancel, Case, Error, Group, Key, Kind, Request, Seeds, Sim, Stop};

/// More runs than this at once would not fit into memory.
const MOST_RUNS: usize = 1_000_000;

/// Everything that is to be run: by file, cell, congestion control, backend, scheduler and seed, the last varying fastest.
pub struct Plan {
    files: Vec<Planned>,
    backends: Vec<Box<dyn Backend>>,
    schedulers: Vec<String>,
    groups: Vec<Place>,
    /// Of each group, without seeds.
    keys: OnceLock<Vec<Key>>,
}

/// A backend, its schedulers, and seeds of its own.
type Axis = (Box<dyn Backend>, Vec<String>, Option<Seeds>);

/// A scenario file and the congestion controls to run it with.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What it says, with what was set.
    pub file: File,
    /// At least one.
    pub specs: Vec<Spec>,
}

/// A cell of a planned file with one of its congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Unit {
    /// Index of the file.
    pub file: usize,
    /// Index among the cells of the file.
    pub cell: usize,
    /// Index among the congestion controls of the file.
    pub spec: usize,
    /// The seeds of its runs.
    pub seeds: Seeds,
}

/// A group, by indices.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Place {
    pub(crate) unit: Unit,
    pub(crate) backend: usize,
    pub(crate) scheduler: String,
    /// [`Backend::adapted`]
    adapted: Option<Box<Scenario>>,
    /// Number of its first run.
    first: usize,
}

impl Place {
    fn runs(&self) -> usize {
        self.unit.seeds.count().unwrap_or(usize::MAX)
    }
}

impl Plan {
    /// Of these units, on each backend with each of its schedulers; a backend may have seeds of its own.
    pub(crate) fn new(files: Vec<Planned>, units: &[Unit], backends: Vec<Axis>) -> Result<Self, Error> {
        let mut groups = Vec::new();
        for &unit in units {
            let cell = &files[unit.file].file.cells[unit.cell];
            for (index, (backend, schedulers, seeds)) in backends.iter().enumerate() {
                let unit = Unit { seeds: seeds.unwrap_or(unit.seeds), ..unit };
                groups.extend(schedulers.iter().map(|scheduler| Place {
                    unit,
                    backend: index,
                    scheduler: scheduler.clone(),
                    adapted: backend.adapted(cell).map(Box::new),
                    first: 0,
                }));
            }
        }
        let backends = backends.into_iter().map(|(backend, ..)| backend).collect();
        Self::of_groups(files, backends, groups)
    }

    fn of_groups(
        files: Vec<Planned>,
        backends: Vec<Box<dyn Backend>>,
        mut groups: Vec<Place>,
    ) -> Result<Self, Error> {
        let mut len: usize = 0;
        let mut schedulers: Vec<String> = Vec::new();
        for place in &mut groups {
            place.first = len;
            len = len.saturating_add(place.runs());
            if !schedulers.contains(&place.scheduler) {
                schedulers.push(place.scheduler.clone());
            }
        }
        if len > MOST_RUNS {
            let message = format!("more than {MOST_RUNS} runs at once");
            return Err(Error::new(Kind::TooMany, message).hint("ask for fewer seeds at a time"));
        }
        Ok(Self { files, backends, schedulers, groups, keys: OnceLock::new() })
    }

    /// Number of runs; at least one.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.groups.last().map_or(0, |place| place.first + place.runs())
    }

    /// The files, in the order asked for.
    pub fn files(&self) -> &[Planned] {
        &self.files
    }

    /// The packet schedulers, in the order asked for.
    pub fn schedulers(&self) -> &[String] {
        &self.schedulers
    }

    /// The backends, in the order asked for.
    pub fn backends(&self) -> impl ExactSizeIterator<Item = &dyn Backend> {
        self.backends.iter().map(|backend| &**backend)
    }

    /// The number of seeds of the first group; of all groups, unless backends or units have seeds of their own.
    pub fn seeds_of_each(&self) -> usize {
        self.groups[0].runs()
    }

    /// The groups of runs that differ only in their seed, in order.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        self.groups.iter().map(|place| self.group_at(place))
    }

    /// The group with this index.
    ///
    /// # Panics
    /// If there is none.
    pub fn group(&self, index: usize) -> Group<'_> {
        self.group_at(&self.groups[index])
    }

    /// Index of the group of the run with this number.
    pub fn group_of(&self, number: usize) -> usize {
        self.groups.partition_point(|place| place.first <= number) - 1
    }

    fn group_at<'a>(&'a self, place: &'a Place) -> Group<'a> {
        let Unit { file, cell, spec, seeds } = place.unit;
        let planned = &self.files[file];
        Group {
            file,
            cell,
            scenario: place.adapted.as_deref().unwrap_or(&planned.file.cells[cell]),
            spec: &planned.specs[spec],
            scheduler: &place.scheduler,
            backend: self.backends[place.backend].name(),
            seeds,
            first: place.first,
        }
    }

    /// The run with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn case(&self, number: usize) -> Case<'_> {
        let Group { scenario, spec, scheduler, backend, seeds, first, .. } =
            self.group(self.group_of(number));
        Case { scenario, spec, scheduler, seed: seeds.first() + (number - first) as u64, backend }
    }

    /// The backend of the run with this number.
    pub(crate) fn backend(&self, number: usize) -> &dyn Backend {
        &*self.backends[self.groups[self.group_of(number)].backend]
    }

    /// Gets the backend of these runs ready, if it is not.
    pub(crate) fn prepare(
        &self,
        missing: impl Fn(usize) -> bool,
        cancel: &Cancel,
        mut say: impl FnMut(&str),
    ) -> Result<(), Error> {
        for (index, backend) in self.backends.iter().enumerate() {
            let groups = || self.groups.iter().filter(|place| place.backend == index);
            if groups().any(|place| (place.first..place.first + place.runs()).any(&missing)) {
                let scenarios: Vec<_> = groups().map(|place| self.group_at(place).scenario).collect();
                backend
                    .prepare(&scenarios, cancel, &mut |what| say(&format!("{}: {what}", backend.name())))?;
            }
        }
        Ok(())
    }

    /// What tells a run from all others.
    ///
    /// # Errors
    /// If the backend cannot find out what its results depend on.
    ///
    /// # Panics
    /// If there is no run with this number.
    pub fn key(&self, number: usize) -> Result<Key, Error> {
        Ok(self.group_keys()?[self.group_of(number)].with_seed(self.case(number).seed))
    }

    /// Of each group, what all its runs have in common.
    pub(crate) fn group_keys(&self) -> Result<&[Key], Error> {
        if self.keys.get().is_none() {
            let key = |place: &Place| {
                let group = self.group_at(place);
                Ok(Key::new(&group, &self.backends[place.backend].identity(&group)?))
            };
            let keys = self.groups.iter().map(key).collect::<Result<Vec<_>, Error>>()?;
            let _ = self.keys.set(keys);
        }
        Ok(self.keys.get().expect("they were set"))
    }

    /// A summary of each group, from all runs of the plan in its order, with what theory says.
    pub(crate) fn summarize(&self, runs: &[Run]) -> Vec<Summary> {
        let of_group = |group: Group| Summary {
            theory: Some(theory::predict(group.scenario, group.spec.text())),
            ..summary::of_group(&runs[group.first..][..group.seeds.count().unwrap_or(0)])
        };
        if runs.is_empty() { Vec::new() } else { self.groups().map(of_group).collect() }
    }

    /// What a store holds of it.
    pub(crate) fn stored(&self) -> Result<Stored, Error> {
        let file = |planned: &Planned| {
            (planned.file.clone(), planned.specs.iter().map(|spec| spec.text().to_owned()).collect())
        };
        Ok(Stored {
            files: self.files.iter().map(file).collect(),
            backends: self.backends().map(|backend| backend.name().to_owned()).collect(),
            groups: self.groups.clone(),
            keys: self.group_keys()?.to_vec(),
        })
    }
}

/// What to do about an algorithm that a stored plan names and this program does not know.
pub(crate) const NAME_FILE: &str = "name the C file of an algorithm of your own with --algorithm";

/// A plan as a store holds it: resolved, so that it can be read without the files that it was made from.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Stored {
    /// Each with its congestion controls.
    files: Vec<(File, Vec<String>)>,
    backends: Vec<String>,
    pub(crate) groups: Vec<Place>,
    /// Of each group, without seeds.
    pub(crate) keys: Vec<Key>,
}

impl Stored {
    /// A plan whose runs can be read, and not done again.
    pub(crate) fn plan(self) -> Result<Plan, Error> {
        let parse = |text: &String| {
            Spec::parse(text)
                .map_err(|error| Error::new(Kind::Algorithm, format!("{text}: {error}")).hint(NAME_FILE))
        };
        let file = |(file, specs): (File, Vec<String>)| {
            Ok(Planned { file, specs: specs.iter().map(parse).collect::<Result<_, Error>>()? })
        };
        let files = self.files.into_iter().map(file).collect::<Result<_, Error>>()?;
        let backends = self.backends.iter().map(|name| Box::new(Done(name_of(name))) as Box<dyn Backend>);
        let plan = Plan::of_groups(files, backends.collect(), self.groups)?;
        let _ = plan.keys.set(self.keys);
        Ok(plan)
    }

    /// The keys of all runs.
    pub(crate) fn run_keys(&self) -> impl Iterator<Item = Key> {
        let of_group = |(key, place): (&Key, &Place)| {
            let (key, seeds) = (*key, place.unit.seeds);
            (seeds.first()..=seeds.last()).map(move |seed| key.with_seed(seed))
        };
        self.keys.iter().zip(&self.groups).flat_map(of_group)
    }

    pub(crate) fn scenario(&self, group: usize) -> &Scenario {
        let Place { unit, adapted, .. } = &self.groups[group];
        adapted.as_deref().unwrap_or(&self.files[unit.file].0.cells[unit.cell])
    }

    fn cc(&self, group: usize) -> &str {
        let unit = self.groups[group].unit;
        &self.files[unit.file].1[unit.spec]
    }

    fn backend(&self, group: usize) -> &str {
        &self.backends[self.groups[group].backend]
    }

    /// The runs of a group, for people.
    pub(crate) fn describe(&self, group: usize) -> String {
        let (Scenario { name, parameters, .. }, Place { unit, scheduler, .. }) =
            (self.scenario(group), &self.groups[group]);
        let parameters =
            parameters.iter().fold(String::new(), |text, (name, value)| format!("{text} {name}={value}"));
        let (cc, backend) = (self.cc(group), self.backend(group));
        let (first, last) = (unit.seeds.first(), unit.seeds.last());
        format!(
            "{name}{parameters} --cc {cc} --scheduler {scheduler} --backend {backend} --seeds {first}..{last}"
        )
    }

    /// Whether a group asks for what one of another plan asks for, seeds apart; perhaps of another program.
    pub(crate) fn same(&self, group: usize, other: &Self, theirs: usize) -> bool {
        let of = |all: &Self, group: usize| {
            (all.cc(group).to_owned(), all.groups[group].scheduler.clone(), all.backend(group).to_owned())
        };
        of(self, group) == of(other, theirs) && self.scenario(group) == other.scenario(theirs)
    }

    /// Adds the groups of an earlier plan. Those that were done by another program are replaced.
    pub(crate) fn add(&mut self, earlier: &Self) {
        let mut files: Vec<Option<usize>> = vec![None; earlier.files.len()];
        for group in 0..earlier.groups.len() {
            let mut place = earlier.groups[group].clone();
            if let Some(own) = (0..self.groups.len()).find(|&own| self.same(own, earlier, group)) {
                let (a, b) = (self.groups[own].unit.seeds, place.unit.seeds);
                let same_key = self.keys[own] == earlier.keys[group];
                if !same_key || a.covers(b) {
                    continue;
                }
                if let Some(seeds) = a.joined(b) {
                    self.groups[own].unit.seeds = seeds;
                    continue;
                }
            }
            place.unit.file = *files[place.unit.file].get_or_insert_with(|| {
                self.files.push(earlier.files[place.unit.file].clone());
                self.files.len() - 1
            });
            let name = earlier.backend(group);
            place.backend = self.backends.iter().position(|own| own == name).unwrap_or_else(|| {
                self.backends.push(name.to_owned());
                self.backends.len() - 1
            });
            self.groups.push(place);
            self.keys.push(earlier.keys[group]);
        }
    }
}

/// A backend whose runs are all stored.
struct Done(&'static str);

impl Backend for Done {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&self, _: Request) -> Result<crate::Outcome, Stop> {
        Err(Stop::All(Error::new(Kind::Failed, "a run of the folder is damaged")))
    }
}

fn name_of(text: &str) -> &'static str {
    ["sim", "lab", "host", "quic"].into_iter().find(|name| *name == text).unwrap_or("other")
}
