//! All results of a study together.

use std::path::Path;

use braid_results::measure::Measurements;
use braid_results::{Run, Summary};
#[cfg(feature = "arrow")]
use {
    arrow_array::RecordBatch,
    braid_results::arrow::batch,
    braid_results::table::{self, Row, Table},
};

use crate::{Error, Finished, Plan, Store};

/// The results of all runs, in the order of the plan.
#[derive(Clone, Debug)]
pub struct Results {
    runs: Vec<Run>,
    measurements: Vec<Option<Measurements>>,
    summary: Vec<Summary>,
}

impl Results {
    /// Of all runs of a plan, in its order.
    pub fn new(plan: &Plan, finished: Vec<Finished>) -> Self {
        let (runs, measurements): (Vec<_>, Vec<_>) =
            finished.into_iter().map(|finished| (finished.run, finished.measurements)).unzip();
        let summary = plan.summarize(&runs);
        Self { runs, measurements, summary }
    }

    /// Of a folder whose runs are all done, with samples of those that were stored with them.
    ///
    /// # Errors
    /// If it cannot be read, or is incomplete.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (plan, mut store) = Store::complete(folder)?;
        plan.execution().store(&mut store).samples().collect()
    }

    /// With other names of scenarios.
    #[must_use]
    pub fn renamed<'a>(mut self, to: impl Fn(&str) -> Option<&'a String>) -> Self {
        let runs = self.runs.iter_mut().map(|run| &mut run.scenario);
        for name in runs.chain(self.summary.iter_mut().map(|one| &mut one.scenario)) {
            if let Some(new) = to(name) {
                new.clone_into(name);
            }
        }
        self
    }

    /// Every run.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// What was measured in each of them; `None` of those that failed or were asked for without samples.
    pub fn measurements(&self) -> &[Option<Measurements>] {
        &self.measurements
    }

    /// Statistics over the runs that differ only in their seed, one for each group.
    pub fn summary(&self) -> &[Summary] {
        &self.summary
    }
}

/// As Arrow record batches. `docs/results.md` explains every column; each field says its unit and meaning.
#[cfg(feature = "arrow")]
impl Results {
    /// One row for each subflow, and for each TCP connection.
    pub fn flows(&self) -> RecordBatch {
        self.table(&table::FLOWS)
    }

    /// One of [`TABLES`](table::TABLES). Those of samples have rows of the runs that keep samples.
    pub fn table(&self, table: &Table) -> RecordBatch {
        let rows = match table.name {
            "runs" => table::runs(&self.runs),
            "flows" => table::flows(&self.runs),
            "links" => table::links(&self.runs),
            "periods" => table::periods(&self.runs),
            "detections" => table::detections(&self.runs),
            "samples" => self.sampled(table::samples),
            "queues" => self.sampled(table::queues),
            _ => self.sampled(table::transfers),
        };
        batch(table, &rows)
    }

    fn sampled<'a>(&'a self, rows: fn(u64, &'a Run, &'a Measurements) -> Vec<Row<'a>>) -> Vec<Row<'a>> {
        let runs = (0..).zip(&self.runs).zip(&self.measurements);
        runs.filter_map(|((number, run), counts)| Some(rows(number, run, counts.as_ref()?)))
            .flatten()
            .collect()
    }
}
