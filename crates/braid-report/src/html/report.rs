//! Content of a page.

use braid_results::{Run, Summary};
use braid_scenario::model::Scenario;

use super::curves::Curves;
use crate::{Cell, Table};

/// Everything on the page. Equal reports give equal pages.
#[derive(Debug)]
pub struct Report<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// The command that makes this page.
    pub command: &'a str,
    /// The specs that were compared, each with one line about it.
    pub algorithms: Vec<(String, String)>,
    /// At least one.
    pub parts: Vec<Part<'a>>,
}

/// One scenario file and its runs.
#[derive(Debug)]
pub struct Part<'a> {
    /// Its title and cells.
    pub table: Table<'a>,
    /// Its purpose and expected results; several lines, may be empty.
    pub story: &'a str,
    /// The links and flows of the first cell as text.
    pub numbers: String,
    /// Changes of links during a run, for each cell.
    pub events: Vec<Vec<Event>>,
    /// By cell, congestion control and seed.
    pub runs: &'a [Run],
    /// Time series of some of the runs.
    pub series: Vec<Series<'a>>,
}

/// A change of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Since the start of the run.
    pub from_ns: u64,
    /// End, if it has one.
    pub to_ns: Option<u64>,
    /// Link and change, in a few words.
    pub what: String,
}

/// The time series of one run.
#[derive(Debug)]
pub struct Series<'a> {
    /// Index in [`Part::runs`].
    pub run: usize,
    /// Its stored series.
    pub curves: &'a Curves,
}

/// The runs of one row of a cell.
pub(super) struct Group<'a> {
    pub(super) cell: usize,
    pub(super) row: usize,
    /// Name of the row.
    pub(super) name: &'a str,
    pub(super) summary: &'a Summary,
    pub(super) runs: &'a [Run],
}

impl<'a> Part<'a> {
    pub(super) fn first(&self) -> &'a Scenario {
        self.table.cells[0].scenario
    }

    pub(super) fn cells(&self) -> &[Cell<'a>] {
        &self.table.cells
    }

    /// The names of the rows, equal in all cells: the congestion controls, with the scheduler if there are several.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.table.names.iter().map(String::as_str)
    }

    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        let mut rest = self.runs;
        let mut groups = Vec::new();
        for (cell, of) in self.cells().iter().enumerate() {
            for (row, (name, summary)) in self.names().zip(of.summaries).enumerate() {
                let (runs, after) = rest.split_at(summary.runs);
                groups.push(Group { cell, row, name, summary, runs });
                rest = after;
            }
        }
        groups
    }
}
