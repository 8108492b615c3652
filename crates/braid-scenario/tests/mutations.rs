//! A mutated scenario loads or gets an error message; the parser never panics and is never slow.

use braid_scenario::{Source, embedded, load};
use proptest::prelude::*;
use proptest::sample::Index;

/// Pieces for a careless or malicious scenario, with a ¦ between them.
const PIECES: &str = "\"¦'¦[¦]¦[[¦{¦}¦=¦.¦,¦\n¦#¦$¦$rtt1¦\"$rtt1\"¦\"\"\"¦-¦1¦0¦9999999999999999999¦1e400¦nan¦inf¦true¦\
1979-05-27¦\"0s\"¦\"18446744073709551615ns\"¦\"1000gbit\"¦\"1bit\"¦\"4294967295p\"¦\"1500B\"¦\"99.999%\"¦\u{0}¦\u{fe0f}¦\
\u{1f4a9}¦\u{202e}¦\t¦\r\n¦b1¦[link.b1]¦[link.b1.reverse]\n¦private = true\n¦rtt = \"10ms\"\n¦drop-every = 2\n¦\
mss = 8960\n¦subflow.sf1.route = [\"b1\"]\n¦route = [\"b1\", \"b1\"]\n¦[parameters]\n¦kind = \"tcp\"\n¦\
outages = [\"0s..1s\"]\n¦loss = { to-bad = 1, to-good = 1 }\n¦discipline = \"codel\"\n¦\
discipline = { kind = \"fq-codel\", flows = 0 }\n¦change = [{ at = \"1s\", delay = \"60s\" }]\n¦\
[[link.b1.change]]\nat = \"1s\"\nrate = \"1bit\"\n¦parameters.\"\\u001b[31mred\" = true\n¦\
a = [[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]\n";

fn pieces() -> Vec<&'static str> {
    PIECES.split('¦').collect()
}

#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, &'static str),
    Remove(Index, usize),
    Repeat(Index, usize),
    Replace(Index, char),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), prop::sample::select(pieces())).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (any::<Index>(), 1..200_usize).prop_map(|(at, length)| Edit::Repeat(at, length)),
        (any::<Index>(), any::<char>()).prop_map(|(at, with)| Edit::Replace(at, with)),
    ]
}

fn apply(text: &mut Vec<char>, edit: &Edit) {
    if text.is_empty() {
        return;
    }
    match edit {
        Edit::Insert(at, piece) => {
            let at = at.index(text.len());
            text.splice(at..at, piece.chars());
        }
        Edit::Remove(at, length) => {
            let at = at.index(text.len());
            text.drain(at..text.len().min(at + length));
        }
        Edit::Repeat(at, length) => {
            let at = at.index(text.len());
            let piece = text[at..text.len().min(at + length)].to_vec();
            text.splice(at..at, piece);
        }
        Edit::Replace(at, with) => {
            let at = at.index(text.len());
            text[at] = *with;
        }
    }
}

/// Loads it, and renders the error message if there is one.
fn survive(text: String, set: &[String]) -> Result<(), TestCaseError> {
    if let Err(error) = load(&Source { name: "x.toml".to_owned(), text }, set) {
        let message = error.to_string();
        prop_assert!(!error.problems().is_empty());
        prop_assert!(message.contains("x.toml") || message.contains("--set"), "{message}");
        let harmless = |c: char| !c.is_control() || c == '\n';
        prop_assert!(message.chars().all(harmless), "control characters reach the terminal: {message:?}");
    }
    Ok(())
}

proptest! {
    // PROPTEST_CASES=100000 makes it a fuzz test.
    #![proptest_config(ProptestConfig {
        cases: 8 * ProptestConfig::default().cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_mutated_scenario_loads_or_gets_a_message(which: Index, edits in prop::collection::vec(edit(), 1..6)) {
        let names: Vec<&str> = embedded().map(|summary| summary.name).collect();
        let source = Source::embedded(names[which.index(names.len())]).unwrap();
        let mut text: Vec<char> = source.text.chars().collect();
        for edit in &edits {
            apply(&mut text, edit);
        }
        survive(text.into_iter().collect(), &[])?;
    }

    #[test]
    fn any_text_loads_or_gets_a_message(text in "(\\PC|\n)*") {
        survive(text, &[])?;
    }

    #[test]
    fn any_assignment_is_taken_or_gets_a_message(
        keys in prop::collection::vec(prop::sample::select(&[
            "link", "b1", "b2", "rate", "loss", "reverse", "connection", "mp0", "tcp0", "subflow", "sf1", "route",
            "parameters", "bandwidth", "paths", "rtt1", "duration", "cc", "outages", "mss", "private", "discipline", "change", "", "x",
        ][..]), 1..6),
        value in prop_oneof![
            prop::sample::select(pieces()).prop_map(str::to_owned),
            prop::sample::select(&["10mbit", "0.1%", "b1,b2", "[\"b1\"]", "{ rate = \"1mbit\" }", "1s..2s", "codel", "[{ at = \"1s\" }]"][..])
                .prop_map(str::to_owned),
            "\\PC{0,20}",
        ],
    ) {
        let source = Source::embedded("analysis/disjoint").unwrap();
        survive(source.text, &[format!("{}={value}", keys.join("."))])?;
    }
}

#[test]
fn what_the_fuzzer_found_stays_mended() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/regressions/scenario");
    let mut found = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let set: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("#--set ")).map(str::to_owned).collect();
        survive(text, &set).unwrap();
        found += 1;
    }
    assert!(found > 0);
}
