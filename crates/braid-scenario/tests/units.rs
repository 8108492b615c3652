//! Quantities are exact, and a written quantity reads back unchanged.

use braid_scenario::units::{Duration, Packets, Probability, Queue, Rate, Size, Start, Window};
use proptest::prelude::*;

fn parse<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

#[test]
fn a_start_is_a_time_or_a_stretch_of_time() {
    let (two, ten) = (Duration(2_000_000_000), Duration(10_000_000_000));
    assert_eq!(parse::<Start>("2s"), Start::At(two));
    assert_eq!(parse::<Start>("2s..10s"), Start::Within(Window { from: two, to: ten }));
    assert_eq!(parse::<Start>("2s..10s").bounds(), (two, ten));
    assert!("10s..2s".parse::<Start>().is_err() && "..2s".parse::<Start>().is_err());
}

#[test]
fn units_are_powers_of_a_thousand_except_kib_and_mib() {
    assert_eq!(parse::<Rate>("1kbit"), Rate(1_000));
    assert_eq!(parse::<Rate>("10mbit"), Rate(10_000_000));
    assert_eq!(parse::<Rate>("1000gbit"), Rate(1_000_000_000_000));
    assert_eq!(parse::<Size>("64kB"), Size(64_000));
    assert_eq!(parse::<Size>("64KiB"), Size(65_536));
    assert_eq!(parse::<Size>("6MiB"), Size(6 * 1_048_576));
    assert_eq!(parse::<Duration>("2min"), Duration(120_000_000_000));
    assert_eq!(parse::<Duration>("7ns"), Duration(7));
    assert_eq!(parse::<Queue>("100p"), Queue::Packets(Packets(100)));
    assert_eq!(parse::<Queue>("1MB"), Queue::Bytes(Size(1_000_000)));
}

#[test]
fn decimals_are_exact_or_refused() {
    assert_eq!(parse::<Duration>("0.5ms"), Duration(500_000));
    assert_eq!(parse::<Duration>("0.000000001s"), Duration(1));
    assert_eq!(parse::<Rate>("1.5mbit"), Rate(1_500_000));
    assert_eq!(parse::<Size>("1.5KiB"), Size(1536));
    assert!("0.0000000001s".parse::<Duration>().is_err());
    assert!("1.0005kbit".parse::<Rate>().is_err());
    assert!("1.5p".parse::<Packets>().is_err());
}

#[test]
fn percentages_are_the_same_numbers_as_fractions() {
    for (percent, fraction) in
        [("0.1%", 0.001), ("0.2%", 0.002), ("5%", 0.05), ("0.07%", 0.0007), ("0%", 0.0)]
    {
        assert_eq!(parse::<Probability>(percent), Probability(fraction), "{percent}");
    }
    assert_eq!(parse::<Probability>("1e-4"), Probability(0.0001));
}

#[test]
fn the_largest_values_are_read_and_the_next_refused() {
    assert_eq!(parse::<Duration>("18446744073709551615ns"), Duration(u64::MAX));
    assert!("18446744073709551616ns".parse::<Duration>().is_err());
    assert_eq!(parse::<Packets>("4294967295p"), Packets(u32::MAX));
    assert!("4294967296p".parse::<Packets>().is_err());
    assert!("1000.000000001gbit".parse::<Rate>().is_err());
    assert!("99999999999999999999999999999min".parse::<Duration>().is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(
        ns: u64,
        bps in 1..=1_000_000_000_000_u64,
        bytes in 1..=u64::MAX,
        packets in 1..=u32::MAX,
        p in 0.0..1.0,
    ) {
        prop_assert_eq!(parse::<Duration>(&Duration(ns).to_string()), Duration(ns));
        prop_assert_eq!(parse::<Rate>(&Rate(bps).to_string()), Rate(bps));
        prop_assert_eq!(parse::<Size>(&Size(bytes).to_string()), Size(bytes));
        prop_assert_eq!(parse::<Packets>(&Packets(packets).to_string()), Packets(packets));
        prop_assert_eq!(parse::<Probability>(&Probability(p).to_string()), Probability(p));
        for queue in [Queue::Packets(Packets(packets)), Queue::Bytes(Size(bytes))] {
            prop_assert_eq!(parse::<Queue>(&queue.to_string()), queue);
        }
    }

    #[test]
    fn windows_are_read_as_written(a: u64, b: u64) {
        prop_assume!(a != b);
        let window = Window { from: Duration(a.min(b)), to: Duration(a.max(b)) };
        prop_assert_eq!(parse::<Window>(&window.to_string()), window);
    }

    #[test]
    fn microseconds_with_decimals_are_nanoseconds(us in 0..1_000_000_u64, ns in 0..1000_u64) {
        prop_assert_eq!(parse::<Duration>(&format!("{us}.{ns:03}us")), Duration(us * 1000 + ns));
    }

    #[test]
    fn any_text_is_a_quantity_or_gets_a_message(text in "\\PC*|[0-9.]{0,40}[a-zA-Z/%]{0,6}|[-+]?[0-9]{1,3}(\\.\\.)?[a-z]*") {
        let messages = [
            text.parse::<Duration>().err(),
            text.parse::<Rate>().err(),
            text.parse::<Size>().err(),
            text.parse::<Packets>().err(),
            text.parse::<Queue>().err(),
            text.parse::<Probability>().err(),
            text.parse::<Window>().err(),
        ];
        for invalid in messages.into_iter().flatten() {
            prop_assert!(invalid.message.starts_with("expected a"), "{}", invalid.message);
            prop_assert!(!invalid.message.contains('\n'));
        }
    }
}
