//! State and recent rates of the kernel's sockets, with warnings: for `top`, `status` and `metrics`.

mod findings;
mod lines;
mod model;
mod sampler;

pub(crate) use findings::{CHECKS, Finding, Machine, told};
pub(crate) use lines::{FILE, Lines};
pub(crate) use model::{Connection, Limit, State, Step, Subflow};
pub(crate) use sampler::Sampler;
