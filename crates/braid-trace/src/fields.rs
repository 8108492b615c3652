//! Names and widths of the fields, for text and JSON.

use braid_algorithms::layout::{Event, Subflow};

use crate::Error;

/// Width and sign of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    U32,
    S32,
    U64,
}

/// A structure of integers, as a row. Signed values are sign-extended.
pub(crate) trait Row: Default {
    const FIELDS: &'static [(&'static str, Width)];
    fn get(&self) -> Vec<u64>;
    fn from_values(values: &[u64]) -> Self;
}

macro_rules! row {
    ($type:ty: $($width:ident $name:literal $field:ident as $rust:ty),* $(,)?) => {
        impl Row for $type {
            const FIELDS: &'static [(&'static str, Width)] = &[$(($name, Width::$width)),*];

            fn get(&self) -> Vec<u64> {
                vec![$(row!(@wide $width self.$field)),*]
            }

            fn from_values(values: &[u64]) -> Self {
                let mut values = values.iter();
                let mut row = Self::default();
                $(row.$field = *values.next().expect("one value per field") as $rust;)*
                row
            }
        }
    };
    (@wide S32 $value:expr) => { i64::from($value) as u64 };
    (@wide U32 $value:expr) => { u64::from($value) };
    (@wide U64 $value:expr) => { $value };
}

row!(Event:
    U64 "now_us" now_us as u64,
    U32 "cause" cause as u32,
    U32 "flags" flags as u32,
    U32 "acked" acked as u32,
    U32 "grow" grow as u32,
    U32 "acked_bytes" acked_bytes as u32,
    U32 "rtt_us" rtt_us as u32,
    U32 "idle_us" idle_us as u32,
    S32 "owd_us" owd_us as i32,
    U32 "rate_delivered" rate_delivered as u32,
    U32 "rate_interval_us" rate_interval_us as u32,
    U32 "rate_prior_delivered" rate_prior_delivered as u32,
    U32 "rate_losses" rate_losses as u32,
    U32 "prior_in_flight" prior_in_flight as u32,
);

row!(Subflow:
    U32 "cwnd" cwnd as u32,
    U32 "ssthresh" ssthresh as u32,
    U32 "ca_state" ca_state as u32,
    U32 "flags" flags as u32,
    U32 "srtt_us" srtt_us as u32,
    U32 "min_rtt_us" min_rtt_us as u32,
    U32 "last_rtt_us" last_rtt_us as u32,
    U32 "mss" mss as u32,
    U32 "in_flight" in_flight as u32,
    U32 "prior_cwnd" prior_cwnd as u32,
    U32 "cwnd_clamp" cwnd_clamp as u32,
    U32 "delivered" delivered as u32,
    U32 "delivered_ce" delivered_ce as u32,
    U32 "lost" lost as u32,
    U32 "id" id as u32,
    U32 "hint" hint as u32,
    U64 "snd_una" snd_una as u64,
    U64 "snd_nxt" snd_nxt as u64,
    U64 "last_ack_us" last_ack_us as u64,
    U64 "pacing_rate" pacing_rate as u64,
);

const EVENTS: [&str; 6] = ["init", "release", "on_loss", "on_recovered", "on_ack", "on_idle_restart"];

/// The contract's name of an event of this [type](braid_algorithms::layout::event_type).
pub fn event_name(kind: u32) -> &'static str {
    EVENTS.get(kind as usize).copied().unwrap_or("unknown")
}

pub(crate) fn event_kind(name: &str) -> Result<u32, Error> {
    let kind = EVENTS.iter().position(|event| *event == name);
    let kind =
        kind.ok_or_else(|| Error::new(format!("`{name}` is no event, they are {}", EVENTS.join(", "))))?;
    Ok(kind as u32)
}

/// A word as text: `0x...`.
pub(crate) fn hex(word: u64) -> String {
    format!("{word:#x}")
}

/// A word from text: `0x...`.
pub(crate) fn word(text: &str) -> Result<u64, Error> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    digits
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| Error::new(format!("`{text}` is not 0x and up to 16 hexadecimal digits")))
}

/// A field as text: decimal if narrow.
pub(crate) fn show(width: Width, value: u64) -> String {
    match width {
        Width::U32 => (value as u32).to_string(),
        Width::S32 => (value as i64).to_string(),
        Width::U64 => hex(value),
    }
}

pub(crate) fn parse(width: Width, text: &str) -> Result<u64, Error> {
    let wrong = |what: &str| Error::new(format!("`{text}` is not {what}"));
    match width {
        Width::U32 => text.parse::<u32>().map(u64::from).map_err(|_| wrong("a whole number of 32 bits")),
        Width::S32 => text
            .parse::<i32>()
            .map(|value| i64::from(value) as u64)
            .map_err(|_| wrong("a whole number of 32 bits with sign")),
        Width::U64 => word(text),
    }
}
