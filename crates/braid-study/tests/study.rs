//! What a study promises, whatever runs it.

mod common;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use braid_results::OK;
use braid_scenario::Source;
use braid_study::{
    Backend, Cancel, Error, Event, Group, Kind, Outcome, Request, Results, Seeds, Sim, Stop, Study,
};

use common::{SMALL, small, source};

fn with_jobs(jobs: usize) -> Results {
    let plan = small().seeds(4).schedulers(["minrtt", "linux"]).check().unwrap();
    plan.execution().jobs(NonZeroUsize::new(jobs).unwrap()).samples().collect().unwrap()
}

#[test]
fn two_scenarios_of_one_name_have_a_summary_each() {
    let faster = Source { name: "small.toml".to_owned(), text: SMALL.replace("\"2mbit\"", "\"3mbit\"") };
    let results = small().source(faster).algorithms(["lia"]).seeds(2).run().unwrap();
    let runs: Vec<usize> = results.summary().iter().map(|summary| summary.runs).collect();
    assert_eq!(runs, [2, 2]);
    let goodput = &braid_results::Connection::goodput_bps;
    let rate = |summary: usize| results.summary()[summary].get(goodput, "mp0").unwrap().mean;
    assert!(rate(1) > rate(0) + 0.5e6, "{} and {}", rate(0), rate(1));
}

#[test]
fn results_have_the_order_of_the_plan_whatever_the_number_of_jobs() {
    let results = with_jobs(1);
    let order: Vec<_> = results.runs().iter().map(|run| (&*run.cc, &*run.scheduler, run.seed)).collect();
    let mut expected = Vec::new();
    for cc in ["lia", "olia"] {
        for scheduler in ["minrtt", "linux"] {
            expected.extend((1..=4).map(|seed| (cc, scheduler, seed)));
        }
    }
    assert_eq!(order, expected);
    assert_eq!(results.summary().len(), 4);
    for jobs in [2, 7] {
        let same = with_jobs(jobs);
        assert_eq!(same.runs(), results.runs());
        assert_eq!(same.measurements(), results.measurements());
    }
}

/// The simulator, but for some seeds.
struct Odd;

impl Backend for Odd {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        match request.case.seed {
            2 => panic!("seed two is bad"),
            3 => Err(Stop::Failed("seed three is worse".to_owned())),
            5 => Err(Stop::All(Error::new(Kind::Failed, "no more seeds"))),
            _ => Sim.run(request),
        }
    }
}

#[test]
fn a_run_that_panics_is_a_failed_run_and_the_others_go_on() {
    let results = small().backend(Odd).algorithms(["lia"]).seeds(4).run().unwrap();
    let statuses: Vec<&str> = results.runs().iter().map(|run| run.status.as_str()).collect();
    assert_eq!((statuses[0], statuses[2], statuses[3]), (OK, "seed three is worse", OK));
    assert!(statuses[1].starts_with("panic: seed two is bad ("), "{}", statuses[1]);
    assert_eq!((results.summary()[0].runs, results.summary()[0].failed), (4, 2));
}

#[test]
fn what_every_run_needs_ends_the_study_when_it_is_missing() {
    let error = small().backend(Odd).seeds(5..=9).run().unwrap_err();
    assert_eq!(error, Error::new(Kind::Failed, "no more seeds"));
}

#[test]
fn a_cancelled_study_says_how_far_it_came() {
    let plan = small().seeds(1000).check().unwrap();
    let cancel = Cancel::new();
    let mut finished = 0;
    let error = plan.execution().cancel(&cancel).run(|event| {
        if let Event::Finished(_) = event {
            finished += 1;
            cancel.cancel();
        }
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind, Kind::Cancelled);
    let done =
        error.message.strip_prefix("interrupted after ").and_then(|rest| rest.strip_suffix(" of 2000 runs"));
    let done: usize = done.and_then(|count| count.parse().ok()).expect("it says how many");
    assert!((1..1000).contains(&finished) && (finished..1000).contains(&done), "{finished}, {done}");
}

#[test]
fn whoever_has_seen_enough_gets_nothing_more() {
    let plan = small().seeds(1000).check().unwrap();
    let mut numbers = Vec::new();
    let done = plan.execution().run(|event| {
        let Event::Finished(finished) = event else { return ControlFlow::Continue(()) };
        numbers.push(finished.number);
        if finished.number == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((numbers, done.unwrap().runs), (vec![0, 1, 2, 3, 4], 5));
}

#[test]
fn equal_runs_have_equal_keys_and_others_have_not() {
    let key = |study: Study| study.check().unwrap().key(0).unwrap();
    let renamed = || Source { name: "other.toml".to_owned(), text: SMALL.replace("\"small\"", "\"tiny\"") };
    let same = [
        small(),
        Study::default().source(renamed()),
        small().algorithms(["lia"]).seeds(1..=9).schedulers(["minrtt"]),
        small().set("link.b1.rate=4000kbit"),
    ];
    let same: Vec<_> = same.into_iter().map(key).collect();
    assert!(same.iter().all(|key| *key == same[0]), "{same:?}");
    let others = [
        small().algorithms(["olia"]),
        small().algorithms(["lia:rounding=usec"]),
        small().seeds(2..=2),
        small().schedulers(["linux"]),
        small().set("link.b1.rate=5mbit"),
        small().set("connection.bg0.cc=cubic"),
    ];
    let mut all: Vec<_> = others.into_iter().map(key).chain([same[0]]).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// The simulator under another name, as a program of another version.
struct Other;

impl Backend for Other {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn name(&self) -> &'static str {
        "quic"
    }

    fn identity(&self, group: &Group) -> Result<String, Error> {
        Ok(Sim.identity(group)? + " later")
    }
}

#[test]
fn a_backend_is_an_axis_and_may_have_seeds_of_its_own() {
    let study = small().algorithms(["lia", "olia"]).seeds(2).on(Box::new(Sim), Some(3.into())).backend(Other);
    let results = study.run().unwrap();
    let order: Vec<_> = results.runs().iter().map(|run| (&*run.cc, &*run.backend, run.seed)).collect();
    let of = |cc| [(cc, "sim", 1), (cc, "sim", 2), (cc, "sim", 3), (cc, "quic", 1), (cc, "quic", 2)];
    assert_eq!(order, [of("lia"), of("olia")].concat());
    let runs: Vec<usize> = results.summary().iter().map(|summary| summary.runs).collect();
    assert_eq!(runs, [3, 2, 3, 2]);
}

/// What a run is known by is written down: a change of names in the program must not lose stored runs. If values that results
/// depend on are added, or sources change, it is another one.
#[test]
fn the_key_depends_on_the_values_of_a_scenario_and_not_on_what_the_program_calls_them() {
    struct Fixed;
    impl Backend for Fixed {
        fn base(&self) -> &dyn Backend {
            &Sim
        }

        fn identity(&self, _: &Group) -> Result<String, Error> {
            Ok(String::new())
        }
    }
    let key = |identity: bool| {
        let study = small().algorithms(["lia"]);
        let study = if identity { study.backend(Sim) } else { study.backend(Fixed) };
        study.check().unwrap().key(0).unwrap()
    };
    assert_ne!(key(true), key(false), "the program is part of it");
    let scenario = braid_scenario::load(&source(), &[]).unwrap().cells.remove(0);
    let text = format!("{scenario:?}");
    let bytes = postcard::to_stdvec(&scenario).unwrap();
    for name in ["duration_ns", "forward", "rate_bps"] {
        assert!(text.contains(name) && !bytes.windows(name.len()).any(|part| part == name.as_bytes()));
    }
}

#[test]
fn everything_is_checked_before_the_first_run() {
    let wrong = |study: Study| study.check().err().expect("it is wrong");
    assert_eq!(wrong(Study::default()).message, "a study without scenarios");
    assert!(wrong(small().set("link.b1.rat=1mbit")).message.contains("did you mean \"rate\""));
    let error = wrong(small().set("duration=180min"));
    assert_eq!(error.kind, Kind::Input);
    assert!(error.message.contains("too long for the simulator, whose longest run is 8796 s"), "{error}");
    assert!(error.message.contains("--set duration=8796s"), "{error}");
    let error = wrong(small().algorithms(["lai"]));
    assert_eq!((error.kind, error.message.contains("did you mean `lia`")), (Kind::Algorithm, true));
    assert!(wrong(small().schedulers(["fastest"])).message.contains("no scheduler is called"));
    assert_eq!(wrong(small().seeds(0..=u64::MAX)).kind, Kind::TooMany);
    let silent = SMALL.replace("cc = [\"lia\", \"olia\"]", "");
    let silent = Source { name: "silent.toml".to_owned(), text: silent };
    assert_eq!(wrong(Study::default().source(silent)).kind, Kind::NoAlgorithm);
    assert!(Seeds::new(3, 2).is_none());
}

#[cfg(feature = "arrow")]
#[test]
fn arrow_tables_hold_what_was_measured() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
    use braid_results::table::{LINKS, SAMPLES};

    let results = with_jobs(2);
    let flows = results.flows();
    assert_eq!(flows.num_rows(), results.runs().len() * 3);
    let subflows = results.runs().iter().flat_map(|run| {
        let connections = run.connections.iter();
        connections.flat_map(move |own| own.subflows.iter().map(move |subflow| (run, own, subflow)))
    });
    let of = |name: &str| flows.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    for (row, (run, connection, subflow)) in subflows.enumerate() {
        assert_eq!(of("cc").as_string::<i32>().value(row), run.cc);
        assert_eq!(of("seed").as_primitive::<UInt64Type>().value(row), run.seed);
        assert_eq!(of("connection").as_string::<i32>().value(row), connection.id);
        let rate = of("throughput_bps").as_primitive::<Float64Type>().value(row);
        assert_eq!(rate.to_bits(), subflow.throughput_bps.to_bits());
    }

    let samples = results.table(&SAMPLES);
    let windows = samples.column_by_name("cwnd").unwrap().as_primitive::<Int64Type>();
    let measured = results.measurements().iter().flatten();
    let measured = measured.flat_map(|counts| &counts.connections).flat_map(|own| &own.subflows);
    let measured: Vec<i64> = measured.flat_map(|own| &own.samples).map(|at| i64::from(at.cwnd)).collect();
    assert!(measured.len() > 900);
    assert_eq!(windows.values(), &measured[..]);
    let field = samples.schema();
    let field = field.field_with_name("cwnd").unwrap();
    assert_eq!((field.metadata()["unit"].as_str(), field.is_nullable()), ("packets", false));
    assert_eq!(results.table(&LINKS).num_rows(), results.runs().len() * 2 * 2);
}

#[test]
fn a_run_is_given_up_as_soon_as_it_is_cancelled() {
    let plan = Study::new(["d-olia/1"]).set("duration=5000s").algorithms(["olia"]).check().unwrap();
    let cancel = Cancel::new();
    let mut last = 0.0;
    let ended = plan.execution().cancel(&cancel).run(|event| {
        if let Event::Progress { share, .. } = event {
            last = share;
            cancel.cancel();
        }
        ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap_err().kind, Kind::Cancelled);
    assert!(last < 0.9, "{last}: within the run, not at its end");
}
