//! A list of runs, all of which have been checked.

use std::sync::OnceLock;

use braid_algorithms::Spec;
use braid_results::{Run, Summary, summary, theory};
use braid_scenario::File;

use crate::{Backend, Cancel, Case, Error, Group, Key, Kind, Seeds};

/// More runs than this at once would not fit into memory.
const MOST_RUNS: usize = 1_000_000;

/// Everything that is to be run: by file, cell, congestion control, scheduler and seed, the last varying fastest.
pub struct Plan {
    files: Vec<Planned>,
    schedulers: Vec<String>,
    seeds: Seeds,
    backend: Box<dyn Backend>,
    groups: Vec<Place>,
    /// Of each group, without seeds.
    keys: OnceLock<Vec<Key>>,
    len: usize,
}

/// A scenario file and the congestion controls to run it with.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What it says, with what was set.
    pub file: File,
    /// At least one.
    pub specs: Vec<Spec>,
}

/// The indices of a group.
#[derive(Clone, Copy)]
struct Place {
    file: usize,
    cell: usize,
    spec: usize,
    scheduler: usize,
}

impl Plan {
    pub(crate) fn new(
        files: Vec<Planned>,
        schedulers: Vec<String>,
        seeds: Seeds,
        backend: Box<dyn Backend>,
    ) -> Result<Self, Error> {
        let mut groups = Vec::new();
        for (file, planned) in files.iter().enumerate() {
            for cell in 0..planned.file.cells.len() {
                for spec in 0..planned.specs.len() {
                    groups.extend((0..schedulers.len()).map(|scheduler| Place {
                        file,
                        cell,
                        spec,
                        scheduler,
                    }));
                }
            }
        }
        let len = seeds.count().and_then(|seeds| seeds.checked_mul(groups.len()));
        let Some(len @ ..=MOST_RUNS) = len else {
            let message = format!("more than {MOST_RUNS} runs at once");
            return Err(Error::new(Kind::TooMany, message).hint("ask for fewer seeds at a time"));
        };
        Ok(Self { files, schedulers, seeds, backend, groups, keys: OnceLock::new(), len })
    }

    /// Keeps only these groups.
    ///
    /// # Panics
    /// If none is left.
    #[must_use]
    pub fn only(self, wanted: impl Fn(Group) -> bool) -> Self {
        let groups: Vec<Place> =
            self.groups.iter().copied().filter(|&place| wanted(self.group(place))).collect();
        assert!(!groups.is_empty(), "a plan without runs");
        Self { len: self.seeds_of_each() * groups.len(), groups, keys: OnceLock::new(), ..self }
    }

    /// Number of runs; at least one.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The files, in the order asked for.
    pub fn files(&self) -> &[Planned] {
        &self.files
    }

    /// The packet schedulers, in the order asked for.
    pub fn schedulers(&self) -> &[String] {
        &self.schedulers
    }

    /// The seeds of each group.
    pub fn seeds(&self) -> Seeds {
        self.seeds
    }

    /// Runs that differ only in their seed follow each other, so many at a time.
    pub fn seeds_of_each(&self) -> usize {
        self.len / self.groups.len()
    }

    /// The groups of runs that differ only in their seed, in order.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        self.groups.iter().map(|&place| self.group(place))
    }

    fn group(&self, Place { file, cell, spec, scheduler }: Place) -> Group<'_> {
        let planned = &self.files[file];
        Group {
            file,
            cell,
            scenario: &planned.file.cells[cell],
            spec: &planned.specs[spec],
            scheduler: &self.schedulers[scheduler],
        }
    }

    /// The run with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn case(&self, number: usize) -> Case<'_> {
        let seeds = self.seeds_of_each();
        let Group { scenario, spec, scheduler, .. } = self.group(self.groups[number / seeds]);
        let seed = self.seeds.first() + (number % seeds) as u64;
        Case { scenario, spec, scheduler, seed, backend: self.backend.name() }
    }

    /// Gets the backend ready; nothing, if that is done.
    ///
    /// # Errors
    /// If something is missing, or it was cancelled.
    pub fn prepare(&self, cancel: &Cancel, mut say: impl FnMut(&str)) -> Result<(), Error> {
        let scenarios: Vec<_> = self.groups().map(|group| group.scenario).collect();
        self.backend.prepare(&scenarios, cancel, &mut say)
    }

    /// What tells a run from all others. The backend has to be prepared.
    ///
    /// # Errors
    /// If the backend cannot find out what its results depend on.
    ///
    /// # Panics
    /// If there is no run with this number.
    pub fn key(&self, number: usize) -> Result<Key, Error> {
        Ok(self.group_keys()?[number / self.seeds_of_each()].with_seed(self.case(number).seed))
    }

    /// Of each group, what all its runs have in common.
    pub(crate) fn group_keys(&self) -> Result<&[Key], Error> {
        if self.keys.get().is_none() {
            let key =
                |group: Group| Ok(Key::new(&group, self.backend.name(), &self.backend.identity(&group)?));
            let keys = self.groups().map(key).collect::<Result<Vec<_>, Error>>()?;
            let _ = self.keys.set(keys);
        }
        Ok(self.keys.get().expect("they were set"))
    }

    /// Where it is run.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A summary of each group, from all runs of the plan in its order, with what theory says.
    pub fn summarize(&self, runs: &[Run]) -> Vec<Summary> {
        let of_groups = runs.chunks(self.seeds_of_each()).zip(self.groups());
        of_groups
            .map(|(runs, group)| Summary {
                theory: Some(theory::predict(group.scenario, group.spec.text())),
                ..summary::of_group(runs)
            })
            .collect()
    }
}
