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
mod outcome;
mod programs;
mod qemu;
mod routes;
mod schedulers;
mod scratch;
mod translate;
mod validate;

pub use check::check;
pub use error::{Error, Kind, Unsupported};
pub use host::Host;
pub use kernels::default_kernel;
pub use lab::{Lab, Start};
pub(crate) use module::source_hash as scheduler_module;
pub use outcome::{Capture, Outcome};
pub(crate) use programs::{At, identity as programs_identity};
pub use schedulers::KERNELS_OWN;
pub(crate) use schedulers::{is_kernels_own, need_module};
pub use translate::own_of_the_kernel;
