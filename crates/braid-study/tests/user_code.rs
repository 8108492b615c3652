//! A user's algorithm may crash or never return: its run fails with the reason, and the others go on.

#![cfg(unix)]

use std::fs;
use std::time::{Duration, Instant};

use braid_results::OK;
use braid_study::{Cancel, Event, Kind, Results, Sim, Study};

/// The template's algorithm under another name, with something in place of what it does at a loss.
fn add(name: &str, at_loss: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.c"));
    let text = braid_compile::template(name).unwrap().remove(0).text;
    fs::write(&path, text.replace("\tpriv->carry = 0;\n", &format!("\t{at_loss}\n"))).unwrap();
    braid_compile::algorithm(&path).unwrap();
}

fn study(algorithms: &[&str]) -> Study {
    Study::new(["everyday/shared"])
        .set("duration=4s")
        .set("warmup=1s")
        .set("link.line.queue=30p")
        .algorithms(algorithms.iter().copied())
        .backend(Sim)
}

#[test]
fn what_is_compiled_outside_gives_the_same_bytes_as_inside() {
    // LIA's own source under another name.
    let folder = tempfile::tempdir().unwrap();
    let lia = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms/lia.c");
    let text = fs::read_to_string(lia).unwrap();
    let text = text.replace("lia_p", "outer_p").replace("lia_on", "outer_on").replace("(lia, ", "(outer, ");
    let path = folder.path().join("outer.c");
    fs::write(&path, text).unwrap();
    braid_compile::algorithm(&path).unwrap();
    let results = study(&["lia", "outer"]).seeds(2).check().unwrap().execution().samples().collect().unwrap();
    let (inside, outside) = results.runs().split_at(2);
    for (inside, outside) in inside.iter().zip(outside) {
        assert_eq!((inside.status.as_str(), outside.status.as_str()), (OK, OK));
        assert!(inside.metrics == outside.metrics && inside.links == outside.links);
    }
    let (inside, outside) = results.measurements().split_at(2);
    assert!(inside == outside);
}

/// With so many milliseconds without progress until a run is given up.
fn run(study: Study, limit: u64) -> Results {
    let plan = study.check().unwrap();
    plan.execution().time_limit(Duration::from_millis(limit)).collect().unwrap()
}

#[test]
fn a_crash_is_a_failed_run_and_the_others_go_on() {
    add("wild", "*(volatile u32 *)8 = 1;");
    add("zero", "volatile u32 none = 0; self->pacing_rate = self->cwnd / none;");
    // A limit that a busy machine does not reach.
    let results = run(study(&["wild", "lia", "zero"]).seeds(2), 60_000);
    let statuses: Vec<&str> = results.runs().iter().map(|run| run.status.as_str()).collect();
    for crashed in [0, 1, 4, 5] {
        assert!(
            statuses[crashed].starts_with("the algorithm crashed ")
                && statuses[crashed].contains(" s into the run: it "),
            "{statuses:?}"
        );
    }
    assert!(statuses[0].ends_with("memory that is not its own"), "{statuses:?}");
    assert_eq!(statuses[2..4], [OK, OK]);
}

#[test]
fn an_endless_loop_is_a_failed_run() {
    add("spin", "for (volatile u32 i = 0; i < 1; i = 0)\n\t\t;");
    let results = run(study(&["spin", "olia"]), 700);
    let status = &results.runs()[0].status;
    assert!(status.contains("did not return for 0.7 s") && status.contains("an endless loop?"), "{status}");
    assert_eq!(results.runs()[1].status, OK);
}

#[test]
fn an_endless_loop_can_be_cancelled() {
    add("spin2", "for (volatile u32 i = 0; i < 1; i = 0)\n\t\t;");
    let plan = study(&["spin2"]).check().unwrap();
    let cancel = Cancel::new();
    let begun = Instant::now();
    let ended = plan.execution().cancel(&cancel).run(|event| {
        if let Event::Progress { .. } = event {
            if begun.elapsed() > Duration::from_millis(500) {
                cancel.cancel();
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap_err().kind, Kind::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_key_of_a_run_knows_the_source_of_a_users_algorithm() {
    add("keyed", "priv->carry = 0;");
    let key = || study(&["keyed"]).check().unwrap().key(0).unwrap();
    let first = key();
    add("keyed", "priv->carry = 0; /* a comment is no change */");
    assert_eq!(key(), first);
    add("keyed", "priv->carry = 1;");
    assert_ne!(key(), first);
}
