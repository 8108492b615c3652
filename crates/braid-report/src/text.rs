//! Tables as text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use braid_results::theory::Theory;
use braid_results::{Deadline, Figure, Metrics, Summary, Times};

use crate::{Style, Table, column, layout};

/// The tables as text, with a legend at the end and a newline after every line.
pub fn tables(tables: &[Table], style: Style) -> String {
    let mut out = String::new();
    for table in tables {
        one(&mut out, table, style);
        out.push('\n');
    }
    legend(&mut out, tables, style);
    out
}

fn one(out: &mut String, table: &Table, style: Style) {
    let scenario = table.cells[0].scenario;
    let _ = writeln!(out, "{}  {}", layout::bold(&scenario.name, style), table.title);
    let _ = writeln!(out, "{}", layout::dim(&circumstances(table), style));

    let columns = column::columns(table);
    let shown = layout::fitting(&columns, style.width);
    let _ = writeln!(out, "{}", layout::draw(&shown, style));

    let left_out = column::left_out(&columns, &shown);
    if !left_out.is_empty() {
        let note = format!("Not shown in {} columns: {}.", style.width.unwrap_or(0), left_out.join(", "));
        let _ = writeln!(out, "{}", layout::dim(&layout::wrap(&note, style.width), style));
    }
    for (name, summary) in table.rows().filter(|(_, summary)| summary.failed > 0) {
        let _ = writeln!(out, "{name}: {} of {} runs failed.", summary.failed, summary.runs);
    }
}

/// Common properties of all rows: time, seeds, parameters with a single value.
pub(crate) fn circumstances(table: &Table) -> String {
    let scenario = table.cells[0].scenario;
    let mut parts = vec![format!("{} s", scenario.duration_ns as f64 / 1e9)];
    let measured = scenario.duration_ns - scenario.warmup_ns - scenario.cooldown_ns;
    if measured != scenario.duration_ns {
        let end = scenario.duration_ns - scenario.cooldown_ns;
        parts.push(format!("measured from {} s to {} s", scenario.warmup_ns as f64 / 1e9, end as f64 / 1e9));
    }
    let mut seen = BTreeSet::new();
    let summaries = table.cells.iter().flat_map(|cell| cell.summaries);
    for Summary { runs, backend, .. } in summaries.filter(|summary| seen.insert(&summary.backend)) {
        parts.push(if *runs == 1 { "1 seed".to_owned() } else { format!("{runs} seeds") });
        parts.push(format!("backend {backend}"));
    }
    if table.cells.len() == 1 {
        parts.extend(scenario.parameters.iter().map(|(name, value)| format!("{name} {value}")));
    }
    parts.join(", ")
}

fn legend(out: &mut String, tables: &[Table], style: Style) {
    let notes = legend_notes(tables).join(" ");
    let _ = writeln!(out, "{}", layout::dim(&layout::wrap(&notes, style.width), style));
}

/// Meanings of the columns.
pub(crate) fn legend_notes(tables: &[Table]) -> Vec<&'static str> {
    let cells = || tables.iter().flat_map(|table| &table.cells);
    let summaries = || cells().flat_map(|cell| cell.summaries);
    let keys = || summaries().flat_map(|row| row.statistics.keys());
    let has = |figure: &Figure| keys().any(|key| key.period.is_none() && *key.figure == *figure);
    let has_ever = |figure: &Figure| keys().any(|key| *key.figure == *figure);
    let several_subflows =
        cells().flat_map(|cell| &cell.scenario.connections).any(|connection| connection.subflows.len() > 1);
    let several_seeds = summaries().any(|row| row.runs - row.failed > 1);

    let mut notes = vec!["goodput: payload delivered in order."];
    if several_subflows {
        notes.push("rate: IP bytes of one subflow.");
    }
    if has(&Metrics::aggregate_benefits) || has(&Metrics::aggregate_benefit_raw) {
        notes.push(
            "benefit: 0 is as good as the best single path with its fair share, 1 is the fair share of all paths.",
        );
    }
    if summaries().any(|row| row.backend == "sim") && summaries().any(|row| row.backend != "sim") {
        notes.push("RTT: with backend sim the mean over the newest packets that acknowledgements cover; else the kernel's smoothed RTT, of the oldest.");
    }
    if has(&Metrics::jain_connections) {
        notes.push("Jain: fairness between the connections on that link, 1 is even.");
    }
    if has(&Metrics::jain_mptcp_subflows) {
        notes.push("Jain sf: the same between MPTCP subflows.");
    }
    if summaries().any(|row| matches!(row.theory, Some(Theory::Fluid(_)))) {
        notes
            .push("fluid: throughput in the equilibrium of a fluid model, an orientation (docs/results.md).");
    }
    if has_ever(&Times::mean) {
        notes.push("time p50, p95: how long an object, a response, a burst or a write takes to arrive, median and 95 %.");
    }
    if has_ever(&Deadline::missed_percent) {
        notes.push(
            "late: transfers that took longer than their deadline, of those whose deadline was in the run.",
        );
    }
    if several_seeds {
        notes.push("\u{b1}: half the 95 % confidence interval of the mean.");
        if summaries().any(|row| row.runs > 1 && row.statistics.values().all(|s| s.interval().is_none())) {
            notes.push("No \u{b1} in a row: all its seeds gave equal results, so they say nothing of its uncertainty.");
        }
    }
    notes
}
