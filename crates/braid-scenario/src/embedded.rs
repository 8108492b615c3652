//! The texts of the built-in scenarios and traces.

static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
static TRACES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/traces.rs"));

/// Name and text of each, sorted by name.
pub(crate) fn scenarios() -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().copied()
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
