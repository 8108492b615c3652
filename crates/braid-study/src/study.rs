//! What a study asks for.

use braid_algorithms::Spec;
use braid_scenario::{File, Source, load};

use crate::plan::{Plan, Planned, Unit};
use crate::{Backend, Error, Kind, Results, Seeds, Sim};

/// Scenarios × parameters × algorithms × schedulers × backends × seeds. Nothing is read or checked before [`Study::check`].
#[derive(Default)]
pub struct Study {
    scenarios: Vec<Origin>,
    set: Vec<String>,
    algorithms: Vec<String>,
    schedulers: Vec<String>,
    seeds: Seeds,
    units: Option<Vec<Unit>>,
    /// The simulator if there is none; each may have seeds of its own.
    backends: Vec<(Box<dyn Backend>, Option<Seeds>)>,
}

#[derive(Clone, Debug)]
enum Origin {
    Name(String),
    Source(Source),
    Planned(Box<Planned>),
}

impl Study {
    /// Of scenarios by embedded name or path; one seed, in the simulator.
    pub fn new<S: Into<String>>(scenarios: impl IntoIterator<Item = S>) -> Self {
        let scenarios = scenarios.into_iter().map(|name| Origin::Name(name.into())).collect();
        Self { scenarios, ..Self::default() }
    }

    /// Adds a scenario whose text is there already.
    #[must_use]
    pub fn source(mut self, source: Source) -> Self {
        self.scenarios.push(Origin::Source(source));
        self
    }

    /// Adds a scenario that was read and checked, with congestion controls of its own; nothing is set in it.
    #[must_use]
    pub fn planned(mut self, planned: Planned) -> Self {
        self.scenarios.push(Origin::Planned(Box::new(planned)));
        self
    }

    /// Changes a value of every scenario: `link.b1.rate=20mbit`. `parameters.bandwidth=12mbit,24mbit` gives a parameter
    /// its values.
    #[must_use]
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.set.push(assignment.into());
        self
    }

    /// The congestion controls to compare, each `NAME[:key=value]...`; without any, those that the scenarios name.
    #[must_use]
    pub fn algorithms<S: Into<String>>(mut self, specs: impl IntoIterator<Item = S>) -> Self {
        self.algorithms.extend(specs.into_iter().map(Into::into));
        self
    }

    /// The packet schedulers of MPTCP connections to compare; without any, the backend's usual one.
    #[must_use]
    pub fn schedulers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.schedulers.extend(names.into_iter().map(Into::into));
        self
    }

    /// Repeats every run with these seeds: `10` means 1 to 10, and there are ranges (`3..=7`).
    #[must_use]
    pub fn seeds(mut self, seeds: impl Into<Seeds>) -> Self {
        self.seeds = seeds.into();
        self
    }

    /// Runs only these units of the planned files; without it all of them.
    #[must_use]
    pub fn units(mut self, units: Vec<Unit>) -> Self {
        self.units = Some(units);
        self
    }

    /// A place to run; the simulator if none is named. All runs are done on each backend.
    #[must_use]
    pub fn backend(self, backend: impl Backend + 'static) -> Self {
        self.on(Box::new(backend), None)
    }

    /// The same, perhaps with seeds of its own.
    #[must_use]
    pub fn on(mut self, backend: Box<dyn Backend>, seeds: Option<Seeds>) -> Self {
        self.backends.push((backend, seeds));
        self
    }

    /// Reads and checks everything that is asked for; what occurs twice counts once.
    ///
    /// # Errors
    /// If anything is wrong, before anything runs.
    pub fn check(self) -> Result<Plan, Error> {
        let Self { scenarios, set, algorithms, schedulers, seeds, units, mut backends } = self;
        if scenarios.is_empty() {
            return Err(Error::new(Kind::Input, "a study without scenarios").hint("name at least one"));
        }
        if backends.is_empty() {
            backends.push((Box::new(Sim), None));
        }
        let backends = backends.into_iter().map(|(backend, seeds)| {
            let own = self::schedulers(&*backend, &schedulers)?;
            Ok((backend, own, seeds))
        });
        let backends: Vec<_> = backends.collect::<Result<_, Error>>()?;
        let asked = specs(&algorithms)?;
        let mut files = Vec::new();
        let mut names = Vec::new();
        for origin in scenarios {
            let planned = match origin {
                Origin::Name(name) if names.contains(&name) => continue,
                Origin::Name(name) => {
                    let planned = planned(&Source::find(&name)?, &set, &asked)?;
                    names.push(name);
                    planned
                }
                Origin::Source(source) => planned(&source, &set, &asked)?,
                Origin::Planned(planned) => *planned,
            };
            for cell in &planned.file.cells {
                backends.iter().try_for_each(|(backend, ..)| backend.check(&planned.file, cell))?;
            }
            files.push(planned);
        }
        let all = || {
            let cells = files.iter().enumerate().flat_map(|(file, planned)| {
                let specs = planned.specs.len();
                let cells = 0..planned.file.cells.len();
                cells.flat_map(move |cell| (0..specs).map(move |spec| Unit { file, cell, spec, seeds }))
            });
            cells.collect()
        };
        let units = units.unwrap_or_else(all);
        Plan::new(files, &units, backends)
    }

    /// Checks, runs and collects: for studies whose results fit into memory.
    ///
    /// # Errors
    /// If anything is wrong; a run that fails is no error, its status says why.
    pub fn run(self) -> Result<Results, Error> {
        self.check()?.execution().collect()
    }
}

fn planned(source: &Source, set: &[String], asked: &[Spec]) -> Result<Planned, Error> {
    let file = load(source, set)?;
    let specs = choose(&file, &source.name, asked)?;
    Ok(Planned { file, specs })
}

fn schedulers(backend: &dyn Backend, names: &[String]) -> Result<Vec<String>, Error> {
    let mut schedulers = Vec::new();
    for name in names {
        let name = backend.scheduler(Some(name))?;
        if !schedulers.contains(&name) {
            schedulers.push(name);
        }
    }
    if schedulers.is_empty() {
        schedulers.push(backend.scheduler(None)?);
    }
    Ok(schedulers)
}

/// Parses specs and drops those that mean the same as one before.
pub(crate) fn specs(texts: &[String]) -> Result<Vec<Spec>, Error> {
    let mut specs: Vec<Spec> = Vec::new();
    for text in texts {
        let spec =
            Spec::parse(text).map_err(|error| Error::new(Kind::Algorithm, format!("{text}: {error}")))?;
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// The congestion controls to run a file with: those asked for, or else those it names itself.
pub(crate) fn choose(file: &File, name: &str, asked: &[Spec]) -> Result<Vec<Spec>, Error> {
    let mut connections = file.cells.iter().flat_map(|cell| &cell.connections);
    if connections.all(|connection| connection.cc.is_some()) {
        // Nothing is left to choose; the runs go by the name of the first connection's.
        return Ok(file.cells[0].connections[0].cc.iter().cloned().collect());
    }
    let chosen = if asked.is_empty() { file.cc.clone() } else { asked.to_vec() };
    if chosen.is_empty() {
        let message = format!("{name} does not say which congestion control to run");
        return Err(Error::new(Kind::NoAlgorithm, message).hint("name one or more, such as lia and olia"));
    }
    Ok(chosen)
}
