//! The simulator and all algorithms for a web page: requests and answers as JSON, samples as an array of numbers.
//!
//! A page loads the WebAssembly of this crate, which has no imports, and calls the functions of `exports`: `braid_call`
//! takes a [`Request`] and leaves an answer; `braid_advance` and `braid_ack` advance a run and leave rows of numbers. A
//! native build gives the same numbers to the last bit (`tests/same_numbers.mjs`).

mod catalogue;
mod edit;
pub mod exports;
mod live;
mod request;

pub use catalogue::catalogue;
pub use edit::edit;
pub use live::Live;
pub use request::{Desk, Request};
