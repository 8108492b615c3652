//! Content and style of tables.

use braid_results::Summary;
use braid_scenario::model::Scenario;

/// One scenario with its runs.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// One line for people.
    pub title: &'a str,
    /// At least one; all with the same links and connections.
    pub cells: Vec<Cell<'a>>,
    /// Names of the rows of each cell.
    pub(crate) names: Vec<String>,
}

impl<'a> Table<'a> {
    /// At least one cell; all with the same links and connections, and the same rows.
    pub fn new(title: &'a str, cells: Vec<Cell<'a>>) -> Self {
        let rows = cells.first().map_or(&[][..], |cell| cell.summaries);
        let several = several_schedulers(rows);
        let name = |row: &Summary| {
            if several { format!("{}, {}", row.cc, row.scheduler) } else { row.cc.clone() }
        };
        Self { title, names: rows.iter().map(name).collect(), cells }
    }

    /// Kind of these names.
    pub(crate) fn naming(&self) -> &'static str {
        if several_schedulers(self.cells[0].summaries) { "cc, scheduler" } else { "cc" }
    }

    /// The parameters that differ between cells.
    pub(crate) fn varying(&self) -> Vec<&'a str> {
        let of = |name: &str, cell: &Cell<'a>| cell.scenario.parameters.get(name);
        let names = self.cells[0].scenario.parameters.keys().map(String::as_str);
        let differs = |name: &&str| self.cells.iter().any(|cell| of(name, cell) != of(name, &self.cells[0]));
        names.filter(differs).collect()
    }

    /// All rows, each with its name.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &'a Summary)> {
        let names = || self.names.iter().map(String::as_str);
        self.cells.iter().flat_map(move |cell| names().zip(cell.summaries))
    }
}

fn several_schedulers(rows: &[Summary]) -> bool {
    rows.iter().any(|row| row.scheduler != rows[0].scheduler)
}

/// One cell of a scenario: its parameters have one value each.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The cell.
    pub scenario: &'a Scenario,
    /// One row each.
    pub summaries: &'a [Summary],
}

/// Style of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Maximum line width in characters; columns that do not fit are dropped, least important first, and named below
    /// the table. `None`: no limit.
    pub width: Option<usize>,
    /// Whether to use colours and bold type (ANSI escapes).
    pub colour: bool,
}
