//! Rate traces in the format of mahimahi's `mm-link` (Netravali et al., USENIX ATC 2015), read unchanged.
//!
//! Each line is a time in whole milliseconds, in ascending order: an opportunity to deliver 1504 bytes, a packet of
//! 1500 bytes and the 4 bytes that the TUN device adds. Several opportunities in one millisecond are several lines. A
//! packet may need several opportunities, and one opportunity may carry several packets. Unused opportunities are lost.
//! After the last line the trace restarts at that time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Problem, quote, suggest};
use crate::{Source, embedded};

/// Maximum of a trace's bytes, in case a device or disk image is given by mistake.
const LONGEST: u64 = 64 << 20;
const MS: u64 = 1_000_000;

/// When a link may deliver how much.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Trace {
    /// Its name in the scenario.
    pub name: String,
    /// Milliseconds, ascending; not empty.
    times: Vec<u32>,
    /// Milliseconds until it repeats, above zero; at least as late as all times.
    period: u32,
}

impl Trace {
    /// Bytes of an opportunity.
    pub const OPPORTUNITY: u32 = 1504;
    /// Bytes that a packet needs in addition to its own.
    pub const OVERHEAD: u32 = 4;

    /// Parses a trace; messages call it `name`.
    ///
    /// # Errors
    ///
    /// If a line is not a number, times descend, or all are zero.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let remedy = "a trace has a time in whole milliseconds on each line, as mahimahi's mm-link takes it";
        let mut times: Vec<u32> = Vec::with_capacity(text.len() / 6);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let time = line.strip_suffix('\n').unwrap_or(line);
            let time = time.strip_suffix('\r').unwrap_or(time);
            let fail = |message: String, hint: &str| {
                let problem = Problem::in_text(name, text, at..at + time.len(), message);
                Err(problem.hint(Some(hint.to_owned())))
            };
            if time.is_empty() {
                return fail("an empty line".to_owned(), remedy);
            }
            if !time.bytes().all(|byte| byte.is_ascii_digit()) {
                return fail(format!("expected a time in milliseconds, found {}", quote(time)), remedy);
            }
            let Ok(ms) = time.parse::<u32>() else {
                let hint = "49 days, or 4294967295 milliseconds, are the most";
                return fail(format!("the time {} is too large", quote(time)), hint);
            };
            if let Some(before) = times.last().filter(|before| **before > ms) {
                let hint = "times must not go back: sort the lines, for instance with `sort -n`";
                return fail(format!("{ms} ms comes after {before} ms"), hint);
            }
            times.push(ms);
            at += line.len();
        }
        match times.last() {
            None => Err(Problem::new(name, "empty, so it delivers nothing").hint(Some(remedy.to_owned()))),
            Some(0) => {
                let hint = "it repeats from its last time, which must be above zero".to_owned();
                Err(Problem::new(name, "the trace has no duration").hint(Some(hint)))
            }
            Some(&period) => Ok(Self { name: name.to_owned(), times, period }),
        }
    }

    /// The same trace, started at `start` milliseconds, which is below its period.
    #[must_use]
    pub fn begun_at(&self, start: u32) -> Self {
        let first = self.times.partition_point(|&ms| ms < start);
        let (before, from) = self.times.split_at(first);
        let times =
            from.iter().map(|ms| ms - start).chain(before.iter().map(|ms| ms + (self.period - start)));
        Self { name: self.name.clone(), times: times.collect(), period: self.period }
    }

    /// Opportunities until it repeats.
    pub fn opportunities(&self) -> u64 {
        self.times.len() as u64
    }

    /// Its length, nanoseconds.
    pub fn period_ns(&self) -> u64 {
        u64::from(self.period) * MS
    }

    /// Time of the opportunity with that number, nanoseconds from the start of the run; the first has number 0.
    pub fn time_ns(&self, number: u64) -> u64 {
        let n = self.opportunities();
        (number / n) * self.period_ns() + u64::from(self.times[(number % n) as usize]) * MS
    }

    /// Number of opportunities at that time or before; also the number of the next one.
    pub fn until(&self, time_ns: u64) -> u64 {
        let (cycles, rest) = (time_ns / self.period_ns(), time_ns % self.period_ns());
        cycles * self.opportunities() + self.times.partition_point(|&ms| u64::from(ms) * MS <= rest) as u64
    }

    /// The mean rate for packets of 1500 bytes, bits per second; at least 1.
    pub fn mean_bps(&self) -> u64 {
        rate(self.opportunities(), self.period_ns())
    }

    /// The mean rate over its best second, or over all of it if it is shorter.
    pub fn peak_bps(&self) -> u64 {
        const SECOND: u32 = 1000;
        if self.period_ns() <= u64::from(SECOND) * MS {
            return self.mean_bps();
        }
        let mut most = 0;
        let mut from = 0;
        for to in 0..self.times.len() {
            while self.times[to] - self.times[from] >= SECOND {
                from += 1;
            }
            most = most.max(to - from + 1);
        }
        rate(most as u64, u64::from(SECOND) * MS).max(self.mean_bps())
    }
}

fn rate(opportunities: u64, ns: u64) -> u64 {
    let bits = u128::from(opportunities) * u128::from(8 * (Trace::OPPORTUNITY - Trace::OVERHEAD));
    u64::try_from(bits * 1_000_000_000 / u128::from(ns)).unwrap_or(u64::MAX).max(1)
}

/// Traces that have been read, so that each is read once per scenario.
#[derive(Default)]
pub(crate) struct Traces(BTreeMap<String, Result<Arc<Trace>, NotRead>>);

/// Why a trace could not be read.
#[derive(Clone)]
pub(crate) enum NotRead {
    /// An error within the trace.
    Inside(Problem),
    /// Nothing to read: message and remedy.
    Outside(String, Option<String>),
}

impl Traces {
    /// The built-in trace of that name, or else the file at that path relative to the scenario.
    pub(crate) fn get(&mut self, source: &Source, name: &str) -> Result<Arc<Trace>, NotRead> {
        let read = || read(source, name).map(Arc::new);
        self.0.entry(name.to_owned()).or_insert_with(read).clone()
    }
}

fn read(source: &Source, name: &str) -> Result<Trace, NotRead> {
    if !name.contains(['.', '/', '\\']) {
        let Some(text) = embedded::trace(name) else {
            let hint = suggest(name, embedded::traces()).map(|hint| {
                format!("{hint}; the name of a file needs an ending or a path, such as \"./{name}\"")
            });
            return Err(NotRead::Outside(format!("no built-in trace is called {}", quote(name)), hint));
        };
        return Trace::parse(name, text).map_err(NotRead::Inside);
    }
    let path = Path::new(&source.name).parent().unwrap_or(Path::new("")).join(name);
    let shown = path.display().to_string();
    let fail =
        |message: String, hint: &str| NotRead::Outside(message, (!hint.is_empty()).then(|| hint.to_owned()));
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => {
            fail(format!("no such file: {}", quote(&shown)), "paths are relative to the scenario's file")
        }
        ErrorKind::PermissionDenied => fail(
            format!("no permission to read {}", quote(&shown)),
            "make it readable, for instance with `chmod +r`",
        ),
        _ => fail(format!("{} cannot be read: {error}", quote(&shown)), ""),
    };
    let kind = std::fs::metadata(&path).map_err(failed)?;
    if kind.is_dir() {
        return Err(fail(format!("{} is a directory, not a trace", quote(&shown)), "name a file inside it"));
    }
    if !kind.is_file() {
        return Err(fail(format!("{} is a device, not a trace", quote(&shown)), "name a file"));
    }
    if kind.len() > LONGEST {
        let hint = "cut it, for instance with `head -n 1000000`: it repeats anyway";
        return Err(fail(format!("{} is longer than 64 MiB", quote(&shown)), hint));
    }
    let mut bytes = Vec::new();
    File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].split(|byte| *byte == b'\n').count();
        let message = format!("not a trace: byte 0x{:02x} is no digit", bytes[at]);
        let hint = "a trace is a text with a time in whole milliseconds on each line".to_owned();
        NotRead::Inside(Problem::new(format!("{shown}:{line}"), message).hint(Some(hint)))
    })?;
    let mut trace = Trace::parse(&shown, &text).map_err(NotRead::Inside)?;
    name.clone_into(&mut trace.name);
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::{MS, Trace};

    fn trace(text: &str) -> Trace {
        Trace::parse("x.trace", text).unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Computed by hand by mahimahi's rule: after the last line its time is added to all following ones.
    #[test]
    fn a_trace_begins_again_at_its_last_time() {
        let trace = trace("0\n2\n2\n5\n");
        let times: Vec<u64> = (0..9).map(|number| trace.time_ns(number) / MS).collect();
        assert_eq!(times, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
        let until: Vec<u64> = (0..8).map(|ms| trace.until(ms * MS)).collect();
        assert_eq!(until, [1, 1, 3, 3, 3, 5, 5, 7]);
        assert_eq!(trace.until(5 * MS - 1), 3);
    }

    #[test]
    fn counting_and_timing_agree() {
        let trace = trace("1\n1\n1\n4\n9\n9\n");
        for number in 0..40 {
            let time = trace.time_ns(number);
            assert!(trace.until(time) > number && trace.until(time - 1) <= number, "{number}");
        }
    }

    #[test]
    fn rates_are_those_of_full_packets() {
        // mahimahi calls one opportunity per millisecond 12 Mbit/s.
        let lines = |times: Vec<u32>| times.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let even = lines((1..=3000).collect());
        assert_eq!((trace(&even).mean_bps(), trace(&even).peak_bps()), (12_000_000, 12_000_000));
        let burst = lines((1..=3000_u32).map(|ms| if ms <= 2000 { ms.div_ceil(2) } else { ms }).collect());
        assert_eq!((trace(&burst).mean_bps(), trace(&burst).peak_bps()), (12_000_000, 24_000_000));
    }

    #[test]
    fn a_trace_begun_later_is_the_same_one_that_much_earlier() {
        for text in ["1\n1\n1\n4\n9\n9\n", "0\n2\n2\n5\n", "7\n"] {
            let whole = trace(text);
            let period = (whole.period_ns() / MS) as u32;
            for start in 0..period {
                let later = whole.begun_at(start);
                assert_eq!((later.period_ns(), later.mean_bps()), (whole.period_ns(), whole.mean_bps()));
                let shift = u64::from(start) * MS;
                // Opportunities at the very start have passed.
                let gone = if start == 0 { 0 } else { whole.until(shift - 1) };
                for ms in 0..4 * u64::from(period) {
                    let here = whole.until(shift + ms * MS) - gone;
                    assert_eq!(later.until(ms * MS), here, "{text:?} from {start}, at {ms}");
                }
                for number in 0..20 {
                    assert_eq!(
                        later.time_ns(number),
                        whole.time_ns(number + gone) - shift,
                        "{text:?}, {start}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_no_trace_gets_a_message_with_its_line() {
        for (text, expected) in [
            ("", "x.trace: empty, so it delivers nothing"),
            ("1\n\n2\n", "x.trace:2:1: an empty line"),
            ("1\n-2\n", "x.trace:2:1: expected a time in milliseconds, found \"-2\""),
            ("1\n2.5\n", "x.trace:2:1: expected a time in milliseconds, found \"2.5\""),
            ("12 mbit\n", "x.trace:1:1: expected a time in milliseconds, found \"12 mbit\""),
            ("5\n4\n", "x.trace:2:1: 4 ms comes after 5 ms"),
            ("0\n0\n", "x.trace: the trace has no duration"),
            ("4294967296\n", "x.trace:1:1: the time \"4294967296\" is too large"),
        ] {
            let problem = Trace::parse("x.trace", text).expect_err(text);
            assert_eq!(format!("{}: {}", problem.place, problem.message), expected);
            assert!(problem.hint.is_some(), "{text:?}");
        }
        assert_eq!(trace("1\r\n2\r\n"), trace("1\n2"));
    }
}
