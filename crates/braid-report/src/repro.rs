//! Published and measured figures and verdicts on claims, for terminals and Markdown.

use std::fmt::Write as _;

use braid_results::Statistics;
use braid_results::claims::{
    ClaimResult, Condition, Counts, Document, Estimate, ExperimentResult, Metric, Reproduction, TableCell,
    TableResult, Verdict,
};

use crate::Style;
use crate::layout::{Grid, bold, dim, wrap};
use crate::search;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Published beside measured, cell by cell.
    Cells,
    /// The same in whole numbers, for an overview; Markdown only.
    Glance,
    /// Every claim with its verdict and the deciding figures.
    Claims,
    /// Number of claims by verdict.
    Scoreboard,
    /// The same with other assumptions.
    Sensitivity,
    /// Result of the search for the paper's test bed.
    Search,
}

impl Part {
    /// The default parts, in the order of the report.
    pub const DEFAULT: [Self; 5] =
        [Self::Cells, Self::Claims, Self::Scoreboard, Self::Sensitivity, Self::Search];
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Cells, Self::Glance, Self::Claims, Self::Scoreboard, Self::Sensitivity, Self::Search];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Glance => "glance",
            Self::Claims => "claims",
            Self::Scoreboard => "scoreboard",
            Self::Sensitivity => "sensitivity",
            Self::Search => "search",
        }
    }

    /// The part of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// For a terminal, with a newline after every line.
pub fn text(document: &Document, parts: &[Part], style: Style) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Cells => {
                for (paper, table) in tables(document) {
                    let _ = writeln!(out, "{}", bold(&title(paper, table), style));
                    let _ = writeln!(out, "{}\n", exact(table).draw(2, style));
                    for doubt in doubts(table) {
                        let _ = writeln!(out, "{}", dim(&wrap(&format!("? {doubt}"), style.width), style));
                    }
                }
                if tables(document).next().is_some() {
                    let note = "published / measured \u{b1} half the 95 % confidence interval. ?: probably a misprint.";
                    let _ = writeln!(out, "{}\n", dim(note, style));
                }
            }
            Part::Claims => {
                for paper in &document.papers {
                    let _ = writeln!(out, "{}  {}", bold(&paper.paper, style), paper.title);
                    for claim in &paper.claims {
                        let verdict = claim.verdict.text();
                        let _ = writeln!(out, "{:>5}  {verdict:<13}  {}", claim.id, claim.statement);
                        let _ = writeln!(out, "{:22}{}", "", dim(&decided(claim), style));
                    }
                    out.push('\n');
                }
            }
            Part::Scoreboard => {
                let _ = writeln!(out, "{}\n", scoreboard(document).draw(2, style));
                let _ = writeln!(out, "{}", dim(&basis(document), style));
            }
            Part::Glance => {}
            Part::Sensitivity if document.sensitivity.is_empty() => {}
            Part::Sensitivity => {
                let _ = writeln!(out, "\n{}", sensitivity(document).draw(2, style));
            }
            Part::Search => {
                for search in &document.search {
                    let _ = writeln!(out, "\n{}", search::text(document, search, style));
                }
            }
        }
    }
    out
}

/// For documents, with a newline after every line.
pub fn markdown(document: &Document, parts: &[Part]) -> String {
    let mut sections = Vec::new();
    for part in parts {
        match part {
            Part::Cells => {
                for (paper, table) in tables(document) {
                    let mut section = format!("**{}**\n\n{}", title(paper, table), exact(table).pipes());
                    for doubt in doubts(table) {
                        let _ = write!(section, "\n? {doubt}.\n");
                    }
                    sections.push(section);
                }
            }
            Part::Glance => sections.extend(glance(document)),
            Part::Claims => {
                for paper in &document.papers {
                    let rows = paper.claims.iter().map(|claim| {
                        vec![
                            claim.id.clone(),
                            claim.source.clone(),
                            claim.statement.clone(),
                            mark(claim.verdict),
                            decided(claim),
                        ]
                    });
                    let heads = ["claim", "source", "what it says", "verdict", "measured"];
                    let grid = Grid::new(heads, rows, 5);
                    sections.push(format!("**{}**: {}\n\n{}", paper.paper, paper.title, grid.pipes()));
                }
            }
            Part::Scoreboard => {
                sections.push(format!("{}\n{}\n", scoreboard(document).pipes(), basis(document)));
            }
            Part::Sensitivity if document.sensitivity.is_empty() => {}
            Part::Sensitivity => sections.push(sensitivity(document).pipes()),
            Part::Search if document.search.is_empty() => {}
            Part::Search => {
                sections.extend([search::beds(document), search::fates(document)].map(|grid| grid.pipes()));
            }
        }
    }
    sections.join("\n")
}

/// A summary line, and each table of shares in whole numbers, all but the first folded.
fn glance(document: &Document) -> Vec<String> {
    let shares = || tables(document).filter(|(_, table)| table.metric == Metric::Share);
    let differences: Vec<f64> = shares()
        .flat_map(|(_, table)| &table.cells)
        .filter(|cell| cell.doubt.is_none())
        .filter_map(|cell| Some((cell.measured?.mean - cell.published).abs()))
        .collect();
    let Some(statistics) = Statistics::of(&differences) else { return Vec::new() };
    let within = |points: f64| differences.iter().filter(|&&difference| difference <= points).count();
    let mut sections = vec![format!(
        "Of {} cells {} are within 10 points of the paper and {} within 25; the median difference is {:.0} points.\n",
        differences.len(),
        within(10.0),
        within(25.0),
        statistics.median
    )];
    for (place, (paper, table)) in shares().enumerate() {
        let Grid { heads, rows, .. } = cells(table, &|cell| {
            let doubt = if cell.doubt.is_some() { "?" } else { "" };
            let measured = cell.measured.map_or("-".to_owned(), |measured| format!("{:.0}", measured.mean));
            format!("{:.0}{doubt}&nbsp;/&nbsp;**{measured}**", cell.published)
        });
        let merged = |cells: Vec<String>| -> Vec<String> {
            let (keys, values) = cells.split_at(table.row_axes.len());
            [&[keys.join(" ")], values].concat()
        };
        let mut heads = merged(heads);
        heads[0] = String::new();
        let grid = Grid::new(heads, rows.into_iter().map(merged), 1);
        let experiment = experiment(paper, table);
        let title = experiment.map_or(&table.source, |experiment| &experiment.title);
        sections.push(match place {
            0 => format!("**{title}** ({})\n\n{}", table.source, grid.pipes()),
            _ => format!(
                "<details><summary><b>{title}</b> ({})</summary>\n\n{}\n</details>\n",
                table.source,
                grid.pipes()
            ),
        });
    }
    sections
}

fn tables(document: &Document) -> impl Iterator<Item = (&Reproduction, &TableResult)> {
    document.papers.iter().flat_map(|paper| paper.tables.iter().map(move |table| (paper, table)))
}

fn experiment<'a>(paper: &'a Reproduction, table: &TableResult) -> Option<&'a ExperimentResult> {
    paper.experiments.iter().find(|experiment| Some(&experiment.id) == table.experiment.as_ref())
}

fn title(paper: &Reproduction, table: &TableResult) -> String {
    let of = experiment(paper, table);
    let unit = match table.metric.unit() {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let what = of.map_or(String::new(), |experiment| format!(" {},", experiment.title));
    format!("{}, {}:{what} {}{unit}", paper.paper, table.source, table.metric.text())
}

/// One row for each key of the printed table, one column for each head.
pub(crate) fn cells(table: &TableResult, show: &dyn Fn(&TableCell) -> String) -> Grid {
    let key = |cell: &TableCell, axes: &[String]| -> Vec<String> {
        axes.iter().map(|axis| cell.at.get(axis).cloned().unwrap_or_default()).collect()
    };
    let first = table.cells.first().map(|cell| key(cell, &table.row_axes));
    let heads = table.cells.iter().take_while(|cell| Some(key(cell, &table.row_axes)) == first);
    let heads: Vec<String> = heads.map(|cell| key(cell, &table.column_axes).join(" / ")).collect();
    let rows = table.cells.chunks(heads.len().max(1)).map(|row| {
        let mut line = key(&row[0], &table.row_axes);
        line.extend(row.iter().map(show));
        line
    });
    Grid::new(table.row_axes.iter().cloned().chain(heads), rows, table.row_axes.len())
}

fn exact(table: &TableResult) -> Grid {
    cells(table, &|cell| pair(cell, table.metric))
}

/// `published / measured`.
fn pair(cell: &TableCell, metric: Metric) -> String {
    let doubt = if cell.doubt.is_some() { "?" } else { "" };
    let measured = cell.measured.map_or("-".to_owned(), |measured| estimate(measured, metric));
    format!("{}{doubt} / {measured}", number(cell.published, metric))
}

pub(crate) fn number(value: f64, metric: Metric) -> String {
    format!("{value:.*}", metric.decimals())
}

pub(crate) fn estimate(estimate: Estimate, metric: Metric) -> String {
    let mean = number(estimate.mean, metric);
    estimate.ci95.map_or(mean.clone(), |half| format!("{mean} \u{b1} {}", number(half, metric)))
}

fn doubts(table: &TableResult) -> Vec<String> {
    let mut doubts: Vec<String> = Vec::new();
    for cell in &table.cells {
        if let Some(why) = cell.doubt.as_ref().filter(|why| !doubts.contains(why)) {
            doubts.push(why.clone());
        }
    }
    doubts
}

/// The figures that decide a claim: all of them if there are few, else their number and the deciding ones.
fn decided(claim: &ClaimResult) -> String {
    if let Some(reason) = &claim.reason {
        return reason.clone();
    }
    let all = &claim.conditions;
    let one = |condition: &&Condition| {
        let side = |estimate: Option<Estimate>| estimate.map_or("-".to_owned(), short);
        let what = if condition.what.is_empty() { String::new() } else { format!("{}: ", condition.what) };
        match condition.b {
            None => format!("{what}{}", side(condition.a)),
            b => format!("{what}{} | {}", side(condition.a), side(b)),
        }
    };
    if all.len() <= 4 {
        return all.iter().map(|condition| one(&condition)).collect::<Vec<_>>().join("; ");
    }
    let with = |verdict| all.iter().filter(move |condition| condition.verdict == verdict);
    let counts: Vec<String> = [Verdict::Holds, Verdict::Undecided, Verdict::Fails]
        .into_iter()
        .map(|verdict| (with(verdict).count(), verdict.text()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{text} in {count}"))
        .collect();
    let worst: Vec<String> = with(claim.verdict).take(3).map(|condition| one(&condition)).collect();
    format!("{} of {}: {}", counts.join(", "), all.len(), worst.join("; "))
}

/// Three significant digits, with half the interval if there is one.
pub(crate) fn short(estimate: Estimate) -> String {
    let decimals = match estimate.mean.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    match estimate.ci95 {
        Some(half) if half > 0.0 => format!("{:.decimals$} \u{b1} {half:.decimals$}", estimate.mean),
        _ => format!("{:.decimals$}", estimate.mean),
    }
}

fn scoreboard(document: &Document) -> Grid {
    let line = |paper: &Reproduction| {
        let all: usize = Verdict::ALL.iter().map(|&verdict| paper.counts.of_verdict(verdict)).sum();
        [vec![paper.paper.clone()], numbers(paper.counts), vec![all.to_string()]].concat()
    };
    let heads = ["paper", "holds", "fails", "undecided", "not checkable", "claims"];
    Grid::new(heads, document.papers.iter().map(line), 1)
}

/// Basis of the verdicts.
fn basis(document: &Document) -> String {
    let [first, last] = document.seeds;
    let mut text = format!("Seeds {first} to {last} of every run.");
    for set in &document.set {
        let _ = write!(text, " Changed: {set}.");
    }
    for (name, spec) in &document.cc {
        let _ = write!(text, " For {name}: {spec}.");
    }
    if let Some(scheduler) = &document.scheduler {
        let _ = write!(text, " Packet scheduler: {scheduler}.");
    }
    text
}

fn sensitivity(document: &Document) -> Grid {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for paper in &document.papers {
        let varied = document.sensitivity.iter().filter(|varied| varied.paper == paper.paper);
        for (place, varied) in varied.enumerate() {
            if place == 0 {
                rows.push(varied_row(&paper.paper, "as above", paper.counts, String::new()));
            }
            let changed = Verdict::ALL.into_iter().filter_map(|verdict| {
                let ids =
                    varied.changed.iter().filter(|(_, now)| **now == verdict).map(|(id, _)| id.as_str());
                let ids: Vec<&str> = ids.collect();
                (!ids.is_empty()).then(|| format!("{}: {}", verdict.text(), ids.join(" ")))
            });
            let changed: Vec<String> = changed.collect();
            rows.push(varied_row("", &varied.what, varied.counts, changed.join("; ")));
        }
    }
    let heads = ["paper", "what is different", "holds", "fails", "undecided", "not checkable", "now"];
    Grid::new(heads, rows, 2)
}

fn varied_row(paper: &str, what: &str, counts: Counts, changed: String) -> Vec<String> {
    [vec![paper.to_owned(), what.to_owned()], numbers(counts), vec![changed]].concat()
}

fn numbers(counts: Counts) -> Vec<String> {
    Verdict::ALL.map(|verdict| counts.of_verdict(verdict).to_string()).to_vec()
}

/// A verdict, highlighted unless it is the expected one.
fn mark(verdict: Verdict) -> String {
    match verdict {
        Verdict::Fails => format!("**{}**", verdict.text()),
        _ => verdict.text().to_owned(),
    }
}
