//! Result of the search for a paper's test bed, for terminals and Markdown.

use std::fmt::Write as _;

use braid_results::claims::{self, Document, Fate, Search};

use crate::Style;
use crate::layout::{Grid, bold, wrap};

/// For a terminal, without a newline after the last line.
pub(crate) fn text(document: &Document, search: &Search, style: Style) -> String {
    const LABEL: usize = 18;
    let [first, last] = search.seeds;
    let [there, assumed] = holds(search);
    let mut lines = vec![
        ("settings tried", format!("{}, seeds {first} to {last}", tried(search))),
        ("most plausible", search.settings[search.best].what.clone()),
        ("claims that hold", format!("{there} there, {assumed} as assumed")),
        ("the other half", other_half(search)),
    ];
    for (place, (fate, ids)) in of_claims(document, search).into_iter().enumerate() {
        let label = if place == 0 { "of the claims" } else { "" };
        lines.push((label, format!("{} ({}): {}", fate.text(), ids.len(), ids.join(" "))));
    }
    let width = style.width.map(|width| width.saturating_sub(LABEL + 2));
    let mut out = bold(&format!("{}: the test bed behind it", search.paper), style);
    for (label, value) in lines {
        for (place, line) in wrap(&value, width).lines().enumerate() {
            let label = if place == 0 { label } else { "" };
            let _ = write!(out, "\n  {label:<LABEL$}{line}");
        }
    }
    out
}

/// The test beds, a line each.
pub(crate) fn beds(document: &Document) -> Grid {
    let heads = [
        "paper",
        "most plausible test bed",
        "settings tried",
        "seeds",
        "as assumed, other half",
        "chosen, other half",
        "p",
        "claims that hold there",
        "as assumed",
    ];
    let row = |search: &Search| {
        let figures = search.splits.as_ref().map(|splits| [splits.as_assumed, splits.chosen, splits.p]);
        let figures = match figures {
            Some(figures) => figures.map(|figure| format!("{figure:.2}")),
            None => ["-"; 3].map(str::to_owned),
        };
        let what = search.settings[search.best].what.clone();
        let [first, last] = search.seeds;
        [search.paper.clone(), what, tried(search), format!("{first} to {last}")]
            .into_iter()
            .chain(figures)
            .chain(holds(search).map(|count| count.to_string()))
            .collect()
    };
    Grid::new(heads, document.search.iter().map(row), 2)
}

/// Fates of the claims of each paper.
pub(crate) fn fates(document: &Document) -> Grid {
    let row = |search: &Search| {
        let found = of_claims(document, search);
        let count = |fate: Fate| found.iter().find(|(own, _)| *own == fate).map_or(0, |(_, ids)| ids.len());
        let counts = Fate::ALL.map(|fate| count(fate).to_string());
        [search.paper.clone()].into_iter().chain(counts).collect()
    };
    Grid::new(["paper"].into_iter().chain(Fate::ALL.map(Fate::text)), document.search.iter().map(row), 1)
}

fn tried(search: &Search) -> String {
    format!("{} of {}", search.settings.len(), search.possible + 1)
}

/// Claims that hold in the most plausible test bed, and as assumed.
fn holds(search: &Search) -> [usize; 2] {
    [search.best, 0].map(|place| search.settings[place].counts.holds)
}

fn other_half(search: &Search) -> String {
    let Some(splits) = &search.splits else {
        return "no evidence: its experiments share runs, so there are no halves".to_owned();
    };
    let said = if search.is_evidence() { "that is more than chance" } else { "chance does as much" };
    format!(
        "{:.2} with what is chosen on one half, {:.2} as assumed; p = {:.2}: {said}",
        splits.chosen, splits.as_assumed, splits.p
    )
}

/// Claims by fate, without empty fates.
fn of_claims(document: &Document, search: &Search) -> Vec<(Fate, Vec<String>)> {
    let Some(result) = document.papers.iter().find(|paper| paper.paper == search.paper) else {
        return Vec::new();
    };
    let causes = claims::causes(&search.paper).expect("a test reads them all");
    let fates = Fate::of(result, search, &claims::excluded(&causes));
    let of = |fate: Fate| fates.iter().filter(move |(_, own)| **own == fate).map(|(id, _)| id.clone());
    let all = Fate::ALL.into_iter().map(|fate| (fate, of(fate).collect::<Vec<_>>()));
    all.filter(|(_, ids)| !ids.is_empty()).collect()
}
