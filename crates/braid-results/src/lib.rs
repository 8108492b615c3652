//! Results of runs: raw counters, derived metrics, statistics over seeds and the JSON document.
//!
//! A backend fills [`measure::Measurements`]; [`Setup::measured`] makes a [`Run`] of it; [`summary::summarize`] turns
//! the runs that differ only in their seed into means and confidence intervals; [`Document`] is all of it. The same
//! figures as plain tables are in [`mod@table`]; [`mod@catalogue`] declares all of them. [`mod@claims`] compares them with what papers have published.

#[macro_use]
mod figures;

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod catalogue;
pub mod claims;
pub mod compare;
pub mod detection;
pub mod lines;
pub mod measure;
pub mod metrics;
#[cfg(feature = "parquet")]
pub mod parquet;
mod run;
pub mod statistics;
pub mod summary;
pub mod sweep;
pub mod table;
pub mod theory;

use serde::Serialize;

pub use catalogue::{
    Application, Connection, DataLevel, Deadline, Delay, Detection, Figure, Link, LinkDirection, Metrics, OK,
    Period, Run, Subflow, Times,
};
pub use run::Setup;
pub use statistics::Statistics;
pub use summary::Summary;

/// Version of the document's meaning; raised when a field changes or is removed, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// Hash of these sources, and so of the derived figures.
pub const SOURCE_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/source-hash"));

/// The output of `--format json`.
///
/// Equal runs give equal documents: same scenario, seed and program, same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Document<'a> {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub braid_version: &'a str,
    /// By scenario, cell, congestion control and seed, in the requested order.
    pub runs: &'a [Run],
    /// One per group of runs that differ only in their seed.
    pub summary: &'a [Summary],
}

impl<'a> Document<'a> {
    /// The document of `runs` and their `summary`.
    pub fn new(braid_version: &'a str, runs: &'a [Run], summary: &'a [Summary]) -> Self {
        Self { schema_version: SCHEMA_VERSION, braid_version, runs, summary }
    }

    /// The document as text, one run per line for readable differences, with a newline at the end.
    pub fn to_json(&self) -> String {
        let lines = |out: &mut String, values: Vec<String>| {
            out.push_str(if values.is_empty() { "[" } else { "[\n" });
            out.push_str(&values.join(",\n"));
            out.push_str(if values.is_empty() { "]" } else { "\n]" });
        };
        let mut out = format!(
            "{{\"schema_version\":{},\"braid_version\":{},\"runs\":",
            self.schema_version,
            json(&self.braid_version)
        );
        lines(&mut out, self.runs.iter().map(json).collect());
        out.push_str(",\"summary\":");
        lines(&mut out, self.summary.iter().map(json).collect());
        out.push_str("}\n");
        out
    }
}

/// One value on one line, without a newline at the end.
///
/// # Panics
/// Never for the types of this crate: their keys are strings and their fields always serialise.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys")
}
