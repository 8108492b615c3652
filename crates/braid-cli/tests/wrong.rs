//! Wrong scenarios and wrong places for results, and what a person gets to read: `snapshots/wrong__table.snap`.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{Place, SMALL};

/// What, the part of the scenario of the tests, and what stands in its place.
const SCENARIOS: &[(&str, &str, &str)] = &[
    ("not TOML", "title =", "title:"),
    ("a text without an end", "\"small\"", "\"small"),
    ("a key twice", "duration = \"2s\"", "duration = \"2s\"\nduration = \"3s\""),
    ("no title", "title = \"small\"\n", ""),
    ("no duration", "duration = \"2s\"\n", ""),
    ("no time at all", "\"2s\"", "\"0s\""),
    ("more than a day", "\"2s\"", "\"2000min\""),
    ("a duration without a unit", "\"2s\"", "2"),
    ("an ambiguous unit", "\"2s\"", "\"2m\""),
    ("a unit of another quantity", "\"4mbit\"", "\"4ms\""),
    ("an ambiguous rate", "\"4mbit\"", "\"4mbps\""),
    ("a negative rate", "\"4mbit\"", "\"-4mbit\""),
    ("a rate of nothing", "\"4mbit\"", "\"0mbit\""),
    ("a rate beyond everything", "\"4mbit\"", "\"9999999999gbit\""),
    ("a delay beyond everything", "\"5ms\"", "\"2min\""),
    ("a queue without a unit", "\"20p\"", "20"),
    ("a queue for no packet", "\"20p\"", "\"0p\""),
    ("a queue too small for a packet", "\"20p\"", "\"100B\""),
    ("a loss of everything", "\"0.5%\"", "\"100%\""),
    ("a loss that may be percent", "\"0.5%\"", "5"),
    ("a misspelt key", "delay = \"5ms\"", "dealy = \"5ms\""),
    ("a key of another tool", "rate = \"4mbit\"", "bandwidth = \"4mbit\""),
    ("a link that is not there", "route = [\"b2\"]", "route = [\"b9\"]"),
    ("a loop", "route = [\"b2\"]", "route = [\"b2\", \"b1\", \"b2\"]"),
    ("a route of nothing", "route = [\"b2\"]", "route = []"),
    ("an unknown kind", "kind = \"tcp\"", "kind = \"quic\""),
    ("a TCP flow without a route", "cc = \"reno\"\nroute = [\"b1\"]", "cc = \"reno\""),
    ("an unknown congestion control", "cc = \"reno\"", "cc = \"remo\""),
    ("a misspelt one in the list", "\"olia\"]", "\"olio\"]"),
    ("a parameter out of range", "cc = \"reno\"", "cc = \"cubic:beta=7\""),
    ("a variable nobody knows", "\"4mbit\"", "\"$rate\""),
    ("a variable nobody uses", "[link.b1]", "[parameters]\nx = [1]\n[link.b1]"),
    (
        "the same value twice",
        "[link.b1]\nrate = \"4mbit\"",
        "[parameters]\nx = [\"1mbit\", \"1mbit\"]\n[link.b1]\nrate = \"$x\"",
    ),
    ("an axis without values", "[link.b1]", "[parameters]\nx = []\n[link.b1]"),
    ("a name with a blank", "[link.b2]", "[link.\"b 2\"]"),
    ("a number beyond everything", "\"2s\"", "99999999999999999999"),
];

/// What, and the arguments.
const COMMANDS: &[(&str, &str)] = &[
    ("a file that is not there", "run nowhere.toml"),
    ("a misspelt name", "run d-oila/1"),
    ("a folder for a file", "run folder.toml"),
    ("an empty file", "run empty.toml"),
    ("a program for a file", "run binary.toml"),
    ("a file that never ends", "run /dev/zero"),
    ("a key that is not there", "run small.toml --set link.b1.rat=1mbit"),
    ("a wrong value", "run small.toml --set link.b1.rate=fast"),
    ("no value", "run small.toml --set link.b1.rate"),
    ("an unknown congestion control", "run small.toml --cc cubik"),
    ("a colon and nothing behind it", "run small.toml --cc lia:"),
    ("seeds backwards", "run small.toml --seeds 5..2"),
    ("no seed", "run small.toml --seeds 0"),
    ("a negative number of seeds", "run small.toml --seeds -1"),
    ("no run at a time", "run small.toml --jobs 0"),
    ("a negative number of jobs", "run small.toml --jobs -2"),
    ("a misspelt paper", "repro d-oila"),
    ("a misspelt experiment", "repro analysis/sharde"),
    ("more runs than fit", "run small.toml --seeds 18446744073709551615"),
    ("a scheduler that is not there", "run small.toml --scheduler fastest"),
    ("results into a file", "run small.toml --out small.toml"),
    ("results below a file", "run small.toml --out small.toml/results"),
    ("results where nothing can be", "run small.toml --out /proc/results"),
    ("results beside somebody's files", "run small.toml --out mine"),
    ("results beside somebody's manifest", "run small.toml --out extension"),
    ("results over those of other seeds", "run small.toml --out results --cc lia --seeds 2..3"),
    ("results over those of others", "run small.toml --out results --cc olia"),
    ("results over those of another scenario", "run small.toml --out results --cc lia --set duration=3s"),
    ("samples without a folder", "run small.toml --samples"),
    ("events without a folder", "run small.toml --events"),
    ("packets into a file", "run small.toml --pcap small.toml"),
    ("packets over those of another run", "run small.toml --cc lia --pcap packets --set link.b1.rate=3mbit"),
    ("a report over something else", "run small.toml --report small.toml"),
    ("a report into a folder that is not there", "run small.toml --report nowhere/report.html"),
];

/// Everything in a folder, with its content.
fn everything(folder: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(everything(&path));
            all.insert((path.display().to_string(), Vec::new()));
        } else {
            all.insert((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    all
}

/// First line of the message, and the remedy, for a table.
fn row(place: &Place, what: &str, line: &str) -> String {
    let before = everything(place.path());
    let output = place.output(line);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{what}: {line}: {message}");
    assert!(output.stdout.is_empty(), "{what}: nothing on standard output");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{what}: {message}");
    assert!(everything(place.path()) == before, "{what}: {line}: something was left behind or changed");
    let mut lines = message.lines();
    let mut first = lines.next().unwrap().trim_start_matches("error: ").to_owned();
    if first.ends_with(':') {
        first = format!("{first} {}", lines.next().unwrap().trim());
    }
    let mut remedies = message.lines().filter_map(|line| line.trim_start().strip_prefix("hint: "));
    let remedy = remedies.next().unwrap_or("");
    format!("| {what} | {} | {} |\n", first.replace('|', "\\|"), remedy.replace('|', "\\|"))
}

#[test]
fn every_mistake_gets_a_message_and_leaves_nothing_behind() {
    let place = Place::new();
    fs::create_dir(place.path().join("folder.toml")).unwrap();
    place.write("empty.toml", "");
    place.write("binary.toml", [0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]);
    for folder in ["mine", "extension"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    place.write("mine/results.json", "{}");
    place.write("extension/manifest.json", "{\"name\": \"an extension\"}");
    place.stdout("run small.toml --cc lia --out results --pcap packets --quiet");

    let mut table = String::from("| mistake | message | remedy |\n|---|---|---|\n");
    for (what, good, bad) in SCENARIOS {
        assert!(SMALL.contains(good), "{what}: the good scenario has no {good}");
        place.write("wrong.toml", SMALL.replacen(good, bad, 1));
        table += &row(&place, what, "run wrong.toml --out new");
        // Told by `check`, too.
        assert_eq!(place.output("check wrong.toml").status.code(), Some(2), "{what}");
    }
    table += "\n| mistake | message | remedy |\n|---|---|---|\n";
    for (what, line) in COMMANDS {
        let row = row(&place, what, line);
        let _ = write!(table, "{}", row.replacen("| ", &format!("| `{line}`: "), 1));
    }
    assert!(SCENARIOS.len() + COMMANDS.len() >= 60);
    insta::assert_snapshot!("table", table);
}
