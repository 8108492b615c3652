//! Algorithms use nothing that their flags say they do not.

use braid_algorithms::{Algorithm, all, find};
use braid_trace::contract::{undeclared, undeclared_with};

#[test]
fn every_algorithm_keeps_to_its_flags() {
    for algorithm in all() {
        assert_eq!(undeclared(algorithm), None);
    }
}

#[test]
fn what_a_flag_leaves_out_is_noticed_where_it_is_used() {
    let with = |name: &str, set: u32, clear: u32| {
        let algorithm = find(name).expect("an algorithm");
        let found = undeclared_with(algorithm, algorithm.flags() & !clear | set);
        found.map(|found| found.to_string()).unwrap_or_default()
    };
    for (name, set, clear, flag, fields) in [
        (
            "lia",
            Algorithm::UNCOUPLED,
            0,
            "says BRAID_UNCOUPLED",
            &["cwnd", "srtt_us", "flags", "ssthresh", "n"][..],
        ),
        (
            "weave",
            0,
            Algorithm::PATHS_OF_SIBLINGS,
            "not say BRAID_PATHS_OF_SIBLINGS",
            &["min_rtt_us", "last_ack_us", "hint"],
        ),
        ("lisa", Algorithm::NO_ID_OF_SIBLINGS, 0, "says BRAID_NO_ID_OF_SIBLINGS", &["id"]),
        ("olia", Algorithm::NO_BYTES_OF_SIBLINGS, 0, "says BRAID_NO_BYTES_OF_SIBLINGS", &["snd_una"]),
        (
            "vegas",
            Algorithm::RATES_OF_SELF,
            0,
            "says BRAID_RATES_OF_SELF",
            &["min_rtt_us", "snd_nxt", "last_rtt_us"],
        ),
        ("vegas", Algorithm::RESTARTS_UNSEEN, 0, "says BRAID_RESTARTS_UNSEEN", &["the view at a restart"]),
        (
            "vegas",
            Algorithm::GROWTH_ONLY,
            0,
            "says BRAID_GROWTH_ONLY",
            &["rtt_us", "an ACK that lets nothing grow"],
        ),
        ("olia", Algorithm::NO_LOW_WORDS, 0, "says BRAID_NO_LOW_WORDS", &["low public words"]),
        (
            "bbr",
            0,
            Algorithm::WANTS_RATE,
            "not say BRAID_WANTS_RATE",
            &["rate_delivered", "rate_interval_us", "rate_prior_delivered", "rate_losses"],
        ),
        ("sbdolia", 0, Algorithm::WANTS_OWD, "not say BRAID_WANTS_OWD", &["owd_us"]),
    ] {
        let told = with(name, set, clear);
        assert!(told.contains(flag), "{name}: {told}");
        assert!(fields.iter().any(|field| told.contains(&format!(" uses {field}"))), "{name}: {told}");
    }
}
