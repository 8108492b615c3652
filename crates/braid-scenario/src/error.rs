//! Errors: problem, place and remedy.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Maximum of problems shown at once.
const SHOWN: usize = 10;
/// Maximum of problems collected: a file with more would take long.
pub(crate) const MOST_PROBLEMS: usize = 100;

/// All problems of a scenario. Bad input in the sense of the command line: exit code 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    problems: Vec<Problem>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its place: `file.toml:12:8` (line and column from 1), `file.toml`, or `--set link.b1.rate=fast`.
    pub place: String,
    /// The affected key, such as `link.b1.rate`.
    pub key: Option<String>,
    /// Expected and actual value.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
    /// The line with a mark under the problem.
    snippet: Option<String>,
}

impl Error {
    /// The problems in the order they were found; at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl Problem {
    /// A problem without a line to show.
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        let message = visible(message.into());
        Self { place: place.into(), key: None, message, hint: None, snippet: None }
    }

    /// A problem at `span` (bytes) of `text`, named `name` in messages.
    pub(crate) fn in_text(name: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = floor(text, span.start);
        let end = floor(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        // Trailing carriage returns are not part of the line, even if they are the problem.
        let line = text[line_start..line_end].trim_end_matches('\r');
        let within = |at: usize| (at - line_start).min(line.len());
        let number = text[..line_start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        Self {
            snippet: Some(draw(line, number, within(start)..within(end))),
            ..Self::new(format!("{name}:{number}:{column}"), message)
        }
    }

    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    pub(crate) fn hint(self, hint: Option<String>) -> Self {
        Self { hint: hint.map(visible), ..self }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl From<Vec<Problem>> for Error {
    fn from(problems: Vec<Problem>) -> Self {
        debug_assert!(!problems.is_empty());
        Self { problems }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().take(SHOWN).enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.problems.len().checked_sub(SHOWN) {
            Some(_) if self.problems.len() >= MOST_PROBLEMS => f.write_str("\n\n... and many more"),
            Some(more @ 1..) => write!(f, "\n\n... and {more} more"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Control characters of unquoted text must not reach the terminal either.
fn visible(text: String) -> String {
    let hidden = |c: char| c.is_control() && c != '\n';
    if !text.contains(hidden) {
        return text;
    }
    text.chars().map(|c| if hidden(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// A text of the user, safe to print: quoted, control characters escaped, truncated.
pub(crate) fn quote(text: &str) -> String {
    const LONG: usize = 60;
    match text.char_indices().nth(LONG) {
        Some((cut, _)) => format!("{:?}...", &text[..cut]),
        None => format!("{text:?}"),
    }
}

/// `did you mean "b1"?`, or the list of choices if it is short.
pub(crate) fn suggest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const LISTED: usize = 40;
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(wrong, &known);
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
        return Some(format!("did you mean {}?", near.join(" or ")));
    }
    match known.len() {
        0 => None,
        1..=LISTED => Some(format!("there is {}", known.join(", "))),
        n => Some(format!("there is {} and {} more", known[..LISTED].join(", "), n - LISTED)),
    }
}

/// The up to three names most similar to a misspelling.
fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Vec<&'a str> {
    let wrong = wrong.chars().take(100).collect::<String>().to_lowercase().replace('_', "-");
    let distance = |name: &str| strsim::damerau_levenshtein(&wrong, name);
    let close = |name: &&str| distance(name) <= 1.max(name.len().min(wrong.len()) / 3);
    let Some(least) = known.iter().copied().filter(close).map(distance).min() else { return Vec::new() };
    known.iter().copied().filter(close).filter(|name| distance(name) == least).take(3).collect()
}

fn draw(line: &str, number: usize, span: Range<usize>) -> String {
    // An empty span marks the character at its place.
    let least = span.start + line[span.start..].chars().next().map_or(0, char::len_utf8);
    // The renderer escapes ASCII control characters, but not those of ISO 6429, such as a one-character CSI. Their
    // replacement is as long in UTF-8.
    let line = line.replace(|c| ('\u{80}'..='\u{9f}').contains(&c), "\u{b7}");
    let source = Snippet::source(&line)
        .line_start(number)
        .annotation(AnnotationKind::Primary.span(span.start..span.end.max(least)));
    let report = [Group::with_level(Level::ERROR).element(source)];
    Renderer::plain().term_width(100).render(&report).trim_end().to_owned()
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
