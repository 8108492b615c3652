//! Shared state of all checks: the file, its problems, and the links so far.

use braid_algorithms::{Configured, Tunable};

use crate::Source;
use crate::document::Path;
use crate::error::{MOST_PROBLEMS, Problem, quote};
use crate::expand::Cell;
use crate::format::Document;
use crate::limits::{LONGEST_VALUE, NAME, is_name};
use crate::model::Link;
use crate::trace::Traces;
use crate::units::{Duration, Window};

pub(super) const LONGEST_RUN: Duration = Duration(24 * 3600 * 1_000_000_000);
pub(super) const LONGEST_DELAY: Duration = Duration(60 * 1_000_000_000);
/// Maximum of an IPv4 packet on Ethernet.
pub(super) const PACKET: u32 = 1500;

pub(super) struct Resolver<'a> {
    pub(super) source: &'a Source,
    pub(super) traces: &'a mut Traces,
    pub(super) cell: &'a Cell,
    pub(super) file: &'a Document,
    pub(super) problems: Vec<Problem>,
    /// Shared links, in the file's order.
    pub(super) links: Vec<Link>,
    /// Private copies, in the order of connections, subflows and hops. Their indices follow those of `links`.
    pub(super) private: Vec<Link>,
    /// Number of parts of private copies.
    pub(super) parts: usize,
}

impl Resolver<'_> {
    pub(super) fn fail(&mut self, place: &Path, message: impl Into<String>, hint: Option<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(self.cell.document.problem(place, false, message).hint(hint));
        }
    }

    pub(super) fn name(&mut self, place: &Path, name: &str) {
        if !is_name(name) && self.problems.len() < MOST_PROBLEMS {
            self.problems.push(self.cell.document.problem(place, true, NAME));
        }
    }

    /// Reads a congestion control or a packet scheduler.
    pub(super) fn spec<T: Tunable>(&mut self, place: &Path, text: &str) -> Option<Configured<T>> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:=".contains(c);
        if !text.chars().all(plain) || text.len() > LONGEST_VALUE {
            let message = format!("no {} is called {}", T::KIND, quote(text));
            self.fail(place, message, Some(format!("`braid {}s` lists them", T::KIND)));
            return None;
        }
        let spec = Configured::parse(text);
        spec.map_err(|error| self.fail(place, error.0, None)).ok()
    }

    /// Two keys that exclude each other; blames the one that the user has just set.
    pub(super) fn both(&mut self, a: &Path, b: &Path) {
        let (culprit, other) = if self.cell.document.is_set(b) { (b, a) } else { (a, b) };
        let message = format!("excludes {other}, which is given too");
        self.fail(culprit, message, Some("keep one of the two".to_owned()));
    }

    pub(super) fn delay(&mut self, place: &Path, delay: Duration, longest: Duration) {
        if delay > longest {
            let message = format!("expected a delay of at most \"{longest}\", found \"{delay}\"");
            self.fail(place, message, None);
        }
    }

    /// The time of a change, which must be after the previous one.
    pub(super) fn at(&mut self, place: &Path, at: Duration, before: Duration, start: &str) {
        if at == Duration(0) {
            self.fail(&place.key("at"), "expected a time after the start", Some(start.to_owned()));
        } else if at <= before {
            let message = format!("not after the change before, at {before}");
            let hint = Some("order the changes by time, one for each time".to_owned());
            self.fail(&place.key("at"), message, hint);
        }
    }

    /// Time intervals that must be ascending.
    pub(super) fn ordered(&mut self, place: &Path, windows: &[Window]) {
        for (i, pair) in windows.windows(2).enumerate() {
            if pair[1].from < pair[0].to {
                let message = format!("{} begins before {} is over", pair[1], pair[0]);
                let hint = Some("order them by time, without overlap".to_owned());
                self.fail(&place.index(i + 1), message, hint);
            }
        }
    }

    pub(super) fn count(&mut self, place: &Path, value: u32, least: u32, most: u32, what: &str) -> u32 {
        if !(least..=most).contains(&value) {
            self.fail(place, format!("expected {least} to {most} {what}, found {value}"), None);
        }
        value
    }

    /// The end of the run; a length of zero is reported elsewhere.
    pub(super) fn end(&self) -> Duration {
        match self.file.duration {
            Duration(0) => LONGEST_RUN,
            duration => duration,
        }
    }
}
