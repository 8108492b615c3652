//! A run in steps, as a web page drives it.

use braid_scenario::Source;
use braid_web::{Desk, Live};

fn open(set: &[&str]) -> Live {
    let source = Source::embedded("d-olia/2").unwrap();
    let set: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
    Live::open(&source, &set, "olia", 1).unwrap()
}

#[test]
fn rows_come_at_equal_times_and_count_what_the_results_count() {
    let mut live = open(&["duration=20s", "warmup=0s", "cooldown=0s"]);
    let columns = live.columns();
    let mut rows = Vec::new();
    live.advance(7.0, 0.1, &mut rows);
    live.advance(99.0, 0.1, &mut rows);
    assert_eq!(rows.len(), 200 * columns);
    for (n, row) in rows.chunks(columns).enumerate() {
        assert!((row[0] - (n + 1) as f64 / 10.0).abs() < 1e-9, "{} s", row[0]);
    }
    // Two subflows of mp0 and one of tcp0, then the delivered bytes of mp0 and tcp0.
    let delivered = rows[rows.len() - columns + 1 + 3 * 7];
    let results: serde_json::Value = serde_json::from_str(&live.finish().unwrap()).unwrap();
    let goodput = results["connections"][0]["goodput_bps"].as_f64().unwrap();
    assert!(goodput > 1e6);
    assert!((delivered * 8.0 / 20.0 - goodput).abs() < 1.0, "{delivered} bytes, {goodput} bit/s");
    assert!(live.finish().is_none(), "it is finished");
}

#[test]
fn pieces_and_steps_change_nothing() {
    let mut whole = open(&["duration=10s"]);
    let mut pieces = open(&["duration=10s"]);
    let mut rows = Vec::new();
    pieces.advance(0.5, 0.01, &mut rows);
    for _ in 0..200 {
        assert!(pieces.ack(&mut rows));
    }
    pieces.advance(6.0, 1.0, &mut rows);
    assert_eq!(pieces.finish(), whole.finish());
}

#[test]
fn a_step_is_one_ack() {
    let mut live = open(&["duration=10s"]);
    let columns = live.columns();
    let samples =
        |row: &[f64]| -> f64 { [7, 14, 21].iter().map(|&at| row[at]).filter(|x| !x.is_nan()).sum() };
    let mut rows = Vec::new();
    live.advance(2.0, 2.0, &mut rows);
    for _ in 0..100 {
        let before = samples(&rows[rows.len() - columns..]);
        assert!(live.ack(&mut rows));
        let more = samples(&rows[rows.len() - columns..]) - before;
        // Two ACKs in the same nanosecond are one step.
        assert!((1.0..=2.0).contains(&more), "{more} samples");
    }
}

#[test]
fn what_is_wrong_comes_as_an_answer() {
    let mut desk = Desk::default();
    assert!(desk.answer("nonsense").starts_with(r#"{"error":"not a request:"#));
    assert!(desk.answer(r#"{"ask":"finish","slot":3}"#).contains("no run"));
    let open = r#"{"ask":"open","slot":0,"name":"x","toml":"duration = 5","cc":"lia","seed":1}"#;
    assert!(desk.answer(open).contains("duration"));
    let catalogue: serde_json::Value = serde_json::from_str(&desk.answer(r#"{"ask":"catalogue"}"#)).unwrap();
    assert!(catalogue["ok"]["algorithms"].as_array().unwrap().len() > 20);
}
