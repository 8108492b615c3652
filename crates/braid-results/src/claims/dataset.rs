//! Published figures, claims, verdicts and measurements as Parquet files with a dictionary, for other tools.

use std::io;

use super::{Coordinates, Document, Estimate, Reproduction};
use crate::parquet::Writer;
use crate::table::{Column, Kind, Table, Value, given};

type Rows<'a> = Vec<Vec<Value<'a>>>;

const WHICH: &[Column] = &[
    given("paper", Kind::Text, "", "key of the paper, as in papers/KEY.toml"),
    given("backend", Kind::Text, "", "what ran: sim, the simulator, or lab, a real kernel"),
    given("seeds", Kind::Integer, "", "repetitions asked for"),
];
const CELLS: Table = Table::of(
    "cells",
    "a cell of a printed table",
    &[
        WHICH,
        &[
            given("table", Kind::Text, "", "key of the table in the paper's file"),
            given("source", Kind::Text, "", "where in the paper"),
            given("experiment", Kind::Text, "", "key of the experiment in the paper's file"),
            given("metric", Kind::Text, "", "what the figure is"),
            given("unit", Kind::Text, "", "of published, measured and ci95; empty for what has none"),
            given("at", Kind::Text, "", "where in the table, as axis=value with ; between"),
            given("published", Kind::Real, "as unit says", "as printed"),
            given(
                "measured",
                Kind::Real,
                "as unit says",
                "mean of the repetitions; null if there is nothing",
            ),
            given(
                "ci95",
                Kind::Real,
                "as unit says",
                "half the width of its 95 % confidence interval (Student's t)",
            ),
            given("n", Kind::Integer, "", "repetitions that it is the mean of"),
            given(
                "agrees",
                Kind::Bool,
                "",
                "within 10 points of a share, 0.05 of an index, 10 % else, ci95 apart; null if in doubt",
            ),
            given("doubt", Kind::Text, "", "why not to trust what was printed"),
        ],
    ],
);
const CLAIMS: Table = Table::of(
    "claims",
    "a claim of a paper",
    &[
        WHICH,
        &[
            given("claim", Kind::Text, "", "key of the claim in the paper's file"),
            given("source", Kind::Text, "", "where in the paper"),
            given("strength", Kind::Text, "", "how clearly the paper says it"),
            given("statement", Kind::Text, "", "what it says, in our words"),
            given(
                "verdict",
                Kind::Text,
                "",
                "holds, fails, undecided or not checkable, by the rules of papers/README.md",
            ),
            given("reason", Kind::Text, "", "why it cannot be checked"),
        ],
    ],
);
const COMPARISONS: Table = Table::of(
    "comparisons",
    "a comparison that a claim makes",
    &[
        WHICH,
        &[
            given("claim", Kind::Text, "", "key of the claim"),
            given("where", Kind::Text, "", "the cell, or with whom"),
            given("left", Kind::Real, "the metric's", "mean of the left side"),
            given("left_ci95", Kind::Real, "the metric's", "half the width of its interval"),
            given("right", Kind::Real, "the metric's", "mean of the right side, or the claim's number"),
            given("right_ci95", Kind::Real, "the metric's", "half the width of its interval"),
            given("verdict", Kind::Text, "", "of this comparison alone; the sides are compared seed by seed"),
        ],
    ],
);
const SETTINGS: Table = Table::of(
    "settings",
    "a setting that a search for the test bed tried",
    &[
        WHICH,
        &[
            given("setting", Kind::Integer, "", "0 is as assumed"),
            given("what", Kind::Text, "", "what is different"),
            given("score", Kind::Real, "0 to 1", "mean over the experiments: half claims, half cells"),
            given("claims_hold", Kind::Integer, "", "claims that hold, of all"),
            given("cells_agree", Kind::Integer, "", "printed cells that agree"),
            given("best", Kind::Bool, "", "whether it is the most plausible one"),
        ],
    ],
);

fn text(text: impl Into<String>) -> Value<'static> {
    Value::Text(text.into().into())
}

fn whole(number: usize) -> Value<'static> {
    Value::Integer(number as i64)
}

fn at(coordinates: &Coordinates) -> Value<'static> {
    let parts: Vec<String> = coordinates.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    text(parts.join(";"))
}

fn sides<'a>(estimate: Option<Estimate>) -> [Value<'a>; 2] {
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
        let which = |paper: &str| vec![text(paper), text(document.backend.clone()), whole(seeds)];
        for paper in &document.papers {
            let which = which(&paper.paper);
            add_paper(paper, &which, &mut cells, &mut claims, &mut comparisons);
        }
        for search in &document.search {
            for (place, setting) in search.settings.iter().enumerate() {
                let agree = setting.scores.values().map(|score| score.cells).sum();
                let own = vec![
                    whole(place),
                    text(setting.what.clone()),
                    Value::Real(search.score(place)),
                    whole(setting.counts.holds),
                    whole(agree),
                    Value::Bool(place == search.best),
                ];
                settings.push([which(&search.paper), own].concat());
            }
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

fn add_paper(
    paper: &Reproduction,
    which: &[Value<'static>],
    cells: &mut Rows,
    claims: &mut Rows,
    comparisons: &mut Rows,
) {
    let row = |own: Vec<Value<'static>>| [which.to_vec(), own].concat();
    for table in &paper.tables {
        for cell in &table.cells {
            let experiment = table.experiment.clone().or_else(|| cell.at.get("experiment").cloned());
            let [mean, half] = sides(cell.measured);
            cells.push(row(vec![
                text(table.id.clone()),
                text(table.source.clone()),
                experiment.map_or(Value::Null, text),
                text(table.metric.text()),
                text(table.metric.unit()),
                at(&cell.at),
                Value::Real(cell.published),
                mean,
                half,
                cell.measured.map_or(Value::Null, |own| whole(own.n)),
                cell.agrees(table.metric).map_or(Value::Null, Value::Bool),
                cell.doubt.clone().map_or(Value::Null, text),
            ]));
        }
    }
    for claim in &paper.claims {
        claims.push(row(vec![
            text(claim.id.clone()),
            text(claim.source.clone()),
            text(format!("{:?}", claim.strength).to_lowercase()),
            text(claim.statement.clone()),
            text(claim.verdict.text()),
            claim.reason.clone().map_or(Value::Null, text),
        ]));
        for condition in &claim.conditions {
            let ([left, left_half], [right, right_half]) = (sides(condition.a), sides(condition.b));
            let (what, verdict) = (text(condition.what.clone()), text(condition.verdict.text()));
            comparisons.push(row(vec![
                text(claim.id.clone()),
                what,
                left,
                left_half,
                right,
                right_half,
                verdict,
            ]));
        }
    }
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
    use crate::claims::{Counts, Metric, TableCell, TableResult};

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
