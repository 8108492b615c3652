//! Wrong scenarios and wrong places for results, and what a person gets to read: `snapshots/wrong__table.snap`, of the cases in `wrong.tsv`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use braid_testing::{Place, SMALL};

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
    let mut remedies = message.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("hint: ").or_else(|| line.starts_with("[possible values: ").then_some(line))
    });
    let remedy = remedies.next().unwrap_or("");
    format!("| {what} | {} | {} |\n", first.replace('|', "\\|"), remedy.replace('|', "\\|"))
}

#[test]
fn every_mistake_gets_a_message_and_leaves_nothing_behind() {
    let place = Place::new();
    fs::create_dir(place.at("folder.toml")).unwrap();
    place.write("empty.toml", "");
    place.write("binary.toml", [0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]);
    for folder in ["mine", "extension"] {
        fs::create_dir(place.at(folder)).unwrap();
    }
    place.write("mine/results.json", "{}");
    place.write("extension/manifest.json", "{\"name\": \"an extension\"}");
    place.stdout("run small.toml --cc lia --out results --pcap packets --quiet");

    let mut table = String::from("| mistake | message | remedy |\n|---|---|---|\n");
    let cases: Vec<Vec<String>> = include_str!("wrong.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').map(|column| column.replace('⏎', "\n")).collect())
        .collect();
    for case in &cases {
        let [what, good, bad] = &case[..] else { continue };
        assert!(SMALL.contains(good), "{what}: the good scenario has no {good}");
        place.write("wrong.toml", SMALL.replacen(good, bad, 1));
        table += &row(&place, what, "run wrong.toml --out new");
        // Told by `check`, too.
        assert_eq!(place.output("check wrong.toml").status.code(), Some(2), "{what}");
    }
    table += "\n| mistake | message | remedy |\n|---|---|---|\n";
    for case in &cases {
        let [what, line] = &case[..] else { continue };
        let row = row(&place, what, line);
        let _ = write!(table, "{}", row.replacen("| ", &format!("| `{line}`: "), 1));
    }
    assert!(cases.len() >= 90);
    insta::assert_snapshot!("table", table);
}
