//! The simulator and all algorithms for a web page: requests and answers as JSON, samples as an array of numbers.
//!
//! A page loads the WebAssembly of this crate, which imports nothing, and talks to it by the functions of `exports`:
//! `braid_call` takes a [`Request`] and leaves an answer, `braid_advance` and `braid_ack` move a run on and leave rows of numbers.
//! The same functions on a desk computer give the same numbers to the last bit (`tests/same_numbers.mjs`).

mod catalogue;
mod edit;
pub mod exports;
mod live;
mod request;

pub use catalogue::catalogue;
pub use edit::edit;
pub use live::Live;
pub use request::{Desk, Request};
