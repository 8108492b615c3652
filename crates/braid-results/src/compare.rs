//! Compares the same runs on two backends: differences beyond chance, and the first divergence.

use braid_scenario::model::{self, Kind, Scenario};
use indexmap::IndexMap;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::catalogue::{Key, Metrics, Subflow};
use crate::measure::{Measurements, SAMPLE_INTERVAL_NS, SubflowSample, by_time};
use crate::statistics::t_quantile;
use crate::{Statistics, Summary};

/// Target of throughput: a share of the rate of the route's slowest link, or within chance.
pub const THROUGHPUT_TARGET: f64 = 0.10;
/// Target of the mean smoothed RTT, relative to the lab's.
pub const RTT_TARGET: f64 = 0.15;
/// Target of Jain's index.
pub const JAIN_TARGET: f64 = 0.05;

/// How far outside of all runs of the simulator a value of the lab has to be to count as another one: a share of it, and
/// two of its unit (packets, milliseconds, Mbit/s), so that small values do not count.
const APART_SHARE: f64 = 0.10;
const APART_LEAST: f64 = 2.0;
/// Consecutive samples for which it has to be.
const APART_SAMPLES: usize = 10;
/// Rates are means over this many samples.
const RATE_SAMPLES: usize = 10;

/// The backend compared with the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Other {
    /// MPTCP of a Linux kernel.
    Lab,
    /// A multipath QUIC stack.
    Quic,
}

impl Other {
    /// Its name in results and `--backends`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Quic => "quic",
        }
    }

    /// Its name in sentences.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Lab => "the lab",
            Self::Quic => "the QUIC stack",
        }
    }
}

/// A value whose JSON key is the backend's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyed<T> {
    /// Key in the JSON object.
    pub key: &'static str,
    /// The value.
    pub value: T,
}

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.key, &self.value)?;
        map.end()
    }
}

/// A cell and congestion control on both backends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// As in [`crate::Run`].
    pub scenario: String,
    /// As in [`crate::Run`].
    pub cc: String,
    /// As in [`crate::Run`].
    pub params: IndexMap<String, String>,
    /// The backend compared with the simulator.
    pub backend: Other,
    /// Length of the whole run, seconds.
    pub duration_s: f64,
    /// The measured part, seconds since the start of the run.
    pub measured_s: [f64; 2],
    /// Number of runs in the simulator.
    pub sim_runs: usize,
    /// Number of runs in the other backend: `lab_runs` or `quic_runs`.
    #[serde(flatten)]
    pub other_runs: Keyed<usize>,
    /// Warnings about the other's runs, each once.
    pub doubts: Vec<String>,
    /// Each figure.
    pub differences: Vec<Difference>,
    /// The first divergence; absent if there is none.
    pub parting: Option<Parting>,
}

/// One figure of both backends, over their seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Path in [`Summary::statistics`]; an RTT's ends with `srtt_ms` and is not in there.
    pub figure: String,
    /// Connection, or connection and subflow, or link.
    pub who: String,
    /// `throughput`, `rtt`, `retransmissions` or `jain`.
    pub what: Quantity,
    /// Mean in the simulator.
    pub sim: f64,
    /// Mean in the other: `lab` or `quic`.
    #[serde(flatten)]
    pub other: Keyed<f64>,
    /// The simulator's minus the other's.
    pub difference: f64,
    /// Half the 95 % confidence interval of the difference, by Student's t with a common variance; absent if there are
    /// fewer than three runs.
    pub interval: Option<f64>,
    /// Its target; absent if there is none.
    pub allowed: Option<f64>,
    /// Whether it is within the target; true if there is none.
    pub within: bool,
}

/// A compared quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Of a subflow, bit/s.
    Throughput,
    /// Mean of a subflow's smoothed RTT, milliseconds: a packet counts with the value of at most 100 ms later. A kernel
    /// reports no other RTT. It is longer than the algorithms' RTT by delayed acknowledgements.
    Rtt,
    /// Of a subflow, packets.
    Retransmissions,
    /// Of the connections on a link.
    Jain,
}

/// The runs of a cell and congestion control in one of the backends.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Over all of them.
    pub summary: &'a Summary,
    /// Of each measured run, with samples.
    pub counts: &'a [&'a Measurements],
}

/// The differences between both.
pub fn differences(scenario: &Scenario, sim: Side<'_>, backend: Other, other: Side<'_>) -> Vec<Difference> {
    type Allowed<'a> = &'a dyn Fn(f64, f64) -> Option<f64>;
    let mut found = Vec::new();
    let mut add =
        |figure: String, who: &str, what: Quantity, both: [Option<Statistics>; 2], allowed: Allowed<'_>| {
            let [Some(a), Some(b)] = both else { return };
            let interval = interval(&a, &b);
            let difference = a.mean - b.mean;
            let allowed = allowed(b.mean, interval.unwrap_or(0.0));
            let within = allowed.is_none_or(|most| difference.abs() <= most);
            let who = who.to_owned();
            found.push(Difference {
                figure,
                who,
                what,
                sim: a.mean,
                other: Keyed { key: backend.name(), value: b.mean },
                difference,
                interval,
                allowed,
                within,
            });
        };
    let measured = |figure, of: &str| [sim, other].map(|side| side.summary.get(figure, of).copied());
    let place = |figure, of: &str| Key { period: None, figure, of: of.to_owned() }.to_string();
    for (nth, connection) in scenario.connections.iter().enumerate() {
        for (number, subflow) in connection.subflows.iter().enumerate() {
            let of = format!("{}.{}", connection.name, subflow.name);
            let who = name(connection, subflow);
            let rates = subflow.route.iter().map(|&link| scenario.links[link].forward.rate_bps);
            let rate_bps = rates.min().unwrap_or(0) as f64;
            let rate = &Subflow::throughput_bps;
            let allowed = |_, chance: f64| Some((THROUGHPUT_TARGET * rate_bps).max(chance));
            add(place(rate, &of), &who, Quantity::Throughput, measured(rate, &of), &allowed);
            let rtts = [sim, other].map(|side| {
                let of = |counts: &&Measurements| {
                    smoothed_rtt_ms(scenario, &counts.connections[nth].subflows[number].samples)
                };
                Statistics::of(&side.counts.iter().filter_map(of).collect::<Vec<f64>>())
            });
            let rtt = format!("connections.{}.subflows.{}.srtt_ms", connection.name, subflow.name);
            add(rtt, &who, Quantity::Rtt, rtts, &|other, _| Some(RTT_TARGET * other));
            let again = &Subflow::retransmissions;
            add(place(again, &of), &who, Quantity::Retransmissions, measured(again, &of), &|_, _| None);
        }
    }
    for link in scenario.links.iter().filter(|link| !link.private) {
        let jain = &Metrics::jain_connections;
        let indices = measured(jain, &link.name);
        add(place(jain, &link.name), &link.name, Quantity::Jain, indices, &|_, _| Some(JAIN_TARGET));
    }
    found
}

/// A subflow for people; a TCP connection has one.
fn name(connection: &model::Connection, subflow: &model::Subflow) -> String {
    match connection.kind {
        Kind::Tcp => connection.name.clone(),
        Kind::Mptcp => format!("{} {}", connection.name, subflow.name),
    }
}

/// Mean in the measured time, weighted by what arrived between one sample and the next.
fn smoothed_rtt_ms(scenario: &Scenario, samples: &[SubflowSample]) -> Option<f64> {
    let end_ns = scenario.duration_ns - scenario.cooldown_ns;
    let is_measured =
        |pair: &&[SubflowSample]| pair[0].time_ns >= scenario.warmup_ns && pair[1].time_ns <= end_ns;
    let (mut bytes, mut sum) = (0, 0.0);
    for pair in samples.windows(2).filter(is_measured) {
        let Some(srtt_us) = pair[1].srtt_us else { continue };
        let arrived = pair[1].received_bytes.saturating_sub(pair[0].received_bytes);
        bytes += arrived;
        sum += arrived as f64 * f64::from(srtt_us);
    }
    (bytes > 0).then(|| sum / bytes as f64 / 1e3)
}

/// Half the 95 % confidence interval of the difference of two means. With a common variance, one run on one side is
/// enough if there are several on the other.
fn interval(a: &Statistics, b: &Statistics) -> Option<f64> {
    let freedom = (a.n + b.n) as f64 - 2.0;
    if freedom < 1.0 {
        return None;
    }
    let squares = |s: &Statistics| s.sd.unwrap_or(0.0).powi(2) * (s.n as f64 - 1.0);
    let variance = (squares(a) + squares(b)) / freedom;
    Some(t_quantile(freedom) * (variance * (1.0 / a.n as f64 + 1.0 / b.n as f64)).sqrt())
}

/// The point at which a run of the other backend leaves the simulator's runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parting {
    /// Since the start of the run, seconds.
    pub time_s: f64,
    /// The other's seed.
    pub seed: u64,
    /// Connection and subflow, or link.
    pub who: String,
    /// `cwnd`, `rtt`, `rate` or `queue`.
    pub what: &'static str,
    /// Packets, milliseconds or Mbit/s: `lab` or `quic`.
    #[serde(flatten)]
    pub other: Keyed<f64>,
    /// The lowest of all runs of the simulator at that time.
    pub sim_low: f64,
    /// The highest.
    pub sim_high: f64,
}

/// The rule of [`parting`], as text.
pub fn parting_rule() -> String {
    format!(
        "a value of the other is outside of those of all runs of the simulator at that time, by more than {:.0} % and \
         {APART_LEAST} packets, ms or Mbit/s, for {:.0} s without a break",
        100.0 * APART_SHARE,
        (APART_SAMPLES as u64 * SAMPLE_INTERVAL_NS) as f64 / 1e9
    )
}

/// A quantity over time: value `i` is that at `i` times [`SAMPLE_INTERVAL_NS`].
pub type Curve = Vec<Option<f64>>;

/// The time series of a run with samples: subject, quantity, values. Packets (`cwnd`, `queue`), milliseconds (`rtt`)
/// and Mbit/s (`rate`).
pub fn curves(scenario: &Scenario, counts: &Measurements) -> Vec<(String, &'static str, Curve)> {
    let mut curves = Vec::new();
    for (model, connection) in scenario.connections.iter().zip(&counts.connections) {
        for (path, subflow) in model.subflows.iter().zip(&connection.subflows) {
            let who = name(model, path);
            let grid = by_time(&subflow.samples, |sample| sample.time_ns, scenario.duration_ns);
            let level = |of: &dyn Fn(&SubflowSample) -> Option<f64>| -> Curve {
                grid.iter().map(|sample| sample.and_then(of)).collect()
            };
            let mut rate = vec![None; grid.len()];
            for at in RATE_SAMPLES..grid.len() {
                if let (Some(before), Some(now)) = (grid[at - RATE_SAMPLES], grid[at]) {
                    let bits = 8.0 * now.received_bytes.saturating_sub(before.received_bytes) as f64;
                    rate[at] = Some(bits * 1e3 / (now.time_ns - before.time_ns) as f64);
                }
            }
            curves.push((who.clone(), "cwnd", level(&|sample| Some(f64::from(sample.cwnd)))));
            curves.push((who.clone(), "rtt", level(&|sample| sample.srtt_us.map(|us| f64::from(us) / 1e3))));
            curves.push((who, "rate", rate));
        }
    }
    for (model, link) in scenario.links.iter().zip(&counts.links).filter(|(model, _)| !model.private) {
        let grid = by_time(&link.samples, |sample| sample.time_ns, scenario.duration_ns);
        let queue = grid.into_iter().map(|sample| sample.map(|sample| f64::from(sample.queue_packets)));
        curves.push((model.name.clone(), "queue", queue.collect()));
    }
    curves
}

/// The first point at which one of the other's runs, each with its seed, leaves those of the simulator, if any.
///
/// # Panics
/// If the measurements are not of this scenario.
pub fn parting(
    scenario: &Scenario,
    sim: &[&Measurements],
    backend: Other,
    other: &[(u64, &Measurements)],
) -> Option<Parting> {
    let references: Vec<_> = sim.iter().map(|counts| curves(scenario, counts)).collect();
    let mut first: Option<Parting> = None;
    for &(seed, counts) in other {
        for (number, (who, what, values)) in curves(scenario, counts).into_iter().enumerate() {
            let bounds = |at: usize| {
                let known = references.iter().filter_map(|curves| curves[number].2[at]);
                known.fold(None, |bounds: Option<(f64, f64)>, value| {
                    Some(bounds.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
                })
            };
            let is_apart = |at: usize| {
                let (Some(value), Some((low, high))) = (values[at], bounds(at)) else { return false };
                let by = (low - value).max(value - high);
                by > APART_LEAST && by > APART_SHARE * value.max(low)
            };
            let mut stretch = 0;
            let end = (0..values.len()).find(|&at| {
                stretch = if is_apart(at) { stretch + 1 } else { 0 };
                stretch == APART_SAMPLES
            });
            let Some(at) = end.map(|end| end + 1 - APART_SAMPLES) else { continue };
            let time_s = (at as u64 * SAMPLE_INTERVAL_NS) as f64 / 1e9;
            if first.as_ref().is_none_or(|first| time_s < first.time_s) {
                let (sim_low, sim_high) = bounds(at).expect("it is apart from something");
                let value = values[at].expect("it is apart");
                let other = Keyed { key: backend.name(), value };
                first = Some(Parting { time_s, seed, who, what, other, sim_low, sim_high });
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{ConnectionCounts, LinkCounts, SubflowCounts};

    fn statistics(values: &[f64]) -> Statistics {
        Statistics::of(values).expect("finite")
    }

    #[test]
    fn the_interval_of_equal_samples_is_that_of_the_textbook() {
        // Pooled variance 1, n = m = 3: t(4) 2.776 x sqrt(2/3).
        let half =
            interval(&statistics(&[1.0, 2.0, 3.0]), &statistics(&[4.0, 5.0, 6.0])).expect("six values");
        assert!((half - 2.776_445 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-4, "{half}");
    }

    #[test]
    fn one_run_against_several_has_an_interval_and_two_runs_have_none() {
        // t(2) 4.303 x 1 x sqrt(4/3).
        let half = interval(&statistics(&[1.0, 2.0, 3.0]), &statistics(&[9.0])).expect("four values");
        assert!((half - 4.302_653 * (4.0_f64 / 3.0).sqrt()).abs() < 1e-4, "{half}");
        assert_eq!(interval(&statistics(&[1.0]), &statistics(&[9.0])), None);
    }

    fn scenario() -> Scenario {
        let text = "title = \"t\"\nduration = \"10s\"\n[link.b]\nrate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"50p\"\n\
                    [connection.t]\nkind = \"tcp\"\nroute = [\"b\"]\n";
        let source = braid_scenario::Source { name: "t".into(), text: text.into() };
        braid_scenario::load(&source, &[]).expect("valid").cells.remove(0)
    }

    fn with_window(cwnd: impl Fn(usize) -> u32) -> Measurements {
        let sample = |at: usize| SubflowSample {
            time_ns: at as u64 * 100_000_000,
            cwnd: cwnd(at),
            ..Default::default()
        };
        let subflow = SubflowCounts { samples: (0..=100).map(sample).collect(), ..Default::default() };
        let connection = ConnectionCounts { subflows: vec![subflow], ..Default::default() };
        Measurements {
            connections: vec![connection],
            links: vec![LinkCounts::default()],
            ..Measurements::default()
        }
    }

    #[test]
    fn the_mean_rtt_is_that_of_the_packets_that_arrived_in_the_measured_time() {
        let sample = |at: u64, bytes: u64, srtt_us: u32| SubflowSample {
            time_ns: at * 100_000_000,
            received_bytes: bytes,
            srtt_us: Some(srtt_us),
            ..Default::default()
        };
        let mut scenario = scenario();
        scenario.warmup_ns = 200_000_000;
        let samples =
            [sample(0, 0, 1), sample(1, 500, 90_000), sample(2, 1500, 10_000), sample(3, 4500, 30_000)];
        assert_eq!(smoothed_rtt_ms(&scenario, &samples), Some(30.0));
        assert_eq!(smoothed_rtt_ms(&scenario, &samples[..1]), None);
    }

    #[test]
    fn runs_part_where_a_window_leaves_the_range_for_good() {
        let sim = [with_window(|_| 20), with_window(|_| 30)];
        let sim: Vec<&Measurements> = sim.iter().collect();
        // A second minus a sample is not enough; later it stays different.
        let lab = with_window(|at| if (20..29).contains(&at) || at >= 50 { 40 } else { 25 });
        let found = parting(&scenario(), &sim, Other::Lab, &[(7, &lab)]).expect("it leaves");
        assert_eq!((found.time_s, found.seed, found.who.as_str(), found.what), (5.0, 7, "t", "cwnd"));
        assert_eq!((found.other.value, found.sim_low, found.sim_high), (40.0, 20.0, 30.0));
    }

    #[test]
    fn what_stays_in_the_range_or_close_to_it_does_not_part() {
        let sim = [with_window(|_| 20), with_window(|_| 30)];
        let sim: Vec<&Measurements> = sim.iter().collect();
        assert_eq!(parting(&scenario(), &sim, Other::Lab, &[(1, &with_window(|_| 32))]), None);
        assert_eq!(parting(&scenario(), &sim, Other::Lab, &[(1, &with_window(|_| 18))]), None);
    }
}
