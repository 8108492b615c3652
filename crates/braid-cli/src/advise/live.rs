//! A network as the sockets of a connection of this machine show it.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use braid_kernel::{Namespace, PREFIX};
use braid_scenario::Source;
use braid_study::files;

use crate::Failure;
use crate::live::{Connection, Limit, Sampler, Subflow};

const EVERY: Duration = Duration::from_millis(100);
/// Rates are over this time, seconds: several RTTs.
const WINDOW_S: f64 = 1.0;
/// Bytes of a full packet.
const PACKET: u32 = 1500;
/// Headers of IPv4 and TCP with timestamps, and the DSS option.
const HEADERS: u64 = 72;
/// Smallest queue, packets: an initial window (RFC 6928).
const LEAST_QUEUE: f64 = 10.0;
/// Links before a bottleneck are Gigabit Ethernet at least, and carry ten times as much as the bottleneck.
const ETHERNET_BPS: f64 = 1e9;

/// One sample of a subflow's socket.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Time since the first sample of the sampler.
    at_s: f64,
    /// Acknowledged bytes since the subflow began, headers included.
    bytes: u64,
    srtt_s: f64,
    min_rtt_s: f64,
    /// Subflows with the same number share a bottleneck, by the detector; 0: with none. `None` without a detector.
    group: Option<u16>,
    /// Whether application, receiver or buffers are the limit.
    held_back: bool,
}

/// One path, from its samples.
#[derive(Clone, Debug, PartialEq)]
struct Path {
    name: String,
    rate_bps: f64,
    rtt_s: f64,
    queue_s: f64,
    group: Option<u16>,
}

/// A connection's network, as its sockets show it.
pub(super) struct Seen {
    pub(super) source: Source,
    /// The packet scheduler of the connection's namespace, if Braid has it.
    pub(super) scheduler: Option<&'static str>,
    pub(super) notes: Vec<String>,
}

/// Watches the busiest connection that matches `filter` for `time`, and writes its network to `save`.
pub(super) fn watch(
    filter: &str,
    time: Duration,
    save: Option<&std::path::Path>,
    quiet: bool,
) -> Result<Seen, Failure> {
    // Before it takes its time.
    save.map_or(Ok(()), free)?;
    let mut sampler = Sampler::new(None)?;
    sampler.take();
    thread::sleep(EVERY);
    let chosen = choose(sampler.take().1, filter)?;
    let about = format!("connection {} over {}", chosen.name(), names(&chosen).join(", "));
    if !quiet {
        eprintln!("{about}: watching it for {}", humantime::format_duration(time));
    }
    let samples = samples_of(&mut sampler, &chosen, time)?;
    let paths: Vec<Path> =
        names(&chosen).into_iter().zip(&samples).map(|(name, samples)| path(name, samples)).collect();
    if let Some(silent) = paths.iter().find(|path| path.rate_bps <= 0.0 || path.rtt_s <= 0.0) {
        return Err(Failure::bad_input(
            format!("{about}: {} sends nothing, so its path cannot be seen", silent.name),
            "watch a connection that sends as much as it can on all its paths, and longer than a second",
        ));
    }
    let text = scenario(&paths, &samples);
    if let Some(path) = save {
        free(path)?;
        files::whole(path, text.as_bytes())
            .map_err(|error| Failure::writing_to("--save", "the name of a file", path, &error))?;
    }
    let own = Namespace::all().into_iter().find(|namespace| namespace.name == chosen.namespace);
    let scheduler = own.as_ref().and_then(braid_kernel::scheduler);
    let simulated = scheduler.as_deref().and_then(|name| braid_schedulers::find(name.strip_prefix(PREFIX)?));
    Ok(Seen {
        source: Source { name: about, text },
        scheduler: simulated.map(braid_schedulers::Scheduler::name),
        notes: notes(&paths, &samples),
    })
}

/// Returns the connection with several subflows that sends most.
fn choose(connections: Vec<Connection>, filter: &str) -> Result<Connection, Failure> {
    let rate =
        |connection: &Connection| connection.subflows.iter().map(|subflow| subflow.rate_bps).sum::<f64>();
    let several = |connection: &Connection| connection.token.is_some() && connection.subflows.len() > 1;
    let fitting = connections.into_iter().filter(|one| several(one) && one.contains(filter));
    fitting.max_by(|one, other| rate(one).total_cmp(&rate(other))).ok_or_else(|| {
        let fits = if filter.is_empty() { String::new() } else { format!(" that fits `{filter}`") };
        Failure::bad_input(
            format!("there is no MPTCP connection with several subflows{fits}"),
            "start a transfer over MPTCP first (`mptcpize run`), be root, or name a scenario; `braid top --all` shows all",
        )
    })
}

/// Samples of each subflow, until the time is over or the connection ends.
fn samples_of(
    sampler: &mut Sampler,
    chosen: &Connection,
    time: Duration,
) -> Result<Vec<Vec<Sample>>, Failure> {
    let cookies = |connection: &Connection| -> Vec<u64> {
        connection.subflows.iter().map(|subflow| subflow.cookie).collect()
    };
    let mut samples = vec![Vec::new(); chosen.subflows.len()];
    let started = Instant::now();
    while started.elapsed() < time {
        thread::sleep(EVERY);
        let (at, connections) = sampler.take();
        let is_it =
            |other: &&Connection| (other.token, &other.namespace) == (chosen.token, &chosen.namespace);
        let Some(now) = connections.iter().find(is_it) else { break };
        if cookies(now) != cookies(chosen) {
            return Err(Failure::bad_input(
                format!(
                    "connection {}: a subflow came or went, so its paths cannot be compared",
                    chosen.name()
                ),
                "repeat the command when the connection is steady",
            ));
        }
        for (samples, subflow) in samples.iter_mut().zip(&now.subflows) {
            samples.push(sample(at, subflow));
        }
    }
    Ok(samples)
}

fn sample(at: Duration, subflow: &Subflow) -> Sample {
    let flow = &subflow.flow;
    Sample {
        at_s: at.as_secs_f64(),
        bytes: flow.bytes_acked + flow.bytes_acked / u64::from(flow.mss.max(1)) * HEADERS,
        srtt_s: f64::from(flow.srtt_us) / 1e6,
        min_rtt_s: f64::from(flow.min_rtt_us) / 1e6,
        group: subflow.verdict.map(|verdict| verdict.group),
        held_back: matches!(
            subflow.limit,
            Limit::Application | Limit::Receiver | Limit::SendBuffer | Limit::Idle
        ),
    }
}

/// Names that a scenario may have, all different.
fn names(connection: &Connection) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for subflow in &connection.subflows {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = subflow.line.chars().map(plain).collect();
        let name = name.trim_matches('-');
        let prefix = if name.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "path-" };
        let name = format!("{prefix}{name}");
        names.push(if names.contains(&name) { format!("{name}-{}", subflow.number) } else { name });
    }
    names
}

fn path(name: String, samples: &[Sample]) -> Path {
    let rtts = samples.iter().map(|sample| sample.min_rtt_s).filter(|&rtt_s| rtt_s > 0.0);
    let rtt_s = rtts.reduce(f64::min).unwrap_or_default();
    let waits = samples.iter().map(|sample| (sample.srtt_s - rtt_s).max(0.0)).collect();
    Path {
        name,
        rate_bps: rate_bps(&[samples]),
        rtt_s,
        queue_s: high(waits),
        group: samples.last().and_then(|sample| sample.group),
    }
}

/// Rate of these subflows together: the 95th percentile over one second.
fn rate_bps(subflows: &[&[Sample]]) -> f64 {
    let at_s = |at: usize| subflows[0][at].at_s;
    let bytes = |at: usize| subflows.iter().map(|samples| samples[at].bytes).sum::<u64>();
    let mut rates = Vec::new();
    let mut from = 0;
    for to in 1..subflows[0].len() {
        while at_s(to) - at_s(from + 1) >= WINDOW_S {
            from += 1;
        }
        let time_s = at_s(to) - at_s(from);
        if time_s >= WINDOW_S {
            rates.push((bytes(to) - bytes(from)) as f64 * 8.0 / time_s);
        }
    }
    high(rates)
}

/// The 95th percentile; 0 without values.
fn high(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(((values.len() as f64 - 1.0) * 0.95).round() as usize).copied().unwrap_or_default()
}

/// Which paths share a bottleneck: indices, each path in one group.
fn groups(paths: &[Path]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, path) in paths.iter().enumerate() {
        let shared = path.group.filter(|&group| group > 0);
        match groups.iter_mut().find(|group| shared.is_some() && paths[group[0]].group == shared) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// The network: an access link for each path, and a link for each bottleneck.
fn scenario(paths: &[Path], samples: &[Vec<Sample>]) -> String {
    let mut text = "# Seen by braid advise.\ntitle = \"A network as its sockets show it\"\n\
                    duration = \"40s\"\nwarmup = \"10s\"\n"
        .to_owned();
    let mut subflows = String::new();
    for (number, group) in groups(paths).iter().enumerate() {
        let of_group: Vec<&[Sample]> = group.iter().map(|&place| &samples[place][..]).collect();
        let rate_bps = rate_bps(&of_group);
        let queue_s = group.iter().map(|&place| paths[place].queue_s).fold(0.0, f64::max);
        let queue = (queue_s * rate_bps / 8.0 / f64::from(PACKET)).max(LEAST_QUEUE);
        let bottleneck = format!("bottleneck-{}", number + 1);
        let mut link = |name: &str, rate_bps: f64, rtt_s: f64, queue: f64| {
            let (kbit, us) = (rate_bps / 1e3, rtt_s * 1e6);
            let _ = writeln!(
                text,
                "\n[link.{name}]\nrate = \"{kbit:.0}kbit\"\nrtt = \"{us:.0}us\"\nqueue = \"{queue:.0}p\""
            );
        };
        link(&bottleneck, rate_bps.max(1e3), 0.0, queue);
        for &place in group {
            let Path { name, rtt_s, .. } = &paths[place];
            link(name, ETHERNET_BPS.max(10.0 * rate_bps), *rtt_s, 10_000.0);
            let _ = writeln!(
                subflows,
                "\n[connection.mp0.subflow.{name}]\nroute = [\"{name}\", \"{bottleneck}\"]"
            );
        }
    }
    format!("{text}\n[connection.mp0]\nkind = \"mptcp\"\n{subflows}")
}

fn notes(paths: &[Path], samples: &[Vec<Sample>]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (path, samples) in paths.iter().zip(samples) {
        let Path { name, rate_bps, rtt_s, queue_s, .. } = path;
        notes.push(format!(
            "{name}: {:.1} Mbit/s, base RTT {:.0} ms, queue {:.0} ms",
            rate_bps / 1e6,
            rtt_s * 1e3,
            queue_s * 1e3
        ));
        if 2 * samples.iter().filter(|sample| sample.held_back).count() > samples.len() {
            notes.push(format!(
                "note: application, receiver or buffers were the limit on {name}: it may carry more."
            ));
        }
    }
    for group in groups(paths).into_iter().filter(|group| group.len() > 1) {
        let names: Vec<&str> = group.iter().map(|&place| paths[place].name.as_str()).collect();
        notes.push(format!("{} share a bottleneck, says the detector.", names.join(" and ")));
    }
    if paths.iter().any(|path| path.group.is_none()) {
        notes.push(
            "note: no detector ran, so each path is assumed to have its own bottleneck. `weave` has one; or correct the file \
             of --save."
                .into(),
        );
    }
    notes
}

/// A file that is there stays.
fn free(path: &std::path::Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Failure::bad_input(format!("--save: {} is there already", path.display()), "name another file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 s of samples, ten a second, of a path that carries 5 Mbit/s in the first half and `mbit` in the second.
    fn samples(mbit: f64, base_s: f64, group: Option<u16>) -> Vec<Sample> {
        let at = |n: u32| {
            let at_s = f64::from(n) / 10.0;
            let mbits = 5.0 * at_s.min(10.0) + mbit * (at_s - 10.0).max(0.0);
            let srtt_s = base_s + 0.04 * (at_s / 4.0).fract();
            Sample {
                at_s,
                bytes: (mbits * 1e6 / 8.0) as u64,
                srtt_s,
                min_rtt_s: base_s,
                group,
                held_back: false,
            }
        };
        (0..200).map(at).collect()
    }

    fn paths_of(groups: [Option<u16>; 3]) -> (Vec<Path>, Vec<Vec<Sample>>) {
        let of = |(place, group)| samples(10.0 * (place + 1) as f64, 0.02, group);
        let samples: Vec<Vec<Sample>> = groups.into_iter().enumerate().map(of).collect();
        let names = ["wifi", "lte", "dsl"].map(str::to_owned);
        (names.into_iter().zip(&samples).map(|(name, samples)| path(name, samples)).collect(), samples)
    }

    #[test]
    fn a_path_has_its_high_rate_its_lowest_rtt_and_the_longest_wait() {
        let (paths, _) = paths_of([None; 3]);
        assert!((paths[1].rate_bps / 20e6 - 1.0).abs() < 0.01, "{paths:?}");
        assert!(
            (paths[1].rtt_s - 0.02).abs() < 1e-9 && (paths[1].queue_s - 0.038).abs() < 0.002,
            "{paths:?}"
        );
    }

    #[test]
    fn paths_of_a_group_share_a_bottleneck_of_their_common_rate() {
        let (paths, samples) = paths_of([Some(2), Some(0), Some(2)]);
        assert_eq!(groups(&paths), [vec![0, 2], vec![1]]);
        let source = Source { name: "seen".into(), text: scenario(&paths, &samples) };
        let cell = braid_scenario::load(&source, &[]).unwrap().cells.remove(0);
        let rates: Vec<(&str, f64)> = cell.connections[0]
            .subflows
            .iter()
            .map(|subflow| &cell.links[cell.bottleneck(&subflow.route)])
            .map(|link| (link.name.as_str(), link.forward.rate_bps as f64 / 1e6))
            .collect();
        assert_eq!(
            rates.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["bottleneck-1", "bottleneck-1", "bottleneck-2"]
        );
        assert!((rates[0].1 - 40.0).abs() < 0.4 && (rates[2].1 - 20.0).abs() < 0.2, "{rates:?}");
    }

    #[test]
    fn without_a_detector_each_path_is_taken_to_have_its_own_bottleneck() {
        let (paths, samples) = paths_of([None; 3]);
        assert_eq!(groups(&paths), [vec![0], vec![1], vec![2]]);
        assert!(notes(&paths, &samples).last().unwrap().contains("no detector ran"));
        let (paths, samples) = paths_of([Some(0); 3]);
        assert_eq!((groups(&paths).len(), notes(&paths, &samples).len()), (3, 3), "the detector says so");
    }
}
