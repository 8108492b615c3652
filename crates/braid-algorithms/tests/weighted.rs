//! EWTCP, COUPLED and SEMICOUPLED compute what their formulas say.

mod common;

use common::{Host, assert_near};

/// Windows 20 and 10 packets, RTTs 50 and 100 ms.
const PAIR: [(u32, u32); 2] = [(20, 50_000), (10, 100_000)];

fn assert_increases(spec: &str, expected: [f64; 2]) {
    let host = Host::new(spec, &PAIR);
    for (i, expected) in expected.into_iter().enumerate() {
        assert_near(host.increase(spec, i), expected, 1e-3);
    }
}

#[test]
fn increases_are_those_of_the_formulas() {
    assert_increases("ewtcp", [0.0125, 0.025]);
    assert_increases("coupled", [1.0 / 30.0, 1.0 / 30.0]);
    assert_increases("semicoup", [0.016_667, 0.016_667]);
    assert_increases("semicoup:gain=unit", [1.0 / 30.0, 1.0 / 30.0]);
}

#[test]
fn n_subflows_grow_as_one_flow_or_by_their_share_of_it() {
    for n in 2..=8_usize {
        let host = |spec: &str| Host::new(spec, &vec![(50, 30_000); n]);
        let n = n as f64;
        assert_near(host("ewtcp").increase("ewtcp", 0), 1.0 / (50.0 * n * n), 1e-3);
        assert_near(host("coupled").increase("coupled", 0), 1.0 / (50.0 * n), 1e-3);
        assert_near(host("semicoup").increase("semicoup", 0), 1.0 / (50.0 * n * n), 1e-3);
    }
}

#[test]
fn coupled_takes_half_of_all_windows_from_the_one_that_lost() {
    let mut host = Host::new("coupled", &[(20, 50_000), (11, 50_000)]);
    assert_eq!((host.lose(0), host.carry(0)), (4, 0.5), "20 - 31/2");
    // The smaller window is less than that reduction.
    let mut host = Host::new("coupled", &[(20, 50_000), (11, 50_000)]);
    assert_eq!(host.lose(1), 1);
}

#[test]
fn others_halve_and_keep_at_least_a_packet_to_probe_with() {
    for spec in ["ewtcp", "semicoup"] {
        let mut host = Host::new(spec, &[(21, 50_000), (11, 50_000)]);
        assert_eq!(host.lose(0), 10);
        let mut host = Host::new(spec, &[(2, 50_000), (11, 50_000)]);
        assert_eq!(host.lose(0), 1);
        let mut host = Host::new(spec, &[(2, 50_000)]);
        assert_eq!(host.lose(0), 2, "alone it is Reno");
    }
}
