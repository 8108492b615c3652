//! What is answered, for people and for programs.

use std::fmt::Write as _;

use braid_advise::{Advice, Row};
use braid_results::Statistics;
use serde_json::json;

use super::question::AdviseArgs;
use crate::{Failure, terminal};

/// What is said at the end.
pub(super) struct Answer<'a> {
    pub(super) about: &'a str,
    pub(super) advice: &'a Advice,
    /// The candidate that is used now.
    pub(super) current: Option<&'a str>,
    /// What makes it uncertain, and what it speaks of.
    pub(super) notes: &'a [String],
}

pub(super) fn print(args: &AdviseArgs, answer: &Answer) -> Result<(), Failure> {
    if args.json {
        return terminal::print(format!("{:#}\n", document(answer)).as_bytes());
    }
    terminal::print(text(answer).as_bytes())
}

fn document(Answer { about, advice, current, notes }: &Answer) -> serde_json::Value {
    let row = |row: &Row| {
        json!({
            "cc": row.spec,
            "scheduler": row.scheduler,
            "coupled": row.is_coupled,
            "alone_bps": row.alone_bps().round(),
            "beside_bps": row.beside_bps().round(),
            "utility_bps": row.utility().round(),
            "paths": row.only,
            "usual": row.is_usual(),
            "harm": row.harm().map(|harm| json!({"mean": harm.mean, "ci95": harm.ci95})),
            "fair": row.is_fair(),
            "several_shares": row.has_several_shares(),
            "seeds": row.seeds(),
        })
    };
    let choice = advice.choice();
    let rows: Vec<_> = advice.rows.iter().map(row).collect();
    json!({
        "about": about,
        "candidates": rows,
        "choice": {"cc": choice.spec, "scheduler": choice.scheduler, "paths": choice.only, "fair": choice.is_fair()},
        "current": current,
        "notes": notes,
    })
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    write(&mut text, answer).expect("a string takes everything");
    text
}

fn write(text: &mut String, Answer { about, advice, current, notes }: &Answer) -> std::fmt::Result {
    let choice = advice.choice();
    let several = advice.rows.iter().any(|row| row.scheduler != choice.scheduler);
    let name = |row: &Row| {
        let mut name = row.spec.clone();
        if !row.only.is_empty() {
            write!(name, " on {}", row.only.join(", ")).expect("a string takes everything");
        }
        if several { format!("{name} {}", row.scheduler) } else { name }
    };
    let width = advice.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or_default().max(8);
    writeln!(text, "{about}\n")?;
    writeln!(text, "  {:width$}  {:>9}  {:>9}  {:>14}", "", "alone", "beside", "others lose")?;
    writeln!(text, "  {:width$}  {:>9}  {:>9}  {:>14}  {:>5}", "cc", "Mbit/s", "Mbit/s", "%", "seeds")?;
    for row in &advice.rows {
        let mark = if std::ptr::eq(row, choice) { '*' } else { ' ' };
        let harm = row.harm().as_ref().map_or_else(|| "-".into(), percent);
        let unfair = match row {
            row if !row.is_fair() => "  too much",
            row if row.has_several_shares() => "  several shares",
            row if !row.is_advisable() => "  may be too much",
            _ => "",
        };
        writeln!(
            text,
            "{mark} {:width$}  {:>9.2}  {:>9.2}  {harm:>14}  {:>5}{unfair}",
            name(row),
            row.alone_bps() / 1e6,
            row.beside_bps() / 1e6,
            row.seeds()
        )?;
    }
    writeln!(text, "\nAdvice: {}.", name(choice))?;
    if !choice.only.is_empty() {
        writeln!(
            text,
            "Other paths share its bottlenecks and bring nothing that it does not take from others: keep them for when it fails"
        )?;
        writeln!(text, "(`ip mptcp endpoint change id ID backup`).")?;
    }
    if !choice.is_fair() {
        writeln!(text, "All candidates harm others here; it does least.")?;
    }
    if let Some(row) = advice.rows.iter().find(|row| current.is_some_and(|current| row.spec == current)) {
        if std::ptr::eq(row, choice) {
            writeln!(text, "It is in use already.")?;
        } else {
            let gain = percent(&choice.gain_over(row));
            writeln!(text, "It brings {gain} % more than {}, which is in use.", name(row))?;
        }
    }
    if !choice.is_coupled {
        if let Some(coupled) = advice.best_coupled() {
            let cost = coupled.gain_over(choice);
            let said = if cost.mean < -braid_advise::ALIKE {
                format!("Coupling would only cost here: {} brings {} %", name(coupled), percent(&cost))
            } else {
                format!(
                    "Coupling would bring nothing worth the change: {} brings {} %",
                    name(coupled),
                    percent(&cost)
                )
            };
            writeln!(text, "{said} against it.")?;
        }
    }
    for note in *notes {
        writeln!(text, "{note}")?;
    }
    Ok(())
}

/// With what chance makes of it.
fn percent(value: &Statistics) -> String {
    let mean = 100.0 * value.mean;
    match value.ci95 {
        Some(half) => format!("{mean:.1} ± {:.1}", 100.0 * half),
        None => format!("{mean:.1}"),
    }
}
