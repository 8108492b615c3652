//! Measurements of a complete sweep, read from its dataset.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use braid_results::Statistics;
use braid_results::catalogue::Level;
use braid_results::parquet::read;
use braid_results::sweep::{Charted, FIGURES, Point, Sweep};
use braid_results::table::Value;
use indexmap::IndexMap;

use crate::dataset::FILE;
use crate::{Error, Grid, Kind};

/// Columns that identify a row; those of its values follow.
const WHICH: [&str; 11] = [
    "run",
    "scenario",
    "cc",
    "params",
    "scheduler",
    "connection",
    "subflow",
    "kind",
    "link",
    "direction",
    "private",
];

/// Common properties of runs that differ in their seed: scenario, congestion control, parameters as JSON, scheduler.
type Setting = [String; 4];

/// The runs of one setting.
struct Seeds {
    /// Number of the first run.
    first: i64,
    values: BTreeMap<Charted, Vec<f64>>,
}

/// Reads the folder of a complete sweep of this grid.
///
/// # Errors
/// If it cannot be read.
pub fn measured(grid: &Grid, folder: &Path) -> Result<Sweep, Error> {
    let mut all: BTreeMap<Setting, Seeds> = BTreeMap::new();
    for table in ["flows", "links"] {
        for path in files(&folder.join(table)).map_err(|error| unreadable(&folder.join(table), &error))? {
            let file = File::open(&path).and_then(|file| take(file, table == "links", &mut all));
            file.map_err(|error| unreadable(&path, &error))?;
        }
    }
    let mut all: Vec<(Setting, Seeds)> = all.into_iter().collect();
    all.sort_by_key(|(_, seeds)| seeds.first);
    let axes = grid.axes();
    let points = all.into_iter().map(|([scenario, cc, parameters, scheduler], seeds)| {
        let parameters: IndexMap<String, String> = serde_json::from_str(&parameters).unwrap_or_default();
        let figures = seeds.values.into_iter().filter_map(|(figure, values)| {
            let (_, scale, _) = figure.kind().0.shown();
            let values: Vec<f64> = values.into_iter().map(|value| value / scale).collect();
            Some((figure, Statistics::of(&values)?))
        });
        Point {
            scenario,
            line: grid.line(&cc, &parameters),
            scheduler,
            values: axes.iter().map(|axis| parameters.get(&axis.name).cloned()).collect(),
            figures: figures.collect(),
        }
    });
    Ok(Sweep { points: points.collect(), is_sample: grid.is_sample(), axes })
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(Kind::Failed, format!("cannot read {}: {error}", path.display()))
}

/// The files of a table, in order.
fn files(table: &Path) -> io::Result<Vec<PathBuf>> {
    let inner = |folder: &Path| -> io::Result<Vec<PathBuf>> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.sort();
        Ok(paths)
    };
    let mut files = Vec::new();
    for scenario in inner(table)? {
        for algorithm in inner(&scenario)? {
            files.push(algorithm.join(FILE));
        }
    }
    Ok(files)
}

/// Reads the values of a file.
fn take(file: File, of_links: bool, all: &mut BTreeMap<Setting, Seeds>) -> io::Result<()> {
    let kinds = FIGURES.iter().enumerate().filter(|(_, kind)| (kind.0.level == Level::Link) == of_links);
    let kinds: Vec<usize> = kinds.map(|(number, _)| number).collect();
    let columns: Vec<&str> =
        WHICH.into_iter().chain(kinds.iter().map(|&kind| FIGURES[kind].0.name)).collect();
    // Of a connection the row of its first subflow counts.
    let mut latest = (None, String::new());
    read(file, &columns, |row| {
        let text = |place: usize| match &row[place] {
            Value::Text(text) => text.to_string(),
            _ => String::new(),
        };
        let Value::Integer(run) = row[0] else { return };
        let setting = [1, 2, 3, 4].map(text);
        let seeds = all.entry(setting).or_insert_with(|| Seeds { first: run, values: BTreeMap::new() });
        seeds.first = seeds.first.min(run);
        let (connection, subflow, link) = (text(5), text(6), text(8));
        // A private link carries one flow, which has its own row.
        if text(9) == "reverse" || row[10] == Value::Bool(true) {
            return;
        }
        let this = (Some(run), connection.clone());
        let is_first = latest != this;
        latest = this;
        for (&kind, value) in kinds.iter().zip(&row[WHICH.len()..]) {
            let value = match value {
                Value::Real(value) => *value,
                Value::Integer(value) => *value as f64,
                _ => continue,
            };
            let who = match FIGURES[kind].0.level {
                Level::Connection if !is_first => continue,
                Level::Connection => connection.clone(),
                Level::Subflow if text(7) == "tcp" => connection.clone(),
                Level::Subflow => format!("{connection} {subflow}"),
                _ => link.clone(),
            };
            seeds.values.entry(Charted { kind, who }).or_default().push(value);
        }
    })
}
