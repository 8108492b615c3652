//! Checks around each call of a user algorithm: it writes only what the contract allows.

use std::ffi::CStr;
use std::mem::offset_of;
use std::ops::{Range, RangeInclusive};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::bytes_of;

use crate::layout::{Event, Field, SSTHRESH_INFINITE, Subflow, View, braid_probe_fields};

/// Words before and behind the private memory of a checked algorithm that it must leave alone.
pub(crate) const MARGIN: usize = 8;
/// Their value.
pub(crate) const UNTOUCHED: u64 = 0xb4a1_d000_5afe_0000;

static OFF: AtomicBool = AtomicBool::new(false);
static REPORT: OnceLock<fn(&str) -> !> = OnceLock::new();

/// Whether calls of user algorithms are checked. True unless [`switch_off`] was called.
pub fn is_on() -> bool {
    !OFF.load(Ordering::Relaxed)
}

/// Leaves user algorithms that are loaded and started from now on unchecked.
pub fn switch_off() {
    OFF.store(true, Ordering::Relaxed);
}

/// Sets what [`violated`] does with its message; the first call counts.
pub fn on_violation(report: fn(&str) -> !) {
    let _ = REPORT.set(report);
}

/// Ends the run of an algorithm that breaks the contract. The message begins with `FILE:LINE`.
///
/// # Panics
/// With the message, if there is no [`on_violation`].
pub fn violated(message: &str) -> ! {
    REPORT.get().map_or_else(|| panic!("{message}"), |report| report(message))
}

/// What an algorithm did to the first `count` subflows, or the fields before them, that it may not; for people.
pub(crate) fn violation(before: &View, after: &View, count: usize, public_words: usize) -> Option<String> {
    if (before.connection, before.n, before.self_index) != (after.connection, after.n, after.self_index) {
        return Some("writes the number of subflows or another field of the connection".to_owned());
    }
    let own = before.self_index as usize;
    let words = offset_of!(Subflow, public_words);
    // What it may not write: of its own subflow all behind cwnd and ssthresh but pacing_rate and the public words of its struct.
    let read_only = [8..offset_of!(Subflow, pacing_rate), words + 8 * public_words..size_of::<Subflow>()];
    let differs = |index: usize, bytes: Range<usize>| {
        let [old, new] = [before, after].map(|view| &bytes_of(&view.subflow[index])[bytes.clone()]);
        let at = (old != new).then(|| old.iter().zip(new).position(|(old, new)| old != new));
        at.flatten().map(|at| bytes.start + at)
    };
    for index in 0..count {
        let at = match index {
            _ if index == own => read_only.iter().find_map(|bytes| differs(index, bytes.clone())),
            _ => differs(index, 0..size_of::<Subflow>()),
        };
        if let Some(at) = at {
            let whose = match index {
                _ if index == own => "its own subflow".to_owned(),
                _ if index < before.n as usize => format!("the sibling subflow[{index}]"),
                _ => format!("subflow[{index}], which the connection does not have"),
            };
            return Some(format!("writes {} of {whose}", field(at)));
        }
    }
    let (old, new) = (&before.subflow[own], &after.subflow[own]);
    out_of_range("cwnd", [old.cwnd, new.cwnd], 1..=new.cwnd_clamp).or_else(|| {
        out_of_range("ssthresh", [old.ssthresh, new.ssthresh], 1..=SSTHRESH_INFINITE.max(old.cwnd))
    })
}

/// What it did to the event, the parameters or memory beside its private memory.
pub(crate) fn memory(event: bool, params: bool, margins: [&[u64]; 2]) -> Option<String> {
    let touched = |margin: &[u64]| margin.iter().any(|word| *word != UNTOUCHED);
    [
        (event, "writes the event"),
        (params, "writes its parameters"),
        (touched(margins[0]), "writes in front of its private memory"),
        (touched(margins[1]), "writes beyond its private memory"),
    ]
    .into_iter()
    .find_map(|(is_so, what)| is_so.then(|| what.to_owned()))
}

/// A host may go beyond the range, and an algorithm leave it at that.
fn out_of_range(name: &str, [old, value]: [u32; 2], range: RangeInclusive<u32>) -> Option<String> {
    let (low, high) = (range.start(), range.end());
    (value != old && range.contains(&old) && !range.contains(&value))
        .then(|| format!("sets {name} to {value}: it is {low} to {high}"))
}

/// Name of the field of a subflow at this offset.
fn field(at: usize) -> String {
    let words = offset_of!(Subflow, public_words);
    if at >= words {
        return format!("public word {}", (at - words) / 8);
    }
    let mut row = &raw const braid_probe_fields;
    // SAFETY: native/probe.c ends the table with a nameless row.
    unsafe {
        while !(*row).name.is_null() {
            let Field { name, offset, size } = &*row;
            let name = CStr::from_ptr(*name).to_string_lossy();
            if let Some(name) = name.strip_prefix("subflow.")
                && (*offset..offset + size).contains(&(at as u64))
            {
                return name.to_owned();
            }
            row = row.add(1);
        }
    }
    "a field".to_owned()
}

/// The message: place and name of the function, what it did, and when.
pub(crate) fn message(place: &str, what: &str, event: &Event) -> String {
    format!("{place} {what}, {:.6} s into the run", event.now_us as f64 / 1e6)
}
