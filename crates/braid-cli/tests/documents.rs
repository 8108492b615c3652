//! Figures in documents are those that the command beside them prints.
//!
//! A block begins with a line `<!-- $ braid ... -->` and ends with `<!-- end -->`; between them stands what the command
//! prints in the folder of the repository, plain text between fences. `UPDATE_GOLDEN=1` writes it there.

use std::path::Path;
use std::{env, fs};

use assert_cmd::Command;

const BEGIN: &str = "<!-- $ braid ";
const END: &str = "<!-- end -->\n";
const FENCE: &str = "```text\n";

fn check(document: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(document);
    let old = fs::read_to_string(&path).unwrap();
    let mut new = String::new();
    let mut rest = old.as_str();
    let mut blocks = 0;
    while let Some(start) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(start);
        let (command, block) = block.split_once(" -->\n").expect("the first line of a block is a comment");
        let end = block.find(END).expect("a block has an end");
        let output = Command::cargo_bin("braid")
            .unwrap()
            .current_dir(&root)
            .args(command[BEGIN.len()..].split_whitespace())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let (open, close) = if block.starts_with(FENCE) { (FENCE, "```\n") } else { ("", "") };
        new.extend([before, command, " -->\n", open, &text, close, END]);
        rest = &block[end + END.len()..];
        blocks += 1;
    }
    new += rest;
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, new).unwrap();
    } else {
        assert!(old == new, "{document} differs: UPDATE_GOLDEN=1 cargo test -p braid-cli --test documents");
    }
    blocks
}

#[test]
fn the_front_page_shows_what_its_command_prints() {
    assert_eq!(check("README.md"), 1);
}

#[test]
fn the_first_tutorial_shows_what_its_command_prints() {
    assert_eq!(check("docs/tutorials/first-comparison.md"), 1);
}

#[test]
fn the_page_of_published_figures_shows_the_results_that_are_kept() {
    assert_eq!(check("docs/published.md"), 1);
}

#[test]
fn the_page_on_reproduction_shows_the_results_that_are_kept() {
    assert!(check("docs/reproduction.md") >= 4);
}
