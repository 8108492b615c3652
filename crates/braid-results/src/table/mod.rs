//! Results as plain tables: the output of `--format csv` and the Parquet files of `--out`.
//!
//! A table is a list of figures of the [catalogue](crate::catalogue), which are its columns, and of [`Row`]s. The same flow has
//! the same columns in CSV and in Parquet. `docs/results.md` lists all of them.

mod layout;
mod row;
mod tables;
mod value;

pub use crate::catalogue::Row;
pub use layout::Table;
pub use row::{detections, flows, links, periods, queues, runs, samples, transfers};
pub use tables::{DETECTIONS, FLOWS, LINKS, PERIODS, QUEUES, RUNS, SAMPLES, TABLES, TRANSFERS};
pub use value::{Kind, Value};

use crate::Run;

/// Rows of run `number` in [`RUNS`], [`FLOWS`], [`PERIODS`] and [`LINKS`].
pub fn of_run(number: u64, run: &Run) -> [(&'static Table, Vec<Row<'_>>); 4] {
    fn own(number: u64, rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
        rows.into_iter().map(|row| Row { number, ..row }).collect()
    }
    let run = std::slice::from_ref(run);
    let own = |rows| own(number, rows);
    [
        (&RUNS, own(runs(run))),
        (&FLOWS, own(flows(run))),
        (&PERIODS, own(periods(run))),
        (&LINKS, own(links(run))),
    ]
}
