//! Sweeps: planned and stored here, executed here or by workers.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use braid_results::{Run, json};
use braid_scenario::Source;
use braid_study::{Cancel, Finished, Grid, Plan};
use pyo3::prelude::*;

use crate::error;
use crate::run::{Watch, limit};

/// A worker's inputs for a sweep.
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
    inner: braid_study::Sweep,
    bundle: Bundle,
    cancel: Cancel,
}

#[pymethods]
impl Sweep {
    /// Reads and checks a grid and opens its folder; compiles C files. `scenarios`: texts of scenarios that are not
    /// files.
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
            py.detach(|| braid_compile::algorithm(file)).map_err(|wrong| error::of_compiler(&wrong))?;
            let text = std::fs::read_to_string(file).map_err(error::plain)?;
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("algorithm.c");
            algorithms.insert(name.to_owned(), text);
        }
        let bundle = Bundle { name, grid, scenarios: texts, algorithms };
        let (grid, plan) = py.detach(|| plan(&bundle)).map_err(of_study)?;
        let inner = braid_study::Sweep::open(&grid, plan, &folder).map_err(of_study)?;
        Ok(Self { inner, bundle, cancel: Cancel::new() })
    }

    fn __len__(&self) -> usize {
        self.inner.plan().len()
    }

    /// Inputs of workers.
    #[getter]
    fn bundle(&self) -> Bundle {
        self.bundle.clone()
    }

    /// Its summary, if it is complete already.
    fn complete(&self) -> PyResult<Option<String>> {
        self.inner.complete().map_err(|wrong| error::of_study(&wrong))
    }

    /// The missing runs.
    fn missing(&self) -> PyResult<Vec<usize>> {
        self.inner.missing().map_err(|wrong| error::of_study(&wrong))
    }

    /// Stores a worker's runs: number, key and JSON of each.
    fn keep(&mut self, py: Python<'_>, done: Vec<(usize, String, String)>) -> PyResult<()> {
        py.detach(|| {
            for (number, key, run) in done {
                let own = self.inner.plan().key(number).map_err(|wrong| error::of_study(&wrong))?;
                if own.to_string() != key {
                    return Err(error::plain(
                        "a worker has another build of braid, or another C compiler made other code of an algorithm: \
                         install the same wheel everywhere",
                    ));
                }
                let run: Run = serde_json::from_str(&run).map_err(error::plain)?;
                self.inner.keep(number, &run).map_err(|wrong| error::of_study(&wrong))?;
            }
            Ok(())
        })
    }

    /// Writes stored runs to the disk.
    fn settle(&mut self) -> PyResult<()> {
        self.inner.settle().map_err(|wrong| error::of_study(&wrong))
    }

    /// Executes missing runs here and writes the dataset; returns a summary and the number of failed runs.
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
        let inner = &mut self.inner;
        let swept = py.detach(|| {
            inner.run(
                |execution| {
                    let execution = execution.cancel(&cancel).time_limit(time_limit);
                    match jobs {
                        Some(jobs) => execution.jobs(jobs),
                        None => execution,
                    }
                },
                |done, total| {
                    watch.tick(done, total, done as f64 / total as f64);
                    ControlFlow::Continue(())
                },
            )
        });
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        let swept = swept.map_err(|wrong| error::of_study(&wrong))?.expect("nobody has broken it off");
        Ok((swept.summary, swept.failed))
    }
}

/// The worker's latest sweep.
static LATEST: Mutex<Option<(Bundle, Arc<Plan>)>> = Mutex::new(None);

/// Executes the runs with these numbers on a worker; returns number, key and JSON of each.
#[pyfunction]
pub(crate) fn do_runs(
    py: Python<'_>,
    bundle: Bundle,
    numbers: Vec<usize>,
    time_limit: f64,
) -> PyResult<Vec<(usize, String, String)>> {
    let time_limit = limit(time_limit)?;
    py.detach(|| {
        let plan = known(bundle)?;
        let finished = plan.execution().time_limit(time_limit).only(&numbers);
        let one = |Finished { number, run, .. }: Finished| {
            let key = plan.key(number).map_err(|wrong| error::of_study(&wrong))?;
            Ok((number, key.to_string(), json(&run)))
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
        braid_compile::algorithm(&path).map_err(|wrong| error::of_compiler(&wrong))?;
    }
    let plan = Arc::new(plan(&bundle).map_err(|wrong| error::of_study(&wrong))?.1);
    *latest = Some((bundle, Arc::clone(&plan)));
    Ok(plan)
}
