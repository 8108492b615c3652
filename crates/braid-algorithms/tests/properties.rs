//! Properties of every algorithm on any stream of events.

mod common;

use braid_algorithms::layout::{
    Event, SSTHRESH_INFINITE, Subflow, View, ca_state, cause, event_flags, event_type, subflow_flags,
};
use braid_algorithms::{Controller, Spec, all, find};
use common::Host;
use proptest::prelude::*;

/// An event of one subflow.
#[derive(Clone, Debug)]
enum Step {
    Ack { packets: u32, rtt_us: u32, limited: bool },
    Loss { cause: u32 },
    Recovered { cause: u32 },
    Idle { idle_us: u32 },
    Wait { us: u32 },
    Join { rtt_us: u32 },
    Leave,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1..200_u32, 10..2_000_000_u32, prop::bool::weighted(0.9))
            .prop_map(|(packets, rtt_us, limited)| Step::Ack { packets, rtt_us, limited }),
        2 => (1..=3_u32).prop_map(|cause| Step::Loss { cause }),
        2 => (1..=2_u32).prop_map(|cause| Step::Recovered { cause }),
        1 => (0..100_000_000_u32).prop_map(|idle_us| Step::Idle { idle_us }),
        2 => (0..20_000_000_u32).prop_map(|us| Step::Wait { us }),
        1 => (10..10_000_000_u32).prop_map(|rtt_us| Step::Join { rtt_us }),
        1 => Just(Step::Leave),
    ]
}

fn stream() -> impl Strategy<Value = Vec<(usize, Step)>> {
    prop::collection::vec((0..8_usize, step()), 1..120)
}

/// Every algorithm with its defaults, with each choice of each of its parameters, and with the ends of each range.
fn specs() -> Vec<String> {
    let mut specs = Vec::new();
    for algorithm in all() {
        specs.push(algorithm.name().to_owned());
        for param in algorithm.params() {
            let values = if param.choices().next().is_some() {
                (param.low..=param.high).collect()
            } else {
                vec![param.low, param.high]
            };
            for value in values.into_iter().filter(|&value| value != param.initial) {
                specs.push(format!("{}:{}={}", algorithm.name(), param.name, param.show(value)));
            }
        }
    }
    specs
}

/// The base of a spec's algorithm, with the parameters that both have. An algorithm that differs from its base with one
/// subflow by design is its own base.
fn base(spec: &str) -> String {
    let (name, params) = spec.split_once(':').unwrap_or((spec, ""));
    if ["dlia", "dolia"].contains(&name) && !params.contains("disable_when_single=on") {
        return spec.to_owned();
    }
    // The modules count ACKs with one subflow, too.
    if ["lia", "olia", "balia"].contains(&name) && params.starts_with("rounding=") {
        return spec.to_owned();
    }
    // SB-CC reduces by its degree of congestion where it is marked; a test below is about the rest.
    if name == "sbcc" {
        return spec.to_owned();
    }
    if name == "split" && params.contains("out=reno") {
        return "reno".to_owned();
    }
    if name == "lisa" {
        return params.split(':').find_map(|param| param.strip_prefix("cc=")).unwrap_or("lia").to_owned();
    }
    let base = find(find(name).unwrap().facts().base).unwrap();
    if base.name() == name {
        return spec.to_owned();
    }
    let shared = |param: &&str| Spec::parse(&format!("{}:{param}", base.name())).is_ok();
    params.split(':').filter(shared).fold(base.name().to_owned(), |spec, param| format!("{spec}:{param}"))
}

/// Drives a connection through a stream as a host would, and checks each call.
struct Run {
    host: Host,
    spec: Spec,
}

impl Run {
    fn new(spec: &str, subflows: usize) -> Self {
        let host = Host::in_slow_start(spec, &vec![(10, 50_000); subflows]);
        Self { host, spec: Spec::parse(spec).unwrap() }
    }

    fn deliver(&mut self, i: usize, event: Event) {
        let mut before = self.host.view.clone();
        before.self_index = i as u32;
        self.host.deliver(i, event);
        let after = &self.host.view;

        let own = after.subflow[i];
        assert!(own.cwnd >= 1, "{}: cwnd 0 after {event:?}", self.spec);
        assert!(own.ssthresh >= 1, "{}: ssthresh 0 after {event:?}", self.spec);
        // A call may change its subflow's writable fields only.
        before.subflow[i].cwnd = own.cwnd;
        before.subflow[i].ssthresh = own.ssthresh;
        before.subflow[i].pacing_rate = own.pacing_rate;
        before.subflow[i].public_words = own.public_words;
        assert_eq!(&before, after, "{}: wrote what is not its own on {event:?}", self.spec);
        let used = self.spec.algorithm().public_bytes().div_ceil(8);
        assert!(own.public_words[used..].iter().all(|&word| word == 0), "{}: unused public words", self.spec);
    }

    fn step(&mut self, i: usize, step: &Step) {
        let n = self.host.view.n as usize;
        let i = i % n;
        match *step {
            Step::Ack { packets, rtt_us, limited } => {
                let subflow = &mut self.host.view.subflow[i];
                let bytes = packets * subflow.mss;
                subflow.snd_una += u64::from(bytes);
                subflow.snd_nxt = subflow.snd_nxt.max(subflow.snd_una + u64::from(subflow.cwnd) * 1448);
                subflow.last_rtt_us = rtt_us;
                subflow.srtt_us = ((7 * u64::from(subflow.srtt_us) + u64::from(rtt_us)) / 8) as u32;
                subflow.flags |= subflow_flags::ELIGIBLE;
                let reducing = matches!(subflow.ca_state, ca_state::CWR | ca_state::RECOVERY);
                self.deliver(
                    i,
                    Event {
                        kind: event_type::ON_ACK,
                        flags: if limited { event_flags::CWND_LIMITED } else { 0 },
                        acked: packets,
                        grow: if reducing { 0 } else { packets },
                        acked_bytes: bytes,
                        rtt_us,
                        ..Event::default()
                    },
                );
            }
            Step::Loss { cause } => {
                let prior = self.host.cwnd(i);
                self.deliver(i, Event { kind: event_type::ON_LOSS, cause, ..Event::default() });
                let subflow = &mut self.host.view.subflow[i];
                subflow.prior_cwnd = prior;
                match cause {
                    cause::RTO => (subflow.ca_state, subflow.cwnd) = (ca_state::LOSS, 1),
                    cause::ECN => subflow.ca_state = ca_state::CWR,
                    _ => subflow.ca_state = ca_state::RECOVERY,
                }
            }
            Step::Recovered { cause } => {
                let subflow = &mut self.host.view.subflow[i];
                match cause {
                    cause::UNDO => {
                        subflow.cwnd = subflow.cwnd.max(subflow.prior_cwnd);
                        subflow.ssthresh = subflow.ssthresh.max(subflow.cwnd / 4 * 3);
                    }
                    _ if subflow.ca_state != ca_state::LOSS => {
                        subflow.cwnd = subflow.ssthresh.min(subflow.cwnd);
                    }
                    _ => {}
                }
                subflow.ca_state = ca_state::OPEN;
                self.deliver(i, Event { kind: event_type::ON_RECOVERED, cause, ..Event::default() });
            }
            Step::Idle { idle_us } => {
                self.host.now_us += u64::from(idle_us);
                self.deliver(i, Event { kind: event_type::ON_IDLE_RESTART, idle_us, ..Event::default() });
            }
            Step::Wait { us } => self.host.now_us += u64::from(us),
            Step::Join { rtt_us } if n < 8 => {
                self.host.view.subflow[n] = Subflow {
                    cwnd: 10,
                    ssthresh: SSTHRESH_INFINITE,
                    flags: subflow_flags::SAME_ALGORITHM,
                    srtt_us: rtt_us,
                    mss: 1448,
                    cwnd_clamp: u32::MAX,
                    ..Subflow::default()
                };
                self.host.view.n += 1;
                self.host.controllers.push(Controller::new(&self.spec));
                self.deliver(n, Event { kind: event_type::INIT, ..Event::default() });
            }
            Step::Leave if n > 1 => {
                self.host.view.n -= 1;
                self.host.view.subflow[n - 1] = Subflow::default();
                self.host.controllers.pop();
            }
            Step::Join { .. } | Step::Leave => {}
        }
    }

    /// Plays the stream and returns the state after each step.
    fn play(mut self, stream: &[(usize, Step)]) -> Vec<View> {
        stream
            .iter()
            .map(|(i, step)| {
                self.step(*i, step);
                self.host.view.clone()
            })
            .collect()
    }
}

/// Public words differ between algorithms; only windows are compared.
fn windows(views: &[View]) -> Vec<(u32, u32)> {
    views.iter().map(|view| (view.subflow[0].cwnd, view.subflow[0].ssthresh)).collect()
}

fn only_one_subflow(stream: &[(usize, Step)]) -> Vec<(usize, Step)> {
    stream.iter().filter(|(_, step)| !matches!(step, Step::Join { .. })).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn windows_stay_positive_and_nothing_foreign_is_written(n in 1..=8_usize, stream in stream()) {
        for spec in specs() {
            Run::new(&spec, n).play(&stream);
        }
    }

    #[test]
    fn the_same_events_give_the_same_state(n in 1..=8_usize, stream in stream()) {
        for spec in specs() {
            prop_assert_eq!(Run::new(&spec, n).play(&stream), Run::new(&spec, n).play(&stream));
        }
    }

    #[test]
    fn with_one_subflow_every_algorithm_is_its_base(stream in stream()) {
        let stream = only_one_subflow(&stream);
        for spec in specs() {
            prop_assert_eq!(
                windows(&Run::new(&spec, 1).play(&stream)),
                windows(&Run::new(&base(&spec), 1).play(&stream)),
                "{} and {}", spec, base(&spec)
            );
        }
    }

    #[test]
    fn with_one_subflow_that_is_not_reduced_for_marks_sbcc_is_reno(stream in stream()) {
        let unmarked: Vec<(usize, Step)> = only_one_subflow(&stream)
            .into_iter()
            .filter(|(_, step)| !matches!(step, Step::Loss { cause: cause::ECN, .. }))
            .collect();
        let play = |spec| windows(&Run::new(spec, 1).play(&unmarked));
        prop_assert_eq!(play("sbcc"), play("reno"));
        prop_assert_eq!(play("sbcc:gain=1"), play("reno"));
    }

    #[test]
    fn with_one_subflow_the_dynamic_algorithms_grow_as_reno(stream in stream()) {
        let stream: Vec<(usize, Step)> = only_one_subflow(&stream)
            .into_iter()
            .filter(|(_, step)| !matches!(step, Step::Loss { .. } | Step::Recovered { .. }))
            .collect();
        // In congestion avoidance as well.
        for ssthresh in [SSTHRESH_INFINITE, 4] {
            let play = |spec| {
                let mut run = Run::new(spec, 1);
                run.host.view.subflow[0].ssthresh = ssthresh;
                windows(&run.play(&stream))
            };
            let reno = play("reno");
            for spec in ["dlia", "dolia"] {
                prop_assert_eq!(&play(spec), &reno, "{}", spec);
            }
        }
    }
}
