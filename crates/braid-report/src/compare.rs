//! Comparisons of the simulator with the lab: a row for each subflow and shared link.

use std::fmt::Write as _;

use braid_results::compare::{
    Comparison, Difference, JAIN_TARGET, Parting, Quantity, RTT_TARGET, THROUGHPUT_TARGET, parting_rule,
};

use crate::column::Column;
use crate::figure::number;
use crate::{Style, layout};

const HEADINGS: [[&str; 3]; 13] = [
    ["", "", "cc"],
    ["", "", "flow, link"],
    ["rate", "sim", "Mbit/s"],
    ["rate", "lab", "Mbit/s"],
    ["rate", "sim - lab", "Mbit/s"],
    ["RTT", "sim", "ms"],
    ["RTT", "lab", "ms"],
    ["RTT", "sim - lab", "%"],
    ["retrans", "sim", "packets"],
    ["retrans", "lab", "packets"],
    ["Jain", "sim", ""],
    ["Jain", "lab", ""],
    ["", "", "outside"],
];

/// Tables for a terminal, one for each cell.
pub fn text(comparisons: &[Comparison], style: Style) -> String {
    let mut out = String::new();
    for cell in comparisons.chunk_by(same_cell) {
        let _ = writeln!(out, "{}", layout::bold(&title(&cell[0]), style));
        let _ = writeln!(out, "{}", layout::dim(&circumstances(&cell[0]), style));
        let mut columns: Vec<Column> = HEADINGS
            .iter()
            .enumerate()
            .map(|(at, heading)| Column {
                heading: heading.map(str::to_owned),
                cells: Vec::new(),
                rank: 0,
                number: at > 1 && at + 1 < HEADINGS.len(),
            })
            .collect();
        for row in rows(cell) {
            columns.iter_mut().zip(row).for_each(|(column, text)| column.cells.push(text));
        }
        let shown: Vec<&Column> = columns.iter().collect();
        let _ = writeln!(out, "{}\n", layout::draw(&shown, style));
        for comparison in cell {
            let _ = writeln!(out, "{}: {}.", comparison.cc, parts(comparison));
            for doubt in &comparison.doubts {
                let _ = writeln!(out, "{}: doubtful: {doubt}.", comparison.cc);
            }
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}", score(comparisons));
    let _ = writeln!(out, "{}", layout::dim(&layout::wrap(&legend(), style.width), style));
    out
}

/// The same as Markdown.
pub fn markdown(comparisons: &[Comparison]) -> String {
    let mut out = String::new();
    for cell in comparisons.chunk_by(same_cell) {
        let _ = writeln!(out, "### {}\n\n{}\n", title(&cell[0]), circumstances(&cell[0]));
        let headings = HEADINGS.map(|heading| {
            let words: Vec<&str> = heading.into_iter().filter(|word| !word.is_empty()).collect();
            words.join(" ")
        });
        let _ = writeln!(out, "| {} |", headings.join(" | "));
        let _ = writeln!(out, "|---|---|{}---|", "--:|".repeat(HEADINGS.len() - 3));
        for row in rows(cell) {
            let _ = writeln!(out, "| {} |", row.join(" | "));
        }
        out.push('\n');
        for comparison in cell {
            let _ = writeln!(out, "- {}: {}.", comparison.cc, parts(comparison));
            for doubt in &comparison.doubts {
                let _ = writeln!(out, "- {}: doubtful: {doubt}.", comparison.cc);
            }
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}\n\n{}", score(comparisons), legend());
    out
}

fn same_cell(a: &Comparison, b: &Comparison) -> bool {
    (&a.scenario, &a.params) == (&b.scenario, &b.params)
}

fn title(comparison: &Comparison) -> String {
    let parameters = comparison.params.iter().map(|(name, value)| format!(" {name} {value}"));
    format!("{}{}", comparison.scenario, parameters.collect::<String>())
}

fn circumstances(comparison: &Comparison) -> String {
    let [from, to] = comparison.measured_s;
    let runs = |n: usize| if n == 1 { "1 seed".to_owned() } else { format!("{n} seeds") };
    format!(
        "{} s, measured from {from} s to {to} s; {} in the simulator, {} in the lab",
        comparison.duration_s,
        runs(comparison.sim_runs),
        runs(comparison.lab_runs)
    )
}

fn rows(cell: &[Comparison]) -> Vec<[String; 13]> {
    let mut rows = Vec::new();
    for comparison in cell {
        let all = &comparison.differences;
        let mut whose: Vec<&str> = all.iter().map(|own| own.who.as_str()).collect();
        whose.dedup();
        for who in whose {
            let of = |what| all.iter().find(|own| own.who == who && own.what == what);
            let [rate, rtt, retransmissions, jain] =
                [Quantity::Throughput, Quantity::Rtt, Quantity::Retransmissions, Quantity::Jain].map(of);
            let value = |own: Option<&Difference>, of: &dyn Fn(&Difference) -> String| {
                own.map_or_else(String::new, of)
            };
            let mbit = |bps: f64| number(bps / 1e6, 2);
            let outside = [(rate, "rate"), (rtt, "RTT"), (jain, "Jain")];
            let outside: Vec<&str> = outside
                .iter()
                .filter_map(|(own, name)| own.filter(|own| !own.within).map(|_| *name))
                .collect();
            rows.push([
                comparison.cc.clone(),
                who.to_owned(),
                value(rate, &|own| mbit(own.sim)),
                value(rate, &|own| mbit(own.lab)),
                value(rate, &|own| match own.interval {
                    Some(half) => format!("{} \u{b1} {}", mbit(own.difference), mbit(half)),
                    None => mbit(own.difference),
                }),
                value(rtt, &|own| number(own.sim, 1)),
                value(rtt, &|own| number(own.lab, 1)),
                value(rtt, &|own| {
                    let percent = |value: f64| number(100.0 * value / own.lab, 0);
                    match own.interval {
                        Some(half) => format!("{} \u{b1} {}", percent(own.difference), percent(half)),
                        None => percent(own.difference),
                    }
                }),
                value(retransmissions, &|own| number(own.sim, 0)),
                value(retransmissions, &|own| number(own.lab, 0)),
                value(jain, &|own| number(own.sim, 3)),
                value(jain, &|own| number(own.lab, 3)),
                outside.join(", "),
            ]);
        }
    }
    rows
}

fn parts(comparison: &Comparison) -> String {
    match &comparison.parting {
        None if comparison.lab_runs == 0 => "no run of the lab succeeded".to_owned(),
        None => "no point where they part".to_owned(),
        Some(Parting { time_s, seed, who, what, lab, sim_low, sim_high }) => {
            let unit = match *what {
                "rtt" => "ms",
                "rate" => "Mbit/s",
                _ => "packets",
            };
            format!(
                "part at {time_s:.1} s (lab's seed {seed}): {what} of {who} is {} {unit} in the lab, {} to {} in the simulator",
                number(*lab, 1),
                number(*sim_low, 1),
                number(*sim_high, 1)
            )
        }
    }
}

/// How many figures are within their targets.
fn score(comparisons: &[Comparison]) -> String {
    let count = |what: Quantity| {
        let own = || comparisons.iter().flat_map(|c| &c.differences).filter(|own| own.what == what);
        (own().filter(|own| own.within).count(), own().count())
    };
    let share = |name: &str, what| {
        let (within, all) = count(what);
        format!("{name} {within} of {all} ({} %)", number(100.0 * within as f64 / all.max(1) as f64, 1))
    };
    format!(
        "Within the targets: {}, {}, {}.",
        share("rate", Quantity::Throughput),
        share("RTT", Quantity::Rtt),
        share("Jain", Quantity::Jain)
    )
}

fn legend() -> String {
    format!(
        "rate: IP bytes of a subflow. RTT: mean of the smoothed RTT. \u{b1}: half the 95 % confidence interval of the difference. Targets: rate \
         within {:.0} % of the slowest link's or that interval, RTT within {:.0} % of the lab's, Jain's index within \
         {JAIN_TARGET}; outside: what misses them. They part where {}.",
        100.0 * THROUGHPUT_TARGET,
        100.0 * RTT_TARGET,
        parting_rule()
    )
}
