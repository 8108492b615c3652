//! Properties of a store: complete runs are not repeated, and studies do not mix.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use braid_results::Run;
use braid_scenario::Source;
use braid_study::{Cancel, Done, Error, Event, Kind, Store, Study};

const SMALL: &str = r#"
title = "small"
duration = "1s"
cc = ["lia", "olia"]
[link.b1]
rate = "4mbit"
delay = "5ms"
queue = "20p"
[link.b2]
rate = "2mbit"
delay = "10ms"
queue = "20p"
[connection.mp0]
kind = "mptcp"
[connection.mp0.subflow.sf1]
route = ["b1"]
[connection.mp0.subflow.sf2]
route = ["b2"]
"#;

fn small() -> Study {
    let none: [&str; 0] = [];
    Study::new(none).source(Source { name: "small.toml".to_owned(), text: SMALL.to_owned() })
}

/// Runs a study in a folder, until `until` runs are delivered.
fn run(study: Study, folder: &Path, until: usize, samples: bool) -> Result<(Done, Vec<Run>), Error> {
    let plan = study.check()?;
    let cancel = Cancel::new();
    plan.prepare(&cancel, |_| ())?;
    let mut store = Store::open(folder, &plan, &["results.json".to_owned()])?;
    let execution =
        plan.execution().jobs(NonZeroUsize::new(2).unwrap()).store(&mut store).samples_of(|_| samples);
    let mut runs = Vec::new();
    let done = execution.run(|event| {
        if let Event::Finished(finished) = event {
            assert_eq!(finished.number, runs.len());
            assert!(finished.measurements.is_some() || (finished.reused && !samples));
            runs.push(finished.run);
        }
        if runs.len() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok((done, runs))
}

#[test]
fn what_is_kept_is_not_run_again_and_the_results_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (_, undisturbed) =
        run(small().seeds(8), &folder.path().join("undisturbed"), usize::MAX, false).unwrap();
    let folder = folder.path().join("interrupted");
    let (first, _) = run(small().seeds(8), &folder, 5, false).unwrap();
    assert_eq!(first, Done { runs: 5, reused: 0 });
    let (second, runs) = run(small().seeds(8), &folder, usize::MAX, false).unwrap();
    // At least the delivered ones; workers may have been further ahead.
    assert!(second.runs == 16 && second.reused >= 5, "{second:?}");
    assert!(runs == undisturbed);
    let (third, runs) = run(small().seeds(8), &folder, usize::MAX, false).unwrap();
    assert_eq!(third, Done { runs: 16, reused: 16 });
    assert!(runs == undisturbed);
    // Runs without samples do not suffice if samples are requested.
    let (fourth, runs) = run(small().seeds(8), &folder, usize::MAX, true).unwrap();
    assert_eq!(fourth.reused, 0);
    assert!(runs == undisturbed);
    assert_eq!(run(small().seeds(8), &folder, usize::MAX, true).unwrap().0.reused, 16);
    assert_eq!(run(small().seeds(8), &folder, usize::MAX, false).unwrap().0.reused, 16);
}

#[test]
fn what_is_half_written_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let (_, undisturbed) = run(small().seeds(3), folder.path(), usize::MAX, false).unwrap();
    let kept = folder.path().join("unfinished/0000000");
    let good = std::fs::read(&kept).unwrap();
    for bad in [&[][..], &[0xff; 9], &good[..good.len() / 2]] {
        std::fs::write(&kept, bad).unwrap();
        let (done, runs) = run(small().seeds(3), folder.path(), usize::MAX, false).unwrap();
        assert!(done.runs == 6 && runs == undisturbed);
    }
}

#[test]
fn other_runs_are_refused_and_the_difference_is_named() {
    let folder = tempfile::tempdir().unwrap();
    run(small().seeds(2), folder.path(), usize::MAX, false).unwrap();
    for (other, difference) in [
        (small().seeds(3), "with seeds 1..2"),
        (small().seeds(2).algorithms(["lia"]), "with --cc lia,olia"),
        (small().seeds(2).set("link.b1.rate=5mbit"), "before it has changed"),
        (small().seeds(2).schedulers(["linux"]), "scheduler minrtt"),
    ] {
        let error = run(other, folder.path(), usize::MAX, false).unwrap_err();
        assert_eq!(error.kind, Kind::Taken);
        assert!(error.message.contains(difference), "{error}");
    }
    let theirs = tempfile::tempdir().unwrap();
    std::fs::write(theirs.path().join("results.json"), "{}").unwrap();
    let error = run(small(), theirs.path(), usize::MAX, false).unwrap_err();
    assert!(error.message.contains("a file results.json but no manifest.json"), "{error}");
}

#[cfg(unix)]
#[test]
fn one_program_at_a_time_writes_to_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let plan = small().check().unwrap();
    let first = Store::open(folder.path(), &plan, &[]).unwrap();
    assert_eq!(Store::open(folder.path(), &plan, &[]).unwrap_err().kind, Kind::Busy);
    drop(first);
    Store::open(folder.path(), &plan, &[]).unwrap();
}

#[test]
fn what_was_measured_is_kept_without_samples_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let plan = small().seeds(3).check().unwrap();
    let run = |measured: bool| {
        let mut store = Store::open(folder.path(), &plan, &[]).unwrap();
        let execution = plan.execution().store(&mut store);
        let execution = if measured { execution.measurements() } else { execution };
        let mut measurements = Vec::new();
        let done = execution.run(|event| {
            if let Event::Finished(finished) = event {
                measurements.push(finished.measurements);
            }
            ControlFlow::Continue(())
        });
        (done.unwrap().reused, measurements)
    };
    assert_eq!(run(false).0, 0);
    let (reused, first) = run(true);
    assert_eq!(reused, 0, "what is kept without measurements does not do");
    let (reused, again) = run(true);
    assert_eq!(reused, 6);
    assert!(again == first && again.iter().all(Option::is_some));
}
