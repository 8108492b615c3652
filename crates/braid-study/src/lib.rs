//! Experiments: what is to be run, checked before anything starts, run in parallel, and handed out as tables.
//!
//! A [`Study`] is scenarios × parameters × algorithms × schedulers × [`Backend`]s × seeds; the backend is the simulator unless
//! others are given. [`Study::check`] reads and checks everything and makes a [`Plan`] of it; [`Plan::execution`]
//! says how it is to be run; its results come one by one and in a fixed order, or all together as [`Results`].
//!
//! ```
//! use braid_study::Study;
//! use braid_study::catalogue::Metrics;
//!
//! let results = Study::new(["d-olia/1"])
//!     .set("duration=20s")
//!     .algorithms(["lia", "olia"])
//!     .seeds(3)
//!     .check()?
//!     .execution()
//!     .collect()?;
//! for summary in results.summary() {
//!     let benefit = summary.get(&Metrics::aggregate_benefit, "").expect("there is an MPTCP connection");
//!     println!("{}: aggregate benefit {:.2} of {} runs", summary.cc, benefit.mean, summary.runs);
//! }
//! # #[cfg(feature = "arrow")]
//! assert_eq!(results.flows().num_rows(), 2 * 3 * 2, "two algorithms, three seeds, two subflows");
//! # Ok::<(), braid_study::Error>(())
//! ```
//!
//! There is no terminal in here: the caller gets [`Event`]s while it runs, or hands them to [`Sink`]s, and may [`Cancel`] it at
//! any time. A run that fails, even by a panic, says why in its status, and the others go on. A [`Key`] tells whether two runs are
//! the same; a [`Store`] is a folder that holds runs by their keys. A plan with more seeds, values, algorithms or backends does
//! only the runs that are missing there.

mod backend;
mod cancel;
#[cfg(feature = "parquet")]
mod dataset;
mod error;
mod event;
mod execution;
pub mod files;
mod grid;
mod group;
#[cfg(unix)]
mod isolated;
mod key;
#[cfg(feature = "parquet")]
mod measured;
mod panics;
mod plan;
mod pool;
mod results;
mod seeds;
mod sim;
mod sink;
mod store;
mod study;
mod worker;

pub use braid_results::catalogue;

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
pub use plan::{Plan, Planned, Unit};
pub use results::Results;
pub use seeds::Seeds;
pub use sim::Sim;
pub use sink::Sink;
pub use store::{Folder, Store};
pub use study::Study;
