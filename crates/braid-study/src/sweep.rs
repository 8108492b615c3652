//! A sweep from grid to dataset: runs executed here or elsewhere, in any order, with interruptions.

use std::ops::ControlFlow;
use std::path::Path;

use braid_results::{OK, Run};

use crate::{Dataset, Error, Event, Execution, Finished, Grid, Kind, Plan, Store};

/// The runs of a [`Grid`] and the folder of their results. The bytes of the dataset depend on the grid only: not on
/// machines, interruptions or order.
pub struct Sweep {
    plan: Plan,
    parameters: Vec<(String, bool)>,
    store: Store,
}

/// Result of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// Summary, as text.
    pub summary: String,
    /// Number of failed runs.
    pub failed: usize,
    /// The first failure.
    pub first: Option<String>,
}

impl Sweep {
    /// File of a complete sweep, with its summary.
    pub const SUMMARY: &'static str = "sweep.txt";
    /// Folders of the dataset.
    pub const TABLES: [&'static str; 4] = ["runs", "flows", "links", "periods"];

    /// Opens a folder for the runs of a grid; `plan` is its study's, and its backend is prepared.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(grid: &Grid, plan: Plan, folder: &Path) -> Result<Self, Error> {
        let results: Vec<String> =
            Self::TABLES.into_iter().chain([Self::SUMMARY]).map(str::to_owned).collect();
        let store = Store::open(folder, &plan, &results)?;
        Ok(Self { plan, parameters: grid.parameters(), store })
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its summary, if it is complete already.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn complete(&self) -> Result<Option<String>, Error> {
        let summary = self.store.read(Self::SUMMARY)?.filter(|_| !self.store.has_runs());
        Ok(summary.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The numbers of runs still to be executed.
    ///
    /// # Errors
    /// [`Plan::key`]
    pub fn missing(&self) -> Result<Vec<usize>, Error> {
        let mut missing = Vec::new();
        for number in 0..self.plan.len() {
            if !self.store.has(&self.plan.key(number)?) {
                missing.push(number);
            }
        }
        Ok(missing)
    }

    /// Stores a run executed elsewhere by the same build.
    ///
    /// # Errors
    /// If it is another run, or cannot be written.
    pub fn keep(&mut self, number: usize, run: &Run) -> Result<(), Error> {
        let setup = self.plan.case(number).setup();
        let is_it = (setup.scenario.name == run.scenario, setup.cc == run.cc, setup.seed == run.seed);
        if is_it != (true, true, true) {
            let message = format!(
                "the run number {number} of {} was expected, not of {}",
                setup.scenario.name, run.scenario
            );
            return Err(Error::new(Kind::Failed, message));
        }
        self.store.keep(self.plan.key(number)?, run, None, false)
    }

    /// Writes all stored runs to the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.store.settle()
    }

    /// Executes missing runs here with the options `how`, and writes the dataset. `each` may end it early.
    ///
    /// # Errors
    /// As [`Execution::run`], or if something cannot be written.
    pub fn run(
        &mut self,
        how: impl for<'b> FnOnce(Execution<'b>) -> Execution<'b>,
        mut each: impl FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Swept>, Error> {
        let mut dataset = Dataset::new(self.store.path(), &self.parameters);
        let (mut failed, mut first, mut broken) = (0, None, None);
        let total = self.plan.len();
        let done = how(self.plan.execution()).store(&mut self.store).run(|event| match event {
            Event::Progress { done, .. } => each(done, total),
            Event::Finished(finished) => {
                let Finished { number, run, .. } = *finished;
                if run.status != OK {
                    failed += 1;
                    first.get_or_insert_with(|| which(&run));
                }
                match dataset.add(number as u64, run) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        broken = Some(error);
                        ControlFlow::Break(())
                    }
                }
            }
            Event::Preparing(_) => ControlFlow::Continue(()),
        });
        if let Some(error) = broken {
            return Err(error);
        }
        if done?.runs < total {
            return Ok(None);
        }
        dataset.finish()?;
        let noun = if total == 1 { "run" } else { "runs" };
        let line = first.as_ref().map(|first| format!("the first: {first}\n")).unwrap_or_default();
        let summary = format!("{total} {noun}, {failed} failed\n{line}");
        self.store.write(Self::SUMMARY, summary.as_bytes())?;
        self.store.remove_runs()?;
        Ok(Some(Swept { summary, failed, first }))
    }
}

fn which(run: &Run) -> String {
    let params =
        run.params.iter().fold(String::new(), |text, (name, value)| format!("{text} {name}={value}"));
    format!(
        "{}{params} --cc {} --seeds {seed}..{seed}: {}",
        run.scenario,
        run.cc,
        run.status,
        seed = run.seed
    )
}
