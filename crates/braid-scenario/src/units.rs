//! Quantities with units as text in a scenario; parsed exactly or refused.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::error::quote;

/// Why a text is not such a quantity, and the remedy. `Display` prints the reason, and the remedy after a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Expected and actual text.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n{hint}"))
    }
}

/// A span of time in nanoseconds: `ns`, `us`, `ms`, `s`, `min`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub u64);

/// A rate in bits per second, 1 bit/s to 1 Tbit/s: `bit`, `kbit`, `mbit`, `gbit`, all powers of 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A size in bytes, at least 1: `B`, `kB`, `MB` (powers of 1000), `KiB`, `MiB` (powers of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A number of packets, at least 1: `100p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packets(pub u32);

/// The capacity of a queue: [`Packets`] or a [`Size`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// In packets of any size.
    Packets(Packets),
    /// In bytes on the wire.
    Bytes(Size),
}

/// A threshold of a queue: [`Packets`], a [`Size`], or the [`Duration`] that a packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Packets of any size, or bytes on the wire.
    Length(Queue),
    /// Waiting time.
    Wait(Duration),
}

/// A probability in [0, 1): a number such as `0.001`, or a percentage such as `"0.1%"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(pub f64);

/// A probability in [0, 1], written like a [`Probability`].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Chance(pub f64);

/// A number without a unit, at least 0 and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

/// An interval from the start of the run, `"60s..90s"`, its end excluded and after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First time inside.
    pub from: Duration,
    /// First time after.
    pub to: Duration,
}

/// When something begins: a [`Duration`] after the start of the run, or a [`Window`] from which the seed draws the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time.
    At(Duration),
    /// At a time drawn uniformly from these.
    Within(Window),
}

impl Default for Start {
    fn default() -> Self {
        Self::At(Duration::default())
    }
}

/// How a family of units is written, smallest unit first.
struct Units {
    /// `a rate such as "10mbit"`.
    expected: &'static str,
    /// Name and size of each unit.
    sizes: &'static [(&'static str, u64)],
    /// A suggestion for an unknown unit, if possible.
    remedy: fn(number: &str, unit: &str) -> Option<String>,
}

static TIME: Units = Units {
    expected: "a time such as \"10ms\"",
    sizes: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)],
    remedy: |number, unit| {
        Some(match unit.to_lowercase().as_str() {
            "m" => format!("\"m\" may be minutes or milliseconds: write \"{number}min\" or \"{number}ms\""),
            "h" | "hour" | "hours" => "write hours as minutes: 1 h = \"60min\"".to_owned(),
            "sec" | "secs" | "second" | "seconds" | "s" => format!("write \"{number}s\""),
            "msec" | "msecs" | "millis" | "ms" => format!("write \"{number}ms\""),
            "usec" | "usecs" | "\u{b5}s" | "\u{3bc}s" | "us" => format!("write \"{number}us\""),
            "minute" | "minutes" | "min" | "mins" => format!("write \"{number}min\""),
            _ => return None,
        })
    },
};

static RATE: Units = Units {
    expected: "a rate such as \"10mbit\"",
    sizes: &[("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)],
    remedy: |number, unit| {
        let lower = unit.to_lowercase();
        let (prefix, rest) = match lower.as_bytes().first()? {
            b @ (b'k' | b'm' | b'g') => (char::from(*b).to_string(), &lower[1..]),
            b't' => return None,
            _ => (String::new(), lower.as_str()),
        };
        let write = format!("write \"{number}{prefix}bit\"");
        match rest {
            "bps" | "b/s" | "ps" | "b" | "byte" | "bytes" | "byte/s" => {
                Some(format!("{unit:?} is ambiguous, bits or bytes per second: {write} if bits are meant"))
            }
            "" | "bit" | "bits" | "bit/s" | "bits/s" | "bit/sec" => Some(write),
            _ => None,
        }
    },
};

static SIZE: Units = Units {
    expected: "a size such as \"64kB\" or \"64KiB\"",
    sizes: &[("B", 1), ("kB", 1_000), ("KiB", 1 << 10), ("MB", 1_000_000), ("MiB", 1 << 20)],
    remedy: |number, unit| {
        Some(match unit.to_lowercase().as_str() {
            "k" | "kb" => format!("write \"{number}kB\" (1000 bytes) or \"{number}KiB\" (1024 bytes)"),
            "m" | "mb" => format!("write \"{number}MB\" (1000 kB) or \"{number}MiB\" (1024 KiB)"),
            "kib" => format!("write \"{number}KiB\""),
            "mib" => format!("write \"{number}MiB\""),
            "b" | "byte" | "bytes" => format!("write \"{number}B\""),
            _ => return None,
        })
    },
};

static PACKETS: Units =
    Units { expected: "a number of packets such as \"100p\"", sizes: &[("p", 1)], remedy: packets_remedy };

fn packets_remedy(number: &str, unit: &str) -> Option<String> {
    ["p", "pkt", "pkts", "packet", "packets"]
        .contains(&unit.to_lowercase().as_str())
        .then(|| format!("write \"{number}p\""))
}

impl Units {
    fn parse(&self, text: &str) -> Result<u64, Invalid> {
        let (number, unit) = split(text);
        if number.is_empty() {
            let positive = text.starts_with(['-', '+']).then(|| "write the number without a sign".to_owned());
            return Err(self.invalid(text, positive));
        }
        if unit.is_empty() {
            return Err(self.without_unit(text));
        }
        let Some((_, scale)) = self.sizes.iter().find(|(name, _)| *name == unit) else {
            let exponent = || {
                let digit = unit.strip_prefix(['e', 'E'])?.trim_start_matches(['+', '-']).chars().next()?;
                digit.is_ascii_digit().then(|| "write the number as digits, without an exponent".to_owned())
            };
            let remedy = exponent().or_else(|| (self.remedy)(number, unit.trim())).or_else(|| {
                let names: Vec<&str> = self.sizes.iter().map(|(name, _)| *name).collect();
                Some(match names.as_slice() {
                    [only] => format!("the unit is {only}"),
                    _ => format!("the units are {}", names.join(", ")),
                })
            });
            return Err(self.invalid(text, remedy));
        };
        let (digits, decimals) = decimal(number).ok_or_else(|| {
            self.invalid(text, Some("write the number as digits, with at most one decimal point".to_owned()))
        })?;
        let smallest = self.sizes[0].0;
        let product = digits
            .checked_mul(u128::from(*scale))
            .ok_or_else(|| self.invalid(text, Some("the number is too large".to_owned())))?;
        // `decimal` takes at most 30 digits, so the divisor fits.
        let divisor = 10_u128.pow(decimals);
        if product % divisor != 0 {
            let hint = format!("it must be a multiple of \"1{smallest}\"");
            return Err(self.invalid(text, Some(hint)));
        }
        u64::try_from(product / divisor)
            .map_err(|_| self.invalid(text, Some("the number is too large".to_owned())))
    }

    fn invalid(&self, found: &str, hint: Option<String>) -> Invalid {
        Invalid { message: format!("expected {}, found {}", self.expected, quote(found)), hint }
    }

    fn without_unit(&self, number: &str) -> Invalid {
        let choices: Vec<String> = self.sizes.iter().map(|(unit, _)| format!("\"{number}{unit}\"")).collect();
        Invalid {
            message: format!("expected {}, found {} without a unit", self.expected, bare(number)),
            hint: Some(format!("write {}", or(&choices))),
        }
    }

    /// In the largest unit that gives a whole number; minutes as seconds, as in messages of other tools.
    fn write(&self, f: &mut fmt::Formatter<'_>, value: u64) -> fmt::Result {
        let exact =
            |(unit, scale): &&(&str, u64)| value > 0 && value.is_multiple_of(*scale) && *unit != "min";
        let (unit, scale) =
            self.sizes.iter().filter(exact).max_by_key(|unit| unit.1).unwrap_or(&self.sizes[0]);
        write!(f, "{}{unit}", value / scale)
    }
}

/// Leading digits and decimal points, and the rest.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// `1.5` is (15, 1): digits and how many of them are decimals.
fn decimal(number: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || whole.len() + fraction.len() > 30 {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, fraction.len() as u32))
}

/// A number in the user's spelling, quoted unless it is one.
fn bare(number: &str) -> String {
    if number.len() <= 30 { number.to_owned() } else { quote(number) }
}

fn or(choices: &[String]) -> String {
    match choices {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

impl FromStr for Duration {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        TIME.parse(text).map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("0s") } else { TIME.write(f, self.0) }
    }
}

impl FromStr for Rate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match RATE.parse(text)? {
            rate @ 1..=1_000_000_000_000 => Ok(Self(rate)),
            _ => Err(RATE.invalid(text, Some("a rate is above zero and at most \"1000gbit\"".to_owned()))),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.write(f, self.0)
    }
}

impl FromStr for Size {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match SIZE.parse(text)? {
            0 => Err(SIZE.invalid(text, Some("it must be at least \"1B\"".to_owned()))),
            bytes => Ok(Self(bytes)),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SIZE.write(f, self.0)
    }
}

impl FromStr for Packets {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match PACKETS.parse(text)? {
            0 => Err(PACKETS.invalid(text, Some("it must be at least \"1p\"".to_owned()))),
            count => u32::try_from(count)
                .map(Self)
                .map_err(|_| PACKETS.invalid(text, Some("the number is too large".to_owned()))),
        }
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PACKETS.write(f, self.0.into())
    }
}

impl Queue {
    const EXPECTED: &str = "a queue length such as \"100p\" (packets) or \"64kB\"";
}

impl FromStr for Queue {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (number, unit) = split(text);
        let says_packets = packets_remedy(number, unit.trim()).is_some();
        let parsed =
            if says_packets { text.parse().map(Self::Packets) } else { text.parse().map(Self::Bytes) };
        parsed.map_err(|invalid| Invalid {
            message: invalid
                .message
                .replace(if says_packets { PACKETS.expected } else { SIZE.expected }, Self::EXPECTED),
            hint: if unit.is_empty() && !number.is_empty() {
                Some(format!("write \"{number}p\" for packets or \"{number}B\" for bytes"))
            } else {
                invalid.hint.map(|hint| hint.replace("the units are", "the units are p,"))
            },
        })
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => packets.fmt(f),
            Self::Bytes(size) => size.fmt(f),
        }
    }
}

impl Threshold {
    const EXPECTED: &str = "a queue length such as \"20p\" or \"30kB\", or a time such as \"1ms\"";
}

impl FromStr for Threshold {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (number, unit) = split(text);
        let is_time = TIME.sizes.iter().any(|(name, _)| *name == unit);
        let parsed = if is_time { text.parse().map(Self::Wait) } else { text.parse().map(Self::Length) };
        parsed.map_err(|invalid| Invalid {
            message: format!("expected {}, found {}", Self::EXPECTED, quote(text)),
            hint: if unit.is_empty() && !number.is_empty() {
                Some(format!(
                    "write \"{number}p\" for packets, \"{number}B\" for bytes or \"{number}ms\" for a time"
                ))
            } else {
                invalid.hint.map(|hint| hint.replace("the units are p,", "the units are p, us, ms, s,"))
            },
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => length.fmt(f),
            Self::Wait(time) => time.fmt(f),
        }
    }
}

impl Probability {
    const EXPECTED: &str = "a probability such as 0.001 or \"0.1%\"";

    fn checked(value: f64, found: impl FnOnce() -> String) -> Result<Self, Invalid> {
        if (0.0..1.0).contains(&value) {
            return Ok(Self(value));
        }
        let found = found();
        let hint = if (1.0..100.0).contains(&value) && !found.contains('%') {
            format!("it must be below 1; write \"{value}%\" if percent is meant")
        } else {
            "it must be at least 0 and below 1 (100%)".to_owned()
        };
        Err(Self::invalid(&found, Some(hint)))
    }

    fn invalid(found: &str, hint: Option<String>) -> Invalid {
        Invalid { message: format!("expected {}, found {found}", Self::EXPECTED), hint }
    }
}

/// A number, or a percentage.
fn fraction(text: &str) -> Result<f64, Invalid> {
    let invalid = || {
        Probability::invalid(
            &quote(text),
            Some("write a number from 0 to 1, or a percentage with % after it".to_owned()),
        )
    };
    let value = if let Some(percent) = text.strip_suffix('%') {
        // Shifting the decimal point before the conversion makes "0.1%" exactly equal to 0.001.
        let (digits, decimals) = decimal(percent).ok_or_else(invalid)?;
        format!("{digits}e-{}", decimals + 2).parse()
    } else {
        text.parse::<f64>()
    };
    value.map_err(|_| invalid())
}

impl FromStr for Probability {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::checked(fraction(text)?, || quote(text))
    }
}

impl Chance {
    fn checked(value: f64, found: impl FnOnce() -> String) -> Result<Self, Invalid> {
        if (0.0..=1.0).contains(&value) {
            return Ok(Self(value));
        }
        let hint = "it must be at least 0 and at most 1 (100%)".to_owned();
        Err(Probability::invalid(&found(), Some(hint)))
    }
}

impl FromStr for Chance {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::checked(fraction(text)?, || quote(text))
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Window {
    const EXPECTED: &str = "an interval of time such as \"60s..90s\"";
}

impl FromStr for Window {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = |hint: String| Invalid {
            message: format!("expected {}, found {}", Self::EXPECTED, quote(text)),
            hint: Some(hint),
        };
        let (from, to) =
            text.split_once("..").ok_or_else(|| invalid("write its start, two dots, its end".to_owned()))?;
        let time = |part: &str| {
            part.parse::<Duration>().map_err(|e| invalid(e.hint.unwrap_or_else(|| e.message.clone())))
        };
        let (from, to) = (time(from)?, time(to)?);
        if from < to {
            Ok(Self { from, to })
        } else {
            Err(invalid("the end must come after the start".to_owned()))
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

impl Start {
    const EXPECTED: &str = "a time such as \"10s\", or \"2s..10s\" for a random one";

    /// The earliest and the latest time.
    pub fn bounds(self) -> (Duration, Duration) {
        match self {
            Self::At(time) => (time, time),
            Self::Within(window) => (window.from, window.to),
        }
    }
}

impl FromStr for Start {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.contains("..") { text.parse().map(Self::Within) } else { text.parse().map(Self::At) }
    }
}

impl Number {
    const EXPECTED: &str = "a number such as 1.5";

    fn checked(value: f64, found: impl FnOnce() -> String) -> Result<Self, Invalid> {
        if value.is_finite() && value >= 0.0 {
            return Ok(Self(value));
        }
        let message = format!("expected {}, found {}", Self::EXPECTED, found());
        Err(Invalid { message, hint: Some("it must be at least 0".to_owned()) })
    }
}

impl FromStr for Number {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.parse().unwrap_or(f64::NAN);
        Self::checked(number, || quote(text))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Deserialisation beyond [`FromStr`].
pub trait Quantity: FromStr<Err = Invalid> {
    /// `a rate such as "10mbit"`.
    fn expected() -> &'static str;

    /// From a TOML number, with its text.
    ///
    /// # Errors
    /// As [`FromStr`]; a quantity with a unit is never a number.
    fn from_number(_value: f64, text: &str) -> Result<Self, Invalid> {
        Self::from_str(text)
    }
}

impl Quantity for Duration {
    fn expected() -> &'static str {
        TIME.expected
    }
}

impl Quantity for Rate {
    fn expected() -> &'static str {
        RATE.expected
    }
}

impl Quantity for Size {
    fn expected() -> &'static str {
        SIZE.expected
    }
}

impl Quantity for Packets {
    fn expected() -> &'static str {
        PACKETS.expected
    }
}

impl Quantity for Queue {
    fn expected() -> &'static str {
        Self::EXPECTED
    }
}

impl Quantity for Threshold {
    fn expected() -> &'static str {
        Self::EXPECTED
    }
}

impl Quantity for Probability {
    fn expected() -> &'static str {
        Self::EXPECTED
    }

    fn from_number(value: f64, text: &str) -> Result<Self, Invalid> {
        Self::checked(value, || text.to_owned())
    }
}

impl Quantity for Chance {
    fn expected() -> &'static str {
        Probability::EXPECTED
    }

    fn from_number(value: f64, text: &str) -> Result<Self, Invalid> {
        Self::checked(value, || text.to_owned())
    }
}

impl Quantity for Number {
    fn expected() -> &'static str {
        Self::EXPECTED
    }

    fn from_number(value: f64, text: &str) -> Result<Self, Invalid> {
        Self::checked(value, || text.to_owned())
    }
}

impl Quantity for Window {
    fn expected() -> &'static str {
        Self::EXPECTED
    }
}

impl Quantity for Start {
    fn expected() -> &'static str {
        Self::EXPECTED
    }
}

struct QuantityVisitor<T>(std::marker::PhantomData<T>);

impl<T: Quantity> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::expected())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        T::from_number(value as f64, &value.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        T::from_number(value, &value.to_string()).map_err(E::custom)
    }
}

macro_rules! deserialize {
    ($($quantity:ty),*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor::<Self>(std::marker::PhantomData))
            }
        }
    )*};
}

deserialize!(Duration, Rate, Size, Packets, Queue, Threshold, Probability, Chance, Number, Window, Start);
