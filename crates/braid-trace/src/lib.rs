//! Calls of algorithms as they were made somewhere, each with everything that it depends on: arguments, view and private
//! memory before it, and what it left. So a call recorded in the kernel can be made again natively, and must leave the
//! same words ([`Replay`]).
//!
//! The same calls have three forms: a binary trace ([`Writer`], [`Reader`]), text to review ([`tsv`]) and JSON for
//! implementers in other languages ([`json`]). [`read`] takes any of them. [`generate`] makes calls up.

mod binary;
mod call;
mod error;
mod fields;
mod file;
pub mod generate;
pub mod json;
mod replay;
pub mod tsv;

pub use binary::{End, Reader, Writer};
pub use call::{Call, Origin, Outputs};
pub use error::Error;
pub use fields::event_name;
pub use file::{Calls, read};
pub use replay::{Difference, Replay};
