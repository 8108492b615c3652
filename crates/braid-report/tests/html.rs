//! The HTML report as text. `browser.py` tests it in a browser.

mod common;

use braid_report::html::{Curves, Event, MARK, Part, Report, Selection, Series, html};
use braid_report::{Cell, Table};
use braid_results::measure::{
    ConnectionCounts, LinkCounts, LinkSample, Measurements, SAMPLE_INTERVAL_NS, SubflowCounts, SubflowSample,
};
use braid_results::{Run, Summary, summary::summarize};
use braid_scenario::File;
use braid_scenario::model::Scenario;
use serde_json::Value;

use common::{run, scenario};

const CCS: [&str; 3] = ["lia", "balia", "cubic:beta=0.8"];

/// A report of handmade scenarios, with every kind of event.
fn page(files: &[File], ccs: &[&str], seeds: u64) -> String {
    let made: Vec<(Vec<Run>, Vec<Vec<Summary>>, Curves)> = files
        .iter()
        .map(|file| {
            let of_cell = |cell: &Scenario| -> Vec<Run> {
                ccs.iter().flat_map(|cc| (1..=seeds).map(|seed| run(cell, cc, seed))).collect()
            };
            let runs: Vec<Vec<Run>> = file.cells.iter().map(of_cell).collect();
            let summaries = runs.iter().map(|runs| summarize(runs)).collect();
            let selection = Selection::new(file.cells.iter(), 1);
            (runs.concat(), summaries, selection.curves(&file.cells[0], &sampled(&file.cells[0])))
        })
        .collect();
    let mut parts = Vec::new();
    for (file, (runs, summaries, curves)) in files.iter().zip(&made) {
        let cells = file.cells.iter().zip(summaries);
        parts.push(Part {
            table: Table::new(
                &file.title,
                cells.map(|(scenario, summaries)| Cell { scenario, summaries }).collect(),
            ),
            story: &file.story,
            numbers: "links and flows".to_owned(),
            events: vec![vec![event()]; file.cells.len()],
            runs,
            series: vec![Series { run: 0, curves }],
        });
    }
    html(&Report {
        version: "1.2.3",
        command: "braid run it --report report.html",
        algorithms: ccs.iter().map(|cc| ((*cc).to_owned(), "an algorithm".to_owned())).collect(),
        parts,
    })
}

fn event() -> Event {
    Event { from_ns: 2_000_000_000, to_ns: Some(3_000_000_000), what: "b1 </script> down".to_owned() }
}

/// cwnd is the sample's number; the queue has 7 packets.
fn sampled(scenario: &Scenario) -> Measurements {
    let times = || (0..=scenario.duration_ns).step_by(SAMPLE_INTERVAL_NS as usize);
    let sample = |(cwnd, time_ns)| SubflowSample { time_ns, cwnd, ..SubflowSample::default() };
    let subflow =
        || SubflowCounts { samples: (0..).zip(times()).map(sample).collect(), ..SubflowCounts::default() };
    let queue = |time_ns| LinkSample { time_ns, queue_packets: 7, drops_queue: 0 };
    Measurements {
        connections: scenario
            .connections
            .iter()
            .map(|connection| ConnectionCounts {
                subflows: connection.subflows.iter().map(|_| subflow()).collect(),
                ..ConnectionCounts::default()
            })
            .collect(),
        links: scenario
            .links
            .iter()
            .map(|_| LinkCounts { samples: times().map(queue).collect(), ..LinkCounts::default() })
            .collect(),
        ..Measurements::default()
    }
}

fn shared(name: &str) -> File {
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b1", "b2"]), ("bg0", &["b1"])];
    scenario(name, "", &["b1", "b2"], &flows)
}

/// The data of the charts.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The page without style, data and scripts, one block per line.
fn body(page: &str) -> String {
    let (_, rest) = page.split_once("<body>").unwrap();
    let mut body = rest.split_once("<script").unwrap().0.to_owned();
    for tag in
        ["div", "dl", "figure", "h1", "h2", "h3", "header", "li", "main", "p", "section", "thead", "tr", "ul"]
    {
        for end in [format!("</{tag}>"), format!("<{tag}>")] {
            body = body.replace(&end, &format!("{end}\n"));
        }
    }
    body
}

#[test]
fn the_page_says_what_was_run_and_what_came_out() {
    insta::assert_snapshot!("report", body(&page(&[shared("shared")], &CCS, 5)));
}

#[test]
fn cells_share_findings_and_stand_below_each_other() {
    let parameters = "[parameters]\nrate = [\"10mbit\", \"20mbit\"]\ndelay = [\"10ms\", \"20ms\"]";
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b2"]), ("bg0", &["b1"])];
    insta::assert_snapshot!(
        "cells",
        body(&page(&[scenario("cells", parameters, &["b1", "b2"], &flows)], &CCS[..2], 3))
    );
}

#[test]
fn equal_reports_are_equal_bytes() {
    let once = || page(&[shared("shared"), shared("again")], &CCS, 4);
    assert_eq!(once(), once());
}

#[test]
fn text_from_a_scenario_stays_text() {
    let name = "</script><script>alert(1)</script><!--<script>.toml";
    let page = page(&[shared(name), shared("other")], &CCS, 2);
    assert_eq!(data(&page)["parts"][0]["name"], name);
    assert_eq!(data(&page)["parts"][0]["cells"][0]["events"][0]["what"], event().what);
    assert!(!page.contains("<script>alert"), "only the program's own scripts are elements");
    // Its data, the charting library and Braid's script; the library contains no such text.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
}

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let page = page(&[shared("shared")], &CCS, 2);
    let body = body(&page);
    for word in ["src=", "href=\"http", "<link", "<iframe", "<img", "@import", "url("] {
        assert!(!body.contains(word), "{word}");
        assert!(!page.split_once("</style>").unwrap().0.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_report_is_known_by_its_beginning() {
    assert!(page(&[shared("shared")], &CCS, 1).find(MARK).is_some_and(|at| at < 100));
}

#[test]
fn the_charts_have_every_figure_over_the_seeds_and_the_series_that_were_kept() {
    let page = page(&[shared("shared")], &CCS, 5);
    let part = &data(&page)["parts"][0];
    assert_eq!(part["ccs"], serde_json::json!(CCS));
    assert_eq!(part["subflows"], serde_json::json!(["mp0 sf1", "mp0 sf2", "mp0 sf3", "bg0"]));
    let goodput = &part["figures"][0];
    assert_eq!((&goodput["title"], &goodput["unit"]), (&"mp0 goodput".into(), &"Mbit/s".into()));
    // The fourth run of balia failed.
    let runs: Vec<_> = (0..3).map(|cc| goodput["boxes"][0][cc]["n"].as_u64().unwrap()).collect();
    assert_eq!(runs, [5, 4, 5]);
    let five: Vec<f64> =
        goodput["boxes"][0][0]["five"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert!(five.is_sorted() && five[0] < five[4], "{five:?}");

    assert_eq!(part["runs"].as_array().unwrap().len(), 1);
    let series = &part["runs"][0];
    assert_eq!((&series["cell"], &series["cc"], &series["seed"]), (&0.into(), &0.into(), &1.into()));
    // 100 s are 1001 samples, few enough to store all.
    assert_eq!(series["per_bucket"], 1);
    let cwnd: Vec<u64> = series["cwnd"][3].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
    assert_eq!(cwnd, (0..=1000).collect::<Vec<_>>());
    assert!(series["queue"][0].as_array().unwrap().iter().all(|v| v == 7));
}

#[test]
fn a_page_stays_small_however_much_was_run() {
    let parameters = "[parameters]\nrate = [\"10mbit\", \"20mbit\"]\ndelay = [\"10ms\"]";
    let flows: [(&str, &[&str]); 2] = [("mp0", &["b1", "b2"]), ("bg0", &["b1"])];
    let file = scenario("cells", parameters, &["b1", "b2"], &flows);
    let long = Scenario { duration_ns: 3_600_000_000_000, ..file.cells[0].clone() };
    let counts = sampled(&long);
    for (groups, seeds) in [(1, 1), (3, 100), (36, 30), (1000, 10)] {
        let selection = Selection::new(std::iter::repeat_n(&long, groups), seeds);
        let taken = (0..groups).map(|group| (0..seeds).filter(|&seed| selection.takes(group, seed)).count());
        let taken: usize = taken.sum();
        assert!(selection.takes(0, 0));
        let one = serde_json::to_string(&selection.curves(&long, &counts)).unwrap().len();
        assert!(taken * one < 4_000_000, "{groups} groups, {seeds} seeds: {taken} series of {one} bytes");
    }
}

#[test]
fn thinning_loses_no_peak() {
    let file = shared("shared");
    let long = Scenario { duration_ns: 3_600_000_000_000, ..file.cells[0].clone() };
    let mut counts = sampled(&long);
    for sample in &mut counts.connections[0].subflows[0].samples {
        sample.cwnd = if sample.time_ns == 1_234_500_000_000 { 999 } else { 10 };
    }
    let curves = Selection::new([&long].into_iter(), 1).curves(&long, &counts);
    let curves = serde_json::to_value(&curves).unwrap();
    assert!(curves["per_bucket"].as_u64().unwrap() > 1);
    let cwnd = curves["cwnd"][0].as_array().unwrap();
    assert!(cwnd.len() < 2000, "{}", cwnd.len());
    assert_eq!(cwnd.iter().filter(|v| **v == 999).count(), 1);
}
