//! What came of a study.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use braid_results::lines::{Point, high_rtt_ms, labels, lines, rates};
use braid_results::measure::{Measurements, SubflowCounts};
use braid_results::table::TABLES;
use braid_results::{Connection, OK, Subflow, Summary, json};
use braid_study::{Error, Kind};
use pyo3::prelude::*;

use crate::error;
use crate::table::Table;

/// Results, and their tables, each built at first access.
#[pyclass(frozen, module = "braid._braid")]
pub(crate) struct Results {
    inner: braid_study::Results,
    sampled: bool,
    tables: [OnceLock<Arc<RecordBatch>>; TABLES.len()],
}

/// Label, and of each point: place and text of the parameter's value, number of runs, mean, half of the 95 % interval.
type Lines = Vec<(String, Vec<(f64, String, usize, f64, Option<f64>)>)>;

impl Results {
    pub(crate) fn new(inner: braid_study::Results, sampled: bool) -> Self {
        Self { inner, sampled, tables: Default::default() }
    }

    fn need_samples(&self) -> PyResult<()> {
        if self.sampled {
            return Ok(());
        }
        let error = Error::new(Kind::Input, "these runs have no samples");
        Err(error::of_study(&error.hint("run(..., samples=True) keeps them")))
    }

    /// The subflows of a run that has samples.
    fn flows(&self, run: usize) -> impl Iterator<Item = (&Connection, &Subflow, &SubflowCounts)> {
        let counts = self.inner.measurements().get(run).and_then(Option::as_ref);
        let connections = counts.map_or(&[][..], |counts: &Measurements| &counts.connections);
        let connections =
            self.inner.runs().get(run).map_or(&[][..], |run| &run.connections).iter().zip(connections);
        connections.flat_map(|(connection, counts)| {
            let pairs = connection.subflows.iter().zip(&counts.subflows);
            pairs.map(move |(subflow, counts)| (connection, subflow, counts))
        })
    }
}

#[pymethods]
impl Results {
    /// The table of that name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let at = TABLES.iter().position(|table| table.name == name);
        let at = at.ok_or_else(|| error::plain(format!("no table is called {name}")))?;
        if ["samples", "queues", "transfers"].contains(&name) {
            self.need_samples()?;
        }
        let make = || Arc::new(self.inner.table(TABLES[at]));
        Ok(Table::new(TABLES[at].name, py.detach(|| Arc::clone(self.tables[at].get_or_init(make)))))
    }

    /// All runs as JSON, one text each.
    fn json(&self) -> Vec<String> {
        self.inner.runs().iter().map(json).collect()
    }

    /// All summaries as JSON, one text each.
    fn summaries(&self) -> Vec<String> {
        self.inner.summary().iter().map(|summary: &Summary| json(summary)).collect()
    }

    /// What tells each summary from the others.
    fn labels(&self) -> Vec<String> {
        labels(self.inner.summary(), "")
    }

    /// A figure against a parameter: lines by label; unit of the parameter; unit of the figure for people, and what divides
    /// its values in it.
    fn lines(
        &self,
        x: &str,
        y: &str,
        of: Option<String>,
    ) -> PyResult<(Lines, &'static str, (&'static str, f64))> {
        let of = of.unwrap_or_else(|| self.first());
        let found = lines(self.inner.summary(), x, y, &of).map_err(error::plain)?;
        let (unit, scale, _) = found.figure.shown();
        let line = |(label, points): (String, Vec<Point>)| {
            let point = |Point { x, text, statistics: own }| (x, text, own.n, own.mean, own.interval());
            (label, points.into_iter().map(point).collect())
        };
        Ok((found.lines.into_iter().map(line).collect(), found.unit, (unit, scale)))
    }

    /// The first MPTCP connection, or else the first connection.
    fn first(&self) -> String {
        let run = self.inner.runs().iter().find(|run| run.status == OK);
        let connections = run.map_or(&[][..], |run| &run.connections);
        let mptcp = connections.iter().find(|connection| connection.kind == "mptcp");
        mptcp.or(connections.first()).map_or_else(String::new, |connection| connection.id.clone())
    }

    /// Rate of each flow of a run in each second, bit/s.
    fn rates(&self, run: usize) -> PyResult<Vec<(String, Vec<f64>)>> {
        self.need_samples()?;
        let one = |(connection, subflow, counts): (&Connection, &Subflow, &SubflowCounts)| {
            (format!("{}.{}", connection.id, subflow.id), rates(&counts.samples))
        };
        Ok(self.flows(run).map(one).collect())
    }

    /// Of each subflow of the first MPTCP connection in each run: label of the run, 95 % quantile of the smoothed RTT in ms, and
    /// throughput in bit/s.
    fn delays(&self) -> PyResult<Vec<(String, f64, f64)>> {
        self.need_samples()?;
        let (first, summaries) = (self.first(), self.inner.summary());
        let labels = labels(summaries, "").into_iter().zip(summaries);
        let labels = labels.flat_map(|(label, one)| std::iter::repeat_n(label, one.runs));
        let of_run = |(run, label): (usize, String)| {
            let own = self.flows(run).filter(|(connection, ..)| connection.id == first);
            let one = move |(_, subflow, counts): (&Connection, &Subflow, &SubflowCounts)| {
                Some((label.clone(), high_rtt_ms(&counts.samples)?, subflow.throughput_bps))
            };
            own.filter_map(one).collect::<Vec<_>>()
        };
        Ok(labels.enumerate().flat_map(of_run).collect())
    }

    fn __len__(&self) -> usize {
        self.inner.runs().len()
    }
}

/// Of a folder that `braid` or a sweep wrote; with samples if all runs that succeeded were stored with them. Scenarios get
/// other names.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, folder: PathBuf, names: HashMap<String, String>) -> PyResult<Results> {
    let results = py.detach(|| braid_study::Results::open(&folder));
    let results = results.map_err(|wrong| error::of_study(&wrong))?.renamed(|name| names.get(name));
    let mut runs = results.runs().iter().zip(results.measurements());
    let sampled = runs.all(|(run, measurements)| run.status != OK || measurements.is_some());
    Ok(Results::new(results, sampled))
}
