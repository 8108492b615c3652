//! The adapter, driven as by the stack, without a stack.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_testing::Random;
use noq_proto::congestion::{Controller, ControllerFactory};

use crate::{Coupling, PathController, Spec};

const MTU: u16 = 1_200;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts what each thread allocates.
struct Counting;

// SAFETY: delegates to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A path that sends and acknowledges a window of full packets in each round.
struct Flow {
    controller: Box<PathController>,
    number: u64,
    in_flight: u64,
}

impl Flow {
    fn new(coupling: &Arc<Coupling>, now: Instant) -> Self {
        let controller = Arc::clone(coupling).build(now, MTU).into_any().downcast().expect("of this crate");
        Self { controller, number: 0, in_flight: 0 }
    }

    fn cwnd(&self) -> u32 {
        (self.controller.window() / u64::from(MTU)) as u32
    }

    /// Sends a window; returns the number of the first packet.
    fn send(&mut self, now: Instant) -> u64 {
        let first = self.number;
        while self.in_flight + u64::from(MTU) <= self.controller.window().min(100 * u64::from(MTU)) {
            self.controller.on_packet_sent(now, MTU, self.number);
            self.in_flight += u64::from(MTU);
            self.number += 1;
        }
        self.controller.on_cwnd_limited();
        first
    }

    fn acknowledge(&mut self, now: Instant, sent: Instant, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.in_flight -= u64::from(MTU);
            self.controller.acked(sent, u64::from(MTU), number);
        }
        self.controller.on_end_acks(now, self.in_flight, false, None);
    }

    /// A round trip of a window, an ACK for every two packets.
    fn round(&mut self, now: &mut Instant, rtt: Duration) {
        let sent = *now;
        let first = self.send(sent);
        *now += rtt;
        self.acknowledge_by_two(*now, sent, first);
    }

    fn acknowledge_by_two(&mut self, now: Instant, sent: Instant, first: u64) {
        for number in (first..self.number).step_by(2) {
            self.acknowledge(now, sent, number..(number + 2).min(self.number));
        }
    }

    fn lose(&mut self, now: Instant, sent: Instant, number: u64) {
        self.in_flight -= u64::from(MTU);
        self.controller.on_packet_lost(MTU, number, now);
        self.controller.on_congestion_event(now, sent, false, false, u64::from(MTU), number);
    }
}

const RTT: Duration = Duration::from_millis(50);

/// A flow that has sent its second window, the time of that, and the number of the first packet.
fn after_a_round(spec: &str) -> (Flow, Instant, u64) {
    let mut now = Instant::now();
    let mut flow = Flow::new(&coupling(spec), now);
    flow.round(&mut now, RTT);
    let first = flow.send(now);
    (flow, now, first)
}

fn coupling(spec: &str) -> Arc<Coupling> {
    Coupling::new(&Spec::parse(spec).unwrap())
}

#[test]
fn slow_start_doubles_the_window_each_round() {
    let mut now = Instant::now();
    let mut flow = Flow::new(&coupling("reno"), now);
    for expected in [10, 20, 40, 80] {
        assert_eq!(flow.cwnd(), expected);
        flow.round(&mut now, RTT);
    }
}

#[test]
fn a_loss_halves_the_window_once_per_episode_and_growth_waits_for_its_end() {
    let (mut flow, sent, first) = after_a_round("reno");
    let mut now = sent;
    now += RTT;
    flow.acknowledge(now, sent, first + 1..first + 5);
    assert_eq!(flow.cwnd(), 24);
    flow.lose(now, sent, first);
    assert_eq!(flow.cwnd(), 12);
    flow.lose(now, sent, first + 5);
    assert_eq!(flow.cwnd(), 12, "the same episode");
    flow.acknowledge(now, sent, first + 6..flow.number);
    assert_eq!(flow.cwnd(), 12, "sent before the episode");
    assert_eq!(flow.controller.state().loss_episodes, 1);
    now += Duration::from_millis(1);
    for _ in 0..3 {
        flow.round(&mut now, RTT);
    }
    assert_eq!(flow.cwnd(), 15, "a packet per round");
}

#[test]
fn persistent_congestion_leaves_two_packets_and_slow_start() {
    let (mut flow, sent, first) = after_a_round("reno");
    let mut now = sent;
    now += Duration::from_secs(2);
    flow.in_flight = 0;
    for number in first..flow.number {
        flow.controller.on_packet_lost(MTU, number, now);
    }
    flow.controller.on_congestion_event(now, sent, true, false, 24_000, flow.number - 1);
    assert_eq!(flow.cwnd(), 2);
    now += RTT;
    flow.round(&mut now, RTT);
    assert_eq!(flow.cwnd(), 4);
    assert_eq!(flow.controller.state().persistent_episodes, 1);
}

#[test]
fn marks_reduce_once_per_episode() {
    let (mut flow, sent, first) = after_a_round("reno");
    let mut now = sent;
    now += RTT;
    for _ in 0..2 {
        flow.controller.on_congestion_event(now, sent, false, true, 0, first);
    }
    assert_eq!((flow.cwnd(), flow.controller.state().ecn_episodes), (10, 1));
    flow.controller.on_spurious_congestion_event();
    assert_eq!(flow.cwnd(), 10, "a mark is not taken back");
}

#[test]
fn a_spurious_loss_is_undone_once() {
    let (mut flow, sent, first) = after_a_round("reno");
    let mut now = sent;
    now += RTT;
    flow.lose(now, sent, first);
    assert_eq!(flow.cwnd(), 10);
    flow.controller.on_spurious_congestion_event();
    assert_eq!((flow.cwnd(), flow.controller.state().ssthresh), (20, None));
    flow.controller.on_spurious_congestion_event();
    assert_eq!((flow.cwnd(), flow.controller.state().undos), (20, 1));
}

/// Both paths in congestion avoidance with the same window.
fn pair(spec: &str, now: &mut Instant) -> [Flow; 2] {
    let coupling = coupling(spec);
    let mut flows = [(); 2].map(|()| Flow::new(&coupling, *now));
    let sent = *now;
    let firsts = flows.each_mut().map(|flow| flow.send(sent));
    *now += RTT;
    for (flow, first) in flows.iter_mut().zip(firsts) {
        flow.acknowledge_by_two(*now, sent, first);
    }
    let sent = *now;
    *now += RTT;
    for flow in &mut flows {
        let first = flow.send(sent);
        flow.lose(*now, sent, first);
        flow.acknowledge(*now, sent, first + 1..flow.number);
        assert_eq!(flow.cwnd(), 10);
    }
    *now += Duration::from_millis(1);
    flows
}

#[test]
fn two_equal_paths_of_lia_grow_by_a_quarter_of_a_packet_per_round() {
    let mut now = Instant::now();
    let mut flows = pair("lia", &mut now);
    for _ in 0..20 {
        let sent = now;
        let firsts = flows.each_mut().map(|flow| flow.send(sent));
        now += RTT;
        for (flow, first) in flows.iter_mut().zip(firsts) {
            flow.acknowledge_by_two(now, sent, first);
        }
    }
    // RFC 6356 eq. 2 and 3: alpha = 1/2, so each path gets 1/4 packet per round, five in twenty.
    for flow in &flows {
        assert!((14..=15).contains(&flow.cwnd()), "{}", flow.cwnd());
    }
}

#[test]
fn alone_lia_is_reno() {
    let mut now = Instant::now();
    let [mut flow, other] = pair("lia", &mut now);
    drop(other);
    for _ in 0..20 {
        flow.round(&mut now, RTT);
    }
    assert_eq!(flow.cwnd(), 30);
}

#[test]
fn a_path_without_application_data_does_not_grow() {
    let mut now = Instant::now();
    let mut flow = Flow::new(&coupling("reno"), now);
    let sent = now;
    flow.controller.on_packet_sent(sent, MTU, 0);
    now += RTT;
    flow.controller.acked(sent, u64::from(MTU), 0);
    flow.controller.on_end_acks(now, 0, true, Some(0));
    assert_eq!(flow.cwnd(), 10);
}

#[test]
fn a_copy_is_the_same_path_until_the_last_is_gone() {
    let mut now = Instant::now();
    let coupling = coupling("olia");
    let mut flow = Flow::new(&coupling, now);
    flow.round(&mut now, RTT);
    let copy: Box<PathController> = flow.controller.clone_box().into_any().downcast().unwrap();
    assert_eq!(copy.window(), flow.controller.window());
    let original = std::mem::replace(&mut flow.controller, copy);
    flow.round(&mut now, RTT);
    assert_eq!(flow.cwnd(), 40, "goes on where it was");
    assert_eq!(original.window(), flow.controller.window(), "a path that migrates back finds it so");
    drop(original);
    assert_eq!(coupling.paths().len(), 1);
    drop(flow);
    assert!(coupling.paths().is_empty());
}

#[test]
fn a_ninth_path_is_alone_and_a_freed_place_is_used_again() {
    let now = Instant::now();
    let coupling = coupling("olia");
    let mut flows: Vec<Flow> = (0..9).map(|_| Flow::new(&coupling, now)).collect();
    assert_eq!(coupling.paths().len(), 8);
    assert_eq!(flows[8].cwnd(), 10);
    flows.remove(3);
    assert_eq!(coupling.paths().iter().map(|path| path.id).collect::<Vec<_>>(), [1, 2, 3, 5, 6, 7, 8]);
    let next = Flow::new(&coupling, now);
    assert_eq!((next.controller.id(), coupling.paths().len()), (9, 8));
}

#[test]
fn a_larger_mtu_leaves_the_window_its_bytes() {
    let now = Instant::now();
    let coupling = coupling("cubic");
    let mut flow = Flow::new(&coupling, now);
    flow.controller.on_mtu_update(1_500);
    assert_eq!(flow.controller.window(), 12_000);
    flow.controller.on_mtu_update(0);
    assert!(flow.controller.window() >= 2);
}

#[test]
fn a_rate_based_algorithm_paces() {
    let mut now = Instant::now();
    let mut flow = Flow::new(&coupling("bbr"), now);
    for _ in 0..20 {
        flow.round(&mut now, RTT);
    }
    let rate = flow.controller.metrics().pacing_rate.expect("BBR paces");
    assert!(rate > 10 * u64::from(MTU) * 20, "{rate}: a window per RTT at the least");
}

#[test]
fn what_is_lost_does_not_count_as_acknowledged() {
    let mut now = Instant::now();
    let coupling = coupling("olia");
    let mut flow = Flow::new(&coupling, now);
    let shown = || {
        let shown = coupling.first();
        (shown.snd_una / u64::from(MTU), (shown.snd_nxt - shown.snd_una) / u64::from(MTU))
    };
    flow.round(&mut now, RTT);
    let sent = now;
    let first = flow.send(sent);
    now += RTT;
    flow.acknowledge(now, sent, first + 1..first + 5);
    flow.lose(now, sent, first);
    assert_eq!(shown(), (14, 15), "acknowledged, in flight: ten and four of twenty, one is lost");
    flow.acknowledge(now, sent, first + 5..flow.number);
    assert_eq!(shown(), (29, 0));
}

#[test]
fn the_smoothed_rtt_counts_the_wait_for_an_ack() {
    let start = Instant::now();
    let coupling = coupling("lia");
    let mut flow = Flow::new(&coupling, start);
    let later = start + Duration::from_millis(10);
    flow.controller.on_packet_sent(start, MTU, 0);
    flow.controller.on_packet_sent(later, MTU, 1);
    flow.controller.acked(start, u64::from(MTU), 0);
    flow.controller.acked(later, u64::from(MTU), 1);
    flow.controller.on_end_acks(start + Duration::from_millis(60), 0, false, None);
    let state = flow.controller.state();
    assert_eq!((state.srtt_us, state.min_rtt_us), (60_000, 50_000));
}

#[test]
fn nothing_is_allocated_per_ack() {
    for algorithm in braid_algorithms::all() {
        let mut now = Instant::now();
        let coupling = coupling(algorithm.name());
        let mut flow = Flow::new(&coupling, now);
        let _other = Flow::new(&coupling, now);
        for _ in 0..5 {
            flow.round(&mut now, RTT);
        }
        let before = ALLOCATIONS.get();
        let sent = now;
        flow.send(sent);
        let memory_for_more_packets = ALLOCATIONS.get() - before;
        assert!(memory_for_more_packets <= 1, "{}", algorithm.name());
        now += RTT;
        let before = ALLOCATIONS.get();
        let first = flow.number - flow.in_flight / u64::from(MTU);
        flow.acknowledge_by_two(now, sent, first);
        assert_eq!(ALLOCATIONS.get() - before, 0, "{}", algorithm.name());
    }
}

fn own(controller: Box<dyn Controller>) -> PathController {
    *controller.into_any().downcast().expect("of this crate")
}

/// One random event; times and sizes are usually realistic and sometimes arbitrary.
fn disturb(
    random: &mut Random,
    now: &mut Instant,
    flows: &mut Vec<PathController>,
    coupling: &Arc<Coupling>,
) {
    let step = match random.below(8) {
        0 => 0,
        1..=6 => random.below(20_000),
        _ => random.below(400_000_000),
    };
    *now += Duration::from_micros(step);
    let earlier = Duration::from_micros(random.below(3_000_000));
    let sent = now.checked_sub(earlier).unwrap_or(*now);
    let number = random.below(200);
    let event = random.below(16);
    if flows.is_empty() || event == 0 {
        let controller = Arc::clone(coupling).build(*now, 1_200 + random.below(300) as u16);
        flows.push(own(controller));
        return;
    }
    let chosen = random.below(flows.len() as u64) as usize;
    let flow = &mut flows[chosen];
    match event {
        1 => drop(flows.swap_remove(chosen)),
        2 => {
            let copy = own(flow.clone_box());
            if random.below(2) == 0 { *flow = copy } else { flows.push(copy) }
        }
        3..=6 => {
            let bytes = if random.below(50) == 0 { u16::MAX } else { 1_200 };
            flow.on_packet_sent(*now, bytes, number);
        }
        7..=11 => {
            for _ in 0..random.below(4) {
                let bytes = if random.below(100) == 0 { random.below(u64::MAX) } else { 1_200 };
                flow.acked(sent, bytes, random.below(200));
            }
            let in_flight =
                if random.below(100) == 0 { random.below(u64::MAX) } else { random.below(50_000) };
            flow.on_end_acks(*now, in_flight, random.below(3) == 0, Some(number));
        }
        12 => {
            flow.on_packet_lost(1_200, number, *now);
            flow.on_congestion_event(*now, sent, random.below(4) == 0, false, 1_200, number);
        }
        13 => flow.on_congestion_event(*now, sent, false, true, 0, number),
        14 => flow.on_spurious_congestion_event(),
        _ => {
            flow.on_cwnd_limited();
            if random.below(4) == 0 {
                flow.on_mtu_update(random.below(9_000) as u16);
            }
        }
    }
}

#[test]
fn no_sequence_of_events_panics_or_brings_a_window_under_its_floor() {
    let algorithms = braid_algorithms::all();
    for sequence in 0..100_000_u64 {
        let algorithm = &algorithms[sequence as usize % algorithms.len()];
        let coupling = coupling(algorithm.name());
        let mut random = Random(sequence);
        let mut now = Instant::now();
        let mut flows: Vec<PathController> = Vec::new();
        for _ in 0..random.below(60) {
            disturb(&mut random, &mut now, &mut flows, &coupling);
        }
        for path in coupling.paths() {
            assert!(path.cwnd >= 2 && path.pacing_rate != Some(0), "{sequence}: {path:?}");
        }
        for flow in &flows {
            let metrics = flow.metrics();
            assert!(flow.window() >= 2 && metrics.congestion_window >= 2, "{sequence} {}", algorithm.name());
        }
        let shared = coupling.downgrade();
        drop((flows, coupling));
        assert!(shared.upgrade().is_none(), "{sequence}: something still holds the connection");
    }
}

#[test]
fn a_thousand_connections_whose_paths_come_and_go_end_with_all_of_them_working() {
    let algorithms = braid_algorithms::all();
    for number in 0..1_000_u64 {
        let algorithm = &algorithms[number as usize % algorithms.len()];
        let coupling = coupling(algorithm.name());
        let mut random = Random(!number);
        let mut now = Instant::now();
        let mut flows: Vec<Flow> = vec![Flow::new(&coupling, now)];
        for _ in 0..200 {
            let chosen = random.below(flows.len() as u64) as usize;
            // Capacity is limited: a large window loses a packet.
            match if flows[chosen].cwnd() > 60 { 3 } else { random.below(10) } {
                0 if flows.len() < 8 => flows.push(Flow::new(&coupling, now)),
                1 if flows.len() > 1 => drop(flows.swap_remove(chosen)),
                2 => {
                    // Migrates: the old controller stays until the new address is validated, or comes back.
                    let copy = flows[chosen].controller.clone_box().into_any().downcast().unwrap();
                    let old = std::mem::replace(&mut flows[chosen].controller, copy);
                    if random.below(2) == 0 {
                        flows[chosen].controller = old;
                    }
                }
                3 => {
                    let flow = &mut flows[chosen];
                    let sent = now;
                    let first = flow.send(sent);
                    now += RTT;
                    if first < flow.number {
                        flow.lose(now, sent, first);
                        flow.acknowledge_by_two(now, sent, first + 1);
                    }
                }
                _ => flows[chosen].round(&mut now, Duration::from_millis(1 + random.below(300))),
            }
            assert_eq!(coupling.paths().len(), flows.len());
        }
        for flow in &mut flows {
            let delivered = flow.controller.state().delivered;
            for _ in 0..3 {
                flow.round(&mut now, RTT);
            }
            let more = flow.controller.state().delivered - delivered;
            assert!(more >= 6, "{} of connection {number} stalls", algorithm.name());
        }
    }
}
