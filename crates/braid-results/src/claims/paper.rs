//! The file of a paper: experiments, printed figures and claims.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Metric;
use super::verdict::Verdict;

/// Values by axis: `algorithm`, `experiment`, `flow` or `link`, `period`, or a parameter of the scenario.
pub type Coordinates = IndexMap<String, String>;

/// A published paper. `papers/README.md` explains its parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Paper {
    /// Its key on the command line.
    #[serde(skip)]
    pub key: String,
    /// As printed.
    pub title: String,
    /// As printed.
    pub authors: Vec<String>,
    /// Year of publication.
    pub year: u16,
    /// Where it was published.
    pub venue: String,
    /// Digital object identifier.
    pub doi: String,
    /// Platform of its measurements.
    pub platform: String,
    /// Our assumptions where it leaves choices open; the reasons are in the scenarios.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// By name.
    pub experiment: IndexMap<String, Experiment>,
    /// Printed tables.
    #[serde(default)]
    pub table: Vec<Table>,
    /// Claims.
    #[serde(default)]
    pub claim: Vec<Claim>,
    /// Alternative assumptions.
    #[serde(default)]
    pub variation: Vec<Variation>,
    /// Plan for a real kernel, unless an experiment has its own.
    pub lab: Option<LabPlan>,
    /// Contradictions within the paper.
    #[serde(default)]
    pub anomaly: Vec<Anomaly>,
}

/// A repeatable experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// One line.
    pub title: String,
    /// Where in the paper.
    pub source: String,
    /// The embedded scenario, or the path of a file.
    pub scenario: String,
    /// Changes to the scenario, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Its cells of the scenario: parameters and their values; other parameters may have any.
    #[serde(default, rename = "where")]
    pub only: Coordinates,
    /// By their names in the paper.
    pub algorithms: Vec<String>,
    /// Its plan for a real kernel, replacing the paper's.
    pub lab: Option<LabPlan>,
}

/// An experiment's plan for a real kernel in the lab. Written before the first run there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LabPlan {
    /// Maximum of seeds; default as requested.
    pub seeds: Option<u32>,
    /// Changes to the scenario, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Cells to run: parameters and their values; other parameters may have any.
    #[serde(default, rename = "where")]
    pub only: Coordinates,
    /// Reason for the plan.
    pub reason: Option<String>,
    /// Reason for leaving it out.
    pub skip: Option<String>,
}

/// A printed table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Table {
    /// Unique within the paper.
    pub id: String,
    /// Where in the paper.
    pub source: String,
    /// Its experiment; `None` if `experiment` is one of its axes.
    pub experiment: Option<String>,
    /// Metric of its figures.
    pub metric: Metric,
    /// Common coordinates of all its cells.
    #[serde(default)]
    pub at: Coordinates,
    /// Axes of the rows' keys.
    pub row_axes: Vec<String>,
    /// Axes of the columns' heads.
    pub column_axes: Vec<String>,
    /// Head of each column.
    pub columns: Vec<Vec<String>>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// Doubtful cells by row and column from 1, and why.
    #[serde(default)]
    pub doubt: Vec<Doubt>,
}

/// A row of a printed table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRow {
    /// A value on each of the row axes.
    pub key: Vec<String>,
    /// One for each column.
    pub values: Vec<f64>,
}

/// A cell that was probably misprinted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// From 1.
    pub row: usize,
    /// From 1.
    pub column: usize,
    /// The reason.
    pub why: String,
}

/// A statement that can be true or false.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Unique within the paper.
    pub id: String,
    /// Where in the paper.
    pub source: String,
    /// Strength of the paper's statement.
    pub strength: Strength,
    /// In words, if the comparison is not self-explanatory.
    pub statement: Option<String>,
    /// Why it cannot be checked; then it has no comparison.
    pub not_checkable: Option<String>,
    /// The experiments it is about.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<String>,
    /// Compared metric.
    pub metric: Option<Metric>,
    /// Statistic over the repetitions.
    #[serde(default)]
    pub statistic: Statistic,
    /// The left side.
    #[serde(default)]
    pub a: Coordinates,
    /// Relation of the sides.
    pub rel: Option<Relation>,
    /// The right side, unless it is a value.
    pub b: Option<Coordinates>,
    /// The right side as numbers: one, two for `between`, the rank for `rank`; with `over` one for each of its values.
    #[serde(default)]
    pub value: Values,
    /// Tolerance in the metric's unit or, for `ratio`, without unit.
    pub tol_abs: Option<f64>,
    /// Tolerance relative to the right side.
    pub tol_rel: Option<f64>,
    /// The left side is at least this times the right one.
    pub min_ratio: Option<f64>,
    /// The left side is at most this times the right one.
    pub max_ratio: Option<f64>,
    /// Algorithms for `max`, `min` and `rank`.
    #[serde(default)]
    pub among: Vec<String>,
    /// One axis and its values: the claim is made for each; `trend` goes along it.
    #[serde(default)]
    pub over: IndexMap<String, Vec<String>>,
    /// Direction of a `trend`.
    pub direction: Option<Direction>,
    /// Each side is one value of all matching cells, instead of each of them.
    pub pool: Option<Pool>,
    /// Whether the paper's own table supports its text.
    pub table_check: Option<String>,
    /// Further notes.
    pub note: Option<String>,
}

/// A number, or several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// None.
    #[default]
    None,
    /// One.
    One(f64),
    /// Several.
    Several(Vec<f64>),
}

/// Compared statistic of the repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Their mean.
    #[default]
    Mean,
    /// Their standard deviation.
    Sd,
}

/// Pooling of cells into one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Their mean.
    Mean,
    /// The cell with the lowest mean of the repetitions.
    Lowest,
}

/// Strength of a paper's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// With a number, or beyond doubt.
    Stated,
    /// With a number that is called approximate.
    Approximate,
    /// In words only.
    Qualitative,
    /// Not stated, but in a table.
    Table,
    /// Expected by the authors, not measured.
    Prediction,
    /// About the work of others.
    Secondary,
}

/// Relation of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Above.
    Gt,
    /// Below.
    Lt,
    /// Not below, within the tolerance.
    Ge,
    /// Not above, within the tolerance.
    Le,
    /// Within the tolerance of the right side.
    Approx,
    /// a/b is within `tol-abs` of the value, or within `min-ratio` and `max-ratio`.
    Ratio,
    /// The largest among the algorithms.
    Max,
    /// The smallest.
    Min,
    /// The `value`-th largest.
    Rank,
    /// Within the two values.
    Between,
    /// Monotone along `over`.
    Trend,
}

/// Direction of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Every value is above the previous one.
    Up,
    /// Every value is below the previous one.
    Down,
}

/// An alternative assumption.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variation {
    /// Unique within the paper.
    pub id: String,
    /// The difference.
    pub what: String,
    /// Affected experiments; all if none is named.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<String>,
    /// As `--set`: changes to every scenario that has the table.
    #[serde(default)]
    pub set: Vec<String>,
    /// As `--cc`: replacements of the paper's algorithms.
    #[serde(default)]
    pub cc: IndexMap<String, String>,
}

/// A contradiction within the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anomaly {
    /// Place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The contradiction.
    pub what: String,
    /// Our treatment of it.
    pub effect: String,
}

/// The papers' names and ours.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Of congestion controls: a spec as `--cc` takes it.
    pub algorithm: IndexMap<String, String>,
    /// Of flows: keys in the scenarios.
    pub flow: IndexMap<String, String>,
}

/// An error in the file of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Paper {
    /// Parses and checks the file of a paper; `name` is its name in messages.
    ///
    /// # Errors
    /// If the text is not TOML, has unknown or missing keys, or contradictions.
    pub fn parse(key: &str, name: &str, text: &str) -> Result<Self, Error> {
        let mut paper: Self = toml::from_str(text)
            .map_err(|error| Error(format!("{name}: {}", error.to_string().trim_end())))?;
        key.clone_into(&mut paper.key);
        let known = |experiment: &str| paper.experiment.contains_key(experiment);
        for table in &paper.table {
            table.check(&known).map_err(|what| Error(format!("{name}: table {}: {what}", table.id)))?;
        }
        for claim in &paper.claim {
            claim.check(&known).map_err(|what| Error(format!("{name}: claim {}: {what}", claim.id)))?;
        }
        for variation in &paper.variation {
            if let Some(id) = variation.experiments.iter().find(|id| !known(id)) {
                return Err(Error(format!(
                    "{name}: variation {}: there is no experiment {id:?}",
                    variation.id
                )));
            }
        }
        let ids = paper.claim.iter().map(|claim| &claim.id).chain(paper.table.iter().map(|table| &table.id));
        let ids: Vec<&String> = ids.chain(paper.variation.iter().map(|variation| &variation.id)).collect();
        if let Some((_, id)) = ids.iter().enumerate().find(|(place, id)| ids[..*place].contains(id)) {
            return Err(Error(format!("{name}: the id {id:?} is used twice: rename one of the two")));
        }
        Ok(paper)
    }
}

impl Table {
    fn check(&self, known: &impl Fn(&str) -> bool) -> Result<(), String> {
        if let Some(column) = self.columns.iter().find(|column| column.len() != self.column_axes.len()) {
            return Err(format!("the column {column:?} needs a value for each of {:?}", self.column_axes));
        }
        for row in &self.rows {
            if row.key.len() != self.row_axes.len() {
                return Err(format!("the row {:?} needs a value for each of {:?}", row.key, self.row_axes));
            }
            if row.values.len() != self.columns.len() {
                let (values, columns) = (row.values.len(), self.columns.len());
                return Err(format!("the row {:?} has {values} values for {columns} columns", row.key));
            }
        }
        let axes = || self.row_axes.iter().chain(&self.column_axes).chain(self.at.keys());
        match (axes().any(|axis| axis == "experiment"), &self.experiment) {
            (false, None) => return Err("it needs an experiment, as a key or as an axis".into()),
            (true, Some(_)) => return Err("its experiment is both a key and an axis: remove one".into()),
            _ => {}
        }
        if let Some(id) = self.experiments().find(|id| !known(id)) {
            return Err(format!("there is no experiment {id:?}"));
        }
        let inside = |doubt: &&Doubt| {
            (1..=self.rows.len()).contains(&doubt.row) && (1..=self.columns.len()).contains(&doubt.column)
        };
        match self.doubt.iter().find(|doubt| !inside(doubt)) {
            Some(doubt) => Err(format!("there is no cell in row {} and column {}", doubt.row, doubt.column)),
            None => Ok(()),
        }
    }

    /// The experiments of its cells, cell by cell.
    pub fn experiments(&self) -> impl Iterator<Item = String> {
        self.cells().filter_map(|(at, ..)| self.experiment.clone().or(at.get("experiment").cloned()))
    }

    /// Every cell: its coordinates without [`Table::experiment`], the printed figure, and why it is doubtful.
    pub fn cells(&self) -> impl Iterator<Item = (Coordinates, f64, Option<&str>)> {
        self.rows.iter().enumerate().flat_map(move |(r, row)| {
            self.columns.iter().zip(&row.values).enumerate().map(move |(c, (column, &value))| {
                let rows = self.row_axes.iter().zip(&row.key);
                let axes = rows.chain(self.column_axes.iter().zip(column)).chain(&self.at);
                let doubt = self.doubt.iter().find(|doubt| (doubt.row, doubt.column) == (r + 1, c + 1));
                let coordinates = axes.map(|(axis, value)| (axis.clone(), value.clone())).collect();
                (coordinates, value, doubt.map(|doubt| doubt.why.as_str()))
            })
        })
    }
}

impl Claim {
    fn check(&self, known: &impl Fn(&str) -> bool) -> Result<(), String> {
        if let Some(experiment) = self.experiments.iter().find(|experiment| !known(experiment)) {
            return Err(format!("there is no experiment {experiment:?}"));
        }
        if self.not_checkable.is_some() {
            let bare = self.metric.is_none() && self.rel.is_none() && self.statement.is_some();
            return if bare { Ok(()) } else { Err("what is not checkable has a statement only".into()) };
        }
        let (Some(metric), Some(rel)) = (self.metric, self.rel) else {
            return Err("it needs a metric and a rel, or not-checkable with the reason".into());
        };
        if self.experiments.is_empty() {
            return Err("it names no experiment".into());
        }
        let flow = if metric.of_link() { "link" } else { "flow" };
        let sides = || [Some(&self.a), self.b.as_ref()].into_iter().flatten();
        if sides().any(|side| !side.contains_key(flow)) {
            return Err(format!("both sides need a {flow} to measure {}", metric.text()));
        }
        if self.over.len() > 1 || self.over.values().any(Vec::is_empty) {
            return Err("over has one axis with its values".into());
        }
        let several = match &self.value {
            Values::Several(values) => values.len(),
            Values::None | Values::One(_) => 0,
        };
        let one_value = matches!(self.value, Values::One(_));
        let right_side = self.b.is_some() || one_value || (several > 0 && several == self.over_len());
        let tolerance = self.tol_abs.is_some() || self.tol_rel.is_some();
        let ratios = self.min_ratio.is_some() || self.max_ratio.is_some();
        let complete = match rel {
            Relation::Gt | Relation::Lt | Relation::Ge | Relation::Le => right_side,
            Relation::Approx => right_side && tolerance,
            Relation::Ratio => self.b.is_some() && (ratios || (one_value && self.tol_abs.is_some())),
            Relation::Max | Relation::Min => !self.among.is_empty(),
            Relation::Rank => !self.among.is_empty() && one_value,
            Relation::Between => several == 2,
            Relation::Trend => self.over_len() > 1 && self.direction.is_some(),
        };
        if !complete {
            return Err(format!("{rel:?} lacks what it compares with"));
        }
        let spread = matches!(rel, Relation::Gt | Relation::Lt) && self.b.is_some();
        if self.statistic == Statistic::Sd && !spread {
            return Err("spreads are compared by gt or lt between two sides only".into());
        }
        Ok(())
    }

    fn over_len(&self) -> usize {
        self.over.values().map(Vec::len).sum()
    }
}

/// Number of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// [`Verdict::Holds`].
    pub holds: usize,
    /// [`Verdict::Fails`].
    pub fails: usize,
    /// [`Verdict::Undecided`].
    pub undecided: usize,
    /// [`Verdict::NotCheckable`].
    pub not_checkable: usize,
}

impl Counts {
    /// Counts verdicts.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Holds => &mut counts.holds,
                Verdict::Fails => &mut counts.fails,
                Verdict::Undecided => &mut counts.undecided,
                Verdict::NotCheckable => &mut counts.not_checkable,
            } += 1;
        }
        counts
    }

    /// How many have that one.
    pub fn of_verdict(&self, verdict: Verdict) -> usize {
        match verdict {
            Verdict::Holds => self.holds,
            Verdict::Fails => self.fails,
            Verdict::Undecided => self.undecided,
            Verdict::NotCheckable => self.not_checkable,
        }
    }
}
