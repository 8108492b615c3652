//! The keys of `traffic`: what the application of a connection sends, and when.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::units::{Duration, Number, Quantity, Rate, Size};

/// What an application sends and when.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Traffic {
    /// Its pattern.
    pub kind: Pattern,
    /// Of `object` and `poisson`: how many bytes an object has, fixed or drawn at random.
    pub size: Option<Spread<Size>>,
    /// Of `poisson`: the mean time between two arrivals, above 0. Of `cbr`: the time between two writes; default: as
    /// long as a full packet lasts at `rate`.
    pub every: Option<Duration>,
    /// Of `poisson`: how many flows there can be at a time, 1 to 10000, default 100. One that arrives meanwhile waits
    /// until another has finished, and its waiting counts.
    pub at_once: Option<u32>,
    /// Of `on-off`: how long the application sends, fixed or drawn at random; above 0.
    pub on: Option<Spread<Duration>>,
    /// Of `on-off`: how long it pauses, fixed or drawn at random; above 0.
    pub off: Option<Spread<Duration>>,
    /// Of `cbr`: bits per second that the application writes. Of `on-off`: the same while it sends; default: as much as
    /// the network takes.
    pub rate: Option<Rate>,
    /// Of `object`, `poisson`, `request-response` and `cbr`: what takes longer than this to arrive is late; above 0. Results then
    /// say how many were. Default: nothing is.
    pub deadline: Option<Duration>,
    /// Of `request-response`: how many bytes a request has; at most ten packets, default `"500B"`.
    pub request: Option<Size>,
    /// Of `request-response`: how many bytes a response has, fixed or drawn at random.
    pub response: Option<Spread<Size>>,
    /// Of `request-response`: how long the client waits between a response and its next request, fixed or drawn at
    /// random; default `"0s"`.
    pub think: Option<Spread<Duration>>,
    /// Of `program`: the program that listens, and its arguments. `{server}` and `{client}` in an argument stand for
    /// addresses.
    pub server: Option<Vec<String>>,
    /// Of `program`: the program that connects, and its arguments.
    pub client: Option<Vec<String>>,
    /// Of `program`: which of the two is at the sender's end of the route and has the addresses of all subflows; default
    /// `"client"`.
    pub sender: Option<Side>,
    /// Of `program`: files that the programs find under these names in the folder where they begin. Paths start where the
    /// scenario's file is; an absolute one is the same for the programs. Default none.
    pub files: Option<Vec<String>>,
}

/// An end of what two programs do.
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
    /// Always more than the network takes: the default.
    Bulk,
    /// One object of a given size. The connection ends when all of it has arrived.
    Object,
    /// Short flows that arrive at random: each is a connection of its own, with its handshakes, for one object. The
    /// times between arrivals are exponential.
    Poisson,
    /// Sends and pauses by turns on one connection.
    OnOff,
    /// The receiver requests, the sender responds, the receiver thinks, and so on, on one connection.
    RequestResponse,
    /// A constant bit rate: the application writes at regular times on one connection.
    Cbr,
    /// Two programs of this machine, a server and a client, with as many connections as they open. Only on a real kernel.
    Program,
}

/// An amount that is always the same, or a table that says how it is drawn.
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
    /// Of `exponential`: the mean; above 0.
    pub mean: Option<T>,
    /// Of `lognormal`: the median; above 0.
    pub median: Option<T>,
    /// Of `lognormal`: the standard deviation of the natural logarithm, up to 5.
    pub sigma: Option<Number>,
    /// Of `pareto`: the exponent of the tail, 0.1 to 10; the smaller, the heavier.
    pub shape: Option<Number>,
    /// Of `pareto`: the smallest amount; above 0 and below `most`.
    pub least: Option<T>,
    /// Of `pareto`: the largest amount.
    pub most: Option<T>,
}

/// Names of distributions.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadKind {
    /// Without memory; given by its `mean`.
    Exponential,
    /// Its logarithm is normal; given by its `median` and `sigma`.
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
