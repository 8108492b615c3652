//! The HTML report: one self-contained file with a table, findings and charts.
//!
//! The page is a list of sections, each a function from [`Report`] or [`Part`] to markup. The charts' data is in one
//! block of JSON; `assets/report.js` draws it with the charting library beside it, and the rest is readable without
//! script. A sweep ([`sweep()`]) has a page of its own.

mod curves;
mod data;
mod detections;
mod findings;
mod page;
mod report;
mod shares;
mod sweep;
mod table;

pub use crate::markup::MARK;
pub use curves::{Curves, Selection};
pub use report::{Event, Part, Report, Series};
pub use sweep::{SweepReport, sweep};

/// The page as text.
pub fn html(report: &Report) -> String {
    page::page(report)
}
