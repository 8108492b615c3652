//! The answer, for people and for programs.

use std::fmt::Write as _;

use braid_report::wrap;
use braid_results::Statistics;
use serde_json::{Value, json};

use super::choice::{LEAST_GAIN, MOST_LOSS, Row, best, choose};

/// Columns of a terminal that the text needs.
const WIDTH: usize = 80;

pub(super) struct Answer {
    /// The network and the connection.
    pub(super) about: String,
    /// Where the baseline sends; the other subflows are for when these fail.
    pub(super) subflows: Vec<String>,
    pub(super) others: Vec<String>,
    pub(super) baseline: Row,
    /// In the order asked for.
    pub(super) candidates: Vec<Row>,
    pub(super) notes: Vec<String>,
}

impl Answer {
    pub(super) fn document(&self) -> Value {
        let statistics = |of: &Statistics| json!({ "mean": of.mean, "ci95": of.interval() });
        let row = |row: &Row| {
            json!({
                "cc": row.spec,
                "alone_bps": statistics(&row.alone),
                "beside_bps": statistics(&row.beside),
                "gain": statistics(&row.gain),
                "loss": row.loss.as_ref().map(statistics),
            })
        };
        json!({
            "about": self.about,
            "baseline": { "subflows": self.subflows, "result": row(&self.baseline) },
            "candidates": self.candidates.iter().map(row).collect::<Vec<_>>(),
            "advice": choose(&self.candidates).map(|row| &row.spec),
            "certain": choose(&self.candidates).map(Row::is_certain),
            "why": self.why(),
            "notes": self.notes,
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes everything");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let choice = choose(&self.candidates).map(|row| &row.spec);
        let rows = std::iter::once(&self.baseline).chain(&self.candidates);
        let width = rows.map(|row| row.spec.chars().count()).max().unwrap_or_default();
        writeln!(text, "{}\n", wrap(&self.about, Some(WIDTH)))?;
        let head = ["alone", "beside", "gain", "loss"].map(|name| format!("{name:>15}")).concat();
        let unit = ["Mbit/s", "Mbit/s", "%", "%"].map(|name| format!("{name:>15}")).concat();
        writeln!(text, "  {:width$}{head}\n  {:width$}{unit}", "", "")?;
        let mut line = |mark: char, row: &Row, gain: &str, loss: &str| {
            let [alone, beside] = [&row.alone, &row.beside].map(|goodput| number(goodput, 1e-6));
            writeln!(text, "{mark} {:width$}{alone:>15}{beside:>15}{gain:>15}{loss:>15}", row.spec)
        };
        line(' ', &self.baseline, "-", "-")?;
        for row in &self.candidates {
            let mark = if choice == Some(&row.spec) { '*' } else { ' ' };
            let loss = row.loss.as_ref().map_or_else(|| "-".to_owned(), |loss| number(loss, 100.0));
            line(mark, row, &number(&row.gain, 100.0), &loss)?;
        }
        writeln!(text, "\n{}", wrap(&self.why(), Some(WIDTH)))?;
        if choose(&self.candidates).is_some_and(|row| !row.is_certain()) {
            writeln!(text, "Chance may have decided this: repeat with more --seeds.")?;
        }
        if choice.is_none() && !self.others.is_empty() {
            let said = format!(
                "Make {} a backup (`ip mptcp endpoint change id ID backup`): it would only take from competitors.",
                self.others.join(", ")
            );
            writeln!(text, "{}", wrap(&said, Some(WIDTH)))?;
        }
        self.notes.iter().try_for_each(|note| writeln!(text, "{}", wrap(note, Some(WIDTH))))
    }

    /// One sentence.
    fn why(&self) -> String {
        let lose =
            |row: &Row| row.loss.as_ref().map(|loss| format!("competitors lose {} %", number(loss, 100.0)));
        if let Some(row) = choose(&self.candidates) {
            let lose = lose(row).map_or_else(String::new, |lose| format!(", and {lose}"));
            return format!("Advice: {}, because it gains {} %{lose}.", row.spec, number(&row.gain, 100.0));
        }
        let keep = format!("Advice: cubic on {}, because", self.subflows.join(", "));
        let Some(row) = best(self.candidates.iter()) else {
            return format!("{keep} nothing else was tried.");
        };
        if row.is_worth_a_change() {
            let fair = best(self.candidates.iter().filter(|row| row.is_fair()));
            let fair = fair.map_or_else(String::new, |fair| {
                format!(", and of the others {} is best with {} %", fair.spec, number(&fair.gain, 100.0))
            });
            let lose = lose(row).unwrap_or_default();
            return format!(
                "{keep} with {} {lose}, more than the {:.0} allowed{fair}.",
                row.spec,
                100.0 * MOST_LOSS
            );
        }
        format!(
            "{keep} no candidate gains {:.0} %; {} is best with {} %.",
            100.0 * LEAST_GAIN,
            row.spec,
            number(&row.gain, 100.0)
        )
    }
}

/// The mean, and half the 95 % interval if the seeds differ, in tenths.
fn number(of: &Statistics, factor: f64) -> String {
    // Not -0.0.
    let mean = (10.0 * of.mean * factor).round() / 10.0 + 0.0;
    of.interval().map_or_else(|| format!("{mean:.1}"), |half| format!("{mean:.1} ± {:.1}", half * factor))
}
