//! Checks around each call of a user algorithm: it writes only what the contract allows.

use std::ffi::CStr;
use std::ops::RangeInclusive;
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

/// What an algorithm did that it may not, if it did; for people.
pub(crate) fn violation(before: &View, after: &View, public_words: usize) -> Option<String> {
    if (before.connection, before.n, before.self_index) != (after.connection, after.n, after.self_index) {
        return Some("writes the number of subflows or another field of the connection".to_owned());
    }
    let own = before.self_index as usize;
    for (index, (old, new)) in before.subflow.iter().zip(&after.subflow).enumerate() {
        let mut allowed = *old;
        if index == own {
            allowed.cwnd = new.cwnd;
            allowed.ssthresh = new.ssthresh;
            allowed.pacing_rate = new.pacing_rate;
            allowed.public_words[..public_words].copy_from_slice(&new.public_words[..public_words]);
        }
        if bytes_of(&allowed) != bytes_of(new) {
            let whose = match index {
                _ if index == own => "its own subflow".to_owned(),
                _ if index < before.n as usize => format!("the sibling subflow[{index}]"),
                _ => format!("subflow[{index}], which the connection does not have"),
            };
            return Some(format!("writes {} of {whose}", field(&allowed, new, public_words)));
        }
    }
    let (old, new) = (&before.subflow[own], &after.subflow[own]);
    out_of_range("cwnd", [old.cwnd, new.cwnd], 1..=new.cwnd_clamp.max(1))
        .or_else(|| out_of_range("ssthresh", [old.ssthresh, new.ssthresh], 1..=SSTHRESH_INFINITE))
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

/// Name of the first field that differs.
fn field(old: &Subflow, new: &Subflow, public_words: usize) -> String {
    let at =
        bytes_of(old).iter().zip(bytes_of(new)).position(|(old, new)| old != new).unwrap_or_default() as u64;
    let words = std::mem::offset_of!(Subflow, public_words) as u64;
    if at >= words {
        let word = (at - words) / 8;
        return if word as usize >= public_words && public_words > 0 {
            format!("public word {word}, beyond its public state,")
        } else {
            format!("public word {word}")
        };
    }
    let mut row = &raw const braid_probe_fields;
    // SAFETY: native/probe.c ends the table with a nameless row.
    unsafe {
        while !(*row).name.is_null() {
            let Field { name, offset, size } = &*row;
            let name = CStr::from_ptr(*name).to_string_lossy();
            if let Some(name) = name.strip_prefix("subflow.")
                && (*offset..offset + size).contains(&at)
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
