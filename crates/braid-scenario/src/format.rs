//! All keys of a scenario file.
//!
//! Times, rates and sizes are texts with a unit (see [`crate::units`]). Any value may be a variable of `[parameters]`,
//! such as `"$bandwidth"`, except `title`, `story`, `picture` and `cc` of the whole file. Unknown keys are errors.
//!
//! Names of links, connections, subflows and variables are made of `a`-`z`, `0`-`9` and `-`, at most 32
//! characters, the first not a `-`.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserializer, MapAccess, Visitor};

pub use crate::traffic::{Pattern, Side, Spread, SpreadKeys, SpreadKind, Traffic};
use crate::units::{
    Chance, Duration, Packets, Probability, Quantity as _, Queue, Rate, Size, Start, Threshold, Window,
};

/// A scenario file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Document {
    /// One-line description.
    pub title: String,
    /// Purpose of the scenario, and expected results.
    #[serde(default)]
    pub story: String,
    /// The topology as ASCII art.
    #[serde(default)]
    pub picture: String,
    /// Length of the run; above 0, at most `"1440min"`.
    pub duration: Duration,
    /// Measurements begin this long after the start; default `"0s"`. Together with `cooldown` shorter than
    /// `duration`.
    #[serde(default)]
    pub warmup: Duration,
    /// Measurements end this long before the end; default `"0s"`.
    #[serde(default)]
    pub cooldown: Duration,
    /// Intervals of the run with results of their own in addition to the whole; they may overlap, and reach into the
    /// warm-up but not into the cool-down. At most 1000, all different; default none.
    #[serde(default)]
    pub periods: Vec<Window>,
    /// A real kernel counts every RTT sample, for statistics such as whether the RTTs of two flows move alike; not for
    /// programs. The simulator always does. Default `false`.
    #[serde(default)]
    pub rtt_samples: bool,
    /// Random delays of hosts and packets: see [`Noise`]; default `"random"`.
    #[serde(default)]
    pub noise: Noise,
    /// The congestion controls to compare by default; default none. Applies to connections without their own `cc`.
    #[serde(default)]
    pub cc: Vec<String>,
    /// Axes of variation. The scenario stands for every combination of their values, at most 10,000. The key of an axis
    /// is also its variable, unless its values are tables, whose keys are then the variables.
    #[serde(default)]
    pub parameters: IndexMap<String, Vec<Choice>>,
    /// The links by name.
    pub link: IndexMap<String, Link>,
    /// The connections by name, in the order of their results.
    pub connection: IndexMap<String, Connection>,
}

/// Small random delays of real hosts and networks. Without them exact ties decide which flow finds room in a full
/// queue, in every round trip alike (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992).
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Each connection starts later by a random time of up to its first subflow's base RTT, at most 100 ms. Data packets
    /// reach the slowest link of each route later by up to the time of a full packet there, at most 5 ms, in order. The seed
    /// decides both.
    #[default]
    Random,
    /// Packets and connections are exactly on time: without `jitter` and random `loss`, every seed gives the same results.
    None,
}

/// One value of an axis.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Choice {
    /// A value for the variable with the axis's name.
    One(Scalar),
    /// A value for each of several variables; the same variables in all tables of an axis.
    Several(IndexMap<String, Scalar>),
}

/// A value of a variable.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with decimals.
    Float(f64),
    /// Anything with a unit, or a name.
    Text(String),
}

/// A duplex link with a queue at either end.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Serialisation rate, both directions; above 0, at most `"1000gbit"`. Either this or `trace` is needed.
    pub rate: Option<Rate>,
    /// Instead of `rate`, both directions: the opportunities to deliver packets, in the format of mahimahi's mm-link.
    /// The path of a file relative to the scenario, or the name of a built-in trace.
    pub trace: Option<String>,
    /// Start within the trace, whole milliseconds before its end; default its beginning. Two links with one trace and
    /// one start vary in step.
    pub trace_start: Option<Duration>,
    /// One-way propagation delay, both directions; at most `"60s"`. Either this or `rtt` is needed.
    pub delay: Option<Duration>,
    /// Round-trip propagation, half of it each way; at most `"120s"`. Instead of `delay`, for experiments that are
    /// described by their round-trip time.
    pub rtt: Option<Duration>,
    /// Random extra delay of each packet, uniform from zero to this, both directions; at most `"60s"`, default none.
    #[serde(default)]
    pub jitter: Duration,
    /// Whether jitter, or a `delay` that gets shorter, lets packets overtake each other; default false: a packet that would
    /// overtake another arrives together with it. Needs a `jitter` or a change to a shorter `delay`.
    #[serde(default)]
    pub reordering: bool,
    /// Capacity of the queue, both directions, including the packet being sent; at least one packet or 1500 bytes, and
    /// room for a full packet of every connection that crosses it. No default, because hardly anything matters more to
    /// congestion control.
    pub queue: Queue,
    /// Queue management, both directions: service order and early drops; default `"drop-tail"`.
    pub discipline: Option<Discipline>,
    /// Loss on the wire, after the queue, in each direction: a probability for each packet independently, 0 to below 1,
    /// or a table for losses in bursts. Default 0.
    pub loss: Option<Loss>,
    /// Every n-th packet is lost on the wire, counted from the start of the run in each direction; at least 2.
    /// Instead of `loss`.
    pub drop_every: Option<u32>,
    /// ECN-capable packets are marked when they find at least this many packets or bytes queued, below `queue` and only
    /// with the discipline `"drop-tail"`, or when they have waited at least this long, not with `"red"`. At least one
    /// packet, byte or nanosecond. Default: no marks.
    pub ecn_threshold: Option<Threshold>,
    /// Times at which the link is down; ascending and disjoint. Packets that arrive or would leave during an outage are
    /// lost; packets on the wire still arrive. Default: none.
    #[serde(default)]
    pub outages: Vec<Window>,
    /// Changes during the run, both directions, ascending in time. Default: none.
    #[serde(default)]
    pub change: Vec<Change>,
    /// Treatment of the queue while a change keeps the link down; default `"drop"`. Only for a link with changes of
    /// `state`.
    pub when_down: Option<WhenDown>,
    /// Every route gets its own copy each time it names the link; default false. For access links.
    #[serde(default)]
    pub private: bool,
    /// Differences in the return direction.
    pub reverse: Option<Reverse>,
}

/// The direction from receiver to sender, which carries acknowledgements. Missing keys are as in the forward direction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reverse {
    /// See [`Link::rate`]; also replaces the `trace` of the forward direction.
    pub rate: Option<Rate>,
    /// See [`Link::trace`]; also replaces the `rate` of the forward direction.
    pub trace: Option<String>,
    /// See [`Link::trace_start`]; not inherited by another `trace`.
    pub trace_start: Option<Duration>,
    /// See [`Link::delay`]; not together with `rtt`.
    pub delay: Option<Duration>,
    /// See [`Link::jitter`].
    pub jitter: Option<Duration>,
    /// See [`Link::reordering`]. Not inherited if nothing can reorder packets.
    pub reordering: Option<bool>,
    /// See [`Link::queue`].
    pub queue: Option<Queue>,
    /// See [`Link::discipline`].
    pub discipline: Option<Discipline>,
    /// See [`Link::loss`]; also replaces `drop-every` of the forward direction.
    pub loss: Option<Loss>,
    /// See [`Link::drop_every`]; also replaces `loss` of the forward direction.
    pub drop_every: Option<u32>,
    /// See [`Link::ecn_threshold`]. Not inherited by another `discipline`.
    pub ecn_threshold: Option<Threshold>,
    /// See [`Link::outages`]; an empty list means none.
    pub outages: Option<Vec<Window>>,
    /// See [`Link::change`]; an empty list means none. Default: the changes of the forward direction, except of keys
    /// given here.
    pub change: Option<Vec<Change>>,
}

/// Loss on the wire.
#[derive(Clone, Copy, Debug)]
pub enum Loss {
    /// Independent loss of each packet.
    Random(Probability),
    /// In bursts.
    Bursts(Bursts),
}

/// Loss by a chain of a good and a bad state that moves before each packet, which is then lost with the probability of
/// the new state (Gilbert 1960, Elliott 1963). It starts in the good state. A stay in the bad state lasts 1 / `to-good`
/// packets on average, and the share of packets in the bad state is to-bad / (to-bad + to-good).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bursts {
    /// Probability of moving from good to bad; above 0.
    pub to_bad: Chance,
    /// Probability of moving from bad to good; above 0.
    pub to_good: Chance,
    /// Probability that a packet is lost in the good state; default 0.
    #[serde(default)]
    pub good: Chance,
    /// Probability that a packet is lost in the bad state; at least `good`, default 1.
    #[serde(default = "certain")]
    pub bad: Chance,
}

/// A queue discipline: its name alone, or a table with its name as `kind`.
#[derive(Clone, Copy, Debug)]
pub struct Discipline(pub DisciplineKeys);

/// A queue discipline with its parameters.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DisciplineKeys {
    /// Its name.
    pub kind: DisciplineKind,
    /// The target waiting time; above 0 and below `interval`, default `"5ms"`. Only for `codel` and `fq-codel`.
    pub target: Option<Duration>,
    /// Time for which the target may be exceeded before packets are dropped; at most `"60s"`, default `"100ms"`. Only
    /// for `codel` and `fq-codel`.
    pub interval: Option<Duration>,
    /// Marks ECN-capable packets instead of dropping them; default false for `red` and `codel` and true for `fq-codel`,
    /// as in Linux. Not for `drop-tail`.
    pub ecn: Option<bool>,
    /// Number of queues that flows are hashed to; 1 to 65536, default 1024. Only for `fq-codel`.
    pub flows: Option<u32>,
    /// Bytes that a queue may send per round; 256 to 1048576, default 1514. Only for `fq-codel`.
    pub quantum: Option<u32>,
    /// The mean queue length, including the packet being sent, above which packets are dropped at random. Required for
    /// `red`, and only for it.
    pub min: Option<Packets>,
    /// The mean queue length at which they are dropped with `probability`; above `min`, default 3 times `min`. Only for
    /// `red`.
    pub max: Option<Packets>,
    /// See `max`; above 0, default 0.1. Only for `red`.
    pub probability: Option<Chance>,
    /// Weight of each arriving packet in the mean; above 0, default 0.002. Only for `red`.
    pub weight: Option<Chance>,
    /// Whether the probability grows further to 1 at twice `max`, instead of being 1 above `max`; default true. Only for
    /// `red`.
    pub gentle: Option<bool>,
}

/// Names of queue disciplines.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineKind {
    /// First in, first out; dropped when full.
    DropTail,
    /// First in, first out; drops at random by the mean length of the queue (Floyd and Jacobson 1993).
    Red,
    /// First in, first out; drops packets that have waited too long (RFC 8289).
    #[serde(rename = "codel")]
    CoDel,
    /// A `CoDel` queue for each flow, served in rounds (RFC 8290).
    #[serde(rename = "fq-codel")]
    FqCoDel,
}

/// New values from a certain time on; at least one. Missing keys keep their values.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Change {
    /// Time of the change; after the start and after the previous change. Ignored after the end of the run.
    pub at: Duration,
    /// See [`Link::rate`]. The packet being sent is finished at the old rate. Not for a link with a `trace`.
    pub rate: Option<Rate>,
    /// See [`Link::delay`]; one way, also for a link with an `rtt`. Applies to packets that leave afterwards, and
    /// reorders packets only with `reordering`.
    pub delay: Option<Duration>,
    /// See [`Link::loss`]; also replaces `drop-every`.
    pub loss: Option<Loss>,
    /// See [`Link::queue`]; the unit may change, too. Waiting packets stay, even if the queue is too long; arriving
    /// packets are dropped.
    pub queue: Option<Queue>,
    /// See [`Link::discipline`]; other parameters of the same kind, with its defaults for missing ones. The number of
    /// `flows` cannot change.
    pub discipline: Option<Discipline>,
    /// See [`Link::ecn_threshold`].
    pub ecn_threshold: Option<Threshold>,
    /// Takes the link down or up again; `when-down` decides about the queue. The packet being sent and packets on the
    /// wire still arrive.
    pub state: Option<State>,
}

/// Whether a link works.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It sends.
    Up,
    /// It does not.
    Down,
}

/// Treatment of the queue of a link that is down.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum WhenDown {
    /// The queue is emptied, and arriving packets are dropped, as by an interface without carrier.
    Drop,
    /// The queue stays, and arriving packets join it while there is room, as on a radio link that pauses.
    Keep,
}

/// Another route from a certain time on; `route`, `return-route` or both. Packets on their way stay on the old route.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reroute {
    /// Time of the change; after the start of the run and after the previous change.
    pub at: Duration,
    /// The links from sender to receiver, and of acknowledgements without a `return-route`. The subflow's copy of a
    /// private link stays the same.
    pub route: Option<Vec<String>>,
    /// The links of acknowledgements, also written from sender to receiver.
    pub return_route: Option<Vec<String>>,
}

/// A sender, a receiver, and the data between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Connection {
    /// Plain TCP, with a `route`, or MPTCP, with `subflow` tables.
    pub kind: Kind,
    /// Its fixed congestion control, with parameters as on the command line, such as `lia:rounding=usec`. Default: that
    /// of the run (`--cc`, or `cc` of the file).
    pub cc: Option<String>,
    /// MPTCP only: its fixed packet scheduler, with parameters as on the command line, such as `ecf:beta=0.5`. Default:
    /// that of the run (`--scheduler`).
    pub scheduler: Option<String>,
    /// Data of its application over time. Default: a bulk transfer with unlimited data.
    pub traffic: Option<Traffic>,
    /// When it is opened; before the end of the run, default `"0s"`. With `"2s..10s"` the seed draws the time, the same in
    /// every backend; fair shares count the connection from the earliest time.
    #[serde(default)]
    pub start: Start,
    /// When its application stops writing and the connection is closed at once; after `start`. Default: the end
    /// of the run, also if `stop` is later.
    pub stop: Option<Duration>,
    /// 4 or 6: an IPv6 header has 40 bytes, 20 more than that of IPv4. Default 4.
    pub ip_version: Option<u32>,
    /// Payload bytes per packet, 88 to 8960. Default 1448 for TCP and 1420 for MPTCP, 20 less with IPv6: 1500 bytes
    /// without the headers of IP, TCP and their usual options (52 and 80 bytes, 72 and 100 with IPv6).
    pub mss: Option<u32>,
    /// Receive buffer, shared by all subflows; at least two packets, at most `"1024MiB"`, the largest window TCP can
    /// announce. Default: 4 times the summed bottleneck rates times the longest round trip with full queues, at least
    /// `"6MiB"`, so that it does not limit. If a link changes, its highest rate, longest delay and slowest queue count.
    /// With `autotuning` this is the maximum, and the default is 3883008 bytes: the payload in Linux's 6 MiB.
    pub receive_buffer: Option<Size>,
    /// Whether the receive buffer begins with 64 KiB and grows with the data read per round trip, as Linux's does by
    /// default; default false: fully offered from the start.
    #[serde(default)]
    pub autotuning: bool,
    /// Maximum of written bytes that are not acknowledged at the data level; at least one packet, at most `"1024MiB"`.
    /// When full, it is filled again once a third of it is free. Default: unlimited, except with packet schedulers that
    /// queue on subflows, whose buffers grow as Linux's do; with both, the smaller one counts.
    pub send_buffer: Option<Size>,
    /// First congestion window in packets, 1 to 10000; default 10 (RFC 6928).
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold in packets, 1 to 10000, as a kernel may remember it from earlier connections. At or
    /// below the initial window there is no slow start. Default: none, slow start lasts until the first reduction.
    pub initial_ssthresh: Option<u32>,
    /// Whether both ends negotiate ECN; default false.
    #[serde(default)]
    pub ecn: bool,
    /// Whether the receiver echoes each mark (RFC 8257), instead of repeating the echo until the sender responds (RFC
    /// 3168); default false. Needs `ecn = true`.
    #[serde(default)]
    pub accurate_ecn: bool,
    /// Whether the receiver may delay acknowledgements; default true.
    #[serde(default = "yes")]
    pub delayed_ack: bool,
    /// TCP only: 1 to 32 links from sender to receiver. Acknowledgements take the same route back. No shared link
    /// twice.
    pub route: Option<Vec<String>>,
    /// TCP only: other routes during the run, ascending in time. Default: none.
    #[serde(default)]
    pub change: Vec<Reroute>,
    /// MPTCP only: 1 to 8 subflows by name, in order of creation.
    #[serde(default)]
    pub subflow: IndexMap<String, Subflow>,
}

/// Protocol of a connection.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One path.
    Tcp,
    /// One or more paths.
    Mptcp,
}

/// One path of an MPTCP connection.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Subflow {
    /// 1 to 32 links from sender to receiver. Acknowledgements take the same route back. No shared link twice.
    pub route: Vec<String>,
    /// Delay of the join after the first subflow is established; less than the length of the run. Default: one round
    /// trip of the first path. Not for the first subflow.
    pub join_delay: Option<Duration>,
    /// Times at which its address exists, ascending and disjoint: at the beginning of each the subflow joins, with a
    /// handshake and a fresh algorithm state. At the end it is removed, and the others send its outstanding data. The
    /// first subflow's first time begins with the connection. Not together with `join-delay`. Default: always. For an
    /// address that stays while its path fails, see [`Link::outages`].
    #[serde(default)]
    pub up: Vec<Window>,
    /// Used only if no other subflow can be; default false.
    #[serde(default)]
    pub backup: bool,
    /// Other routes during the run, ascending in time. Default: none.
    #[serde(default)]
    pub change: Vec<Reroute>,
}

fn yes() -> bool {
    true
}

fn certain() -> Chance {
    Chance(1.0)
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueOrTable;

        impl<'de> Visitor<'de> for ValueOrTable {
            type Value = Loss;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability such as 0.001 or \"0.1%\", or a table with to-bad and to-good")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Loss, E> {
                text.parse().map(Loss::Random).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Loss, E> {
                Probability::from_number(value as f64, &value.to_string())
                    .map(Loss::Random)
                    .map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Loss, E> {
                Probability::from_number(value, &value.to_string()).map(Loss::Random).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loss, A::Error> {
                Bursts::deserialize(MapAccessDeserializer::new(map)).map(Loss::Bursts)
            }
        }

        deserializer.deserialize_any(ValueOrTable)
    }
}

impl<'de> Deserialize<'de> for Discipline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Discipline;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a queue discipline such as \"fq-codel\", or a table with its name as kind")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Discipline, E> {
                let kind = DisciplineKind::deserialize(StrDeserializer::new(name))?;
                let keys = DisciplineKeys {
                    kind,
                    target: None,
                    interval: None,
                    ecn: None,
                    flows: None,
                    quantum: None,
                    min: None,
                    max: None,
                    probability: None,
                    weight: None,
                    gentle: None,
                };
                Ok(Discipline(keys))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Discipline, A::Error> {
                DisciplineKeys::deserialize(MapAccessDeserializer::new(map)).map(Discipline)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}
