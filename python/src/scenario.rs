//! Scenarios as text.

use braid_scenario::Source;
use braid_scenario::trace::Trace;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error;

/// Name and title of the built-in scenarios.
#[pyfunction]
pub(crate) fn names() -> Vec<(String, String)> {
    let load = |summary: braid_scenario::Summary| (summary.name.to_owned(), summary.title);
    braid_scenario::embedded().map(load).collect()
}

/// The text of the scenario with that name or path.
#[pyfunction]
pub(crate) fn find(name: &str) -> PyResult<String> {
    Ok(Source::find(name).map_err(|wrong| error::of_scenario(&wrong))?.text)
}

/// Checks it, and returns title, story, congestion controls, ids of MPTCP connections with those of their subflows, and
/// number of cells.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "unpacked at once on the other side")]
pub(crate) fn check(
    name: String,
    text: String,
    set: Vec<String>,
) -> PyResult<(String, String, Vec<String>, Vec<(String, Vec<String>)>, usize, f64)> {
    let source = Source { name, text };
    let file = braid_scenario::load(&source, &set).map_err(|wrong| error::of_scenario(&wrong))?;
    let cell = &file.cells[0];
    let connections = cell.connections.iter();
    let connections = connections.filter(|connection| connection.kind == braid_scenario::model::Kind::Mptcp);
    let connections = connections.map(|connection| {
        let subflows = connection.subflows.iter().map(|subflow| subflow.name.clone()).collect();
        (connection.name.clone(), subflows)
    });
    let connections = connections.collect();
    let cc = file.cc.iter().map(|spec| spec.text().to_owned()).collect();
    let duration = cell.duration_ns as f64 / 1e9;
    Ok((file.title.clone(), file.story.clone(), cc, connections, file.cells.len(), duration))
}

/// The same value as TOML.
#[pyfunction]
pub(crate) fn toml_of_json(text: &str) -> PyResult<String> {
    let value: Value = serde_json::from_str(text).map_err(error::plain)?;
    toml::to_string(&value).map_err(error::plain)
}

/// For each link with a trace, its capacity in each second of the scenario, bit/s.
#[pyfunction]
pub(crate) fn capacities(name: String, text: String, set: Vec<String>) -> PyResult<Vec<(String, Vec<f64>)>> {
    const SECOND: u64 = 1_000_000_000;
    let source = Source { name, text };
    let file = braid_scenario::load(&source, &set).map_err(|wrong| error::of_scenario(&wrong))?;
    let cell = &file.cells[0];
    let links = cell.links.iter().filter_map(|link| Some((link, link.forward.trace.as_ref()?)));
    let capacity = links.map(|(link, trace)| {
        let until = |second: u64| if second == 0 { 0 } else { trace.until(second * SECOND - 1) };
        let bits = |count: u64| (count * u64::from(Trace::OPPORTUNITY - Trace::OVERHEAD) * 8) as f64;
        let seconds = 0..cell.duration_ns / SECOND;
        (link.name.clone(), seconds.map(|second| bits(until(second + 1) - until(second))).collect())
    });
    Ok(capacity.collect())
}
