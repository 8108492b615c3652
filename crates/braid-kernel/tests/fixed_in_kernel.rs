//! The functions of `fixed.h` give the same results in the kernel as natively, on the same vectors.

mod common;

use std::{collections::BTreeMap, fs, path::PathBuf};

use braid_kernel::{FixedCall, FixedTest};

/// Vectors of the native test, by function: one per line, `function a b c result`; `#` begins a comment.
fn vectors() -> BTreeMap<String, Vec<FixedCall>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../braid-algorithms/tests/fixed_vectors.tsv");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut vectors: BTreeMap<String, Vec<FixedCall>> = BTreeMap::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let mut fields = line.split_ascii_whitespace();
        let function = fields.next().expect("the line is not empty");
        let numbers: Vec<u64> = fields
            .map(|field| number(field).unwrap_or_else(|| panic!("fixed_vectors.tsv:{}: `{field}`", i + 1)))
            .collect();
        let &[a, b, c, result] = numbers.as_slice() else {
            panic!("fixed_vectors.tsv:{}: expected function, a, b, c, result", i + 1)
        };
        vectors.entry(function.trim_start_matches("braid_").to_owned()).or_default().push(FixedCall {
            a,
            b,
            c,
            result,
        });
    }
    vectors
}

/// Decimal, signed or unsigned, or hexadecimal; `-` for an unused argument.
fn number(field: &str) -> Option<u64> {
    if field == "-" {
        return Some(0);
    }
    if let Some(digits) = field.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    field.parse().ok().or_else(|| field.parse::<i64>().ok().map(|signed| signed as u64))
}

#[test]
fn fixed_arithmetic_in_the_kernel_equals_the_vectors() {
    let Some(mut kernel) = common::or_skip("fixed.h in the kernel", FixedTest::load()) else { return };
    let vectors = vectors();
    let tested: Vec<&String> = vectors.keys().collect();
    let mut programs: Vec<String> =
        kernel.functions().iter().map(|program| program.program.clone()).collect();
    programs.sort();
    assert_eq!(
        tested,
        programs.iter().collect::<Vec<_>>(),
        "functions with vectors, functions in the kernel"
    );

    for (function, expected) in &vectors {
        let mut calls = expected.clone();
        for call in &mut calls {
            call.result = !call.result; // so that a call that did not run cannot pass
        }
        kernel.run(function, &mut calls).unwrap_or_else(|error| panic!("{error}"));
        for (call, expected) in calls.iter().zip(expected) {
            assert_eq!(call, expected, "{function}: kernel, then vector");
        }
    }
}
