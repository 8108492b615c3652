//! Columns of a scenario's table, and the format of their numbers.

use braid_results::{Statistics, Summary};

use crate::Table;
use crate::figure::{APART, Shown, figures, is_predicted, number, predictions};

/// One column: three lines of heading and one text per row.
pub(crate) struct Column {
    /// Subject, quantity, unit.
    pub(crate) heading: [String; 3],
    /// One per row.
    pub(crate) cells: Vec<String>,
    /// Priority in a narrow table: a column with 0 stays, others are dropped in descending order.
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
    let mut shown = figures(scenario);
    if is_predicted(rows.iter().copied()) && scenario.connections.len() <= APART {
        shown.extend(predictions(scenario));
    }
    columns.extend(shown.iter().map(|figure| column(figure, &rows)));
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
    table
        .varying()
        .into_iter()
        .map(|name| {
            let mut cells = Vec::new();
            for cell in &table.cells {
                let value = cell.scenario.parameters.get(name).cloned().unwrap_or_default();
                cells.extend((0..cell.summaries.len()).map(|row| match row {
                    0 => value.clone(),
                    _ => String::new(),
                }));
            }
            let heading = [String::new(), String::new(), name.to_owned()];
            Column { heading, cells, rank: 0, number: true }
        })
        .collect()
}

fn column(figure: &Shown, rows: &[&Summary]) -> Column {
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
