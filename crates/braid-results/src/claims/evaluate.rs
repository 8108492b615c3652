//! From measurements to cells and a verdict for each claim.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::paper::{Direction, Pool, Relation, Statistic, Values};
use super::verdict::{Bound, combine, margin, rank, spreads_more};
use super::{Claim, Coordinates, Counts, Figure, Metric, Names, Paper, Strength, Strip, Verdict};
use crate::Statistics;
use crate::statistics::mean;

/// One combination of parameters of an experiment, run with one algorithm and every seed.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Key in [`Paper::experiment`].
    pub experiment: String,
    /// The paper's name.
    pub algorithm: String,
    /// The scenario's parameters and their values.
    pub parameters: Coordinates,
    /// One value for each seed, the same seeds in all cells; NaN for a missing figure.
    pub values: IndexMap<Figure, Vec<f64>>,
}

/// A paper beside measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Key of the paper.
    pub paper: String,
    /// As printed.
    pub title: String,
    /// The experiments.
    pub experiments: Vec<ExperimentResult>,
    /// Published beside measured.
    pub tables: Vec<TableResult>,
    /// In the paper's order.
    pub claims: Vec<ClaimResult>,
    /// Of the claims.
    pub counts: Counts,
    /// Labels over time of the first seed of experiments about detection.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub strips: Vec<Strip>,
}

/// An experiment that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Key of the experiment.
    pub id: String,
    /// One line.
    pub title: String,
    /// Where in the paper.
    pub source: String,
    /// Its scenario.
    pub scenario: String,
    /// Changes to the scenario.
    pub set: Vec<String>,
    /// The replacement of each algorithm of the paper.
    pub algorithms: IndexMap<String, String>,
}

/// A printed table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableResult {
    /// Key of the table.
    pub id: String,
    /// Where in the paper.
    pub source: String,
    /// Its experiment; `None` if that is one of its axes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub experiment: Option<String>,
    /// Metric of its figures.
    pub metric: Metric,
    /// Axes that distinguish rows.
    pub row_axes: Vec<String>,
    /// Axes that distinguish columns.
    pub column_axes: Vec<String>,
    /// Row by row.
    pub cells: Vec<TableCell>,
}

/// A cell of a printed table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// Its values on the axes of rows and columns, and the common coordinates.
    pub at: Coordinates,
    /// As printed.
    pub published: f64,
    /// Our measurement; `None` if there is none.
    pub measured: Option<Estimate>,
    /// Why the printed figure is doubtful.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub doubt: Option<String>,
}

/// Mean of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Number of repetitions.
    pub n: usize,
    /// Their mean, in the metric's unit; the pooled standard deviation where spreads are compared.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; `None` for one repetition.
    pub ci95: Option<f64>,
}

/// A claim and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Key of the claim.
    pub id: String,
    /// Where in the paper.
    pub source: String,
    /// Strength of the paper's statement.
    pub strength: Strength,
    /// The statement.
    pub statement: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it cannot be checked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Whether the paper's own table supports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub table_check: Option<String>,
    /// Further notes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The right side as text, if it is a number.
    pub conditions: Vec<Condition>,
}

/// One comparison of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Coordinates of the comparison, or its other side.
    pub what: String,
    /// Left side.
    pub a: Option<Estimate>,
    /// Right side; without an interval if it is a number of the claim.
    pub b: Option<Estimate>,
    /// Verdict of this comparison alone.
    pub verdict: Verdict,
}

impl Estimate {
    fn of(values: &[f64]) -> Option<Self> {
        Statistics::of(values).map(|s| Self { n: s.n, mean: s.mean, ci95: s.ci95 })
    }
}

/// Figures to measure in that experiment, each once.
pub fn figures(paper: &Paper, names: &Names, experiment: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |figure: Option<Figure>| {
        if let Some(figure) = figure.filter(|figure| !figures.contains(figure)) {
            figures.push(figure);
        }
    };
    for table in &paper.table {
        for ((at, ..), _) in table.cells().zip(table.experiments()).filter(|(_, id)| id == experiment) {
            add(figure(table.metric, &at, names));
        }
    }
    for claim in paper.claim.iter().filter(|claim| claim.experiments.iter().any(|id| id == experiment)) {
        let Some(metric) = claim.metric else { continue };
        for (_, step) in steps(claim) {
            for side in [Some(&claim.a), claim.b.as_ref()].into_iter().flatten() {
                add(figure(metric, &with(side, &step), names));
            }
        }
    }
    figures
}

/// Compares a paper with measurements. Claims about experiments that were not run are not checkable.
pub fn evaluate(paper: &Paper, names: &Names, cells: &[Cell]) -> Reproduction {
    let tables = paper.table.iter().map(|table| TableResult {
        id: table.id.clone(),
        source: table.source.clone(),
        experiment: table.experiment.clone(),
        metric: table.metric,
        row_axes: table.row_axes.clone(),
        column_axes: table.column_axes.clone(),
        cells: table
            .cells()
            .map(|(at, published, doubt)| {
                let figure = figure(table.metric, &at, names);
                let belongs =
                    |cell: &&Cell| table.experiment.as_ref().is_none_or(|id| *id == cell.experiment);
                let mut found = cells.iter().filter(belongs).filter(|cell| cell.is_at(&at));
                let values = found.next().zip(figure).and_then(|(cell, figure)| cell.values.get(&figure));
                let measured = values.and_then(|values| Estimate::of(values));
                TableCell { at, published, measured, doubt: doubt.map(str::to_owned) }
            })
            .collect(),
    });
    let claims: Vec<ClaimResult> =
        paper.claim.iter().map(|claim| Comparison { claim, names, cells }.result()).collect();
    Reproduction {
        paper: paper.key.clone(),
        title: paper.title.clone(),
        experiments: Vec::new(),
        tables: tables.collect(),
        counts: Counts::of(claims.iter().map(|claim| claim.verdict)),
        claims,
        strips: Vec::new(),
    }
}

/// Axes that select a figure within a cell.
const OF_FIGURE: [&str; 3] = ["flow", "link", "period"];

impl Cell {
    fn coordinate(&self, axis: &str) -> Option<&str> {
        match axis {
            "experiment" => Some(&self.experiment),
            "algorithm" => Some(&self.algorithm),
            _ => self.parameters.get(axis).map(String::as_str),
        }
    }

    fn is_at(&self, at: &Coordinates) -> bool {
        at.iter()
            .filter(|(axis, _)| !OF_FIGURE.contains(&axis.as_str()))
            .all(|(axis, value)| self.coordinate(axis) == Some(value))
    }
}

fn figure(metric: Metric, at: &Coordinates, names: &Names) -> Option<Figure> {
    let of = at.get(if metric.of_link() { "link" } else { "flow" })?;
    Some(Figure { metric, of: ours(of, names), during: at.get("period").cloned() })
}

/// Our keys for the paper's flows.
fn ours(flows: &str, names: &Names) -> String {
    let one = |name: &str| names.flow.get(name).cloned().unwrap_or_else(|| name.to_owned());
    if names.flow.contains_key(flows) {
        return one(flows);
    }
    let sums: Vec<String> =
        flows.split(" + ").map(|part| part.split(" - ").map(one).collect::<Vec<_>>().join(" - ")).collect();
    sums.join(" + ")
}

fn with(side: &Coordinates, step: &Coordinates) -> Coordinates {
    side.iter().chain(step).map(|(axis, value)| (axis.clone(), value.clone())).collect()
}

/// The points of the claim, and the values it names there.
fn steps(claim: &Claim) -> Vec<(Option<f64>, Coordinates)> {
    let value = |index: usize| match &claim.value {
        Values::None => None,
        Values::One(value) => Some(*value),
        Values::Several(values) => values.get(index).copied(),
    };
    match claim.over.first() {
        None => vec![(value(0), Coordinates::new())],
        Some((axis, points)) => points
            .iter()
            .enumerate()
            .map(|(index, point)| (value(index), Coordinates::from([(axis.clone(), point.clone())])))
            .collect(),
    }
}

/// Values of one side: where, and for each seed.
type Sample = (String, Vec<f64>);

struct Comparison<'a> {
    claim: &'a Claim,
    names: &'a Names,
    cells: &'a [Cell],
}

impl Comparison<'_> {
    fn result(&self) -> ClaimResult {
        let claim = self.claim;
        let (conditions, reason) = match &claim.not_checkable {
            Some(why) => (Vec::new(), Some(why.clone())),
            None => match self.conditions() {
                Ok(conditions) => (conditions, None),
                Err(why) => (Vec::new(), Some(why)),
            },
        };
        ClaimResult {
            id: claim.id.clone(),
            source: claim.source.clone(),
            strength: claim.strength,
            statement: claim.statement.clone().unwrap_or_else(|| statement(claim)),
            verdict: Verdict::all(conditions.iter().map(|condition| condition.verdict)),
            reason,
            table_check: claim.table_check.clone(),
            note: claim.note.clone(),
            conditions,
        }
    }

    fn conditions(&self) -> Result<Vec<Condition>, String> {
        let claim = self.claim;
        let rel = claim.rel.ok_or("nothing is compared")?;
        if rel == Relation::Trend {
            return self.trend();
        }
        let mut conditions = Vec::new();
        for (value, step) in steps(claim) {
            let a = self.matching(&with(&claim.a, &step))?;
            let at: Vec<&str> = step.values().map(String::as_str).collect();
            let before = conditions.len();
            if matches!(rel, Relation::Max | Relation::Min | Relation::Rank) {
                self.among(rel, &a, &step, value, &mut conditions)?;
            } else if let Some(b) = &claim.b {
                let b = self.matching(&with(b, &step))?;
                self.two_sides(rel, &a, &b, &step, &mut conditions)?;
            } else {
                for (what, a) in self.samples(&a, &with(&claim.a, &step), &[])? {
                    let right = value.map_or(Vec::new(), |value| vec![value; a.len()]);
                    conditions.push(self.condition(rel, what, &a, &right));
                }
            }
            for condition in &mut conditions[before..] {
                let what = [&at[..], &[condition.what.as_str()]].concat().join(" ");
                condition.what = what.trim().into();
            }
        }
        Ok(conditions)
    }

    /// Cells of the claim's experiments at these coordinates, at least one.
    fn matching(&self, at: &Coordinates) -> Result<Vec<&Cell>, String> {
        let of_claim = |cell: &&Cell| self.claim.experiments.contains(&cell.experiment) && cell.is_at(at);
        let cells: Vec<&Cell> = self.cells.iter().filter(of_claim).collect();
        if cells.is_empty() {
            let at: Vec<String> = at.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
            return Err(format!("nothing was run with {}", at.join(", ")));
        }
        Ok(cells)
    }

    /// One for each seed.
    fn values(&self, cell: &Cell, at: &Coordinates) -> Result<Vec<f64>, String> {
        let metric = self.claim.metric.ok_or("nothing is measured")?;
        let figure = figure(metric, at, self.names).ok_or("no flow or link is named")?;
        let values = cell.values.get(&figure).filter(|values| !values.is_empty());
        values.filter(|values| values.iter().all(|value| value.is_finite())).cloned().ok_or_else(|| {
            format!("{} of {} could not be measured in {}", metric.text(), figure.of, cell.experiment)
        })
    }

    /// The values of each cell, or of their mean; `same` are axes on which sides do not differ.
    fn samples(&self, cells: &[&Cell], at: &Coordinates, same: &[&str]) -> Result<Vec<Sample>, String> {
        let mut samples = Vec::new();
        for cell in cells {
            samples.push((label(cell, cells, at, same), self.values(cell, at)?));
        }
        if self.claim.statistic == Statistic::Sd {
            return Ok(samples);
        }
        match self.claim.pool {
            None => Ok(samples),
            Some(Pool::Mean) => Ok(vec![(
                String::new(),
                mean_of_each(samples.into_iter().map(|(_, values)| values).collect()),
            )]),
            Some(Pool::Lowest) => {
                let lowest = samples.into_iter().min_by(|a, b| middle(&a.1).total_cmp(&middle(&b.1)));
                Ok(lowest.into_iter().collect())
            }
        }
    }

    fn two_sides(
        &self,
        rel: Relation,
        a: &[&Cell],
        b: &[&Cell],
        step: &Coordinates,
        conditions: &mut Vec<Condition>,
    ) -> Result<(), String> {
        let (at_a, at_b) = (with(&self.claim.a, step), with(self.claim.b.as_ref().unwrap_or(step), step));
        if self.claim.statistic == Statistic::Sd {
            conditions.push(self.spread(rel, a, b, &at_a, &at_b)?);
            return Ok(());
        }
        let pooled = self.claim.pool.is_some();
        if pooled && rel != Relation::Ratio {
            let a = self.samples(a, &at_a, &[])?.remove(0).1;
            let b = self.samples(b, &at_b, &[])?.remove(0).1;
            conditions.push(self.condition(rel, String::new(), &a, &b));
            return Ok(());
        }
        let free = free_axes(a, b, &at_a, &at_b);
        let mut ratios: Vec<Vec<f64>> = Vec::new();
        for cell in a {
            let same =
                |other: &&&Cell| free.iter().all(|axis| other.coordinate(axis) == cell.coordinate(axis));
            let partners: Vec<&&Cell> = b.iter().filter(same).collect();
            let [partner] = partners[..] else {
                let what = label(cell, a, &at_a, &[]);
                return Err(format!("{} cells to compare {what} with, not one", partners.len()));
            };
            let (left, right) = (self.values(cell, &at_a)?, self.values(partner, &at_b)?);
            if pooled {
                ratios.push(combine(&left, &right, |a, b| a / b));
            } else {
                conditions.push(self.condition(rel, label(cell, a, &at_a, &[]), &left, &right));
            }
        }
        if pooled {
            let mean = mean_of_each(ratios);
            let one = vec![1.0; mean.len()];
            conditions.push(self.condition(rel, "mean of the ratios".to_owned(), &mean, &one));
        }
        Ok(())
    }

    fn spread(
        &self,
        rel: Relation,
        a: &[&Cell],
        b: &[&Cell],
        at_a: &Coordinates,
        at_b: &Coordinates,
    ) -> Result<Condition, String> {
        let groups = |cells, at| -> Result<Vec<Vec<f64>>, String> {
            Ok(self.samples(cells, at, &[])?.into_iter().map(|(_, values)| values).collect())
        };
        let (a, b) = (groups(a, at_a)?, groups(b, at_b)?);
        let estimate = |groups: &[Vec<f64>]| {
            let sds: Option<Vec<f64>> = groups.iter().map(|group| Statistics::of(group)?.sd).collect();
            let sds = sds?;
            let mean = (sds.iter().map(|sd| sd * sd).sum::<f64>() / sds.len() as f64).sqrt();
            Some(Estimate { n: groups[0].len(), mean, ci95: None })
        };
        let verdict = if rel == Relation::Gt { spreads_more(&a, &b) } else { spreads_more(&b, &a) };
        let what = "standard deviation".to_owned();
        Ok(Condition { what, a: estimate(&a), b: estimate(&b), verdict })
    }

    fn among(
        &self,
        rel: Relation,
        a: &[&Cell],
        step: &Coordinates,
        value: Option<f64>,
        conditions: &mut Vec<Condition>,
    ) -> Result<(), String> {
        let at = with(&self.claim.a, step);
        let own = self.claim.a.get("algorithm");
        let rivals: Vec<&String> = self.claim.among.iter().filter(|&name| Some(name) != own).collect();
        for (cell, (what, values)) in a.iter().zip(self.samples(a, &at, &["algorithm"])?) {
            let mut others = Vec::new();
            for rival in &rivals {
                let mut at = at.clone();
                at.insert("algorithm".to_owned(), (*rival).clone());
                let same = |other: &&Cell| {
                    other.experiment == cell.experiment && other.parameters == cell.parameters
                };
                let found: Vec<&Cell> = self.matching(&at)?.into_iter().filter(same).collect();
                let sample = self.samples(&found, &at, &[])?.pop();
                others.push(sample.ok_or_else(|| format!("nothing was run with {rival}"))?.1);
            }
            if rel == Relation::Rank {
                let place = value.unwrap_or_default() as usize;
                let mut order: Vec<(f64, &str)> = others
                    .iter()
                    .zip(&rivals)
                    .map(|(values, rival)| (middle(values), rival.as_str()))
                    .chain([(middle(&values), own.map_or("", String::as_str))])
                    .collect();
                order.sort_by(|a, b| b.0.total_cmp(&a.0));
                let order: Vec<&str> = order.into_iter().map(|(_, name)| name).collect();
                conditions.push(Condition {
                    what: format!("{what} {}", order.join(" > ")).trim().to_owned(),
                    a: Estimate::of(&values),
                    b: None,
                    verdict: rank(&values, &others, place),
                });
                continue;
            }
            let rel = if rel == Relation::Max { Relation::Gt } else { Relation::Lt };
            for (rival, other) in rivals.iter().zip(&others) {
                let what = format!("{what} {rival}").trim().to_owned();
                conditions.push(self.condition(rel, what, &values, other));
            }
        }
        Ok(())
    }

    fn trend(&self) -> Result<Vec<Condition>, String> {
        let claim = self.claim;
        let mut along: Vec<(String, Vec<Sample>)> = Vec::new();
        for (_, step) in steps(claim) {
            let at = with(&claim.a, &step);
            let axes: Vec<&str> = step.keys().map(String::as_str).collect();
            let point = step.values().map(String::as_str).collect::<Vec<_>>().join(" ");
            let mut samples = self.samples(&self.matching(&at)?, &at, &axes)?;
            if let Some(b) = &claim.b {
                let at = with(b, &step);
                let below = self.samples(&self.matching(&at)?, &at, &axes)?;
                if below.len() != samples.len() {
                    return Err("the sides of the trend have different cells".into());
                }
                for ((_, above), (_, below)) in samples.iter_mut().zip(&below) {
                    *above = combine(above, below, |a, b| a / b);
                }
            }
            along.push((point, samples));
        }
        let rel = if claim.direction == Some(Direction::Down) { Relation::Lt } else { Relation::Gt };
        let mut conditions = Vec::new();
        for pair in along.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            if before.1.len() != after.1.len() {
                return Err("the points of the trend have different cells".into());
            }
            for ((what, earlier), (_, later)) in before.1.iter().zip(&after.1) {
                let what = format!("{what} {} after {}", after.0, before.0).trim().to_owned();
                conditions.push(self.condition(rel, what, later, earlier));
            }
        }
        Ok(conditions)
    }

    /// One comparison by its margins.
    fn condition(&self, rel: Relation, what: String, a: &[f64], b: &[f64]) -> Condition {
        let claim = self.claim;
        let above = |low: &dyn Fn(f64) -> f64, bound| margin(&combine(a, b, |a, b| a - low(b)), bound);
        let below = |high: &dyn Fn(f64) -> f64, bound| margin(&combine(a, b, |a, b| high(b) - a), bound);
        let tolerance = |b: f64| claim.tol_abs.unwrap_or(0.0) + claim.tol_rel.unwrap_or(0.0) * b.abs();
        let mut verdicts = match (rel, &claim.value) {
            (Relation::Gt, _) => vec![above(&|b| b, Bound::Strict)],
            (Relation::Lt, _) => vec![below(&|b| b, Bound::Strict)],
            (Relation::Ge, _) => vec![above(&|b| b - tolerance(b), Bound::Inclusive)],
            (Relation::Le, _) => vec![below(&|b| b + tolerance(b), Bound::Inclusive)],
            (Relation::Approx, _) => vec![
                above(&|b| b - tolerance(b), Bound::Inclusive),
                below(&|b| b + tolerance(b), Bound::Inclusive),
            ],
            (Relation::Ratio, &Values::One(value)) => {
                let by = claim.tol_abs.unwrap_or(0.0);
                vec![
                    above(&|b| (value - by) * b, Bound::Inclusive),
                    below(&|b| (value + by) * b, Bound::Inclusive),
                ]
            }
            (Relation::Between, Values::Several(ends)) => {
                let end = |place: usize| vec![ends[place]; a.len()];
                vec![
                    margin(&combine(a, &end(0), |a, low| a - low), Bound::Inclusive),
                    margin(&combine(&end(1), a, |high, a| high - a), Bound::Inclusive),
                ]
            }
            _ => Vec::new(),
        };
        if let Some(ratio) = claim.min_ratio {
            verdicts.push(above(&|b| ratio * b, Bound::Inclusive));
        }
        if let Some(ratio) = claim.max_ratio {
            verdicts.push(below(&|b| ratio * b, Bound::Inclusive));
        }
        Condition { what, a: Estimate::of(a), b: Estimate::of(b), verdict: Verdict::all(verdicts) }
    }
}

/// Axes that neither side fixes: a cell is compared with the one at the same coordinates. The experiment is such an
/// axis if both sides use the same experiments.
fn free_axes<'a>(a: &[&'a Cell], b: &[&'a Cell], at_a: &Coordinates, at_b: &Coordinates) -> Vec<&'a str> {
    let experiments = |cells: &[&'a Cell]| {
        let mut ids: Vec<&str> = cells.iter().map(|cell| cell.experiment.as_str()).collect();
        ids.dedup();
        ids
    };
    let mut axes = vec!["algorithm"];
    if experiments(a) == experiments(b) {
        axes.push("experiment");
    }
    for cell in a {
        for axis in cell.parameters.keys().map(String::as_str) {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
    }
    // Sides without a common value on an axis are meant to differ in it.
    let common = |axis: &str| a.iter().any(|a| b.iter().any(|b| a.coordinate(axis) == b.coordinate(axis)));
    axes.retain(|&axis| !at_a.contains_key(axis) && !at_b.contains_key(axis) && common(axis));
    axes
}

/// Distinguishes a cell from others of its side.
fn label(cell: &Cell, cells: &[&Cell], at: &Coordinates, same: &[&str]) -> String {
    let varies = |axis: &str| cells.iter().any(|other| other.coordinate(axis) != cell.coordinate(axis));
    let axes = ["experiment", "algorithm"].into_iter().chain(cell.parameters.keys().map(String::as_str));
    let axes = axes.filter(|axis| !at.contains_key(*axis) && !same.contains(axis) && varies(axis));
    axes.filter_map(|axis| cell.coordinate(axis)).collect::<Vec<_>>().join(" ")
}

/// The mean of these for each seed.
fn mean_of_each(values: Vec<Vec<f64>>) -> Vec<f64> {
    let count = values.len() as f64;
    let sums = values.into_iter().reduce(|a, b| combine(&a, &b, |a, b| a + b)).unwrap_or_default();
    sums.iter().map(|sum| sum / count).collect()
}

/// Of a sample, which has values.
fn middle(values: &[f64]) -> f64 {
    mean(values).expect("samples without values are refused")
}

/// The statement of a claim, from its comparison.
fn statement(claim: &Claim) -> String {
    let metric = claim.metric.map_or("", Metric::text);
    let list = |side: &Coordinates| side.values().cloned().collect::<Vec<_>>().join(", ");
    let side = |side: &Coordinates| format!("{metric} ({})", list(side));
    let a = match claim.statistic {
        Statistic::Mean => side(&claim.a),
        Statistic::Sd => format!("spread of {}", side(&claim.a)),
    };
    let b = match (&claim.b, &claim.value) {
        (Some(b), _) => side(b),
        (None, Values::One(value)) => value.to_string(),
        (None, Values::Several(values)) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
        (None, Values::None) => String::new(),
    };
    let mut tolerance = String::new();
    if let Some(by) = claim.tol_abs {
        let _ = write!(tolerance, " \u{b1} {by}");
    }
    if let Some(by) = claim.tol_rel {
        let _ = write!(tolerance, " \u{b1} {} %", (by * 1000.0).round() / 10.0);
    }
    let mut text = match claim.rel {
        None => a,
        Some(Relation::Gt) => format!("{a} > {b}"),
        Some(Relation::Lt) => format!("{a} < {b}"),
        Some(Relation::Ge) => format!("{a} \u{2265} {b}{tolerance}"),
        Some(Relation::Le) => format!("{a} \u{2264} {b}{tolerance}"),
        Some(Relation::Approx) => format!("{a} \u{2248} {b}{tolerance}"),
        Some(Relation::Ratio) => match claim.value {
            Values::One(value) => format!("{a} = {value}{tolerance} times {b}"),
            _ => format!("{a} against {b}"),
        },
        Some(Relation::Max) => format!("{a} is the highest"),
        Some(Relation::Min) => format!("{a} is the lowest"),
        Some(Relation::Rank) => format!("{a} is number {b} from the top"),
        Some(Relation::Between) => format!("{a} is between {}", b.replace(", ", " and ")),
        Some(Relation::Trend) => {
            let way = if claim.direction == Some(Direction::Down) { "falls" } else { "rises" };
            if claim.b.is_some() { format!("{a} over {b} {way}") } else { format!("{a} {way}") }
        }
    };
    if let Some(ratio) = claim.min_ratio {
        let _ = write!(text, ", at least {ratio} times");
    }
    if let Some(ratio) = claim.max_ratio {
        let _ = write!(text, ", at most {ratio} times");
    }
    if let Some((axis, points)) = claim.over.first() {
        let _ = write!(text, ", {axis} {}", points.join(" | "));
    }
    match claim.pool {
        None => {}
        Some(Pool::Mean) => text.push_str(", mean of all cells"),
        Some(Pool::Lowest) => text.push_str(", lowest of all cells"),
    }
    text
}
