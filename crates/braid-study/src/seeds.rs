//! Which seeds a study repeats its runs with.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An inclusive, non-empty range of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Seeds {
    first: u64,
    last: u64,
}

impl Seeds {
    /// From `first` to `last`, both included; `None` if there is no such seed.
    pub fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The smallest.
    pub fn first(self) -> u64 {
        self.first
    }

    /// The largest.
    pub fn last(self) -> u64 {
        self.last
    }

    /// Whether it has all of the other's.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// Both together, if there is no gap between them.
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        let gap = self.first.max(other.first) > self.last.min(other.last).saturating_add(1);
        (!gap).then(|| Self { first: self.first.min(other.first), last: self.last.max(other.last) })
    }

    /// How many there are; `None` if more than fit into memory.
    pub fn count(self) -> Option<usize> {
        usize::try_from(self.last - self.first).ok()?.checked_add(1)
    }
}

impl Default for Seeds {
    /// Just 1.
    fn default() -> Self {
        Self { first: 1, last: 1 }
    }
}

/// A number of seeds: those from 1 on.
///
/// # Panics
/// For 0.
impl From<u64> for Seeds {
    fn from(count: u64) -> Self {
        Self::new(1, count).expect("at least one seed")
    }
}

/// # Panics
/// If the range is empty.
impl From<RangeInclusive<u64>> for Seeds {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self::new(*range.start(), *range.end()).expect("at least one seed")
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.last) {
            (1, last) => write!(f, "{last}"),
            (first, last) => write!(f, "{first}..{last}"),
        }
    }
}

/// `N` means 1 to N, `A..B` means A to B, both included.
impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| match text.strip_prefix('-') {
                Some(rest) if rest.parse::<u64>().is_ok() => format!("a seed is not negative: \"{text}\""),
                _ => format!("expected N or A..B with whole numbers, not \"{text}\""),
            })
        };
        let Some((first, last)) = text.split_once("..") else {
            let count = number(text)?;
            let none = "0 seeds are no run: N means the seeds 1 to N; for the seed 0 write 0..0";
            return Self::new(1, count).ok_or_else(|| none.to_owned());
        };
        let (first, last) = (number(first)?, number(last)?);
        let backwards = || {
            let remedy = format!("write the smaller one first, {last}..{first}");
            format!("there is no seed from {first} to {last}: {remedy}")
        };
        Self::new(first, last).ok_or_else(backwards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_seeds_counts_from_one() {
        assert_eq!("10".parse(), Ok(Seeds { first: 1, last: 10 }));
        assert_eq!("0..0".parse(), Ok(Seeds { first: 0, last: 0 }));
        assert_eq!("7..12".parse(), Ok(Seeds { first: 7, last: 12 }));
    }

    #[test]
    fn wrong_seeds_say_what_was_expected() {
        let wrong = |text: &str| text.parse::<Seeds>().unwrap_err();
        for text in ["", "x", "1..", "..2", "1...3", "1.5", "99999999999999999999"] {
            assert!(wrong(text).contains("N or A..B"), "{text}");
        }
        for text in ["-1", "-3..2", "1..-2"] {
            assert!(wrong(text).contains("not negative"), "{text}");
        }
        assert!(wrong("9..3").contains("smaller one first, 3..9"));
        assert!(wrong("0").contains("for the seed 0 write 0..0"));
    }
}
