//! From what the user typed to a list of runs, with everything checked before the first one starts.

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_results::{Setup, Summary, theory};
use braid_scenario::model::{Connection, Scenario, Traffic};
use braid_scenario::{File, Source};
use braid_sim::observe::Observer;
use braid_sim::{Options, Scheduler};

use crate::Failure;
use crate::args::{Backend, RunArgs, Seeds};
use crate::failure::BAD_INPUT;
use crate::pool;
use crate::unfinished::Finished;

/// More runs than this at once would not fit into memory.
const MOST_RUNS: usize = 1_000_000;

/// Everything that is to be run.
pub(crate) struct Plan {
    pub(crate) files: Vec<Planned>,
    pub(crate) seeds: Seeds,
    pub(crate) backend: Backend,
    scheduler: Scheduler,
    /// Whether packets are taken down where that takes a kernel's time, and so changes results a little.
    pub(crate) disturbed: bool,
    /// For each group of runs that differ only in their seed: file, cell and congestion control.
    groups: Vec<(usize, usize, usize)>,
}

/// A scenario file and the congestion controls to run it with.
pub(crate) struct Planned {
    pub(crate) file: File,
    pub(crate) specs: Vec<Spec>,
}

impl Plan {
    /// Reads and checks everything that `args` names.
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Failure> {
        check_backend(args)?;
        let scheduler = scheduler(args)?;
        let asked = specs(&args.cc)?;

        let mut names: Vec<&String> = Vec::new();
        for name in &args.scenarios {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut files = Vec::new();
        for name in names {
            let file = load(name, &args.set)?;
            let specs = choose(&file, name, &asked)?;
            #[cfg(target_os = "linux")]
            if args.backend != Backend::Sim {
                crate::lab::check(&file)?;
            }
            if args.backend == Backend::Sim {
                for cell in &file.cells {
                    without_programs(&file, cell, "the simulator cannot run programs")?;
                }
            }
            files.push(Planned { file, specs });
        }

        let mut groups = Vec::new();
        for (index, planned) in files.iter().enumerate() {
            for cell in 0..planned.file.cells.len() {
                groups.extend((0..planned.specs.len()).map(|spec| (index, cell, spec)));
            }
        }
        let disturbed = args.pcap.is_some() && args.backend != Backend::Sim;
        let plan = Self { files, seeds: args.seeds, backend: args.backend, scheduler, disturbed, groups };
        match plan.count() {
            Some(..=MOST_RUNS) => Ok(plan),
            _ => Err(Failure::bad_input(
                format!("more than {MOST_RUNS} runs at once"),
                "ask for fewer seeds with --seeds, and for the others in a second command",
            )),
        }
    }

    fn count(&self) -> Option<usize> {
        let seeds = usize::try_from(self.seeds.last - self.seeds.first).ok()?.checked_add(1)?;
        seeds.checked_mul(self.groups.len())
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.count().expect("checked when it was made")
    }

    /// Runs that differ only in their seed follow each other, so many at a time.
    pub(crate) fn seeds_of_each(&self) -> usize {
        self.len() / self.groups.len()
    }

    /// For each group of runs that differ only in their seed, its scenario.
    pub(crate) fn group_scenarios(&self) -> impl Iterator<Item = &Scenario> {
        self.groups.iter().map(|&(file, cell, _)| &self.files[file].file.cells[cell])
    }

    /// Those of all cells.
    pub(crate) fn connections_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        let cells = self.files.iter_mut().flat_map(|planned| &mut planned.file.cells);
        cells.flat_map(|cell| &mut cell.connections)
    }

    /// A run: by file, cell, congestion control and seed.
    pub(crate) fn get(&self, index: usize) -> (Setup<'_>, &Spec) {
        let seeds = self.seeds_of_each();
        let (file, cell, spec) = self.groups[index / seeds];
        let planned = &self.files[file];
        let spec = &planned.specs[spec];
        let setup = Setup {
            scenario: &planned.file.cells[cell],
            backend: self.backend.name(),
            cc: spec.text(),
            scheduler: self.scheduler.name(),
            seed: self.seeds.first + (index % seeds) as u64,
        };
        (setup, spec)
    }

    /// Adds what theory says to the summaries of all groups, in their order.
    pub(crate) fn add_theory(&self, summaries: &mut [Summary]) {
        for (summary, &(file, cell, spec)) in summaries.iter_mut().zip(&self.groups) {
            let planned = &self.files[file];
            summary.theory = Some(theory::predict(&planned.file.cells[cell], planned.specs[spec].text()));
        }
    }

    /// Does a run. Whatever goes wrong in it, panics too, ends up in its status. The measurements, samples among them,
    /// come along if `samples` asks for them and the run succeeded.
    pub(crate) fn execute(&self, index: usize, samples: bool) -> Finished {
        let (setup, spec) = self.get(index);
        self.finish(index, samples, |options| braid_sim::run_with(setup.scenario, spec, setup.seed, options))
    }

    /// As [`Plan::execute`], telling `observer` what happens.
    pub(crate) fn execute_observed(
        &self,
        index: usize,
        samples: bool,
        observer: &mut dyn Observer,
    ) -> Finished {
        let (setup, spec) = self.get(index);
        self.finish(index, samples, |options| {
            braid_sim::run_observed(setup.scenario, spec, setup.seed, options, observer)
        })
    }

    fn finish(
        &self,
        index: usize,
        samples: bool,
        run: impl FnOnce(Options) -> Result<Measurements, braid_sim::Error>,
    ) -> Finished {
        let (setup, _) = self.get(index);
        let run = || {
            let counts = run(Options { samples, scheduler: self.scheduler })?;
            Ok::<_, braid_sim::Error>((setup.measured(&counts), samples.then_some(counts)))
        };
        match pool::caught(run) {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => (setup.failed(error.to_string()), None),
            Err(panic) => (setup.failed(panic), None),
        }
    }
}

/// The scheduler asked for, or the usual one of the backend.
fn scheduler(args: &RunArgs) -> Result<Scheduler, Failure> {
    let is_simulated = args.backend == Backend::Sim;
    let Some(name) = &args.scheduler else {
        return Ok(if is_simulated { Scheduler::MinRtt } else { Scheduler::Linux });
    };
    match Scheduler::ALL.into_iter().find(|scheduler| scheduler.name() == name) {
        Some(scheduler) if is_simulated || scheduler == Scheduler::Linux => Ok(scheduler),
        Some(_) => Err(Failure::bad_input(
            format!("--backend {} cannot have the scheduler {name}", args.backend.name()),
            "leave out --scheduler: there the kernel's own schedules, linux",
        )),
        None => Err(Failure::bad_input(
            format!("no scheduler is called \"{name}\""),
            format!("there are {}", Scheduler::ALL.map(Scheduler::name).join(" and ")),
        )),
    }
}

/// Finds and checks a scenario, the congestion controls it names included.
pub(crate) fn load(name: &str, set: &[String]) -> Result<File, Failure> {
    let file = braid_scenario::load(&Source::find(name)?, set)?;
    for text in &file.cc {
        Spec::parse(text).map_err(|error| file.error("cc", error.0, None))?;
    }
    for connection in file.cells.iter().flat_map(|cell| &cell.connections) {
        if let Some(text) = &connection.cc {
            let key = format!("connection.{}.cc", connection.name);
            Spec::parse(text).map_err(|error| file.error(&key, error.0, None))?;
        }
    }
    Ok(file)
}

/// Refuses traffic of programs, where it stands in the file.
fn without_programs(file: &File, cell: &Scenario, why: &str) -> Result<(), Failure> {
    let is_program = |connection: &&Connection| matches!(connection.traffic, Traffic::Program(_));
    let Some(connection) = cell.connections.iter().find(is_program) else { return Ok(()) };
    let hint = "use braid run --backend lab, or give the connection another kind of traffic".to_owned();
    Err(file.error(&format!("connection.{}.traffic", connection.name), why, Some(hint)).into())
}

/// Whether the backend is there and can do what else is asked for.
fn check_backend(args: &RunArgs) -> Result<(), Failure> {
    let wrong = |message: &str, hint: &str| Err(Failure::bad_input(message, hint));
    match args.backend {
        Backend::Lab | Backend::Host if cfg!(not(target_os = "linux")) => {
            wrong("the backends lab and host need Linux", "use --backend sim, the simulator")
        }
        Backend::Lab | Backend::Host if args.events => wrong(
            "the backends lab and host write no events: a kernel does not tell them",
            "leave --events out, or use --backend sim; --pcap has the packets",
        ),
        Backend::Sim | Backend::Host if args.kernel.is_some() || args.boot => {
            wrong("--kernel and --boot are of the lab", "add --backend lab")
        }
        Backend::Sim | Backend::Lab | Backend::Host => Ok(()),
    }
}

/// Parses specs and drops those that mean the same as one before.
fn specs(texts: &[String]) -> Result<Vec<Spec>, Failure> {
    let mut specs: Vec<Spec> = Vec::new();
    for text in texts {
        let spec =
            Spec::parse(text).map_err(|error| Failure::new(BAD_INPUT, format!("--cc {text}: {error}")))?;
        if !specs.iter().any(|known| known.text() == spec.text()) {
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// The congestion controls to run a file with: those asked for, or else those it names itself.
fn choose(file: &File, name: &str, asked: &[Spec]) -> Result<Vec<Spec>, Failure> {
    let open = |cell: &Scenario| cell.connections.iter().any(|connection| connection.cc.is_none());
    if !file.cells.iter().any(open) {
        // Nothing is left to choose; the runs go by the name of the first connection's.
        let first = file.cells[0].connections[0].cc.clone();
        return specs(&first.into_iter().collect::<Vec<_>>());
    }
    let chosen = if asked.is_empty() { specs(&file.cc)? } else { asked.to_vec() };
    if chosen.is_empty() {
        return Err(Failure::bad_input(
            format!("{name} does not say which congestion control to run"),
            "name one or more, such as --cc lia,olia (`braid algorithms` lists them)",
        ));
    }
    Ok(chosen)
}
