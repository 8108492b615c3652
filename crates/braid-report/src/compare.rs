//! Comparisons of the simulator with the lab and the QUIC stack: a row for each subflow and shared link.

use std::fmt::Write as _;

use braid_results::compare::{
    Comparison, Difference, JAIN_TARGET, Other, Parting, Quantity, RTT_TARGET, THROUGHPUT_TARGET,
    parting_rule,
};

use crate::Style;
use crate::figure::number;
use crate::layout::{Grid, bold, dim, wrap};

/// With one other backend than the simulator all differences are shown; with two, three for each.
fn headings(others: &[Other]) -> Vec<[&'static str; 3]> {
    let mut all = vec![["", "", "cc"], ["", "", "flow, link"]];
    let groups =
        [("rate", "Mbit/s", "Mbit/s"), ("RTT", "ms", "%"), ("retrans", "packets", ""), ("Jain", "", "")];
    for (group, unit, of_difference) in groups {
        all.push([group, "sim", unit]);
        all.extend(others.iter().map(|other| [group, other.name(), unit]));
        if let ([other], false) = (others, of_difference.is_empty()) {
            let difference = match other {
                Other::Lab => "sim - lab",
                Other::Quic => "sim - quic",
            };
            all.push([group, difference, of_difference]);
        }
    }
    all.push(["", "", "outside"]);
    all
}

/// Tables for a terminal, one for each cell.
pub fn text(comparisons: &[Comparison], style: Style) -> String {
    let mut out = String::new();
    for cell in comparisons.chunk_by(same_cell) {
        let table = grid(cell, |heading| heading.join("\n")).draw(1, style);
        let (title, about) = (bold(&title(&cell[0]), style), dim(&circumstances(cell), style));
        let _ = writeln!(out, "{title}\n{about}\n{table}\n\n{}", remarks(cell, ""));
    }
    let legend = dim(&wrap(&legend(comparisons), style.width), style);
    let _ = writeln!(out, "{}\n{legend}", score(comparisons));
    out
}

/// The same as Markdown.
pub fn markdown(comparisons: &[Comparison]) -> String {
    let mut out = String::new();
    for cell in comparisons.chunk_by(same_cell) {
        let words = |heading: [&str; 3]| heading.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let (title, about, table) = (title(&cell[0]), circumstances(cell), grid(cell, words).pipes());
        let _ = writeln!(out, "### {title}\n\n{about}\n\n{table}\n{}", remarks(cell, "- "));
    }
    let _ = writeln!(out, "{}\n\n{}", score(comparisons), legend(comparisons));
    out
}

fn grid(cell: &[Comparison], head: impl Fn([&'static str; 3]) -> String) -> Grid {
    let mut grid = Grid::new(headings(&others(cell)).into_iter().map(head), rows(cell), 2);
    // What is outside is text, too.
    grid.numbers.pop();
    grid.numbers.push(false);
    grid
}

/// Where they part and what is doubtful, a line each.
fn remarks(cell: &[Comparison], before: &str) -> String {
    let mut out = String::new();
    for comparison in cell {
        let subject = subject(cell, comparison);
        let _ = writeln!(out, "{before}{subject}: {}.", parts(comparison));
        for doubt in &comparison.doubts {
            let _ = writeln!(out, "{before}{subject}: doubtful: {doubt}.");
        }
    }
    out
}

fn same_cell(a: &Comparison, b: &Comparison) -> bool {
    (&a.scenario, &a.params) == (&b.scenario, &b.params)
}

fn title(comparison: &Comparison) -> String {
    let parameters = comparison.params.iter().map(|(name, value)| format!(" {name} {value}"));
    format!("{}{}", comparison.scenario, parameters.collect::<String>())
}

/// The backends other than the simulator, each once.
fn others(comparisons: &[Comparison]) -> Vec<Other> {
    let mut all: Vec<Other> = Vec::new();
    for comparison in comparisons {
        if !all.contains(&comparison.backend) {
            all.push(comparison.backend);
        }
    }
    all
}

/// Subject of a line.
fn subject(cell: &[Comparison], comparison: &Comparison) -> String {
    match others(cell)[..] {
        [_] => comparison.cc.clone(),
        _ => format!("{}, {}", comparison.cc, comparison.backend.name()),
    }
}

fn circumstances(cell: &[Comparison]) -> String {
    let first = &cell[0];
    let [from, to] = first.measured_s;
    let runs = |n: usize| if n == 1 { "1 seed".to_owned() } else { format!("{n} seeds") };
    let of = |other: &Other| {
        let own = cell.iter().find(|comparison| comparison.backend == *other);
        format!(", {} in {}", runs(own.map_or(0, |own| own.other_runs.value)), other.noun())
    };
    format!(
        "{} s, measured from {from} s to {to} s; {} in the simulator{}",
        first.duration_s,
        runs(first.sim_runs),
        others(cell).iter().map(of).collect::<String>()
    )
}

fn rows(cell: &[Comparison]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    // The comparisons of one congestion control, one for each backend other than the simulator.
    for of_cc in cell.chunk_by(|a, b| a.cc == b.cc) {
        let mut whose: Vec<&str> = of_cc[0].differences.iter().map(|own| own.who.as_str()).collect();
        whose.dedup();
        for who in whose {
            rows.push(row(of_cc, who));
        }
    }
    rows
}

fn row(of_cc: &[Comparison], who: &str) -> Vec<String> {
    const QUANTITIES: [(Quantity, &str); 4] = [
        (Quantity::Throughput, "rate"),
        (Quantity::Rtt, "RTT"),
        (Quantity::Retransmissions, "retrans"),
        (Quantity::Jain, "Jain"),
    ];
    let mut row = vec![of_cc[0].cc.clone(), who.to_owned()];
    let mut outside: Vec<String> = Vec::new();
    for (what, name) in QUANTITIES {
        let of = |comparison: &Comparison| {
            comparison.differences.iter().find(|own| own.who == who && own.what == what).cloned()
        };
        let each: Vec<Option<Difference>> = of_cc.iter().map(of).collect();
        let text = |value: f64| match what {
            Quantity::Throughput => number(value / 1e6, 2),
            Quantity::Rtt => number(value, 1),
            Quantity::Retransmissions => number(value, 0),
            Quantity::Jain => number(value, 3),
        };
        let shown = |value: Option<f64>| value.map_or_else(String::new, text);
        row.push(shown(each.iter().flatten().next().map(|own| own.sim)));
        row.extend(each.iter().map(|own| shown(own.as_ref().map(|own| own.other.value))));
        if let ([own], Quantity::Throughput | Quantity::Rtt) = (&each[..], what) {
            row.push(own.as_ref().map_or_else(String::new, |own| difference(own, what)));
        }
        for (own, comparison) in each.iter().zip(of_cc) {
            if own.as_ref().is_some_and(|own| !own.within) {
                let backend =
                    if of_cc.len() > 1 { format!("{} ", comparison.backend.name()) } else { String::new() };
                outside.push(format!("{backend}{name}"));
            }
        }
    }
    row.push(outside.join(", "));
    row
}

/// The difference, and its interval if there is one.
fn difference(own: &Difference, what: Quantity) -> String {
    let text = |value: f64| match what {
        Quantity::Rtt => number(100.0 * value / own.other.value, 0),
        _ => number(value / 1e6, 2),
    };
    match own.interval {
        Some(half) => format!("{} \u{b1} {}", text(own.difference), text(half)),
        None => text(own.difference),
    }
}

fn parts(comparison: &Comparison) -> String {
    match &comparison.parting {
        None if comparison.other_runs.value == 0 => {
            format!("no run of {} succeeded", comparison.backend.noun())
        }
        None => "no point where they part".to_owned(),
        Some(Parting { time_s, seed, who, what, other, sim_low, sim_high }) => {
            let unit = match *what {
                "rtt" => "ms",
                "rate" => "Mbit/s",
                _ => "packets",
            };
            format!(
                "part at {time_s:.1} s ({}'s seed {seed}): {what} of {who} is {} {unit} in {}, {} to {} in the simulator",
                comparison.backend.name(),
                number(other.value, 1),
                comparison.backend.noun(),
                number(*sim_low, 1),
                number(*sim_high, 1)
            )
        }
    }
}

/// Number of figures within their targets.
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

fn legend(comparisons: &[Comparison]) -> String {
    let what = |other: &Other| match other {
        Other::Lab => " lab: MPTCP of a Linux kernel, in a virtual machine.",
        Other::Quic => " quic: multipath QUIC, the stack noq, over the simulator's links.",
    };
    let stacks: String = others(comparisons).iter().map(what).collect();
    format!(
        "rate: IP bytes of a subflow. RTT: mean of the smoothed RTT. \u{b1}: half the 95 % confidence interval of the difference. Targets: rate \
         within {:.0} % of the slowest link's or that interval, RTT within {:.0} % of the other's, Jain's index within \
         {JAIN_TARGET}; outside: what misses them. They part where {}. sim: TCP and MPTCP of the simulator.{stacks}",
        100.0 * THROUGHPUT_TARGET,
        100.0 * RTT_TARGET,
        parting_rule()
    )
}

#[cfg(test)]
mod tests {
    use braid_results::compare::Keyed;

    use super::*;

    fn comparison(backend: Other, value: f64, within: bool) -> Comparison {
        let difference = Difference {
            figure: "connections.mp0.subflows.a.throughput_bps".into(),
            who: "mp0 a".into(),
            what: Quantity::Throughput,
            sim: 9e6,
            other: Keyed { key: backend.name(), value },
            difference: 9e6 - value,
            interval: None,
            allowed: Some(1e6),
            within,
        };
        Comparison {
            scenario: "s".into(),
            cc: "lia".into(),
            params: [].into_iter().collect(),
            backend,
            duration_s: 10.0,
            measured_s: [1.0, 10.0],
            sim_runs: 3,
            other_runs: Keyed { key: "runs", value: 1 },
            doubts: Vec::new(),
            differences: vec![difference],
            parting: None,
        }
    }

    #[test]
    fn three_stacks_stand_in_one_row_and_each_has_its_line_below() {
        let both = [comparison(Other::Lab, 8.9e6, true), comparison(Other::Quic, 7.5e6, false)];
        let table = markdown(&both);
        assert!(
            table.contains("| cc | flow, link | rate sim Mbit/s | rate lab Mbit/s | rate quic Mbit/s |"),
            "{table}"
        );
        assert!(table.contains("| lia | mp0 a | 9.00 | 8.90 | 7.50 |"), "{table}");
        assert!(table.contains("| quic rate |"), "what is outside says where: {table}");
        assert!(table.contains("- lia, quic: no point where they part."), "{table}");
        assert!(
            table.contains("3 seeds in the simulator, 1 seed in the lab, 1 seed in the QUIC stack"),
            "{table}"
        );
    }

    #[test]
    fn one_beside_the_simulator_is_shown_with_the_difference() {
        let table = markdown(&[comparison(Other::Quic, 7.5e6, false)]);
        assert!(table.contains("rate sim - quic Mbit/s") && table.contains("| 7.50 | 1.50 |"), "{table}");
        assert!(table.contains("- lia: no point where they part."), "{table}");
    }
}
