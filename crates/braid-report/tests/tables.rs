//! The printed tables, line by line.

mod common;

use braid_report::{Cell, Style, Table, tables};
use braid_results::{Run, Setup, Summary, summary::summarize};
use braid_scenario::File;
use braid_scenario::model::Scenario;

use common::{run, scenario};

const CCS: [&str; 3] = ["lia", "balia", "cubic:beta=0.8"];

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
        .map(|(file, summaries)| {
            let cells = file.cells.iter().zip(summaries);
            Table::new(&file.title, cells.map(|(scenario, summaries)| Cell { scenario, summaries }).collect())
        })
        .collect();
    tables(&all, Style { width, colour: false })
}

fn shared() -> File {
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b1", "b2"]), ("bg0", &["b1"])];
    scenario("shared", "", &["b1", "b2"], &flows)
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn a_wide_terminal_shows_every_column() {
    let text = drawn(&[shared()], &CCS, 10, None);
    insta::assert_snapshot!("wide", text);
    assert!(!text.contains("Not shown"));
}

#[test]
fn a_narrow_terminal_shows_what_matters_most_and_names_the_rest() {
    let text = drawn(&[shared()], &CCS, 10, Some(80));
    insta::assert_snapshot!("narrow", text);
    assert!(widest(&text) <= 80 && text.contains("Not shown in 80 columns: "));
}

#[test]
fn cells_stand_below_each_other_with_their_parameters() {
    let parameters = "[parameters]\nrate = [\"10mbit\", \"20mbit\"]\ndelay = [\"10ms\", \"20ms\"]";
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b2"]), ("bg0", &["b1"])];
    insta::assert_snapshot!(
        "cells",
        drawn(&[scenario("cells", parameters, &["b1", "b2"], &flows)], &CCS[..2], 3, None)
    );
}

#[test]
fn one_seed_has_no_interval_and_plain_tcp_no_benefit() {
    let flows: [(&str, &[&str]); 2] = [("bg0", &["b1"]), ("bg1", &["b1"])];
    let text = drawn(&[scenario("tcp", "", &["b1"], &flows)], &["reno"], 1, None);
    insta::assert_snapshot!("tcp", text);
    assert!(!text.contains('\u{b1}') && !text.contains("benefit"));
}

#[test]
fn rows_of_several_schedulers_say_whose_they_are() {
    let file = shared();
    let of = |scheduler: &str| Run { scheduler: scheduler.to_owned(), ..run(&file.cells[0], "lia", 1) };
    let summaries = summarize(&[of("minrtt"), of("ecf:beta=0.5")]);
    let cells = vec![Cell { scenario: &file.cells[0], summaries: &summaries }];
    let text = tables(&[Table::new("", cells)], Style::default());
    assert!(text.contains("cc, scheduler"), "{text}");
    for row in ["lia, minrtt", "lia, ecf:beta=0.5"] {
        assert_eq!(text.lines().filter(|line| line.starts_with(row)).count(), 1, "{text}");
    }
}

#[test]
fn many_connections_of_a_kind_share_a_column() {
    let names: Vec<String> = (0..30).map(|number| format!("bg{number}")).collect();
    let mut flows: Vec<(&str, &[&str])> = vec![("mp0", &["b1", "b2"])];
    flows.extend(names.iter().map(|name| (name.as_str(), &["b1"][..])));
    let text = drawn(&[scenario("many", "", &["b1", "b2"], &flows)], &["lia"], 3, None);
    insta::assert_snapshot!("many", text);
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
    let text = tables(&[Table::new("", cells)], Style::default());
    assert!(text.contains("lia        -"), "{text}");
    assert!(text.contains("lia: 1 of 1 runs failed."));
}

#[test]
fn colour_changes_no_letter() {
    let file = shared();
    let summaries = summarize(&[run(&file.cells[0], "lia", 1)]);
    let drawn = |colour| {
        let cells = vec![Cell { scenario: &file.cells[0], summaries: &summaries }];
        tables(&[Table::new("t", cells)], Style { width: Some(90), colour })
    };
    let coloured = drawn(true);
    assert!(coloured.contains("\u{1b}[1mshared\u{1b}[0m"));
    let mut plain = coloured;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, drawn(false));
}
