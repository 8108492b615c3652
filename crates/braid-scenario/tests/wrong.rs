//! Invalid input and its error message: `snapshots/wrong__*.snap` is the manual of messages.

use std::fmt::Write as _;

use braid_scenario::{Source, load};

/// A valid scenario, which the cases break.
pub(crate) const GOOD: &str = r#"title = "Two paths"
duration = "60s"
warmup = "5s"
cc = ["lia", "olia"]

[parameters]
bandwidth = ["10mbit", "20mbit"]
paths = [{ near = "5ms", far = "10ms" }, { near = "5ms", far = "50ms" }]

[link.access]
rate = "100mbit"
delay = "1ms"
queue = "1000p"
private = true

[link.b1]
rate = "$bandwidth"
delay = "$near"
queue = "100p"
loss = "0.1%"
outages = ["10s..20s", "30s..40s"]

[link.b2]
rate = "5mbit"
delay = "$far"
queue = "64kB"

[link.b2.reverse]
rate = "1mbit"

[connection.mp0]
kind = "mptcp"

[connection.mp0.subflow.sf1]
route = ["access", "b1", "access"]

[connection.mp0.subflow.sf2]
route = ["access", "b2", "access"]
join-delay = "50ms"

[connection.tcp0]
kind = "tcp"
cc = "cubic"
start = "10s"
stop = "50s"
route = ["access", "b1", "access"]
"#;

fn message(text: &str, set: &[&str]) -> String {
    let source = Source { name: "x.toml".to_owned(), text: text.to_owned() };
    let set: Vec<String> = set.iter().map(|&s| s.to_owned()).collect();
    match load(&source, &set) {
        Ok(_) => panic!("accepted:\n{text}\n{set:?}"),
        Err(error) => error.to_string(),
    }
}

/// What is wrong, a part of the valid scenario, and what replaces it.
pub(crate) fn files() -> impl Iterator<Item = [String; 3]> {
    let cases = include_str!("wrong.tsv").lines().filter(|line| !line.starts_with('#'));
    cases.map(|case| {
        let columns = case.split('\t').map(|column| column.replace('⏎', "\n")).collect::<Vec<_>>();
        columns.try_into().unwrap_or_else(|_| panic!("three columns: {case}"))
    })
}

#[test]
fn every_wrong_file_gets_its_message() {
    let mut manual = String::new();
    for [what, good, bad] in files() {
        assert!(GOOD.contains(&good), "{what}: the good scenario has no {good}");
        let text = GOOD.replacen(&good, &bad, 1);
        writeln!(manual, "## {what}\n{}\n", message(&text, &[])).unwrap();
    }
    insta::assert_snapshot!("files", manual);
}

#[test]
fn texts_that_are_no_scenario_get_their_message() {
    let deep = format!("a = {}", "[".repeat(5000));
    let dots = format!("{}a = 1", "a.".repeat(5000));
    let long = format!("title = \"{}\" oops", "x".repeat(100_000));
    let rates: Vec<String> = (1..=5001).map(|kbit| format!("\"{kbit}kbit\"")).collect();
    let cells = GOOD.replace("\"10mbit\", \"20mbit\"", &rates.join(", "));
    let cases = [
        ("an empty file", ""),
        ("blank lines", "\n  \n"),
        ("a comment", "# later\n"),
        ("prose", "Two paths of 10 Mbit/s.\n"),
        ("JSON", "{ \"title\": \"x\" }\n"),
        ("control characters", "\u{0}\u{1}\u{2}ELF\n"),
        ("a letter TOML does not take for a key", "title = \"x\"\nr\u{e4}te = 1\n"),
        ("a currency sign", "rate \u{a5} \"1gbit\"\n"),
        ("only a title", "title = \"x\"\n"),
        ("values where tables belong", "title = \"x\"\nduration = \"1s\"\nlink = 3\nconnection = []\n"),
        ("a link that is a value", "title = \"x\"\nduration = \"1s\"\nlink.b1 = 3\n[connection]\n"),
        ("empty tables", "title = \"x\"\nduration = \"1s\"\n[link]\n[connection]\n"),
        (
            "an axis with a control character that is no list",
            "[parameters]\n\"\\u001b[31mred\" = \"\\u0007\"\n",
        ),
        ("deep nesting", &deep),
        ("deep dotted keys", &dots),
        ("a long line", &long),
        ("ten thousand and two cells", &cells),
    ];
    let mut manual = String::new();
    for (what, text) in cases {
        writeln!(manual, "## {what}\n{}\n", message(text, &[])).unwrap();
    }
    insta::assert_snapshot!("texts", manual);
}

pub(crate) const ASSIGNMENTS: &[&[&str]] = &[
    &["link.b1.rate=20mbps"],
    &["link.b1.rat=20mbit"],
    &["link.b1"],
    &["link.b7.rate=20mbit"],
    &["=20mbit"],
    &["link..rate=20mbit"],
    &["link.b2.rate.fast=1"],
    &["link.b2.reverse.rat=1mbit"],
    &["colour=red"],
    &["links.b2.rate=1mbit"],
    &["link.b2.rate=1mbit\u{1b}[31m"],
    &["duration=5s"],
    &["warmup=60s"],
    &["link.b2.loss=2"],
    &["link.b1.drop-every=100"],
    &["link.b1.drop-every=many"],
    &["link.b1.outages=10s..20s,15s..30s"],
    &["link.b1.discipline=fqcodel"],
    &["link.b2.loss={ to-bad = 1, to-good = 0 }"],
    &["link.b2.change=[{ at = \"1s\" }]"],
    &["link.b2.change=1s"],
    &["link.access.private=yes"],
    &["connection.mp0.subflow.sf3.route=b1"],
    &["connection.mp0.subflow.sf2.route=b1,b1"],
    &["connection.mp0.subflow.sf2.route=b1,b4"],
    &["connection.tcp0.cc=cubic,reno"],
    &["connection.tcp0.kind=mptcp"],
    &["connection.tcp0.stop=5s"],
    &["connection.tcp0.traffic.kind=poisson"],
    &["connection.tcp0.traffic={ kind = \"object\", size = \"1MB\" }", "connection.tcp0.traffic.size=1"],
    &["periods=0s..10s,50s..70s"],
    &["link.b1.rate=20mbit"],
    &["parameters.bandwidth=20"],
    &["parameters.bandwidth=10mbit,10mbit"],
    &["bandwidth=20mbit"],
    &["near=5ms"],
    &["parameters.bandwidth=10mbit,20mbps"],
    &["parameters.bandwith=20mbit"],
    &["parameters.far=20ms"],
    &["parameters.paths={ near = \"5ms\" }"],
    &["parameters.paths=5ms"],
    &["cc=[lia"],
    &["cc=lia,lia"],
    &["link.b2.rate=5mbps", "link.b2.delay=5"],
];

#[test]
fn every_wrong_assignment_gets_its_message() {
    let mut manual = String::new();
    for set in ASSIGNMENTS {
        writeln!(manual, "## {}\n{}\n", set.join(" ").escape_debug(), message(GOOD, set)).unwrap();
    }
    insta::assert_snapshot!("assignments", manual);
}

#[test]
fn the_scenario_that_the_cases_spoil_is_good() {
    assert_eq!(braid_testing::model::load("x.toml", GOOD, &[]).cells.len(), 4);
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = GOOD
        .replace("\"100mbit\"", "\"100mbps\"")
        .replace("outages", "outage")
        .replace("\"5mbit\"", "5")
        .replace("kind = \"tcp\"", "kind = \"udp\"");
    let source = Source { name: "x.toml".to_owned(), text };
    let error = load(&source, &[]).unwrap_err();
    let keys: Vec<&str> = error.problems().iter().filter_map(|problem| problem.key.as_deref()).collect();
    assert_eq!(keys, ["link.access.rate", "link.b1.outage", "link.b2.rate", "connection.tcp0.kind"]);
}

#[test]
fn a_problem_found_by_the_caller_gets_the_place_of_its_value() {
    let file = braid_testing::model::load("x.toml", GOOD, &["cc=lia,olia,reno"]);
    let place = |key| file.error(key, "unknown", None).problems()[0].place.clone();
    assert_eq!(place("connection.tcp0.cc"), "x.toml:43:6");
    assert_eq!(place("connection.mp0.cc"), "x.toml:31:13", "a key that is not there: its table");
    assert_eq!(place("cc[2]"), "--set cc=lia,olia,reno");
    let file = braid_testing::model::load("x.toml", GOOD, &[]);
    assert_eq!(file.error("cc[1]", "unknown", None).problems()[0].place, "x.toml:4:14");
}
