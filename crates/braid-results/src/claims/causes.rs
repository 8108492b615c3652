//! Causes of failed claims, one small file each in `papers/causes/PAPER/`.
//!
//! A file begins with TOML between two lines of `+++`; a heading and text in Markdown follow.

use indexmap::IndexMap;
use serde::Deserialize;

use super::paper::Error;

static EMBEDDED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/causes.rs"));
const FENCE: &str = "+++\n";

/// A tested cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The file's name without its ending.
    pub id: String,
    /// The claims it explains; empty if it is about experiments.
    pub claims: Vec<String>,
    /// The experiments it is about, if there are no claims.
    pub experiments: Vec<String>,
    /// Claims of the same paper that contradict these.
    pub excluded_by: Vec<String>,
    /// Commands that show it, by what differs; to be run in the folder of the repository.
    pub commands: IndexMap<String, String>,
    /// One line.
    pub title: String,
    /// Explanation in Markdown.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Head {
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default)]
    experiments: Vec<String>,
    #[serde(default)]
    excluded_by: Vec<String>,
    commands: IndexMap<String, String>,
}

impl Cause {
    /// Parses a file.
    ///
    /// # Errors
    /// If it does not have the form described in this module.
    pub fn parse(id: &str, text: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error(format!("{id}.md: {what}"));
        let rest = text.strip_prefix(FENCE).ok_or_else(|| wrong("it does not begin with +++"))?;
        let (head, body) = rest.split_once("\n+++\n").ok_or_else(|| wrong("nothing ends its head"))?;
        let head: Head = toml::from_str(head).map_err(|error| wrong(error.to_string().trim_end()))?;
        let body = body.trim();
        let (title, text) = body.split_once('\n').unwrap_or((body, ""));
        let title = title.strip_prefix("# ").ok_or_else(|| wrong("its text begins with no heading"))?;
        if head.claims.is_empty() == head.experiments.is_empty() {
            return Err(wrong("it names claims or experiments, one of the two"));
        }
        if head.commands.is_empty() {
            return Err(wrong("it has no command that shows it"));
        }
        Ok(Self {
            id: id.to_owned(),
            claims: head.claims,
            experiments: head.experiments,
            excluded_by: head.excluded_by,
            commands: head.commands,
            title: title.to_owned(),
            text: text.trim().to_owned(),
        })
    }
}

/// The built-in causes of that paper, by name.
///
/// # Errors
/// If one is invalid, which a test excludes.
pub fn causes(paper: &str) -> Result<Vec<Cause>, Error> {
    let own = EMBEDDED.iter().filter(|(of, ..)| *of == paper);
    own.map(|(_, id, text)| Cause::parse(id, text)).collect()
}

/// The claims that other statements of the paper contradict, by its causes.
pub fn excluded(causes: &[Cause]) -> Vec<String> {
    let contradicted = causes.iter().filter(|cause| !cause.excluded_by.is_empty());
    contradicted.flat_map(|cause| cause.claims.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "+++\nclaims = [\"c1\"]\n[commands]\n\"as assumed\" = \"braid repro\"\n+++\n\n# Why\n\nSo.\n";

    #[test]
    fn a_file_is_its_head_its_heading_and_its_text() {
        let cause = Cause::parse("c1", WHOLE).unwrap();
        assert_eq!((cause.title.as_str(), cause.text.as_str()), ("Why", "So."));
        assert_eq!(cause.commands["as assumed"], "braid repro");
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |text: &str| Cause::parse("c1", text).unwrap_err().0;
        assert!(error("# Why").contains("begin with +++"));
        assert!(error("+++\nclaims = []\n").contains("ends its head"));
        assert!(error(&WHOLE.replace("# Why", "Why")).contains("no heading"));
        assert!(error(&WHOLE.replace("[\"c1\"]", "[]")).contains("claims or experiments"));
        assert!(error(&WHOLE.replace("\"as assumed\" = \"braid repro\"", "")).contains("no command"));
        assert!(error(&WHOLE.replace("claims", "claim")).contains("unknown field"));
    }
}
