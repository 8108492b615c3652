//! Promises of every scheduler on any network: no byte is lost, duplicated or reordered, and no transfer stalls while
//! it could continue.

use std::fmt::Write as _;

use braid_algorithms::Spec;
use braid_scenario::Source;

use super::Run;
use crate::event_queue::moment;
use crate::options::Options;
use crate::random::Stream;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Phase, Sender};

const MS: u64 = 1_000_000;
/// Duration of the interval with faults.
const TROUBLE_MS: u64 = 8_000;
/// Latest arrival of all data, plus the time of sending one packet after the other: the longest backed-off timeout has
/// expired by then.
const END_MS: u64 = 240_000;
/// Extra time of a round trip beyond its delays, for delayed acknowledgements.
const SLOWER_MS: u64 = 60;
const STEP_MS: u64 = 10;

/// First case with autotuned receive buffers and limited send buffers.
const WITH_MORE_BUFFERS: u64 = 10_000;

/// A random network, its congestion control, the bytes sent over it, and the end of the run, milliseconds.
fn scenario(random: &mut Stream, with_more_buffers: bool) -> (String, &'static str, u64, u64) {
    let algorithms = ["lia", "olia", "balia", "cubic", "reno", "bbr"];
    let schedulers = [
        "blest",
        "daps",
        "ecf",
        "ecf:sigma=linux",
        "hsr",
        "hsr:rule=lws",
        "hsr:rule=lts",
        "linux",
        "llbm",
        "llrp",
        "minrtt",
        "minrtt:retransmit=off:penalise=off",
        "otias",
        "redundant",
        "rr",
        "rr:limited=off",
        "sttf",
        "wrr",
        "wrr:weights=auto",
    ];
    let one_of = |random: &mut Stream, list: &[&'static str]| list[random.below(list.len() as u64) as usize];
    let (cc, scheduler) = (one_of(random, &algorithms), one_of(random, &schedulers));
    let (paths, packets) = (1 + random.below(4), 1 + random.below(2_000));
    let bytes = packets * 1_420 - random.below(1_420);
    let buffer = if random.below(2) == 0 { 4_000 + random.below(60_000) } else { 6_000_000 };
    let mut links = String::new();
    let mut subflows = String::new();
    let mut longest = 0;
    for path in 0..paths {
        let (rate, delay) = (300 + random.below(30_000), 1 + random.below(150));
        longest = longest.max(2 * delay + SLOWER_MS);
        let (queue, loss) = (1 + random.below(60), random.below(3) * random.below(15));
        let _ = write!(
            links,
            "[link.b{path}]\nrate = \"{rate}kbit\"\ndelay = \"{delay}ms\"\nqueue = \"{queue}p\"\nloss = \"{}.{}%\"\n",
            loss / 10,
            loss % 10
        );
        if random.below(3) == 0 {
            let from = random.below(TROUBLE_MS - 1);
            let to = from + 1 + random.below(TROUBLE_MS - from);
            let _ = writeln!(links, "outages = [\"{from}ms..{to}ms\"]");
        }
        let _ = write!(subflows, "[connection.mp0.subflow.s{path}]\nroute = [\"b{path}\"]\n");
        // The first one stays, so that one subflow can always send.
        if path > 0 && random.below(4) == 0 {
            let from = random.below(TROUBLE_MS / 2);
            let to = from + 100 + random.below(TROUBLE_MS / 2);
            let _ = writeln!(subflows, "up = [\"{from}ms..{to}ms\", \"{}ms..ENDms\"]", to + 500);
        }
        if path > 0 && random.below(4) == 0 {
            subflows.push_str("backup = true\n");
        }
    }
    let mut buffers = format!("receive-buffer = \"{buffer}B\"\n");
    if with_more_buffers {
        let _ = writeln!(buffers, "autotuning = {}", random.below(2) == 0);
        if random.below(3) > 0 {
            let _ = writeln!(buffers, "send-buffer = \"{}B\"", 1_420 + random.below(100_000));
        }
    }
    // With a receive buffer of two packets or a queue of one, little more than one packet is delivered per round trip.
    let end = END_MS + packets * longest;
    let subflows = subflows.replace("END", &end.to_string());
    let text = format!(
        "title = \"t\"\nduration = \"{end}ms\"\n{links}[connection.mp0]\nkind = \"mptcp\"\n\
         scheduler = \"{scheduler}\"\n{buffers}\
         traffic = {{ kind = \"object\", size = \"{bytes}B\" }}\n{subflows}"
    );
    (text, cc, bytes, end)
}

/// Latest end of the outages that have begun.
fn undisturbed_since(run: &Run, now: u64) -> Option<u64> {
    let outages = run.scenario.links.iter().flat_map(|link| &link.forward.outages);
    let begun = outages.filter(|(from, _)| *from <= now);
    begun.map(|&(_, to)| to).max()
}

/// Describes the subflows' states.
fn states(run: &Run) -> String {
    let connection = &run.connections[0];
    let data = &connection.data;
    let mut text = format!(
        "received {}, sent {}, acknowledged {}, carried by {:b}, to be sent once more: {:?}",
        data.rcv_nxt,
        data.snd_nxt,
        data.snd_una,
        data.carriers.of(data.snd_una),
        data.reinject
    );
    for (index, sender) in run.senders[..connection.n].iter().enumerate() {
        let view = connection.subflow(index);
        let _ = write!(
            text,
            "\n{index}: {:?}, cwnd {}, in flight {}, outstanding {}, state {}, {} timeouts in a row, RTO {} ms, due at {} ms, \
             {} B/s, failed {}, queued {}",
            sender.phase,
            view.cwnd,
            sender.in_flight(),
            sender.packets_out(),
            view.ca_state,
            sender.rto_backoffs,
            sender.rto_ns() / MS,
            sender.deadline() / MS,
            view.pacing_rate,
            sender.potentially_failed,
            connection.backlogs.get(index).map_or(0, |backlog| backlog.packets)
        );
    }
    text
}

fn check(number: u64) {
    let mut random = Stream::new(number, "data");
    let (text, cc, bytes, end_ms) = scenario(&mut random, number >= WITH_MORE_BUFFERS);
    let told = || format!("case {number}, {cc}:\n{text}");
    let file = braid_scenario::load(&Source { name: "t".into(), text: text.clone() }, &[]);
    let mut file = file.unwrap_or_else(|error| panic!("{error}\n{}", told()));
    let scenario = file.cells.remove(0);
    let spec = Spec::parse(cc).unwrap();
    let mut run = Run::new(&scenario, &spec, number, Options::default()).unwrap();
    let (mut progress, mut since, mut delivered, mut worst) = (vec![], 0, 0, 0);
    let mut now = 0;
    while run.applications[0].application.ended_ns().is_none() {
        assert!(
            now < end_ms * MS - 1,
            "unfinished: {delivered} packets of {bytes} bytes, {}; {}",
            states(&run),
            told()
        );
        now = (now + STEP_MS * MS).min(end_ms * MS - 1);
        run.advance(moment(now, 0));
        let connection = &run.connections[0];
        let data = &connection.data;
        assert!(data.has_received_all(), "a gap was handed over; {}", told());
        assert!(data.rcv_nxt >= delivered, "{}", told());
        delivered = data.rcv_nxt;
        // Any new packet at the receiver counts, in order or not.
        let received = run.receivers.iter().map(Receiver::distinct).collect::<Vec<_>>();
        if received != progress {
            (progress, since, worst) = (received, now, 0);
        }
        let waits = data.may_send_new() || !data.reinject.is_empty();
        let senders = &run.senders[..connection.n];
        let longest = senders.iter().filter(|sender| sender.phase == Phase::Established);
        let longest = longest.map(Sender::rto_ns).max().filter(|_| waits);
        if longest.is_none() {
            (since, worst) = (now, 0);
        }
        if let Some(rto) = longest {
            // An acknowledgement without new data ends the back-off, but is no progress.
            worst = worst.max(rto);
            // A join or a removed address counts as a change as well.
            let changed = undisturbed_since(&run, now).unwrap_or(0).max(TROUBLE_MS * MS);
            // Data retransmitted at a timeout has to travel.
            let travels = (0..connection.n).map(|index| connection.subflow(index).srtt_us).max();
            let travels = 1_000 * u64::from(travels.unwrap_or(0));
            let still = now.saturating_sub(since.max(changed));
            assert!(
                still <= 2 * (worst + STEP_MS * MS) + travels,
                "stands still for {} ms at {} ms, RTO {} ms; {}; {}",
                still / MS,
                now / MS,
                worst / MS,
                states(&run),
                told()
            );
        }
    }
    assert_eq!(run.delivered_bytes(), [bytes], "{}", told());
}

#[test]
fn no_scheduler_loses_repeats_or_reorders_a_byte_or_stands_still() {
    // Case 1394: an address disappears before its subflow would have joined. Case 7393: a subflow disappears that alone
    // has data which another one returned at a timeout.
    (0..300).chain([1_394, 7_393]).chain(WITH_MORE_BUFFERS..WITH_MORE_BUFFERS + 150).for_each(check);
}

#[test]
#[ignore = "a minute"]
fn the_same_on_thirteen_thousand_networks() {
    // A single case: BRAID_CASE=2567 cargo test -p braid-sim --lib thirteen -- --ignored
    let one = std::env::var("BRAID_CASE").ok().map(|number| number.parse().expect("the number of a case"));
    one.map_or(0..=WITH_MORE_BUFFERS + 2_999, |number| number..=number).for_each(check);
}
