//! Results.
pub mod measure;
