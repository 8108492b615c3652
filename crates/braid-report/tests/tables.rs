//! What people see, line for line.
//!
//! After an intended change of the tables: `UPDATE_GOLDEN=1 cargo test -p braid-report`, and look at the difference.

use std::fmt::Write as _;

use braid_report::{Cell, Style, Table, tables};
use braid_results::measure::{ConnectionCounts, LinkCounts, Measurements, SubflowCounts};
use braid_results::{Run, Setup, Summary, summary::summarize};
use braid_scenario::model::Scenario;
use braid_scenario::{File, Source, load};

const CCS: [&str; 3] = ["lia", "balia", "cubic:beta=0.8"];

/// A scenario with 10 Mbit/s links, or those of `parameters`; each connection is its name and the links of its
/// subflows.
fn scenario(name: &str, parameters: &str, links: &[&str], connections: &[(&str, &[&str])]) -> File {
    let mut text = format!("title = \"made by hand\"\nduration = \"100s\"\n{parameters}\n");
    let (rate, delay) = if parameters.is_empty() { ("10mbit", "10ms") } else { ("$rate", "$delay") };
    for link in links {
        let _ = writeln!(text, "[link.{link}]\nrate = {rate:?}\ndelay = {delay:?}\nqueue = \"100p\"");
    }
    for (name, routes) in connections {
        let _ = writeln!(text, "[connection.{name}]");
        if name.starts_with("mp") {
            let _ = writeln!(text, "kind = \"mptcp\"");
            for (index, link) in routes.iter().enumerate() {
                let _ = writeln!(text, "[connection.{name}.subflow.sf{}]\nroute = [\"{link}\"]", index + 1);
            }
        } else {
            let _ = writeln!(text, "kind = \"tcp\"\ncc = \"reno\"\nroute = [\"{}\"]", routes[0]);
        }
    }
    load(&Source { name: name.to_owned(), text }, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Every flow gets its part of the bottleneck, less by a few percent that depend on seed and algorithm.
fn run(scenario: &Scenario, cc: &str, seed: u64) -> Run {
    let setup = Setup { scenario, backend: "sim", cc, scheduler: "minrtt", seed };
    if cc == "balia" && seed == 4 {
        return setup.failed("panic: unlucky");
    }
    let flows = || scenario.connections.iter().flat_map(|connection| &connection.subflows);
    let mut number = 0;
    let mut subflow = |link: usize| {
        number += 1;
        let crossing = flows().filter(|flow| flow.route[0] == link).count() as u64;
        let percent = 100 - (seed * 7 + cc.len() as u64 * 13 + number * 5) % 11;
        SubflowCounts {
            active_ns: scenario.duration_ns,
            received_bytes: scenario.links[link].forward.rate_bps / 8 * percent / crossing,
            retransmissions: 10 * percent,
            rtt_sum_us: 30_000 * percent,
            rtt_samples: 100,
            cwnd_integral: 20 * u128::from(scenario.duration_ns),
            ..SubflowCounts::default()
        }
    };
    let connections = scenario.connections.iter().map(|connection| {
        let subflows: Vec<_> = connection.subflows.iter().map(|flow| subflow(flow.route[0])).collect();
        ConnectionCounts {
            active_ns: scenario.duration_ns,
            goodput_bytes: subflows.iter().map(|flow| flow.received_bytes * 1420 / 1500).sum(),
            reinjections: 0,
            subflows,
        }
    });
    setup.measured(&Measurements {
        measured_ns: scenario.duration_ns,
        connections: connections.collect(),
        links: vec![LinkCounts::default(); scenario.links.len()],
        ..Measurements::default()
    })
}

fn drawn(files: &[File], ccs: &[&str], seeds: u64, width: Option<usize>) -> String {
    let summaries: Vec<Vec<Vec<Summary>>> = files
        .iter()
        .map(|file| {
            let of_cell = |cell: &Scenario| {
                let runs = ccs.iter().flat_map(|cc| (1..=seeds).map(|seed| run(cell, cc, seed)));
                summarize(&runs.collect::<Vec<_>>())
            };
            file.cells.iter().map(of_cell).collect()
        })
        .collect();
    let all: Vec<Table> = files
        .iter()
        .zip(&summaries)
        .map(|(file, summaries)| Table {
            title: &file.title,
            cells: file
                .cells
                .iter()
                .zip(summaries)
                .map(|(scenario, summaries)| Cell { scenario, summaries })
                .collect(),
        })
        .collect();
    tables(&all, Style { width, colour: false })
}

fn shared() -> File {
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b1", "b2"]), ("bg0", &["b1"])];
    scenario("shared", "", &["b1", "b2"], &flows)
}

fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(text == expected, "{name} changed to\n{text}\nif that is intended, see the top of this file");
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn a_wide_terminal_shows_every_column() {
    let text = drawn(&[shared()], &CCS, 10, None);
    golden("wide", &text);
    assert!(!text.contains("Not shown"));
}

#[test]
fn a_narrow_terminal_shows_what_matters_most_and_names_the_rest() {
    let text = drawn(&[shared()], &CCS, 10, Some(80));
    golden("narrow", &text);
    assert!(widest(&text) <= 80 && text.contains("Not shown in 80 columns: "));
}

#[test]
fn cells_stand_below_each_other_with_their_parameters() {
    let parameters = "[parameters]\nrate = [\"10mbit\", \"20mbit\"]\ndelay = [\"10ms\", \"20ms\"]";
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b2"]), ("bg0", &["b1"])];
    golden("cells", &drawn(&[scenario("cells", parameters, &["b1", "b2"], &flows)], &CCS[..2], 3, None));
}

#[test]
fn one_seed_has_no_interval_and_plain_tcp_no_benefit() {
    let flows: [(&str, &[&str]); 2] = [("bg0", &["b1"]), ("bg1", &["b1"])];
    let text = drawn(&[scenario("tcp", "", &["b1"], &flows)], &["reno"], 1, None);
    golden("tcp", &text);
    assert!(!text.contains('\u{b1}') && !text.contains("benefit"));
}

#[test]
fn many_connections_of_a_kind_share_a_column() {
    let names: Vec<String> = (0..30).map(|number| format!("bg{number}")).collect();
    let mut flows: Vec<(&str, &[&str])> = vec![("mp0", &["b1", "b2"])];
    flows.extend(names.iter().map(|name| (name.as_str(), &["b1"][..])));
    let text = drawn(&[scenario("many", "", &["b1", "b2"], &flows)], &["lia"], 3, None);
    golden("many", &text);
    assert!(text.contains("30 flows") && widest(&text) < 130);
}

#[test]
fn failed_runs_are_counted_and_a_row_without_results_is_empty() {
    let some = drawn(&[shared()], &["balia"], 4, None);
    assert!(some.contains("balia: 1 of 4 runs failed."));
    let scenario = shared();
    let setup =
        Setup { scenario: &scenario.cells[0], backend: "sim", cc: "lia", scheduler: "minrtt", seed: 1 };
    let summaries = summarize(&[setup.failed("no")]);
    let cells = vec![Cell { scenario: &scenario.cells[0], summaries: &summaries }];
    let text = tables(&[Table { title: "", cells }], Style::default());
    assert!(text.contains("lia        -"), "{text}");
    assert!(text.contains("lia: 1 of 1 runs failed."));
}

#[test]
fn colour_changes_no_letter() {
    let file = shared();
    let summaries = summarize(&[run(&file.cells[0], "lia", 1)]);
    let drawn = |colour| {
        let cells = vec![Cell { scenario: &file.cells[0], summaries: &summaries }];
        tables(&[Table { title: "t", cells }], Style { width: Some(90), colour })
    };
    let coloured = drawn(true);
    assert!(coloured.contains("\u{1b}[1mshared\u{1b}[0m"));
    let mut plain = coloured;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, drawn(false));
}
