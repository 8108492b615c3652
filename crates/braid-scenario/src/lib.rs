//! Scenario files: links, connections and their traffic.
//!
//! A scenario is a TOML file. [`Source::find`] gets its text by embedded name or path, [`load`] checks it and resolves
//! it into one [`model::Scenario`] per combination of its parameters; [`mod@format`] lists the keys of a file. An
//! [`Error`] names the place, the key, the expected value and the remedy.
//!
//! ```
//! let source = braid_scenario::Source::find("analysis/shared")?;
//! let file = braid_scenario::load(&source, &["parameters.bandwidth=24mbit".to_owned()])?;
//! assert_eq!(file.cells.len(), 6);
//! assert_eq!(file.cells[0].parameters["rtt1"], "10ms");
//! # Ok::<(), braid_scenario::Error>(())
//! ```

pub mod case;
pub mod format;
pub mod model;
pub mod topology;
pub mod trace;
pub mod units;
pub mod words;

mod catalogue;
mod de;
mod document;
mod embedded;
mod error;
mod expand;
mod file;
mod limits;
mod resolve;
mod schema;
mod source;
mod traffic;

pub use catalogue::{Summary, embedded};
pub use error::{Error, Problem};
pub use file::{File, load};
pub use schema::schema;
pub use source::Source;
