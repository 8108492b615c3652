//! Experiments: checked before anything starts, run in parallel, and returned as tables.
//!
//! A [`Study`] is scenarios × parameters × algorithms × schedulers × seeds on a [`Backend`], by default the simulator.
//! [`Study::check`] reads and checks everything and returns a [`Plan`]; [`Plan::execution`] sets options; results come
//! one by one in a fixed order, or all together as [`Results`].
//!
//! ```
//! use braid_study::Study;
//!
//! let results = Study::new(["d-olia/1"])
//!     .set("duration=20s")
//!     .algorithms(["lia", "olia"])
//!     .seeds(3)
//!     .check()?
//!     .execution()
//!     .collect()?;
//! for summary in results.summary() {
//!     let benefit = summary.get("metrics.aggregate_benefit").expect("there is an MPTCP connection");
//!     println!("{}: aggregate benefit {:.2} of {} runs", summary.cc, benefit.mean, summary.runs);
//! }
//! # #[cfg(feature = "arrow")]
//! assert_eq!(results.flows().num_rows(), 2 * 3 * 2, "two algorithms, three seeds, two subflows");
//! # Ok::<(), braid_study::Error>(())
//! ```
//!
//! No terminal is involved: the caller gets [`Event`]s while it runs, and may [`Cancel`] it at any time. A run that
//! fails, even by a panic, has a status, and the others go on. A [`Key`] identifies a run; a `Store` is a folder of
//! runs by key, with which an interrupted study continues.

mod backend;
mod cancel;
#[cfg(feature = "parquet")]
mod dataset;
mod error;
mod event;
mod execution;
#[cfg(feature = "store")]
pub mod files;
mod grid;
mod group;
#[cfg(unix)]
mod isolated;
mod key;
#[cfg(feature = "store")]
mod manifest;
#[cfg(feature = "parquet")]
mod measured;
mod panics;
mod plan;
mod pool;
mod results;
mod seeds;
mod sim;
#[cfg(feature = "store")]
mod store;
mod study;
#[cfg(feature = "parquet")]
mod sweep;
mod worker;

pub use backend::{Backend, Case, Outcome, Request, Stop};
pub use cancel::Cancel;
#[cfg(feature = "parquet")]
pub use dataset::Dataset;
pub use error::{Error, Kind};
pub use event::{Event, Finished};
pub use execution::{Done, Execution};
pub use grid::Grid;
pub use group::Group;
pub use key::Key;
#[cfg(feature = "parquet")]
pub use measured::measured;
pub use plan::{Plan, Planned};
pub use results::Results;
pub use seeds::Seeds;
pub use sim::Sim;
#[cfg(feature = "store")]
pub use store::Store;
pub use study::Study;
#[cfg(feature = "parquet")]
pub use sweep::{Sweep, Swept};
