//! A list of checked runs.

use std::sync::OnceLock;

use braid_algorithms::Spec;
use braid_results::{Run, Summary, summary, theory};
use braid_scenario::File;

use crate::{Backend, Cancel, Case, Error, Group, Key, Kind, Seeds};

/// Maximum of runs that fit into memory.
const MOST_RUNS: usize = 1_000_000;

/// All runs: by file, cell, congestion control, scheduler and seed, the last varying fastest.
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

/// A scenario file and its congestion controls.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The file, with settings applied.
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

    /// Restricts the plan to these groups.
    ///
    /// # Panics
    /// If no group is left.
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

    /// The files, in the requested order.
    pub fn files(&self) -> &[Planned] {
        &self.files
    }

    /// The packet schedulers, in the requested order.
    pub fn schedulers(&self) -> &[String] {
        &self.schedulers
    }

    /// The seeds of each group.
    pub fn seeds(&self) -> Seeds {
        self.seeds
    }

    /// Number of consecutive runs that differ only in their seed.
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
    /// If it does not exist.
    pub fn case(&self, number: usize) -> Case<'_> {
        let seeds = self.seeds_of_each();
        let Group { scenario, spec, scheduler, .. } = self.group(self.groups[number / seeds]);
        let seed = self.seeds.first() + (number % seeds) as u64;
        Case { scenario, spec, scheduler, seed, backend: self.backend.name() }
    }

    /// Prepares the backend, unless done already.
    ///
    /// # Errors
    /// If a requirement is missing, or it was cancelled.
    pub fn prepare(&self, cancel: &Cancel, mut say: impl FnMut(&str)) -> Result<(), Error> {
        let scenarios: Vec<_> = self.groups().map(|group| group.scenario).collect();
        self.backend.prepare(&scenarios, cancel, &mut say)
    }

    /// The key of a run. The backend must be prepared.
    ///
    /// # Errors
    /// If the backend cannot determine its inputs.
    ///
    /// # Panics
    /// If the number does not exist.
    pub fn key(&self, number: usize) -> Result<Key, Error> {
        Ok(self.group_keys()?[number / self.seeds_of_each()].with_seed(self.case(number).seed))
    }

    /// For each group, the common part of its runs' keys.
    pub(crate) fn group_keys(&self) -> Result<&[Key], Error> {
        if self.keys.get().is_none() {
            let key =
                |group: Group| Ok(Key::new(&group, self.backend.name(), &self.backend.identity(&group)?));
            let keys = self.groups().map(key).collect::<Result<Vec<_>, Error>>()?;
            let _ = self.keys.set(keys);
        }
        Ok(self.keys.get().expect("they were set"))
    }

    /// The backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A summary of each group from all runs of the plan in order, with theoretical values.
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
