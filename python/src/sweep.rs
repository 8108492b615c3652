//! Sweeps: planned and kept here, done here or by others.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use braid_scenario::Source;
use braid_study::{Cancel, Dataset, Finished, Grid, Plan, Store};
use pyo3::prelude::*;

use crate::algorithms;
use crate::error;
use crate::run::{Watch, limit};

/// Everything that a worker needs to know of a sweep.
#[derive(Clone, FromPyObject, IntoPyObject, PartialEq, Eq)]
#[pyo3(from_item_all)]
pub(crate) struct Bundle {
    name: String,
    grid: String,
    /// Text by name.
    scenarios: BTreeMap<String, String>,
    /// C files: text by name.
    algorithms: BTreeMap<String, String>,
}

fn plan(bundle: &Bundle) -> Result<(Grid, Plan), braid_study::Error> {
    let grid = Grid::parse(&bundle.name, &bundle.grid)?;
    let study = grid.study_of(|name| match bundle.scenarios.get(name) {
        Some(text) => Ok(Source { name: name.to_owned(), text: text.clone() }),
        None => Ok(Source::find(name)?),
    })?;
    Ok((grid, study.check()?))
}

#[pyclass(module = "braid._braid")]
pub(crate) struct Sweep {
    plan: Plan,
    store: Store,
    dataset: Dataset,
    bundle: Bundle,
    cancel: Cancel,
}

#[pymethods]
impl Sweep {
    /// Reads and checks a grid and opens its folder; C files are compiled. `scenarios`: texts of those that are no files.
    #[new]
    fn new(
        py: Python<'_>,
        name: String,
        grid: String,
        scenarios: HashMap<String, String>,
        folder: PathBuf,
    ) -> PyResult<Self> {
        let of_study = |wrong| error::of_study(&wrong);
        let parsed = Grid::parse(&name, &grid).map_err(of_study)?;
        let mut texts: BTreeMap<String, String> = scenarios.into_iter().collect();
        for scenario in parsed.scenarios() {
            if !texts.contains_key(scenario) {
                let source = Source::find(scenario).map_err(|wrong| error::of_scenario(&wrong))?;
                texts.insert(scenario.clone(), source.text);
            }
        }
        let mut algorithms = BTreeMap::new();
        for file in parsed.algorithms() {
            py.detach(|| braid_compile::algorithm(file, algorithms::warn))
                .map_err(|wrong| error::of_compiler(&wrong))?;
            let text = std::fs::read_to_string(file).map_err(error::plain)?;
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("algorithm.c");
            algorithms.insert(name.to_owned(), text);
        }
        let bundle = Bundle { name, grid, scenarios: texts, algorithms };
        let (grid, plan) = py.detach(|| plan(&bundle)).map_err(of_study)?;
        let store = Store::open(&folder, &plan, &Dataset::names()).map_err(of_study)?;
        let dataset = Dataset::new(&folder, &grid.parameters());
        Ok(Self { plan, store, dataset, bundle, cancel: Cancel::new() })
    }

    fn __len__(&self) -> usize {
        self.plan.len()
    }

    /// What workers need.
    #[getter]
    fn bundle(&self) -> Bundle {
        self.bundle.clone()
    }

    /// Its summary, if it is complete already.
    fn complete(&self) -> PyResult<Option<String>> {
        let folder = self.store.folder();
        let summary = folder.read(Dataset::SUMMARY).map_err(|wrong| error::of_study(&wrong))?;
        Ok(summary.filter(|_| !folder.replaces()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The runs that are still to be done.
    fn missing(&self) -> PyResult<Vec<usize>> {
        self.store.missing(&self.plan).map_err(|wrong| error::of_study(&wrong))
    }

    /// Stores what a worker has done.
    fn keep(&mut self, py: Python<'_>, done: Vec<Done>) -> PyResult<()> {
        py.detach(|| {
            for (number, key, sampled, record) in done {
                let own = self.plan.key(number).map_err(|wrong| error::of_study(&wrong))?;
                if own.to_string() != key {
                    return Err(error::plain(
                        "a worker has another build of braid, or another C compiler made other code of an algorithm: \
                         install the same wheel everywhere",
                    ));
                }
                self.store.add(own, sampled, record).map_err(|wrong| error::of_study(&wrong))?;
            }
            Ok(())
        })
    }

    /// What is stored goes to the disk.
    fn settle(&mut self) -> PyResult<()> {
        self.store.flush().map_err(|wrong| error::of_study(&wrong))
    }

    /// Does here what is missing and writes the dataset; gives a summary and how many runs failed.
    fn run(
        &mut self,
        py: Python<'_>,
        jobs: Option<NonZeroUsize>,
        time_limit: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, usize)> {
        let time_limit = limit(time_limit)?;
        let cancel = self.cancel.clone();
        let mut watch = Watch { progress, cancel: cancel.clone(), raised: None };
        let Self { plan, store, dataset, .. } = self;
        let done = py.detach(|| {
            let mut execution = plan.execution().cancel(&cancel).time_limit(time_limit).store(store);
            if let Some(jobs) = jobs {
                execution = execution.jobs(jobs);
            }
            let done = execution.into_sinks(&mut [&mut watch, dataset])?;
            store.finish().map(|()| done)
        });
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        let done = done.map_err(|wrong| error::of_study(&wrong))?;
        Ok((self.dataset.summary().to_owned(), done.failed))
    }
}

/// A run that a worker has done: number, key, and what [`Finished::record`] gives.
type Done = (usize, String, bool, Vec<u8>);

/// The latest sweep that this worker has seen.
static LATEST: Mutex<Option<(Bundle, Arc<Plan>)>> = Mutex::new(None);

/// What a worker does: the runs with these numbers, one after the other.
#[pyfunction]
pub(crate) fn do_runs(
    py: Python<'_>,
    bundle: Bundle,
    numbers: Vec<usize>,
    time_limit: f64,
) -> PyResult<Vec<Done>> {
    let time_limit = limit(time_limit)?;
    py.detach(|| {
        let plan = known(bundle)?;
        let finished = plan.execution().time_limit(time_limit).only(&numbers);
        let one = |finished: Finished| {
            let key = plan.key(finished.number).map_err(|wrong| error::of_study(&wrong))?;
            let (sampled, record) = finished.record();
            Ok((finished.number, key.to_string(), sampled, record))
        };
        finished.map_err(|wrong| error::of_study(&wrong))?.into_iter().map(one).collect()
    })
}

fn known(bundle: Bundle) -> PyResult<Arc<Plan>> {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, plan)) = latest.as_ref().filter(|(known, _)| *known == bundle) {
        return Ok(Arc::clone(plan));
    }
    let folder = tempfile::tempdir().map_err(error::plain)?;
    for (name, text) in &bundle.algorithms {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map_err(error::plain)?;
        braid_compile::algorithm(&path, algorithms::warn).map_err(|wrong| error::of_compiler(&wrong))?;
    }
    let plan = Arc::new(plan(&bundle).map_err(|wrong| error::of_study(&wrong))?.1);
    *latest = Some((bundle, Arc::clone(&plan)));
    Ok(plan)
}
