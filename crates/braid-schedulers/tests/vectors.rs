//! Examples computed by hand, and properties of every scheduler.

use braid_schedulers::layout::{
    Choice, MAX_PATHS, NO_SSTHRESH, Path, Paths, choice_flags, flags, path_flags,
};
use braid_schedulers::{Chooser, Event, Scheduler, Spec, all};
use proptest::prelude::*;

const READY: u32 =
    path_flags::ESTABLISHED | path_flags::USABLE | path_flags::ROOM | path_flags::MEMORY | path_flags::OPEN;

/// A path with room.
fn path(srtt_ms: u32, cwnd: u32) -> Path {
    Path {
        flags: READY,
        mss: 1400,
        srtt_us: srtt_ms * 1000,
        last_rtt_us: srtt_ms * 1000,
        cwnd,
        ssthresh: NO_SSTHRESH,
        pacing_rate: u64::from(cwnd) * 1400 * 1000 / u64::from(srtt_ms.max(1)),
        ..Path::default()
    }
}

fn full(path: Path) -> Path {
    Path { flags: path.flags & !path_flags::ROOM, in_flight: path.cwnd, ..path }
}

fn view(paths: &[Path]) -> Paths {
    let mut view = Paths {
        now_us: 10_000_000,
        flags: flags::NEW_DATA,
        n: paths.len() as u32,
        segment: 1400,
        window: 1 << 30,
        window_left: 1 << 30,
        unassigned: 1 << 20,
        ..Paths::default()
    };
    view.path[..paths.len()].copy_from_slice(paths);
    view
}

fn chooser(text: &str, view: &Paths) -> Chooser {
    let mut chooser = Chooser::new(&Spec::parse(text).unwrap());
    for index in 0..view.n {
        chooser.deliver(Event::Join, &Paths { self_index: index, now_us: 0, ..*view });
    }
    chooser
}

fn choose(text: &str, view: &Paths) -> Choice {
    chooser(text, view).deliver(Event::Choose, view)
}

/// The paths of `count` choices in a row.
fn sequence(text: &str, view: &Paths, count: usize) -> Vec<Option<usize>> {
    let mut chooser = chooser(text, view);
    (0..count).map(|_| chooser.deliver(Event::Choose, view).path()).collect()
}

#[test]
fn every_scheduler_has_a_page_and_facts() {
    for scheduler in all() {
        for (key, value) in [("title", scheduler.title()), ("year", scheduler.fact("year"))] {
            assert!(!value.is_empty(), "{}: {key}", scheduler.name());
        }
        for param in scheduler.params() {
            assert!((param.low..=param.high).contains(&param.initial), "{} {}", scheduler.name(), param.name);
            assert!(!param.help.is_empty());
        }
    }
    let names: Vec<_> = all().iter().map(Scheduler::name).collect();
    let expected = "blest daps ecf hsr linux llbm llrp minrtt otias redundant rr sttf wrr";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn rust_and_c_have_the_same_layout() {
    unsafe extern "C" {
        static braid_scheduler_layout: [u32; 7];
    }
    // SAFETY: a constant of the C library.
    let c = unsafe { braid_scheduler_layout };
    let rust = [
        size_of::<Path>(),
        size_of::<Paths>(),
        size_of::<Choice>(),
        std::mem::offset_of!(Path, memory),
        std::mem::offset_of!(Paths, window),
        std::mem::offset_of!(Paths, path),
        std::mem::offset_of!(Choice, ssthresh),
    ];
    assert_eq!(c.map(|own| own as usize), rust);
}

#[test]
fn minrtt_fills_the_fastest_path_first_and_keeps_backups_back() {
    let (fast, slow) = (path(10, 20), path(100, 20));
    assert_eq!(choose("minrtt", &view(&[slow, fast])).path(), Some(1));
    assert_eq!(choose("minrtt", &view(&[slow, full(fast)])).path(), Some(0));
    let backup = Path { flags: READY | path_flags::BACKUP, ..path(1, 20) };
    assert_eq!(choose("minrtt", &view(&[slow, backup])).path(), Some(0));
    assert_eq!(choose("minrtt", &view(&[full(slow), backup])).path(), None, "it is only busy");
    let gone = Path { flags: 0, ..slow };
    assert_eq!(choose("minrtt", &view(&[gone, backup])).path(), Some(1));
    let loss = Path { flags: READY | path_flags::LOSS, ..fast };
    assert_eq!(choose("minrtt", &view(&[slow, loss])).path(), Some(0));
}

#[test]
fn a_segment_goes_to_a_path_that_has_not_carried_it_as_long_as_there_is_one() {
    let (fast, slow) = (path(10, 20), path(100, 20));
    let again = |carriers, paths: &[Path]| {
        choose("minrtt", &Paths { flags: flags::REINJECTION, carriers, ..view(paths) })
    };
    assert_eq!(again(0b01, &[fast, slow]).path(), Some(1));
    assert_eq!(again(0b01, &[full(fast), full(slow)]).path(), None, "it waits for the one that has not");
    for (carriers, paths, which) in
        [(0b11, [fast, slow], "all have"), (0b01, [fast, full(slow)], "the other is full")]
    {
        let carried = again(carriers, &paths);
        assert_eq!((carried.path(), carried.flags), (Some(0), choice_flags::FORGET), "{which}");
    }
}

#[test]
fn a_blocked_receive_window_is_freed_by_the_fast_path() {
    let (fast, slow) = (path(10, 20), Path { ssthresh: 20, ..path(100, 40) });
    let blocked = Paths { flags: flags::WINDOW_BLOCKED, head_carriers: 0b10, ..view(&[fast, slow]) };
    let mut minrtt = chooser("minrtt", &blocked);
    let first = minrtt.deliver(Event::Blocked, &blocked);
    assert_eq!((first.cwnd[1], first.ssthresh[1]), (20, 10), "halved, and it was out of slow start");
    let again = choice_flags::RESEND_HEAD | choice_flags::ONCE_PER_RTT;
    assert_eq!(first.flags, again, "100 ms are more than four times 10");
    let second = minrtt.deliver(Event::Blocked, &Paths { now_us: blocked.now_us + 9_999, ..blocked });
    assert_eq!((second.cwnd, second.flags), ([0; 8], again), "once per RTT");
    let near = Paths { path: view(&[fast, Path { srtt_us: 39_999, ..path(40, 40) }]).path, ..blocked };
    let near = chooser("minrtt", &near).deliver(Event::Blocked, &near);
    assert_eq!((near.flags, near.srtt_us), (choice_flags::ONCE_PER_RTT, 10_000), "a quarter, rounded up");
    let small = Paths { path: view(&[fast, path(40, 4)]).path, ..blocked };
    let small = chooser("minrtt", &small).deliver(Event::Blocked, &small);
    assert_eq!((small.flags, small.cwnd[1], small.ssthresh[1]), (again, 2, 0));
    let three = Paths { head_carriers: 0b110, ..view(&[fast, slow, slow]) };
    let three = Paths { flags: flags::WINDOW_BLOCKED, ..three };
    let penalised = |text| chooser(text, &three).deliver(Event::Blocked, &three).cwnd[..3].to_vec();
    assert_eq!((penalised("llrp"), penalised("llrp:penalise=first")), (vec![0, 20, 20], vec![0, 20, 0]));
    let own = Paths { head_carriers: 0b11, ..blocked };
    let itself = chooser("minrtt", &own).deliver(Event::Blocked, &own);
    assert_eq!((itself.flags, itself.wake_us), (choice_flags::ONCE_PER_RTT, 0), "it has carried it itself");
    let mut later = chooser("minrtt", &own);
    later.deliver(Event::Blocked, &own);
    let later = later.deliver(Event::Blocked, &Paths { now_us: own.now_us + 9_999, ..own });
    assert_eq!((later.cwnd, later.flags, later.wake_us), ([0; 8], choice_flags::ONCE_PER_RTT, 9_999));
    assert_eq!(
        chooser("minrtt:retransmit=off:penalise=off", &blocked).deliver(Event::Blocked, &blocked),
        Choice { flags: choice_flags::NO_REMEDY, ..Choice::default() }
    );
}

#[test]
fn a_full_send_buffer_is_freed_likewise_and_nobody_is_penalised_while_there_is_room_in_it() {
    let answer = |flags| {
        let slow = Path { ssthresh: 20, ..path(100, 40) };
        let blocked = Paths { flags, head_carriers: 0b10, ..view(&[path(10, 20), slow]) };
        let choice = chooser("minrtt", &blocked).deliver(Event::Blocked, &blocked);
        (choice.flags, choice.cwnd[1], choice.ssthresh[1])
    };
    let again = choice_flags::RESEND_HEAD | choice_flags::ONCE_PER_RTT;
    assert_eq!(answer(flags::MEMORY_BLOCKED), (again, 20, 10));
    assert_eq!(answer(flags::MEMORY_BLOCKED | flags::MEMORY_LEFT), (again, 0, 0));
}

#[test]
fn round_robin_takes_turns() {
    let three = view(&[path(10, 9), path(20, 9), path(30, 9)]);
    assert_eq!(sequence("rr", &three, 6), [2, 1, 0, 2, 1, 0].map(Some));
    assert_eq!(sequence("rr:segments=2", &three, 6), [2, 2, 1, 1, 0, 0].map(Some));
    let blocked = view(&[path(10, 9), full(path(20, 9)), path(30, 9)]);
    assert_eq!(sequence("rr", &blocked, 4), [2, 0, 2, 0].map(Some));
    assert_eq!(
        sequence("rr:limited=off", &blocked, 3),
        [Some(2), None, None],
        "it waits for the one in the middle"
    );
}

#[test]
fn weighted_round_robin_spreads_packets_by_weight() {
    let two = view(&[path(10, 9), path(20, 9)]);
    assert_eq!(sequence("wrr:w1=3", &two, 8), [0, 0, 1, 0, 0, 0, 1, 0].map(Some));
    let auto = sequence("wrr:weights=auto", &two, 30);
    assert_eq!(auto.iter().filter(|path| **path == Some(0)).count(), 20, "cwnd/srtt is 2 to 1");
}

#[test]
fn redundant_paths_catch_up_before_they_get_new_data() {
    let even = view(&[path(10, 9), path(20, 9)]);
    assert_eq!(sequence("redundant", &even, 3), [0, 1, 0].map(Some));
    let late = view(&[path(10, 9), Path { behind: 5, ..path(20, 9) }]);
    let mut redundant = chooser("redundant", &late);
    assert_eq!(redundant.deliver(Event::Choose, &late).flags, 0);
    let copy = redundant.deliver(Event::Choose, &late);
    assert_eq!((copy.path(), copy.flags), (Some(1), choice_flags::COPY));
    let backup = Path { flags: READY | path_flags::BACKUP, behind: 5, ..path(1, 9) };
    assert_eq!(choose("redundant", &view(&[full(path(10, 9)), backup])).path(), None);
}

#[test]
fn the_three_rules_of_hsr() {
    // Rates 1000, 1500 and 1000 packets/s; room 10, 5 and 20; time per room 1, 2 and 1 ms.
    let paths = [path(10, 10), Path { in_flight: 10, ..path(10, 15) }, Path { in_flight: 0, ..path(20, 20) }];
    assert_eq!(choose("hsr", &view(&paths)).path(), Some(1));
    assert_eq!(choose("hsr:rule=lws", &view(&paths)).path(), Some(2));
    assert_eq!(choose("hsr:rule=lts", &view(&paths)).path(), Some(0), "a tie, and the smaller srtt");
}

#[test]
fn otias_counts_waiting_as_the_code_or_as_the_paper() {
    // can = 2, five wait: half an RTT of 100 ms in the paper's form, one and a half in the code's.
    let waits = Path { in_flight: 8, queued: 5, ..path(100, 10) };
    for (form, other_ms, chosen) in [("code", 299, 1), ("code", 301, 0), ("paper", 99, 1), ("paper", 101, 0)]
    {
        let choice = choose(&format!("otias:form={form}"), &view(&[waits, path(other_ms, 10)]));
        assert_eq!(choice.path(), Some(chosen), "{form} against {other_ms} ms");
        assert_eq!(choice.flags, choice_flags::QUEUE);
    }
}

#[test]
fn sttf_predicts_the_examples_of_the_specification() {
    // cwnd, in flight, queued, ssthresh, RTT in ms, and twice the time to delivery in ms.
    for (cwnd, in_flight, queued, ssthresh, rtt, double_ms) in [
        (10, 8, 5, NO_SSTHRESH, 100, 300),
        (10, 10, 60, NO_SSTHRESH, 100, 700),
        (10, 10, 60, 5, 100, 1100),
        (10, 0, 3, 5, 20, 20),
    ] {
        let waits = Path { in_flight, queued, ssthresh, ..path(rtt, cwnd) };
        for (other_ms, chosen) in [(double_ms - 1, 1), (double_ms + 1, 0)] {
            let other = path(other_ms, 10);
            let choice = choose("sttf:reschedule=off", &view(&[waits, other]));
            assert_eq!(choice.path(), Some(chosen), "{queued} queued against {other_ms} ms");
        }
    }
}

#[test]
fn sttf_takes_back_what_waits_in_the_wrong_place() {
    let crowded = Path { in_flight: 10, queued: 20, ..path(100, 10) };
    let choice = choose("sttf", &view(&[crowded, path(10, 40)]));
    assert_eq!((choice.paths, choice.flags & choice_flags::RECALL), (0, choice_flags::RECALL));
    let well = Path { in_flight: 38, queued: 2, ..path(10, 40) };
    assert_eq!(choose("sttf", &view(&[path(100, 10), well])).flags, choice_flags::QUEUE);
}

#[test]
fn blest_waits_exactly_when_the_fast_path_would_fill_the_window() {
    // Two rounds of the fast path during one segment's RTT on the slow path: k = 100/20 + 1 = 6, (20 + 2) * 6 = 132
    // packets, 1.2 times.
    let fast = full(Path { ssthresh: 10, ..path(20, 20) });
    let slow = path(100, 10);
    let bytes = 132 * 1400 * 12 / 10;
    for (window, waits) in [(bytes + 1400, false), (bytes + 1399, true)] {
        // Before the first adjustment of lambda, which is due after 100 ms.
        let view = Paths { window, now_us: 50_000, ..view(&[fast, slow]) };
        assert_eq!(choose("blest", &view).path().is_none(), waits, "{window} bytes");
    }
    let starting =
        Paths { window: 20 * 63 * 1400 * 12 / 10, now_us: 50_000, ..view(&[full(path(20, 20)), slow]) };
    assert_eq!(choose("blest", &starting).path(), None, "slow start: 2^6 - 1 windows");
}

#[test]
fn the_lambda_of_blest_grows_when_the_window_was_full_and_shrinks_when_not() {
    let fast = full(Path { ssthresh: 10, ..path(20, 20) });
    let at = |now_us, window| Paths { now_us, window, ..view(&[fast, path(100, 10)]) };
    let fits = |lambda: u64, chooser: &mut Chooser, now_us| {
        let bytes = 132 * 1400 * lambda / 1000 + 1400;
        assert_eq!(chooser.deliver(Event::Choose, &at(now_us, bytes)).path(), Some(1), "{lambda}");
        assert_eq!(chooser.deliver(Event::Choose, &at(now_us, bytes - 1)).path(), None, "{lambda}");
    };
    let mut blest = chooser("blest", &at(0, 0));
    fits(1200, &mut blest, 50_000);
    fits(1190, &mut blest, 150_000);
    let blocked = Paths { flags: flags::WINDOW_BLOCKED, head_carriers: 0b10, ..at(160_000, 0) };
    blest.deliver(Event::Blocked, &blocked);
    fits(1230, &mut blest, 250_000);
    for step in 3..40 {
        blest.deliver(Event::Blocked, &blocked);
        blest.deliver(Event::Choose, &at(step * 150_000, 0));
    }
    fits(1300, &mut blest, 40 * 150_000 - 100_000);
}

#[test]
fn ecf_waits_and_sends_as_in_the_examples_of_the_specification() {
    let fast = full(Path { rttvar_us: 10_000, ..path(20, 20) });
    let slow = Path { rttvar_us: 10_000, ..path(100, 10) };
    for (packets, sends) in [(10, false), (60, false), (120, true)] {
        let view = Paths { unassigned: packets * 1400, ..view(&[fast, slow]) };
        assert_eq!(choose("ecf", &view).path(), sends.then_some(1), "{packets} packets");
    }
    // A waiting path needs a quarter more: 0.02 s (120 + 20)/20 = 0.14 s is over 1.25 * 0.11 s; with 114 packets it is
    // not.
    let of = |packets: u64| Paths { unassigned: packets * 1400, ..view(&[fast, slow]) };
    let mut ecf = chooser("ecf", &of(0));
    assert_eq!(ecf.deliver(Event::Choose, &of(100)).path(), Some(1), "0.12 s is not below 0.11 s");
    assert_eq!(ecf.deliver(Event::Choose, &of(60)).path(), None);
    assert_eq!(ecf.deliver(Event::Choose, &of(100)).path(), None, "still waiting");
    assert_eq!(ecf.deliver(Event::Choose, &of(120)).path(), Some(1));
    assert_eq!(ecf.deliver(Event::Choose, &of(100)).path(), Some(1), "no more");
}

#[test]
fn ecf_in_32_bits_overflows_as_the_module_does() {
    let of = |srtt_ms, cwnd| Path { mss: 1428, mdev_max_us: 200_000, ..path(srtt_ms, cwnd) };
    let view = Paths { unassigned: 50_000, ..view(&[full(of(10, 20)), of(60, 10)]) };
    assert_eq!(choose("ecf:sigma=linux", &view).path(), None);
    // 28560 bytes times 160000 us is more than 32 bits hold.
    assert_eq!(choose("ecf:sigma=linux:arithmetic=fork", &view).path(), Some(1));
}

#[test]
fn ll_bm_caps_the_window_of_a_path_whose_queue_is_long() {
    let at = |srtt_ms, in_flight| view(&[Path { in_flight, ..path(srtt_ms, 60) }, path(500, 10)]);
    let mut llbm = chooser("llbm", &at(50, 0));
    llbm.deliver(Event::Rtt, &at(50, 0));
    for (srtt_ms, in_flight, path) in [(300, 29, 0), (300, 30, 1), (150, 59, 0)] {
        let choice = llbm.deliver(Event::Choose, &at(srtt_ms, in_flight));
        assert_eq!(choice.path(), Some(path), "{srtt_ms} ms, {in_flight} in flight");
    }
    let later = Paths { now_us: 30_000_000, ..at(300, 30) };
    llbm.deliver(Event::Rtt, &later);
    assert_eq!(llbm.deliver(Event::Choose, &later).path(), Some(0), "after 10 s it knows no better");
}

#[test]
fn daps_gives_the_slow_path_what_will_be_due() {
    let paths = view(&[path(20, 1), path(60, 1)]);
    assert_eq!(sequence("daps:grid=1", &paths, 8), [0, 0, 0, 1, 0, 0, 0, 1].map(Some));
    // 10 and 30 ms are 12 and 32 ms on the default grid of 4 ms (8:3), on a grid of 4 us themselves.
    let paths = view(&[path(20, 1), path(60, 1)]);
    assert_eq!(sequence("daps:clock=us", &paths, 8), [0, 0, 0, 1, 0, 0, 0, 1].map(Some));
    assert_ne!(sequence("daps", &paths, 8), sequence("daps:clock=us", &paths, 8));
    let busy = view(&[full(path(20, 1)), path(60, 1)]);
    let waits = choose("daps:grid=1", &busy);
    assert_eq!((waits.paths, waits.wake_us), (0, 20_000), "it waits for the path whose turn it is");
}

#[test]
fn linux_takes_the_path_that_has_sent_first_and_gives_it_64_kilobytes() {
    let busy = Path { memory: 100_000, ..path(10, 20) };
    let idle = path(100, 10);
    let choice = choose("linux", &view(&[busy, idle]));
    assert_eq!((choice.path(), choice.packets, choice.flags), (Some(1), 47, choice_flags::QUEUE));
    let no_memory = Path { flags: READY & !path_flags::MEMORY, ..idle };
    assert_eq!(choose("linux", &view(&[busy, no_memory])).path(), None, "it waits for the one it has chosen");
    // One timeout does not stop the use of a path here; many do.
    let failed = Path { flags: READY & !path_flags::USABLE, ..idle };
    assert_eq!(choose("linux", &view(&[busy, failed])).path(), Some(1));
    let stale = Path { flags: failed.flags | path_flags::STALE, ..idle };
    assert_eq!(choose("linux", &view(&[busy, stale])).path(), Some(0));
}

#[test]
fn linux_sends_once_more_only_on_a_path_that_has_nothing_else_to_do() {
    let busy = Path { memory: 1, ..path(10, 20) };
    let idle = path(100, 10);
    let backup = Path { flags: READY | path_flags::BACKUP, ..idle };
    let again = |paths: &[Path]| choose("linux", &Paths { flags: flags::REINJECTION, ..view(paths) }).path();
    assert_eq!(again(&[busy, idle]), Some(1));
    assert_eq!(again(&[backup, idle]), Some(1));
    assert_eq!(again(&[busy, backup]), None, "the other one works");
    let failed = Path { flags: READY & !path_flags::USABLE, ..busy };
    assert_eq!(again(&[failed, backup]), Some(1));
}

/// A usable path is established, and an empty send buffer has room.
fn possible(flags: u32, memory: u64) -> u32 {
    let established = if flags & path_flags::USABLE != 0 { path_flags::ESTABLISHED } else { 0 };
    let room = if memory == 0 { path_flags::MEMORY } else { 0 };
    flags & 255 | established | room
}

/// Any possible state of a host.
fn states() -> impl Strategy<Value = Paths> {
    let path = (
        any::<u32>(),
        0..2_000_000_u32,
        0..500_000_u32,
        1..2000_u32,
        prop_oneof![Just(NO_SSTHRESH), 2..2000_u32],
        0..2100_u32,
        0..300_u32,
        0..50_u32,
        prop_oneof![Just(0_u64), 0..10_000_000_u64],
        0..1_000_000_000_u64,
    );
    let path = path.prop_map(
        |(flags, srtt_us, rttvar_us, cwnd, ssthresh, in_flight, queued, behind, memory, pacing_rate)| Path {
            flags: possible(flags, memory),
            mss: 1400,
            srtt_us,
            rttvar_us,
            mdev_max_us: rttvar_us.max(200_000),
            last_rtt_us: srtt_us,
            cwnd,
            ssthresh,
            in_flight,
            queued,
            behind,
            memory,
            pacing_rate,
            reserved: 0,
        },
    );
    let paths = prop::collection::vec(path, 1..=MAX_PATHS);
    (
        paths,
        0..1_u64 << 40,
        prop_oneof![Just(flags::NEW_DATA), Just(flags::REINJECTION)],
        any::<(u8, u8)>(),
        0..1_u64 << 24,
        0..1_u64 << 30,
    )
        .prop_map(|(paths, now_us, flags, (carriers, head), window, unassigned)| {
            let valid = (1_u32 << paths.len()) - 1;
            Paths {
                now_us,
                flags,
                carriers: if flags == flags::NEW_DATA { 0 } else { u32::from(carriers) & valid },
                head_carriers: u32::from(head) & valid,
                window,
                window_left: window / 2,
                unassigned,
                ..view(&paths)
            }
        })
}

/// Whether an answer about a full window implies that the answer now is to do nothing: `BRAID_ONCE_PER_RTT`.
fn stands(before: &Paths, choice: &Choice, now: &Paths) -> bool {
    let path = |index: u32| now.path[index as usize];
    let carriers = || (0..now.n).filter(|index| (now.head_carriers >> index) & 1 == 1);
    let itself = path(now.self_index);
    let passed_us = now.now_us - before.now_us + u64::from(choice.wake_us);
    let is_rested =
        passed_us < itself.srtt_us.into() || carriers().all(|index| path(index).srtt_us <= itself.srtt_us);
    let is_as_before = choice.srtt_us > 0
        && itself.srtt_us >= choice.srtt_us
        && now.head_carriers == before.head_carriers
        && carriers().all(|index| {
            let own = before.path[index as usize];
            path(index).cwnd >= own.cwnd && path(index).srtt_us <= own.srtt_us.max(itself.srtt_us)
        });
    choice.flags & choice_flags::ONCE_PER_RTT != 0
        && before.self_index == now.self_index
        && is_rested
        && ((now.head_carriers >> now.self_index) & 1 == 1 || is_as_before)
}

fn is_ready(path: &Path) -> bool {
    let ready = path_flags::USABLE | path_flags::ROOM;
    path.flags & (ready | path_flags::LOSS) == ready
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_scheduler_sends_where_nothing_can_be_sent(states in prop::collection::vec(states(), 1..6)) {
        for scheduler in all() {
            let mut chooser = chooser(scheduler.name(), &states[0]);
            for view in &states {
                let choice = chooser.deliver(Event::Choose, view);
                prop_assert!(choice.paths < 1 << view.n);
                for index in (0..MAX_PATHS).filter(|index| (choice.paths >> index) & 1 == 1) {
                    let own = view.path[index].flags;
                    let queues = choice.flags & choice_flags::QUEUE != 0;
                    let needs = if queues { path_flags::MEMORY } else { path_flags::ROOM };
                    let mainline = scheduler.flags() & Scheduler::MAINLINE != 0;
                    let lives = if mainline { path_flags::ESTABLISHED } else { path_flags::USABLE };
                    let takes = own & (lives | needs) == lives | needs
                        || (queues && own & path_flags::ROOM != 0 && own & lives != 0);
                    prop_assert!(takes, "{} chose path {index} of {view:?}", scheduler.name());
                }
                let self_index = view.n - 1;
                for event in [Event::Rtt, Event::Blocked] {
                    let flags = flags::WINDOW_BLOCKED;
                    let answer = chooser.deliver(event, &Paths { self_index, flags, ..*view });
                    prop_assert_eq!(answer.paths, 0);
                }
            }
        }
    }

    /// So a host may skip the call: [`Scheduler::BY_SRTT`].
    #[test]
    fn who_goes_by_srtt_has_a_choice_only_where_several_paths_are_ready(states in states(), kept in 0..MAX_PATHS) {
        let mut view = Paths { carriers: 0, flags: flags::NEW_DATA, ..states };
        let kept = kept % view.n as usize;
        for (index, path) in view.path.iter_mut().enumerate().take(view.n as usize) {
            if index == kept {
                path.flags &= !path_flags::BACKUP;
            } else if is_ready(path) {
                path.flags &= !path_flags::ROOM;
            }
        }
        let expected = if is_ready(&view.path[kept]) { 1 << kept } else { 0 };
        for scheduler in all().iter().filter(|scheduler| scheduler.flags() & Scheduler::BY_SRTT != 0) {
            let mut chooser = chooser(scheduler.name(), &view);
            let before = chooser.private().to_vec();
            let choice = chooser.deliver(Event::Choose, &view);
            prop_assert_eq!((choice.paths, choice.packets, choice.wake_us), (expected, 0, 0), "{}", scheduler.name());
            prop_assert!(expected == 0 || choice.flags == 0);
            prop_assert_eq!(chooser.private(), &before[..]);

            let blocked = Paths { flags: flags::WINDOW_BLOCKED, self_index: kept as u32, ..view };
            let mut unlike = Paths { window: 0, window_left: 0, unassigned: 0, ..blocked };
            for path in &mut unlike.path {
                *path = Path {
                    flags: path.flags,
                    srtt_us: path.srtt_us,
                    cwnd: path.cwnd,
                    ssthresh: path.ssthresh,
                    ..Path::default()
                };
            }
            let answers = [blocked, unlike].map(|shown| {
                let mut chooser = Chooser::new(&Spec::parse(scheduler.name()).unwrap());
                chooser.deliver(Event::Blocked, &shown)
            });
            prop_assert_eq!(answers[0], answers[1]);
            let own = Paths { head_carriers: blocked.head_carriers & (1 << kept), ..blocked };
            let mut chooser = Chooser::new(&Spec::parse(scheduler.name()).unwrap());
            let before = chooser.private().to_vec();
            let answer = chooser.deliver(Event::Blocked, &own);
            let idle = Choice { flags: choice_flags::ONCE_PER_RTT, wake_us: answer.wake_us, ..Choice::default() };
            prop_assert!(answer == Choice::default() || answer == idle);
            prop_assert_eq!(chooser.private(), &before[..]);
        }
    }

    /// So a host may skip the call here, too: [`Scheduler::BY_SRTT`].
    #[test]
    fn who_goes_by_srtt_gives_new_data_to_the_ready_path_with_the_smallest(states in states()) {
        let mut view = Paths { carriers: 0, flags: flags::NEW_DATA, ..states };
        let n = view.n as usize;
        for path in view.path.iter_mut().take(n) {
            // Makes ties frequent.
            path.srtt_us /= 200_000;
            if is_ready(path) {
                path.flags &= !path_flags::BACKUP;
            }
        }
        let ready = (0..n).filter(|&index| is_ready(&view.path[index]));
        let best = ready.min_by_key(|&index| view.path[index].srtt_us);
        for scheduler in all().iter().filter(|scheduler| scheduler.flags() & Scheduler::BY_SRTT != 0) {
            let mut chooser = chooser(scheduler.name(), &view);
            let before = chooser.private().to_vec();
            let choice = chooser.deliver(Event::Choose, &view);
            prop_assert_eq!((choice.path(), choice.packets, choice.wake_us), (best, 0, 0), "{}", scheduler.name());
            prop_assert!(best.is_none() || choice.flags == 0);
            prop_assert_eq!(chooser.private(), &before[..]);
        }
    }

    /// So a host may skip the call: `BRAID_ONCE_PER_RTT`.
    #[test]
    fn nothing_is_done_about_a_full_window_while_the_answer_stands(
        states in prop::collection::vec((states(), 0..4_u8), 2..12),
    ) {
        for scheduler in all() {
            let mut chooser = chooser(scheduler.name(), &states[0].0);
            let mut last: Option<(Paths, Choice)> = None;
            let mut now_us = states[0].0.now_us;
            for (drawn, kind) in &states {
                let mut state = *drawn;
                if let Some((before, _)) = last.filter(|_| *kind > 0) {
                    // The same paths again, some of them changed.
                    state = Paths { head_carriers: before.head_carriers, ..before };
                    for (path, other) in state.path.iter_mut().zip(&drawn.path) {
                        if *kind == 1 || other.cwnd % 3 > 0 {
                            path.cwnd = path.cwnd.saturating_add(other.cwnd % 3);
                            path.srtt_us = path.srtt_us.saturating_sub(other.srtt_us % 1000);
                        } else {
                            *path = *other;
                        }
                    }
                }
                now_us += u64::from(drawn.path[0].cwnd) * 50;
                let blocked = Paths { now_us, self_index: state.n - 1, flags: flags::WINDOW_BLOCKED, ..state };
                let stands = last.is_some_and(|(before, choice)| stands(&before, &choice, &blocked));
                let memory = chooser.private().to_vec();
                let choice = chooser.deliver(Event::Blocked, &blocked);
                if stands {
                    let done = (choice.cwnd, choice.flags & choice_flags::RESEND_HEAD);
                    prop_assert_eq!(done, ([0; MAX_PATHS], 0), "{}", scheduler.name());
                    prop_assert_eq!(chooser.private(), &memory[..], "{}", scheduler.name());
                }
                last = Some((blocked, choice));
            }
        }
    }

    #[test]
    fn one_path_with_room_is_used_whatever_the_scheduler(states in states()) {
        let mut only = Paths { n: 1, carriers: 0, flags: flags::NEW_DATA, ..states };
        only.path[0].flags = READY;
        only.path[0].in_flight = 0;
        only.path[0].queued = 0;
        only.path[0].behind = 0;
        only.path[0].pacing_rate = only.path[0].pacing_rate.max(1);
        for scheduler in all() {
            let choice = choose(scheduler.name(), &only);
            prop_assert_eq!(choice.path(), Some(0), "{}", scheduler.name());
        }
    }
}
