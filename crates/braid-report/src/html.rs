//! The HTML report: one file that needs nothing else, with a table, findings and charts.
//!
//! The page is a list of sections, each a function from [`Report`] or [`Part`] to markup. What the charts show is in
//! one block of JSON; `assets/report.js` draws it with the charting library beside it, and everything that matters is
//! readable without script. That of a sweep ([`sweep()`]) is a page of its own.

mod curves;
mod data;
mod detections;
mod findings;
mod page;
mod report;
mod shares;
mod sweep;
mod table;

pub use curves::{Curves, Selection};
pub use report::{Event, MARK, Part, Report, Series};
pub use sweep::{SweepReport, sweep};

/// The page as text.
pub fn html(report: &Report) -> String {
    page::page(report).into_string()
}
