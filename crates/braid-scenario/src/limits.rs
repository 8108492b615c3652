//! Limits of names and sizes.

use crate::model::Direction;

/// Maximum of a value whose text is stored once for each combination, bytes.
pub(crate) const LONGEST_VALUE: usize = 1000;
/// Maximum of links, private copies, outages and changes together: keeps a small file from filling the memory.
pub(crate) const MOST_PARTS: usize = 1_000_000;

pub(crate) const NAME: &str = "expected a name of at most 32 characters a-z, 0-9 and -, the first not -";

pub(crate) fn is_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Number of parts of a link.
pub(crate) fn parts(forward: &Direction, reverse: &Direction) -> usize {
    let of = |way: &Direction| way.outages.len() + way.changes.len();
    1 + of(forward) + of(reverse)
}
