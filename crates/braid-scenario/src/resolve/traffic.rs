//! Checks `traffic`: the keys of each pattern, and their ranges.

use std::path::{self, Component};
use std::sync::Arc;

use super::resolver::{LONGEST_RUN, Resolver};
use crate::document::Path;
use crate::error::quote;
use crate::format::{self, Pattern, Side, SpreadKeys, SpreadKind};
use crate::model::{ConstantRate, Programs, Spread, Traffic};
use crate::units::{Duration, Number, Rate, Size};

/// The largest object.
const LARGEST: Size = Size(1_000_000_000_000);
/// Linux's initial window: a larger request would need congestion control.
const REQUEST_PACKETS: u32 = 10;
const USUAL_REQUEST: Size = Size(500);
const USUAL_FLOWS: u32 = 100;
const MOST_FLOWS: u32 = 10_000;
/// Maximum of arrivals, pauses or writes; more count as a mistake.
const MOST_EVENTS: u64 = 100_000_000;
const STEEPEST: f64 = 10.0;
const FLATTEST: f64 = 0.1;
const WIDEST: f64 = 5.0;

/// A key, whether it is given, and its patterns.
type Use<'a> = (&'a str, bool, &'a [Pattern]);

impl Resolver<'_> {
    pub(super) fn traffic(&mut self, place: &Path, given: Option<&format::Traffic>, mss: u32) -> Traffic {
        let Some(keys) = given else { return Traffic::Bulk };
        self.only_own_keys(place, keys);
        if keys.deadline == Some(Duration(0)) {
            self.fail(&place.key("deadline"), "expected a time above zero", None);
        }
        match keys.kind {
            Pattern::Bulk => Traffic::Bulk,
            Pattern::Object => Traffic::Object { size: self.bytes(place, "size", keys.size) },
            Pattern::Poisson => {
                let every = keys.every.unwrap_or_else(|| {
                    self.missing(place, "every", "\"200ms\"");
                    LONGEST_RUN
                });
                self.often(&place.key("every"), every.0, "arrivals");
                Traffic::Poisson {
                    every_ns: every.0,
                    size: self.bytes(place, "size", keys.size),
                    at_once: self.count(
                        &place.key("at-once"),
                        keys.at_once.unwrap_or(USUAL_FLOWS),
                        1,
                        MOST_FLOWS,
                        "flows",
                    ),
                }
            }
            Pattern::OnOff => {
                let on = self.time(place, "on", keys.on, None);
                let off = self.time(place, "off", keys.off, None);
                for (key, spread) in [("on", on), ("off", off)] {
                    self.often(&place.key(key), typical(spread), "turns");
                }
                let rate = keys.rate.map(|rate| self.constant_rate(place, rate, None, mss));
                Traffic::OnOff { on, off, rate }
            }
            Pattern::RequestResponse => {
                let request = keys.request.unwrap_or(USUAL_REQUEST);
                let most = u64::from(REQUEST_PACKETS * mss);
                if request.0 > most {
                    let message = format!(
                        "expected at most {REQUEST_PACKETS} packets ({most} bytes), found \"{request}\""
                    );
                    let hint = "a request goes out at once, without congestion control".to_owned();
                    self.fail(&place.key("request"), message, Some(hint));
                }
                Traffic::RequestResponse {
                    request: request.0.min(most) as u32,
                    response: self.bytes(place, "response", keys.response),
                    think: self.time(place, "think", keys.think, Some(Duration(0))),
                }
            }
            Pattern::Cbr => {
                let rate = keys.rate.unwrap_or_else(|| {
                    self.missing(place, "rate", "\"4mbit\"");
                    Rate(1_000_000)
                });
                Traffic::Cbr(self.constant_rate(place, rate, keys.every, mss))
            }
            Pattern::Program => Traffic::Program(Arc::new(Programs {
                server: self.command(place, "server", keys.server.as_ref(), r#"["iperf3", "-s", "-1"]"#),
                client: self.command(
                    place,
                    "client",
                    keys.client.as_ref(),
                    r#"["iperf3", "-c", "{server}"]"#,
                ),
                server_sends: keys.sender == Some(Side::Server),
                files: self.files(&place.key("files"), keys.files.as_deref().unwrap_or_default()),
            })),
        }
    }

    fn command(
        &mut self,
        place: &Path,
        key: &str,
        given: Option<&Vec<String>>,
        example: &str,
    ) -> Vec<String> {
        let Some(words) = given else {
            self.missing(place, key, example);
            return Vec::new();
        };
        if words.first().is_none_or(String::is_empty) {
            let hint = Some(format!("write the program and its arguments, such as {example}"));
            self.fail(&place.key(key), "expected the name of a program first", hint);
        }
        words.clone()
    }

    /// Files by their names in the programs' folder.
    fn files(&mut self, place: &Path, names: &[String]) -> Vec<(String, path::PathBuf)> {
        let folder = path::Path::new(&self.source.name).parent().unwrap_or(path::Path::new(""));
        let files: Vec<_> = names.iter().map(|name| (name.clone(), folder.join(name))).collect();
        for (number, (name, path)) in files.iter().enumerate() {
            let place = place.index(number);
            let goes_up = path::Path::new(name).components().any(|part| part == Component::ParentDir);
            if goes_up {
                let hint = Some("put it beside the scenario, or give its absolute path".to_owned());
                self.fail(&place, "a path with \"..\" has no place among the programs' files", hint);
            } else if !path.is_file() {
                let message = format!("no such file: {}", quote(&path.display().to_string()));
                let hint = Some("paths are relative to the scenario's file".to_owned());
                self.fail(&place, message, hint);
            }
        }
        files
    }

    fn only_own_keys(&mut self, place: &Path, keys: &format::Traffic) {
        let uses: [Use<'_>; 14] = [
            ("size", keys.size.is_some(), &[Pattern::Object, Pattern::Poisson]),
            ("every", keys.every.is_some(), &[Pattern::Poisson, Pattern::Cbr]),
            ("at-once", keys.at_once.is_some(), &[Pattern::Poisson]),
            ("on", keys.on.is_some(), &[Pattern::OnOff]),
            ("off", keys.off.is_some(), &[Pattern::OnOff]),
            ("rate", keys.rate.is_some(), &[Pattern::Cbr, Pattern::OnOff]),
            (
                "deadline",
                keys.deadline.is_some(),
                &[Pattern::Object, Pattern::Poisson, Pattern::RequestResponse, Pattern::Cbr],
            ),
            ("request", keys.request.is_some(), &[Pattern::RequestResponse]),
            ("response", keys.response.is_some(), &[Pattern::RequestResponse]),
            ("think", keys.think.is_some(), &[Pattern::RequestResponse]),
            ("server", keys.server.is_some(), &[Pattern::Program]),
            ("client", keys.client.is_some(), &[Pattern::Program]),
            ("sender", keys.sender.is_some(), &[Pattern::Program]),
            ("files", keys.files.is_some(), &[Pattern::Program]),
        ];
        for (key, given, owners) in uses {
            if given && !owners.contains(&keys.kind) {
                let owners: Vec<&str> = owners.iter().map(|owner| owner.name()).collect();
                let hint = Some("remove it, or change kind".to_owned());
                self.fail(&place.key(key), format!("only for {}", owners.join(" and ")), hint);
            }
        }
    }

    fn missing(&mut self, place: &Path, key: &str, example: &str) {
        let hint = Some(format!("add {key} = {example}"));
        self.fail(place, format!("missing key {key:?}"), hint);
    }

    /// A mean time between events.
    fn often(&mut self, place: &Path, every_ns: u64, events: &str) {
        if every_ns == 0 {
            self.fail(place, "expected a time above zero", None);
        } else if self.end().0 / every_ns > MOST_EVENTS {
            let message = format!("more than {MOST_EVENTS} {events} in a run");
            self.fail(place, message, Some("make it longer, or shorten duration".to_owned()));
        }
    }

    fn constant_rate(&mut self, place: &Path, rate: Rate, every: Option<Duration>, mss: u32) -> ConstantRate {
        let write = every.map_or(u128::from(mss), |every| {
            let bits = u128::from(rate.0) * u128::from(every.0);
            (bits + 4_000_000_000) / 8_000_000_000
        });
        if write == 0 || write > 1 << 30 {
            let message = format!("a write of {write} bytes, expected at least 1 and at most \"1024MiB\"");
            self.fail(&place.key("every"), message, None);
        }
        let write = write.clamp(1, 1 << 30) as u32;
        let writes = u128::from(rate.0) * u128::from(self.end().0) / (u128::from(write) * 8_000_000_000);
        if writes > MOST_EVENTS.into() {
            let message = format!("more than {MOST_EVENTS} writes of {write} bytes in a run");
            self.fail(&place.key("rate"), message, Some("write more at a time with every".to_owned()));
        }
        ConstantRate { rate_bps: rate.0, write }
    }

    fn bytes(&mut self, place: &Path, key: &str, given: Option<format::Spread<Size>>) -> Spread {
        let Some(given) = given else {
            self.missing(place, key, "\"100kB\"");
            return Spread::Fixed(1);
        };
        let largest = LARGEST.to_string();
        self.spread(&place.key(key), given, |size| size.0, LARGEST.0, &largest)
    }

    fn time(
        &mut self,
        place: &Path,
        key: &str,
        given: Option<format::Spread<Duration>>,
        usual: Option<Duration>,
    ) -> Spread {
        let Some(given) = given.or(usual.map(format::Spread::Fixed)) else {
            self.missing(place, key, "\"1s\"");
            return Spread::Fixed(1_000_000_000);
        };
        let longest = LONGEST_RUN.to_string();
        self.spread(&place.key(key), given, |time| time.0, LONGEST_RUN.0, &longest)
    }

    fn spread<T: Copy>(
        &mut self,
        place: &Path,
        given: format::Spread<T>,
        amount: fn(T) -> u64,
        largest: u64,
        largest_text: &str,
    ) -> Spread {
        let keys = match given {
            format::Spread::Fixed(value) => {
                if amount(value) > largest {
                    self.fail(place, format!("expected at most \"{largest_text}\""), None);
                }
                return Spread::Fixed(amount(value));
            }
            format::Spread::Drawn(keys) => keys,
        };
        self.only_own_parameters(place, &keys);
        let mut needed = |key: &str, value: Option<T>| {
            let amount = value.map(amount);
            match amount {
                Some(0) => self.fail(&place.key(key), "expected more than zero", None),
                Some(amount) if amount > largest => {
                    self.fail(&place.key(key), format!("expected at most \"{largest_text}\""), None);
                }
                Some(_) => {}
                None => self.fail(place, format!("missing key {key:?}"), None),
            }
            amount.unwrap_or(1) as f64
        };
        match keys.kind {
            SpreadKind::Exponential => Spread::Exponential { mean: needed("mean", keys.mean) },
            SpreadKind::Lognormal => {
                let median = needed("median", keys.median);
                Spread::Lognormal { median, sigma: self.number(place, "sigma", keys.sigma, 0.0, WIDEST) }
            }
            SpreadKind::Pareto => {
                let (least, most) = (needed("least", keys.least), needed("most", keys.most));
                if least >= most && keys.least.is_some() && keys.most.is_some() {
                    let hint = Some("make least smaller than most".to_owned());
                    self.fail(&place.key("least"), "not below most", hint);
                }
                let shape = self.number(place, "shape", keys.shape, FLATTEST, STEEPEST);
                Spread::Pareto { shape, least, most }
            }
        }
    }

    fn only_own_parameters<T>(&mut self, place: &Path, keys: &SpreadKeys<T>) {
        let uses = [
            ("mean", keys.mean.is_some(), SpreadKind::Exponential, "exponential"),
            ("median", keys.median.is_some(), SpreadKind::Lognormal, "lognormal"),
            ("sigma", keys.sigma.is_some(), SpreadKind::Lognormal, "lognormal"),
            ("shape", keys.shape.is_some(), SpreadKind::Pareto, "pareto"),
            ("least", keys.least.is_some(), SpreadKind::Pareto, "pareto"),
            ("most", keys.most.is_some(), SpreadKind::Pareto, "pareto"),
        ];
        for (key, given, owner, name) in uses {
            if given && owner != keys.kind {
                let hint = Some("remove it, or change kind".to_owned());
                self.fail(&place.key(key), format!("only for {name}"), hint);
            }
        }
    }

    fn number(&mut self, place: &Path, key: &str, given: Option<Number>, least: f64, most: f64) -> f64 {
        match given {
            Some(Number(value)) if (least..=most).contains(&value) => return value,
            Some(Number(value)) => {
                self.fail(&place.key(key), format!("expected {least} to {most}, found {value}"), None);
            }
            None => self.fail(place, format!("missing key {key:?}"), None),
        }
        1.0
    }
}

impl Pattern {
    fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Object => "object",
            Self::Poisson => "poisson",
            Self::OnOff => "on-off",
            Self::RequestResponse => "request-response",
            Self::Cbr => "cbr",
            Self::Program => "program",
        }
    }
}

/// About the median of an amount.
fn typical(spread: Spread) -> u64 {
    match spread {
        Spread::Fixed(amount) => amount,
        Spread::Exponential { mean } => mean as u64,
        Spread::Lognormal { median, .. } => median as u64,
        Spread::Pareto { least, .. } => least as u64,
    }
}
