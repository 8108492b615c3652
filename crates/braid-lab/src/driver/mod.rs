//! What drives a run from outside: it makes a job of a scenario, has it done in a guest or on this machine, judges whether the
//! network was the scenario's, and makes measurements of the report.

mod cache;
mod check;
mod discipline;
mod error;
mod headers;
mod host;
mod image;
mod kernels;
mod lab;
mod libraries;
mod measure;
mod module;
mod programs;
mod qemu;
mod routes;
mod schedulers;
mod scratch;
mod translate;
mod validate;

pub(crate) use check::check;
pub(crate) use host::Host;
pub(crate) use kernels::default_kernel;
pub(crate) use lab::Lab;
pub use lab::Start;
pub(crate) use measure::measure;
pub(crate) use module::source_hash as scheduler_module;
pub(crate) use programs::{At, Runs, identity as programs_identity};
pub use schedulers::KERNELS_OWN;
pub(crate) use schedulers::{is_kernels_own, need_module};
pub use translate::own_of_the_kernel;
pub(crate) use translate::translate;
pub(crate) use validate::doubts;
