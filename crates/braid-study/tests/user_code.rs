//! A user's algorithm may crash or never return: its run fails with the reason, and the others go on.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use braid_results::OK;
use braid_study::{Backend, Cancel, Event, Kind, Outcome, Request, Results, Sim, Stop, Study};

/// The template's algorithm under another name, with something in place of what it does at a loss.
fn add(name: &str, at_loss: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.c"));
    let text = braid_compile::template(name).unwrap().remove(0).text;
    fs::write(&path, text.replace("\tpriv->carry = 0;\n", &format!("\t{at_loss}\n"))).unwrap();
    braid_compile::algorithm(&path, |_| ()).unwrap();
}

fn study(algorithms: &[&str]) -> Study {
    Study::new(["everyday/shared"])
        .set("duration=4s")
        .set("warmup=1s")
        .set("link.line.queue=30p")
        .algorithms(algorithms.iter().copied())
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
    braid_compile::algorithm(&path, |_| ()).unwrap();
    let results = study(&["lia", "outer"]).seeds(2).check().unwrap().execution().samples().collect().unwrap();
    let (inside, outside) = results.runs().split_at(2);
    for (inside, outside) in inside.iter().zip(outside) {
        assert_eq!((inside.status.as_str(), outside.status.as_str()), (OK, OK));
        assert!(inside.metrics == outside.metrics && inside.links == outside.links);
    }
    let (inside, outside) = results.measurements().split_at(2);
    assert!(inside == outside);
}

/// Gives a run up after `limit` milliseconds without progress.
fn run(study: Study, limit: u64) -> Results {
    let plan = study.check().unwrap();
    plan.execution().time_limit(Duration::from_millis(limit)).collect().unwrap()
}

#[test]
fn a_crash_is_a_failed_run_and_the_others_go_on() {
    add("wild", "*(volatile u32 *)(8ull * self->cwnd * 8) = 1;");
    add("halt", "__builtin_trap();");
    // A limit that a busy machine does not reach.
    let results = run(study(&["wild", "lia", "halt"]).seeds(2), 60_000);
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
        if let Event::Progress { .. } = event
            && begun.elapsed() > Duration::from_millis(500)
        {
            cancel.cancel();
        }
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap_err().kind, Kind::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// The simulator, which says in which process it did a run; some seeds end badly.
struct Told;

impl Backend for Told {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        static LATEST: AtomicU32 = AtomicU32::new(0);
        let is_first = LATEST.swap(process::id(), Ordering::Relaxed) != process::id();
        match request.case.seed {
            14 => process::abort(),
            17 => loop {
                thread::sleep(Duration::from_secs(1));
            },
            // As after a run that has spoilt the memory of those that follow.
            19 if !is_first => process::abort(),
            _ => {}
        }
        let outcome = Sim.run(request)?;
        Ok(Outcome { doubts: vec![process::id().to_string()], ..outcome })
    }
}

/// The process that did a run, if it did not end badly.
fn processes(results: &Results) -> Vec<Option<&str>> {
    results.runs().iter().map(|run| run.doubts.first().map(String::as_str)).collect()
}

#[test]
fn a_process_does_one_run_after_the_other_until_one_ends_badly() {
    add("turns", "priv->carry = 0;");
    let plan = study(&["turns"]).backend(Told).seeds(11..=20).check().unwrap();
    let one_by_one = plan.execution().jobs(NonZeroUsize::MIN).time_limit(Duration::from_secs(3));
    let results = one_by_one.collect().unwrap();
    let statuses: Vec<&str> = results.runs().iter().map(|run| run.status.as_str()).collect();
    for (at, status) in statuses.iter().enumerate() {
        match at {
            3 => assert!(status.ends_with("it was aborted"), "{status}"),
            6 => assert!(status.contains("did not return for 3 s"), "{status}"),
            // Seed 19 ends badly only where others were before it: that is not its fault.
            _ => assert_eq!(*status, OK),
        }
    }
    let of = processes(&results);
    assert!(of[0] == of[1] && of[1] == of[2] && of[4] == of[5] && of[8] == of[9], "{of:?}");
    let different: BTreeSet<&str> = of.iter().copied().flatten().collect();
    assert_eq!(different.len(), 4, "{of:?}");
    assert!(!different.contains(process::id().to_string().as_str()));
}

#[test]
fn workers_have_processes_of_their_own_and_so_have_algorithms_and_results_do_not_depend_on_it() {
    add("one", "priv->carry = 0;");
    add("two", "priv->carry = 0;");
    let of = |jobs: usize| {
        let plan = study(&["one", "two", "lia"]).backend(Told).seeds(21..=26).check().unwrap();
        plan.execution().jobs(NonZeroUsize::new(jobs).unwrap()).samples().collect().unwrap()
    };
    let (alone, shared) = (of(1), of(3));
    assert_eq!(alone.measurements(), shared.measurements());
    for (results, jobs) in [(&alone, 1), (&shared, 3)] {
        let of = processes(results);
        let set =
            |part: &[Option<&str>]| part.iter().map(|id| id.unwrap().to_owned()).collect::<BTreeSet<_>>();
        let (one, two, own) = (set(&of[..6]), set(&of[6..12]), set(&of[12..]));
        assert!(one.len() <= jobs && two.len() <= jobs && one.is_disjoint(&two), "{of:?}");
        assert_eq!(own, BTreeSet::from([process::id().to_string()]));
    }
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

/// What the template does at a loss, the lines of which take the faults below.
const AT_LOSS: &str =
    "\tpriv->carry = 0;\n\tself->ssthresh = braid_half(self->cwnd); /* the host moves cwnd there */\n";

/// `Ok` if it runs, else the message of the compiler or of the run.
fn outcome(name: &str, at_loss: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.c"));
    let text = braid_compile::template(name).unwrap().remove(0).text;
    assert!(text.contains(AT_LOSS));
    fs::write(&path, text.replace(AT_LOSS, &format!("\t{at_loss}\n"))).unwrap();
    braid_compile::algorithm(&path, |_| ()).map_err(|error| error.to_string())?;
    let results = run(study(&[name]), 60_000);
    let status = &results.runs()[0].status;
    if status == OK { Ok(()) } else { Err(status.clone()) }
}

#[test]
fn code_that_breaks_the_contract_is_refused_or_ends_its_run_with_its_place() {
    let half = "self->ssthresh = braid_half(self->cwnd);";
    assert_eq!(outcome("right", &format!("priv->carry = 0; {half}")), Ok(()));
    let wrong = [
        // Not its to write.
        ("view->subflow[view->self ^ 1].cwnd = 5;", "writes cwnd of "),
        ("view->subflow[7].public_words[2] = 5;", "writes public word 2 of subflow[7], which the connection"),
        ("view->subflow[view->self ^ 1].ssthresh++;", "writes ssthresh of "),
        ("self->srtt_us = 1;", "writes srtt_us of its own subflow"),
        ("self->mss = 100;", "writes mss of its own subflow"),
        ("self->in_flight++;", "writes in_flight of"),
        ("self->flags ^= BRAID_BACKUP;", "writes flags of"),
        ("self->delivered = 0;", "writes delivered of"),
        ("self->snd_una++;", "writes snd_una of"),
        ("self->last_ack_us ^= 1ull << 40;", "writes last_ack_us of"),
        ("self->cwnd_clamp = 1;", "writes cwnd_clamp of"),
        ("self->public_words[0] = 1;", "writes public word 0"),
        ("view->n = 7;", "writes the number of subflows"),
        ("view->connection ^= 7;", "another field of the connection"),
        ("((u64 *)priv)[1] = 3;", "writes beyond its private memory"),
        ("((u64 *)priv)[-1] = 3;", "writes in front of its private memory"),
        ("((struct braid_event *)event)->now_us++;", "writes the event"),
        ("((struct NAME_params *)params)->gain++;", "writes its parameters"),
        // Out of range.
        ("self->cwnd = 0;", "sets cwnd to 0: it is 1 to"),
        ("self->ssthresh = 0; return;", "sets ssthresh to 0: it is 1 to 2147483647"),
        ("self->ssthresh = ~0u; return;", "sets ssthresh to 4294967295: it is 1 to"),
        // Undefined behaviour.
        ("volatile u32 none = 0; priv->carry = self->cwnd / none;", "divides by zero"),
        ("priv->carry = 1 << (self->cwnd + 40);", "shifts by"),
        ("u32 a[4] = { 0 }; priv->carry = a[self->cwnd % 4 + 4];", "uses an array beyond its end"),
        ("priv->carry = view->subflow[view->n + 8].cwnd;", "uses an array beyond its end"),
        ("struct braid_subflow *volatile none = 0; none->cwnd = 2;", "a pointer that is null"),
        ("*(u64 *)((char *)priv + 1) = 2;", "misaligned"),
        ("if (self->cwnd) __builtin_unreachable();", "declares unreachable"),
        ("volatile u8 two = 2; priv->carry = *(_Bool *)&two;", "a value that its type does not have"),
        ("s32 n = 0 - (s32)self->cwnd; volatile u8 a[n]; a[0] = 1;", "an array with no elements"),
        ("volatile u32 none = 0; priv->carry = __builtin_ctz(none);", "which has none"),
        // Refused by the compiler.
        ("u32 x; priv->carry = x;", "uninitialized"),
        ("u32 x; if (self->cwnd > 9) x = 1; priv->carry = x;", "uninitialized"),
        ("u32 a[2] = { 1, 2 }; priv->carry = a[self->cwnd ? 5 : 6];", "array"),
        ("priv->carry = missing(self);", "missing"),
    ];
    let mut failures = Vec::new();
    for (number, (code, expected)) in wrong.iter().enumerate() {
        let name = format!("wrong{number}");
        let code = code.replace("NAME", &name);
        let code = if code.contains("ssthresh =") { code } else { format!("{code} {half}") };
        match outcome(&name, &code) {
            Err(message) if message.contains(expected) && message.contains(&format!("{name}.c:")) => {}
            other => failures.push(format!("{code}: {other:?}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
