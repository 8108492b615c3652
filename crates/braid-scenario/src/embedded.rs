//! The scenarios and traces that come with Braid.

use crate::Source;
use crate::document::Document;

static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
static TRACES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/traces.rs"));

/// What an embedded scenario says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What to ask for it by, such as `d-olia/1`.
    pub name: &'static str,
    /// One line.
    pub title: String,
    /// What it shows and what to expect; several lines.
    pub story: String,
    /// The topology in characters; several lines.
    pub picture: String,
}

/// All embedded scenarios, sorted by name.
pub fn embedded() -> impl Iterator<Item = Summary> {
    EMBEDDED.iter().filter_map(|&(name, text)| {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let document = Document::parse(&source).ok()?;
        let text = |key| document.text(key).unwrap_or_default().trim_matches('\n').to_owned();
        Some(Summary { name, title: text("title"), story: text("story"), picture: text("picture") })
    })
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

pub(crate) fn traces() -> impl Iterator<Item = &'static str> {
    TRACES.iter().map(|(name, _)| *name)
}

pub(crate) fn trace(name: &str) -> Option<&'static str> {
    TRACES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

pub(crate) fn text(name: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
