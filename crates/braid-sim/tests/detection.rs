//! Detectors of shared bottlenecks in situations with known truth: their labels, and the effect on goodput.

mod common;

use braid_results::{Detection, Setup};
use braid_scenario::model::{EcnThreshold, Link, Loss, QueueLimit, Reroute, Scenario};
use braid_sim::observe::{Acknowledgement, At, Event, Observer};
use common::{connection, goodput, link, run, scenario, share};

fn detections(scenario: &Scenario, cc: &str, seed: u64) -> Vec<Detection> {
    let setup = Setup { scenario, backend: "sim", cc, scheduler: "minrtt", seed };
    setup.measured(&run(scenario, cc, seed)).detections
}

/// A bottleneck of 10 Mbit/s, 20 ms one way; with `ecn` it marks packets from 20 on, otherwise it drops at 50.
fn bottleneck(name: &str, ecn: bool) -> Link {
    let mut link = link(name, 10.0, 20.0);
    link.forward.queue = QueueLimit::Packets(if ecn { 200 } else { 50 });
    link.forward.ecn_threshold = ecn.then_some(EcnThreshold::Packets(20));
    link
}

/// Two subflows with a CUBIC flow on each bottleneck; the subflows share one bottleneck or have one each.
fn situation(shared: bool, ecn: bool) -> Scenario {
    let links =
        if shared { vec![bottleneck("b1", ecn)] } else { vec![bottleneck("b1", ecn), bottleneck("b2", ecn)] };
    let second: &[usize] = if shared { &[0] } else { &[1] };
    let mut flows =
        vec![connection("mp0", None, &[&[0], second]), connection("tcp1", Some("cubic"), &[&[0]])];
    if !shared {
        flows.push(connection("tcp2", Some("cubic"), &[&[1]]));
    }
    for flow in &mut flows {
        (flow.ecn, flow.accurate_ecn) = (ecn, ecn && flow.name == "mp0");
    }
    scenario(60.0, links, flows)
}

/// Percent of the time in which both subflows had the same label, mean of six seeds.
fn said_shared(cc: &str, shared: bool, ecn: bool) -> f64 {
    let mut scenario = situation(shared, ecn);
    // One packet's time, and one RTT: without them all seeds are the same run.
    scenario.links.iter_mut().for_each(|link| link.forward.noise_ns = 1_200_000);
    scenario.connections.iter_mut().for_each(|flow| flow.start_noise_ns = 40_000_000);
    let percent = |detection: &Detection| {
        let right = detection.accuracy_percent;
        if detection.shared { right } else { 100.0 - right }
    };
    let mut sum = (0.0, 0.0);
    for seed in 1..=6 {
        for detection in detections(&scenario, cc, seed) {
            sum = (sum.0 + percent(&detection) * detection.lasts_s(), sum.1 + detection.lasts_s());
        }
    }
    sum.0 / sum.1
}

#[test]
fn common_marks_tell_a_shared_bottleneck_from_two_with_ecn_and_nothing_without() {
    assert!(said_shared("sbcc", true, true) > 80.0);
    assert!(said_shared("sbcc", false, true) < 10.0);
    assert!(said_shared("sbcc", true, false) <= 0.0);
}

#[test]
fn every_detector_says_shared_more_often_where_it_is() {
    // As printed, the filters of bampcubic hardly ever find a shared bottleneck (papers/causes/ba-mpcubic/c121.md).
    let cases = [
        ("bampcubic", false, 1.0),
        ("bampqueue", false, 20.0),
        ("dwc:dwc_delay=1", false, 20.0),
        ("sbcc", true, 20.0),
        ("sbdcubic", false, 20.0),
        ("sbdolia", false, 20.0),
        ("sbdv", true, 20.0),
        ("split:sbd=queue", false, 20.0),
        ("weave", false, 20.0),
    ];
    let mut detectors: Vec<&str> = braid_algorithms::all()
        .iter()
        .filter(|algorithm| algorithm.flags() & braid_algorithms::Algorithm::DETECTS != 0)
        .map(braid_algorithms::Algorithm::name)
        .collect();
    detectors.sort_unstable();
    assert_eq!(cases.map(|(cc, ..)| cc.split(':').next().unwrap())[..], detectors, "all are tested");
    for (cc, ecn, margin) in cases {
        let (shared, apart) = (said_shared(cc, true, ecn), said_shared(cc, false, ecn));
        assert!(shared > apart + margin, "{cc}, ECN {ecn}: {shared} where shared, {apart} where not");
    }
}

#[test]
fn the_rtt_filter_needs_paths_whose_delay_varies_by_itself() {
    // As printed, the loss filter is always true, so this is the RTT filter.
    let cc = "bampcubic:ba_loss=literal:ba_ecn=off";
    let right = |jitter_ns: u64| {
        let mut scenario = situation(true, false);
        scenario.links[0].forward.jitter_ns = jitter_ns;
        scenario.connections[0].delayed_ack = false;
        let detections = detections(&scenario, cc, 1);
        detections.iter().map(|detection| detection.accuracy_percent).fold(100.0, f64::min)
    };
    // With cross traffic the RTT changes between ACKs by the others' packets in the queue, less so for a faster
    // subflow: only subflows of equal rate look alike.
    let (quiet, varying) = (right(0), right(5_000_000));
    assert!(quiet < 50.0 && varying > 70.0, "{quiet} without and {varying} with jitter");
}

/// The second subflow is on b2 until 10 s, on b1 until 20 s, and then on b2 again.
fn switching() -> Scenario {
    let mut scenario = situation(false, false);
    scenario.duration_ns = 30_000_000_000;
    let to = |at_s: u64, link: usize| Reroute {
        at_ns: at_s * 1_000_000_000,
        forward: Some(vec![link]),
        reverse: None,
    };
    scenario.connections[0].subflows[1].reroutes = vec![to(10, 0), to(20, 1)];
    scenario
}

#[test]
fn the_truth_follows_a_subflow_that_changes_its_route() {
    let rows = |cc: &str| {
        let rows = detections(&switching(), cc, 1);
        let row = |row: &Detection| {
            let bounds = [row.from_s, row.to_s].map(|time| time.round() as u64);
            (row.subflow.clone(), row.bottleneck.clone(), row.shared, bounds, row.accuracy_percent)
        };
        rows.iter().map(row).collect::<Vec<_>>()
    };
    let expected = |accuracy: fn(bool) -> f64| {
        [
            ("sf1", "b1", false, [0, 10]),
            ("sf1", "b1", true, [10, 20]),
            ("sf1", "b1", false, [20, 30]),
            ("sf2", "b2", false, [0, 10]),
            ("sf2", "b1", true, [10, 20]),
            ("sf2", "b2", false, [20, 30]),
        ]
        .map(|(subflow, link, shared, times)| (subflow.into(), link.into(), shared, times, accuracy(shared)))
    };
    // "Not shared" throughout is right while they do not share.
    assert_eq!(rows("split:sbd=none"), expected(|shared| if shared { 0.0 } else { 100.0 }));
    let always: Vec<_> = rows("split:sbd=all").into_iter().map(|row| (row.2, row.4.round())).collect();
    for (shared, accuracy) in always {
        assert!((accuracy - if shared { 100.0 } else { 0.0 }).abs() < 0.5);
    }
}

#[test]
fn a_detection_tells_when_the_label_was_first_right_and_from_when_on() {
    let rows = detections(&switching(), "dwc", 1);
    let shared: Vec<&Detection> = rows.iter().filter(|row| row.shared).collect();
    assert_eq!(shared.len(), 2);
    for row in shared {
        let first = row.first_right_ms.expect("losses within ten seconds");
        assert!(first < 10_000.0 && row.accuracy_percent > 0.0, "{row:?}");
        assert!(row.right_changes <= row.changes && row.right_changes >= 1, "{row:?}");
        assert!(row.settled_ms.is_none_or(|settled| settled >= first), "{row:?}");
        // A correct group implies a correct label.
        assert!(row.group_accuracy_percent <= row.accuracy_percent, "{row:?}");
    }
}

#[test]
fn labels_are_judged_apart_where_a_queue_stands_and_at_times_after_the_beginning() {
    // Beside a CUBIC flow the queue of 50 packets is seldom empty for long, so nearly all of the time counts.
    let scenario = situation(true, false);
    for (cc, right) in [("split:sbd=all", true), ("split:sbd=none", false)] {
        for row in detections(&scenario, cc, 1).iter().filter(|row| row.lasts_s() > 50.0) {
            let stood = row.standing_s.expect("the simulator looks at queues");
            assert!(stood > 0.8 * row.lasts_s() && stood <= row.lasts_s() - 1.0, "{row:?}");
            let percent = if right == row.shared { 100.0 } else { 0.0 };
            assert!((row.standing_accuracy_percent.unwrap() - percent).abs() < 0.5, "{row:?}");
            assert_eq!(
                row.right_at,
                [0.5, 1.0, 2.0, 5.0, 10.0, 20.0].map(|after| (after, right == row.shared))
            );
        }
    }
    // 5 % random loss keeps the queue empty on a link without other flows, and jitter hides the existing one.
    let mut lossy = situation(false, false);
    lossy.connections.truncate(1);
    lossy.links[0].forward.loss = Loss::Bernoulli(0.05);
    let mut shaking = situation(true, false);
    shaking.links[0].forward.jitter_ns = 40_000_000;
    for scenario in [lossy, shaking] {
        let rows = detections(&scenario, "split:sbd=none", 1);
        let row = rows.iter().find(|row| row.subflow == "sf1" && row.lasts_s() > 50.0).unwrap();
        assert!(row.standing_s.unwrap() < 0.2 * row.lasts_s(), "{row:?}");
    }
}

#[test]
fn an_algorithm_without_a_detector_says_nothing() {
    assert_eq!(detections(&situation(true, false), "lia", 1), []);
}

#[test]
fn samples_show_the_group() {
    let scenario = situation(true, false);
    let samples = |cc: &str| {
        let spec = braid_algorithms::Spec::parse(cc).unwrap();
        let options = braid_sim::Options { samples: true, ..Default::default() };
        let result = braid_sim::run_with(&scenario, &spec, 1, options).unwrap();
        result.connections[0].subflows[1].samples.clone()
    };
    assert!(samples("lia").iter().all(|sample| sample.group.is_none()));
    assert!(samples("split:sbd=none").iter().all(|sample| sample.group == Some(0)));
    assert!(samples("split:sbd=all").iter().skip(5).all(|sample| sample.group == Some(1)));
}

/// Counts ACKs that echo congestion.
struct Echoes(u64);

impl Observer for Echoes {
    fn observe(&mut self, _: At, event: &Event) {
        if let Event::Acknowledgement(Acknowledgement { ece: true, .. }) = event {
            self.0 += 1;
        }
    }
}

#[test]
fn an_accurate_receiver_echoes_marks_and_a_classic_one_until_it_is_answered() {
    let echoes = |accurate: bool| {
        let mut flow = connection("tcp0", Some("reno"), &[&[0]]);
        (flow.ecn, flow.accurate_ecn, flow.delayed_ack) = (true, accurate, false);
        let scenario = scenario(30.0, vec![bottleneck("b1", true)], vec![flow]);
        let spec = braid_algorithms::Spec::parse("reno").unwrap();
        let mut echoes = Echoes(0);
        let result =
            braid_sim::run_observed(&scenario, &spec, 1, braid_sim::Options::default(), &mut echoes).unwrap();
        (echoes.0, result.links[0].forward.marks)
    };
    let (accurate, marks) = echoes(true);
    assert!(marks > 20 && accurate == marks, "{accurate} echoes of {marks} marks");
    let (classic, marks) = echoes(false);
    assert!(classic > marks + marks / 4, "{classic} echoes of {marks} marks");
}

/// Goodputs in Mbit/s after slow start, mean of ten seeds. Without jitter nothing here is random, and one flow would
/// meet the full queue again and again.
fn goodputs(scenario: &Scenario, cc: &str) -> Vec<f64> {
    const SEEDS: u64 = 10;
    let mut scenario = scenario.clone();
    (scenario.warmup_ns, scenario.duration_ns) = (30_000_000_000, 120_000_000_000);
    for link in &mut scenario.links {
        link.forward.jitter_ns = 1_000_000;
    }
    let mut sums = vec![0.0; scenario.connections.len()];
    for seed in 1..=SEEDS {
        let result = run(&scenario, cc, seed);
        for (index, sum) in sums.iter_mut().enumerate() {
            *sum += common::goodput(&result, index) / SEEDS as f64;
        }
    }
    sums
}

#[test]
fn ba_mpcubic_takes_a_full_share_where_it_is_alone() {
    let shares = goodputs(&situation(false, false), "bampcubic");
    let (own, others) = (shares[0], shares[1] + shares[2]);
    assert!((0.75..1.25).contains(&(own / others)), "{shares:?}");
    // Coupled on all paths, it takes much less.
    let coupled = goodputs(&situation(false, false), "mpcubic");
    assert!(coupled[0] < 0.8 * own, "{coupled:?}");
}

#[test]
fn where_its_subflows_share_ba_mpcubic_takes_one_share_as_far_as_its_filters_see_it() {
    let scenario = situation(true, false);
    let ratio = |cc: &str| {
        let shares = goodputs(&scenario, cc);
        shares[0] / shares[1]
    };
    // With correct labels it takes one flow's share; with its filters much more, because they find little here.
    let (right, filters, uncoupled) = (ratio("split:sbd=all"), ratio("bampcubic"), ratio("cubic"));
    assert!((0.8..1.25).contains(&right), "{right}");
    assert!(filters > 1.5 && filters < 1.25 * uncoupled, "{filters}, uncoupled {uncoupled}");
}

#[test]
fn subflows_of_a_small_bottleneck_rest_and_leave_a_tcp_its_half() {
    let mut small = link("b1", 2.0, 20.0);
    (small.forward.queue, small.forward.noise_ns) = (QueueLimit::Packets(12), 1_200_000);
    let flows =
        vec![connection("mp0", None, &[&[0], &[0], &[0], &[0]]), connection("tcp1", Some("cubic"), &[&[0]])];
    let scenario = scenario(120.0, vec![small], flows);
    for (cc, rests, expected) in [("weave:sbd=hint", true, 0.45..0.55), ("cubic", false, 0.6..0.9)] {
        let mut percent = 0.0;
        for seed in 1..=4 {
            let result = run(&scenario, cc, seed);
            percent += goodput(&result, 0) / (goodput(&result, 0) + goodput(&result, 1)) / 4.0;
            let mut shares: Vec<f64> = (0..4).map(|i| share(&result, 0, i)).collect();
            shares.sort_by(f64::total_cmp);
            assert_eq!(shares[1] < 0.1, rests, "{cc}: two at least hardly ever send: {shares:?}");
        }
        assert!(expected.contains(&percent), "{cc}: {percent}");
    }
}
