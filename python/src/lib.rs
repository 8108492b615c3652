//! `braid._braid`: what the Python package needs of Braid's crates, as thin as it can be. Everything that a person calls,
//! its names and its documentation are in `python/braid`.

#![allow(clippy::needless_pass_by_value, reason = "what Python hands over was made for the call")]

mod agent;
mod algorithms;
mod class;
mod error;
mod results;
mod run;
mod scenario;
mod sweep;
mod table;

use pyo3::prelude::*;

#[pymodule]
fn _braid(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<table::Table>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<class::Event>()?;
    module.add_class::<class::Subflow>()?;
    module.add_class::<class::View>()?;
    module.add_class::<agent::Agent>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::plan, module)?)?;
    module.add_function(wrap_pyfunction!(results::open, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::names, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::find, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::check, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::capacities, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::toml_of_json, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::list, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::compile, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::template, module)?)?;
    module.add_function(wrap_pyfunction!(class::define, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::do_runs, module)?)?;
    Ok(())
}
