//! Published figures, claims, verdicts and measurements as Parquet files with a dictionary, for other tools.

use std::io;

use super::{ClaimResult, Condition, Document, Estimate, Search, TableResult};
use crate::catalogue::Entry::{self, Group};
use crate::parquet::Writer;
use crate::table::{Table, Value};

type Rows = Vec<Vec<Value<'static>>>;

figures! {
    const WHICH;
    "paper": String, "", "key of the paper, as in papers/KEY.toml";
    "backend": String, "", "what ran: sim, the simulator, or lab, a real kernel";
    "seeds": u64, "", "repetitions asked for";
}

figures! {
    const OF_CELL;
    "table": String, "", "key of the table in the paper's file";
    "source": String, "", "where in the paper";
    "experiment": String, "", "key of the experiment in the paper's file";
    "metric": String, "", "what the figure is";
    "unit": String, "", "of published, measured and ci95; empty for what has none";
    "at": String, "", "where in the table, as axis=value with ; between";
    "published": f64, "as unit says", "as printed";
    "measured": f64, "as unit says", "mean of the repetitions; null if there is nothing";
    "ci95": f64, "as unit says", "half the width of its 95 % confidence interval (Student's t)";
    "n": u64, "", "repetitions that it is the mean of";
    "agrees": bool, "", "within 10 points of a share, 0.05 of an index, 10 % else, ci95 apart; null if in doubt";
    "doubt": String, "", "why not to trust what was printed";
}

figures! {
    const OF_CLAIM;
    "claim": String, "", "key of the claim in the paper's file";
    "source": String, "", "where in the paper";
    "strength": String, "", "how clearly the paper says it";
    "statement": String, "", "what it says, in our words";
    "verdict": String, "", "holds, fails, undecided or not checkable, by the rules of papers/README.md";
    "reason": String, "", "why it cannot be checked";
}

figures! {
    const OF_COMPARISON;
    "claim": String, "", "key of the claim";
    "where": String, "", "the cell, or with whom";
    "left": f64, "the metric's", "mean of the left side";
    "left_ci95": f64, "the metric's", "half the width of its interval";
    "right": f64, "the metric's", "mean of the right side, or the claim's number";
    "right_ci95": f64, "the metric's", "half the width of its interval";
    "verdict": String, "", "of this comparison alone; the sides are compared seed by seed";
}

figures! {
    const OF_SETTING;
    "setting": u64, "", "0 is as assumed";
    "what": String, "", "what is different";
    "score": f64, "0 to 1", "mean over the experiments: half claims, half cells";
    "claims_hold": u64, "", "claims that hold, of all";
    "cells_agree": u64, "", "printed cells that agree";
    "best": bool, "", "whether it is the most plausible one";
}

const fn table(name: &'static str, row: &'static str, columns: &'static [Entry]) -> Table {
    Table { name, row, columns }
}

const CELLS: Table = table("cells", "a cell of a printed table", &[Group(WHICH), Group(OF_CELL)]);
const CLAIMS: Table = table("claims", "a claim of a paper", &[Group(WHICH), Group(OF_CLAIM)]);
const COMPARISONS: Table =
    table("comparisons", "a comparison that a claim makes", &[Group(WHICH), Group(OF_COMPARISON)]);
const SETTINGS: Table =
    table("settings", "a setting that a search for the test bed tried", &[Group(WHICH), Group(OF_SETTING)]);

/// Mean and half the interval.
fn side<'a>(estimate: Option<Estimate>) -> [Value<'a>; 2] {
    [estimate.map(|own| own.mean).into(), estimate.and_then(|own| own.ci95).into()]
}

/// The files of the data set by name: Parquet, and the dictionary as CSV.
///
/// # Errors
/// Only errors of memory, which do not occur.
pub fn files(documents: &[Document], braid_version: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let (mut cells, mut claims, mut comparisons, mut settings) =
        (Rows::new(), Rows::new(), Rows::new(), Rows::new());
    for document in documents {
        let seeds = (document.seeds[1] - document.seeds[0] + 1) as usize;
        let row = |paper: &str, own: Vec<Value<'static>>| {
            [vec![paper.to_owned().into(), document.backend.clone().into(), seeds.into()], own].concat()
        };
        for paper in &document.papers {
            cells.extend(paper.tables.iter().flat_map(of_cells).map(|own| row(&paper.paper, own)));
            for claim in &paper.claims {
                claims.push(row(&paper.paper, of_claim(claim)));
                let conditions = claim.conditions.iter().map(|condition| of_condition(&claim.id, condition));
                comparisons.extend(conditions.map(|own| row(&paper.paper, own)));
            }
        }
        for search in &document.search {
            let of_setting = |place| row(&search.paper, of_setting(search, place));
            settings.extend((0..search.settings.len()).map(of_setting));
        }
    }
    let mut files = vec![("dictionary.csv".to_owned(), dictionary().into_bytes())];
    for (table, rows) in
        [(&CELLS, cells), (&CLAIMS, claims), (&COMPARISONS, comparisons), (&SETTINGS, settings)]
    {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, table, braid_version)?;
        writer.write_given(&rows)?;
        writer.finish()?;
        files.push((format!("{}.parquet", table.name), bytes));
    }
    Ok(files)
}

fn of_cells(table: &TableResult) -> impl Iterator<Item = Vec<Value<'static>>> {
    table.cells.iter().map(|cell| {
        let experiment = table.experiment.clone().or_else(|| cell.at.get("experiment").cloned());
        let at: Vec<String> = cell.at.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let [mean, half] = side(cell.measured);
        vec![
            table.id.clone().into(),
            table.source.clone().into(),
            experiment.into(),
            table.metric.text().into(),
            table.metric.unit().into(),
            at.join(";").into(),
            cell.published.into(),
            mean,
            half,
            cell.measured.map(|own| own.n).into(),
            cell.agrees(table.metric).into(),
            cell.doubt.clone().into(),
        ]
    })
}

fn of_claim(claim: &ClaimResult) -> Vec<Value<'static>> {
    vec![
        claim.id.clone().into(),
        claim.source.clone().into(),
        format!("{:?}", claim.strength).to_lowercase().into(),
        claim.statement.clone().into(),
        claim.verdict.text().into(),
        claim.reason.clone().into(),
    ]
}

fn of_condition(claim: &str, condition: &Condition) -> Vec<Value<'static>> {
    let ([left, left_half], [right, right_half]) = (side(condition.a), side(condition.b));
    let (what, verdict) = (condition.what.clone().into(), condition.verdict.text().into());
    vec![claim.to_owned().into(), what, left, left_half, right, right_half, verdict]
}

fn of_setting(search: &Search, place: usize) -> Vec<Value<'static>> {
    let setting = &search.settings[place];
    vec![
        place.into(),
        setting.what.clone().into(),
        search.score(place).into(),
        setting.counts.holds.into(),
        setting.scores.values().map(|score| score.cells).sum::<usize>().into(),
        (place == search.best).into(),
    ]
}

/// Meaning of each column: table, row, column, kind, unit, meaning.
fn dictionary() -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let mut line = |fields: [&str; 6]| csv.write_record(fields).expect("memory takes every line");
    line(["table", "row", "column", "kind", "unit", "meaning"]);
    for table in [&CELLS, &CLAIMS, &COMPARISONS, &SETTINGS] {
        for column in table.columns() {
            let kind = format!("{:?}", column.kind).to_lowercase();
            line([table.name, table.row, column.name, &kind, column.unit, column.meaning]);
        }
    }
    String::from_utf8(csv.into_inner().expect("memory takes every line")).expect("made of strings")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Coordinates, Counts, Metric, Reproduction, TableCell};

    #[test]
    fn every_row_has_a_value_for_every_column_and_equal_documents_give_equal_bytes() {
        let cell = TableCell {
            at: Coordinates::from([("flow".to_owned(), "sf1".to_owned())]),
            published: 50.0,
            measured: Some(Estimate { n: 3, mean: 42.0, ci95: Some(1.0) }),
            doubt: None,
        };
        let table = TableResult {
            id: "t".to_owned(),
            source: "Table 1".to_owned(),
            experiment: Some("e".to_owned()),
            metric: Metric::Share,
            row_axes: vec!["flow".to_owned()],
            column_axes: Vec::new(),
            cells: vec![cell],
        };
        let paper = Reproduction {
            paper: "p".to_owned(),
            title: String::new(),
            experiments: Vec::new(),
            tables: vec![table],
            claims: Vec::new(),
            counts: Counts::default(),
            strips: Vec::new(),
        };
        let document = Document::new("1", [1, 3], vec![paper]);
        let made = files(std::slice::from_ref(&document), "1").unwrap();
        assert_eq!(made, files(&[document], "1").unwrap());
        let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["dictionary.csv", "cells.parquet", "claims.parquet", "comparisons.parquet", "settings.parquet"]
        );
        assert!(made[1].1.starts_with(b"PAR1") && made[1].1.ends_with(b"PAR1"));
        assert!(
            String::from_utf8_lossy(&made[0].1).contains("cells,a cell of a printed table,published,real")
        );
    }
}
