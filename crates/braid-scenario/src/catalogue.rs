//! Descriptions of the built-in scenarios.

use crate::Source;
use crate::document::Document;

/// Description of an embedded scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its name, such as `d-olia/1`.
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
    crate::embedded::scenarios().filter_map(|(name, text)| {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let document = Document::parse(&source).ok()?;
        let text = |key| document.text(key).unwrap_or_default().trim_matches('\n').to_owned();
        Some(Summary { name, title: text("title"), story: text("story"), picture: text("picture") })
    })
}
