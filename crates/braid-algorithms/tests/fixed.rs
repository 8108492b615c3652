//! The functions of `fixed.h` give what 128-bit arithmetic gives, on the committed vectors and on generated arguments.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};

// Links the C library.
use braid_algorithms as _;
use proptest::prelude::*;

type Call = unsafe extern "C" fn(u64, u64, u64) -> u64;

#[repr(C)]
struct Function {
    name: *const c_char,
    call: Option<Call>,
}

unsafe extern "C" {
    static braid_probe_functions: Function;
    fn braid_probe_product_below(a: u64, b: u64, c: u64, d: u64) -> u32;
    fn braid_probe_compare_products(a: u64, b: u64, c: u64, d: u64) -> u32;
}

/// Every function of fixed.h in the table of native/probe.c.
fn functions() -> Vec<(&'static str, Call)> {
    let mut functions = Vec::new();
    let mut function = &raw const braid_probe_functions;
    // SAFETY: the table ends with a row without a name; its names are constants.
    unsafe {
        while let Some(call) = (*function).call {
            functions.push((CStr::from_ptr((*function).name).to_str().unwrap(), call));
            function = function.add(1);
        }
    }
    functions
}

/// The largest number whose image under an increasing function is at most `x`.
fn root(x: u64, image: impl Fn(u128) -> u128) -> u64 {
    let (mut low, mut high) = (0, 1 << 32);
    while low + 1 < high {
        let middle = u128::midpoint(low, high);
        if image(middle) <= u128::from(x) { low = middle } else { high = middle }
    }
    low as u64
}

/// The expected result of the function.
fn reference(function: &str, a: u64, b: u64, c: u64) -> u64 {
    let (wide_a, wide_b, wide_c) = (u128::from(a), u128::from(b), u128::from(c));
    let saturate = |x: u128| u64::try_from(x).unwrap_or(u64::MAX);
    match function {
        "below" => u64::from(a < b),
        "below32" => u64::from((a as u32) < b as u32),
        "equal" => u64::from(a == b),
        "select" if a == 1 => b,
        "select" => c,
        "min32" => u64::from((a as u32).min(b as u32)),
        "max32" => u64::from((a as u32).max(b as u32)),
        "min" => a.min(b),
        "max" => a.max(b),
        "clamp" if a < b => b,
        "clamp" => a.min(c),
        "add" => a.saturating_add(b),
        "sub" => a.saturating_sub(b),
        "div" | "quotient" => a.checked_div(b).unwrap_or(0),
        "div_up" | "sdiv" if b == 0 => 0,
        "div_up" => a.div_ceil(b),
        "sdiv" => (i128::from(a as i64) / i128::from(b)) as u64,
        "shl" => a.checked_shl(b as u32).unwrap_or(0),
        "shr" => a.checked_shr(b as u32).unwrap_or(0),
        "clz" => u64::from(a.leading_zeros()),
        "mul_high" => ((wide_a * wide_b) >> 64) as u64,
        "mul_shift" => saturate((wide_a * wide_b) >> c),
        "muldiv" => (wide_a * wide_b).checked_div(wide_c).map_or(0, saturate),
        "mul" => saturate(wide_a * wide_b),
        "cbrt" => root(a, |x| x * x * x),
        "sqrt" => root(a, |x| x * x),
        _ => panic!("no reference for {function}"),
    }
}

/// The third argument of some functions has a range of its own.
fn in_domain(function: &str, a: u64, c: u64) -> (u64, u64) {
    match function {
        "select" => (a & 1, c),
        "mul_shift" => (a, c % 65),
        _ => (a, c),
    }
}

#[test]
fn every_vector_holds_natively_and_in_wide_arithmetic() {
    let functions = functions();
    let text = include_str!("fixed_vectors.tsv");
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &str| match field {
            "-" => 0,
            _ => field.parse().unwrap_or_else(|_| field.parse::<i64>().unwrap() as u64),
        };
        let [a, b, c, result] = [1, 2, 3, 4].map(|i| number(fields[i]));
        let (name, call) = functions.iter().find(|function| function.0 == fields[0]).unwrap();
        seen.insert(*name);
        assert_eq!(reference(name, a, b, c), result, "the vector itself: {line}");
        // SAFETY: a pure function of integers.
        assert_eq!(unsafe { call(a, b, c) }, result, "{line}");
    }
    assert_eq!(
        seen,
        functions.iter().map(|function| function.0).collect::<BTreeSet<_>>(),
        "functions with vectors"
    );
}

/// Numbers of every size, the ends of the range, and powers of two and their neighbours.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        (any::<u64>(), 0..64_u32).prop_map(|(x, shift)| x >> shift),
        (0..64_u32, 0..3_u64)
            .prop_map(|(shift, offset)| (1_u64 << shift).wrapping_add(offset).wrapping_sub(1)),
        (0..4_u64).prop_map(u64::wrapping_neg),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn generated_arguments_give_what_wide_arithmetic_gives(a in number(), b in number(), c in number()) {
        for (name, call) in functions() {
            let (a, c) = in_domain(name, a, c);
            // SAFETY: a pure function of integers.
            prop_assert_eq!(unsafe { call(a, b, c) }, reference(name, a, b, c), "{}({}, {}, {})", name, a, b, c);
        }
    }

    #[test]
    fn products_are_compared_without_loss(a in number(), b in number(), c in number(), d in number()) {
        let below = u128::from(a) * u128::from(b) < u128::from(c) * u128::from(d);
        // SAFETY: a pure function of integers.
        prop_assert_eq!(unsafe { braid_probe_product_below(a, b, c, d) } == 1, below);
        // SAFETY: as above.
        prop_assert_eq!(unsafe { braid_probe_product_below(a, b, a, b) }, 0);
        let order = (u128::from(a) * u128::from(b)).cmp(&(u128::from(c) * u128::from(d)));
        // SAFETY: as above.
        prop_assert_eq!(unsafe { braid_probe_compare_products(a, b, c, d) }, (order as i32 + 1) as u32);
        // SAFETY: as above.
        prop_assert_eq!(unsafe { braid_probe_compare_products(a, b, b, a) }, 1);
    }
}
