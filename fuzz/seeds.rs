//! Writes the fuzzer's initial corpus into a folder: the embedded scenarios and every invalid one of the parser's
//! tests.

use std::path::PathBuf;
use std::{env, fs, io};

use braid_scenario::{Source, embedded};
use libfuzzer_sys as _; // The instrumented crates refer to it.

#[allow(dead_code, unused_imports, reason = "of the tests only their table is needed")]
#[path = "../crates/braid-scenario/tests/wrong.rs"]
mod wrong;

/// The fuzzing library's entry point: some linkers require it, though no fuzzing happens here.
#[unsafe(no_mangle)]
extern "C" fn rust_fuzzer_test_input(_data: *const u8, _size: usize) -> i32 {
    0
}

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).expect("usage: seeds FOLDER"));
    let embedded = embedded().map(|summary| Source::embedded(summary.name).expect("it is listed").text);
    let wrong = wrong::files().map(|[_, good, bad]| wrong::GOOD.replacen(&good, &bad, 1));
    let set = wrong::ASSIGNMENTS.iter().map(|set| {
        let lines: Vec<String> = set.iter().map(|assignment| format!("#--set {assignment}\n")).collect();
        format!("{}{}", lines.concat(), wrong::GOOD)
    });
    for (number, text) in embedded.chain(wrong).chain(set).enumerate() {
        fs::write(folder.join(format!("seed-{number:03}")), text)?;
    }
    Ok(())
}
