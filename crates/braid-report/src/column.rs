//! Columns of a scenario's table, and the format of their numbers.

use braid_results::theory::{Fluid, Theory};
use braid_results::{Statistics, Summary};
use braid_scenario::model::Scenario;

use crate::Table;
use crate::figure::{APART, Figure, figures, number};

/// Rank of predictions: they are dropped first.
const FLUID: u8 = 7;

/// One column: three lines of heading and one text per row.
pub(crate) struct Column {
    /// Subject, quantity, unit.
    pub(crate) heading: [String; 3],
    /// One per row.
    pub(crate) cells: Vec<String>,
    /// 0 always stays; others are dropped from the highest on.
    pub(crate) rank: u8,
    /// Text is aligned left, numbers right.
    pub(crate) number: bool,
}

/// The columns of a table, in the order they are shown.
pub(crate) fn columns(table: &Table) -> Vec<Column> {
    let rows: Vec<&Summary> = table.cells.iter().flat_map(|cell| cell.summaries).collect();
    let mut columns = parameters(table);
    columns.push(Column {
        heading: [String::new(), String::new(), table.naming().to_owned()],
        cells: table.rows().map(|(name, _)| name.to_owned()).collect(),
        rank: 0,
        number: false,
    });
    let scenario = table.cells[0].scenario;
    columns.extend(figures(scenario).iter().map(|figure| column(figure, &rows)));
    columns.extend(predictions(&rows, scenario));
    columns
}

/// Quantities of columns that are not `shown`, each once: `RTT`, `Jain`.
pub(crate) fn left_out<'a>(columns: &'a [Column], shown: &[&Column]) -> Vec<&'a str> {
    let mut titles: Vec<&str> = Vec::new();
    for column in columns.iter().filter(|column| !shown.iter().any(|shown| shown.rank == column.rank)) {
        if !titles.contains(&column.heading[1].as_str()) {
            titles.push(&column.heading[1]);
        }
    }
    titles
}

/// A column for each parameter with several values; repeated values are blank.
fn parameters(table: &Table) -> Vec<Column> {
    let first = table.cells[0].scenario;
    let varying = first.parameters.iter().filter(|(name, value)| {
        table.cells.iter().any(|cell| cell.scenario.parameters.get(*name) != Some(*value))
    });
    varying
        .map(|(name, _)| {
            let mut cells = Vec::new();
            for cell in &table.cells {
                let value = cell.scenario.parameters.get(name).cloned().unwrap_or_default();
                cells.extend((0..cell.summaries.len()).map(|row| match row {
                    0 => value.clone(),
                    _ => String::new(),
                }));
            }
            let heading = [String::new(), String::new(), name.clone()];
            Column { heading, cells, rank: 0, number: true }
        })
        .collect()
}

/// Predictions of a fluid model: a column for each connection, if there are few and any prediction exists.
fn predictions(rows: &[&Summary], scenario: &Scenario) -> Vec<Column> {
    let fluids: Vec<Option<&Fluid>> = rows
        .iter()
        .map(|row| match &row.theory {
            Some(Theory::Fluid(fluid)) => Some(fluid),
            _ => None,
        })
        .collect();
    if fluids.iter().all(Option::is_none) || scenario.connections.len() > APART {
        return Vec::new();
    }
    let prediction = |who: &str, rate: &dyn Fn(&Fluid) -> Option<f64>| {
        let cell =
            |fluid: Option<&Fluid>| fluid.and_then(rate).map_or("-".to_owned(), |rate| number(rate / 1e6, 2));
        Column {
            heading: [who.to_owned(), "fluid".to_owned(), "Mbit/s".to_owned()],
            cells: fluids.iter().copied().map(cell).collect(),
            rank: FLUID,
            number: true,
        }
    };
    let of = |name: &str| {
        let rate = |fluid: &Fluid| Some(fluid.connections.get(name)?.throughput_bps);
        prediction(name, &rate)
    };
    scenario.connections.iter().map(|connection| of(&connection.name)).collect()
}

fn column(figure: &Figure, rows: &[&Summary]) -> Column {
    let values: Vec<Option<Statistics>> = rows.iter().map(|row| figure.statistics(row)).collect();
    let decimals = figure.decimals_for(&values);
    let intervals: Vec<Option<String>> = values
        .iter()
        .map(|value| value.filter(|_| figure.interval)?.interval())
        .map(|half| half.map(|half| number(half, decimals)))
        .collect();
    let width = intervals.iter().flatten().map(String::len).max().unwrap_or(0);
    let cells = values.iter().zip(&intervals).map(|(value, interval)| match (value, interval) {
        (None, _) => "-".to_owned(),
        (Some(s), Some(half)) => format!("{} \u{b1} {half:>width$}", number(s.mean, decimals)),
        (Some(s), None) => number(s.mean, decimals),
    });
    Column {
        heading: [figure.who.clone(), figure.what.to_owned(), figure.unit.to_owned()],
        cells: cells.collect(),
        rank: figure.rank,
        number: true,
    }
}
