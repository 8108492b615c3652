//! What a store promises: what is done is not done again, and nothing is mixed.

mod common;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use braid_results::Run;
use braid_scenario::Source;
use braid_study::{
    Backend, Done, Error, Event, Group, Kind, Outcome, Request, Results, Seeds, Sim, Stop, Store, Study,
};

use common::{SMALL, small};

/// Runs a study in a folder, until `until` runs are delivered; then the folder is complete.
fn run(study: Study, folder: &Path, until: usize, samples: bool) -> Result<(Done, Vec<Run>), Error> {
    let plan = study.check()?;
    let mut store = Store::open(folder, &plan, &["results.json".to_owned()])?;
    let execution =
        plan.execution().jobs(NonZeroUsize::new(2).unwrap()).store(&mut store).samples_of(|_| samples);
    let mut runs = Vec::new();
    let done = execution.run(|event| {
        if let Event::Finished(finished) = event {
            assert_eq!(finished.number, runs.len());
            assert!(finished.measurements.is_some());
            runs.push(finished.run);
        }
        if runs.len() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    drop(execution);
    if done.runs == plan.len() {
        store.finish()?;
    }
    Ok((done, runs))
}

fn done(runs: usize, reused: usize) -> Done {
    Done { runs, reused, ..Done::default() }
}

/// The runs of a complete store, as they are on the disk.
fn bytes(folder: &Path) -> [Vec<u8>; 2] {
    assert!(!folder.join("unfinished").exists());
    ["runs.store", "manifest.json"].map(|name| std::fs::read(folder.join(name)).unwrap())
}

#[test]
fn what_is_kept_is_not_run_again_and_the_results_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (_, undisturbed) =
        run(small().seeds(8), &folder.path().join("undisturbed"), usize::MAX, false).unwrap();
    let folder = folder.path().join("interrupted");
    let (first, _) = run(small().seeds(8), &folder, 5, false).unwrap();
    assert_eq!(first, done(5, 0));
    let (second, runs) = run(small().seeds(8), &folder, usize::MAX, false).unwrap();
    // Those delivered at least; how far the workers were ahead of them is the machine's affair.
    assert!(second.runs == 16 && second.reused >= 5, "{second:?}");
    assert!(runs == undisturbed);
    let (third, runs) = run(small().seeds(8), &folder, usize::MAX, false).unwrap();
    assert_eq!(third, done(16, 16));
    assert!(runs == undisturbed);
    // Those without samples do not do where samples are wanted.
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
    let kept = folder.path().join("runs.store");
    let good = std::fs::read(&kept).unwrap();
    for bad in [&[][..], &[0xff; 9], &good[..good.len() / 2]] {
        std::fs::write(&kept, bad).unwrap();
        let (done, runs) = run(small().seeds(3), folder.path(), usize::MAX, false).unwrap();
        assert!(done.runs == 6 && runs == undisturbed);
    }
}

#[test]
fn a_store_that_was_extended_is_the_same_as_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let small = || small().algorithms(["lia"]).seeds(2);
    run(small(), &at("grown"), usize::MAX, false).unwrap();
    let first = bytes(&at("grown"));
    assert_eq!(run(small(), &at("grown"), usize::MAX, false).unwrap().0, done(2, 2));
    assert!(bytes(&at("grown")) == first);
    // More seeds, interrupted on the way; more algorithms, schedulers and scenarios.
    run(small().seeds(40), &at("grown"), 9, false).unwrap();
    let (seeds, _) = run(small().seeds(40), &at("grown"), usize::MAX, false).unwrap();
    assert!(seeds.runs == 40 && seeds.reused >= 9, "{seeds:?}");
    let faster = Source { name: "faster.toml".to_owned(), text: SMALL.replace("4mbit", "9mbit") };
    let more =
        || small().seeds(40).algorithms(["olia"]).schedulers(["minrtt", "linux"]).source(faster.clone());
    let (grown, runs) = run(more(), &at("grown"), usize::MAX, false).unwrap();
    assert_eq!(grown, done(2 * 2 * 2 * 40, 40));
    let (fresh, same) = run(more(), &at("fresh"), usize::MAX, false).unwrap();
    assert_eq!(fresh.reused, 0);
    assert!(runs == same && bytes(&at("grown")) == bytes(&at("fresh")));

    // Opened without the scenario, it gives the same.
    let opened = Results::open(&at("grown")).unwrap();
    assert!(opened.runs() == same && opened.summary() == more().run().unwrap().summary());
    assert!(Results::open(&at("nowhere")).unwrap_err().message.contains("it has no manifest.json"));
}

/// The simulator, of a later version.
struct Later;

impl Backend for Later {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        Ok(Sim.identity(group)? + " later")
    }
}

#[test]
fn a_run_of_another_program_is_never_reused_and_makes_room_for_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = |study: Study| {
        let plan = study.check().unwrap();
        let mut store = Store::open(folder.path(), &plan, &[]).unwrap();
        let done = plan.execution().store(&mut store).run(|_| ControlFlow::Continue(())).unwrap();
        store.finish().unwrap();
        let (all, _) = Store::complete(folder.path()).unwrap();
        (
            done.reused,
            all.groups().map(|group| (group.spec.text().to_owned(), group.seeds)).collect::<Vec<_>>(),
        )
    };
    let seeds = |seeds: u64| Seeds::from(seeds);
    let one = ("lia".to_owned(), seeds(2));
    assert_eq!(run(small().algorithms(["lia"]).seeds(2)), (0, vec![one.clone()]));
    // A store without results takes other runs, too.
    let olia = ("olia".to_owned(), seeds(3));
    assert_eq!(run(small().algorithms(["olia"]).seeds(3)), (0, vec![olia.clone(), one]));
    let more = ("lia".to_owned(), seeds(5));
    assert_eq!(run(small().algorithms(["lia"]).seeds(3..=5)), (0, vec![more.clone(), olia.clone()]));
    assert_eq!(run(small().algorithms(["lia"]).seeds(4)), (4, vec![more, olia.clone()]));
    let later = ("lia".to_owned(), seeds(1));
    assert_eq!(run(small().algorithms(["lia"]).backend(Later)), (0, vec![later, olia]));
}

#[test]
fn other_runs_are_refused_and_the_difference_is_named() {
    let folder = tempfile::tempdir().unwrap();
    run(small().seeds(2), folder.path(), usize::MAX, false).unwrap();
    let before = bytes(folder.path());
    for (other, difference) in [
        (small().seeds(2..=3), "small.toml --cc lia --scheduler minrtt --backend sim --seeds 1..2;"),
        (small().seeds(2).algorithms(["lia"]), "small.toml --cc olia"),
        (small().seeds(2).set("link.b1.rate=5mbit"), "before it has changed"),
        (small().seeds(2).schedulers(["linux"]), "--cc lia --scheduler minrtt"),
        (small().seeds(2).backend(Later), "by another build of braid"),
    ] {
        let error = run(other, folder.path(), usize::MAX, false).unwrap_err();
        assert_eq!(error.kind, Kind::Taken);
        assert!(error.message.contains(difference), "{error}");
    }
    assert!(bytes(folder.path()) == before);
    let theirs = tempfile::tempdir().unwrap();
    std::fs::write(theirs.path().join("results.json"), "{}").unwrap();
    let error = run(small(), theirs.path(), usize::MAX, false).unwrap_err();
    assert!(error.message.contains("a file results.json but no manifest.json"), "{error}");
}

/// A kernel whose runs fail or not.
struct Kernel {
    fails: bool,
}

impl Backend for Kernel {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn computes(&self) -> bool {
        false
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        if self.fails { Err(Stop::Failed("the guest crashed".to_owned())) } else { Sim.run(request) }
    }
}

#[test]
fn a_failed_run_of_a_kernel_is_tried_again_and_its_results_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let run = |fails| {
        let plan = small().algorithms(["lia"]).backend(Kernel { fails }).check().unwrap();
        let mut store = Store::open(folder.path(), &plan, &["results.json".to_owned()]).unwrap();
        let results = plan.execution().store(&mut store).collect().unwrap();
        let status = results.runs()[0].status.clone();
        store.folder().write_results("results.json", status.as_bytes()).unwrap();
        store.finish().unwrap();
        (status, Results::open(folder.path()).unwrap().runs()[0].status.clone())
    };
    let failed = "the guest crashed".to_owned();
    assert_eq!(run(true), (failed.clone(), failed));
    assert_eq!(run(false), ("ok".to_owned(), "ok".to_owned()));
    assert_eq!(run(true), ("ok".to_owned(), "ok".to_owned()), "it is stored");
}

#[test]
fn runs_that_were_stored_without_samples_are_read_without_them() {
    let folder = tempfile::tempdir().unwrap();
    run(small().seeds(2), folder.path(), usize::MAX, false).unwrap();
    let (plan, mut store) = Store::complete(folder.path()).unwrap();
    let results = plan.execution().store(&mut store).samples().collect().unwrap();
    assert!(results.runs().len() == 4 && results.measurements().iter().all(Option::is_none));
}

#[test]
fn a_plan_with_an_unknown_algorithm_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    run(small(), folder.path(), usize::MAX, false).unwrap();
    let path = folder.path().join("runs.store");
    let mut stored = std::fs::read(&path).unwrap();
    let at = stored.windows(5).position(|bytes| bytes == b"\x04reno").unwrap();
    stored[at + 1] = b'm';
    std::fs::write(&path, &stored).unwrap();
    let error = run(small().algorithms(["lia"]), folder.path(), usize::MAX, false).unwrap_err();
    assert!(error.kind == Kind::Input && error.to_string().contains("--algorithm"), "{error}");
    assert_eq!(Store::complete(folder.path()).err().unwrap().kind, Kind::Input);
    assert!(std::fs::read(&path).unwrap() == stored);
}

#[test]
fn a_folder_takes_the_plans_of_one_command() {
    let folder = tempfile::tempdir().unwrap();
    run(small(), folder.path(), usize::MAX, false).unwrap();
    let error = Store::open(folder.path(), &small().seeds(2).check().unwrap(), &[]).unwrap_err();
    assert!(error.kind == Kind::Taken && error.message.contains("results of another command"), "{error}");
}

#[test]
fn a_complete_folder_holds_the_runs_of_its_plan_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    run(small().seeds(8), &at("reduced"), 5, false).unwrap();
    for name in ["reduced", "fresh"] {
        run(small().seeds(2), &at(name), usize::MAX, false).unwrap();
    }
    assert!(bytes(&at("reduced")) == bytes(&at("fresh")));
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

/// The runs of a sweep that were done elsewhere.
#[cfg(feature = "parquet")]
#[test]
fn runs_that_were_done_elsewhere_are_not_done_again_when_the_dataset_is_written() {
    let plan = small().seeds(6).check().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), &plan, &braid_study::Dataset::names()).unwrap();
    // All but the last two, in two portions.
    for number in 0..10 {
        let (sampled, record) = plan.execution().only(&[number]).unwrap().remove(0).record();
        store.add(plan.key(number).unwrap(), sampled, record).unwrap();
        if number == 4 {
            store.flush().unwrap();
        }
    }
    store.flush().unwrap();
    assert_eq!(store.missing(&plan).unwrap(), [10, 11]);
    let mut dataset = braid_study::Dataset::new(folder.path(), &[]);
    let done = plan.execution().store(&mut store).into_sinks(&mut [&mut dataset]).unwrap();
    assert_eq!((dataset.summary(), done.reused), ("12 runs, 0 failed\n", 10));
}
