//! What came of a study.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use braid_results::{Run, Summary, json};
use pyo3::prelude::*;

use crate::error;
use crate::table::Table;

/// Results, and their tables, each built at first access.
#[pyclass(frozen, module = "braid._braid")]
pub(crate) struct Results {
    inner: braid_study::Results,
    sampled: bool,
    tables: [OnceLock<Arc<RecordBatch>>; 8],
}

type Make = fn(&braid_study::Results) -> RecordBatch;

const TABLES: [(&str, Make); 8] = [
    ("runs", braid_study::Results::table),
    ("flows", braid_study::Results::flows),
    ("links", braid_study::Results::links),
    ("periods", braid_study::Results::periods),
    ("detections", braid_study::Results::detections),
    ("samples", braid_study::Results::samples),
    ("queues", braid_study::Results::queues),
    ("transfers", braid_study::Results::transfers),
];

impl Results {
    pub(crate) fn new(inner: braid_study::Results, sampled: bool) -> Self {
        Self { inner, sampled, tables: Default::default() }
    }
}

#[pymethods]
impl Results {
    /// Whether there are samples.
    #[getter]
    fn sampled(&self) -> bool {
        self.sampled
    }

    /// The table of that name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let at = TABLES.iter().position(|table| table.0 == name);
        let at = at.ok_or_else(|| error::plain(format!("no table is called {name}")))?;
        let (name, make) = TABLES[at];
        let batch = py.detach(|| Arc::clone(self.tables[at].get_or_init(|| Arc::new(make(&self.inner)))));
        Ok(Table::new(name, batch))
    }

    /// All runs as JSON, one text each.
    fn json(&self) -> Vec<String> {
        self.inner.runs().iter().map(json).collect()
    }

    /// All summaries as JSON, one text each.
    fn summaries(&self) -> Vec<String> {
        self.inner.summary().iter().map(|summary: &Summary| json(summary)).collect()
    }

    fn __len__(&self) -> usize {
        self.inner.runs().len()
    }
}

/// Of runs that another program has done, one JSON text each.
#[pyfunction]
pub(crate) fn of_json(runs: Vec<String>) -> PyResult<Results> {
    let runs: Result<Vec<Run>, _> = runs.iter().map(|run| serde_json::from_str(run)).collect();
    Ok(Results::new(braid_study::Results::of_runs(runs.map_err(error::plain)?), false))
}

/// Of a folder that `braid` or a sweep wrote; with samples if all runs were stored with them.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Results> {
    let results = py.detach(|| braid_study::Results::open(&folder));
    let results = results.map_err(|wrong| error::of_study(&wrong))?;
    let sampled = results.measurements().iter().all(Option::is_some);
    Ok(Results::new(results, sampled))
}
