//! What a table is made of, and how it is to look.

use braid_results::Summary;
use braid_scenario::model::Scenario;

/// One scenario with everything that was run in it.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// One line for people.
    pub title: &'a str,
    /// At least one; all with the same links and connections.
    pub cells: Vec<Cell<'a>>,
}

/// One cell of a scenario: its parameters have one value each.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The cell.
    pub scenario: &'a Scenario,
    /// One row each.
    pub summaries: &'a [Summary],
}

/// How tables look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Widest line allowed, in characters; columns that do not fit are left out, least important first, and named
    /// below the table. `None`: no limit.
    pub width: Option<usize>,
    /// Whether to use colours and bold type (ANSI escapes).
    pub colour: bool,
}
