//! What the descriptors of algorithms and packet schedulers have in common.

use std::ffi::{CStr, c_char};

/// One tunable of an algorithm or a packet scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its key in a spec.
    pub name: &'static str,
    /// Default, in units of 1/`scale`.
    pub initial: u32,
    /// Smallest value allowed, in units of 1/`scale`.
    pub low: u32,
    /// Largest value allowed, in units of 1/`scale`.
    pub high: u32,
    /// What 1 is multiplied with; 1 for whole numbers and choices.
    pub scale: u32,
    /// Unit, or the names of a choice separated by `|`.
    pub unit: &'static str,
    /// What it does and why the default is what it is.
    pub help: &'static str,
}

/// `struct braid_param`.
#[repr(C)]
pub struct RawParam {
    pub(crate) name: *const c_char,
    pub(crate) initial: u32,
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) scale: u32,
    pub(crate) unit: *const c_char,
    pub(crate) help: *const c_char,
}

/// Reads a constant C string.
///
/// # Safety
/// `text` must point to one.
///
/// # Panics
/// If it is not UTF-8.
pub unsafe fn constant(text: *const c_char) -> &'static str {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().expect("the C files are ASCII")
}

/// Reads the tunables of a descriptor.
///
/// # Safety
/// `rows` must point to `n` constant rows.
pub unsafe fn params(rows: *const RawParam, n: u32) -> impl ExactSizeIterator<Item = Param> {
    // SAFETY: the caller's promise.
    let rows: &'static [RawParam] = unsafe { std::slice::from_raw_parts(rows, n as usize) };
    rows.iter().map(|row| {
        // SAFETY: the rows hold string literals.
        let (name, unit, help) = unsafe { (constant(row.name), constant(row.unit), constant(row.help)) };
        Param { name, initial: row.initial, low: row.low, high: row.high, scale: row.scale, unit, help }
    })
}

/// The heading of a page in Markdown, without the name.
pub fn title(page: &str) -> &str {
    let heading = page.lines().next().unwrap_or_default();
    heading.split_once(": ").map_or("", |(_, title)| title)
}

/// What the table at the top of a page says of a key, such as `year`.
pub fn fact<'a>(page: &'a str, key: &str) -> &'a str {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter_map(|row| row.split_once(" | ")).find(|row| row.0 == key).map_or("", |row| row.1)
}
