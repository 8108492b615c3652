//! The keys of `traffic`: data of a connection's application over time.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::units::{Duration, Number, Quantity, Rate, Size};

/// Data of an application over time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Traffic {
    /// Its pattern.
    pub kind: Pattern,
    /// `object` and `poisson`: bytes of an object, fixed or random.
    pub size: Option<Spread<Size>>,
    /// `poisson`: the mean time between two arrivals, above 0. `cbr`: the time between two writes; default: the time of
    /// a full packet at `rate`.
    pub every: Option<Duration>,
    /// `poisson`: the maximum of flows at a time, 1 to 10000, default 100. Further ones wait until another has
    /// finished, and their waiting time counts.
    pub at_once: Option<u32>,
    /// `on-off`: how long the application sends, fixed or random; above 0.
    pub on: Option<Spread<Duration>>,
    /// `on-off`: how long it pauses, fixed or random; above 0.
    pub off: Option<Spread<Duration>>,
    /// `cbr`: bits per second that the application writes. `on-off`: the same while it sends; default: unlimited.
    pub rate: Option<Rate>,
    /// `object`, `poisson`, `request-response` and `cbr`: transfers that take longer are late and counted in the
    /// results; above 0. Default: no deadline.
    pub deadline: Option<Duration>,
    /// `request-response`: bytes of a request; at most ten packets, default `"500B"`.
    pub request: Option<Size>,
    /// `request-response`: bytes of a response, fixed or random.
    pub response: Option<Spread<Size>>,
    /// `request-response`: how long the client waits between a response and its next request, fixed or random; default
    /// `"0s"`.
    pub think: Option<Spread<Duration>>,
    /// `program`: the program that listens, and its arguments. `{server}` and `{client}` in an argument are replaced by
    /// addresses.
    pub server: Option<Vec<String>>,
    /// `program`: the program that connects, and its arguments.
    pub client: Option<Vec<String>>,
    /// `program`: which of the two is at the sender's end of the route and has the addresses of all subflows; default
    /// `"client"`.
    pub sender: Option<Side>,
    /// `program`: files that the programs find under these names in their working folder. Paths are relative to the
    /// scenario's file; an absolute path is the same for the programs. Default none.
    pub files: Option<Vec<String>>,
}

/// One of two programs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Connects.
    Client,
    /// Listens.
    Server,
}

/// Names of patterns of traffic.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Unlimited data: the default.
    Bulk,
    /// One object of a given size. The connection ends when all of it has arrived.
    Object,
    /// Short flows that arrive at random: each is a connection of its own, with its handshakes, for one object. The
    /// times between arrivals are exponential.
    Poisson,
    /// Sends and pauses alternately on one connection.
    OnOff,
    /// The receiver requests, the sender responds, the receiver thinks, and so on, on one connection.
    RequestResponse,
    /// A constant bit rate: the application writes at regular intervals on one connection.
    Cbr,
    /// Two programs of this machine, a server and a client, with any number of connections. Only on a real kernel.
    Program,
}

/// A fixed amount, or a table with a distribution.
#[derive(Clone, Copy, Debug)]
pub enum Spread<T> {
    /// Always this.
    Fixed(T),
    /// Drawn each time.
    Drawn(SpreadKeys<T>),
}

/// A distribution of amounts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SpreadKeys<T> {
    /// Its name.
    pub kind: SpreadKind,
    /// `exponential`: the mean; above 0.
    pub mean: Option<T>,
    /// `lognormal`: the median; above 0.
    pub median: Option<T>,
    /// `lognormal`: the standard deviation of the natural logarithm, up to 5.
    pub sigma: Option<Number>,
    /// `pareto`: the exponent of the tail, 0.1 to 10; a smaller one is a heavier tail.
    pub shape: Option<Number>,
    /// `pareto`: the smallest amount; above 0 and below `most`.
    pub least: Option<T>,
    /// `pareto`: the largest amount.
    pub most: Option<T>,
}

/// Names of distributions.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadKind {
    /// Exponential; given by its `mean`.
    Exponential,
    /// Lognormal; given by its `median` and `sigma`.
    Lognormal,
    /// Bounded Pareto: a power law between `least` and `most`; given by its `shape`.
    Pareto,
}

impl<'de, T: Quantity + Deserialize<'de>> Deserialize<'de> for Spread<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueOrTable<T>(PhantomData<T>);

        impl<'de, T: Quantity + Deserialize<'de>> Visitor<'de> for ValueOrTable<T> {
            type Value = Spread<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or a table with the kind of a distribution", T::expected())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Spread<T>, E> {
                text.parse().map(Spread::Fixed).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Spread<T>, E> {
                T::from_number(value as f64, &value.to_string()).map(Spread::Fixed).map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Spread<T>, E> {
                T::from_number(value, &value.to_string()).map(Spread::Fixed).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Spread<T>, A::Error> {
                SpreadKeys::deserialize(MapAccessDeserializer::new(map)).map(Spread::Drawn)
            }
        }

        deserializer.deserialize_any(ValueOrTable(PhantomData))
    }
}
