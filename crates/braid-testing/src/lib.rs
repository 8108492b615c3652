//! What the tests of several crates share: the `braid` command, scratch folders, golden files, small scenarios, network
//! namespaces. A dev-dependency only.
#![allow(clippy::missing_panics_doc, reason = "a panic is how a test fails")]

use std::fmt::Display;
use std::io::Write as _;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::Value;

pub mod model;
#[cfg(target_os = "linux")]
pub mod netns;
mod place;

pub use place::{Place, SMALL, braid, braid_path, executable, files};

/// Reports that this machine lacks what a test needs, past the harness's capture: `scripts/test` counts these lines.
pub fn skip(test: &str, reason: impl Display) {
    let reason = reason.to_string();
    writeln!(std::io::stderr(), "SKIPPED: {test}, because {}", reason.trim()).expect("stderr");
}

/// A program's output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that a text contains every part.
#[track_caller]
pub fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` in: {text}");
    }
}

/// The standard output of a program that must succeed.
#[track_caller]
pub fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Asserts that a program ended with this exit code, and that its standard error contains every part. Returns the
/// latter.
#[track_caller]
pub fn failed(output: &Output, code: i32, parts: &[&str]) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}{message}", text(&output.stdout));
    assert!(!message.contains("panicked"), "{message}");
    says(&message, parts);
    message
}

/// Asserts that a number is within a range.
#[allow(clippy::needless_pass_by_value, reason = "a range is written where it is used")]
#[track_caller]
pub fn within<T: PartialOrd + std::fmt::Debug>(value: T, range: impl RangeBounds<T> + std::fmt::Debug) {
    assert!(range.contains(&value), "{value:?} is not in {range:?}");
}

/// A JSON document.
#[track_caller]
pub fn json(text: impl AsRef<[u8]>) -> Value {
    serde_json::from_slice(text.as_ref())
        .unwrap_or_else(|error| panic!("{error}: {}", self::text(text.as_ref())))
}

/// Waits until `look` finds something, two minutes at most.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "not in two minutes: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a condition holds, two minutes at most.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
#[track_caller]
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a generated file of the repository with its generator's text. `INSTA_UPDATE=always` writes it, as it writes
/// snapshots.
#[track_caller]
pub fn golden(path: &str, text: &str) {
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(root().join(path), text).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let stored = fs::read_to_string(root().join(path)).unwrap_or_default();
    let line = stored.lines().zip(text.lines()).take_while(|(old, new)| old == new).count();
    let at = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
    assert!(
        stored == text,
        "{path}:{}: stored\n{}\nnow\n{}\nINSTA_UPDATE=always writes it",
        line + 1,
        at(&stored),
        at(text)
    );
}

/// Asserts that a document fits `docs/NAME.schema.json`.
#[track_caller]
pub fn fits_schema(name: &str, documents: &[Value]) {
    let path = root().join(format!("docs/{name}.schema.json")).display().to_string();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = compiler.compile(&path, &mut schemas).unwrap_or_else(|error| panic!("{path}: {error:#}"));
    for document in documents {
        if let Err(error) = schemas.validate(document, schema) {
            panic!("{path}: {error:#}\n{document:#}");
        }
    }
    assert!(schemas.validate(&Value::from(7), schema).is_err(), "{path} refuses nothing");
}

/// Pseudo-random numbers (splitmix64: Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
