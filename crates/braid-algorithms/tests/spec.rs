//! Specs: what is accepted, the normal form, and the error messages.

use braid_algorithms::{Algorithm, Spec, all, find};
use proptest::prelude::*;

fn error(text: &str) -> String {
    Spec::parse(text).expect_err(text).to_string()
}

#[test]
fn a_bare_name_means_the_defaults() {
    for algorithm in all() {
        let spec = Spec::parse(algorithm.name()).unwrap();
        let initial: Vec<u32> = algorithm.params().map(|param| param.initial).collect();
        assert_eq!(spec.values(), initial);
        assert_eq!(spec.text(), algorithm.name());
    }
}

#[test]
fn numbers_are_scaled_exactly_and_rounded_to_nearest() {
    let beta = |text: &str| Spec::parse(&format!("cubic:beta={text}")).unwrap().values()[1];
    assert_eq!(beta("0.7"), 717); // 716.8
    assert_eq!(beta("0.70"), 717);
    assert_eq!(beta("0.8"), 819); // 819.2
    assert_eq!(beta("0.5"), 512);
    assert_eq!(beta("0.501953125"), 514);
    assert_eq!(beta("0.50146484375"), 514); // exactly half-way: up
    assert_eq!(beta("0.501464843749"), 513);
}

#[test]
fn the_normal_form_lists_what_differs_in_the_algorithms_order() {
    for (written, normal) in [
        ("lia:rounding=exact", "lia"),
        ("lia:rounding=usec", "lia:rounding=usec"),
        ("cubic:hystart=off:beta=0.80:c=0.4", "cubic:beta=0.8:hystart=off"),
        ("dolia:period=1:min_ack=3:rounding=fork", "dolia:rounding=fork:period=1:min_ack=3"),
    ] {
        assert_eq!(Spec::parse(written).unwrap().text(), normal);
    }
}

#[test]
fn an_unknown_name_gets_the_list() {
    let names: Vec<&str> = all().iter().map(Algorithm::name).collect();
    assert_eq!(error("zzzzzz"), format!("no algorithm is called `zzzzzz`: there are {}", names.join(", ")));
    assert!(error("").starts_with("no algorithm is called ``: there are "));
}

#[test]
fn wrong_names_keys_and_values_say_what_is_possible() {
    let wrong = "lai CUBIC cubic:bta=0.7 cubic:C=0.7 vegas:speed=3 ewtcp:beta=0.5 cubic:beta lia: ewtcp: \
                 cubic:beta=0.7:beta=0.8 cubic:beta=1.2 cubic:c=-1 vegas:alpha=2.5 lia:rounding=usecs lia:rounding=1";
    let messages: Vec<String> = wrong.split(' ').map(error).collect();
    insta::assert_snapshot!("wrong", messages.join("\n"));
    for junk in "/./1./.5/1e3/0x1/ 1/1 /+1/1,5/\u{664}/nan/99999999999999999999999".split('/') {
        assert!(error(&format!("cubic:c={junk}")).contains("it is a number from"), "{junk}");
    }
}

#[test]
fn every_value_is_shown_as_a_number_that_reads_back() {
    for algorithm in all() {
        for param in algorithm.params() {
            for value in [param.low, param.initial, param.high, param.low + (param.high - param.low) / 3] {
                assert_eq!(param.parse(&param.show(value)), Ok(value), "{} {}", algorithm.name(), param.name);
            }
        }
    }
    let cubic = |i: usize| find("cubic").unwrap().params().nth(i).unwrap();
    assert_eq!(cubic(0).show(419_430), "0.4");
    assert_eq!(cubic(1).show(717), "0.7");
    assert_eq!(cubic(2).show(1), "on");
}

#[test]
fn every_parameter_table_is_sound() {
    for algorithm in all() {
        for param in algorithm.params() {
            let place = format!("{} {}", algorithm.name(), param.name);
            assert!(param.low <= param.initial && param.initial <= param.high && param.scale > 0, "{place}");
            assert!(!param.help.is_empty() && param.name.is_ascii(), "{place}");
            if param.choices().next().is_some() {
                assert_eq!(
                    (param.low, param.high, param.scale),
                    (0, param.choices().count() as u32 - 1, 1),
                    "{place}"
                );
            }
        }
    }
}

#[test]
fn every_algorithm_has_a_page_with_a_title_and_facts() {
    for algorithm in all() {
        let heading = format!("# {}: {}\n", algorithm.name(), algorithm.title());
        assert!(
            !algorithm.title().is_empty() && algorithm.page().starts_with(&heading),
            "{}",
            algorithm.name()
        );
        let facts = algorithm.facts();
        for fact in [facts.base, facts.signal, facts.year, facts.source, facts.confidence] {
            assert!(!fact.is_empty(), "{}: {facts:?}", algorithm.name());
        }
        let plot = format!("![Windows of two subflows](plots/{}.svg)\n", algorithm.name());
        assert!(algorithm.page().contains(&plot), "{}: no plot", algorithm.name());
        assert!(find(facts.base).is_some(), "{}: base {}", algorithm.name(), facts.base);
        for param in algorithm.params() {
            assert!(
                algorithm.page().contains(&format!("`{}`", param.name)),
                "{}: {}",
                algorithm.name(),
                param.name
            );
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_refused_in_one_sentence_or_has_a_normal_form(text in "[a-z]{0,6}(:[a-z_]{0,5}=?[0-9a-z.]{0,6}){0,3}|\\PC{0,20}") {
        match Spec::parse(&text) {
            Ok(spec) => {
                let again = Spec::parse(spec.text()).unwrap();
                prop_assert_eq!(again.text(), spec.text());
                prop_assert_eq!(again.values(), spec.values());
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n') || text.contains('\n')),
        }
    }
}
