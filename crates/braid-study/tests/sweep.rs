//! Properties of a sweep for callers that run its points elsewhere.
#![cfg(feature = "parquet")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_scenario::File;
use braid_scenario::model::Scenario;
use braid_study::{Backend, Error, Grid, Group, Outcome, Plan, Request, Sim, Stop, Sweep};

const GRID: &str = r#"
scenarios = ["everyday/shared"]
cc = ["lia", "cubic"]
seeds = 3
set = ["duration=2s", "warmup=1s"]
[parameters.rate]
set = "link.line.rate"
values = ["5mbit", "10mbit"]
"#;

/// The simulator, with a count of its runs.
struct Counting(Arc<AtomicUsize>);

impl Backend for Counting {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn scheduler(&self, name: Option<&str>) -> Result<String, Error> {
        Sim.scheduler(name)
    }

    fn check(&self, file: &File, cell: &Scenario) -> Result<(), Error> {
        Sim.check(file, cell)
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        Sim.identity(group)
    }

    fn computes(&self) -> bool {
        true
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Sim.run(request)
    }
}

#[test]
fn what_was_done_elsewhere_is_not_done_again_when_the_dataset_is_written() {
    let runs = Arc::new(AtomicUsize::new(0));
    let grid = Grid::parse("grid.toml", GRID).unwrap();
    let plan = || -> Plan { grid.study().unwrap().backend(Counting(Arc::clone(&runs))).check().unwrap() };
    let folder = tempfile::tempdir().unwrap();
    let mut sweep = Sweep::open(&grid, plan(), folder.path()).unwrap();
    let elsewhere = plan();
    // All but the last two points, in two batches.
    for number in 0..10 {
        let finished = elsewhere.execution().only(&[number]).unwrap().remove(0);
        sweep.keep(number, &finished.run).unwrap();
        if number == 4 {
            sweep.settle().unwrap();
        }
    }
    sweep.settle().unwrap();
    assert_eq!(sweep.missing().unwrap(), [10, 11]);
    runs.store(0, Ordering::Relaxed);
    let swept = sweep.run(|execution| execution, |_, _| ControlFlow::Continue(())).unwrap().unwrap();
    assert_eq!(swept.summary, "12 runs, 0 failed\n");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}
