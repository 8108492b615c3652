//! Results are equal with and without look-ahead links.

#[path = "../../../tests/common/mod.rs"]
mod common;

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_scenario::model::{
    Change, CoDel, Connection, Discipline, EcnThreshold, GilbertElliott, Link, Loss, QueueLimit, Reroute,
    Scenario,
};
use proptest::prelude::*;

use super::links;
use crate::options::Options;
use crate::run::Run;
use common::{connection, link, scenario};

const MS: u64 = 1_000_000;

fn result(scenario: &Scenario, seed: u64, looks_ahead: Vec<bool>) -> Measurements {
    let options = Options { samples: true, ..Options::default() };
    Run::with(scenario, &Spec::parse("lia").unwrap(), seed, options, false, looks_ahead).unwrap().finish()
}

#[test]
fn a_link_looks_ahead_if_all_it_gets_comes_from_one_other() {
    let all = |n: usize| (0..n).map(|_| link("l", 10.0, 5.0)).collect();
    let ahead = |links: Vec<Link>, routes: &[&[usize]]| {
        let connections = routes.iter().map(|route| connection("c", None, &[route])).collect();
        let found = super::links(&scenario(1.0, links, connections));
        let directions = found.iter().enumerate().filter(|(_, ahead)| **ahead);
        directions.map(|(link, _)| link).collect::<Vec<_>>()
    };
    // Access links of two connections on both sides of a shared link: only those behind the shared one look ahead.
    assert_eq!(ahead(all(5), &[&[0, 2, 3], &[1, 2, 4]]), [1, 3, 6, 8]);
    assert_eq!(ahead(all(3), &[&[0, 1, 2]]), [1, 2, 3, 4]);
    assert_eq!(ahead(all(3), &[&[0, 1, 2], &[1, 2]]), [1, 3, 4]);
    assert_eq!(ahead(all(2), &[&[0, 0, 1], &[1]]), [] as [usize; 0], "a link that leads to itself");
    let mut changing = all(3);
    changing[1].forward.changes = vec![Change { at_ns: MS, ..Change::default() }];
    assert_eq!(ahead(changing, &[&[0, 1, 2]]), [1, 3]);
    let mut managed = all(3);
    managed[1].forward.discipline =
        Discipline::CoDel(CoDel { target_ns: 5 * MS, interval_ns: 100 * MS, ecn: false });
    assert_eq!(ahead(managed, &[&[0, 1, 2]]), [1, 3]);
}

fn any_loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        3 => Just(Loss::None),
        1 => Just(Loss::Bernoulli(0.01)),
        1 => (20..200_u32).prop_map(Loss::Periodic),
        1 => Just(Loss::GilbertElliott(GilbertElliott { to_bad: 0.01, to_good: 0.3, loss_good: 0.0, loss_bad: 0.5 })),
    ]
}

fn any_link() -> impl Strategy<Value = Link> {
    let queue =
        prop_oneof![(0..40_u32).prop_map(QueueLimit::Packets), (100..60_000_u64).prop_map(QueueLimit::Bytes)];
    // Whole milliseconds and equal rates, for many events at the same time.
    let timing = (prop::sample::select(vec![2.0, 4.0, 20.0, 100.0]), 0..6_u32);
    let extras = (prop::option::of(1..10_u32), any::<bool>(), 0..8_u32, any_loss());
    (timing, queue, any_loss(), extras).prop_map(
        |((rate, delay), queue, loss, (marks, jitters, kind, back))| {
            let mut link = link("l", rate, f64::from(delay));
            link.forward.queue = queue;
            link.forward.loss = loss;
            link.forward.ecn_threshold = marks.map(EcnThreshold::Packets);
            link.forward.jitter_ns = if jitters { 2 * MS } else { 0 };
            link.reverse.loss = back;
            match kind {
                0 => {
                    let rate_bps = Some(3_000_000);
                    link.forward.changes = vec![Change { at_ns: 1_000 * MS, rate_bps, ..Change::default() }];
                }
                1 => link.forward.outages = vec![(700 * MS, 900 * MS), (1_500 * MS, 1_501 * MS)],
                2 => link.forward.reordering = jitters,
                3 => {
                    let codel = CoDel { target_ns: 5 * MS, interval_ns: 100 * MS, ecn: true };
                    link.forward.discipline = Discipline::CoDel(codel);
                }
                _ => {}
            }
            link
        },
    )
}

fn any_route(links: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..links, 1..6)
}

fn any_connection(links: usize) -> impl Strategy<Value = Connection> {
    let routes = prop::collection::vec(any_route(links), 1..4);
    let reroute = prop::option::of((any_route(links), any_route(links), 100..2_000_u64));
    (routes, reroute, any::<bool>(), 0..4_u64).prop_map(|(routes, reroute, ecn, start)| {
        let routes: Vec<&[usize]> = routes.iter().map(Vec::as_slice).collect();
        let mut connection = connection("c", None, &routes);
        connection.ecn = ecn;
        connection.start_ns = start * 100 * MS;
        connection.receive_buffer = 200 * u64::from(connection.mss);
        let change = reroute.map(|(forward, reverse, at)| Reroute {
            at_ns: at * MS,
            forward: Some(forward),
            reverse: Some(reverse),
        });
        connection.subflows[0].reroutes = change.into_iter().collect();
        connection
    })
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    prop::collection::vec(any_link(), 1..7).prop_flat_map(|links| {
        let connections = prop::collection::vec(any_connection(links.len()), 1..4);
        (Just(links), connections, 0..10_u64).prop_map(|(links, connections, warmup)| {
            let mut scenario = scenario(3.0, links, connections);
            scenario.warmup_ns = warmup * 77 * MS;
            scenario.cooldown_ns = 137 * MS;
            scenario.periods = vec![(800 * MS, 1_203 * MS), (1_200 * MS, 2_000 * MS + 1)];
            scenario
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// For all counters and samples, at any time.
    #[test]
    fn looking_ahead_changes_nothing_but_the_number_of_events(scenario in any_scenario(), seed in 1..100_u64) {
        let looks_ahead = links(&scenario);
        let ahead = looks_ahead.contains(&true);
        let mut without = result(&scenario, seed, vec![false; looks_ahead.len()]);
        let with = result(&scenario, seed, looks_ahead);
        prop_assert!(with.events == without.events || ahead && with.events < without.events);
        without.events = with.events;
        prop_assert_eq!(with, without);
    }
}
