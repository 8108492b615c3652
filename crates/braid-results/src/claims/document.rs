//! The output of `braid repro --format json`.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Counts, Estimate, Reproduction, Search, Verdict};
use crate::SCHEMA_VERSION;

/// Papers beside measurements. Equal runs give equal documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub braid_version: String,
    /// `sim`, or `lab`, a real kernel.
    #[serde(skip_serializing_if = "is_sim", default = "sim")]
    pub backend: String,
    /// The first and the last seed, both included.
    pub seeds: [u64; 2],
    /// Requested changes to the scenarios.
    pub set: Vec<String>,
    /// Requested replacements of the papers' algorithms.
    pub cc: IndexMap<String, String>,
    /// The requested packet scheduler; `None`: the backend's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scheduler: Option<String>,
    /// In the requested order.
    pub papers: Vec<Reproduction>,
    /// The same with other assumptions; empty unless requested.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sensitivity: Vec<Varied>,
    /// Searches for the papers' test beds; empty unless requested.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub search: Vec<Search>,
}

/// Longest JSON value on one line: a claim with all its comparisons, or a setting of a search.
const RECORD_BYTES: usize = 1500;

/// Formats a value on one line if it fits into a record or is a list of plain values, else one line per item.
fn records(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    let indent = " ".repeat(depth);
    let (items, open, close): (Vec<String>, _, _) = match value {
        _ if line.len() <= RECORD_BYTES => return line,
        Value::Array(all) if all.iter().any(|item| item.is_array() || item.is_object()) => {
            (all.iter().map(|item| records(item, depth + 1)).collect(), '[', ']')
        }
        Value::Object(all) => {
            let item = |(key, item)| format!("{}:{}", Value::from(key), records(item, depth + 1));
            (all.iter().map(|(key, value)| (key.as_str(), value)).map(item).collect(), '{', '}')
        }
        _ => return line,
    };
    let items = items.join(&format!(",\n{indent}"));
    format!("{open}\n{indent}{items}\n{}{close}", &indent[1..])
}

/// A paper with another assumption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Varied {
    /// Key of the paper.
    pub paper: String,
    /// Key of the variation.
    pub id: String,
    /// The difference.
    pub what: String,
    /// Changes to the scenarios.
    pub set: Vec<String>,
    /// Replacements of the paper's algorithms.
    pub cc: IndexMap<String, String>,
    /// Counts of claims.
    pub counts: Counts,
    /// Claims with another verdict.
    pub changed: IndexMap<String, Verdict>,
}

fn sim() -> String {
    "sim".to_owned()
}

fn is_sim(backend: &String) -> bool {
    backend == "sim"
}

impl Varied {
    /// Differences of a variation from `base`.
    pub fn of(base: &Reproduction, varied: &Reproduction) -> (Counts, IndexMap<String, Verdict>) {
        let pairs =
            base.claims.iter().zip(&varied.claims).filter(|(base, varied)| base.verdict != varied.verdict);
        (varied.counts, pairs.map(|(_, varied)| (varied.id.clone(), varied.verdict)).collect())
    }
}

impl Reproduction {
    /// Adds experiments of the same paper, with their tables and claims.
    fn join(&mut self, other: Self) -> Result<(), String> {
        let ids = |paper: &Self| paper.experiments.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        let there = ids(self);
        if let Some(id) = ids(&other).into_iter().find(|id| there.contains(id)) {
            return Err(format!("both have the experiment {}/{id}", self.paper));
        }
        self.experiments.extend(other.experiments);
        self.tables.extend(other.tables);
        self.strips.extend(other.strips);
        self.claims.extend(other.claims);
        // Sorts c99 before c100.
        self.claims.sort_by(|one, next| (one.id.len(), &one.id).cmp(&(next.id.len(), &next.id)));
        self.counts = Counts::of(self.claims.iter().map(|claim| claim.verdict));
        Ok(())
    }
}

impl Document {
    /// The document without sensitivity.
    pub fn new(braid_version: &str, seeds: [u64; 2], papers: Vec<Reproduction>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            braid_version: braid_version.to_owned(),
            backend: sim(),
            seeds,
            set: Vec::new(),
            cc: IndexMap::new(),
            scheduler: None,
            papers,
            sensitivity: Vec::new(),
            search: Vec::new(),
        }
    }

    /// Adds another document's papers. Experiments of a paper that exists are added to it, so parts that were run
    /// separately become one. Claims that compare experiments of both documents are missing.
    ///
    /// # Errors
    /// If the documents have other seeds, changes, schedulers or backends, or an experiment in common.
    pub fn join(&mut self, other: Self) -> Result<(), String> {
        if (other.seeds, &other.set, &other.cc, &other.scheduler, &other.backend)
            != (self.seeds, &self.set, &self.cc, &self.scheduler, &self.backend)
        {
            return Err("have other seeds, changes, schedulers or backends".to_owned());
        }
        for paper in other.papers {
            match self.papers.iter_mut().find(|there| there.paper == paper.paper) {
                None => self.papers.push(paper),
                Some(there) => there.join(paper)?,
            }
        }
        self.sensitivity.extend(other.sensitivity);
        self.search.extend(other.search);
        Ok(())
    }

    /// Writes JSON with one record per line, so that differences between documents are readable.
    ///
    /// # Panics
    /// Never: its keys are strings.
    pub fn to_json(&self) -> String {
        records(&serde_json::to_value(self).expect("plain data with string keys"), 1) + "\n"
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// If the text is not such a document.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// One line for each published cell and each comparison of a claim.
    ///
    /// # Panics
    /// Never: it is written to memory.
    pub fn to_csv(&self) -> String {
        let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let mut line = |fields: [&str; 9]| csv.write_record(fields).expect("memory takes every line");
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let side = |side: Option<Estimate>| {
            [number(side.map(|own| own.mean)), number(side.and_then(|own| own.ci95))]
        };
        line([
            "paper",
            "part",
            "id",
            "what",
            "measured",
            "ci95",
            "compared_with",
            "compared_ci95",
            "verdict",
        ]);
        for paper in &self.papers {
            for table in &paper.tables {
                for cell in &table.cells {
                    let what = cell.at.values().map(String::as_str).collect::<Vec<_>>().join(" ");
                    let ([mean, half], published) = (side(cell.measured), cell.published.to_string());
                    line([&paper.paper, "cell", &table.id, &what, &mean, &half, &published, "", ""]);
                }
            }
            for claim in &paper.claims {
                let nothing = [Condition { what: String::new(), a: None, b: None, verdict: claim.verdict }];
                let all = if claim.conditions.is_empty() { &nothing[..] } else { &claim.conditions };
                for Condition { what, a, b, verdict } in all {
                    let what = format!("{} {what}", claim.statement);
                    let ([left, left_half], [right, right_half]) = (side(*a), side(*b));
                    let (id, what) = (&claim.id, what.trim());
                    let verdict = verdict.text();
                    line([&paper.paper, "claim", id, what, &left, &left_half, &right, &right_half, verdict]);
                }
            }
        }
        let bytes = csv.into_inner().expect("memory takes every line");
        String::from_utf8(bytes).expect("made of strings")
    }
}
