//! Figures in documents equal the output of the command beside them.
//!
//! A block begins with a line `<!-- $ braid ... -->` and ends with `<!-- end -->`. Between them is the output of the
//! command in the repository's folder, as plain text between fences. `INSTA_UPDATE=always` writes it.

use braid_results::claims::Document;
use braid_results::claims::Verdict::{self, Fails, Holds, Undecided};
use braid_testing::{braid, golden, read, root, text};

const BEGIN: &str = "<!-- $ braid ";
const END: &str = "<!-- end -->\n";
const FENCE: &str = "```text\n";

fn check(document: &str) -> usize {
    let old = read(document);
    let mut new = String::new();
    let mut rest = old.as_str();
    let mut blocks = 0;
    while let Some(start) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(start);
        let (command, block) = block.split_once(" -->\n").expect("the first line of a block is a comment");
        let end = block.find(END).expect("a block has an end");
        let output = braid(&command[BEGIN.len()..]).current_dir(root()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let (open, close) = if block.starts_with(FENCE) { (FENCE, "```\n") } else { ("", "") };
        new.extend([before, command, " -->\n", open, &text, close, END]);
        rest = &block[end + END.len()..];
        blocks += 1;
    }
    new += rest;
    golden(document, &new);
    blocks
}

#[test]
fn documents_show_what_their_commands_print() {
    for (document, blocks) in [
        ("README.md", 1),
        ("docs/tutorials/first-comparison.md", 1),
        ("docs/guides/advise.md", 1),
        ("docs/published.md", 1),
        ("docs/reproduction.md", 5),
    ] {
        assert_eq!(check(document), blocks, "{document}");
    }
}

#[test]
fn the_page_on_reproduction_says_how_simulator_and_kernel_agree() {
    let claims = |paper: &str, what: &str| {
        let document = Document::from_json(&read(&format!("papers/results/{paper}{what}.json"))).unwrap();
        document.papers.into_iter().flat_map(|paper| paper.claims).collect::<Vec<_>>()
    };
    let order = [Holds, Undecided, Fails];
    let page = read("docs/reproduction.md");
    for simulator in ["", "-scheduler"] {
        let mut counts = [[0; 3]; 3];
        for paper in ["analysis", "ba-mpcubic", "coupled-cubic", "d-olia", "lia-evaluation"] {
            let simulated = claims(paper, simulator);
            for claim in claims(paper, "-lab") {
                let same = simulated.iter().find(|other| other.id == claim.id).unwrap();
                let place = |verdict| order.iter().position(|one| *one == verdict);
                if let (Some(row), Some(column)) = (place(same.verdict), place(claim.verdict)) {
                    counts[row][column] += 1;
                }
            }
        }
        let line = |(verdict, [holds, undecided, fails]): (&Verdict, [usize; 3])| {
            format!("| {} | {holds} | {undecided} | {fails} |\n", verdict.text())
        };
        let table: String = order.iter().zip(counts).map(line).collect();
        assert!(page.contains(&table), "docs/reproduction.md should have\n{table}");
        let all: usize = counts.iter().flatten().sum();
        assert!(page.contains(&format!("The same {all} claims")), "{all}");
    }
}

/// Each command of a cause can run: this test checks it with all the files that it names.
#[test]
fn every_cause_has_commands_that_run() {
    let mut commands = 0;
    for paper in braid_results::claims::embedded() {
        for cause in braid_results::claims::causes(paper).unwrap() {
            for command in cause.commands.values() {
                commands += 1;
                match command.split_once(' ') {
                    Some(("braid", line)) => {
                        let output = braid(line).current_dir(root()).arg("--dry-run").output().unwrap();
                        let error = text(&output.stderr);
                        assert!(output.status.success(), "{paper}/{}: {command}: {error}", cause.id);
                    }
                    Some(("python3", line)) => {
                        assert!(root().join(line.split(' ').next().unwrap()).is_file(), "{command}");
                    }
                    _ => panic!("{paper}/{}: {command}", cause.id),
                }
            }
        }
    }
    assert!(commands > 80, "{commands}");
}

/// Every failed or undecided claim has a written cause.
#[test]
fn every_claim_that_does_not_hold_has_a_cause() {
    for paper in braid_results::claims::embedded() {
        let document = Document::from_json(&read(&format!("papers/results/{paper}.json"))).unwrap();
        let causes = braid_results::claims::causes(paper).unwrap();
        let file = braid_results::claims::find(paper).unwrap().unwrap();
        let known = |id: &String| file.claim.iter().any(|claim| claim.id == *id);
        for cause in &causes {
            let named = cause.claims.iter().chain(&cause.excluded_by);
            assert!(named.clone().all(known), "{paper}/{}: {:?}", cause.id, named.collect::<Vec<_>>());
            assert!(
                cause.experiments.iter().all(|id| file.experiment.contains_key(id)),
                "{paper}/{}",
                cause.id
            );
        }
        let open =
            document.papers[0].claims.iter().filter(|claim| matches!(claim.verdict, Fails | Undecided));
        let without = open.filter(|claim| causes.iter().all(|cause| !cause.claims.contains(&claim.id)));
        let without: Vec<&str> = without.map(|claim| claim.id.as_str()).collect();
        assert!(without.is_empty(), "{paper}: {without:?}");
    }
}
