//! From a file's text to its cells.

use braid_algorithms::Spec;

use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::error::Error;
use crate::limits::{self, MOST_PARTS};
use crate::model::Scenario;
use crate::trace::Traces;
use crate::{Source, expand, format, resolve};

/// A scenario file, checked and resolved.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct File {
    /// One line.
    pub title: String,
    /// What it shows and what to expect; several lines, may be empty.
    pub story: String,
    /// The topology in characters; several lines, may be empty.
    pub picture: String,
    /// The congestion controls to compare when the user names none; may be empty.
    pub cc: Vec<Spec>,
    /// One scenario for every combination of the parameters, the last parameter varying fastest; at least one.
    pub cells: Vec<Scenario>,
    #[serde(skip)]
    document: Document,
}

impl File {
    /// An error about the value of `key` (such as `connection.bg0.cc` or `cc[1]`), with the place where it was
    /// given. For what this crate cannot know: what a backend can run.
    pub fn error(&self, key: &str, message: impl Into<String>, hint: Option<String>) -> Error {
        self.document.problem(&key.into(), false, message).hint(hint).into()
    }
}

/// Checks and resolves a scenario.
///
/// `set` holds assignments such as `link.b1.rate=20mbit` that replace or add values before anything is checked;
/// `parameters.bandwidth=12mbit,24mbit` replaces an axis.
///
/// # Errors
///
/// If the text is not TOML, has unknown keys, wrong units, values out of range or contradictions, or if a trace cannot
/// be read.
pub fn load(source: &Source, set: &[String]) -> Result<File, Error> {
    let mut document = Document::parse(source)?;
    document.set(set)?;
    let mut cells = Vec::new();
    let mut parts = 0;
    let mut traces = Traces::default();
    let mut first = None;
    for cell in expand::cells(&document)? {
        let resolved = resolve::scenario(source, &cell, &mut traces)?;
        let links = resolved.scenario.links.iter();
        parts += links.map(|link| limits::parts(&link.forward, &link.reverse)).sum::<usize>();
        let subflows = resolved.scenario.connections.iter().flat_map(|connection| &connection.subflows);
        parts += subflows.map(|subflow| subflow.reroutes.len()).sum::<usize>();
        if parts > MOST_PARTS {
            let message =
                format!("more than {MOST_PARTS} links, outages and changes in all combinations together");
            return Err(document.problem(&"parameters".into(), true, message).into());
        }
        cells.push(resolved.scenario);
        first.get_or_insert((resolved.file, resolved.cc));
    }
    let Some((format::Document { title, story, picture, .. }, cc)) = first else {
        unreachable!("an axis has at least one value, so there is at least one cell")
    };
    Ok(File { title, story, picture, cc, cells, document })
}
