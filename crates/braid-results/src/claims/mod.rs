//! Published experiments, our measurements, and verdicts on the papers' claims.
//!
//! [`Paper::parse`] reads the file of a paper; [`figures`] lists the figures to measure in each experiment;
//! [`evaluate`] compares. The rules are in `papers/README.md` and, for single comparisons, in [`mod@verdict`].

mod causes;
#[cfg(feature = "parquet")]
pub mod dataset;
mod document;
mod evaluate;
mod figure;
mod paper;
mod search;
mod strip;
pub mod verdict;

pub use causes::{Cause, causes, excluded};
pub use document::{Document, Varied};
pub use evaluate::{
    Cell, ClaimResult, Condition, Estimate, ExperimentResult, Reproduction, TableCell, TableResult, evaluate,
    figures,
};
pub use figure::{Figure, Metric};
pub use paper::{
    Anomaly, Claim, Coordinates, Counts, Direction, Doubt, Error, Experiment, LabPlan, Names, Paper, Pool,
    Relation, Statistic, Strength, Table, TableRow, Values, Variation,
};
pub use search::{Fate, Score, Search, Setting, Splits, scores};
pub use strip::{Stretch, Strip, StripSubflow};
pub use verdict::Verdict;

static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));
const NAMES: &str = "names";

/// The keys of the built-in papers.
pub fn embedded() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(key, _)| *key).filter(|key| *key != NAMES)
}

/// The built-in paper with that key.
pub fn find(key: &str) -> Option<Result<Paper, Error>> {
    let text = embedded_text(key).filter(|_| key != NAMES)?;
    Some(Paper::parse(key, &format!("papers/{key}.toml"), text))
}

/// The table that maps the papers' names to ours.
///
/// # Errors
/// If it is invalid, which a test excludes.
pub fn names() -> Result<Names, Error> {
    let text = embedded_text(NAMES).unwrap_or_default();
    toml::from_str(text).map_err(|error| Error(format!("papers/{NAMES}.toml: {error}")))
}

fn embedded_text(key: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(known, _)| *known == key).map(|(_, text)| *text)
}
