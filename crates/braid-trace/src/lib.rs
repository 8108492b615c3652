//! Recorded calls of algorithms with all inputs (arguments, view and private memory) and outputs. A call recorded in
//! the kernel can be repeated natively, and must give the same words ([`Replay`]).
//!
//! The same calls have three forms: a binary trace ([`Writer`], [`Reader`]), text to review ([`tsv`]) and JSON for
//! implementers in other languages ([`json`]). [`read`] reads any of them. [`generate`] creates synthetic calls.

#![allow(clippy::missing_errors_doc, reason = "each error says what may be wrong")]

mod binary;
mod call;
pub mod contract;
mod error;
mod file;
mod form;
pub mod generate;
mod hex;
pub mod json;
mod replay;
pub mod tsv;

pub use binary::{End, Reader, Writer};
pub use call::{Call, Origin, Outputs};
pub use error::Error;
pub use file::{Calls, read};
pub use form::event_name;
pub use replay::{Difference, Replay};
