//! Which figures of a scenario become columns, and how their numbers are written.

use braid_results::{Statistics, Summary};
use braid_scenario::model::{Connection, Kind, Scenario};
use braid_scenario::topology;

use crate::Table;

/// More connections of one kind than this share a column with their mean.
const APART: usize = 4;

/// One column: three lines of heading and one text per row.
pub(crate) struct Column {
    /// Whom or what it is about, what it shows, its unit.
    pub(crate) heading: [String; 3],
    /// One per row.
    pub(crate) cells: Vec<String>,
    /// 0 stays in any case; of the others, the highest are left out first.
    pub(crate) rank: u8,
    /// Texts stand left, numbers right.
    pub(crate) number: bool,
}

/// What there is to know about a figure before its values are looked up.
struct Figure {
    who: String,
    what: &'static str,
    unit: &'static str,
    /// Paths in [`Summary::statistics`]; several are averaged.
    paths: Vec<String>,
    /// Divides the value.
    scale: f64,
    /// Decimals of a value below 1000; one fewer from there, two fewer from 10 000.
    decimals: usize,
    interval: bool,
    rank: u8,
}

impl Figure {
    fn new(rank: u8, who: &str, what: &'static str, unit: &'static str, path: String) -> Self {
        Self {
            who: who.to_owned(),
            what,
            unit,
            paths: vec![path],
            scale: 1.0,
            decimals: 2,
            interval: false,
            rank,
        }
    }

    fn mbit(self) -> Self {
        Self { scale: 1e6, ..self }
    }

    fn decimals(self, decimals: usize) -> Self {
        Self { decimals, ..self }
    }

    fn with_interval(self) -> Self {
        Self { interval: true, ..self }
    }
}

/// The columns of a table, in the order they are shown.
pub(crate) fn columns(table: &Table) -> Vec<Column> {
    let rows: Vec<&Summary> = table.cells.iter().flat_map(|cell| cell.summaries).collect();
    let mut columns = parameters(table);
    columns.push(Column {
        heading: [String::new(), String::new(), "cc".to_owned()],
        cells: rows.iter().map(|row| row.cc.clone()).collect(),
        rank: 0,
        number: false,
    });
    columns.extend(figures(table.cells[0].scenario).iter().map(|figure| column(figure, &rows)));
    columns
}

/// What the columns that are not `shown` show, each once: `RTT`, `Jain`.
pub(crate) fn left_out<'a>(columns: &'a [Column], shown: &[&Column]) -> Vec<&'a str> {
    let mut titles: Vec<&str> = Vec::new();
    for column in columns.iter().filter(|column| !shown.iter().any(|shown| shown.rank == column.rank)) {
        if !titles.contains(&column.heading[1].as_str()) {
            titles.push(&column.heading[1]);
        }
    }
    titles
}

/// A column for each parameter that has several values; a value stands only where it begins.
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

fn figures(scenario: &Scenario) -> Vec<Figure> {
    let all = &scenario.connections;
    let about = |connection: &&Connection| {
        connection.cc.is_none() || all.iter().all(|connection| connection.cc.is_some())
    };
    let of_kind = |kind: Kind, tested: bool| -> Vec<&Connection> {
        all.iter().filter(|c| c.kind == kind && about(c) == tested).collect()
    };
    let tested = [of_kind(Kind::Mptcp, true), of_kind(Kind::Tcp, true)];
    let others = [of_kind(Kind::Mptcp, false), of_kind(Kind::Tcp, false)];

    let mut figures = Vec::new();
    for group in &tested {
        goodput(&mut figures, group, 0);
    }
    for connection in all.iter().filter(|c| c.kind == Kind::Mptcp).take(APART) {
        let path = format!("metrics.aggregate_benefits.{}", connection.name);
        figures.push(Figure::new(1, &connection.name, "benefit", "", path).decimals(3).with_interval());
    }
    let apart = || tested.iter().filter(|group| group.len() <= APART).flatten();
    for connection in apart().filter(|connection| connection.subflows.len() > 1) {
        for subflow in &connection.subflows {
            let path = format!("connections.{}.subflows.{}.throughput_bps", connection.name, subflow.name);
            figures.push(Figure::new(3, &subflow.name, "rate", "Mbit/s", path).mbit());
        }
    }
    for group in &others {
        goodput(&mut figures, group, 2);
    }
    fairness(&mut figures, scenario);
    for connection in apart() {
        let path = format!("connections.{}.retransmissions", connection.name);
        figures.push(Figure::new(5, &connection.name, "retrans", "packets", path).decimals(0));
    }
    for connection in apart() {
        for subflow in &connection.subflows {
            let who = if connection.subflows.len() > 1 { &subflow.name } else { &connection.name };
            let path = format!("connections.{}.subflows.{}.mean_rtt_ms", connection.name, subflow.name);
            figures.push(Figure::new(6, who, "RTT", "ms", path).decimals(1));
        }
    }
    figures
}

fn goodput(figures: &mut Vec<Figure>, connections: &[&Connection], rank: u8) {
    let path = |connection: &Connection| format!("connections.{}.goodput_bps", connection.name);
    if connections.len() > APART {
        let who = format!("{} flows", connections.len());
        let paths = connections.iter().map(|connection| path(connection)).collect();
        let mean = Figure::new(rank, &who, "mean goodput", "Mbit/s", String::new()).mbit();
        figures.push(Figure { paths, ..mean });
        return;
    }
    for connection in connections {
        let figure = Figure::new(rank, &connection.name, "goodput", "Mbit/s", path(connection));
        figures.push(figure.mbit().with_interval());
    }
}

/// Jain's index at the links that are someone's bottleneck and that several flows cross.
fn fairness(figures: &mut Vec<Figure>, scenario: &Scenario) {
    let bottlenecks: Vec<usize> =
        topology::paths(scenario).iter().flatten().map(|path| path.bottleneck).collect();
    for (index, link) in scenario.links.iter().enumerate() {
        if link.private || !bottlenecks.contains(&index) {
            continue;
        }
        let crossing = |connection: &&Connection| -> usize {
            connection.subflows.iter().filter(|subflow| subflow.route.contains(&index)).count()
        };
        let connections = scenario.connections.iter().filter(|c| crossing(c) > 0);
        let subflows: usize =
            scenario.connections.iter().filter(|c| c.kind == Kind::Mptcp).map(|c| crossing(&c)).sum();
        if connections.count() > 1 {
            let path = format!("metrics.jain_connections.{}", link.name);
            figures.push(Figure::new(4, &link.name, "Jain", "", path).decimals(3));
        }
        if subflows > 1 {
            let path = format!("metrics.jain_mptcp_subflows.{}", link.name);
            figures.push(Figure::new(4, &link.name, "Jain sf", "", path).decimals(3));
        }
    }
}

fn column(figure: &Figure, rows: &[&Summary]) -> Column {
    let values: Vec<Option<Statistics>> = rows.iter().map(|row| value(figure, row)).collect();
    let largest = values.iter().flatten().map(|s| (s.mean / figure.scale).abs()).fold(0.0, f64::max);
    let decimals = match largest {
        10_000.0.. => figure.decimals.saturating_sub(2),
        1000.0.. => figure.decimals.saturating_sub(1),
        _ => figure.decimals,
    };
    let number = |value: f64| {
        let text = format!("{:.decimals$}", value / figure.scale);
        // No negative zero.
        match text.strip_prefix('-') {
            Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
            _ => text,
        }
    };
    let intervals: Vec<Option<String>> = values
        .iter()
        .map(|value| value.filter(|_| figure.interval).and_then(|s| s.ci95).map(number))
        .collect();
    let width = intervals.iter().flatten().map(String::len).max().unwrap_or(0);
    let cells = values.iter().zip(&intervals).map(|(value, interval)| match (value, interval) {
        (None, _) => "-".to_owned(),
        (Some(s), Some(half)) => format!("{} \u{b1} {half:>width$}", number(s.mean)),
        (Some(s), None) => number(s.mean),
    });
    Column {
        heading: [figure.who.clone(), figure.what.to_owned(), figure.unit.to_owned()],
        cells: cells.collect(),
        rank: figure.rank,
        number: true,
    }
}

/// The statistics of a figure; of several paths only their common mean, since their spread means nothing.
fn value(figure: &Figure, row: &Summary) -> Option<Statistics> {
    match &figure.paths[..] {
        [path] => row.get(path).copied(),
        paths => {
            let means: Option<Vec<f64>> = paths.iter().map(|path| Some(row.get(path)?.mean)).collect();
            Statistics::of(&means?)
        }
    }
}
