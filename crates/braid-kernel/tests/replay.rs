//! Replays calls recorded in the kernel under traffic: the native results are identical.
//!
//! `BRAID_REPLAY_CALLS=1000000 cargo test --release -p braid-kernel --test replay -- --nocapture` for a million calls.
//! Needs root, `ip`, `tc` and `nft`.

mod common;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env,
    fs::File,
    io::BufWriter,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use braid_algorithms::layout::{ca_state, cause, event_type};
use braid_kernel::{Recorded, record};
use braid_trace::{Call, Replay, Writer, event_name, read};
use common::load;
use common::network::{Guard, Network, Pumped, alone, pump, skip, spec};

/// Calls unless `BRAID_REPLAY_CALLS` says otherwise.
const CALLS: u64 = 60_000;
/// ACKs of every algorithm, at any number of algorithms on the machine.
const ACKS: u64 = 501;

/// Name of each algorithm in the kernel, and its parameters before and after a replacement.
fn names() -> Vec<(String, [String; 2])> {
    let all = common::algorithms().into_iter().map(|algorithm| {
        let name = algorithm.name();
        let other = algorithm.params().next().map_or_else(
            || name.to_owned(),
            |param| {
                let value = if param.initial == param.high { param.low } else { param.high };
                format!("{name}:{}={}", param.name, param.show(value))
            },
        );
        (format!("r_{name:.7}"), [name.to_owned(), other])
    });
    all.collect()
}

/// Packets: more than any window on these links.
const ABSURD: u32 = 1 << 20;

/// Coverage that the traffic must reach.
#[derive(Debug, Default)]
struct Seen {
    events: BTreeMap<(&'static str, u32, u32), u64>,
    subflows: [u64; 9],
    /// Calls that found a window larger than any possible here.
    absurd: u64,
    /// Calls that found a possible window and left an impossible one.
    made_absurd: u64,
    /// By socket: whether it is between `on_loss` and `on_recovered`.
    reduced: BTreeMap<u64, bool>,
    /// Congestion episodes without an `on_loss`: the kernel skipped a program.
    unannounced: u64,
}

impl Seen {
    fn note(&mut self, call: &Call) {
        let cause = if call.event.kind == event_type::ON_ACK { 0 } else { call.event.cause };
        let key = (call.origin.spec.algorithm().name(), call.event.kind, cause);
        *self.events.entry(key).or_default() += 1;
        self.subflows[call.view.n as usize] += 1;
        let subflow = &call.view.subflow[call.view.self_index as usize];
        self.absurd += u64::from(subflow.cwnd > ABSURD);
        self.made_absurd += u64::from(subflow.cwnd <= ABSURD && call.outputs.cwnd > ABSURD);
        // The state of a socket is unknown unless its first call was recorded.
        let reduced = self.reduced.entry(call.socket).or_insert(call.event.kind != event_type::INIT);
        match call.event.kind {
            event_type::ON_LOSS => *reduced = true,
            event_type::ON_RECOVERED => *reduced = false,
            _ if subflow.ca_state > ca_state::DISORDER => {
                self.unannounced += u64::from(!*reduced);
                *reduced = true;
            }
            _ => {}
        }
    }

    fn count(&self, kind: u32, cause: u32) -> u64 {
        let fits = |key: &(&str, u32, u32)| key.1 == kind && key.2 == cause;
        self.events.iter().filter(|(key, _)| fits(key)).map(|(_, count)| count).sum()
    }

    fn is_the_mix_that_it_should_be(&self, calls: u64) {
        for algorithm in common::algorithms() {
            let acks = self.events.get(&(algorithm.name(), event_type::ON_ACK, 0)).copied().unwrap_or(0);
            assert!(acks >= ACKS, "{acks} ACKs of {}", algorithm.name());
        }
        for (what, kind, cause) in [
            ("init", event_type::INIT, 0),
            ("release", event_type::RELEASE, 0),
            ("fast retransmit", event_type::ON_LOSS, cause::FAST_RETRANSMIT),
            ("timeout", event_type::ON_LOSS, cause::RTO),
            ("ECN", event_type::ON_LOSS, cause::ECN),
            ("end of an episode", event_type::ON_RECOVERED, cause::EXIT),
            ("idle restart", event_type::ON_IDLE_RESTART, 0),
        ] {
            assert!(self.count(kind, cause) > 0, "no {what}");
        }
        assert!(self.subflows[2..].iter().sum::<u64>() > calls / 20, "{:?}", self.subflows);
    }
}

/// Statistics of the recorded traffic.
struct Traffic {
    counts: Recorded,
    pumped: Vec<Result<Pumped, String>>,
    replacements: u64,
}

/// Sends data over every algorithm, by TCP and MPTCP, while subflows join and leave, a path breaks and algorithms are
/// replaced, until `calls` calls and [`ACKS`] of every algorithm are recorded.
fn carry(
    network: &Network,
    names: &[(String, [String; 2])],
    wanted: u64,
    mut sink: impl FnMut(Call),
) -> Traffic {
    let traced: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
    let (stop, recorded) = (&AtomicBool::new(false), AtomicU64::new(0));
    let acks = RefCell::new(BTreeMap::<&str, u64>::new());
    let every_algorithm_was_heard =
        || acks.borrow().values().filter(|&&acks| acks >= ACKS).count() == names.len();
    let began = Instant::now();
    thread::scope(|scope| {
        let pumps: Vec<_> = names
            .iter()
            .enumerate()
            .flat_map(|(i, (name, _))| [(i, name, true), (i, name, false)])
            .map(|(i, name, is_mptcp)| {
                scope.spawn(move || {
                    let algorithm = format!("braid_{name}");
                    let address = if i % 2 == 0 { "10.1.2.2:0" } else { "[fd01:2::2]:0" };
                    let bytes = if is_mptcp { 6_000_000 } else { 1_000_000 };
                    let mut pumped = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        pumped.push(pump(network, address, is_mptcp, &algorithm, bytes, stop));
                    }
                    pumped
                })
            })
            .collect();
        let disturber = scope.spawn(|| disturb(network, names, stop));
        let counts = record(
            &traced,
            256 << 20,
            || {
                assert!(began.elapsed() < Duration::from_secs(1_800), "not enough calls in half an hour");
                recorded.load(Ordering::Relaxed) < wanted
                    || began.elapsed() < Duration::from_secs(4)
                    || !every_algorithm_was_heard()
            },
            |call| {
                recorded.fetch_add(1, Ordering::Relaxed);
                if call.event.kind == event_type::ON_ACK {
                    *acks.borrow_mut().entry(call.origin.spec.algorithm().name()).or_default() += 1;
                }
                sink(call);
                true
            },
        );
        stop.store(true, Ordering::Relaxed);
        Traffic {
            counts: counts.expect("recording works where loading does"),
            pumped: pumps.into_iter().flat_map(|pump| pump.join().expect("no panic")).collect(),
            replacements: disturber.join().expect("no panic"),
        }
    })
}

/// Joins, removals, a path failure, replacements. Returns the number of replacements.
fn disturb(network: &Network, names: &[(String, [String; 2])], stop: &AtomicBool) -> u64 {
    let pause = |ms| thread::sleep(Duration::from_millis(ms));
    let (mut round, mut replacements) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        network.open_second_path();
        pause(700);
        network.second_path(false);
        pause(600);
        network.second_path(true);
        pause(500);
        round += 1;
        for (name, specs) in names {
            load(&spec(&specs[round % 2]), name).expect("replacing works where loading does");
            replacements += 1;
        }
        pause(500);
        network.close_second_path();
        pause(200);
    }
    replacements
}

#[test]
fn the_native_build_does_every_word_of_what_the_kernel_did_under_traffic() {
    const TEST: &str = "replay of recorded calls";
    let wanted: u64 = env::var("BRAID_REPLAY_CALLS").map_or(CALLS, |text| text.parse().expect("a number"));
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    if let Err(reason) = network.damage() {
        skip(TEST, &reason);
        return;
    }
    let names = names();
    let mut guards = Vec::new();
    for (name, [first, _]) in &names {
        let Some(_) = common::or_skip(TEST, load(&spec(first), name)) else { return };
        guards.push(Guard(name));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace");
    let file = BufWriter::with_capacity(1 << 20, File::create(&path).expect("a file"));
    let mut writer = Writer::new(file, "test").expect("room on the disk");
    let traffic = carry(&network, &names, wanted, |call| writer.call(&call).expect("room on the disk"));
    let Traffic { counts, pumped, replacements } = traffic;
    writer.finish(counts.lost, 0).expect("room on the disk");

    let (mut replay, mut seen) = (Replay::new(), Seen::default());
    for call in read(&path).expect("a trace") {
        let call = call.expect("a whole trace");
        seen.note(&call);
        replay.call(&call);
    }
    report(&format!(
        "{} calls, by number of subflows {:?}, {} lost, {} cut off at the end; {} connections, {replacements} \
         replacements; {} words compared, {} differ, {} calls found other memory than was left; {} episodes \
         without on_loss, {} calls found an absurd window (kernel/README.md, Kernels that skip programs)",
        replay.total(),
        seen.subflows,
        counts.lost,
        counts.cut,
        pumped.len(),
        replay.words,
        replay.differing,
        replay.gaps,
        seen.unannounced,
        seen.absurd
    ));
    for ((algorithm, kind, cause), count) in &seen.events {
        report(&format!("{algorithm:<10} {:<16} cause {cause} {count:>9}", event_name(*kind)));
    }
    assert_eq!(replay.differing, 0, "{:#?}", replay.first);
    assert!(counts.lost > 0 || replay.gaps == 0, "{} calls found other memory than was left", replay.gaps);
    if counts.lost == 0 {
        // If an absurd window appears between two calls, the kernel has skipped `ssthresh` or `undo_cwnd`.
        assert_eq!(seen.made_absurd, 0, "absurd windows of our making");
        // Distribution kernels skip none.
        assert!(
            seen.absurd + seen.unannounced == 0 || env::var_os("BRAID_GUEST").is_none(),
            "{}",
            seen.absurd
        );
    }
    assert!(replay.total() >= wanted, "{} of {wanted} calls", replay.total());
    assert_eq!(replay.total(), counts.calls);
    assert!(replay.other_sources.is_empty(), "{:?}", replay.other_sources);
    let mut damaged = Vec::new();
    for pumped in pumped {
        let pumped = pumped.expect("the connection holds");
        assert!(pumped.sent == pumped.received && !pumped.on_default, "{pumped:?}");
        damaged.extend(pumped.damage);
    }
    // Linux 6.18.44 does that occasionally without Braid, see tests/stress.rs.
    assert!(damaged.len() <= 1, "{damaged:?}");
    assert!(replacements >= names.len() as u64, "{replacements} replacements");
    seen.is_the_mix_that_it_should_be(wanted);
}

#[expect(clippy::print_stdout, reason = "figures for a person")]
fn report(line: &str) {
    println!("{line}");
}
