//! Every command in the documentation runs, or the page gives the reason why it does not.
//!
//! Commands are lines of indented blocks (four spaces) or `sh` fences that begin with one of [`WORDS`]. The commands of
//! a page run in order, in an empty folder, with the freshly built `braid` on the path. A comment before a block, or
//! one for the whole page, changes that:
//!
//! - `<!-- not run: why -->`, `<!-- not run, this whole page: why -->`
//! - `<!-- dry run: why -->`, `<!-- dry run, this whole page: why -->`: with `--dry-run`, which checks everything that the command names
//! - `<!-- fails: why -->`: the commands must fail
//! - `<!-- printed -->` before a fenced block: the preceding commands print its lines
//! - `<!-- edit FILE -->` before two fenced blocks: replaces the first by the second in FILE
//!
//! [`PROGRAMS`] runs programs in other languages; the remaining ones are marked as well.
//!
//! ``Save it as `FILE` `` after a fenced block, or ``Save this as `FILE` `` before one, saves it. Complete scenarios
//! that no page saves are checked, too.

#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what was run, with --nocapture")]

use std::fmt::Write as _;
use std::process::Command;
use std::{env, fs};

use braid_testing::{braid_path, root};

/// Pages whose commands refer to other files, or which only list changes.
const LEFT_OUT: [&str; 2] = ["CHANGELOG.md", "docs/adr/"];
const WORDS: &str = "apt-get bench braid cargo cd curl export git ip jq mkdir pip python3 scripts sh sudo systemctl tshark wireshark";
/// Commands that take `--dry-run`.
const DRY: [&str; 3] = ["braid run", "braid compare", "braid repro"];

/// Pages with programs, and their interpreters.
const PROGRAMS: [(&str, &str); 4] = [
    ("docs/guides/results-in-python.md", "python/tests/test_documents.py"),
    ("docs/python.md", "python/tests/test_documents.py"),
    ("docs/results.md", "docs/results_examples.py"),
    ("docs/traces.md", "crates/braid-cli/tests/calls.rs"),
];

#[derive(Clone, Copy, PartialEq, Debug)]
enum How {
    Run,
    Dry,
    Not,
    Fails,
}

/// The commands of a page as a bash script, and how many there are.
#[derive(Default)]
struct Work {
    script: String,
    commands: usize,
    left: usize,
    printed: Vec<String>,
}

fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    let folders =
        ["", "docs", "docs/tutorials", "docs/guides", "docs/explanation", "kernel", "papers", "bench"];
    for folder in folders {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                let path = path.strip_prefix(root()).unwrap();
                pages.push(path.to_str().unwrap().trim_start_matches('/').to_owned());
            }
        }
    }
    pages.retain(|page| !LEFT_OUT.iter().any(|left| page.starts_with(left)));
    pages.sort();
    pages
}

/// The meaning of a comment, with its mandatory reason.
fn mark(block: &str, whole_page: bool) -> Option<How> {
    let inner = block.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let (kind, reason) = inner.split_once(": ")?;
    let kind = if whole_page { kind.strip_suffix(", this whole page")? } else { kind };
    let how = match kind {
        "not run" => How::Not,
        "dry run" => How::Dry,
        "fails" => How::Fails,
        _ => return None,
    };
    assert!(reason.split_whitespace().count() >= 3, "a reason: {block}");
    Some(how)
}

/// Blocks between empty lines; a fenced block counts as one.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut fence = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if line.trim_start().starts_with("```") {
            match fence {
                None => {
                    blocks.push(String::new());
                    fence = Some(indent);
                }
                Some(_) => fence = None,
            }
        }
        if line.trim().is_empty() && fence.is_none() {
            blocks.push(String::new());
            continue;
        }
        let block = blocks.last_mut().unwrap();
        block.push_str(line);
        block.push('\n');
    }
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

/// Language and text of a fenced block.
fn fenced(block: &str) -> Option<(&str, &str)> {
    let (language, text) = block.strip_prefix("```")?.split_once('\n')?;
    Some((language, text.strip_suffix("```\n")?))
}

/// The command on a line, without its comment. The caller appends continuation lines.
fn command(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.split_once("  ").map_or(line, |(command, rest)| {
        let rest = rest.trim_start();
        if rest.starts_with('#') { command } else { line }
    });
    let word = line.trim_start_matches("./").split([' ', '/']).next()?;
    WORDS.split(' ').any(|known| known == word).then_some(line)
}

fn commands(block: &str) -> Vec<String> {
    let lines: Vec<&str> = match fenced(block) {
        Some(("sh", text)) => text.lines().collect(),
        // Blocks of a list are indented further; they are code if every line is.
        None if block.lines().all(|line| line.starts_with("    ")) => block.lines().collect(),
        _ => return Vec::new(),
    };
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        if goes_on {
            let command = commands.last_mut().unwrap();
            command.truncate(command.len() - 1);
            command.push_str(line.trim());
        } else if let Some(command) = command(line) {
            commands.push(command.to_owned());
        } else {
            continue;
        }
        goes_on = commands.last().unwrap().ends_with('\\');
    }
    commands
}

fn put(script: &mut String, file: &str, text: &str) {
    let _ = write!(script, "cat >{file} <<'END OF FILE'\n{text}END OF FILE\n");
}

/// Replaces text in a file, in the script.
fn edit(script: &mut String, file: &str, old: &str, new: &str) {
    let program = "import sys; name, old, new = sys.argv[1:]; text = open(name).read(); \
        assert text.count(old) == 1, f'{old!r} is {text.count(old)} times in {name}'; open(name, 'w').write(text.replace(old, new))";
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let _ = writeln!(script, "python3 -c {} {file} {} {}", quoted(program), quoted(old), quoted(new));
}

fn name_in<'a>(block: &'a str, before: &str) -> Option<&'a str> {
    block.split_once(before)?.1.split_once('`').map(|(name, _)| name)
}

fn work(page: &str, text: &str) -> Work {
    let blocks = blocks(text);
    let whole = blocks.iter().find_map(|block| mark(block, true)).unwrap_or(How::Run);
    let mut work = Work::default();
    let mut marked = None;
    let mut editing: Option<(&str, Option<&str>)> = None;
    for (at, block) in blocks.iter().enumerate() {
        if let Some(how) = mark(block, false) {
            marked = Some(how);
            continue;
        }
        let how = marked.take().unwrap_or(whole);
        if let Some(file) = block.strip_prefix("<!-- edit ") {
            editing = Some((file.trim().trim_end_matches(" -->"), None));
            continue;
        }
        if block == "<!-- printed -->\n" {
            let (_, text) = fenced(&blocks[at + 1]).expect(page);
            work.printed.extend(text.lines().map(str::to_owned));
            continue;
        }
        if let (Some((file, old)), Some((_, text))) = (editing, fenced(block)) {
            match old {
                None => editing = Some((file, Some(text))),
                Some(old) => {
                    edit(&mut work.script, file, old.trim_end_matches('\n'), text.trim_end_matches('\n'));
                    editing = None;
                }
            }
            continue;
        }
        if let Some(file) = name_in(block, "Save it as `") {
            let (_, text) = blocks[..at].iter().rev().find_map(|block| fenced(block)).expect(page);
            put(&mut work.script, file, text);
        } else if let Some(file) = name_in(block, "Save this as `") {
            let (_, text) = blocks[at..].iter().find_map(|block| fenced(block)).expect(page);
            put(&mut work.script, file, text);
        }
        if let Some(("toml", text)) = fenced(block)
            && text.contains("\n[connection.")
            && text.contains("\n[link.")
            && how != How::Not
        {
            put(&mut work.script, "whole.toml", text);
            work.script.push_str("braid check whole.toml\n");
            work.commands += 1;
        }
        if let Some((language, _)) = fenced(block) {
            let is_program = !matches!(language, "" | "text" | "toml" | "sh" | "json");
            if is_program && how != How::Not {
                let runs = PROGRAMS.iter().find(|(known, _)| *known == page);
                let (_, runner) = runs.unwrap_or_else(|| panic!("{page}: nothing runs the program\n{block}"));
                let text = fs::read_to_string(root().join(runner)).unwrap();
                assert!(text.contains(page), "{runner} says nothing of {page}");
            }
        }
        for command in commands(block) {
            match how {
                How::Not => work.left += 1,
                How::Run => {
                    let _ = writeln!(work.script, "{command}");
                    work.commands += 1;
                }
                How::Fails => {
                    let _ = writeln!(work.script, "if {command}; then exit 99; fi");
                    work.commands += 1;
                }
                // Runs nothing, but shows stored results.
                How::Dry if command.contains(" --from ") => {
                    let _ = writeln!(work.script, "{command}");
                    work.commands += 1;
                }
                How::Dry if DRY.iter().any(|known| command.starts_with(known)) => {
                    let at = command.find(['|', '>']).unwrap_or(command.len());
                    let _ = writeln!(work.script, "{} --dry-run", command[..at].trim_end());
                    work.commands += 1;
                }
                How::Dry => panic!("{page}: `{command}` has no dry run: mark it <!-- not run: why -->"),
            }
        }
    }
    assert!(editing.is_none(), "{page}: an edit has two blocks");
    work
}

fn run(page: &str) -> Work {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let work = work(page, &text);
    if work.commands == 0 {
        return work;
    }
    let folder = tempfile::tempdir().unwrap();
    // Pages outside of tutorials and guides may name files of the repository.
    if page.split('/').count() < 3 {
        for name in ["docs", "papers", "scenarios"] {
            std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).unwrap();
        }
    }
    let programs = braid_path().parent().unwrap().to_owned();
    let path = env::join_paths(
        std::iter::once(programs).chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-v", "-c", &work.script])
        .current_dir(folder.path())
        .env("PATH", path.unwrap())
        .output()
        .unwrap();
    // With -v bash prints each line before it runs it, so the last one printed is the one that failed.
    let said = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = said.lines().rev().take(15).collect();
    assert!(
        output.status.success(),
        "{page}: {}:\n{}",
        output.status,
        tail.into_iter().rev().collect::<Vec<_>>().join("\n")
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    for line in &work.printed {
        assert!(printed.lines().any(|one| one == line), "{page}: nothing prints `{line}`, but:\n{printed}");
    }
    work
}

/// Pages run in parallel, one per processor; each is mostly a sequence of single-threaded simulations.
#[test]
fn every_command_of_the_documentation_runs_or_says_why_not() {
    let pages = pages();
    assert!(pages.len() > 40, "{pages:?}");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, Into::into).min(4);
    let wrong = std::sync::Mutex::new(Vec::new());
    let sum = std::sync::Mutex::new((0, 0));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let start = std::time::Instant::now();
                    match std::panic::catch_unwind(|| run(page)) {
                        Ok(work) => {
                            if work.commands + work.left > 0 {
                                let seconds = start.elapsed().as_secs_f64();
                                println!("{page}: {} run, {} not, {seconds:.1} s", work.commands, work.left);
                            }
                            let mut sum = sum.lock().unwrap();
                            *sum = (sum.0 + work.commands, sum.1 + work.left);
                        }
                        Err(_) => wrong.lock().unwrap().push(page.clone()),
                    }
                }
            });
        }
    });
    let (run, left) = *sum.lock().unwrap();
    println!("{run} commands run, {left} not");
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(run > 50, "{run}");
}

#[test]
fn what_is_marked_is_left_out_and_the_rest_becomes_a_script() {
    let page = "# A\n\n    braid run a  # comment\n\n<!-- not run: it needs root -->\n\n    sudo braid load olia\n\nSave this as `x.toml`:\n\n```toml\na = 1\n```\n\n    w = 1/2\n\n```sh\nbraid run b \\\n  --c d\n```\n\n<!-- dry run: it takes hours -->\n\n    braid repro x > y\n";
    let work = work("page", page);
    assert_eq!(
        work.script,
        "braid run a\ncat >x.toml <<'END OF FILE'\na = 1\nEND OF FILE\nbraid run b --c d\nbraid repro x --dry-run\n"
    );
    assert_eq!((work.commands, work.left), (3, 1));
    let whole = "<!-- not run, this whole page: it needs root -->\n\n    braid load olia\n";
    assert_eq!(self::work("page", whole).left, 1);
}
